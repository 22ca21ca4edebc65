"""The closest alternative within an ellipsoid λᵀPλ ≤ R: half-space and ellipsoid, any metric.

Kocák & Garivier (2020, 2021) for the Laplacian P of a graph. With metric V = CCᵀ and
C⁻¹PC⁻ᵀ = QΛQᵀ, in the coordinates v = QᵀCᵀλ, û = QᵀCᵀμ, ỹ = QᵀC⁻¹y, relaxing the ellipsoid by a
multiplier γ ≥ 0 leaves a half-space in a diagonal metric:

    D(γ) = min over ⟨v, ỹ⟩ + e ≤ 0 of ‖û − v‖² + γ(vᵀΛv − R),  v_i = (û_i − τỹ_i)/(1 + γΛ_i),

with τ = (Σ û_iỹ_i/(1 + γΛ_i) + e)₊ / (Σ ỹ_i²/(1 + γΛ_i)). D is concave, D'(γ) = vᵀΛv − R, and its
maximum is the squared distance. Every D(γ) is a lower bound on it, so that no test is less sound
for a search that ends early (docs/theory/spectral.md).
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.alternatives import SAME, contrast_norms
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    Matrix,
    Vector,
    cholesky,
    combine,
    copy,
    solve_lower_many,
    solve_lower_transposed,
)
from furthest.task import Smoothness, Task

# Relative to R: how near to the ellipsoid's surface the search ends, always on its inner side.
NEAR = 1e-10

# Share of the quantities that vᵀΛv − R is a difference of: what rounding may have made of it.
ROUNDING = 1e-14

# No threshold is as large: what is further than this is out of reach.
BEYOND = 1e12

STEPS = 80
SWEEPS = 30

# Off the diagonal, relative to the largest entry on it.
DIAGONAL = 1e-16


class Ellipsoid(NamedTuple):
    """The bound on the parameter, and work arrays for one metric at a time."""

    matrix: Matrix  # (d, d) P
    bound: float  # R, infinite where there is no bound
    factor: Matrix  # (d, d) C, the Cholesky factor of the metric
    inner: Matrix  # (d, d) C⁻¹PC⁻ᵀ, then scratch
    axes: Matrix  # (d, d) Q
    curvatures: Vector  # (d,) Λ
    answers: Matrix  # (d, Z) QᵀC⁻¹ · answers
    columns: Matrix  # (d, Z) scratch
    norms: Vector  # (Z,) scratch
    centre: Vector  # (d,) û
    contrast: Vector  # (d,) ỹ
    step: Vector  # (d,) û − v, then μ − λ


def ellipsoid(task: Task, known: Smoothness | None) -> Ellipsoid:
    """The bound, if there is one, and fresh work arrays."""
    d, answers = task.arms.shape[1], task.answers.shape[0]
    return Ellipsoid(
        matrix=np.zeros((d, d)) if known is None else known.matrix,
        bound=math.inf if known is None else float(known.bound),
        factor=np.zeros((d, d)),
        inner=np.zeros((d, d)),
        axes=np.zeros((d, d)),
        curvatures=np.zeros(d),
        answers=np.zeros((d, answers)),
        columns=np.zeros((d, answers)),
        norms=np.zeros(answers),
        centre=np.zeros(d),
        contrast=np.zeros(d),
        step=np.zeros(d),
    )


@kernel
def diagonalise(matrix: Matrix, axes: Matrix, values: Vector) -> None:
    """matrix = axes · diag(values) · axesᵀ for a semidefinite matrix, which is used up.

    Jacobi's rotations: for the small matrices here no slower than others, and they need no memory.
    """
    d = matrix.shape[0]
    largest = 0.0
    for i in range(d):
        largest = max(largest, abs(matrix[i, i]))
        for j in range(d):
            axes[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        rotated = False
        for p in range(d):
            for q in range(p + 1, d):
                off = matrix[p, q]
                if abs(off) <= DIAGONAL * largest:
                    continue
                rotated = True
                ratio = 0.5 * (matrix[q, q] - matrix[p, p]) / off
                tangent = math.copysign(1.0, ratio) / (abs(ratio) + math.hypot(1.0, ratio))
                cosine = 1.0 / math.hypot(1.0, tangent)
                sine = tangent * cosine
                for k in range(d):
                    kp, kq = matrix[k, p], matrix[k, q]
                    matrix[k, p] = cosine * kp - sine * kq
                    matrix[k, q] = sine * kp + cosine * kq
                for k in range(d):
                    pk, qk = matrix[p, k], matrix[q, k]
                    matrix[p, k] = cosine * pk - sine * qk
                    matrix[q, k] = sine * pk + cosine * qk
                    kp, kq = axes[k, p], axes[k, q]
                    axes[k, p] = cosine * kp - sine * kq
                    axes[k, q] = sine * kp + cosine * kq
        if not rotated:
            break
    for i in range(d):
        values[i] = matrix[i, i]


@kernel
def take_metric(work: Ellipsoid, answer_columns: Matrix, metric: Matrix, mu: Vector) -> bool:
    """Go to the coordinates in which metric and ellipsoid are diagonal; False if singular.

    Only the lower triangle of the metric is read.
    """
    d = mu.shape[0]
    factor, inner, axes = work.factor, work.inner, work.axes
    copy(metric, factor)
    if not cholesky(factor):
        return False
    copy(work.matrix, inner)
    solve_lower_many(factor, inner)
    for i in range(d):
        for j in range(i):
            inner[i, j], inner[j, i] = inner[j, i], inner[i, j]
    solve_lower_many(factor, inner)
    diagonalise(inner, axes, work.curvatures)
    for i in range(d):
        work.curvatures[i] = max(work.curvatures[i], 0.0)

    step, centre = work.step, work.centre
    for j in range(d):
        step[j] = 0.0
        for i in range(j, d):
            step[j] += factor[i, j] * mu[i]
    combine(step, axes, centre)

    copy(answer_columns, work.columns)
    solve_lower_many(factor, work.columns)
    for i in range(d):
        for x in range(answer_columns.shape[1]):
            work.answers[i, x] = 0.0
        for k in range(d):
            scale = axes[k, i]
            for x in range(answer_columns.shape[1]):
                work.answers[i, x] += scale * work.columns[k, x]
    return True


@kernel
def push_into(work: Ellipsoid, e: float, gamma: float) -> tuple[float, float]:
    """(τ, Σ ỹ_i²/(1 + γΛ_i)): how far to go from û/(1 + γΛ) into the half-space.

    Without a contrast, ỹ = 0, there is no half-space but all of it, and e does not matter.
    """
    margin, norm = e, 0.0
    for i in range(work.centre.shape[0]):
        shrink = 1.0 / (1.0 + gamma * work.curvatures[i])
        margin += work.centre[i] * work.contrast[i] * shrink
        norm += work.contrast[i] * work.contrast[i] * shrink
    return (max(margin, 0.0) / norm if norm > 0.0 else 0.0), norm


@kernel
def relaxed(work: Ellipsoid, e: float, gamma: float) -> tuple[float, float, float]:
    """(vᵀΛv, its derivative in γ, D(γ) less what may be rounding) for the contrast in `work`."""
    curvatures, centre, contrast = work.curvatures, work.centre, work.contrast
    push, norm = push_into(work, e, gamma)
    rough, turn, bend, distance, size, widest = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for i in range(centre.shape[0]):
        shrink = 1.0 / (1.0 + gamma * curvatures[i])
        v = (centre[i] - push * contrast[i]) * shrink
        gap = (centre[i] * gamma * curvatures[i] + push * contrast[i]) * shrink
        along = curvatures[i] * v
        rough += along * v
        turn += along * contrast[i] * shrink
        bend += along * along * shrink
        distance += gap * gap
        size += v * v
        widest = max(widest, curvatures[i])
    slope = -2.0 * bend
    if push > 0.0:
        slope += 2.0 * turn * turn / norm
    doubt = ROUNDING * (work.bound + widest * size)
    return rough, slope, distance + gamma * (rough - work.bound - doubt)


@kernel
def multiplier(work: Ellipsoid, e: float, limit: float) -> tuple[float, float]:
    """(lower bound on the squared distance, γ) for the contrast in `work`.

    Gives up once the distance is known to be above `limit`; infinite if no parameter is in both
    half-space and ellipsoid. Newton's method on 1/√(vᵀΛv), which is nearly straight in γ (Moré &
    Sorensen 1983), within a bracket.
    """
    rough, slope, distance = relaxed(work, e, 0.0)
    bound = work.bound
    if rough <= bound:
        return distance, 0.0
    target = bound * (1.0 - NEAR)
    below, above, gamma, best = 0.0, math.inf, 0.0, distance
    for _ in range(STEPS):
        if best > limit:
            return best, gamma
        if best > BEYOND:
            return math.inf, gamma
        if rough > bound:
            below = gamma
        else:
            above = gamma
            if rough >= bound * (1.0 - 3.0 * NEAR):
                break
        ahead = math.inf
        if slope < 0.0:
            ahead = gamma - 2.0 * rough / slope * (math.sqrt(rough / target) - 1.0)
        if not below < ahead < above:
            ahead = 0.5 * (below + above)
        if not ahead < math.inf:
            ahead = 4.0 * gamma + 1.0
        if ahead in (below, above):
            break
        gamma = ahead
        rough, slope, distance = relaxed(work, e, gamma)
        best = max(best, distance)
    return best, above if above < math.inf else gamma


@kernel
def set_contrast(work: Ellipsoid, z: int, x: int, c: float) -> None:
    """ỹ of y = z − c·x."""
    for i in range(work.contrast.shape[0]):
        work.contrast[i] = work.answers[i, z] - c * work.answers[i, x]


@kernel
def nearest_within(work: Ellipsoid, z: int, c: float, e: float) -> tuple[float, int, float]:
    """(lower bound on the squared distance, x, γ) of the nearest alternative to z in the ellipsoid.

    After `take_metric`. Infinite, with x = −1, where there is none.
    """
    own = contrast_norms(work.answers, work.answers, z, c, work.norms)
    best, where, at = math.inf, -1, 0.0
    for x in range(work.norms.shape[0]):
        if x == z or not work.norms[x] > SAME * own:
            continue
        set_contrast(work, z, x, c)
        distance, gamma = multiplier(work, e, best)
        if distance < best:
            best, where, at = distance, x, gamma
    return best, where, at


@kernel
def step_to(work: Ellipsoid, z: int, x: int, c: float, e: float, gamma: float) -> None:
    """μ − λ into `work.step`, for the λ that belongs to γ: C⁻ᵀQ(û − v)."""
    set_contrast(work, z, x, c)
    curvatures, centre, contrast = work.curvatures, work.centre, work.contrast
    push, _ = push_into(work, e, gamma)
    for i in range(centre.shape[0]):
        shrink = 1.0 / (1.0 + gamma * curvatures[i])
        contrast[i] = (centre[i] * gamma * curvatures[i] + push * contrast[i]) * shrink
    for k in range(centre.shape[0]):
        work.step[k] = 0.0
        for i in range(centre.shape[0]):
            work.step[k] += work.axes[k, i] * contrast[i]
    solve_lower_transposed(work.factor, work.step)
