"""The test `top-wrong`: proven, and without a price for the dimension.

Under the true μ one pair decides whether a wrong answer can be given: the best answer x and the
best-valued *wrong* answer. One one-sided, one-dimensional e-process in the direction y = z − c·x is
therefore enough, where `mixture` pays for all d directions; an ellipsoid guards the others, and
only in second order. Statement, proof and what did not pay: docs/theory/top-wrong.md. Statistics
and evidence: kernels/contrasts.py.

`ranked` has the same state, and a decision of its own (kernels/ranked.py).
"""

import math
from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from furthest.kernels.beside import (
    bring,
    hold_pair,
    is_beyond,
    list_near,
    look_at,
    strength_alone,
    strength_beside,
    strength_of_pair,
)
from furthest.kernels.contrasts import (
    Case,
    Form,
    Obstacle,
    Price,
    Register,
    Residual,
    Roll,
    Scratch,
    TopWrong,
    Weight,
    beyond_ellipsoid,
    recall_ellipsoids,
    strength,
    update_offset,
    update_radii,
    update_volumes,
)
from furthest.kernels.evidence import Clock, Evidence, Squares
from furthest.kernels.jit import Apart, kernel
from furthest.kernels.linalg import Matrix, Vector, combine, matvec
from furthest.kernels.normal_gamma import Shapes
from furthest.task import Task

# Against whom a test is asked, if not against one answer alone: as in every round, first against
# those who stood in the way last and then against all; or against all at once; or against all with
# what was computed for another level; or then against those who stood in the way last, and nobody
# else.
REMEMBERED, QUICKLY, COMPLETELY, AGAIN = -4, -3, -2, -1


class Budget(NamedTuple):
    """How δ is spent, given the number of answers; costs are −ln of a mass."""

    ellipsoid: float  # π₀
    first: float  # cost of the pair
    summed: float  # cost of a bystander's sum
    fallback: float  # cost of a bystander alone
    ranks: Matrix  # (2, n) masses by rank; none in `top-wrong`
    remembered: int = 0  # how many bystanders an obstacle holds beside its two columns


class Masses(NamedTuple):
    """How δ is spent, with n = Z − 2 bystanders; the pair itself, π₁, gets what the others leave.

    Any positive masses with a sum below 1 keep the theorem. Small `summed` and `fallback` stop
    earlier where ε is small against the gaps, later where several wrong answers are tied.
    """

    ellipsoid: float = 0.05  # π₀
    summed: float = 0.3  # π₂ = summed·n/(n+1)
    fallback: float = 0.3  # π₃ = fallback·n/(n+1)

    def budget(self, bystanders: int) -> Budget:
        """Without bystanders nothing is asked of them."""
        share = bystanders / (bystanders + 1)
        shares = self.summed * share, self.fallback * share
        first = 1.0 - self.ellipsoid - shares[0] - shares[1]
        summed, fallback = (
            math.log(bystanders / mass) if bystanders else math.inf for mass in shares
        )
        return Budget(self.ellipsoid, -math.log(first), summed, fallback, np.zeros((2, 0)))


class Spending(Protocol):
    """Masses of some kind."""

    def budget(self, bystanders: int) -> Budget:
        """What they are where there are so many answers beside the pair."""


class Weighting(NamedTuple):
    """How measurements are weighted: g = (βt·I − ηD)ᵀV⁻¹a, β = (t/n₀)^α. Fixed, it breaks nothing.

    Measured times of `top-wrong` are flat in η from .7 to 1.5.
    """

    growth: float = 0.0  # α
    correction: float = 1.0  # η, how fast the drift is pulled back to 0
    lean: float = 1.0


class Scales(NamedTuple):
    """Prior scales: which sample sizes the test is sharpest for. None of them can break it.

    The half-normal priors have the precisions ℓ_j = (directions_j + per_size_j·‖y‖²)·‖y‖².
    """

    directions: tuple[float, ...] = (10.0, 400.0)
    weights: tuple[float, ...] = (0.7, 0.3)
    ellipsoids: tuple[float, ...] = (4.0, 100.0)  # κ_j/d: prior precisions of the ellipsoids
    per_size: tuple[float, ...] = ()  # all 0


