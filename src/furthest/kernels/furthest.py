"""The furthest answer z_F(μ_t) at every round, exactly, with cached certificates.

z_F(μ) maximises value(z) over the ε-optimal answers (Jourdan & Degenne 2022); `design` computes
one value. Between rounds only the margins n_x = ⟨μ, z − c·x⟩ + e change, and they enter only as
a scale. So the weights w and multipliers q of an old solve certify, for ANY later μ,

    min_x n_x²/D_x  ≤  value(z)  ≤  1 / Σ_x B_x/n_x²,
    D_x = ‖z − c·x‖²_{V_w⁻¹},    B_x = q_x n_x²/upper at the old margins,

at the cost of O(Z) operations and no linear algebra. A round solves again, from a warm start,
only while these brackets leave the winner open.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from furthest.kernels import design
from furthest.kernels.design import (
    ABOVE,
    BELOW,
    BEST,
    CENTRED,
    FLOOR,
    GAP,
    LEVEL,
    WARM,
    Workspace,
)
from furthest.kernels.jit import Apart, kernel, spliced
from furthest.kernels.linalg import Counts, Matrix, Vector

_OPTIMUM = Apart(design.optimum)
_optimum_at = _OPTIMUM.caller()

# Relative gap of a solve that settles the contest early, and at which values count as tied.
EARLY = 1e-2
TIED = 1e-9
# Solves per candidate after which a round settles for the leader. Never seen to be reached.
PATIENCE = 20
# Rounding error of a margin relative to its terms.
ROUNDING = 1e-14


class Oracle(NamedTuple):
    """What is known about each answer from its last solve. Rows of unknown answers are unused."""

    weights: Matrix  # (Z, K) best weights
    nearness: Matrix  # (Z, Z) 1/D_x, infinite where x cannot be confused with z
    shares: Matrix  # (Z, Z) B_x
    centred_weights: Matrix  # (Z, K) warm start
    centred_multipliers: Matrix  # (Z, Z) its q_x n_x²
    lower: Vector  # (Z) bracket of value(z) in this round
    upper: Vector  # (Z)
    known: Counts  # (Z) 1 once solved
    candidates: Counts  # (Z) ε-optimal answers of this round
    statistics: Counts  # (3) rounds, rounds with a solve, Newton steps
    work: Workspace
    solver: Counts  # (1) address of the compiled solver

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process knows nothing yet, and has the address that is valid there."""
        arms, answers = self.weights.shape[1], self.weights.shape[0]
        return oracle, (arms, answers, self.work.everything.arms.shape[0])


def oracle(arms: int, answers: int, dimension: int) -> Oracle:
    """Room for problems of that many arms and answers. Untouched rows cost no memory."""
    work = design.workspace(arms, answers, dimension)
    return Oracle(
        weights=np.zeros((answers, arms)),
        nearness=np.zeros((answers, answers)),
        shares=np.zeros((answers, answers)),
        centred_weights=np.zeros((answers, arms)),
        centred_multipliers=np.zeros((answers, answers)),
        lower=np.zeros(answers),
        upper=np.zeros(answers),
        known=np.zeros(answers, dtype=np.int64),
        candidates=np.zeros(answers, dtype=np.int64),
        statistics=np.zeros(3, dtype=np.int64),
        work=work,
        solver=np.array([_OPTIMUM.address(work, 1, 1)]),
    )


@kernel
def forget(oracle: Oracle) -> None:
    """Start a new run."""
    oracle.known[:] = 0
    oracle.statistics[:] = 0


@kernel
def _epsilon_optimal(values: Vector, c: float, e: float, out: Counts) -> int:
    """List {z : n_zx ≥ 0 for every x ≠ z} in `out`; their number.

    An answer on the boundary up to rounding is listed: its value is 0 unless the boundary is
    that of x = z/c, which cannot be confused with it.
    """
    top = 0
    second = -1
    for x in range(1, values.shape[0]):
        if values[x] > values[top]:
            second = top
            top = x
        elif second < 0 or values[x] > values[second]:
            second = x
    count = 0
    for z in range(values.shape[0]):
        rival = second if z == top else top
        slack = ROUNDING * (abs(values[z]) + abs(values[rival]) + e)
        if second < 0 or values[z] - c * values[rival] + e >= -slack:
            out[count] = z
            count += 1
    return count


@kernel
def _bracket(
    values: Vector, z: int, c: float, e: float, nearness: Vector, shares: Vector
) -> tuple[float, float]:
    """Bounds of value(z) at these values from the cached certificate."""
    lower = math.inf
    share = 0.0
    for x in range(values.shape[0]):
        margin = values[z] - c * values[x] + e
        square = margin * margin if margin > 0.0 else 0.0
        distance = square * nearness[x]
        # Infinite times zero is NaN, and loses the comparison; `min` need not ignore it.
        lower = distance if distance < lower else lower  # noqa: FURB136
        if shares[x] > 0.0:
            share += shares[x] / square
    return lower, max(lower, 1.0 / share)


