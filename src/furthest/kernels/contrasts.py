"""What `top-wrong` and `ranked` know, and the evidence of one contrast of answers.

Every measurement X of arm a gets a vector g that is known before X. With B = Σ a gᵀ, J = Σ g gᵀ and
τ = Σ X g, each contrast y has T_y(λ) = Σ ⟨g, y⟩(X − ⟨λ, a⟩) = ⟨y, τ⟩ − ⟨By, λ⟩ and the variance
I_y = yᵀJy. B is kept as the drift D = B − b·I with b = n₀ + Σβ, so that nothing cancels. Statement
and proof: docs/theory/top-wrong.md. Evidence of many contrasts: kernels/beside.py.
"""

import math
from enum import IntEnum
from typing import NamedTuple

from furthest.kernels.alternatives import SAME
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix, Vector, combine, dot
from furthest.kernels.normal_gamma import (
    Direction,
    ellipsoid_share,
    largest_diagonal,
    largest_eigenvalue,
    log_one_sided_student,
    prior_precision,
)
from furthest.kernels.scales import volumes
from furthest.kernels.states import by_reference


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
    LARGEST = 2  # scratch, for unknown σ: λ_max(V⁻¹) when last computed


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
    IMAGE = 4  # V⁻¹Dy
    IMAGE2 = 5  # V⁻²Dy
    DUAL2 = 6  # V⁻²y


class Form(IntEnum):
    """What of a contrast y its evidence depends on: quadratic forms, and a linear one at the end.

    Where of z less is asked, y' = y + tilt·x and r = Dy − b·tilt·x take the places of y and Dy.
    """

    NORM = 0  # ‖y'‖²_{V⁻¹}
    NORM2 = 1  # ‖V⁻¹y'‖²
    CROSS = 2  # ⟨r, V⁻¹y'⟩
    CROSS2 = 3  # ⟨V⁻¹r, V⁻¹y'⟩
    SWAY = 4  # ‖r‖²_{V⁻¹}
    SWAY2 = 5  # ‖V⁻¹r‖²
    VARIANCE = 6  # yᵀJy
    SIZE = 7  # ‖y‖²
    BASE = 8  # ⟨y, τ − Bᵀm⟩


# All of them, in this order.
Values = tuple[float, float, float, float, float, float, float, float, float]


class Forms(IntEnum):
    """Rows of TopWrong.forms. Of two of a kind the first is as asked of all, the other of z."""

    FOUND = 0  # of the contrast in question
    PAIR = 1  # of y = z − c·x
    MIXED = 3  # what is linear in a where a is added to y, see kernels/beside.py


class Reach(IntEnum):
    """Rows of TopWrong.reaches, for every answer x."""

    PAIR = 0  # ‖y‖²_{V⁻¹} of y = z − c·x, and in the next row ‖V⁻¹y‖²
    STEP = 2  # the same of x − z


class Roll(IntEnum):
    """Rows of TopWrong.rolls."""

    RIVALS = 0  # who may outrank z if x is the best answer
    FOLLOWING = 1  # links between them
    NEAR = 2  # who may outrank z at all
    KNOWN = 3  # 1 for every answer whose row of `steps` is up to date


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
    residual: Vector  # (3,) see Residual
    obstacles: Counts  # (Z, 2 + …) for every candidate z what failed last, see Obstacle
    ranks: Matrix  # (2, n) masses by rank; none in `top-wrong`
    required: Matrix  # (5, levels) see Price
    directions: Matrix  # (3, directions) see Direction
    ellipsoids: Matrix  # (3, ellipsoids) see Ellipsoid
    shapes: Matrix  # (2, shapes) priors of the normal–gamma e-values; none where σ is known
    vectors: Matrix  # (7, d) see Scratch
    strengths: Vector  # (Z,) scratch: log evidence for z against every x
    reaches: Matrix  # (4, Z) scratch: how far all answers are from z, see Reach
    rolls: Counts  # (4, Z) scratch: lists of answers, see Roll
    shares: Matrix  # (2, Z) scratch: the evidence of rivals, alone and beside z
    steps: Matrix  # (Z, 9) scratch: the forms of x − z, see Form
    forms: Matrix  # (5, 9) scratch, see Forms
    slopes: Matrix  # (16, d) scratch: what MIXED is made of
    factor: Matrix  # (d, d) scratch
    work: Matrix  # (d, d) scratch


