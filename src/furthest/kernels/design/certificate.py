"""The bounds of value(z) once more, computed such that rounding cannot make them wrong."""

import math

from furthest.kernels.design.geometry import factor_information
from furthest.kernels.design.interior import Interior, Row
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    column_products,
    fill,
    highest,
    lowest,
    scaled_copy,
    solve_lower_into,
    solve_lower_transposed_first,
    squared_lengths,
    total,
)


@kernel
def certify_lower(p: Interior, k: int, n: int) -> float:
    """min_x F_x(w) at the normalised weights BEST, left in LEVEL.

    Computed such that its error does not grow with the condition of V_w. For any p:
    uᵀV⁻¹u = 2⟨u, p⟩ − pᵀVp + rᵀV⁻¹r with r = u − Vp. At p ≈ V⁻¹u the last term, the only one to
    involve V⁻¹, is of second order.

    Paper: Lemma C.1.
    """
    point = p.point
    weights, distances = point[Row.BEST, :k], point[Row.LEVEL, k : k + n]
    inner, quadratic = point[Row.WORK, :n], point[Row.SQUARE, k : k + n]
    solved, residual = p.white_directions, p.residuals
    scaled_copy(1.0 / total(weights), weights, weights)
    if not factor_information(p.arms, weights, point[Row.WORK], p.information):
        return 0.0
    solve_lower_into(p.information, p.directions, n, solved)
    solve_lower_transposed_first(p.information, solved, n)
    fill(quadratic, 0.0)
    for i in range(p.arms.shape[0]):
        for x in range(n):
            residual[i, x] = p.directions[i, x]
            quadratic[x] += 2.0 * p.directions[i, x] * solved[i, x]
    for a in range(k):
        if weights[a] == 0.0:
            continue
        column_products(p.arms, a, solved, 0, n, inner)
        for x in range(n):
            quadratic[x] -= weights[a] * inner[x] * inner[x]
        for i in range(p.arms.shape[0]):
            scale = weights[a] * p.arms[i, a]
            for x in range(n):
                residual[i, x] -= scale * inner[x]
    solve_lower_into(p.information, residual, n, solved)
    squared_lengths(solved, inner)
    for x in range(n):
        distances[x] = 1.0 / (max(quadratic[x], 0.0) + inner[x])
    return lowest(distances)


@kernel
def certify_upper(p: Interior, k: int, n: int) -> float:
    """max_a Σ_x q_x ⟨θ_x, a⟩² / Σ_x q_x ⟨θ_x, u_x⟩² at BEST, whatever the error in θ.

    Normalises the multipliers, such that ⟨θ_x, u_x⟩ = 1.

    Paper: Lemma C.6, Equation 8.
    """
    point = p.point
    theta, loads, row = p.white_directions, point[Row.LEVEL, :k], point[Row.WORK]
    multipliers, lengths = point[Row.BEST, k : k + n], point[Row.SQUARE, k : k + n]
    if not factor_information(p.arms, point[Row.BEST_AT, :k], row, p.information):
        return math.inf
    solve_lower_into(p.information, p.directions, n, theta)
    squared_lengths(theta, lengths)
    solve_lower_transposed_first(p.information, theta, n)
    fill(loads, 0.0)
    for x in range(n):
        if multipliers[x] == 0.0:
            continue
        scale = 0.0
        for i in range(p.arms.shape[0]):
            scale += theta[i, x] * p.directions[i, x]
        column_products(theta, x, p.arms, 0, k, row)
        multiplier = multipliers[x] / (lengths[x] * lengths[x])
        for a in range(k):
            loads[a] += multiplier * row[a] * row[a]
        multipliers[x] = multiplier * scale * scale
    mass = total(multipliers)
    scaled_copy(1.0 / mass, multipliers, multipliers)
    return highest(loads) / mass
