"""The top-wrong-answer test: proven, and without a price for the dimension or the answers.

Under the true μ one pair decides whether a wrong answer can be given: the best answer x and the
best-valued *wrong* answer. One one-sided, one-dimensional e-process in the direction y = z − c·x is
therefore enough, where `mixture` pays for all d directions; an ellipsoid guards the others, and
only in second order. Statement, proof and what did not pay: docs/theory/top-wrong.md.

Every measurement X of arm a gets a vector g that is known before X. With B = Σ a gᵀ, J = Σ g gᵀ and
τ = Σ X g, each contrast y has T_y(λ) = Σ ⟨g, y⟩(X − ⟨λ, a⟩) = ⟨y, τ⟩ − ⟨By, λ⟩ and the variance
I_y = yᵀJy. B is kept as the drift D = B − t·I, so that nothing cancels.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from furthest.kernels.alternatives import SAME
from furthest.kernels.evidence import READY, ROUNDS, Evidence
from furthest.kernels.jit import inlined, kernel
from furthest.kernels.linalg import (
    Counts,
    Matrix,
    Vector,
    cholesky,
    combine,
    copy,
    dot,
    log_determinant,
    matvec,
)
from furthest.kernels.normal_gamma import (
    Shapes,
    ellipsoid_share,
    largest_diagonal,
    largest_eigenvalue,
    log_one_sided_student,
    residual_of_design,
    residual_of_measurement,
)
from furthest.kernels.task import Task

# How fast the drift is pulled back to 0. At 0 never; measured times are flat from .7 to 1.5.
CORRECTION = 1.0

# Positions in TopWrong.clock.
STARTED = 0  # 1 once the initial design is folded in

NOBODY = -1


class Masses(NamedTuple):
    """How δ is spent, with n = Z − 2 bystanders; `first` gets what the others leave.

    Any positive masses with a sum of at most 1 keep the theorem. Small `summed` and `fallback` stop
    earlier where ε is small against the gaps, later where several wrong answers are tied.
    """

    ellipsoid: float = 0.05  # π₀
    summed: float = 0.3  # π₂ = summed·n/(n+1)
    fallback: float = 0.3  # π₃ = fallback·n/(n+1)


class Scales(NamedTuple):
    """Prior scales: which sample sizes the test is sharpest for. None of them can break it."""

    directions: tuple[float, ...] = (10.0, 400.0)  # ℓ_j/‖y‖²: precisions of the half-normal priors
    weights: tuple[float, ...] = (0.7, 0.3)
    ellipsoids: tuple[float, ...] = (4.0, 100.0)  # κ_j/d: prior precisions of the ellipsoids


class TopWrong(NamedTuple):
    """The e-processes of all contrasts at once, and what the test at each level requires."""

    clock: Counts  # (1,) see the positions above
    drift: Matrix  # (d, d) D = B − t·I
    spread: Matrix  # (d, d) J
    total: Vector  # (d,) τ
    obstacles: Counts  # (Z, 2) for every candidate the pair (x, z') that failed last
    log_volumes: Vector  # (ellipsoids,) ln|V + κ|/|κ| when last computed; they only grow
    kappas: Vector  # (ellipsoids,)
    precisions: Vector  # (directions,) ℓ_j/‖y‖²
    log_weights: Vector  # (directions,) ln w_j
    radius: Vector  # (levels,) 2 ln(2/(π₀δ)): squared radius of the ellipsoids without their volume
    shapes: Vector  # (shapes,) a_i of the normal–gamma e-values; none where σ is known
    log_shares: Vector  # (shapes,) logarithms of their weights
    residual: Vector  # (1,) residual sum of squares, for unknown σ
    first: Vector  # (levels,) ln 1/(π₁δ)
    summed: Vector  # (levels,) ln n/(π₂δ)
    fallback: Vector  # (levels,) ln n/(π₃δ)
    radii: Vector  # (ellipsoids,) scratch: squared radii R_j² at the level in question
    bound: Vector  # (1,) scratch: for unknown σ, the largest RSS(λ) within all ellipsoids
    offset: Vector  # (d,) scratch: τ − Bᵀm
    contrast: Vector  # (d,) scratch: y
    dual: Vector  # (d,) scratch: V⁻¹y
    bent: Vector  # (d,) scratch: Dy
    weight: Vector  # (d,) scratch: g
    evidences: Vector  # (Z,) scratch: F(z − c·x) of every x
    factor: Matrix  # (d, d) scratch
    work: Matrix  # (d, d) scratch


def top_wrong(
    task: Task,
    deltas: Sequence[float],
    masses: Masses | None = None,
    scales: Scales | None = None,
    shapes: Shapes | None = None,
) -> TopWrong:
    """A fresh test for one run; the levels are in the order of `deltas`.

    With `shapes` σ is unknown and the noise Gaussian; without, σ = 1 and the noise sub-Gaussian.
    """
    masses, scales = masses or Masses(), scales or Scales()
    answers, d = task.answers.shape
    bystanders = answers - 2
    share = bystanders / (bystanders + 1)
    summed, fallback = masses.summed * share, masses.fallback * share
    first = 1.0 - masses.ellipsoid - summed - fallback
    ellipsoids = len(scales.ellipsoids)
    logs = np.array([math.log(1.0 / delta) for delta in deltas])
    nothing = np.full(len(deltas), math.inf)
    return TopWrong(
        clock=np.zeros(1, np.int64),
        drift=np.zeros((d, d)),
        spread=np.zeros((d, d)),
        total=np.zeros(d),
        obstacles=np.full((answers, 2), NOBODY, np.int64),
        log_volumes=np.zeros(ellipsoids),
        kappas=d * np.array(scales.ellipsoids, float),
        precisions=np.array(scales.directions, float),
        log_weights=np.log(np.array(scales.weights, float)),
        shapes=np.array(shapes.shapes if shapes else (), float),
        log_shares=np.log(np.array(shapes.weights if shapes else (), float)),
        residual=np.zeros(1),
        radii=np.zeros(ellipsoids),
        bound=np.zeros(1),
        radius=2.0 * (logs + math.log(ellipsoids / masses.ellipsoid)),
        first=logs - math.log(first),
        summed=logs + math.log(bystanders / summed) if bystanders else nothing,
        fallback=logs + math.log(bystanders / fallback) if bystanders else nothing.copy(),
        offset=np.zeros(d),
        contrast=np.zeros(d),
        dual=np.zeros(d),
        bent=np.zeros(d),
        weight=np.zeros(d),
        evidences=np.zeros(answers),
        factor=np.zeros((d, d)),
        work=np.zeros((d, d)),
    )


def flaw(masses: Masses, scales: Scales) -> str:
    """What the proof would miss with these options, as a sentence; empty if nothing."""
    if not (min(masses) > 0 and sum(masses) < 1):
        return f"the masses of top-wrong must be positive with a sum below 1, not {tuple(masses)}"
    if not scales.ellipsoids or not scales.directions:
        return "top-wrong needs at least one ellipsoid and one scale of directions"
    if len(scales.directions) != len(scales.weights):
        return "top-wrong needs one weight for each scale of directions"
    if not min(*scales.ellipsoids, *scales.directions, *scales.weights) > 0:
        return "the scales and weights of top-wrong must be positive"
    if not sum(scales.weights) <= 1 + 1e-12:
        return f"the weights of top-wrong must have a sum of at most 1, not {scales.weights}"
    return ""


@inlined
def observe(state: TopWrong, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Take in the measurement that `evidence` has just recorded: O(d²).

    g = (t·I − D)ᵀ V_t⁻¹a with the drift before this measurement: known before the reward is.
    """
    if evidence.clock[READY] == 0:
        return
    if state.clock[STARTED] == 0:
        _start(state, task, evidence)
        return
    a, g, lever = task.arms[arm], state.weight, state.dual
    d = a.shape[0]
    rounds = float(evidence.clock[ROUNDS])
    matvec(evidence.inverse, a, lever)
    combine(lever, state.drift, g)
    drift, spread = state.drift, state.spread
    for i in range(d):
        g[i] = rounds * lever[i] - CORRECTION * g[i]
    for i in range(d):
        ai, gi = a[i], g[i]
        state.total[i] += reward * gi
        for j in range(d):
            drift[i, j] += ai * g[j]
            spread[i, j] += gi * g[j]
        drift[i, i] -= 1.0
    surprise = reward - dot(a, evidence.estimate)
    state.residual[0] += residual_of_measurement(surprise, evidence.widths[arm])


