"""The test `top-wrong`: proven, and without a price for the dimension.

Under the true μ one pair decides whether a wrong answer can be given: the best answer x and the
best-valued *wrong* answer. One one-sided, one-dimensional e-process in the direction y = z − c·x is
therefore enough, where `mixture` pays for all d directions; an ellipsoid guards the others, and
only in second order. Statement, proof and what did not pay: docs/theory/top-wrong.md.

Every measurement X of arm a gets a vector g that is known before X. With B = Σ a gᵀ, J = Σ g gᵀ and
τ = Σ X g, each contrast y has T_y(λ) = Σ ⟨g, y⟩(X − ⟨λ, a⟩) = ⟨y, τ⟩ − ⟨By, λ⟩ and the variance
I_y = yᵀJy. B is kept as the drift D = B − b·I with b = n₀ + Σβ, so that nothing cancels.

`ranked` has the same state, and a decision of its own (kernels/ranked.py).
"""

import math
from collections.abc import Sequence
from enum import IntEnum
from typing import NamedTuple, Protocol

import numpy as np

from furthest.kernels.alternatives import SAME
from furthest.kernels.evidence import Clock, Evidence, Squares
from furthest.kernels.jit import Apart, kernel
from furthest.kernels.linalg import Counts, Matrix, Vector, combine, dot, matvec
from furthest.kernels.normal_gamma import (
    Direction,
    Shapes,
    ellipsoid_share,
    largest_diagonal,
    largest_eigenvalue,
    log_one_sided_student,
    prior_precision,
)
from furthest.kernels.scales import volumes
from furthest.kernels.states import by_reference
from furthest.task import Task


class Register(IntEnum):
    """Positions in TopWrong.registers."""

    STARTED = 0  # 1 once the initial design is folded in
    TESTER = 1  # address of the compiled test


class Weight(IntEnum):
    """Positions in TopWrong.weighting."""

    GROWTH = 0  # α
    CORRECTION = 1  # η
    LEAN = 2  # what z − z' counts beside z − c·x
    INITIAL = 3  # n₀
    TOTAL = 4  # b


class Obstacle(IntEnum):
    """Columns of TopWrong.obstacles."""

    BEST = 0  # x; −1 before anything has failed
    OTHER = 1  # z'; z itself where the pair failed


class Residual(IntEnum):
    """Positions in TopWrong.residual."""

    SUM = 0  # residual sum of squares at the estimate
    BOUND = 1  # scratch, for unknown σ: the largest RSS(λ) within all ellipsoids


class Price(IntEnum):
    """Rows of TopWrong.required: what each confidence level asks for."""

    RADIUS = 0  # 2 ln(2/(π₀δ)): squared radius of the ellipsoids without their volume
    FIRST = 1  # ln 1/(π₁δ)
    SUMMED = 2  # ln n/(π₂δ); none in `ranked`
    FALLBACK = 3  # ln n/(π₃δ); in `ranked` what makes everybody harmless
    LEVEL = 4  # ln 1/δ


class Ellipsoid(IntEnum):
    """Rows of TopWrong.ellipsoids."""

    KAPPA = 0  # prior precision κ_j
    VOLUME = 1  # ln|V + κ_j|/|κ_j| when last computed; it only grows
    SQUARED_RADIUS = 2  # scratch: R_j² at the level in question


class Scratch(IntEnum):
    """Rows of TopWrong.vectors."""

    OFFSET = 0  # τ − Bᵀm
    CONTRAST = 1  # y
    DUAL = 2  # V⁻¹y
    BENT = 3  # Dy


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


@by_reference
class TopWrong(NamedTuple):
    """The e-processes of all contrasts at once, and what the test at each level requires.

    Few arrays with named rows: every array of a NamedTuple costs compilation time at every call.
    """

    registers: Counts  # (2,) see Register
    weighting: Vector  # (5,) see Weight
    drift: Matrix  # (d, d) D = B − b·I
    spread: Matrix  # (d, d) J
    total: Vector  # (d,) τ
    residual: Vector  # (2,) see Residual
    obstacles: Counts  # (Z, 2 + …) for every candidate z what failed last, see Obstacle
    ranks: Matrix  # (2, n) masses by rank; none in `top-wrong`
    required: Matrix  # (5, levels) see Price
    directions: Matrix  # (3, directions) see Direction
    ellipsoids: Matrix  # (3, ellipsoids) see Ellipsoid
    shapes: Matrix  # (2, shapes) priors of the normal–gamma e-values; none where σ is known
    vectors: Matrix  # (4, d) see Scratch
    strengths: Vector  # (Z,) scratch: log evidence for z against every x
    rivals: Counts  # (2, Z) scratch: who may outrank z, and links between them
    shares: Matrix  # (2, Z) scratch: their evidence, alone and beside z
    factor: Matrix  # (d, d) scratch
    work: Matrix  # (d, d) scratch


