"""What the weights make of the problem: V_w, the distances F_x, their gradients and the loads.

These kernels are merged into many others, each time anew. Inner products are therefore written
out here: `linalg.dot`, unrolled on its own, would make the code a sixth longer to compile.
"""

import math

from furthest.kernels.design.interior import Interior, Row
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    Matrix,
    Vector,
    column_products,
    combine,
    highest,
    lowest,
    scaled_copy,
    solve_lower_into,
    squared_lengths,
    total,
)


@kernel
def factor_information(arms: Matrix, weights: Vector, row: Vector, factor: Matrix) -> bool:
    """factor = L with V_w = L·Lᵀ. False where V_w is not positive definite in floating point.

    No relative threshold as in `linalg.cholesky`: V_w may be singular at the optimum, and the
    bounds are rechecked. `row` is scratch.

    Paper: design matrix.
    """
    d, k = arms.shape[0], weights.shape[0]
    for i in range(d):
        for a in range(k):
            row[a] = weights[a] * arms[i, a]
        for j in range(i + 1):
            entry = 0.0
            for a in range(k):
                entry += row[a] * arms[j, a]
            factor[i, j] = entry
    for j in range(d):
        pivot = factor[j, j]
        for m in range(j):
            pivot -= factor[j, m] * factor[j, m]
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        factor[j, j] = root
        for i in range(j + 1, d):
            rest = factor[i, j]
            for m in range(j):
                rest -= factor[i, m] * factor[j, m]
            factor[i, j] = rest / root
    return True


@kernel
def measure_distances(p: Interior, k: int, n: int) -> bool:
    """Whitened coordinates and F_x at the weights. False where V_w is singular."""
    weights, distances = p.point[Row.PRIMAL, :k], p.point[Row.LEVEL, k : k + n]
    if not factor_information(p.arms, weights, p.point[Row.WORK], p.information):
        return False
    solve_lower_into(p.information, p.arms, k, p.white_arms)
    solve_lower_into(p.information, p.directions, n, p.white_directions)
    squared_lengths(p.white_directions, distances)
    for x in range(n):
        distances[x] = 1.0 / distances[x]
    return True


@kernel
def sum_loads(p: Interior, k: int, n: int) -> None:
    """load_a = Σ_x q_x G_xa."""
    combine(p.point[Row.DUAL, k : k + n], p.gradient, p.point[Row.LEVEL, :k])


@kernel
def evaluate(p: Interior, k: int, n: int) -> bool:
    """F_x, its gradient G_xa and the loads at the iterate. False where V_w is singular."""
    if not measure_distances(p, k, n):
        return False
    row = p.point[Row.WORK]
    for x in range(n):
        column_products(p.white_directions, x, p.white_arms, 0, k, row)
        square = p.point[Row.LEVEL, k + x] ** 2
        for a in range(k):
            p.gradient[x, a] = square * row[a] * row[a]
    sum_loads(p, k, n)
    return True


@kernel
def bounds(point: Matrix, k: int, n: int) -> tuple[float, float]:
    """The certificate at the iterate: min F/1ᵀw and max load/1ᵀq."""
    lower = lowest(point[Row.LEVEL, k : k + n]) / total(point[Row.PRIMAL, :k])
    upper = highest(point[Row.LEVEL, :k]) / total(point[Row.DUAL, k : k + n])
    return lower, upper


@kernel
def spread_multipliers(p: Interior, k: int, n: int) -> None:
    """p.spread = Σ_x q_x θ_x θ_xᵀ in whitened coordinates, p.spread_arms its product with arms."""
    d = p.spread.shape[0]
    row = p.point[Row.WORK]
    for i in range(d):
        for x in range(n):
            distance = p.point[Row.LEVEL, k + x]
            row[x] = p.point[Row.DUAL, k + x] * distance * distance * p.white_directions[i, x]
        for j in range(i + 1):
            entry = 0.0
            for x in range(n):
                entry += row[x] * p.white_directions[j, x]
            p.spread[i, j] = p.spread[j, i] = entry
    for i in range(d):
        column_products(p.spread, i, p.white_arms, 0, k, p.spread_arms[i])


@kernel
def scale_directions(p: Interior, n: int, scale: float) -> None:
    """Other units of value: u ← scale·u."""
    for i in range(p.directions.shape[0]):
        scaled_copy(scale, p.directions[i, :n], p.directions[i, :n])


@kernel
def adopt_whitened(p: Interior, k: int, n: int) -> None:
    """Go over to the coordinates that are white for the present weights.

    All bounds stay the same; but V_w is formed with an error that grows with its condition.
    """
    for i in range(p.arms.shape[0]):
        scaled_copy(1.0, p.white_arms[i, :k], p.arms[i, :k])
        scaled_copy(1.0, p.white_directions[i, :n], p.directions[i, :n])