@kernel
def _start(state: TopWrong, task: Task, evidence: Evidence) -> None:
    """Fold in the initial design, fixed beforehand: g = n₀V⁻¹a with V of the complete design.

    Then B = n₀·I, J = n₀²·V⁻¹ and τ = n₀·m.
    """
    state.clock[STARTED] = 1
    state.residual[0] = residual_of_design(task, evidence)
    n = float(evidence.clock[ROUNDS])
    d = state.total.shape[0]
    for i in range(d):
        state.total[i] = n * evidence.estimate[i]
        for j in range(d):
            state.drift[i, j] = 0.0
            state.spread[i, j] = n * n * evidence.inverse[i, j]


@inlined
def met(state: TopWrong, task: Task, evidence: Evidence, z: int, level: int) -> bool:
    """Whether the test accepts answer z at this confidence level.

    The pair that failed last is tried first, with the ellipsoids of that time. They only grow, and
    a greater ellipsoid proves less: what fails now would fail in the complete test too.
    """
    x, other = state.obstacles[z, 0], state.obstacles[z, 1]
    if x >= 0:
        update_offset(state, evidence)
        update_radii(state, evidence, level, largest_diagonal(evidence.inverse))
        if not _pair_passes(state, task, evidence, z, x, other, level):
            return False
    return all_pass(state, task, evidence, z, level)