class Case(NamedTuple):
    """What the contrasts are made of: the answers, and least squares after t measurements."""

    answers: Matrix  # (Z, d)
    c: float
    e: float
    rounds: float  # t
    values: Vector  # (Z,)
    projected: Matrix  # (d, Z)
    inverse: Matrix  # (d, d)
    # Of the answer in question alone less is asked: c − tilt instead of c, e + slack instead of e.
    tilt: float = 0.0
    slack: float = 0.0


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
        rivals=np.zeros((2, answers), np.int64),
        shares=np.zeros((2, answers)),
        factor=np.zeros((d, d)),
        work=np.zeros((d, d)),
    )
    square = state.factor
    example = Case(square, 1.0, 0.0, 1.0, state.total, square, square, 0.0, 0.0)
    tester = decision or TOP_WRONG
    state.registers[Register.TESTER] = tester.address(state, example, state.total, square, 0, 0)
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
    arguments = (state, asked, evidence.estimate, evidence.matrix, z, level)
    return _accepts_at(state.registers[Register.TESTER], arguments)


@kernel
def met_within(
    state: TopWrong, task: Task, evidence: Evidence, z: int, tilt: float, slack: float
) -> bool:
    """Whether it would, at the first level, if less were asked of z, and of no other answer.

    For all tilt, slack ≥ 0 at once that is as true as the test: docs/theory/budget.md.
    """
    asked = case(task, evidence, tilt, slack)
    arguments = (state, asked, evidence.estimate, evidence.matrix, z, 0)
    return _accepts_at(state.registers[Register.TESTER], arguments)


@kernel
def case(task: Task, evidence: Evidence, tilt: float = 0.0, slack: float = 0.0) -> Case:
    """The part of task and evidence that the test looks at."""
    return Case(
        task.answers,
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
    state: TopWrong, case: Case, estimate: Vector, matrix: Matrix, z: int, level: int
) -> bool:
    """The pair that failed last alone, then all pairs.

    The first try takes the ellipsoids from when they were last computed. They only grow, and a
    greater ellipsoid proves less: what fails now would fail in the complete test too.
    """
    update_offset(state, estimate)
    x, other, answers = state.obstacles[z, 0], state.obstacles[z, 1], case.answers.shape[0]
    first_x, last_x, first_other, last_other = x, x + 1, other, other + 1
    for complete in range(2):
        if complete:
            update_ellipsoids(state, case, matrix, level)
            first_x, last_x, first_other, last_other = 0, answers, 0, answers
        elif x >= 0:
            recall_ellipsoids(state, case, level)
        else:
            continue
        if not _pass(state, case, z, level, first_x, last_x, first_other, last_other):
            return False
    return True


TOP_WRONG = Apart(_accepts)
_accepts_at = TOP_WRONG.caller()


@kernel
def _pass(
    state: TopWrong,
    case: Case,
    z: int,
    level: int,
    first_x: int,
    last_x: int,
    first_other: int,
    last_other: int,
) -> bool:
    """The test for all x in a range that may be the best, z' in a range that may be the top wrong.

    Remembers the pair that fails.
    """
    required, strengths, obstacle = state.required, state.strengths, state.obstacles[z]
    failed = weak_pair(state, case, z, level, first_x, last_x)
    if failed >= 0:
        obstacle[Obstacle.BEST], obstacle[Obstacle.OTHER] = failed, z
        return False
    for x in range(first_x, last_x):
        if x == z or strengths[x] >= required[Price.FALLBACK, level]:
            continue
        for other in range(first_other, last_other):
            if other in (z, x) or harmless(state, case, z, x, other, level):
                continue
            obstacle[Obstacle.BEST], obstacle[Obstacle.OTHER] = x, other
            return False
    return True


