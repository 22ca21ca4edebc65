"""How many measurements a strategy needs, over two wide sets of instances fixed beforehand.

On `tuned` constants were chosen; `judged` shares no instance with it and decided on the defaults
(docs/decisions/0021). Every strategy sees the same noise, and every figure is a ratio to LεBAI with
top-wrong on the same instance.

    python benchmarks/ranked.py judged --runs 100 --json judged.json
    python benchmarks/ranked.py judged hard --runs 2000
    python benchmarks/ranked.py tuned --strategy lebai/ranked softmin/ranked
"""

import argparse
import json
import math
import sys
from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import furthest as ft
from furthest.instances import Instance
from furthest.problem import Notion, Problem
from near_null import Shape, fan, step, tied  # type: ignore[import-not-found]

STRATEGIES = ("lebai/top-wrong", "lebai/ranked", "softmin/top-wrong", "softmin/ranked")
BASE = STRATEGIES[0]
DELTAS = (0.1, 0.01, 1e-6)
Values = NDArray[np.float64]
Row = dict[str, Any]
NOTIONS: tuple[Notion, ...] = ("multiplicative", "additive")


def values(shape: str, options: int, eps: float) -> Values:
    """True values of plain options: even steps, one ahead of equals, or half of them close."""
    if shape == "ladder":
        return np.linspace(1.0, 0.0, options)
    if shape == "lead":
        return np.append(0.5, np.zeros(options - 1))
    close = (options + 1) // 2
    return np.append(np.linspace(0.0, -eps / 2, close), np.full(options - close, -2 * eps - 0.3))


def plain(shape: str, options: int, eps: float) -> Instance:
    """Options without features."""
    names = [f"option {i + 1}" for i in range(options)]
    problem = Problem.options(names, eps=eps, notion="additive", sigma=1.0)
    return Instance(f"{shape} K={options} ε={eps:g}", problem, values(shape, options, eps))


def factorial(levels: tuple[int, ...], eps: float, seed: int) -> Instance:
    """All combinations of factors, with effects drawn at random."""
    factors = {f"factor {i + 1}": [f"{j + 1}" for j in range(n)] for i, n in enumerate(levels)}
    problem = Problem.factorial(factors, eps=eps, notion="additive", sigma=1.0)
    mu = 0.5 * np.random.default_rng(seed).standard_normal(problem.arms.shape[1:])
    return Instance(f"{'×'.join(map(str, levels))} ε={eps:g} seed={seed}", problem, mu)


def transductive(d: int, eps: float, seed: int) -> Instance:
    """Arms that are measured, others that are recommended."""
    rng = np.random.default_rng(seed)
    arms, answers = rng.normal(size=(2 * d, d)), rng.normal(size=(3 * d, d))
    answers /= np.linalg.norm(answers, axis=1, keepdims=True)
    problem = Problem(arms, answers, eps, "additive", 1.0)
    return Instance(f"d={d} ε={eps:g} seed={seed}", problem, rng.normal(size=d))


Family = Iterator[tuple[str, Instance]]


def hards(eps: float, places: Sequence[float]) -> Family:
    """The hard instance, with the second good answer at several places."""
    for notion, r in product(NOTIONS, places):
        yield f"hard {notion}", ft.hard(eps, notion, r=r)


def randoms(notion: Notion, seeds: dict[int, range]) -> Family:
    """Random instances, by dimension."""
    for d, own in seeds.items():
        for seed in own:
            yield f"random d={d} {notion}", ft.random(0.05, notion, d=d, seed=seed)


def options(counts: Sequence[int], tolerances: Sequence[float]) -> Family:
    """Plain options of three shapes."""
    for count, shape, eps in product(counts, ("ladder", "lead", "crowd"), tolerances):
        yield f"options K={count}", plain(shape, count, eps)


def factorials(designs: Sequence[tuple[int, ...]], eps: Sequence[float], seeds: range) -> Family:
    """Factorial designs."""
    for levels, tolerance, seed in product(designs, eps, seeds):
        yield "factorial", factorial(levels, tolerance, seed)


def transductives(dimensions: Sequence[int], eps: Sequence[float], seeds: range) -> Family:
    """Answers that cannot be measured."""
    for d, tolerance, seed in product(dimensions, eps, seeds):
        yield "transductive", transductive(d, tolerance, seed)


def ties(eps: float, shapes: Sequence[tuple[Callable[..., Shape], int]]) -> Family:
    """The near-null instances, asked for half of ε: nobody is wrong by a hair."""
    for notion, (make, d) in product(NOTIONS, shapes):
        problem, mu = make(d, notion, eps)
        name = f"{make.__name__}-{d} {notion}"
        yield "tied", Instance(name, replace(problem, eps=eps / 2), mu)


def judged() -> Family:
    """What decides: family and instance."""
    few = range(6)
    yield from hards(0.05, (0.05, 0.1, 0.2, 0.35, 0.5))
    yield from randoms("multiplicative", {4: few, 6: range(20), 8: few, 12: range(20), 16: few})
    yield from randoms("additive", dict.fromkeys((4, 6, 8, 12, 16), few))
    yield from options((2, 3, 5, 10, 20, 30), (0.05, 0.2, 0.5))
    yield from factorials(((2, 3), (2, 2, 2), (3, 3, 2)), (0.1, 0.3), range(3))
    yield from transductives((3, 6), (0.1, 0.4), range(3))
    for notion in NOTIONS:
        yield "arms are unit vectors", ft.hard(0.05, notion, arms="basis")
        yield "soare", ft.soare(0.05, notion, d=4, omega=0.3)
    yield from ties(0.3, ((tied, 3), (tied, 5), (tied, 8), (fan, 4), (step, 5)))
    for count in (2, 4, 8):
        yield "ε = 0", plain("ladder", count, 0.0)
    yield "ε = 0", ft.soare(0.0, "additive", d=3, omega=0.5)


