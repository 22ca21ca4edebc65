"""Ten million rounds: how far do the running sums drift from what exact arithmetic says?

    python benchmarks/deep.py [--rounds 10000000] [--offset 0]

Each run is taken in twice. Once by the package, with its rank-one updates, refreshed every 256
rounds, and its plain running sums. Once by a reference that cannot share their errors: V from the
exact counts and solved afresh in every round, and every sum over rounds with its rounding errors
carried along. Arms are drawn with the weights that are optimal for the instance, so that V is as
ill-conditioned as it gets; `--offset` adds a constant to all values, as large ones have.

Errors are relative, except that of the e-processes: T_y in units of √I_y, in which the test thinks.
"""

import argparse
import math
import resource
import time
from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba
import numpy as np
from numpy.typing import NDArray

import furthest as ft
from furthest.engine import told
from furthest.preparation import prepare

Floats = NDArray[np.float64]

F = TypeVar("F", bound=Callable[..., Any])


def compiled(function: F) -> F:
    """With types that Numba does not tell."""
    return cast("F", numba.njit(function))


DELTA = 0.01

PIECE = 1_000_000


@compiled
def add(sums: Floats, errors: Floats, place: int, term: float) -> None:
    """A sum with the rounding errors of its additions beside it (Neumaier)."""
    before = sums[place]
    after = before + term
    if abs(before) >= abs(term):
        errors[place] += (before - after) + term
    else:
        errors[place] += (term - after) + before
    sums[place] = after


@compiled
def reference(
    features: Floats,
    arms: NDArray[np.int64],
    rewards: Floats,
    first: int,
    counts: NDArray[np.int64],
    sums: Floats,
    sums_lost: Floats,
    tested: Floats,
    tested_lost: Floats,
    growth: float,
    correction: float,
    initial: float,
) -> None:
    """Go on with counts, sums of rewards, and b, τ, D and J of the test, one below the other."""
    d = features.shape[1]
    v, v_lost = np.zeros(d * d), np.zeros(d * d)
    for a in range(features.shape[0]):
        for i in range(d):
            for j in range(d):
                add(v, v_lost, i * d + j, counts[a] * features[a, i] * features[a, j])
    t0 = first
    for n in range(arms.shape[0]):
        a, x = arms[n], features[arms[n]]
        counts[a] += 1
        add(sums, sums_lost, a, rewards[n])
        for i in range(d):
            for j in range(d):
                add(v, v_lost, i * d + j, x[i] * x[j])
        lever = np.linalg.solve((v + v_lost).reshape(d, d), x)
        rounds = float(t0 + n + 1)
        drift = (tested + tested_lost)[1 + d : 1 + d + d * d].reshape(d, d)
        beta = (rounds / initial) ** growth
        g = beta * rounds * lever - correction * (drift.T @ lever)
        add(tested, tested_lost, 0, beta)
        for i in range(d):
            add(tested, tested_lost, 1 + i, rewards[n] * g[i])
            for j in range(d):
                add(tested, tested_lost, 1 + d + i * d + j, x[i] * g[j])
                add(tested, tested_lost, 1 + d + d * d + i * d + j, g[i] * g[j])
            add(tested, tested_lost, 1 + d + i * d + i, -beta)


def worst(ours: Any, exact: Any) -> float:
    """The largest error, relative to the largest entry."""
    return float(np.abs(ours - exact).max() / np.abs(exact).max())