@kernel
def weak_pair(state: TopWrong, case: Case, z: int, level: int, first_x: int, last_x: int) -> int:
    """An x in a range against which z alone fails, or −1; log evidence goes to `strengths`."""
    strengths = state.strengths
    for x in range(first_x, last_x):
        if x == z:
            continue
        strengths[x] = strength(state, case, z, x, z, case.tilt, case.slack)
        if not strengths[x] >= state.required[Price.FIRST, level]:  # nor is what is no number
            return x
    return -1


@kernel
def harmless(state: TopWrong, case: Case, z: int, x: int, other: int, level: int) -> bool:
    """Whether z' as the top wrong answer, x as the best one, leaves no room for a wrong z.

    Either no parameter within an ellipsoid has z' wrong and at least as good as z. Or the evidence
    is enough that z' is right, that z is right or better than z', and that z is right, together:
    these are three terms of one supermartingale.
    """
    if beyond_ellipsoid(state, case, z, x, other):
        return True
    required = state.required
    total = math.exp(state.strengths[x] - required[Price.FALLBACK, level])
    alone = strength(state, case, other, x, other, 0.0, 0.0)
    total += math.exp(alone - required[Price.FIRST, level])
    if total < 1.0:
        both = strength(state, case, z, x, other, case.tilt, case.slack)
        total += math.exp(both - required[Price.SUMMED, level])
    return total >= 1.0


@kernel
def strength(
    state: TopWrong,
    case: Case,
    z: int,
    x: int,
    other: int,
    tilt: float = 0.0,
    slack: float = 0.0,
) -> float:
    """F(y), log evidence of the contrast y = (z − c·x) + lean·(z − z'), lean = 1 in `top-wrong`.

    With z' = z that is the evidence against "x is the best and z is wrong". With another z', the
    evidence against "x is the best, z' the top wrong answer, and z wrong": both terms are then ≤ 0.
    With tilt and slack z is wrong only if ⟨λ, z − (c − tilt)·x⟩ + e + slack < 0.
    """
    y, dual = state.vectors[Scratch.CONTRAST], state.vectors[Scratch.DUAL]
    answers, values, projected, c = case.answers, case.values, case.projected, case.c
    lean, least = state.weighting[Weight.LEAN], c - tilt
    size, own = 0.0, 0.0
    for i in range(y.shape[0]):
        ahead, image = answers[z, i] - answers[other, i], projected[i, z] - projected[i, other]
        y[i] = (answers[z, i] - c * answers[x, i]) + lean * ahead
        dual[i] = (projected[i, z] - least * projected[i, x]) + lean * image
        size += y[i] * y[i]
        own += answers[z, i] * answers[z, i]
    if not size > SAME * own:
        # z = c·x is ε-best whatever μ is; a sum that vanishes says nothing, unless e > 0
        return math.inf if other == z or case.e + slack > 0.0 else -math.inf
    gap = (values[z] - least * values[x] + case.e) + lean * (values[z] - values[other]) + slack
    return _log_e_value(state, case.inverse, case.rounds, gap, size, tilt, answers[x])


