"""Yes/no outcomes of plain options: how many are needed, how often it is wrong, what it costs.

    python benchmarks/rates.py table --runs 300 --json table.json
    python benchmarks/rates.py table K=2 K=4 --rows uniform default
    python benchmarks/rates.py tuned
    python benchmarks/rates.py judged --json judged.json
    python benchmarks/rates.py ranked
    python benchmarks/rates.py near-null --runs 20000
    python benchmarks/rates.py near-null --test ranked-pairs --runs 20000
    python benchmarks/rates.py speed

`table` has the rows side by side, δ = .05, all with the same random numbers; `tuned` and `judged`
have sampling rules in ratios to the default, geometric means over instances that were fixed
beforehand; `ranked` has masses by rank in ratios to equal ones, on both lists. `near-null` counts
wrong answers where some option is worse than ε by a hair.
"""

import argparse
import json
import math
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.stats import norm

import furthest as ft
from furthest.engine import Run, decide, record, simulated
from furthest.kernels.evidence import Clock
from furthest.kernels.jit import compiled_twin, kernel, unbroken
from furthest.kernels.linalg import Vector
from furthest.kernels.pairs import Pairs, Price
from furthest.kernels.ranked_pairs import Price as RankPrice
from furthest.kernels.ranked_pairs import RankedPairs
from furthest.preparation import prepare
from furthest.problem import Notion, Problem
from furthest.stopping import ranked_pairs
from furthest.stopping.nomination import Progress
from furthest.stopping.pairs import PAIRS, start
from furthest.stopping.ranked_pairs import RANKED_PAIRS
from furthest.task import Task
from variances import KL, LEBAI, LUCB, SOFTMIN  # type: ignore[import-not-found]

DELTA = 0.05
A: Notion = "additive"
M: Notion = "multiplicative"


class Rates(NamedTuple):
    """A question about plain options, and the truth."""

    means: list[float]
    eps: float
    notion: Notion = A
    bounds: tuple[float, float] | None = None  # rewards anywhere within; None: 0 or 1

    def problem(self, **noise: Any) -> Problem:
        """By default outcomes are yes or no."""
        names = [f"option {i + 1}" for i in range(len(self.means))]
        if not noise:
            noise = {"bounds": self.bounds} if self.bounds else {"noise": "bernoulli"}
        return Problem.options(names, eps=self.eps, notion=self.notion, **noise)


SIX = [0.06, 0.05, 0.045, 0.04, 0.035, 0.03]
TABLE = {
    "K=2": Rates([0.05, 0.04], 0.005),
    "K=4": Rates([0.93, 0.90, 0.88, 0.85], 0.02),
    "K=6": Rates(SIX, 0.01),
    "K=6 pairs": Rates([0.06, 0.05, 0.04, 0.04, 0.03, 0.03], 0.01),
    "K=6 even": Rates([0.06, 0.054, 0.048, 0.042, 0.036, 0.03], 0.01),
    "K=6 share": Rates(SIX, 0.1, M),
    "K=10": Rates([0.5 - 0.05 * i for i in range(10)], 0.05),
    "K=20": Rates([0.06, 0.05, *[0.04] * 8, *[0.03] * 10], 0.01),
    "K=50": Rates([0.06, 0.05, *[0.04] * 18, *[0.03] * 30], 0.01),
}
# τ and κ of softmin, and whether variances are pooled, were chosen on these …
TUNED = {
    "2 rare": Rates([0.03, 0.022], 0.004),
    "2 even": Rates([0.55, 0.5], 0.03),
    "3 apart": Rates([0.3, 0.1, 0.05], 0.05),
    "5 ladder": Rates([0.12, 0.10, 0.09, 0.07, 0.05], 0.015),
    "5 share": Rates([0.3, 0.25, 0.2, 0.15, 0.1], 0.1, M),
    "8 crowd": Rates([0.2, 0.195, 0.19, 0.185, *[0.12] * 4], 0.02),
    "15": Rates([0.08, *[0.06] * 4, *[0.04] * 10], 0.015),
    "30": Rates([0.15, *[0.1] * 10, *[0.05] * 19], 0.03),
}
# … and judged on the table and these, written down before any of them was run.
JUDGED = TABLE | {
    "2 lead": Rates([0.3, 0.2], 0.05),
    "2 share": Rates([0.05, 0.04], 0.15, M),
    "3 often": Rates([0.7, 0.65, 0.6], 0.04),
    "5 crowd": Rates([0.1, 0.098, 0.096, 0.094, 0.05], 0.01),
    "8 lead": Rates([0.1, *[0.07] * 7], 0.01),
    "12 share": Rates([0.4, 0.36, *[0.3] * 5, *[0.2] * 5], 0.1, M),
    "30 even": Rates([0.5, *[0.45] * 9, *[0.4] * 20], 0.04),
}


