"""What it costs to let results count in the order asked, and what it saves.

    python benchmarks/order.py [--studies 200]

1. Workers that take exponentially long each: time until the study stops, in units of one
   measurement, and measurements made, as asked and as told.
2. A batch told arm by arm: evidence after it, against the same results one by one.
3. Batches told in the order of their values, so that the worse option looks better at first: errors
   at δ = 0.1.
"""

import argparse
import heapq
import math

import numpy as np
from numpy.typing import NDArray

import furthest as ft
from furthest.study.certificate import fold_of
from furthest.study.events import ASKED, CREATED, TOLD, Due, Event, Settings, columns
from furthest.study.fold import Fold
from furthest.study.ledger import Ledger
from furthest.study.verdict import score

DELTA = 0.1
ORDERS = ("told", "asked")
MOST = 5000


class Desk:
    """A study in memory: a ledger and a fold, as `Study` has them, without a storage."""

    def __init__(self, problem: ft.Problem, order: str, delta: float = DELTA) -> None:
        settings = Settings(problem, ft.Strategy(), delta, 0, 1e9, "t", order)
        self.ledger = Ledger(Event(1, CREATED, 0.0, data=settings.encode()))
        self.fold: Fold = fold_of(self.ledger)

    def ask(self, count: int) -> list[tuple[str, int]]:
        """Trials and arms to measure."""
        pending = [Due(event.arm or 0) for event in self.ledger.open.values()]
        found = []
        for arm, _ in self.fold.suggest(pending, count, columns(self.ledger.waiting())):
            trial = f"t-{self.ledger.seq + 1}"
            self.ledger.apply([Event(self.ledger.seq + 1, ASKED, 0.0, trial, arm)])
            found.append((trial, arm))
        return found

    def tell(self, trial: str, arm: int, value: float) -> bool:
        """A result; whether the study has stopped."""
        self.ledger.apply([Event(self.ledger.seq + 1, TOLD, 0.0, trial, arm, value)])
        results = self.ledger.counting(self.fold.told)
        if len(results):
            self.fold.take(results.columns)
        return self.fold.stopped


def busy(
    problem: ft.Problem, means: NDArray[np.float64], order: str, workers: int, seed: int
) -> tuple[float, int]:
    """One study with workers that measure all the time: how long it took, how many they made."""
    desk, rng = Desk(problem, order), np.random.default_rng(seed)
    queue: list[tuple[float, str, int, float]] = []

    def begin(now: float, count: int) -> None:
        for trial, arm in desk.ask(count):
            value = float(means[arm] + rng.standard_normal())
            heapq.heappush(queue, (now + rng.exponential(), trial, arm, value))

    begin(0.0, workers)
    for _ in range(MOST):
        now, trial, arm, value = heapq.heappop(queue)
        if desk.tell(trial, arm, value):
            break
        begin(now, 1)
    return now, len(desk.ledger.measured)


def mean(values: list[float]) -> str:
    """With its standard error."""
    return f"{np.mean(values):8.1f} ± {np.std(values) / math.sqrt(len(values)):.1f}"


def waiting(studies: int) -> None:
    """The price of waiting."""
    problem, means = ft.Problem(np.eye(3), eps=0.3), np.array([1.0, 0.3, 0.0])
    print("1. exponential durations; 3 options, ε = 0.3, δ = 0.1: time, measurements")
    for workers in (1, 8, 32):
        for order in ORDERS:
            found = [busy(problem, means, order, workers, seed) for seed in range(studies)]
            times, counts = zip(*found, strict=True)
            print(f"   {workers:2} workers, as {order:5}: {mean([*times])}  {mean([*counts])}")


def batches() -> None:
    """What telling arm by arm costs."""
    print("2. a batch of 40 per option told arm by arm: evidence in nats, of a needed 2.3")
    for options in (2, 4):
        problem = ft.Problem(np.eye(options), eps=0.5)
        means = np.linspace(0.7, 0.0, options)
        for order in ORDERS:
            found = []
            for seed in range(50):
                desk, rng = Desk(problem, order, delta=1e-30), np.random.default_rng(seed)
                trials = desk.ask(40 * options)
                for trial, arm in sorted(trials, key=lambda each: each[1]):
                    desk.tell(trial, arm, float(means[arm] + rng.standard_normal()))
                found.append(score(desk.fold, desk.fold.answer).statistic)
            print(f"   K = {options}, as {order:5}: {mean(found)}")


def sorted_arrivals(studies: int) -> None:
    """The error rate where the bad results of the better option come first."""
    problem, means = ft.Problem(np.eye(2), eps=0.2), np.array([0.25, 0.0])
    print("3. batches of 100 told in the order of their values; 2 options, ε = 0.2: errors")
    for order in ORDERS:
        wrong = 0
        for seed in range(studies):
            desk, rng = Desk(problem, order), np.random.default_rng(seed)
            while not desk.fold.stopped:
                batch = [
                    (trial, arm, float(means[arm] + rng.standard_normal()))
                    for trial, arm in desk.ask(100)
                ]
                for result in sorted(batch, key=lambda each: each[2] * (1 - 2 * each[1])):
                    desk.tell(*result)
            wrong += desk.fold.answer != 0
        share = wrong / studies
        error = math.sqrt(share * (1 - share) / studies)
        print(f"   as {order:5}: {share:.3f} ± {error:.3f}")


def main() -> None:
    """All three."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--studies", type=int, default=200)
    arguments = parser.parse_args()
    waiting(arguments.studies)
    batches()
    sorted_arrivals(arguments.studies)


if __name__ == "__main__":
    main()