@kernel
def _log_e_value(
    state: TopWrong,
    inverse: Matrix,
    rounds: float,
    gap: float,
    size: float,
    tilt: float,
    best: Vector,
) -> float:
    """F of the contrast y in `state.vectors`: its log e-value at the worst λ that is in doubt.

    In doubt are the λ of every ellipsoid with ⟨λ, y⟩ + e ≤ 0; +∞ where there is none. With
    q = yᵀG⁻¹y, p = b + yᵀG⁻¹Dy/q and ν² = ‖Dy‖²_{G⁻¹} − (yᵀG⁻¹Dy)²/q, the least T_y over an
    ellipsoid of squared radius R² is ⟨y, τ − Bᵀm⟩ + p·gap − ν·√(R² − gap²/q).

    With a tilt, in doubt are the λ with ⟨λ, y'⟩ + e ≤ 0, y' = y + tilt·x. Then y' takes the place
    of y in q and gap, and By − b·y' = Dy − b·tilt·x that of Dy; `dual` is V⁻¹y'.
    """
    if not gap > 0.0:
        return -math.inf
    vectors, drift, spread = state.vectors, state.drift, state.spread
    y, dual = vectors[Scratch.CONTRAST], vectors[Scratch.DUAL]
    bent, offset = vectors[Scratch.BENT], vectors[Scratch.OFFSET]
    d = y.shape[0]
    pull = state.weighting[Weight.TOTAL] * tilt
    norm, norm2, cross, base, variance = 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(d):
        bend, fold = 0.0, 0.0
        for j in range(d):
            bend += drift[i, j] * y[j]
            fold += spread[i, j] * y[j]
        bend -= pull * best[i]
        bent[i] = bend
        norm += (y[i] + tilt * best[i]) * dual[i]
        norm2 += dual[i] * dual[i]
        cross += bend * dual[i]
        base += y[i] * offset[i]
        variance += y[i] * fold
    cross2, sway, sway2 = 0.0, 0.0, 0.0
    for i in range(d):
        image = dot(inverse[i], bent)
        cross2 += image * dual[i]
        sway += image * bent[i]
        sway2 += image * image
    least = -math.inf
    ellipsoids = state.ellipsoids
    for j in range(ellipsoids.shape[1]):
        kappa = ellipsoids[Ellipsoid.KAPPA, j]
        squared_radius = ellipsoids[Ellipsoid.SQUARED_RADIUS, j]
        if squared_radius == math.inf:
            continue
        q = norm + kappa * norm2
        room = squared_radius - gap * gap / q
        if room < 0.0:
            return math.inf
        along = (cross + kappa * cross2) / q
        p = state.weighting[Weight.TOTAL] + along
        if p > 0.0:
            nuisance = max(0.0, sway + kappa * sway2 - along * along * q)
            least = max(least, p * gap - math.sqrt(nuisance * room))
    if state.shapes.shape[1] == 0:
        return log_one_sided(base + least, variance, size, state.directions)
    bound = state.residual[Residual.BOUND]
    return log_one_sided_student(
        base + least, variance, size, bound, rounds, state.directions, state.shapes
    )


@kernel
def log_one_sided(t: float, variance: float, size: float, directions: Matrix) -> float:
    """ln Σ_j w_j ∫₀^∞ exp(hT − h²I/2) 2N(h; 0, 1/ℓ_j) dh, the ℓ_j being those of `Scales`.

    Each integral is 2Φ(s)·exp(s²/2)/√(1 + I/ℓ) with s = T/√(I + ℓ), which increases in T.
    """
    top, total = -math.inf, 0.0
    for j in range(directions.shape[1]):
        prior = prior_precision(directions, j, size)
        both = variance + prior
        if not both < math.inf:  # a scale beyond all numbers adds nothing
            continue
        s = t / math.sqrt(both)
        tail = math.erfc(-s * math.sqrt(0.5))
        if tail <= 0.0:
            continue
        log_weight = directions[Direction.LOG_WEIGHT, j]
        term = 0.5 * (s * s - math.log(both / prior)) + math.log(tail) + log_weight
        if term > top:
            total = total * math.exp(top - term) + 1.0
            top = term
        else:
            total += math.exp(term - top)
    return top + math.log(total) if total > 0.0 else -math.inf


@kernel
def beyond_ellipsoid(state: TopWrong, case: Case, z: int, x: int, other: int) -> bool:
    """Whether an ellipsoid misses {λ : z' is wrong against x, and ⟨λ, z'⟩ ≥ ⟨λ, z⟩}."""
    c, values, projected, answers = case.c, case.values, case.projected, case.answers
    gap1 = values[other] - c * values[x] + case.e
    gap2 = values[z] - values[other]
    if gap1 <= 0.0 and gap2 <= 0.0:
        return False
    n11, n12, n22, m11, m12, m22 = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(projected.shape[0]):
        y1 = answers[other, i] - c * answers[x, i]
        y2 = answers[z, i] - answers[other, i]
        w1 = projected[i, other] - c * projected[i, x]
        w2 = projected[i, z] - projected[i, other]
        n11 += y1 * w1
        n12 += y1 * w2
        n22 += y2 * w2
        m11 += w1 * w1
        m12 += w1 * w2
        m22 += w2 * w2
    for j in range(state.ellipsoids.shape[1]):
        k = state.ellipsoids[Ellipsoid.KAPPA, j]
        distance = squared_distance(gap1, gap2, n11 + k * m11, n12 + k * m12, n22 + k * m22)
        if distance > state.ellipsoids[Ellipsoid.SQUARED_RADIUS, j]:
            return True
    return False


