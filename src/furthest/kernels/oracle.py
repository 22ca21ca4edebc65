"""The furthest answer z_F(μ_t) at every round, exactly, with cached certificates.

z_F(μ) maximises value(z) over the ε-optimal answers (Jourdan & Degenne 2022); `design` computes
one value. Between rounds only the margins n_x = ⟨μ, z − c·x⟩ + e change, and they enter only as
a scale. So the weights w and multipliers q of an old solve certify, for ANY later μ,

    min_x n_x²/D_x  ≤  value(z)  ≤  1 / Σ_x B_x/n_x²,
    D_x = ‖z − c·x‖²_{V_w⁻¹},    B_x = q_x n_x²/upper at the old margins,

at the cost of O(Z) operations and no linear algebra. A round solves again, from a warm start,
only while these brackets leave the winner open.

Of very many answers only some are remembered at a time (`slots`); another is solved anew.

The solver takes seconds to compile, so strategies that do without carry `NoOracle` instead of an
`Oracle`: another type, for which compiled code contains no solver.
"""

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numba.extending import overload

from furthest.kernels.design import (
    AIM,
    Goal,
    Row,
    Workspace,
    load_directions,
    optimum,
    within,
    workspace_for,
)
from furthest.kernels.jit import PART, Apart, kernel
from furthest.kernels.linalg import Counts, Matrix, Vector
from furthest.kernels.slots import claim, slots
from furthest.kernels.states import by_reference
from furthest.task import Task

_OPTIMUM = Apart(optimum)
_optimum_at = _OPTIMUM.caller()

# Relative gap of a solve that settles the contest early, and at which values count as tied.
EARLY = 1e-2
TIED = 1e-9
# Share of the rival's gap below which a narrower bracket is of no use, and of TIED that is safely
# within it.
USEFUL = 0.1
SAFELY_TIED = 0.5
# Solves per candidate after which a round settles for the leader. Never seen to be reached.
SOLVES_PER_CANDIDATE = 20
# Rounding error of a margin relative to its terms.
MARGIN_ROUNDING = 1e-14


class Tally(IntEnum):
    """Entries of Oracle.statistics."""

    ROUNDS = 0
    SOLVED_ROUNDS = 1  # rounds with at least one solve
    NEWTON_STEPS = 2


@by_reference
class Oracle(NamedTuple):
    """What is known about answers from their last solve, in rows that `places` tells."""

    places: Counts  # (Z,) see `slots`
    used: Counts  # (2, rows)
    weights: Matrix  # (rows, K) best weights
    nearness: Matrix  # (rows, Z) 1/D_x, infinite where x cannot be confused with z
    shares: Matrix  # (rows, Z) B_x
    centred_weights: Matrix  # (rows, K) warm start
    centred_multipliers: Matrix  # (rows, Z) its q_x n_x²
    lower: Vector  # (Z) bracket of value(z) in this round
    upper: Vector  # (Z)
    known: Counts  # (rows) 1 once solved
    candidates: Counts  # (Z) ε-optimal answers of this round
    statistics: Counts  # (len(Tally))
    work: Workspace
    solver: Counts  # (1) address of the compiled solver

    def __reduce__(self) -> tuple[Any, ...]:
        """A copy in another process knows nothing yet, and has the address that is valid there."""
        *stack, answers = self.places.shape
        arms = self.weights.shape[-1]
        return _room_for, (arms, answers, self.work.everything.arms.shape[0], tuple(stack))


class NoOracle(NamedTuple):
    """Nothing; a NamedTuple must have a field."""

    nothing: int = 0


def oracle_for(task: Task) -> Oracle:
    """A fresh oracle for one run."""
    arms, d = task.arms.shape
    return _room_for(arms, task.answers.shape[0], d, ())


def oracles_for(task: Task, count: int) -> Oracle:
    """Several in one: arrays stacked along a first axis, one workspace. `one_of` has a view."""
    arms, d = task.arms.shape
    return _room_for(arms, task.answers.shape[0], d, (count,))


