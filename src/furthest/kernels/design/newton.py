"""One Newton direction of the interior point: its matrix, the factors, the solution."""

import math

from furthest.kernels.design import settings
from furthest.kernels.design.geometry import spread_multipliers
from furthest.kernels.design.interior import Interior, Row
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector, column_products, dot


@kernel
def _split_curvatures(p: Interior, k: int, n: int) -> int:
    """Split the curvature q/c of each alternative; number of active ones.

    At most `CURVATURE` of it goes into the Newton matrix, together with that of −F;
    alternatives with more are listed in p.active.
    """
    point = p.point
    count = 0
    for i in range(k):
        point[Row.CURVED, i] = point[Row.DUAL, i] / point[Row.PRIMAL, i]
    for i in range(k, k + n):
        curvature = point[Row.DUAL, i] / point[Row.PRIMAL, i]
        if curvature > settings.CURVATURE and count < p.active.shape[0]:
            p.active[count] = i - k
            count += 1
            curvature = settings.CURVATURE
        point[Row.CURVED, i] = curvature
        point[Row.SQUARE, i] = curvature - 2.0 * point[Row.DUAL, i] / point[Row.LEVEL, i]
    return count


@kernel
def _build_matrix(p: Interior, k: int, n: int) -> None:
    """Upper triangle of M = 2(A V⁻¹Aᵀ)∘(A Σ_x q_x θ_x θ_xᵀ Aᵀ) + Gᵀ diag(SQUARE) G + diag(s/w).

    By tiles of columns, which stay in the cache, and four alternatives at a time, which saves
    loads and stores of the matrix: the last loop is where large problems spend their time.
    """
    gradient, out = p.gradient, p.newton
    square = p.point[Row.SQUARE, k : k + n]
    row, other = p.point[Row.WORK], p.point[Row.STEP_PRIMAL]
    spread_multipliers(p, k, n)
    for low in range(0, k, settings.TILE):
        high = min(low + settings.TILE, k)
        for a in range(high):
            start = max(a, low)
            column_products(p.white_arms, a, p.white_arms, start, high, row)
            column_products(p.spread_arms, a, p.white_arms, start, high, other)
            for b in range(start, high):
                out[a, b] = 2.0 * row[b] * other[b]
            for x in range(0, n - 3, 4):
                s0, s1 = square[x] * gradient[x, a], square[x + 1] * gradient[x + 1, a]
                s2, s3 = square[x + 2] * gradient[x + 2, a], square[x + 3] * gradient[x + 3, a]
                for b in range(start, high):
                    out[a, b] += (
                        s0 * gradient[x, b]
                        + s1 * gradient[x + 1, b]
                        + s2 * gradient[x + 2, b]
                        + s3 * gradient[x + 3, b]
                    )
            for x in range(n - n % 4, n):
                s0 = square[x] * gradient[x, a]
                for b in range(start, high):
                    out[a, b] += s0 * gradient[x, b]
    for a in range(k):
        out[a, a] += p.point[Row.CURVED, a]


@kernel
def _subtract_rows(
    source: Matrix, scales: Vector, low: int, high: int, start: int, size: int, row: Vector
) -> None:
    """row_b −= Σ_j scales_j source_jb over low ≤ j < high, for start ≤ b < size."""
    for j in range(low, high - 3, 4):
        s0, s1, s2, s3 = scales[j], scales[j + 1], scales[j + 2], scales[j + 3]
        for b in range(start, size):
            row[b] -= (
                s0 * source[j, b]
                + s1 * source[j + 1, b]
                + s2 * source[j + 2, b]
                + s3 * source[j + 3, b]
            )
    for j in range(high - (high - low) % 4, high):
        s0 = scales[j]
        for b in range(start, size):
            row[b] -= s0 * source[j, b]


@kernel
def _factor(matrix: Matrix, size: int, pivots: Vector, column: Vector) -> None:
    """Upper Cholesky factor in place, matrix = UᵀU; numerically null pivots freeze.

    By panels of rows, so that a large matrix passes through the cache once per panel. A frozen
    row is zero, its entry of `pivots`, the inverse diagonal, too.
    """
    for j in range(size):
        pivots[j] = settings.NULL_PIVOT * matrix[j, j]
    for low in range(0, size, settings.PANEL):
        high = min(low + settings.PANEL, size)
        for j in range(low, size):
            above = min(j, high)
            for i in range(low, above):
                column[i] = matrix[i, j]
            _subtract_rows(matrix, column, low, above, j, size, matrix[j])
            if j < high:
                pivots[j] = 1.0 / math.sqrt(matrix[j, j]) if matrix[j, j] > pivots[j] else 0.0
                for b in range(j, size):
                    matrix[j, b] *= pivots[j]