@spliced
def _refine(
    oracle: Oracle, arms: Matrix, answers: Matrix, values: Vector, z: int, c: float, e: float
) -> None:
    """Solve answer z to the goal in the workspace, and cache its certificate."""
    point, index, goal = oracle.work.everything.point, oracle.work.answer, oracle.work.goal
    k = arms.shape[0]
    n = design.directions(arms, answers, values, z, c, e, oracle.work)
    for x in range(answers.shape[0]):
        oracle.nearness[z, x] = math.inf
        oracle.shares[z, x] = 0.0
    if n <= 0:
        # Not ε-optimal, or never to be confused: no design is better than another.
        oracle.lower[z] = oracle.upper[z] = 0.0 if n < 0 else math.inf
        oracle.known[z] = 0
        oracle.weights[z, :] = 1.0 / k
        return
    goal[WARM] = oracle.known[z]
    if oracle.known[z] == 1:
        for a in range(k):
            point[CENTRED, a] = oracle.centred_weights[z, a]
        for i in range(n):
            margin = values[z] - c * values[index[i]] + e
            multiplier = oracle.centred_multipliers[z, index[i]]
            point[CENTRED, k + i] = multiplier / margin / margin
    lower, upper, steps = _optimum_at(oracle.solver[0], (oracle.work, k, n))
    for i in range(n):
        x = index[i]
        margin = values[z] - c * values[x] + e
        oracle.nearness[z, x] = point[LEVEL, k + i] / margin / margin
        oracle.shares[z, x] = point[BEST, k + i] * margin * margin / upper
        oracle.centred_multipliers[z, x] = point[CENTRED, k + i] * margin * margin
    for a in range(k):
        oracle.weights[z, a] = point[BEST, a]
        oracle.centred_weights[z, a] = point[CENTRED, a]
    oracle.known[z] = 1
    oracle.lower[z] = lower
    oracle.upper[z] = max(lower, upper)
    oracle.statistics[2] += steps


@kernel
def _relative_gap(lower: float, upper: float) -> float:
    """upper/lower − 1, infinite where the lower bound is zero."""
    return 0.0 if upper == lower else (upper - lower) / lower


@kernel
def _next_question(
    lower: Vector, upper: Vector, candidates: Counts, count: int, goal: Vector
) -> tuple[int, int]:
    """The leader, and the answer to solve next with its goal (−1 if the leader has won).

    The leader has the largest lower bound, its rival the largest upper bound among the others.
    """
    leader = candidates[0]
    for i in range(1, count):
        if lower[candidates[i]] > lower[leader]:
            leader = candidates[i]
    rival = -1
    for i in range(count):
        z = candidates[i]
        if z != leader and (rival < 0 or upper[z] > upper[rival]):
            rival = z
    if rival < 0 or lower[leader] >= upper[rival]:
        return leader, -1
    chosen, other = rival, leader
    if upper[leader] >= upper[rival]:
        chosen, other = leader, rival
    gap = _relative_gap(lower[chosen], upper[chosen])
    other_gap = _relative_gap(lower[other], upper[other])
    if gap <= min(EARLY, other_gap):
        chosen, other = other, chosen
        gap, other_gap = other_gap, gap
    if gap <= TIED:
        # Both are: the first of those that nothing distinguishes.
        for i in range(count):
            z = candidates[i]
            if lower[z] >= (1.0 - 2.0 * TIED) * lower[leader]:
                return z, -1
    # No narrower than useful: the other may have to be solved again first.
    goal[GAP] = EARLY
    goal[FLOOR] = max(0.5 * TIED, min(EARLY, 0.1 * other_gap))
    goal[ABOVE] = upper[other]
    goal[BELOW] = lower[other]
    return leader, chosen


@kernel
def furthest_design(
    oracle: Oracle,
    arms: Matrix,
    answers: Matrix,
    values: Vector,
    c: float,
    e: float,
    gap: float,
) -> int:
    """z_F(μ) for values = answers·μ, its design in oracle.weights good to the relative `gap`.

    Where the multiplicative notion has no ε-optimal answer (max value ≤ 0): the greedy answer.
    """
    goal = oracle.work.goal
    greedy = int(np.argmax(values))
    count = _epsilon_optimal(values, c, e, oracle.candidates)
    if count == 0 or (c < 1.0 and values[greedy] <= 0.0):
        oracle.candidates[0] = greedy
        count = 1
    solves = 0
    z = oracle.candidates[0]
    if count > 1 or gap < math.inf:
        for i in range(count):
            x = oracle.candidates[i]
            oracle.lower[x], oracle.upper[x] = 0.0, math.inf
            if oracle.known[x] == 1:
                oracle.lower[x], oracle.upper[x] = _bracket(
                    values, x, c, e, oracle.nearness[x], oracle.shares[x]
                )
    while count > 1 or gap < math.inf:
        z, chosen = _next_question(oracle.lower, oracle.upper, oracle.candidates, count, goal)
        if chosen < 0 or solves >= PATIENCE * count:
            # The winner is known; from here on only its design is left to improve.
            oracle.candidates[0] = chosen = z
            count = 1
            goal[FLOOR] = design.MARGIN * gap
            goal[GAP] = 0.0
            if not _relative_gap(oracle.lower[z], oracle.upper[z]) > gap:
                break
            gap = math.inf
        _refine(oracle, arms, answers, values, chosen, c, e)
        solves += 1
    oracle.statistics[0] += 1
    oracle.statistics[1] += min(solves, 1)
    return z


@spliced
def furthest_answer(
    oracle: Oracle, arms: Matrix, answers: Matrix, values: Vector, c: float, e: float
) -> int:
    """z_F(μ) for values = answers·μ."""
    return furthest_design(oracle, arms, answers, values, c, e, math.inf)
