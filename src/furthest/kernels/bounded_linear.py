"""The decision of the test for bounded rewards whose means are linear in features.

As if rewards were within [0, 1], arm a has the mean p_a = ⟨ν, a⟩ − o, o fixed by the bounds. The
weights g and the sums B = Σ a gᵀ and τ = Σ X g are those of `topwrong`; new is the variance,
p_a(1 − p_a) in place of ¼, as large as a *guard* around ν allows. The guard is a likelihood ratio
against predictions, from which an ellipsoid {ν : ‖ν − m‖²_H ≤ R²} and intervals of the p_a follow.
Statement and proof: docs/theory/features-bounded.md.
"""

import math
from enum import IntEnum
from typing import NamedTuple

from furthest.kernels.alternatives import SAME
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    Counts,
    Matrix,
    Vector,
    cholesky,
    combine,
    dot,
    fill,
    matvec,
    solve_lower_many,
    solve_lower_transposed_many,
)
from furthest.kernels.pairs import interval
from furthest.kernels.states import by_reference
from furthest.task import Task

# Guard and predictions are renewed, and then a test is made, when there are so many more results,
# as a share of all.
RENEWAL = 1 / 256
# How often the intervals shrink the ellipsoid and the ellipsoid the intervals.
ROUNDS = 4
# Newton's method for the predictions: the most steps, when it is near enough, and how far a mean
# may move in a step, as a share of its distance from 0 and 1. So far, every step leads downhill.
STEPS, NEAR, STRIDE = 40, 1e-4, 0.25
# By so much radii and intervals are longer than computed, for rounding.
SLACK = 1e-9
# Predictions keep this distance from 0 and 1.
LEAST_CHANCE = 1e-12
# Tilts that move a single result by more than this are of no use.
ABSURD = 30.0
# The smallest tilt of all; cells of tilts are between its multiples by powers of 2.
LEAST_TILT = 2.0**-10


class Register(IntEnum):
    """Positions in BoundedLinear.registers."""

    STARTED = 0  # 1 once the initial design is folded in
    DUE = 1  # when guard and predictions are renewed
    RENEWED = 2  # 1 from then until the test is made …
    MADE = 3  # … with so many results: then it may be asked of every answer


class Number(IntEnum):
    """Positions in BoundedLinear.numbers."""

    SHIFT = 0  # o: p_a = ⟨ν, a⟩ − o
    INITIAL = 1  # n₀
    TOTAL = 2  # b
    PREDICTED = 3  # Q, ln of the probability of all results by their predictions
    PSEUDO = 4  # results 0 and 1 that every arm is credited with in predictions


class Price(IntEnum):
    """Rows of BoundedLinear.required."""

    INTERVAL = 0  # ln of what M_a(p) must reach to rule out p
    GUARD = 1  # ln of what the likelihood ratio must reach to rule out ν
    PAIR = 2  # ln of what E must reach
    LEVEL = 3  # ln 1/δ, which is a part of all


class Guard(IntEnum):
    """Rows of BoundedLinear.guard."""

    SQUARED_RADIUS = 0  # R²; infinite while there is no ellipsoid, negative if no ν is left
    LEAST_VARIANCE = 1  # of v̄, the average of p(1 − p) over the arms of the initial design
    LARGEST_VARIANCE = 2


class Box(IntEnum):
    """Rows of BoundedLinear.boxes."""

    LOW = 0
    HIGH = 1


class Scratch(IntEnum):
    """Rows of BoundedLinear.vectors."""

    CONTRAST = 0  # y
    DUAL = 1  # H⁻¹y'
    BENT = 2  # Dy; g while a result is folded in
    LEAN = 3  # how the variance changes with ν
    IMAGE = 4
    STEP = 5
    BORDER = 6  # y', the normal of the half-space in which z is wrong; mostly y


class Share(IntEnum):
    """Rows of BoundedLinear.shares."""

    MEAN = 0  # p_a at the predictor, by which results are predicted
    SPREAD = 1  # about the variance with which that is known


class Along(IntEnum):
    """Rows of BoundedLinear.along_arms, for a contrast y."""

    SPREAD = 0  # yᵀJ_a y
    REACH = 1  # G_a, at least every |⟨g, y⟩|
    CENTRE = 2  # p_a at the ellipsoid's centre