def _room_for(arms: int, answers: int, dimension: int, stack: tuple[int, ...]) -> Oracle:
    """Untouched rows cost no memory."""
    work = workspace_for(arms, answers, dimension)
    places, used = slots(answers, max(arms, answers), stack)
    rows = used.shape[-1]
    return Oracle(
        places=places,
        used=used,
        weights=np.zeros((*stack, rows, arms)),
        nearness=np.zeros((*stack, rows, answers)),
        shares=np.zeros((*stack, rows, answers)),
        centred_weights=np.zeros((*stack, rows, arms)),
        centred_multipliers=np.zeros((*stack, rows, answers)),
        lower=np.zeros((*stack, answers)),
        upper=np.zeros((*stack, answers)),
        known=np.zeros((*stack, rows), dtype=np.int64),
        candidates=np.zeros((*stack, answers), dtype=np.int64),
        statistics=np.zeros((*stack, len(Tally)), dtype=np.int64),
        work=work,
        solver=np.array([_OPTIMUM.address(work, 1, 1, within(TIED, False))]),
    )


@kernel
def one_of(oracles: Oracle, number: int) -> Oracle:
    """One of several, as a view."""
    return Oracle(
        oracles.places[number],
        oracles.used[number],
        oracles.weights[number],
        oracles.nearness[number],
        oracles.shares[number],
        oracles.centred_weights[number],
        oracles.centred_multipliers[number],
        oracles.lower[number],
        oracles.upper[number],
        oracles.known[number],
        oracles.candidates[number],
        oracles.statistics[number],
        oracles.work,
        oracles.solver,
    )


@kernel
def _is_known(oracle: Oracle, z: int) -> bool:
    """Whether there is a certificate of z."""
    return oracle.places[z] >= 0 and oracle.known[oracle.places[z]] == 1


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
        slack = MARGIN_ROUNDING * (abs(values[z]) + abs(values[rival]) + e)
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


@kernel
def _recall(oracle: Oracle, task: Task, values: Vector, z: int) -> None:
    """The bracket of value(z) in this round, from the last solve if there was one."""
    oracle.lower[z], oracle.upper[z] = 0.0, math.inf
    if _is_known(oracle, z):
        row = oracle.places[z]
        oracle.lower[z], oracle.upper[z] = _bracket(
            values, z, task.c, task.e, oracle.nearness[row], oracle.shares[row]
        )


@kernel
def _refine(oracle: Oracle, task: Task, values: Vector, z: int, goal: Goal) -> None:
    """Solve answer z to the goal, and cache its certificate."""
    point, index = oracle.work.everything.point, oracle.work.answer
    k, c, e = task.arms.shape[0], task.c, task.e
    n = load_directions(task.arms, task.answers, values, z, c, e, oracle.work)
    claim(oracle.places, oracle.used, z)
    row = oracle.places[z]
    for x in range(values.shape[0]):
        oracle.nearness[row, x] = math.inf
        oracle.shares[row, x] = 0.0
    if n <= 0:
        # Not ε-optimal, or never to be confused: no design is better than another.
        oracle.lower[z] = oracle.upper[z] = 0.0 if n < 0 else math.inf
        oracle.known[row] = 0
        for a in range(k):
            oracle.weights[row, a] = 1.0 / k
        return
    if goal.warm:
        for a in range(k):
            point[Row.CENTRED, a] = oracle.centred_weights[row, a]
        for i in range(n):
            margin = values[z] - c * values[index[i]] + e
            multiplier = oracle.centred_multipliers[row, index[i]]
            point[Row.CENTRED, k + i] = multiplier / margin / margin
    lower, upper, steps = _optimum_at(oracle.solver[0], (oracle.work, k, n, goal))
    for i in range(n):
        x = index[i]
        margin = values[z] - c * values[x] + e
        oracle.nearness[row, x] = point[Row.LEVEL, k + i] / margin / margin
        oracle.shares[row, x] = point[Row.BEST, k + i] * margin * margin / upper
        oracle.centred_multipliers[row, x] = point[Row.CENTRED, k + i] * margin * margin
    for a in range(k):
        oracle.weights[row, a] = point[Row.BEST, a]
        oracle.centred_weights[row, a] = point[Row.CENTRED, a]
    oracle.known[row] = 1
    oracle.lower[z] = lower
    oracle.upper[z] = max(lower, upper)
    oracle.statistics[Tally.NEWTON_STEPS] += steps