@kernel
def squared_distance(gap1: float, gap2: float, q11: float, q12: float, q22: float) -> float:
    """min ‖δ‖² subject to ⟨y₁, δ⟩ ≥ gap₁ and ⟨y₂, δ⟩ ≥ gap₂, from the Gram matrix q of the y.

    Both constraints bind where both multipliers are positive, else one of them alone. Where y₁ and
    y₂ are opposite to rounding the two may exclude each other; the lower bound from one is kept.
    """
    one = gap1 * gap1 / q11 if gap1 > 0.0 and q11 > 0.0 else 0.0
    two = gap2 * gap2 / q22 if gap2 > 0.0 and q22 > 0.0 else 0.0
    determinant = q11 * q22 - q12 * q12
    if determinant > 1e-12 * q11 * q22:
        multiplier1 = gap1 * q22 - gap2 * q12
        multiplier2 = gap2 * q11 - gap1 * q12
        if multiplier1 > 0.0 and multiplier2 > 0.0:
            return (gap1 * multiplier1 + gap2 * multiplier2) / determinant
    return max(one, two)


@kernel
def update_offset(state: TopWrong, estimate: Vector) -> None:
    """τ − Bᵀm = τ − b·m − Dᵀm: what the weighted sums know beyond least squares."""
    offset, total = state.vectors[Scratch.OFFSET], state.weighting[Weight.TOTAL]
    combine(estimate, state.drift, offset)
    for i in range(offset.shape[0]):
        offset[i] = state.total[i] - total * estimate[i] - offset[i]


@kernel
def update_ellipsoids(state: TopWrong, case: Case, matrix: Matrix, level: int) -> None:
    """ln|V + κI| − ln|κI| of every ellipsoid, then their radii."""
    ellipsoids = state.ellipsoids
    volumes(matrix, ellipsoids[Ellipsoid.KAPPA], state.factor, ellipsoids[Ellipsoid.VOLUME])
    largest = 0.0
    if state.shapes.shape[1] > 0:
        largest = largest_eigenvalue(case.inverse, state.factor, state.work)
    update_radii(state, case.rounds, level, largest)


@kernel
def recall_ellipsoids(state: TopWrong, case: Case, level: int) -> None:
    """The ellipsoids as they were when last computed: no greater than they are."""
    update_radii(state, case.rounds, level, largest_diagonal(case.inverse))


@kernel
def update_radii(state: TopWrong, rounds: float, level: int, largest: float) -> None:
    """Squared radii of the ellipsoids at this level, from their volumes when last computed.

    For unknown σ the share s = ‖m − λ‖²_G/RSS(λ) is what is bounded. With ‖·‖²_V ≤ (1 + ρ)‖·‖²_G,
    ρ = κ·λ_max(V⁻¹), that is R² = s·RSS/(1 − s(1 + ρ)) and RSS(λ) ≤ RSS/(1 − s(1 + ρ)); no bound
    while the denominator is not positive. Both grow with the volume and with λ_max.
    """
    ellipsoids, residual = state.ellipsoids, state.residual
    residual[Residual.BOUND] = math.inf
    for j in range(ellipsoids.shape[1]):
        squared_radius = state.required[Price.RADIUS, level] + ellipsoids[Ellipsoid.VOLUME, j]
        if state.shapes.shape[1] > 0:
            share = ellipsoid_share(0.5 * squared_radius, rounds, state.shapes)
            rest = 1.0 - share * (1.0 + ellipsoids[Ellipsoid.KAPPA, j] * largest)
            squared_radius = math.inf
            if rest > 0.0:
                squared_radius = share * residual[Residual.SUM] / rest
                residual[Residual.BOUND] = min(
                    residual[Residual.BOUND], residual[Residual.SUM] / rest
                )
        ellipsoids[Ellipsoid.SQUARED_RADIUS, j] = squared_radius