@by_reference
class BoundedLinear(NamedTuple):
    """Sums of the weighted results, predictions, the guard of each level, and what failed last."""

    registers: Counts  # (4,) see Register
    numbers: Vector  # (5,) see Number
    drift: Matrix  # (d, d) D = B − b·I
    spread: Matrix  # (K·d, d) Σ g gᵀ over the results of each arm
    total: Vector  # (d,) τ
    extremes: Matrix  # (2K, d) the least and the largest entries of every arm's g
    predictor: Vector  # (d,) the ν by which results are predicted
    shares: Matrix  # (2, K) see Share
    required: Matrix  # (4, levels) see Price
    guard: Matrix  # (3, levels) see Guard
    centres: Matrix  # (levels, d) m
    metrics: Matrix  # (levels·d, d) H⁻¹
    boxes: Matrix  # (levels·2, K) intervals of p_a, see Box
    tilts: Vector  # (tilts,) h‖y‖²
    log_weights: Matrix  # (cells, tilts)
    obstacles: Counts  # (Z,) x by which z failed last; −1 before
    vectors: Matrix  # (7, d) scratch, see Scratch
    factor: Matrix  # (d, d) scratch
    inverse: Matrix  # (d, d) scratch
    exponents: Vector  # (tilts,) scratch
    along_arms: Matrix  # (3, K) scratch, see Along