@kernel
def _solve_forward(factor: Matrix, size: int, pivots: Vector, rows: Matrix) -> None:
    """Each row ← U⁻ᵀ row, all of them together, by panels of the factor."""
    for low in range(0, size, settings.PANEL):
        high = min(low + settings.PANEL, size)
        for i in range(rows.shape[0]):
            row = rows[i]
            for j in range(low, high):
                solved = row[j] * pivots[j]
                row[j] = solved
                for b in range(j + 1, high):
                    row[b] -= solved * factor[j, b]
            _subtract_rows(factor, row, low, high, high, size, row)


@kernel
def _solve_backward(factor: Matrix, size: int, pivots: Vector, rhs: Vector) -> None:
    """rhs ← U⁻¹ rhs."""
    for j in range(size - 1, -1, -1):
        rest = rhs[j]
        for b in range(j + 1, size):
            rest -= factor[j, b] * rhs[b]
        rhs[j] = rest * pivots[j]


@kernel
def factor_newton(p: Interior, k: int, n: int) -> int:
    """Factor M, and G_A M⁻¹ G_Aᵀ + 1/(q/c − CURVATURE) over the active alternatives A; |A|."""
    point, coupling = p.point, p.coupling
    count = _split_curvatures(p, k, n)
    _build_matrix(p, k, n)
    _factor(p.newton, k, point[Row.PIVOT, :k], point[Row.WORK])
    for i in range(count):
        for a in range(k):
            coupling[i, a] = p.gradient[p.active[i], a]
    _solve_forward(p.newton, k, point[Row.PIVOT, :k], coupling[:count])
    for i in range(count):
        own = coupling[i, :k]
        for j in range(i + 1):
            p.schur[j, i] = dot(own, coupling[j])
        x = k + p.active[i]
        slack, multiplier = point[Row.PRIMAL, x], point[Row.DUAL, x]
        p.schur[i, i] += slack / (multiplier - settings.CURVATURE * slack)
    _factor(p.schur, count, point[Row.PIVOT, k : k + n], point[Row.WORK])
    return count


@kernel
def find_direction(p: Interior, k: int, n: int, count: int) -> None:
    """Newton step for the right-hand sides TARGET of w∘s and q∘c."""
    point, gradient, coupling = p.point, p.gradient, p.coupling
    step, excess = point[Row.STEP_PRIMAL, :k], point[Row.WORK]
    for a in range(k):
        step[a] = point[Row.TARGET, a] / point[Row.PRIMAL, a] - point[Row.RESIDUAL, a]
    for x in range(n):
        i = k + x
        point[Row.STEP_DUAL, i] = 0.0
        point[Row.STEP_PRIMAL, i] = (
            point[Row.TARGET, i] / point[Row.DUAL, i] - point[Row.RESIDUAL, i]
        )
        scale = point[Row.CURVED, i] * point[Row.STEP_PRIMAL, i]
        for a in range(k):
            step[a] += scale * gradient[x, a]
    _solve_forward(p.newton, k, point[Row.PIVOT, :k], point[Row.STEP_PRIMAL : Row.STEP_PRIMAL + 1])
    for j in range(count):
        rest = point[Row.STEP_PRIMAL, k + p.active[j]]
        for a in range(k):
            rest -= coupling[j, a] * step[a]
        excess[j] = rest
    _solve_forward(p.schur, count, point[Row.PIVOT, k : k + n], point[Row.WORK : Row.WORK + 1])
    _solve_backward(p.schur, count, point[Row.PIVOT, k : k + n], excess)
    for j in range(count):
        point[Row.STEP_DUAL, k + p.active[j]] = excess[j]
        for a in range(k):
            step[a] += excess[j] * coupling[j, a]
    _solve_backward(p.newton, k, point[Row.PIVOT, :k], step)
    for a in range(k):
        rest = point[Row.TARGET, a] - point[Row.DUAL, a] * step[a]
        point[Row.STEP_DUAL, a] = rest / point[Row.PRIMAL, a]
    for x in range(n):
        i = k + x
        change = dot(step, gradient[x])
        point[Row.STEP_DUAL, i] += point[Row.CURVED, i] * (point[Row.STEP_PRIMAL, i] - change)
        point[Row.STEP_PRIMAL, i] = point[Row.RESIDUAL, i] + change
    for j in range(count):
        # Read off the complementarity row: the sum above cancels for active alternatives.
        i = k + p.active[j]
        rest = point[Row.TARGET, i] - point[Row.PRIMAL, i] * point[Row.STEP_DUAL, i]
        point[Row.STEP_PRIMAL, i] = rest / point[Row.DUAL, i]