class Row(NamedTuple):
    """A way to do it."""

    strategy: ft.Strategy
    by_sigma: bool = False  # of the bounds only σ = ½ is used
    few: bool = False  # a tenth of the runs: they are long
    most: int = 50  # arms, because of the time it takes


ROWS = {
    "uniform": Row(ft.Strategy("uniform")),
    "default": Row(ft.Strategy()),
    "softmin τ=½": Row(ft.Strategy("softmin", options={"tau": 0.5}), most=30),
    "softmin, own σ": Row(ft.Strategy(SOFTMIN)),
    "lebai": Row(ft.Strategy("lebai"), most=12),
    "lebai, own σ": Row(ft.Strategy(LEBAI), most=12),
    "ranked-pairs": Row(ft.Strategy(stopping="ranked-pairs")),
    "ranked-pairs uniform": Row(ft.Strategy("uniform", stopping="ranked-pairs")),
    "KL uniform": Row(ft.Strategy("uniform", stopping=KL), most=10),
    "KL-LUCB": Row(ft.Strategy(LUCB, stopping=KL), most=20),
    "σ=½ uniform": Row(ft.Strategy("uniform", stopping="top-wrong"), True, True, 10),
    "σ=½ default": Row(ft.Strategy(), True, True, 10),
}
SAMPLING = ("default", "uniform", "softmin τ=½", "softmin, own σ", "lebai", "lebai, own σ")


class Counted(NamedTuple):
    """Runs of one row on one instance."""

    times: NDArray[np.int64]
    wrong: int
    pulls: NDArray[np.float64]  # mean per arm

    @property
    def mean(self) -> float:
        """Measurements until it stops."""
        return float(self.times.mean())

    @property
    def error(self) -> float:
        """Standard error of the mean."""
        return float(self.times.std(ddof=1) / math.sqrt(len(self.times)))

    def shown(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "mean": self.mean,
            "error": self.error,
            "wrong": self.wrong,
            "runs": len(self.times),
            "pulls": self.pulls.tolist(),
        }


def counted(rates: Rates, row: Row, runs: int, seed: int, most: int) -> Counted:
    """The runs of a row; those that go by σ see the same outcomes."""
    if row.by_sigma:
        return played(rates, row, runs, seed, most)
    found = ft.simulate(
        rates.problem(), rates.means, row.strategy, DELTA, runs, seed, max_rounds=most, quiet=True
    )
    wrong = int((found.stopped & ~found.correct).sum())
    return Counted(found.stopping_times, wrong, found.pulls.mean(axis=0))


KINDS = ("yes or no", "two points", "uniform", "narrow", "clipped")
SPREAD = 0.2


@kernel
def draw(kind: int, centre: float, noise: Generator) -> float:
    """A reward within [0, 1], of mean `centre` unless it is clipped."""
    if kind == 0:
        return 1.0 if noise.random() < centre else 0.0
    if kind == 1:
        return centre * (1.5 if noise.random() < 0.5 else 0.5)
    if kind == 2:
        return 2.0 * centre * noise.random()
    if kind == 3:
        return centre + 0.2 * noise.random() - 0.1
    return min(max(centre + SPREAD * noise.standard_normal(), 0.0), 1.0)


def clipped_mean(centre: float) -> float:
    """Of normal rewards around the centre that are cut off at 0 and 1."""
    low, high = -centre / SPREAD, (1 - centre) / SPREAD
    inside = norm.cdf(high) - norm.cdf(low)
    return float(centre * inside + SPREAD * (norm.pdf(low) - norm.pdf(high)) + norm.sf(high))