@kernel
def all_pass(state: TopWrong, task: Task, evidence: Evidence, z: int, level: int) -> bool:
    """The complete test: every x that may be the best, every z' that may be the top wrong one."""
    update_offset(state, evidence)
    prepare_radii(state, evidence, level)
    obstacle, strengths = state.obstacles[z], state.evidences
    answers = strengths.shape[0]
    for x in range(answers):
        if x != z:
            strengths[x] = strength(state, task, evidence, z, x, level)
            if strengths[x] < state.first[level]:
                obstacle[0], obstacle[1] = x, NOBODY
                return False
    for x in range(answers):
        if x == z or strengths[x] >= state.fallback[level]:
            continue
        for other in range(answers):
            if other in (z, x) or harmless(state, task, evidence, z, x, other, level):
                continue
            obstacle[0], obstacle[1] = x, other
            return False
    return True


@kernel
def _pair_passes(
    state: TopWrong, task: Task, evidence: Evidence, z: int, x: int, other: int, level: int
) -> bool:
    """The part of the test that concerns the best answer x and, unless −1, the wrong answer z'."""
    found = strength(state, task, evidence, z, x, level)
    if found < state.first[level]:
        return False
    if other == NOBODY or found >= state.fallback[level]:
        return True
    return harmless(state, task, evidence, z, x, other, level)


@kernel
def harmless(
    state: TopWrong, task: Task, evidence: Evidence, z: int, x: int, other: int, level: int
) -> bool:
    """Whether z' as the top wrong answer, x as the best one, leaves no room for a wrong z.

    (a) no parameter of an ellipsoid has z' wrong and at least as good as z; (b) the evidence
    against the sum of "z is wrong" and "z' is no worse than z"; (c) the evidence that z' is right.
    The fourth way, (d), is the fallback level of the pair (z, x) itself.
    """
    if beyond_ellipsoid(state, task, evidence, z, x, other):
        return True
    if strength(state, task, evidence, other, x, level) >= state.first[level]:
        return True
    return summed_strength(state, task, evidence, z, x, other, level) >= state.summed[level]


@kernel
def strength(
    state: TopWrong, task: Task, evidence: Evidence, z: int, x: int, level: int
) -> float:
    """F(z − c·x): log evidence against "x is the best and z is wrong"."""
    y, dual, c = state.contrast, state.dual, task.c
    size, own = 0.0, 0.0
    for i in range(y.shape[0]):
        y[i] = task.answers[z, i] - c * task.answers[x, i]
        dual[i] = evidence.projected[i, z] - c * evidence.projected[i, x]
        size += y[i] * y[i]
        own += task.answers[z, i] * task.answers[z, i]
    if not size > SAME * own:
        return math.inf  # z = c·x is ε-best whatever μ is
    gap = evidence.values[z] - c * evidence.values[x] + task.e
    return _log_e_value(state, evidence, gap, level)