def top_wrong(
    task: Task,
    deltas: Sequence[float],
    masses: Spending | None = None,
    scales: Scales | None = None,
    shapes: Shapes | None = None,
    weighting: Weighting | None = None,
    decision: Apart | None = None,
) -> TopWrong:
    """A fresh test for one run; the levels are in the order of `deltas`.

    With `shapes` σ is unknown and the noise Gaussian; without, σ = 1 and the noise sub-Gaussian.
    """
    scales, priors = scales or Scales(), shapes or Shapes((), ())
    answers, d = task.answers.shape
    budget = (masses or Masses()).budget(answers - 2)
    kappas = d * np.array(scales.ellipsoids, float)
    state = TopWrong(
        registers=np.zeros(len(Register), np.int64),
        weighting=np.array([*(weighting or Weighting()), 0.0, 0.0]),
        drift=np.zeros((d, d)),
        spread=np.zeros((d, d)),
        total=np.zeros(d),
        residual=np.zeros(len(Residual)),
        obstacles=np.full((answers, len(Obstacle) + budget.remembered), -1, np.int64),
        ranks=budget.ranks,
        required=_required(deltas, budget, len(kappas)),
        directions=_directions(scales),
        ellipsoids=np.array([kappas, np.zeros_like(kappas), np.zeros_like(kappas)]),
        shapes=np.array([priors.shapes, np.log(priors.weights)], float),
        vectors=np.zeros((len(Scratch), d)),
        strengths=np.zeros(answers),
        reaches=np.zeros((4, answers)),
        rolls=np.zeros((len(Roll), answers), np.int64),
        shares=np.zeros((2, answers)),
        steps=np.zeros((answers, len(Form))),
        forms=np.zeros((5, len(Form))),
        slopes=np.zeros((2 * (len(Form) - 1), d)),
        factor=np.zeros((d, d)),
        work=np.zeros((d, d)),
    )
    square = state.factor
    example = Case(square, square, 1.0, 0.0, 1.0, state.total, square, square, 0.0, 0.0)
    tester = decision or TOP_WRONG
    state.registers[Register.TESTER] = tester.address(state, example, state.total, square, 0, 0, 0)
    return state


def _directions(scales: Scales) -> Matrix:
    """The rows of TopWrong.directions."""
    per_size = scales.per_size or (0.0,) * len(scales.directions)
    return np.array([scales.directions, np.log(scales.weights), per_size], float)


def _required(deltas: Sequence[float], budget: Budget, ellipsoids: int) -> Matrix:
    """The rows of TopWrong.required."""
    logs = np.log(1.0 / np.array(deltas, float))
    radius = 2.0 * (logs + math.log(ellipsoids / budget.ellipsoid))
    costs = (budget.first, budget.summed, budget.fallback)
    return np.array([radius, *(logs + cost for cost in costs), logs])