def advance(
    task: Task, run: Run, kind: int, centres: Vector, noise: Generator, rng: Generator, until: int
) -> None:
    """The engine's loop, with rewards that it would not simulate."""
    clock, progress = run.evidence.clock, run.stopping.progress
    while clock[Clock.ROUNDS] < until and progress[Progress.NEXT] >= 0:
        arm = progress[Progress.NEXT]
        record(task, run, arm, task.low + 2.0 * draw(kind, centres[arm], noise))
        progress[Progress.NEXT] = decide(task, run, rng, True)


@cache
def loop(strategy: ft.Strategy) -> Callable[..., None]:  # noqa: ARG001
    """The loop, one for each strategy: states of two types may have one structure."""
    return unbroken(compiled_twin(advance, record, decide))


def played(
    rates: Rates,
    row: Row,
    runs: int,
    seed: int,
    most: int,
    kind: str = "yes or no",
    delta: float = DELTA,
) -> Counted:
    """As `counted`, with rewards of any kind; those of a run are the engine's random numbers."""
    problem = rates.problem(**{"bounds": (0, 1), "noise": "sub-Gaussian"} if row.by_sigma else {})
    task, right = problem.task, problem.near_best(rates.means)
    centres = np.array(rates.means)
    if kind == "clipped":
        centres = np.array(
            [brentq(lambda centre, m=mean: clipped_mean(centre) - m, -1, 2) for mean in centres]
        )
    ready, go = prepare(row.strategy, task, [delta]), loop(row.strategy)
    noise, rng = (Generator(PCG64(0)) for _ in range(2))
    times, wrong, pulls = [], 0, np.zeros(len(centres))
    for number in range(runs):
        for stream, generator in enumerate((noise, rng)):
            fresh = PCG64(SeedSequence(seed, spawn_key=(number, stream)))
            generator.bit_generator.state = fresh.state
        run = ready.start()
        go(task, run, KINDS.index(kind), centres, noise, rng, most)
        times.append(int(run.evidence.clock[Clock.ROUNDS]))
        pulls += run.evidence.counts
        if run.stopping.progress[Progress.REACHED]:
            wrong += not right[run.stopping.progress[Progress.ANSWER]]
    return Counted(np.array(times), wrong, pulls / runs)


def fixed_horizons(rates: Rates) -> dict[str, float]:
    """Outcomes that two designs of fixed length would need, by the normal approximation.

    Each pair at the one-sided level δ/(K − 1). *Indifference zone*: the rates are known, the answer
    is the best mean, and it is wrong so often where the rival is wrong by a hair. And a test of
    *non-inferiority* of the closest pair, at the known truth, with power .8 and .9.
    """
    question = rates.problem().task
    c, e = question.c, 0.5 * question.e
    best, *others = sorted(rates.means, reverse=True)
    arms, z = len(rates.means), norm.isf(DELTA / (len(rates.means) - 1))

    def variance(p: float) -> float:
        return p * (1 - p)

    hair = c * best - e
    zone = z**2 * (variance(best) + variance(hair)) / (best - hair) ** 2
    found = {"indifference zone": arms * zone}
    for power in (0.8, 0.9):
        found[f"non-inferiority, power {power:g}"] = arms * max(
            (z + norm.ppf(power)) ** 2
            * (variance(best) + c**2 * variance(x))
            / (best - c * x + e) ** 2
            for x in others
        )
    return found


def runs_of(rates: Rates, row: Row, runs: int) -> int:
    """Fewer where they are long."""
    share = 1.0 if len(rates.means) <= 12 else 0.3 if len(rates.means) <= 20 else 0.1
    return max(10, int(runs * share * (0.1 if row.few else 1.0)))