@kernel
def _relative_gap(lower: float, upper: float) -> float:
    """upper/lower − 1, infinite where the lower bound is zero."""
    return 0.0 if upper == lower else (upper - lower) / lower


@kernel
def _next_question(
    lower: Vector, upper: Vector, candidates: Counts, count: int
) -> tuple[int, int, int, float]:
    """The leader; the answer to solve next (−1 if the leader has won), its rival, how narrow.

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
        return leader, -1, -1, 0.0
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
                return z, -1, -1, 0.0
    # No narrower than useful: the other may have to be solved again first.
    return leader, chosen, other, max(SAFELY_TIED * TIED, min(EARLY, USEFUL * other_gap))


@kernel
def furthest_design(oracle: Oracle, task: Task, values: Vector, gap: float) -> int:
    """z_F(μ) for values = answers·μ, its weights good to the relative `gap`.

    Where the multiplicative notion has no ε-optimal answer (max value ≤ 0): the greedy answer.

    Paper: Equation 2.
    """
    lower, upper, candidates = oracle.lower, oracle.upper, oracle.candidates
    greedy = int(np.argmax(values))
    count = _epsilon_optimal(values, task.c, task.e, candidates)
    if count == 0 or (task.c < 1.0 and values[greedy] <= 0.0):
        candidates[0] = greedy
        count = 1
    solves = 0
    z = candidates[0]
    if count > 1 or gap < math.inf:
        for i in range(count):
            _recall(oracle, task, values, candidates[i])
    while count > 1 or gap < math.inf:
        z, chosen, other, floor = _next_question(lower, upper, candidates, count)
        if chosen < 0 or solves >= SOLVES_PER_CANDIDATE * count:
            # The winner is known; from here on only its design is left to improve.
            candidates[0] = chosen = z
            count = 1
            forgotten = oracle.places[z] < 0 and gap < math.inf
            if not (forgotten or _relative_gap(lower[z], upper[z]) > gap):
                break
            goal = within(AIM * gap, _is_known(oracle, z))
            gap = math.inf
        else:
            goal = Goal(EARLY, floor, upper[other], lower[other], _is_known(oracle, chosen))
        _refine(oracle, task, values, chosen, goal)
        solves += 1
    oracle.statistics[Tally.ROUNDS] += 1
    oracle.statistics[Tally.SOLVED_ROUNDS] += min(solves, 1)
    return z


@kernel
def furthest_answer(oracle: Oracle, task: Task, values: Vector) -> int:
    """z_F(μ) for values = answers·μ."""
    return furthest_design(oracle, task, values, math.inf)


@kernel
def design_of(oracle: Oracle, task: Task, values: Vector, z: int, gap: float) -> bool:
    """Bring the weights of z to the relative gap at these values. False where value(z) = 0.

    Solves again only where the certificate of the last solve leaves a wider gap than that.
    """
    _recall(oracle, task, values, z)
    if oracle.places[z] < 0 or _relative_gap(oracle.lower[z], oracle.upper[z]) > gap:
        _refine(oracle, task, values, z, within(gap, _is_known(oracle, z)))
    return oracle.upper[z] > 0.0


def exact_furthest(held: Any, task: Task, values: Vector) -> int:
    """z_F(μ) for values = answers·μ; −1 without an oracle."""
    return -1 if isinstance(held, NoOracle) else furthest_answer(held, task, values)


@overload(exact_furthest, jit_options=PART)
def _exact_furthest_compiled(held: Any, task: Any, values: Any) -> Any:
    if held.instance_class is NoOracle:

        def absent(held: Any, task: Any, values: Any) -> int:
            return -1

        return absent

    def present(held: Any, task: Any, values: Any) -> int:
        return furthest_answer(held, task, values)

    return present