@kernel
def observe(state: TopWrong, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Take in the measurement, or several, that `evidence` has just recorded: O(d²).

    g = (βt·I − ηD)ᵀV_t⁻¹a with the drift before this measurement: known before the reward is. All
    results of one sum have the same g, with V_t after the last of them; so their number must not
    depend on what they are.
    """
    if evidence.clock[Clock.READY] == 0:
        return
    rounds = float(evidence.clock[Clock.ROUNDS])
    state.residual[Residual.SUM] = evidence.residual[Squares.TOTAL]
    if state.registers[Register.STARTED] == 0:
        state.registers[Register.STARTED] = 1
        _fold_design(state, evidence, rounds)
        return
    size = float(evidence.clock[Clock.SIZE])
    _fold(state, task.arms[arm], evidence.inverse, rounds, reward, size)


@kernel
def _fold_design(state: TopWrong, evidence: Evidence, rounds: float) -> None:
    """Fold in the initial design, fixed beforehand: g = n₀V⁻¹a with V of the complete design.

    Then B = n₀·I, J = n₀²·V⁻¹ and τ = n₀·m. Of a singular design g = 0, and all of them are 0.
    """
    d = evidence.estimate.shape[0]
    state.weighting[Weight.INITIAL] = state.weighting[Weight.TOTAL] = rounds
    for i in range(d):
        state.total[i] = rounds * evidence.estimate[i]
        for j in range(d):
            state.drift[i, j] = 0.0
            state.spread[i, j] = rounds * rounds * evidence.inverse[i, j]
        if evidence.clock[Clock.SINGULAR] == 1:
            state.drift[i, i] = -rounds


@kernel
def _fold(
    state: TopWrong, a: Vector, inverse: Matrix, rounds: float, reward: float, size: float
) -> None:
    """Fold in one later measurement, or the sum of several."""
    lever, g = state.vectors[Scratch.DUAL], state.vectors[Scratch.BENT]
    drift, spread, weighting = state.drift, state.spread, state.weighting
    d = a.shape[0]
    matvec(inverse, a, lever)
    combine(lever, drift, g)
    beta = (rounds / weighting[Weight.INITIAL]) ** weighting[Weight.GROWTH]
    weighting[Weight.TOTAL] += size * beta
    for i in range(d):
        g[i] = beta * rounds * lever[i] - weighting[Weight.CORRECTION] * g[i]
    for i in range(d):
        ai, gi = size * a[i], size * g[i]
        state.total[i] += reward * g[i]
        for j in range(d):
            drift[i, j] += ai * g[j]
            spread[i, j] += gi * g[j]
        drift[i, i] -= size * beta


@kernel
def met(state: TopWrong, task: Task, evidence: Evidence, z: int, level: int) -> bool:
    """Whether the test accepts answer z at this confidence level."""
    asked = case(task, evidence, 0.0, 0.0)
    arguments = (state, asked, evidence.estimate, evidence.matrix, z, level, QUICKLY)
    return _accepts_at(state.registers[Register.TESTER], arguments)


@kernel
def met_against(state: TopWrong, task: Task, evidence: Evidence, z: int, against: int) -> bool:
    """Whether it would at the first level: `COMPLETELY`, or after that in another way.

    `AGAIN`, against one answer alone, or against what is `REMEMBERED`, once something has failed:
    nothing is computed again that does not depend on the level.
    """
    asked = case(task, evidence, 0.0, 0.0)
    arguments = (state, asked, evidence.estimate, evidence.matrix, z, 0, against)
    return _accepts_at(state.registers[Register.TESTER], arguments)


@kernel
def met_within(
    state: TopWrong, task: Task, evidence: Evidence, z: int, tilt: float, slack: float
) -> bool:
    """Whether it would, at the first level, if less were asked of z, and of no other answer.

    For all tilt, slack ≥ 0 at once that is as true as the test: docs/theory/budget.md.
    """
    asked = case(task, evidence, tilt, slack)
    arguments = (state, asked, evidence.estimate, evidence.matrix, z, 0, QUICKLY)
    return _accepts_at(state.registers[Register.TESTER], arguments)


@kernel
def case(task: Task, evidence: Evidence, tilt: float = 0.0, slack: float = 0.0) -> Case:
    """The part of task and evidence that the test looks at."""
    return Case(
        task.answers,
        task.answer_columns,
        task.c,
        task.e,
        float(evidence.clock[Clock.ROUNDS]),
        evidence.values,
        evidence.projected,
        evidence.inverse,
        tilt,
        slack,
    )


@kernel
def _accepts(
    state: TopWrong,
    case: Case,
    estimate: Vector,
    matrix: Matrix,
    z: int,
    level: int,
    against: int,
) -> bool:
    """The pair that failed last alone, then all pairs.

    The first try takes the ellipsoids from when they were last computed. They only grow, and a
    greater ellipsoid proves less: what fails now would fail in the complete test too.
    """
    if against == REMEMBERED:
        update_radii(state, case.rounds, level, state.residual[Residual.LARGEST])
        return not _still_fails(state, case, z, level)
    if against <= COMPLETELY:
        update_offset(state, estimate)
        if against == QUICKLY:
            expect_obstacle(state, case, z, z)
            recall_ellipsoids(state, case, level)
            if _still_fails(state, case, z, level):
                return False
        update_volumes(state, case, matrix)
        look_at(state, case, z)
    update_radii(state, case.rounds, level, state.residual[Residual.LARGEST])
    first = max(against, 0)
    last = first + 1 if against >= 0 else case.answers.shape[0]
    failed = weak_pair(state, case, z, level, first, last)
    if failed >= 0:
        state.obstacles[z, Obstacle.BEST], state.obstacles[z, Obstacle.OTHER] = failed, z
        return False
    count = -1
    for x in range(first, last):
        if x == z or state.strengths[x] >= state.required[Price.FALLBACK, level]:
            continue
        if count < 0:
            count = list_near(state, case, z)
        other = _harmful(state, case, z, x, level, count)
        if other >= 0:
            state.obstacles[z, Obstacle.BEST], state.obstacles[z, Obstacle.OTHER] = x, other
            return False
    return True


TOP_WRONG = Apart(_accepts)
_accepts_at = TOP_WRONG.caller()


@kernel
def expect_obstacle(state: TopWrong, case: Case, z: int, alone: int) -> None:
    """Before anything has failed: against the best other answer the evidence is often weakest."""
    if state.obstacles[z, Obstacle.BEST] < 0:
        best = 1 if z == 0 else 0
        for x in range(case.values.shape[0]):
            if x != z and case.values[x] > case.values[best]:
                best = x
        state.obstacles[z, Obstacle.BEST], state.obstacles[z, Obstacle.OTHER] = best, alone


@kernel
def weak_pair(state: TopWrong, case: Case, z: int, level: int, first_x: int, last_x: int) -> int:
    """An x in a range against which z alone fails, or −1; log evidence goes to `strengths`."""
    strengths = state.strengths
    for x in range(first_x, last_x):
        if x == z:
            continue
        strengths[x] = strength_of_pair(state, case, z, x)
        if not strengths[x] >= state.required[Price.FIRST, level]:  # nor is what is no number
            return x
    return -1


@kernel
def _still_fails(state: TopWrong, case: Case, z: int, level: int) -> bool:
    """Whether the pair that failed last fails again."""
    x, other = state.obstacles[z, Obstacle.BEST], state.obstacles[z, Obstacle.OTHER]
    own = strength(state, case, z, x, z, case.tilt, case.slack)
    if not own >= state.required[Price.FIRST, level]:
        return True
    if other == z or own >= state.required[Price.FALLBACK, level]:
        return False
    if beyond_ellipsoid(state, case, z, x, other):
        return False
    alone = strength(state, case, other, x, other, 0.0, 0.0)
    both = strength(state, case, z, x, other, case.tilt, case.slack)
    return not _is_harmless(state, level, own, alone, both)


@kernel
def _harmful(state: TopWrong, case: Case, z: int, x: int, level: int, count: int) -> int:
    """An answer that, as the top wrong one with x as the best, leaves room for a wrong z; or −1.

    None does that no parameter within an ellipsoid has wrong and at least as good as z.
    """
    near, own = state.rolls[Roll.NEAR], state.strengths[x]
    hold_pair(state, case, z, x)
    for place in range(count):
        other = near[place]
        if other == x:
            continue
        bring(state, case, z, other)
        if is_beyond(state, case, z, x, other):
            continue
        alone = strength_alone(state, case, x, other)
        both = strength_beside(state, case, z, x, other)
        if not _is_harmless(state, level, own, alone, both):
            return other
    return -1


@kernel
def _is_harmless(state: TopWrong, level: int, own: float, alone: float, both: float) -> bool:
    """Whether it is enough evidence that z' is right, z right or better than z', and z right.

    Together: these are three terms of one supermartingale.
    """
    required = state.required
    total = math.exp(own - required[Price.FALLBACK, level])
    total += math.exp(alone - required[Price.FIRST, level])
    total += math.exp(both - required[Price.SUMMED, level])
    return total >= 1.0
