"""A compiled rule round by round: what it knew, what it decided, and how that moved its targets."""

from collections import deque
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from furthest.instances import Instance, hard
from furthest.kernels import design
from furthest.problem import Problem
from furthest.strategy import Strategy
from oracles.loop import Loop
from oracles.replay import Array, Data, unequal
from oracles.runs import UNREACHABLE


class Step(NamedTuple):
    """One round after the initial pulls."""

    data: Data  # before the round
    before: Array  # cumulative targets W
    after: Array
    arm: int
    rule: Any  # the state after the round, live

    @property
    def weights(self) -> Array:
        return self.after - self.before


def last_step(name: str, instance: Instance, rounds: int, **options: Any) -> Step:
    """The last round of such a run."""
    return deque(steps(name, instance, rounds, **options), maxlen=1)[0]


def steps(
    name: str, instance: Instance, rounds: int, seed: int = 3, **options: Any
) -> Iterator[Step]:
    """Every round of a run of the compiled rule."""
    problem = instance.problem
    strategy = Strategy(name, stopping="glr", options=options)
    noise = np.random.default_rng(seed)
    loop = Loop(strategy, problem, instance.truth, [UNREACHABLE], noise)
    evidence, rule = loop.run.evidence, loop.run.rule
    for t in range(1, rounds):
        before = _targets(rule).copy()
        assert not loop.advance(t)
        if t >= len(loop.task.initial):
            counts, sums = evidence.counts.astype(float), evidence.sums.copy()
            data = Data(problem.arms, problem.answers, counts, sums)
            yield Step(data, before, _targets(rule).copy(), loop.next_arm, rule)


def _targets(rule: Any) -> Array:
    targets: Array = rule.allotted if hasattr(rule, "allotted") else rule.cumulative
    return targets


def constants(problem: Problem) -> tuple[float, float]:
    """(c, e), values being in units of σ."""
    if problem.notion == "additive":
        return 1.0, problem.eps / problem.unit
    return 1.0 - problem.eps, 0.0


def distances(problem: Problem, mu: Array, z: int, weights: Array) -> Array:
    """n_x²/‖z − c·x‖²_{V_w⁻¹} for every x, infinite where z = c·x."""
    c, e = constants(problem)
    y = problem.answers[z] - c * problem.answers
    inverse = np.linalg.inv((problem.arms.T * weights) @ problem.arms)
    norms = np.einsum("xi,ij,xj->x", y, inverse, y)
    margins = np.maximum(y @ mu + e, 0)
    different = np.linalg.norm(y, axis=1) > 1e-11
    different[z] = False
    return np.divide(margins**2, norms, out=np.full(len(y), np.inf), where=different)


def near_best(problem: Problem, mu: Array) -> list[int]:
    """The ε-best answers at μ."""
    c, e = constants(problem)
    values = problem.answers @ mu
    return [z for z in range(len(values)) if values[z] - c * values.max() + e >= 0]


def value(problem: Problem, mu: Array, z: int) -> float:
    """max_w min_x of the distances, by a cold solve in the user's coordinates."""
    c, e = constants(problem)
    solved = design.solve(problem.arms, problem.answers, problem.answers @ mu, z, c, e, 1e-9)
    return solved.lower


def furthest(problem: Problem, mu: Array) -> set[int]:
    """z_F(μ), every ε-best answer solved cold; where there is none, the greedy answer."""
    candidates = near_best(problem, mu)
    if not candidates:
        return {int((problem.answers @ mu).argmax())}
    values = {z: value(problem, mu, z) for z in candidates}
    return {z for z in candidates if values[z] >= max(values.values()) * (1 - 1e-8)}


def shapes() -> list[Instance]:
    """K = Z, K < Z, K > Z, d = 1 (where all values tie), equal arms and equal answers."""
    plane = Problem([[1, 0], [1, 0], [0, 1], [2, 1]], [[1, 0.2], [1, 0.2], [0, 1], [0.5, 0.1]], 0.1)
    line = Problem([[1.0], [-2.0], [0.5]], [[1.0], [0.9], [-1.0]], 0.2, "multiplicative")
    return [
        hard(arms="all"),
        hard(notion="additive", arms="basis"),
        unequal(1, 5, 7, 3, eps=0.1, notion="additive"),
        unequal(2, 7, 4, 4, eps=0.1, notion="multiplicative", sigma=0.5),
        Instance("equal arms and answers", plane, np.array([1.0, 0.3])),
        Instance("d=1", line, np.array([0.7])),
    ]