def table(options: argparse.Namespace) -> list[dict[str, Any]]:
    """One line per instance and row."""
    found: list[dict[str, Any]] = []
    for name in options.names or TABLE:
        rates = TABLE[name]
        for label in options.rows or ROWS:
            row = ROWS[label]
            if len(rates.means) > row.most:
                continue
            number = runs_of(rates, row, options.runs)
            result = counted(rates, row, number, options.seed, options.most)
            found.append({"instance": name, "row": label} | result.shown())
            print(
                f"{name:10s} {label:16s} {result.mean:9,.0f} ± {result.error:6,.0f}  "
                f"wrong {result.wrong}/{number}",
                flush=True,
            )
        for label, size in fixed_horizons(rates).items():
            found.append({"instance": name, "row": label, "mean": size})
            print(f"{name:10s} {label:28s} {size:9,.0f}", flush=True)
    return found


def ratios(instances: dict[str, Rates], options: argparse.Namespace) -> list[dict[str, Any]]:
    """Sampling rules under the same test, in ratios to the first."""
    found: list[dict[str, Any]] = []
    labels = options.rows or SAMPLING
    for name in options.names or instances:
        rates = instances[name]
        results = {
            label: counted(
                *(rates, ROWS[label], runs_of(rates, ROWS[label], options.runs)),
                *(options.seed, options.most),
            )
            for label in labels
            if len(rates.means) <= ROWS[label].most
        }
        base = results[labels[0]]
        cells = []
        for label, result in results.items():
            ratio = result.mean / base.mean
            spread = np.std(result.times - ratio * base.times, ddof=1) / base.mean
            error = float(spread) / math.sqrt(len(base.times))
            own = {"instance": name, "row": label, "ratio": ratio, "ratio error": error}
            found.append(own | result.shown())
            cells.append(f"{label} {result.mean:,.0f} ({ratio:.3f} ± {error:.3f})")
        print(f"{name:9s} {len(base.times)} runs  " + "  ".join(cells), flush=True)
    for label in labels:
        rows = [each for each in found if each["row"] == label]
        mean = math.exp(statistics.mean(math.log(each["ratio"]) for each in rows))
        error = math.hypot(*(each["ratio error"] for each in rows)) / len(rows)
        print(f"{label:16s} {mean:.3f} ± {error:.3f} over {len(rows)}")
    return found