def tuned() -> Family:
    """What constants were chosen on."""
    own = range(1000, 1004)
    yield from hards(0.07, (0.08, 0.15, 0.4))
    for notion in NOTIONS:
        yield from randoms(notion, dict.fromkeys((5, 10, 14), own))
    yield from options((2, 4, 7, 15), (0.03, 0.1, 0.4))
    yield from factorials(((2, 4), (3, 2, 2)), (0.08, 0.25), own[:2])
    yield from transductives((4,), (0.08, 0.25), own[:2])
    yield from ties(0.25, ((tied, 4), (tied, 6), (fan, 3), (step, 4)))
    for count in (3, 6):
        yield "ε = 0", plain("ladder", count, 0.0)


SETS = {"judged": judged, "tuned": tuned}


def strategy_of(text: str) -> ft.Strategy:
    """`sampling/stopping`, each with options in brackets: `softmin(tau=1)/ranked`."""
    parts = [part.rstrip(")").split("(") for part in text.split("/")]
    (sampling, options), (stopping, stopping_options) = (
        (name, dict(item.split("=") for item in rest[0].split(";")) if rest else {})
        for name, *rest in parts
    )
    return ft.Strategy(
        sampling,
        stopping=stopping,
        options={name: json.loads(value) for name, value in options.items()},
        stopping_options={name: json.loads(value) for name, value in stopping_options.items()},
    )


def affordable(instance: Instance, options: argparse.Namespace) -> int:
    """So many runs that they take no more than the budget of rounds, but ten at least."""
    length = float(times(instance, BASE, options, 10)[-1].mean())
    return max(10, min(int(options.runs), int(options.budget / length)))


def times(instance: Instance, text: str, options: argparse.Namespace, runs: int) -> Values:
    """Stopping times (levels × runs), capped where a run would not end."""
    results = ft.simulate(
        instance.problem,
        instance.truth,
        strategy_of(text),
        list(DELTAS),
        runs,
        options.seed,
        options.jobs,
        max_rounds=options.most,
        quiet=True,
    )
    found = results.stopping_times.astype(float)
    return np.where(found < 0, options.most, found)


def main() -> None:
    """One line per instance, then one per family: mean ratios and their standard errors."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("set", choices=SETS)
    parser.add_argument("family", nargs="*", help="only those that begin so")
    parser.add_argument("--runs", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--most", type=int, default=2_000_000, help="rounds at most")
    parser.add_argument("--budget", type=int, default=3_000_000, help="rounds per strategy")
    parser.add_argument("--strategy", nargs="+", default=list(STRATEGIES))
    parser.add_argument("--json", help="write everything there")
    options = parser.parse_args()
    strategies = list(dict.fromkeys([BASE, *options.strategy]))
    rows: list[Row] = []
    for family, instance in SETS[options.set]():
        if options.family and not family.startswith(tuple(options.family)):
            continue
        runs = affordable(instance, options)
        found = {text: times(instance, text, options, runs) for text in strategies}
        for level, delta in enumerate(DELTAS):
            base = found[BASE][level]
            row: Row = {"family": family, "instance": instance.name, "delta": delta, "runs": runs}
            row["mean"], row["error"] = float(base.mean()), _error(base)
            for text in strategies[1:]:
                ratio = found[text][level].mean() / base.mean()
                row[text] = float(ratio)
                # of paired runs: the noise is the same, the order of pulls is not
                row[f"{text} ±"] = _error(found[text][level] - ratio * base) / float(base.mean())
            rows.append(row)
            if delta == DELTAS[1]:
                shown = "  ".join(
                    f"{row[text]:.3f}±{row[f'{text} ±']:.3f}" for text in strategies[1:]
                )
                print(f"{family:24s} {instance.name:28s} {row['mean']:8.0f}  {shown}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(rows, indent=1, ensure_ascii=False))
    summarise(rows, strategies)


def _error(sample: Values) -> float:
    return float(sample.std(ddof=1) / math.sqrt(len(sample)))


def summarise(rows: list[Row], strategies: list[str]) -> None:
    """Geometric means over the instances of a family, per δ."""
    families: dict[tuple[str, float], list[Row]] = defaultdict(list)
    for row in rows:
        families[row["family"], row["delta"]].append(row)
        families["ALL", row["delta"]].append(row)
    print(f"\n{'family':28s} {'δ':>6s} {'n':>3s} {'mean':>8s}  " + "  ".join(strategies[1:]))
    for (family, delta), members in sorted(families.items(), key=lambda item: -item[0][1]):
        cells = []
        for text in strategies[1:]:
            logs = np.log([row[text] for row in members])
            error = math.hypot(*(row[f"{text} ±"] for row in members)) / len(members)
            cells.append(f"{math.exp(logs.mean()):.3f}±{error:.3f} (≤{math.exp(logs.max()):.2f})")
        mean = np.mean([row["mean"] for row in members])
        print(f"{family:28s} {delta:6g} {len(members):3d} {mean:8.0f}  " + "  ".join(cells))
    sys.stdout.flush()


if __name__ == "__main__":
    main()
