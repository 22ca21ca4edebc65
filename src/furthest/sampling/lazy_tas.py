"""Lazy Track-and-Stop: track optimal proportions that are renewed on a sparse grid of rounds.

Jedra & Proutière (2020), "Optimal Best-arm Identification in Linear Bandits", the sampling rule of
Lazy Track-and-Stop. Theirs is for best arms, on the grid 2, 4, 8, …; here the proportions are those
of the furthest answer, w_F(μ_t), and the grid grows by `ratio` (1 for theirs). As in the paper,
exploration is forced only while λ_min(V_t) < pace·√t, and only on d arms that span.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from furthest.errors import StrategyError
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix, Vector, cholesky
from furthest.kernels.oracle import Oracle, furthest_design, oracle_for
from furthest.kernels.tracking import most_behind
from furthest.problem import spanning_arms
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class State(IntEnum):
    """Positions in LazyTas.state."""

    NEXT = 0  # next round of the grid
    ANSWER = 1  # the furthest answer when the proportions were renewed
    TURN = 2  # which of the spanning arms is explored next


class LazyTas(NamedTuple):
    """Oracle, grid, spanning arms and allotted proportions."""

    oracle: Oracle
    gap: float  # relative gap to which w_F(μ_t) is solved
    ratio: float  # a round of the grid is followed by the one 1 + ratio times as late
    allotted: Vector  # (K,) Σ_s w(s), the sum of all proportions, forced rounds included
    spanning: Counts  # (d,) 𝒜₀, arms that span
    pace: float  # c_𝒜₀ = λ_min(Σ_{a ∈ 𝒜₀} a aᵀ)/√d
    state: Counts  # (3,) see State
    factor: Matrix  # (d, d) scratch


def start(task: Task, *, ratio: float = 0.2, gap: float = 1e-3) -> LazyTas:
    """The state before the first round."""
    if not 0 <= ratio < math.inf:
        raise StrategyError(f"ratio of the grid must be at least 0 and finite, not {ratio:g}")
    arms, d = task.arms.shape
    spanning = spanning_arms(task.arms)
    chosen = task.arms[spanning]
    return LazyTas(
        oracle=oracle_for(task),
        gap=gap,
        ratio=ratio,
        allotted=np.bincount(task.initial, minlength=arms).astype(float),
        spanning=spanning,
        pace=float(np.linalg.eigvalsh(chosen.T @ chosen)[0] / math.sqrt(d)),
        state=np.zeros(len(State), np.int64),
        factor=np.zeros((d, d)),
    )


@kernel
def choose(rule: LazyTas, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """A spanning arm where exploration is due, else the arm most behind its target.

    The paper tracks among arms of positive target only. That holds by itself: the targets add up
    to one pull more than was made, so some arm is behind, while an arm without target is not.

    Paper: Lazy TaS.
    """
    state, allotted = rule.state, rule.allotted
    rounds = evidence.clock[Clock.ROUNDS]
    if rounds + 1 >= state[State.NEXT]:
        state[State.ANSWER] = furthest_design(rule.oracle, task, evidence.values, rule.gap)
        state[State.NEXT] = max(rounds + 2, math.ceil((1.0 + rule.ratio) * (rounds + 1)))
    weights = rule.oracle.weights[rule.oracle.places[state[State.ANSWER]]]
    for a in range(allotted.shape[0]):
        allotted[a] += weights[a]
    if _least_eigenvalue_below(evidence.matrix, rule.pace * math.sqrt(rounds), rule.factor):
        arm = rule.spanning[state[State.TURN]]
        state[State.TURN] = (state[State.TURN] + 1) % rule.spanning.shape[0]
        return arm
    return most_behind(evidence.counts, allotted, 1.0)


@kernel
def _least_eigenvalue_below(matrix: Matrix, level: float, factor: Matrix) -> bool:
    """λ_min(matrix) ≤ level: matrix − level·I has no Cholesky factor."""
    for i in range(matrix.shape[0]):
        for j in range(i):
            factor[i, j] = matrix[i, j]
        factor[i, i] = matrix[i, i] - level
    return not cholesky(factor)


RULE = Rule(
    name="lazy-tas",
    start=start,
    choose=choose,
    source="Jedra & Proutière (2020): Lazy Track-and-Stop, with the furthest answer for ε",
    optimality="asymptotically optimal for best arms (ε = 0); for ε-best answers no proof is known",
)
