"""A compiled rule and an independent one, round by round, on the same noise.

The independent rules work in the user's coordinates with numpy.linalg, straight from the formulas.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.instances import Instance, hard
from furthest.problem import Problem
from furthest.strategy import Strategy
from furthest.study.fold import copied
from oracles.loop import Loop

Array = NDArray[np.float64]


class Data(NamedTuple):
    """All that a rule may know after t measurements, rewards in units of σ."""

    arms: Array
    answers: Array
    counts: Array
    sums: Array
    ridge: float = 0.0

    @property
    def t(self) -> int:
        return int(self.counts.sum())

    @property
    def inverse(self) -> Array:
        start = self.ridge * np.eye(self.arms.shape[1])
        return np.asarray(np.linalg.inv((self.arms.T * self.counts) @ self.arms + start))

    @property
    def estimate(self) -> Array:
        return self.inverse @ self.arms.T @ self.sums


Choose = Callable[[Data], int]


class Replay(NamedTuple):
    """What the compiled rule did, and its state afterwards."""

    arms: list[int]
    counts: NDArray[np.int64]
    rule: Any


def least(values: list[float], counts: Array) -> int:
    """argmin; of equals the arm pulled least, then the first."""
    tied = np.flatnonzero(np.array(values) <= min(values) * (1 + 1e-10))
    return int(tied[counts[tied].argmin()])


def paper_threshold(data: Data, delta: float) -> float:
    """2β, β = 2d ln(4 + ln(t/d)) + ln(1/δ)."""
    d = data.arms.shape[1]
    return float(4 * d * np.log(4 + np.log(data.t / d)) + 2 * np.log(1 / delta))


def compiled(
    name: str,
    instance: Instance,
    rounds: int,
    seed: int,
    delta: float = 0.01,
    ridge: float = 0.0,
    threshold: str | None = None,
    **options: Any,
) -> Replay:
    """The pulls of the compiled rule, which must not stop before `rounds`.

    With the test of `furthest.testing`, whose loops are compiled anyway, unless that matters: to a
    rule that samples by the threshold, and for a ridge.
    """
    strategy = Strategy(name, stopping="glr", threshold=threshold, options=options)
    noise = np.random.default_rng(seed)
    loop = Loop(strategy, instance.problem, instance.truth, [delta], noise, ridge=ridge)
    arms = []
    for t in range(1, rounds + 1):
        arms.append(loop.next_arm)
        # The rule's state is that in which it chose the last of these arms.
        rule = copied(loop.run.rule)
        assert not loop.advance(t), f"stopped at round {t}: too easy for a comparison"
    return Replay(arms, loop.run.evidence.counts, rule)


def independent(
    choose: Choose, instance: Instance, rounds: int, seed: int, ridge: float = 0.0
) -> list[int]:
    """The pulls of a plain NumPy rule on the same noise: each arm once, then as it chooses."""
    problem = instance.problem
    noise = np.random.default_rng(seed)
    arms = len(problem.arms)
    counts, sums = np.zeros(arms), np.zeros(arms)
    pulled: list[int] = []
    for t in range(rounds):
        data = Data(problem.arms, problem.answers, counts, sums, ridge)
        arm = t if t < arms else choose(data)
        mean = problem.arms[arm] @ instance.truth / problem.sigma
        counts[arm] += 1
        sums[arm] += mean + noise.standard_normal()
        pulled.append(arm)
    return pulled


def unequal(seed: int, arms: int, answers: int, d: int, **question: Any) -> Instance:
    """Arms of different lengths, answers of their own, two of which are nearly as good."""
    rng = np.random.default_rng(seed)
    mu = rng.normal(size=d)
    mu *= 2 / np.linalg.norm(mu)
    options = rng.normal(size=(answers, d))
    order = np.argsort(options @ mu)
    second, best = options[order[-2]], options[order[-1]]
    second += (best - second) @ mu / (mu @ mu) * mu * (1 - 1e-3)
    problem = Problem(
        rng.normal(size=(arms, d)) * rng.uniform(0.3, 2, (arms, 1)), options, **question
    )
    return Instance(f"K={arms} Z={answers} d={d}", problem, mu)


def instances() -> list[Instance]:
    """K = Z and K ≠ Z, both notions, σ ≠ 1; too hard to be decided within a few hundred rounds."""
    return [
        replace(hard(eps=0.01, notion="multiplicative"), name="hard mul"),
        replace(hard(eps=0.01, notion="additive", sigma=2.0), name="hard add"),
        unequal(1, 5, 7, 3, eps=1e-3, notion="additive"),
        unequal(2, 7, 4, 4, eps=1e-3, notion="multiplicative", sigma=0.5),
    ]