@kernel
def take_in(state: BoundedLinear, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Take in a result, or the sum of several of one arm, that `evidence` has just recorded."""
    size = float(evidence.clock[Clock.SIZE])
    successes = min(max(0.5 * (reward - task.low * size), 0.0), size)
    state.numbers[Number.PREDICTED] += log_prediction(state, arm, successes, size)
    if evidence.clock[Clock.READY] == 1:
        if state.registers[Register.STARTED] == 0:
            state.registers[Register.STARTED] = 1
            _fold_design(state, task, evidence)
        else:
            _fold(state, task, evidence, arm, reward, size)
    rounds = evidence.clock[Clock.ROUNDS]
    if rounds >= state.registers[Register.DUE]:
        state.registers[Register.DUE] = rounds + max(1, int(RENEWAL * rounds))
        state.registers[Register.RENEWED] = 1
        predict(state, task, evidence)
        if evidence.clock[Clock.READY] == 1:
            for level in range(state.required.shape[1]):
                renew_guard(state, task, evidence, level)


@kernel
def log_prediction(state: BoundedLinear, arm: int, successes: float, size: float) -> float:
    """ln of the probability that was given to so many successes of one arm, in their order.

    One result by the arm's predicted mean q. Several by an average over means from the beta
    distribution that has the mean q and the variance with which q is known: nothing is lost where
    the first thousand results come at once.
    """
    q = min(max(state.shares[Share.MEAN, arm], LEAST_CHANCE), 1.0 - LEAST_CHANCE)
    if size == 1.0:
        return successes * math.log(q) + (1.0 - successes) * math.log1p(-q)
    known = state.shares[Share.SPREAD, arm]
    strength = max(q * (1.0 - q) / known - 1.0, 1.0) if known > 0.0 else 1.0
    one, other = strength * q, strength * (1.0 - q)
    found = math.lgamma(successes + one) - math.lgamma(one)
    found += math.lgamma(size - successes + other) - math.lgamma(other)
    return found + math.lgamma(strength) - math.lgamma(size + strength)


@kernel
def _fold_design(state: BoundedLinear, task: Task, evidence: Evidence) -> None:
    """Fold in the initial design, fixed beforehand: g = n₀V⁻¹a with V of the complete design.

    Of a singular design g = 0.
    """
    rounds = float(evidence.clock[Clock.ROUNDS])
    g, d = state.vectors[Scratch.BENT], state.total.shape[0]
    state.numbers[Number.INITIAL] = state.numbers[Number.TOTAL] = rounds
    if evidence.clock[Clock.SINGULAR] == 1:
        for i in range(d):
            state.drift[i, i] = -rounds
        return
    for i in range(d):
        state.total[i] = 0.5 * rounds * evidence.estimate[i]
    for arm in range(task.arms.shape[0]):
        if evidence.counts[arm] > 0:
            matvec(evidence.inverse, task.arms[arm], g)
            for i in range(d):
                g[i] *= rounds
            _spread(state, arm, float(evidence.counts[arm]))


@kernel
def _fold(
    state: BoundedLinear, task: Task, evidence: Evidence, arm: int, reward: float, size: float
) -> None:
    """Fold in later results: all of them with one g, made of arms and sizes alone."""
    lever, g = state.vectors[Scratch.DUAL], state.vectors[Scratch.BENT]
    numbers, drift, a = state.numbers, state.drift, task.arms[arm]
    rounds, d = float(evidence.clock[Clock.ROUNDS]), a.shape[0]
    matvec(evidence.inverse, a, lever)
    combine(lever, drift, g)
    for i in range(d):
        g[i] = rounds * lever[i] - g[i]
    numbers[Number.TOTAL] += size
    for i in range(d):
        state.total[i] += 0.5 * reward * g[i]
        for j in range(d):
            drift[i, j] += size * a[i] * g[j]
        drift[i, i] -= size
    _spread(state, arm, size)


@kernel
def _spread(state: BoundedLinear, arm: int, size: float) -> None:
    """Add to Σ g gᵀ of the arm, and note how far the entries of g go."""
    g, extremes = state.vectors[Scratch.BENT], state.extremes
    d = g.shape[0]
    for i in range(d):
        extremes[2 * arm, i] = min(extremes[2 * arm, i], g[i])
        extremes[2 * arm + 1, i] = max(extremes[2 * arm + 1, i], g[i])
        for j in range(d):
            state.spread[arm * d + i, j] += size * g[i] * g[j]


@kernel
def successes_of(task: Task, evidence: Evidence, arm: int) -> float:
    """The sum of an arm's results, as if they were within [0, 1]."""
    n = float(evidence.counts[arm])
    return min(max(0.5 * (evidence.sums[arm] - task.low * n), 0.0), n)


@kernel
def predict(state: BoundedLinear, task: Task, evidence: Evidence) -> None:
    """Newton's method for the most likely ν, every arm credited with some results more.

    Wherever it ends is a prediction made from the past: no proof asks for more.
    """
    pseudo, inverse = state.numbers[Number.PSEUDO], state.inverse
    gradient, step = state.vectors[Scratch.IMAGE], state.vectors[Scratch.STEP]
    means, spreads = state.shares[Share.MEAN], state.shares[Share.SPREAD]
    arms, d = task.arms.shape
    for _ in range(STEPS):
        fill(gradient, 0.0)
        _clear(state.factor)
        for a in range(arms):
            p, n, s = means[a], float(evidence.counts[a]), successes_of(task, evidence, a)
            ups, downs = (s + pseudo) / p, (n - s + pseudo) / (1.0 - p)
            _add_square(ups / p + downs / (1.0 - p), task.arms[a], state.factor)
            for i in range(d):
                gradient[i] += (ups - downs) * task.arms[a, i]
        if not _invert(state.factor, inverse):
            return
        matvec(inverse, gradient, step)
        largest = 0.0
        for a in range(arms):
            largest = max(largest, abs(dot(task.arms[a], step)) / min(means[a], 1.0 - means[a]))
        scale = min(1.0, STRIDE / largest) if largest > 0.0 else 1.0
        for i in range(d):
            state.predictor[i] += scale * step[i]
        for a in range(arms):
            p = dot(task.arms[a], state.predictor) - state.numbers[Number.SHIFT]
            means[a] = min(max(p, LEAST_CHANCE), 1.0 - LEAST_CHANCE)
        if dot(gradient, step) < NEAR:
            break
    for a in range(arms):
        spreads[a] = _square(inverse, task.arms[a])


@kernel
def _clear(matrix: Matrix) -> None:
    for i in range(matrix.shape[0]):
        fill(matrix[i], 0.0)


@kernel
def _add_square(weight: float, a: Vector, out: Matrix) -> None:
    """out += weight·a aᵀ, lower triangle only."""
    for i in range(a.shape[0]):
        scale = weight * a[i]
        for j in range(i + 1):
            out[i, j] += scale * a[j]


@kernel
def _invert(matrix: Matrix, out: Matrix) -> bool:
    """The inverse of a positive definite matrix, which is replaced by its factor."""
    if not cholesky(matrix):
        return False
    _clear(out)
    for i in range(out.shape[0]):
        out[i, i] = 1.0
    solve_lower_many(matrix, out)
    solve_lower_transposed_many(matrix, out)
    return True


@kernel
def _square(matrix: Matrix, x: Vector) -> float:
    """xᵀ·matrix·x."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * dot(matrix[i], x)
    return total


@kernel
def curvature(ratio: float) -> float:
    """ψ(r) = 2(r − 1 − ln r)/(r − 1)², or a little less: how curved −ln is from 1 up to r.

    −ln p ≥ −ln p₀ − (p − p₀)/p₀ + ½ψ(r)(p − p₀)²/p₀² for every p ≤ r·p₀, since ψ falls.
    """
    excess = ratio - 1.0
    if abs(excess) < 0.01:
        # −(2/3)x + (1/2)x² − (2/5)x³ + …, alternating where x > 0
        series = 1.0 - excess * (2 / 3 - excess * (0.5 - excess * 0.4))
        return series - abs(excess) ** 4
    return (1.0 - SLACK) * 2.0 * (excess - math.log(ratio)) / (excess * excess)


@kernel
def renew_guard(state: BoundedLinear, task: Task, evidence: Evidence, level: int) -> None:
    """The ellipsoid and the intervals that hold ν and all p_a, from all results so far.

    The intervals bound the curvature of the likelihood from below, hence the ellipsoid from
    outside; the ellipsoid shortens the intervals.
    """
    d, guard = state.total.shape[0], state.guard
    low, high = state.boxes[2 * level + Box.LOW], state.boxes[2 * level + Box.HIGH]
    gradient, step = state.vectors[Scratch.IMAGE], state.vectors[Scratch.STEP]
    centre, inverse = state.centres[level], state.metrics[level * d : (level + 1) * d]
    surplus, rho = _surplus(state, task, evidence, level), math.inf
    guard[Guard.SQUARED_RADIUS, level] = math.inf
    for _ in range(ROUNDS):
        _curvatures(state, task, evidence, low, high)
        if not (surplus < math.inf and _invert(state.factor, inverse)):
            return
        matvec(inverse, gradient, step)
        for i in range(d):
            centre[i] = state.predictor[i] - step[i]
        rho = 0.5 * dot(gradient, step) + surplus
        if not (rho >= 0.0 and _shorten(state, task, evidence, level, math.sqrt(2.0 * rho))):
            guard[Guard.SQUARED_RADIUS, level] = -1.0
            return
    guard[Guard.SQUARED_RADIUS, level] = 2.0 * rho
    least = largest = 0.0
    for i in range(task.initial.shape[0]):
        a = task.initial[i]
        least += min(low[a] * (1.0 - low[a]), high[a] * (1.0 - high[a]))
        largest += largest_variance(low[a], high[a])
    guard[Guard.LEAST_VARIANCE, level] = least / task.initial.shape[0]
    guard[Guard.LARGEST_VARIANCE, level] = largest / task.initial.shape[0]


@kernel
def largest_variance(low: float, high: float) -> float:
    """Of a result whose mean is within an interval."""
    p = min(max(0.5, low), high)
    return p * (1.0 - p)


@kernel
def _surplus(state: BoundedLinear, task: Task, evidence: Evidence, level: int) -> float:
    """l(λ) − Q + ln(2/(π₀δ)) at the predictor λ; every arm's own interval, and −∇l, on the way.

    With multipliers for the ends of intervals, where there are some, in both. Infinite where a mean
    is so near 0 or 1 that it was moved.
    """
    gradient, required = state.vectors[Scratch.IMAGE], state.required
    pseudo = state.numbers[Number.PSEUDO]
    low, high = state.boxes[2 * level + Box.LOW], state.boxes[2 * level + Box.HIGH]
    fill(gradient, 0.0)
    found = required[Price.GUARD, level] - state.numbers[Number.PREDICTED]
    found += SLACK * (1.0 + abs(state.numbers[Number.PREDICTED]))
    for a in range(low.shape[0]):
        low[a], high[a] = 0.0, 1.0
        if evidence.counts[a] == 0:
            continue
        p, n, s = (
            state.shares[Share.MEAN, a],
            float(evidence.counts[a]),
            successes_of(task, evidence, a),
        )
        low[a], high[a] = interval(n, s, required[Price.INTERVAL, level])
        found += s * math.log(p) + (n - s) * math.log1p(-p)
        if not LEAST_CHANCE < p < 1.0 - LEAST_CHANCE:
            found = math.inf
        slope = (n - s) / (1.0 - p) - s / p
        # Next to no successes: the likelihood only says that p is small, and the interval that it
        # is not negative. With a multiplier on the latter it has its top where the predictor is.
        if s < 1.0:
            slope -= pseudo / p
            found += pseudo / p * (p - low[a])
        if n - s < 1.0:
            slope += pseudo / (1.0 - p)
            found += pseudo / (1.0 - p) * (high[a] - p)
        for i in range(gradient.shape[0]):
            gradient[i] += slope * task.arms[a, i]
    return found


@kernel
def _curvatures(
    state: BoundedLinear, task: Task, evidence: Evidence, low: Vector, high: Vector
) -> None:
    """H: within the intervals −l(ν) is at least its tangent at the predictor λ plus ½‖ν − λ‖²_H."""
    _clear(state.factor)
    for a in range(low.shape[0]):
        n, s, p = (
            float(evidence.counts[a]),
            successes_of(task, evidence, a),
            state.shares[Share.MEAN, a],
        )
        if n > 0.0:
            weight = s / (p * p) * curvature(high[a] / p)
            weight += (n - s) / ((1.0 - p) * (1.0 - p)) * curvature((1.0 - low[a]) / (1.0 - p))
            _add_square(weight, task.arms[a], state.factor)


@kernel
def _shorten(
    state: BoundedLinear, task: Task, evidence: Evidence, level: int, radius: float
) -> bool:
    """Cut the intervals down to the ellipsoid; whether every one of them has something left.

    Only of arms that were measured: of others nothing is known but what the features say.
    """
    d, centre = state.total.shape[0], state.centres[level]
    low, high = state.boxes[2 * level + Box.LOW], state.boxes[2 * level + Box.HIGH]
    for a in range(low.shape[0]):
        if evidence.counts[a] == 0:
            continue
        middle = dot(task.arms[a], centre) - state.numbers[Number.SHIFT]
        spread = _square(state.metrics[level * d : (level + 1) * d], task.arms[a])
        reach = radius * math.sqrt(spread) * (1.0 + SLACK) + SLACK * SLACK
        low[a], high[a] = max(low[a], middle - reach), min(high[a], middle + reach)
        if not low[a] <= high[a]:
            return False
    return True


@kernel
def accepts(state: BoundedLinear, task: Task, z: int, level: int) -> bool:
    """Whether every other answer is shown not to be better by too much; first what failed last."""
    enough, obstacle = state.required[Price.PAIR, level], state.obstacles[z]
    if obstacle >= 0 and not strength(state, task, z, obstacle, level, 0.0, 0.0) >= enough:
        return False
    for x in range(task.answers.shape[0]):
        if x not in (z, obstacle) and not strength(state, task, z, x, level, 0.0, 0.0) >= enough:
            state.obstacles[z] = x
            return False
    return True


class Slope(NamedTuple):
    """A linear function of δ = m − ν, of which the least value is wanted."""

    along: float  # its slope along y, in the metric H
    across: float  # the square of what is left beside y


@kernel
def least(slope: Slope, gap: float, q: float, squared_radius: float) -> float:
    """Its least value where ‖δ‖²_H ≤ R² and ⟨y, δ⟩ ≥ gap, q = yᵀH⁻¹y; infinite if nowhere."""
    room = squared_radius - gap * gap / q
    if gap > 0.0 and room < 0.0:
        return math.inf
    along, across = slope.along, max(slope.across, 0.0)
    steepest = math.sqrt(squared_radius * (along * along * q + across))
    # Where ⟨y, δ⟩ would be least of all is v = −R²·along·q/steepest: beyond gap, or not allowed.
    if gap * steepest <= -squared_radius * along * q:
        return -steepest
    return along * gap - math.sqrt(across * max(room, 0.0))


@kernel
def accepts_within(state: BoundedLinear, task: Task, z: int, tilt: float, slack: float) -> bool:
    """Whether it would, at the first level, if less were asked: c − tilt and e + slack.

    The evidence stays that of the question: for all tilt, slack ≥ 0 at once it is as true as the
    test (docs/theory/budget.md).
    """
    for x in range(task.answers.shape[0]):
        found = strength(state, task, z, x, 0, tilt, slack) if x != z else math.inf
        if not found >= state.required[Price.PAIR, 0]:
            return False
    return True


@kernel
def strength(
    state: BoundedLinear, task: Task, z: int, x: int, level: int, tilt: float, slack: float
) -> float:
    """F(z, x): the least log evidence, over all ν that the guard leaves, against "z is wrong".

    With tilt and slack z is wrong only if ⟨ν, z − (c − tilt)·x⟩ + e + slack < 0.

    For each tilt h the exponent is at least h·T_y(ν) − Σ_a κ_a(h)·p_a(1 − p_a)·yᵀJ_a y. That is
    bounded from below in two ways: T and the variances on their own, or together, with tangents of
    the variances at the ellipsoid's centre.
    """
    d, vectors, c = state.total.shape[0], state.vectors, task.c
    squared_radius = state.guard[Guard.SQUARED_RADIUS, level]
    if not 0.0 <= squared_radius < math.inf:
        return -math.inf
    y, dual, border = vectors[Scratch.CONTRAST], vectors[Scratch.DUAL], vectors[Scratch.BORDER]
    size = own = 0.0
    for i in range(d):
        y[i] = task.answers[z, i] - c * task.answers[x, i]
        border[i] = y[i] + tilt * task.answers[x, i]
        size += y[i] * y[i]
        own += task.answers[z, i] * task.answers[z, i]
    if not size > SAME * own:
        return math.inf
    centre, inverse = state.centres[level], state.metrics[level * d : (level + 1) * d]
    matvec(inverse, border, dual)
    q, gap = dot(border, dual), dot(border, centre) + 0.5 * (task.e + slack)
    if not q > 0.0:
        return -math.inf
    if gap > 0.0 and gap * gap > q * squared_radius:
        return math.inf

    bent, lean, image = vectors[Scratch.BENT], vectors[Scratch.LEAN], vectors[Scratch.IMAGE]
    _look_along(state, task, y, centre)
    matvec(state.drift, y, bent)
    b = state.numbers[Number.TOTAL]
    base = dot(y, state.total) - b * dot(y, centre) - dot(bent, centre)
    for i in range(d):
        bent[i] -= b * tilt * task.answers[x, i]  # By − b·y', with y' the border's normal
    along = dot(bent, dual)
    matvec(inverse, bent, image)
    across = dot(bent, image) - along * along / q
    apart = base + least(Slope(b + along / q, across), gap, q, squared_radius)
    first_cell, last_cell = cells(state, task, x, level)
    for k in range(_first_tilt(first_cell), state.tilts.shape[0]):
        h = state.tilts[k] / size
        most, middle = _price_of(state, task, level, h)
        for i in range(d):
            lean[i] = bent[i] + lean[i] / h
        along = dot(lean, dual)
        matvec(inverse, lean, image)
        across = dot(lean, image) - along * along / q
        together = base + least(Slope(b + along / q, across), gap, q, squared_radius)
        state.exponents[k] = max(h * apart - most, h * together - middle)
    found = math.inf
    for cell in range(first_cell, last_cell + 1):
        found = min(found, _log_mixture(state, cell))
    return found


@kernel
def _look_along(state: BoundedLinear, task: Task, y: Vector, centre: Vector) -> None:
    """What every arm's results are to a contrast: see Along."""
    d, along, extremes = y.shape[0], state.along_arms, state.extremes
    for a in range(along.shape[1]):
        along[Along.SPREAD, a] = _square(state.spread[a * d : (a + 1) * d], y)
        along[Along.CENTRE, a] = dot(task.arms[a], centre) - state.numbers[Number.SHIFT]
        down = up = 0.0
        if along[Along.SPREAD, a] > 0.0:
            for i in range(d):
                one, other = extremes[2 * a, i] * y[i], extremes[2 * a + 1, i] * y[i]
                down += min(one, other)
                up += max(one, other)
        along[Along.REACH, a] = max(up, -down)


@kernel
def _price_of(state: BoundedLinear, task: Task, level: int, h: float) -> tuple[float, float]:
    """What the variances of all arms cost at most, and at the centre; how it rises is in `lean`.

    Of each arm either the most is taken, which is Bennett's at the largest variance or Hoeffding's,
    or the tangent of Bennett's at the centre, if it is less there.
    """
    low, high = state.boxes[2 * level + Box.LOW], state.boxes[2 * level + Box.HIGH]
    lean, along = state.vectors[Scratch.LEAN], state.along_arms
    fill(lean, 0.0)
    total = middle = 0.0
    for a in range(low.shape[0]):
        spread, p = along[Along.SPREAD, a], along[Along.CENTRE, a]
        most = 0.125 * h * h * spread
        kappa = price(h, along[Along.REACH, a])
        if kappa < math.inf:
            most = min(most, kappa * spread * largest_variance(low[a], high[a]))
        total += most
        if not kappa * p * (1.0 - p) * spread < most:
            middle += most
            continue
        middle += kappa * p * (1.0 - p) * spread
        for i in range(lean.shape[0]):
            lean[i] += kappa * spread * (1.0 - 2.0 * p) * task.arms[a, i]
    return total, middle


@kernel
def price(h: float, reach: float) -> float:
    """κ(h) = φ(hG)/G², φ(x) = eˣ − 1 − x: Bennett's price of a unit of variance; ½h² at least.

    Infinite where it would be absurd.
    """
    x = h * reach
    if not x < ABSURD:
        return math.inf
    if x < 1e-4:
        return h * h * (0.5 + x / 6.0 + x * x)
    return (math.expm1(x) - x) / (reach * reach) * (1.0 + SLACK)


@kernel
def cells(state: BoundedLinear, task: Task, x: int, level: int) -> tuple[int, int]:
    """The first and the last cell that (e + (1 − c)·⟨ν, x⟩)/v̄(ν) may be in."""
    guard, d = state.guard, state.total.shape[0]
    least_gap = largest_gap = 0.5 * task.e
    if task.c < 1.0:
        inverse = state.metrics[level * d : (level + 1) * d]
        middle = dot(task.answers[x], state.centres[level])
        reach = math.sqrt(guard[Guard.SQUARED_RADIUS, level] * _square(inverse, task.answers[x]))
        least_gap += (1.0 - task.c) * max(middle - reach, 0.0)
        largest_gap += (1.0 - task.c) * max(middle + reach, 0.0)
    last = state.log_weights.shape[0] - 1
    return (
        _cell(least_gap * (1.0 - SLACK), guard[Guard.LARGEST_VARIANCE, level], last),
        _cell(largest_gap * (1.0 + SLACK), guard[Guard.LEAST_VARIANCE, level], last),
    )


@kernel
def _cell(gap: float, variance: float, last: int) -> int:
    """By powers of 2; whatever is beyond the first or the last one is in it."""
    if not gap > variance * LEAST_TILT:
        return 0
    if not gap < variance * LEAST_TILT * 2.0**last:
        return last
    return min(max(math.floor(math.log2(gap / (variance * LEAST_TILT))), 0), last)


@kernel
def _first_tilt(cell: int) -> int:
    return 2 * cell


@kernel
def _log_mixture(state: BoundedLinear, cell: int) -> float:
    """ln Σ w·exp(exponent) over the tilts of one cell."""
    weights, exponents = state.log_weights[cell], state.exponents
    first, top, total = _first_tilt(cell), -math.inf, 0.0
    for k in range(first, exponents.shape[0]):
        top = max(top, weights[k] + exponents[k])
    if not -math.inf < top < math.inf:
        return top
    for k in range(first, exponents.shape[0]):
        total += math.exp(weights[k] + exponents[k] - top)
    return top + math.log(total)