def run(name: str, strategy: ft.Strategy, rounds: int, offset: float, seed: int = 0) -> None:
    """One instance and strategy: errors at the end, time per round, and memory."""
    instance = ft.hard() if name == "hard" else ft.random(d=6, seed=3)
    problem = instance.problem
    task, weights = problem.task, np.array(ft.complexity(problem, instance.truth).weights)
    prepared = prepare(strategy, strategy.seen(task), (DELTA,))
    state, rng = prepared.start(), np.random.default_rng(seed)
    state.stopping.test.required[...] = np.inf  # the test is made, but never passed
    means = task.arms @ problem.whiten(instance.truth) + offset
    design = task.initial
    found = _begin(state, task, prepared, rng, means[design] + rng.standard_normal(len(design)))
    seconds, before = 0.0, 0
    for first in range(len(design), rounds, PIECE):
        size = min(PIECE, rounds - first)
        arms = rng.choice(len(weights), size, p=weights / weights.sum())
        rewards = means[arms] + rng.standard_normal(size)
        started = time.process_time()
        taken = prepared.advance(task, state, told(arms, rewards), rng, rng, rounds, True)
        seconds += time.process_time() - started
        assert taken == size
        found.go_on(task, state.stopping.test.weighting, arms, rewards, first)
        before = before or resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    grown = (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024
    print(f"{name:7s} {strategy.name}, {strategy.test.name}, {rounds:,} rounds, offset {offset:g}")
    print(f"    {1e6 * seconds / rounds:.2f} µs per round; memory + {grown:.0f} MB")
    for what, error in found.errors(task, state).items():
        print(f"    {what:28s} {error:.1e}")


class Exact:
    """What the reference has after some rounds."""

    def __init__(self, task: Any, sums: Floats, estimate: Floats, inverse: Floats) -> None:
        d, arms = task.arms.shape[1], len(task.arms)
        first = len(task.initial)
        self.counts = np.zeros(arms, np.int64)
        self.counts[task.initial] = 1
        self.sums, self.lost = sums, np.zeros(arms)
        self.squares = np.zeros(arms)  # around the arm's first value, which is exact enough
        self.squares_lost = np.zeros(arms)
        self.centre = np.zeros(arms)
        self.centre[task.initial] = sums[task.initial]
        self.tested = np.concatenate(
            [[first], first * estimate, np.zeros(d * d), (first**2 * inverse).ravel()]
        )
        self.tested_lost = np.zeros(len(self.tested))

    def go_on(self, task: Any, weighting: Floats, arms: Any, rewards: Floats, first: int) -> None:
        """The next measurements."""
        for a in np.unique(arms):
            own = rewards[arms == a]
            self.centre[a] = self.centre[a] if self.counts[a] else own[0]
            self.squares[a] += math.fsum((own - self.centre[a]) ** 2)
        reference(
            task.arms,
            arms,
            rewards,
            first,
            self.counts,
            self.sums,
            self.lost,
            self.tested,
            self.tested_lost,
            weighting[0],
            weighting[1],
            weighting[3],
        )

    def errors(self, task: Any, state: Any) -> dict[str, float]:
        """Of the package's state."""
        d, evidence = task.arms.shape[1], state.evidence
        sums = self.sums + self.lost
        v = (task.arms.T * self.counts) @ task.arms
        inverse = np.linalg.inv(v)
        estimate = np.linalg.solve(v, task.arms.T @ sums)
        assert (evidence.counts == self.counts).all()
        fitted = task.arms @ estimate - self.centre
        mean = sums / np.maximum(self.counts, 1) - self.centre
        residual = (self.squares - 2 * self.counts * mean * fitted + self.counts * fitted**2).sum()
        found = {
            "estimate": worst(evidence.estimate, estimate),
            "V⁻¹": worst(evidence.inverse, inverse),
            "widths": worst(evidence.widths, ((task.arms @ inverse) * task.arms).sum(axis=1)),
            "sums of rewards": worst(evidence.sums, sums),
            "residual sum of squares": worst(evidence.residual[0], residual),
        }
        if hasattr(state.stopping.test, "drift"):
            found |= self._of_test(state.stopping.test, task, estimate, d)
        if hasattr(state.rule, "cumulative"):
            found["Σ W against t + 1"] = worst(state.rule.cumulative.sum(), self.counts.sum() + 1)
        return found

    def _of_test(self, test: Any, task: Any, estimate: Floats, d: int) -> dict[str, float]:
        exact = self.tested + self.tested_lost
        b, tau, drift, spread = np.split(exact, [1, 1 + d, 1 + d + d * d])
        drift, spread = drift.reshape(d, d), spread.reshape(d, d)
        contrasts = [z - x for z in task.answers for x in task.answers if (z != x).any()]
        gaps = []
        for y in contrasts:
            ours = y @ test.total - (test.drift @ y + test.weighting[4] * y) @ estimate
            true = y @ tau - (drift @ y + b * y) @ estimate
            gaps.append(abs(ours - true) / math.sqrt(y @ spread @ y))
        return {
            "τ": worst(test.total, tau),
            "D, of b": float(np.abs(test.drift - drift).max() / b[0]),
            "J": worst(test.spread, spread),
            "b": worst(test.weighting[4], b),
            "T_y in √I_y": max(gaps),
        }


def _begin(state: Any, task: Any, prepared: Any, rng: Any, rewards: Floats) -> Exact:
    """The initial design, each arm once."""
    design = task.initial
    prepared.advance(task, state, told(design, rewards), rng, rng, len(design), True)
    sums = np.zeros(len(task.arms))
    sums[design] = rewards
    return Exact(task, sums, state.evidence.estimate.copy(), state.evidence.inverse.copy())


def main() -> None:
    """All of them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10_000_000)
    parser.add_argument("--offset", type=float, default=0.0)
    arguments = parser.parse_args()
    for name in ("hard", "random"):
        for strategy in (
            ft.Strategy(),
            ft.Strategy("lebai", stopping="top-wrong"),
        ):
            run(name, strategy, arguments.rounds, arguments.offset)


if __name__ == "__main__":
    main()