@kernel
def summed_strength(
    state: TopWrong, task: Task, evidence: Evidence, z: int, x: int, other: int, level: int
) -> float:
    """F((z − c·x) + (z − z')): where x is the best and z' is the top wrong, both terms are ≤ 0."""
    y, dual, c = state.contrast, state.dual, task.c
    size, own = 0.0, 0.0
    for i in range(y.shape[0]):
        y[i] = 2.0 * task.answers[z, i] - c * task.answers[x, i] - task.answers[other, i]
        dual[i] = (
            2.0 * evidence.projected[i, z] - c * evidence.projected[i, x]
        ) - evidence.projected[i, other]
        size += y[i] * y[i]
        own += task.answers[z, i] * task.answers[z, i]
    if not size > SAME * own:
        return math.inf if task.e > 0.0 else -math.inf
    values = evidence.values
    gap = 2.0 * values[z] - c * values[x] - values[other] + task.e
    return _log_e_value(state, evidence, gap, level)


@kernel
def _log_e_value(state: TopWrong, evidence: Evidence, gap: float, level: int) -> float:
    """F of the contrast y in `state.contrast`: its log e-value at the worst λ that is in doubt.

    In doubt are the λ of every ellipsoid with ⟨λ, y⟩ + e ≤ 0; +∞ where there is none. With
    q = yᵀG⁻¹y, p = t + yᵀG⁻¹Dy/q and ν² = ‖Dy‖²_{G⁻¹} − (yᵀG⁻¹Dy)²/q, the least T_y over an
    ellipsoid of squared radius R² is ⟨y, τ − Bᵀm⟩ + p·gap − ν·√(R² − gap²/q).
    """
    if not gap > 0.0:
        return -math.inf
    y, dual, bent, drift = state.contrast, state.dual, state.bent, state.drift
    d = y.shape[0]
    size, norm, norm2, cross, base, variance = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(d):
        bend, fold = 0.0, 0.0
        for j in range(d):
            bend += drift[i, j] * y[j]
            fold += state.spread[i, j] * y[j]
        bent[i] = bend
        size += y[i] * y[i]
        norm += y[i] * dual[i]
        norm2 += dual[i] * dual[i]
        cross += bend * dual[i]
        base += y[i] * state.offset[i]
        variance += y[i] * fold
    cross2, sway, sway2 = 0.0, 0.0, 0.0
    for i in range(d):
        image = dot(evidence.inverse[i], bent)
        cross2 += image * dual[i]
        sway += image * bent[i]
        sway2 += image * image
    least = -math.inf
    for j in range(state.kappas.shape[0]):
        kappa = state.kappas[j]
        if state.radii[j] == math.inf:
            continue
        q = norm + kappa * norm2
        room = state.radii[j] - gap * gap / q
        if room < 0.0:
            return math.inf
        along = (cross + kappa * cross2) / q
        p = float(evidence.clock[ROUNDS]) + along
        if p > 0.0:
            nuisance = max(0.0, sway + kappa * sway2 - along * along * q)
            least = max(least, p * gap - math.sqrt(nuisance * room))
    if state.shapes.shape[0] == 0:
        return log_one_sided(base + least, variance, size, state.precisions, state.log_weights)
    return log_one_sided_student(
        base + least,
        variance,
        size,
        state.bound[0],
        float(evidence.clock[ROUNDS]),
        state.precisions,
        state.log_weights,
        state.shapes,
        state.log_shares,
    )