def by_rank(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Masses by rank against equal ones, under both ways to sample; two options are the same."""
    found: list[dict[str, Any]] = []
    more = {name: rates for name, rates in (TUNED | JUDGED).items() if len(rates.means) > 2}
    for rows in (["default", "ranked-pairs"], ["uniform", "ranked-pairs uniform"]):
        for instances in (TUNED, JUDGED):
            names = [name for name in options.names or more if name in instances]
            if names:
                asked = argparse.Namespace(**vars(options) | {"names": names, "rows": rows})
                found += ratios(instances, asked)
    return found


# Wrong by a hair: the second figure of each is less than the best one's by a little more than ε.
NEAR_NULL = {
    "2 rare": Rates([0.06, 0.0299], 0.03),
    "2 even": Rates([0.5, 0.3995], 0.1),
    "2 often": Rates([0.95, 0.8995], 0.05),
    "2 share": Rates([0.3, 0.1995], 1 / 3, M),
    "3 tied": Rates([0.3, 0.1995, 0.1995], 0.1),
    "3 share": Rates([0.5, 0.2495, 0.2495], 0.5, M),
    "5 tied": Rates([0.2, *[0.0995] * 4], 0.1),
    "5 step": Rates([0.6, 0.55, 0.3995, 0.3995, 0.2], 0.2),
    "5 share": Rates([0.4, *[0.1995] * 4], 0.5, M),
}
OTHERS = {
    "2": Rates([0.45, 0.3495], 0.1, A, (0, 1)),
    "3": Rates([0.45, 0.3495, 0.3495], 0.1, A, (0, 1)),
    "3 share": Rates([0.45, 0.2995, 0.2995], 1 / 3, M, (0, 1)),
}
LEVELS = [0.2, 0.1, 0.05]


def weakened(*arguments: Any, **options: Any) -> Pairs:
    """Pairs that is content with a twelfth of the evidence."""
    state = start(*arguments, **options)
    state.required[Price.PAIR] -= 2.5
    return state


def weakened_by_rank(*arguments: Any, **options: Any) -> RankedPairs:
    """The same with masses by rank."""
    state = ranked_pairs.start(*arguments, **options)
    state.required[RankPrice.FIRST :] -= 2.5
    return state


def sabotaged(test: ft.StoppingTest, start: Callable[..., Any]) -> ft.StoppingTest:
    """With a start of its own, wherever it is asked for."""
    own = replace(test, start=start)
    return replace(own, bounded=own)


SABOTAGED = {
    "pairs": sabotaged(PAIRS, weakened),
    "ranked-pairs": sabotaged(RANKED_PAIRS, weakened_by_rank),
}


def near_null(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Error rates beside δ; then the same where less evidence is enough, which must show."""
    found = [*_yes_no_errors(options), *_other_errors(options)]
    broken = [each for each in found if each["rate"] > each["delta"] and not each["sabotaged"]]
    caught = [each for each in found if each["rate"] > each["delta"] and each["sabotaged"]]
    print(f"BROKEN: {broken}" if broken else "every rate is below its δ")
    print(f"the sabotaged test is above δ in {len(caught)} rows")
    return found


def _yes_no_errors(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    for sabotaged in (False, True):
        stopping = SABOTAGED[options.test] if sabotaged else options.test
        runs = max(options.runs // 10, 1) if sabotaged else options.runs
        for name, rates in NEAR_NULL.items():
            if options.names and name not in options.names:
                continue
            for sampling in ("uniform", "softmin"):
                strategy = ft.Strategy(sampling, stopping=stopping)
                results = ft.simulate(
                    *(rates.problem(), rates.means, strategy, LEVELS, runs, options.seed),
                    max_rounds=options.most,
                    quiet=True,
                )
                wrong = (results.stopped & ~results.correct).sum(axis=1)
                times = results.stopping_times.mean(axis=1)
                row = {"instance": name, "sampling": sampling, "sabotaged": sabotaged}
                yield from _errors(row, wrong, times, runs)


def _errors(row: dict[str, Any], wrong: Any, times: Any, runs: int) -> Iterator[dict[str, Any]]:
    rates = [float(number) / runs for number in wrong]
    cells = "  ".join(
        f"δ={delta:g}: {rate:.4f} ({mean:.0f})"
        for delta, rate, mean in zip(LEVELS, rates, times, strict=False)
    )
    print("  ".join(str(value) for value in row.values()), cells, flush=True)
    for delta, rate in zip(LEVELS, rates, strict=False):
        yield row | {"delta": delta, "rate": rate, "runs": runs}


def _other_errors(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Any rewards within bounds, at the largest δ; a quarter of the runs, which take longer."""
    for kind in KINDS:
        for name, rates in OTHERS.items():
            if options.names and name not in options.names:
                continue
            for sampling in ("uniform", "softmin"):
                row = Row(ft.Strategy(sampling, stopping=options.test))
                runs = max(options.runs // 4, 1)
                result = played(rates, row, runs, options.seed, options.most, kind, LEVELS[0])
                own = {"instance": f"{name} {kind}", "sampling": sampling, "sabotaged": False}
                yield from _errors(own, [result.wrong], [result.mean], runs)


VISITORS, DAYS = 1_000_000, 100


def speed(options: argparse.Namespace) -> list[dict[str, Any]]:
    """Processor time, all in one run; compare the ratios."""
    found = [*_rounds()]
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/rates.db"
        found += [_folded(url), *_asked(url, options.runs)]
    return found


def _rounds() -> Iterator[dict[str, Any]]:
    """Microseconds per round; the evidence never suffices."""
    tests = {"pairs": (None, {}), "σ=½": ("top-wrong", {"bounds": (0, 1), "noise": "sub-Gaussian"})}
    for name in ("K=2", "K=6", "K=20", "K=50"):
        rates = TABLE[name]
        for sampling in ("uniform", "softmin"):
            times = {}
            for label, (stopping, noise) in tests.items():
                problem = rates.problem(**noise)
                task = problem.task
                ready = prepare(ft.Strategy(sampling, stopping=stopping), task, [1e-300])
                times[label] = min(_round_time(ready, problem, rates.means) for _ in range(3))
            ratio = times["pairs"] / times["σ=½"]
            row = {"instance": name, "sampling": sampling, "ratio": ratio} | times
            print(f"{name:6s} {sampling:8s} {times} µs a round, ratio {ratio:.2f}", flush=True)
            yield row


def _round_time(ready: Any, problem: Problem, means: list[float], rounds: int = 20_000) -> float:
    task, run, rng = problem.task, ready.start(), np.random.default_rng(1)
    source = simulated(task.arms @ problem.whiten(means))
    ready.advance(task, run, source, rng, rng, 100, True)
    started = time.process_time()
    ready.advance(task, run, source, rng, rng, rounds, True)
    return (time.process_time() - started) / rounds * 1e6


def _folded(url: str) -> dict[str, Any]:
    """A study that is told a million visitors, day by day, and opened again; and one by one."""
    problem = replace(TABLE["K=6"].problem(), eps=1e-4)
    study = ft.Study.create("visitors", problem, delta=0.05, storage=url)
    rng, size = np.random.default_rng(0), VISITORS // (6 * DAYS)
    started = time.perf_counter()
    for _ in range(DAYS):
        for name in problem.arm_names:
            study.add(name, successes=int(rng.binomial(size, 0.05)), n=size)
    told = time.perf_counter() - started
    study.close()
    ft.Study.load("visitors", url).status()
    started = time.perf_counter()
    again = ft.Study.load("visitors", url)
    measured = sum(again.status().pulls)
    folded = time.perf_counter() - started
    again.close()
    ready, task = prepare(ft.Strategy("uniform"), problem.task, [1e-300]), problem.task
    run, source = ready.start(), simulated(task.arms @ problem.whiten([0.05] * 6))
    ready.advance(task, run, source, rng, rng, 100, True)
    started = time.process_time()
    ready.advance(task, run, source, rng, rng, VISITORS, True)
    simulated_in = time.process_time() - started
    print(
        f"{measured:,} visitors in {6 * DAYS} counts: told in {told:.2f} s, folded in {folded:.3f} "
        f"s; {VISITORS:,} simulated one by one in {simulated_in:.2f} s",
        flush=True,
    )
    return {"told": told, "folded": folded, "simulated": simulated_in, "visitors": measured}


def _asked(url: str, rounds: int) -> Iterator[dict[str, Any]]:
    """Ask + tell, with counts and without, in turn."""
    problem = replace(TABLE["K=6"].problem(), eps=1e-4)
    studies = [ft.Study.create(f"asked {i}", problem, storage=url) for i in range(2)]
    seconds: list[list[float]] = [[], []]
    rng = np.random.default_rng(0)
    for number in range(rounds + 20):
        for which, study in enumerate(studies):
            yes, many = int(rng.random() < 0.05), int(rng.binomial(1000, 0.05))
            started = time.perf_counter()
            trial = study.ask()
            if which:
                study.tell(trial, successes=many, n=1000)
            else:
                study.tell(trial, yes)
            if number >= 20:
                seconds[which].append(time.perf_counter() - started)
    single, counts = (1e3 * statistics.median(each) for each in seconds)
    print(f"ask + tell: {single:.2f} ms, with counts {counts:.2f} ms, ratio {counts / single:.2f}")
    yield {"ask + tell": single, "with counts": counts}


WHAT: dict[str, Callable[[argparse.Namespace], list[dict[str, Any]]]] = {
    "table": table,
    "tuned": lambda options: ratios(TUNED, options),
    "judged": lambda options: ratios(JUDGED, options),
    "ranked": by_rank,
    "near-null": near_null,
    "speed": speed,
}


def main() -> None:
    """Print, and write down."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=WHAT)
    parser.add_argument("names", nargs="*", help="instances; by default all")
    parser.add_argument("--rows", nargs="+", choices=ROWS)
    parser.add_argument("--test", choices=SABOTAGED, default="pairs", help="of near-null")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--most", type=int, default=2_000_000, help="rounds at most")
    parser.add_argument("--json", help="write everything there")
    options = parser.parse_args()
    found = WHAT[options.what](options)
    if options.json:
        Path(options.json).write_text(json.dumps(found, indent=1, ensure_ascii=False))


if __name__ == "__main__":
    main()