class Case(NamedTuple):
    """What the contrasts are made of: the answers, and least squares after t measurements."""

    answers: Matrix  # (Z, d)
    columns: Matrix  # (d, Z) the answers again
    c: float
    e: float
    rounds: float  # t
    values: Vector  # (Z,)
    projected: Matrix  # (d, Z)
    inverse: Matrix  # (d, d)
    # Of the answer in question alone less is asked: c − tilt instead of c, e + slack instead of e.
    tilt: float = 0.0
    slack: float = 0.0


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
    if not gap > 0.0:
        return -math.inf
    forms = forms_of(state, case.inverse, tilt, answers[x])
    return log_e_value(state, case.rounds, gap, forms)


@kernel
def forms_of(state: TopWrong, inverse: Matrix, tilt: float, best: Vector) -> Values:
    """All forms of the contrast y in `state.vectors`, where `dual` is V⁻¹y', y' = y + tilt·x."""
    vectors, drift, spread = state.vectors, state.drift, state.spread
    y, dual = vectors[Scratch.CONTRAST], vectors[Scratch.DUAL]
    bent, image, offset = vectors[Scratch.BENT], vectors[Scratch.IMAGE], vectors[Scratch.OFFSET]
    pull = state.weighting[Weight.TOTAL] * tilt
    norm, norm2, cross, base, variance, size = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(y.shape[0]):
        bend, fold = 0.0, 0.0
        for j in range(y.shape[0]):
            bend += drift[i, j] * y[j]
            fold += spread[i, j] * y[j]
        bend -= pull * best[i]
        bent[i] = bend
        norm += (y[i] + tilt * best[i]) * dual[i]
        norm2 += dual[i] * dual[i]
        cross += bend * dual[i]
        base += y[i] * offset[i]
        variance += y[i] * fold
        size += y[i] * y[i]
    cross2, sway, sway2 = 0.0, 0.0, 0.0
    for i in range(y.shape[0]):
        image[i] = dot(inverse[i], bent)
        cross2 += image[i] * dual[i]
        sway += image[i] * bent[i]
        sway2 += image[i] * image[i]
    return norm, norm2, cross, cross2, sway, sway2, variance, size, base


@kernel
def log_e_value(state: TopWrong, rounds: float, gap: float, forms: Values) -> float:
    """F of a contrast with these forms: its log e-value at the worst λ that is in doubt.

    In doubt are the λ of every ellipsoid with ⟨λ, y⟩ + e ≤ 0; +∞ where there is none. With
    q = yᵀG⁻¹y, p = b + yᵀG⁻¹Dy/q and ν² = ‖Dy‖²_{G⁻¹} − (yᵀG⁻¹Dy)²/q, the least T_y over an
    ellipsoid of squared radius R² is ⟨y, τ − Bᵀm⟩ + p·gap − ν·√(R² − gap²/q).

    With a tilt, in doubt are the λ with ⟨λ, y'⟩ + e ≤ 0. Then y' takes the place of y in q and gap,
    and By − b·y' = Dy − b·tilt·x that of Dy.
    """
    norm, norm2, cross, cross2, sway, sway2, variance, size, base = forms
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
def update_volumes(state: TopWrong, case: Case, matrix: Matrix) -> None:
    """ln|V + κI| − ln|κI| of every ellipsoid, and what else their radii depend on."""
    ellipsoids = state.ellipsoids
    volumes(matrix, ellipsoids[Ellipsoid.KAPPA], state.factor, ellipsoids[Ellipsoid.VOLUME])
    state.residual[Residual.LARGEST] = 0.0
    if state.shapes.shape[1] > 0:
        largest = largest_eigenvalue(case.inverse, state.factor, state.work)
        state.residual[Residual.LARGEST] = largest


@kernel
def update_ellipsoids(state: TopWrong, case: Case, matrix: Matrix, level: int) -> None:
    """Volumes, then radii."""
    update_volumes(state, case, matrix)
    update_radii(state, case.rounds, level, state.residual[Residual.LARGEST])


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