@kernel
def log_one_sided(
    t: float, variance: float, size: float, precisions: Vector, log_weights: Vector
) -> float:
    """ln Σ_j w_j ∫₀^∞ exp(hT − h²I/2) 2N(h; 0, 1/ℓ_j) dh with ℓ_j = precision_j·‖y‖².

    Each integral is 2Φ(s)·exp(s²/2)/√(1 + I/ℓ) with s = T/√(I + ℓ), which increases in T.
    """
    top = -math.inf
    total = 0.0
    for j in range(precisions.shape[0]):
        prior = precisions[j] * size
        both = variance + prior
        s = t / math.sqrt(both)
        tail = math.erfc(-s * math.sqrt(0.5))
        if tail <= 0.0:
            continue
        term = 0.5 * (s * s - math.log(both / prior)) + math.log(tail) + log_weights[j]
        if term > top:
            total = total * math.exp(top - term) + 1.0
            top = term
        else:
            total += math.exp(term - top)
    return top + math.log(total) if total > 0.0 else -math.inf


@kernel
def beyond_ellipsoid(
    state: TopWrong, task: Task, evidence: Evidence, z: int, x: int, other: int
) -> bool:
    """Whether an ellipsoid misses {λ : z' is wrong against x, and ⟨λ, z'⟩ ≥ ⟨λ, z⟩}.

    The squared distance of two half-spaces ⟨y, m − λ⟩ ≥ gap in the metric G, through its dual:
    whatever multipliers are found, the distance is at least what is compared.
    """
    c, values, projected, answers = task.c, evidence.values, evidence.projected, task.answers
    gap1 = values[other] - c * values[x] + task.e
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
    for j in range(state.kappas.shape[0]):
        k = state.kappas[j]
        distance = squared_distance(gap1, gap2, n11 + k * m11, n12 + k * m12, n22 + k * m22)
        if distance > state.radii[j]:
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
def update_offset(state: TopWrong, evidence: Evidence) -> None:
    """τ − Bᵀm = τ − t·m − Dᵀm: what the weighted sums know beyond least squares."""
    offset, estimate = state.offset, evidence.estimate
    rounds = float(evidence.clock[ROUNDS])
    combine(estimate, state.drift, offset)
    for i in range(offset.shape[0]):
        offset[i] = state.total[i] - rounds * estimate[i] - offset[i]


@kernel
def update_log_volumes(state: TopWrong, evidence: Evidence) -> None:
    """ln|V + κI| − ln|κI| of every ellipsoid."""
    factor = state.factor
    d = factor.shape[0]
    for j in range(state.kappas.shape[0]):
        kappa = state.kappas[j]
        copy(evidence.matrix, factor)
        for i in range(d):
            factor[i, i] += kappa
        cholesky(factor)
        state.log_volumes[j] = log_determinant(factor) - d * math.log(kappa)


@kernel
def prepare_radii(state: TopWrong, evidence: Evidence, level: int) -> None:
    """Exact log volumes and valid radii of the ellipsoids at this level."""
    update_log_volumes(state, evidence)
    largest = 0.0
    if state.shapes.shape[0] > 0:
        largest = largest_eigenvalue(evidence.inverse, state.factor, state.work)
    update_radii(state, evidence, level, largest)


@kernel
def update_radii(state: TopWrong, evidence: Evidence, level: int, largest: float) -> None:
    """Squared radii of the ellipsoids at this level, from the log volumes when last computed.

    For unknown σ the share s = ‖m − λ‖²_G/RSS(λ) is what is bounded. With ‖·‖²_V ≤ (1 + ρ)‖·‖²_G,
    ρ = κ·λ_max(V⁻¹), that is R² = s·RSS/(1 − s(1 + ρ)) and RSS(λ) ≤ RSS/(1 − s(1 + ρ)); no bound
    while the denominator is not positive. Both grow with the volume and with λ_max.
    """
    if state.shapes.shape[0] == 0:
        for j in range(state.radii.shape[0]):
            state.radii[j] = state.radius[level] + state.log_volumes[j]
        return
    state.bound[0] = math.inf
    rounds = float(evidence.clock[ROUNDS])
    for j in range(state.radii.shape[0]):
        target = 0.5 * (state.radius[level] + state.log_volumes[j])
        share = ellipsoid_share(target, rounds, state.shapes, state.log_shares)
        rest = 1.0 - share * (1.0 + state.kappas[j] * largest)
        state.radii[j] = math.inf
        if rest > 0.0:
            state.radii[j] = share * state.residual[0] / rest
            state.bound[0] = min(state.bound[0], state.residual[0] / rest)
