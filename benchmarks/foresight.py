"""How good is a study's foresight? Coverage of its 90 % range, and actual over foreseen median.

    python benchmarks/foresight.py [STUDIES] [DRAWS] [INSTANCE …]

Each cell is of so many studies with fixed μ ("drawn": another μ for each), asked after the initial
design, 4 measurements later and after 10, 30 and 100 altogether; only studies that are still
running then can be asked. The state is folded in memory, from the same results as a stored study.
"""

import sys
import time
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

import furthest as ft
from furthest.engine import simulated
from furthest.kernels.evidence import Clock
from furthest.study import foresight
from furthest.study.events import Settings, single
from furthest.study.fold import Fold, copied

DELTA = 0.05
LONGEST = 200_000
AFTER = (10, 30, 100)

Truth = Callable[[Generator], NDArray[np.float64]]


class Case(NamedTuple):
    """A question and its truth."""

    problem: dict[str, Any]
    truth: Truth


def options(values: list[float], eps: float) -> Case:
    """Plain options of fixed values."""
    return Case({"arms": np.eye(len(values)), "eps": eps}, lambda _: np.array(values))


def drawn(count: int, spread: float, eps: float) -> Case:
    """Plain options with values from N(5, spread²), drawn anew for every study."""
    return Case(
        {"arms": np.eye(count), "eps": eps},
        lambda rng: 5 + spread * rng.standard_normal(count),
    )


def generated(instance: ft.Instance) -> Case:
    """One of the paper's."""
    problem = instance.problem
    question = {"arms": problem.arms, "answers": problem.answers, "eps": problem.eps}
    return Case(question | {"notion": problem.notion}, lambda _: instance.truth)


# The prior's shape was chosen on these; the others judge it.
TUNED = {
    "2 options, gap 1": options([1, 0], 0.2),
    "4 options, gap 1": options([1, 0, 0, 0], 0.2),
    "hard": generated(ft.hard(notion="additive")),
    "drawn, 4 of spread 1": drawn(4, 1.0, 0.2),
    "10 options, gap 1": options([1] + 9 * [0.0], 0.3),
}
JUDGED = {
    "2 options, gap 0.5": options([3, 2.5], 0.1),
    "3 options, gap 2": options([2, 0, 0], 0.5),
    "5 options, a ladder": options([2, 1.5, 1, 0.5, 0], 0.3),
    "hard, d = 4": generated(ft.hard(notion="additive", d=4, eps=0.1)),
    "random, d = 6": generated(ft.random(eps=0.1, d=6, seed=3)),
    "drawn, 3 of spread 0.5": drawn(3, 0.5, 0.2),
    "drawn, 8 of spread 2": drawn(8, 2.0, 0.3),
}
CASES = TUNED | JUDGED


class Asked(NamedTuple):
    """One foresight and what came."""

    after: str
    inside: bool
    ratio: float
    seconds: float


def study(case: Case, known: bool, draws: int, seed: int) -> list[Asked]:
    """One study from its beginning to its end, asked on the way."""
    rng = np.random.default_rng(seed)
    problem = ft.Problem(**case.problem, sigma=1.0 if known else None)
    settings = Settings(problem, ft.Strategy(), DELTA, seed, 3600.0, "t")
    fold, means = Fold(settings), problem.arms @ case.truth(rng)
    first = len(problem.initial)
    moments = {first: "first", first + 4: "first + 4"} | {n: str(n) for n in AFTER if n > first + 4}
    told = 0
    asked: list[tuple[str, int, ft.Foresight, float]] = []
    while not fold.stopped and told < max(moments):
        arm = fold.suggest([], 1)[0].arm
        value = float(means[arm] + rng.standard_normal())
        fold.take(single(np.array([arm]), np.array([value])))
        told += 1
        if told in moments and not fold.stopped:
            begun = time.perf_counter()
            found = foresight.foresee(settings, fold, draws, seed)
            if found is not None:
                seconds = time.perf_counter() - begun
                asked.append((moments[told], told, found, seconds))
    state = copied(fold.state)
    if not fold.stopped:
        fold.advance(fold.task, state, simulated(means), rng, rng, LONGEST, True)
    end = int(state.evidence.clock[Clock.ROUNDS])
    return [
        Asked(
            after,
            found.low <= end - taken and (end - taken <= found.high or found.high >= found.horizon),
            (end - taken) / found.median,
            seconds,
        )
        for after, taken, found, seconds in asked
    ]


def row(name: str, case: Case, known: bool, studies: int, draws: int) -> None:
    """One line per moment."""
    asked = [each for seed in range(studies) for each in study(case, known, draws, seed)]
    for after in ("first", "first + 4", *map(str, AFTER)):
        here = [each for each in asked if each.after == after]
        if len(here) < studies / 4:
            continue
        inside = np.array([each.inside for each in here])
        ratios = np.log([each.ratio for each in here])
        error = 1.2533 * ratios.std() / len(here) ** 0.5
        ratio = np.exp(np.median(ratios))
        print(
            f"| {name} | {'known' if known else 'unknown'} | {after} | {len(here)} "
            f"| {inside.mean():.2f} ± {inside.std() / len(here) ** 0.5:.2f} "
            f"| {ratio:.2f} ± {ratio * error:.2f} "
            f"| {1e3 * np.mean([each.seconds for each in here]):.0f} |",
            flush=True,
        )


def main() -> None:
    """The whole table, or the cases named."""
    studies, draws = (int(text) for text in [*sys.argv[1:3], *("200", "100")[len(sys.argv[1:3]) :]])
    print("| instance | σ | after | studies | in the 90 % range | actual/median | ms |")
    print("|---|---|---|---|---|---|---|")
    for name in sys.argv[3:] or CASES:
        for known in (True, False):
            row(name, CASES[name], known, studies, draws)


if __name__ == "__main__":
    main()
