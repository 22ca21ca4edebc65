"""The optimal allocation for one answer, with its certificate.

For an answer z and y_x = z − c·x, n_x = ⟨μ, y_x⟩ + e the value of z is

    value(z) = max_w min_x n_x² / ‖y_x‖²_{V_w⁻¹},    w in the simplex,    V_w = Σ_a w_a a aᵀ,

and 2/T_ε(μ) = max_z value(z) (Jourdan & Degenne 2022, "Choosing answers in ε-best-answer
identification for linear bandits"). With u_x = y_x/n_x the distance

    F_x(w) = 1/(u_xᵀ V_w⁻¹ u_x) = min over ⟨θ, u_x⟩ = 1 of Σ_a w_a ⟨θ, a⟩²

is concave and 1-homogeneous in w, with gradient G_xa = ⟨θ_x, a⟩² at θ_x = F_x V_w⁻¹ u_x.
Homogeneity removes the simplex:

    1/value(z) = min 1ᵀw    subject to    F_x(w) ≥ 1,    w ≥ 0.

Any weights w and multipliers q, feasible or not, give the certificate

    min_x F_x(w) / 1ᵀw  ≤  value(z)  ≤  max_a Σ_x q_x ⟨θ_x, a⟩² / Σ_x q_x ⟨θ_x, u_x⟩².

Small problems are solved by a primal-dual interior point (Mehrotra 1992, "On the implementation
of a primal-dual interior point method") on the exact Hessian; large ones by the same method on a
growing selection of arms and alternatives (column and constraint generation), every bound being
computed over all arms and all alternatives.
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.jit import kernel, spliced
from furthest.kernels.linalg import Counts, Matrix, Vector

# Squared relative length below which y_x = z − c·x counts as zero: x cannot be confused with z.
NEGLIGIBLE = 1e-26
# A margin whose square underflows is zero.
SMALLEST_MARGIN = 1e-140
# Allowance for rounding in the certificate.
ROUNDING = 1e-13

# A pivot of the Newton matrix below this share of its diagonal freezes its variable.
NULL_PIVOT = 1e-15
# Curvature q/c of an alternative that goes into the Newton matrix. What exceeds it goes through
# the Schur complement, which keeps the matrix well conditioned near the optimum.
CURVATURE = 10.0
# Columns of the Newton matrix that are built together, and rows of its factor that are computed
# together (a multiple of four): what fits into the caches.
TILE = 128
PANEL = 16
# Steps of the fast mode, and of the safe mode that follows if it failed.
FAST_STEPS = 40
SAFE_STEPS = 150
# Share of the gap that the iteration aims at, so that the recheck stays within the whole.
MARGIN = 0.95
# Relative gap down to which an iterate counts as centred enough to start again from it.
CENTRED_GAP = 1e-3
# Relative gap of a warm start above which a cold one is better; shares of that gap that its
# slacks and its products w∘s and q∘c get back.
WARM_GAP = 0.5
WARM_SLACK = 0.2
WARM_PRODUCT = 0.005

# Work of a Newton step (in multiplications) up to which the whole problem is solved at once.
DENSE = 3e6
# Column generation: multiplicative updates to begin with, and the exponent of their soft minimum;
# rounds; multiples of the gap by which a column is off to be dropped, and to be added.
WARM_UP = 12
SOFTNESS = 8.0
GENERATIONS = 60
OUTSIDE = 50.0
OVERLOOKED = 0.1

# Rows of Interior.point. Entries [:k] belong to the arms, [k : k + n] to the alternatives.
PRIMAL = 0  # weights w, not normalised | slacks c of F ≥ 1
DUAL = 1  # slacks s of load ≤ 1 | multipliers q
LEVEL = 2  # load_a = Σ_x q_x ⟨θ_x, a⟩² | distance F_x(w)
RESIDUAL = 3  # 1 − load − s | F − 1 − c
TARGET = 4  # right-hand side of w∘s | of q∘c
STEP_PRIMAL, STEP_DUAL = 5, 6
OLD_PRIMAL, OLD_DUAL = 7, 8
CURVED = 9  # s/w | curvature of c that goes into the Newton matrix
SQUARE = 10  # work | coefficient of G_xᵀG_x in the Newton matrix
PIVOT = 11  # inverse diagonals of the factors of Newton matrix | Schur complement; 0 if frozen
WORK = 12
BEST = 13  # weights of the best lower bound | multipliers of the best upper bound
BEST_AT = 14  # weights at which the θ of these multipliers were taken | unused
CENTRED = 15  # weights | multipliers of the last centred iterate
ROWS = 16

# Entries of a goal: stop at gap FLOOR, or at GAP once the lower bound is ABOVE this or the upper
# bound BELOW that; begin at the centred iterate if WARM.
GAP, FLOOR, ABOVE, BELOW, WARM = 0, 1, 2, 3, 4


class Interior(NamedTuple):
    """A problem of k arms and n alternatives, and the iterate of its interior point.

    Few arrays with many rows rather than many vectors, and hardly any literal as an argument of a
    kernel (each makes a specialisation of its own): both would multiply the time to compile.
    """

    arms: Matrix  # (d, k) arms as columns
    directions: Matrix  # (d, n) u_x as columns
    information: Matrix  # (d, d) V_w, then its Cholesky factor L
    white_arms: Matrix  # (d, k) L⁻¹a
    white_directions: Matrix  # (d, n) L⁻¹u
    residuals: Matrix  # (d, n) of the recheck
    gradient: Matrix  # (n, k) G_xa = ⟨θ_x, a⟩²
    spread: Matrix  # (d, d) Lᵀ(Σ_x q_x θ_x θ_xᵀ)L
    spread_arms: Matrix  # (d, k) and its product with L⁻¹a
    point: Matrix  # (ROWS, k + n)
    newton: Matrix  # (k, k) Newton matrix, then its upper Cholesky factor
    active: Counts  # (m) alternatives that go through the Schur complement, at most m
    coupling: Matrix  # (m, k) their gradients, solved against the factor
    schur: Matrix  # (m, m)


def interior(k: int, n: int, d: int, iterates: bool = True) -> Interior:
    """Room for `k` arms and `n` alternatives in dimension `d`.

    Without `iterates` for bounds only: no matrix grows with a product of k and n.
    """
    k_square = k if iterates else 0
    n_square = n if iterates else 0
    m = min(n_square, 2 * k + 10)
    return Interior(
        arms=np.zeros((d, k)),
        directions=np.zeros((d, n)),
        information=np.zeros((d, d)),
        white_arms=np.zeros((d, k)),
        white_directions=np.zeros((d, n)),
        residuals=np.zeros((d, n)),
        gradient=np.zeros((n_square, k_square)),
        spread=np.zeros((d, d)),
        spread_arms=np.zeros((d, k)),
        point=np.zeros((ROWS, k + n)),
        newton=np.zeros((k_square, k_square)),
        active=np.zeros(m, dtype=np.int64),
        coupling=np.zeros((m, k_square)),
        schur=np.zeros((m, m)),
    )


@kernel
def _total(row: Vector) -> float:
    total = 0.0
    for i in range(row.shape[0]):
        total += row[i]
    return total


@kernel
def _lowest(row: Vector) -> float:
    lowest = math.inf
    for i in range(row.shape[0]):
        lowest = min(lowest, row[i])
    return lowest


@kernel
def _highest(row: Vector) -> float:
    highest = 0.0
    for i in range(row.shape[0]):
        highest = max(highest, row[i])
    return highest


@kernel
def _fill(row: Vector, number: float) -> None:
    for i in range(row.shape[0]):
        row[i] = number


@kernel
def _copy(source: Vector, out: Vector, scale: float) -> None:
    for i in range(source.shape[0]):
        out[i] = scale * source[i]


@kernel
def _factor_information(arms: Matrix, weights: Vector, row: Vector, factor: Matrix) -> bool:
    """factor = L with V_w = L·Lᵀ. False where V_w is not positive definite in floating point.

    No relative threshold: V_w may be singular at the optimum, and the bounds are rechecked.
    """
    d = arms.shape[0]
    k = weights.shape[0]
    for i in range(d):
        for a in range(k):
            row[a] = weights[a] * arms[i, a]
        for j in range(i + 1):
            total = 0.0
            for a in range(k):
                total += row[a] * arms[j, a]
            factor[i, j] = total
    for j in range(d):
        pivot = factor[j, j]
        for m in range(j):
            pivot -= factor[j, m] * factor[j, m]
        if not pivot > 0.0:
            return False
        root = math.sqrt(pivot)
        factor[j, j] = root
        for i in range(j + 1, d):
            total = factor[i, j]
            for m in range(j):
                total -= factor[i, m] * factor[j, m]
            factor[i, j] = total / root
    return True


@kernel
def _whiten(factor: Matrix, columns: Matrix, count: int, out: Matrix) -> None:
    """out = L⁻¹ columns, for the first `count` columns."""
    for i in range(columns.shape[0]):
        inverse = 1.0 / factor[i, i]
        for j in range(count):
            out[i, j] = columns[i, j]
        for m in range(i):
            scale = factor[i, m]
            for j in range(count):
                out[i, j] -= scale * out[m, j]
        for j in range(count):
            out[i, j] *= inverse


@kernel
def _unwhiten(factor: Matrix, columns: Matrix, count: int) -> None:
    """columns ← L⁻ᵀ columns, for the first `count` columns."""
    d = columns.shape[0]
    for i in range(d - 1, -1, -1):
        for m in range(i + 1, d):
            scale = factor[m, i]
            for j in range(count):
                columns[i, j] -= scale * columns[m, j]
        inverse = 1.0 / factor[i, i]
        for j in range(count):
            columns[i, j] *= inverse


@kernel
def _squared_lengths(columns: Matrix, out: Vector) -> None:
    """Squared length of the first columns, as many as `out` holds."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(columns.shape[0]):
        for j in range(out.shape[0]):
            out[j] += columns[i, j] * columns[i, j]


@kernel
def _distances(p: Interior, k: int, n: int) -> bool:
    """Whitened coordinates and F_x at the weights. False where V_w is singular."""
    weights, distances = p.point[PRIMAL, :k], p.point[LEVEL, k : k + n]
    if not _factor_information(p.arms, weights, p.point[WORK], p.information):
        return False
    _whiten(p.information, p.arms, k, p.white_arms)
    _whiten(p.information, p.directions, n, p.white_directions)
    _squared_lengths(p.white_directions, distances)
    for x in range(n):
        distances[x] = 1.0 / distances[x]
    return True


@kernel
def _products(left: Matrix, right: Matrix, a: int, low: int, high: int, out: Vector) -> None:
    """out_b = Σ_i left_ia right_ib for low ≤ b < high."""
    for b in range(low, high):
        out[b] = 0.0
    for i in range(left.shape[0]):
        scale = left[i, a]
        for b in range(low, high):
            out[b] += scale * right[i, b]


@kernel
def _loads(p: Interior, k: int, n: int) -> None:
    """load_a = Σ_x q_x G_xa."""
    loads = p.point[LEVEL, :k]
    _fill(loads, 0.0)
    for x in range(n):
        q = p.point[DUAL, k + x]
        for a in range(k):
            loads[a] += q * p.gradient[x, a]


@kernel
def _evaluate(p: Interior, k: int, n: int) -> bool:
    """F_x, its gradient G_xa and the loads at the iterate. False where V_w is singular."""
    if not _distances(p, k, n):
        return False
    row = p.point[WORK]
    for x in range(n):
        _products(p.white_directions, p.white_arms, x, 0, k, row)
        square = p.point[LEVEL, k + x] ** 2
        for a in range(k):
            p.gradient[x, a] = square * row[a] * row[a]
    _loads(p, k, n)
    return True


@kernel
def _bounds(point: Matrix, k: int, n: int) -> tuple[float, float]:
    """The certificate at the iterate: min F/1ᵀw and max load/1ᵀq."""
    lower = _lowest(point[LEVEL, k : k + n]) / _total(point[PRIMAL, :k])
    upper = _highest(point[LEVEL, :k]) / _total(point[DUAL, k : k + n])
    return lower, upper


@kernel
def _residuals(point: Matrix, k: int, n: int) -> float:
    """Residuals after the slack reset, and the merit wᵀs + cᵀq + wᵀ|r_d| + qᵀ|r_p|.

    A slack that lags behind the true one is set to it, which makes its residual vanish: plain
    Mehrotra steps stall without it.
    """
    merit = 0.0
    for i in range(k + n):
        slack = 1.0 - point[LEVEL, i] if i < k else point[LEVEL, i] - 1.0
        kept, other = (DUAL, PRIMAL) if i < k else (PRIMAL, DUAL)
        if slack > 0.3 * point[kept, i]:
            point[kept, i] = slack
        point[RESIDUAL, i] = slack - point[kept, i]
        merit += point[other, i] * (point[kept, i] + abs(point[RESIDUAL, i]))
    return merit


@kernel
def _curvatures(p: Interior, k: int, n: int) -> int:
    """Split the curvature q/c of each alternative; number of active ones.

    At most `CURVATURE` of it goes into the Newton matrix, together with that of −F;
    alternatives with more are listed in p.active.
    """
    point = p.point
    count = 0
    for i in range(k):
        point[CURVED, i] = point[DUAL, i] / point[PRIMAL, i]
    for i in range(k, k + n):
        curvature = point[DUAL, i] / point[PRIMAL, i]
        if curvature > CURVATURE and count < p.active.shape[0]:
            p.active[count] = i - k
            count += 1
            curvature = CURVATURE
        point[CURVED, i] = curvature
        point[SQUARE, i] = curvature - 2.0 * point[DUAL, i] / point[LEVEL, i]
    return count


@kernel
def _spread(p: Interior, k: int, n: int) -> None:
    """p.spread = Σ_x q_x θ_x θ_xᵀ in whitened coordinates, p.spread_arms its product with arms."""
    d = p.spread.shape[0]
    row = p.point[WORK]
    for i in range(d):
        for x in range(n):
            distance = p.point[LEVEL, k + x]
            row[x] = p.point[DUAL, k + x] * distance * distance * p.white_directions[i, x]
        for j in range(i + 1):
            total = 0.0
            for x in range(n):
                total += row[x] * p.white_directions[j, x]
            p.spread[i, j] = total
            p.spread[j, i] = total
    for i in range(d):
        _products(p.spread, p.white_arms, i, 0, k, p.spread_arms[i])


@kernel
def _newton_matrix(p: Interior, k: int, n: int) -> None:
    """Upper triangle of M = 2(A V⁻¹Aᵀ)∘(A Σ_x q_x θ_x θ_xᵀ Aᵀ) + Gᵀ diag(SQUARE) G + diag(s/w).

    By tiles of columns, which stay in the cache, and four alternatives at a time, which saves
    loads and stores of the matrix: the last loop is where large problems spend their time.
    """
    gradient, out = p.gradient, p.newton
    square, row, other = p.point[SQUARE, k : k + n], p.point[WORK], p.point[STEP_PRIMAL]
    _spread(p, k, n)
    for low in range(0, k, TILE):
        high = min(low + TILE, k)
        for a in range(high):
            start = max(a, low)
            _products(p.white_arms, p.white_arms, a, start, high, row)
            _products(p.spread_arms, p.white_arms, a, start, high, other)
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
        out[a, a] += p.point[CURVED, a]


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
        pivots[j] = NULL_PIVOT * matrix[j, j]
    for low in range(0, size, PANEL):
        high = min(low + PANEL, size)
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
    for low in range(0, size, PANEL):
        high = min(low + PANEL, size)
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
        total = rhs[j]
        for b in range(j + 1, size):
            total -= factor[j, b] * rhs[b]
        rhs[j] = total * pivots[j]


@kernel
def _factor_newton(p: Interior, k: int, n: int) -> int:
    """Factor M, and G_A M⁻¹ G_Aᵀ + 1/(q/c − CURVATURE) over the active alternatives A; |A|."""
    point, coupling = p.point, p.coupling
    count = _curvatures(p, k, n)
    _newton_matrix(p, k, n)
    _factor(p.newton, k, point[PIVOT, :k], point[WORK])
    for i in range(count):
        for a in range(k):
            coupling[i, a] = p.gradient[p.active[i], a]
    _solve_forward(p.newton, k, point[PIVOT, :k], coupling[:count])
    for i in range(count):
        for j in range(i + 1):
            total = 0.0
            for a in range(k):
                total += coupling[i, a] * coupling[j, a]
            p.schur[j, i] = total
        x = k + p.active[i]
        p.schur[i, i] += point[PRIMAL, x] / (point[DUAL, x] - CURVATURE * point[PRIMAL, x])
    _factor(p.schur, count, point[PIVOT, k : k + n], point[WORK])
    return count


@kernel
def _direction(p: Interior, k: int, n: int, count: int) -> None:
    """Newton step for the right-hand sides TARGET of w∘s and q∘c."""
    point, gradient, coupling = p.point, p.gradient, p.coupling
    step, excess = point[STEP_PRIMAL, :k], point[WORK]
    for a in range(k):
        step[a] = point[TARGET, a] / point[PRIMAL, a] - point[RESIDUAL, a]
    for x in range(n):
        i = k + x
        point[STEP_DUAL, i] = 0.0
        point[STEP_PRIMAL, i] = point[TARGET, i] / point[DUAL, i] - point[RESIDUAL, i]
        scale = point[CURVED, i] * point[STEP_PRIMAL, i]
        for a in range(k):
            step[a] += scale * gradient[x, a]
    _solve_forward(p.newton, k, point[PIVOT, :k], point[STEP_PRIMAL : STEP_PRIMAL + 1])
    for j in range(count):
        total = point[STEP_PRIMAL, k + p.active[j]]
        for a in range(k):
            total -= coupling[j, a] * step[a]
        excess[j] = total
    _solve_forward(p.schur, count, point[PIVOT, k : k + n], point[WORK : WORK + 1])
    _solve_backward(p.schur, count, point[PIVOT, k : k + n], excess)
    for j in range(count):
        point[STEP_DUAL, k + p.active[j]] = excess[j]
        for a in range(k):
            step[a] += excess[j] * coupling[j, a]
    _solve_backward(p.newton, k, point[PIVOT, :k], step)
    for a in range(k):
        remainder = point[TARGET, a] - point[DUAL, a] * step[a]
        point[STEP_DUAL, a] = remainder / point[PRIMAL, a]
    for x in range(n):
        i = k + x
        change = 0.0
        for a in range(k):
            change += gradient[x, a] * step[a]
        point[STEP_DUAL, i] += point[CURVED, i] * (point[STEP_PRIMAL, i] - change)
        point[STEP_PRIMAL, i] = point[RESIDUAL, i] + change
    for j in range(count):
        # Read off the complementarity row: the sum above cancels for active alternatives.
        i = k + p.active[j]
        remainder = point[TARGET, i] - point[PRIMAL, i] * point[STEP_DUAL, i]
        point[STEP_PRIMAL, i] = remainder / point[DUAL, i]


@kernel
def _affine_targets(point: Matrix, size: int, centring: float) -> None:
    """Right-hand sides of a step towards w∘s = q∘c = centring, to first order."""
    for i in range(size):
        point[TARGET, i] = centring - point[PRIMAL, i] * point[DUAL, i]


@kernel
def _corrected_targets(point: Matrix, size: int, centring: float) -> None:
    """Add the centring and the second-order terms of the affine step (Mehrotra 1992)."""
    for i in range(size):
        point[TARGET, i] += centring - point[STEP_PRIMAL, i] * point[STEP_DUAL, i]


@kernel
def _lengths(point: Matrix, size: int, fraction: float) -> tuple[float, float]:
    """Primal and dual step lengths, a fraction of the way to the boundary and at most 1."""
    primal = 1e-30
    dual = 1e-30
    for i in range(size):
        primal = max(primal, -point[STEP_PRIMAL, i] / point[PRIMAL, i])
        dual = max(dual, -point[STEP_DUAL, i] / point[DUAL, i])
    return min(1.0, fraction / primal), min(1.0, fraction / dual)


@kernel
def _complementarity(point: Matrix, size: int, primal: float, dual: float) -> float:
    """Mean of w∘s and q∘c after a step of the given lengths."""
    total = 0.0
    for i in range(size):
        moved = point[PRIMAL, i] + primal * point[STEP_PRIMAL, i]
        total += moved * (point[DUAL, i] + dual * point[STEP_DUAL, i])
    return total / size


@kernel
def _move(point: Matrix, size: int, primal: float, dual: float) -> None:
    """Iterate = remembered iterate + step."""
    for i in range(size):
        point[PRIMAL, i] = point[OLD_PRIMAL, i] + primal * point[STEP_PRIMAL, i]
        point[DUAL, i] = point[OLD_DUAL, i] + dual * point[STEP_DUAL, i]


@kernel
def _reached(lower: float, upper: float, goal: Vector) -> bool:
    """Whether the bracket answers the question asked in `goal`."""
    width = upper - lower
    if width <= goal[FLOOR] * lower:
        return True
    return width <= goal[GAP] * lower and (lower >= goal[ABOVE] or upper <= goal[BELOW])


@spliced
def _iterate(
    p: Interior, k: int, n: int, goal: Vector, safe: bool, limit: int
) -> tuple[float, float, int]:
    """Interior-point steps from the iterate in `p`: best bounds, number of steps.

    The points behind the bounds are left in BEST and BEST_AT. A step is shortened only where the
    merit grew tenfold: asking for a decrease makes the method fail more often.
    """
    point, size = p.point, k + n
    best_lower = 0.0
    best_upper = math.inf
    merit = math.inf
    primal = dual = 0.0
    tries = 3
    step = 0
    while True:
        reached = math.inf
        if _evaluate(p, k, n):
            reached = _residuals(point, k, n)
        if tries < 3 and not reached <= 10.0 * merit:
            tries += 1
            primal *= 0.4
            dual *= 0.4
            _move(point, size, primal, dual)
            continue
        if not reached < math.inf:
            break
        merit = reached
        lower, upper = _bounds(point, k, n)
        if lower > best_lower:
            best_lower = lower
            _copy(point[PRIMAL, :k], point[BEST, :k], 1.0)
        if upper < best_upper:
            best_upper = upper
            _copy(point[DUAL, k:size], point[BEST, k:size], 1.0)
            _copy(point[PRIMAL, :k], point[BEST_AT, :k], 1.0)
        if upper - lower >= CENTRED_GAP * lower:
            _copy(point[PRIMAL, :k], point[CENTRED, :k], 1.0)
            _copy(point[DUAL, k:size], point[CENTRED, k:size], 1.0)
        if step == limit or _reached(best_lower, best_upper, goal):
            break
        count = _factor_newton(p, k, n)
        mean = _complementarity(point, size, 0.0, 0.0)
        fraction = 0.6
        centring = 0.3 * mean
        if not safe:
            _affine_targets(point, size, 0.0)
            _direction(p, k, n, count)
            primal, dual = _lengths(point, size, 1.0)
            affine = _complementarity(point, size, primal, dual)
            centring = mean * min(1.0, max(0.0, affine / mean)) ** 3
            _corrected_targets(point, size, centring)
            fraction = min(0.9995, max(0.9, 1.0 - 10.0 * mean))
        else:
            _affine_targets(point, size, centring)
        _direction(p, k, n, count)
        primal, dual = _lengths(point, size, fraction)
        _copy(point[PRIMAL, :size], point[OLD_PRIMAL, :size], 1.0)
        _copy(point[DUAL, :size], point[OLD_DUAL, :size], 1.0)
        _move(point, size, primal, dual)
        tries = 0
        step += 1
    return best_lower, best_upper, step


@kernel
def _scale_directions(p: Interior, n: int, scale: float) -> None:
    for i in range(p.directions.shape[0]):
        _copy(p.directions[i, :n], p.directions[i, :n], scale)


@kernel
def _adopt_whitened(p: Interior, k: int, n: int) -> None:
    """Go over to the coordinates that are white for the present weights.

    All bounds stay the same; but V_w is formed with an error that grows with its condition.
    """
    for i in range(p.arms.shape[0]):
        _copy(p.white_arms[i, :k], p.arms[i, :k], 1.0)
        _copy(p.white_directions[i, :n], p.directions[i, :n], 1.0)


@kernel
def _start(p: Interior, k: int, n: int, warm: bool) -> float:
    """Scale the problem to a value near 1 and set the iterate; the scale of the bounds, or 0.

    Cold: uniform weights and q ~ 1/c, strictly feasible. Warm: the centred iterate, found for
    nearby margins. The slack that it lost is given back in proportion to its gap, and no product
    w∘s or q∘c stays far below their mean; 0 where it is too far from optimal to help.
    """
    point, size = p.point, k + n
    if warm:
        _copy(point[CENTRED, :k], point[PRIMAL, :k], 1.0)
        _copy(point[CENTRED, k:size], point[DUAL, k:size], 1.0)
    else:
        _fill(point[PRIMAL, :k], 1.0 / k)
    if not _evaluate(p, k, n):
        return 0.0
    lowest = _lowest(point[LEVEL, k:size])
    above, below, product = 1.3, 0.7, 0.0
    if not warm:
        _adopt_whitened(p, k, n)
        for i in range(k, size):
            point[DUAL, i] = 1.0 / (above * point[LEVEL, i] / lowest - 1.0)
        _loads(p, k, n)
    scale, upper = _bounds(point, k, n)
    highest = _highest(point[LEVEL, :k])
    if warm:
        gap = max(upper / scale - 1.0, CENTRED_GAP)
        if not gap < WARM_GAP:
            return 0.0
        above, below = 1.0 + WARM_SLACK * gap, 1.0 - WARM_SLACK * gap
        product = WARM_PRODUCT * gap / size
    _scale_directions(p, n, math.sqrt(scale))
    for i in range(size):
        # F/lowest and load/highest are free of scale; the weights and multipliers are not.
        if i < k:
            point[DUAL, i] = 1.0 - below * point[LEVEL, i] / highest
            weight = above * scale / lowest * point[PRIMAL, i]
            point[PRIMAL, i] = max(weight, product / point[DUAL, i])
        else:
            point[PRIMAL, i] = above * point[LEVEL, i] / lowest - 1.0
            multiplier = below * scale / highest * point[DUAL, i]
            point[DUAL, i] = max(multiplier, product / point[PRIMAL, i])
    return scale


@kernel
def _certify_lower(p: Interior, k: int, n: int) -> float:
    """min_x F_x(w) at the normalised weights BEST, left in LEVEL.

    Computed such that its error does not grow with the condition of V_w. For any p:
    uᵀV⁻¹u = 2⟨u, p⟩ − pᵀVp + rᵀV⁻¹r with r = u − Vp. At p ≈ V⁻¹u the last term, the only one to
    involve V⁻¹, is of second order.
    """
    point = p.point
    weights, distances = point[BEST, :k], point[LEVEL, k : k + n]
    inner, quadratic = point[WORK, :n], point[SQUARE, k : k + n]
    solved, residual = p.white_directions, p.residuals
    _copy(weights, weights, 1.0 / _total(weights))
    if not _factor_information(p.arms, weights, point[WORK], p.information):
        return 0.0
    _whiten(p.information, p.directions, n, solved)
    _unwhiten(p.information, solved, n)
    _fill(quadratic, 0.0)
    for i in range(p.arms.shape[0]):
        for x in range(n):
            residual[i, x] = p.directions[i, x]
            quadratic[x] += 2.0 * p.directions[i, x] * solved[i, x]
    for a in range(k):
        if weights[a] == 0.0:
            continue
        _products(p.arms, solved, a, 0, n, inner)
        for x in range(n):
            quadratic[x] -= weights[a] * inner[x] * inner[x]
        for i in range(p.arms.shape[0]):
            scale = weights[a] * p.arms[i, a]
            for x in range(n):
                residual[i, x] -= scale * inner[x]
    _whiten(p.information, residual, n, solved)
    _squared_lengths(solved, inner)
    for x in range(n):
        distances[x] = 1.0 / (max(quadratic[x], 0.0) + inner[x])
    return _lowest(distances)


@kernel
def _certify_upper(p: Interior, k: int, n: int) -> float:
    """max_a Σ_x q_x ⟨θ_x, a⟩² / Σ_x q_x ⟨θ_x, u_x⟩² at BEST, whatever the error in θ.

    Normalises the multipliers, such that ⟨θ_x, u_x⟩ = 1.
    """
    point = p.point
    theta, loads, row = p.white_directions, point[LEVEL, :k], point[WORK]
    multipliers, lengths = point[BEST, k : k + n], point[SQUARE, k : k + n]
    if not _factor_information(p.arms, point[BEST_AT, :k], row, p.information):
        return math.inf
    _whiten(p.information, p.directions, n, theta)
    _squared_lengths(theta, lengths)
    _unwhiten(p.information, theta, n)
    _fill(loads, 0.0)
    for x in range(n):
        if multipliers[x] == 0.0:
            continue
        scale = 0.0
        for i in range(p.arms.shape[0]):
            scale += theta[i, x] * p.directions[i, x]
        _products(theta, p.arms, x, 0, k, row)
        multiplier = multipliers[x] / (lengths[x] * lengths[x])
        for a in range(k):
            loads[a] += multiplier * row[a] * row[a]
        multipliers[x] = multiplier * scale * scale
    total = _total(multipliers)
    _copy(multipliers, multipliers, 1.0 / total)
    return _highest(loads) / total


@kernel
def _optimise(p: Interior, k: int, n: int, goal: Vector) -> int:
    """Solve the problem in `p` to `goal`: BEST, BEST_AT and CENTRED; the number of steps.

    Warm start if asked for, fast mode, and safe mode if neither reached the goal.
    """
    above, below = goal[ABOVE], goal[BELOW]
    steps = 0
    for attempt in range(3):
        if attempt == 0 and goal[WARM] == 0.0:
            continue
        scale = _start(p, k, n, attempt == 0)
        if not 0.0 < scale < math.inf:
            continue
        goal[ABOVE] = above / scale
        goal[BELOW] = below / scale
        safe = attempt == 2
        lower, upper, more = _iterate(p, k, n, goal, safe, SAFE_STEPS if safe else FAST_STEPS)
        steps += more
        _scale_directions(p, n, 1.0 / math.sqrt(scale))
        if _reached(lower, upper, goal):
            break
    goal[ABOVE], goal[BELOW] = above, below
    return steps


class Workspace(NamedTuple):
    """Everything that `best_design` writes to besides its outputs."""

    everything: Interior  # the whole problem, and where solutions are left
    interior: Interior  # where the interior point runs: the same, or a selection of columns
    goal: Vector  # (5) when to stop
    selection_goal: Vector  # (5) and for the selection
    answer: Counts  # (Z) answer of each alternative
    arms: Counts  # selected arms; empty where the whole problem is solved at once
    alternatives: Counts  # selected alternatives
    has_arm: Counts  # (K) 1 if selected
    has_alternative: Counts  # (Z) 1 if selected


def workspace(arms: int, answers: int, dimension: int) -> Workspace:
    """Room for problems of that many arms and answers."""
    at_once = arms**2 * (arms / 3 + answers) <= DENSE
    everything = interior(arms, answers, dimension, iterates=at_once)
    selected_arms = selected_alternatives = 0
    if not at_once:
        # By Carathéodory's theorem d(d+1)/2 arms and as many alternatives suffice at the optimum.
        enough = dimension * (dimension + 1) // 2 + 16 * dimension + 16
        selected_arms, selected_alternatives = min(arms, enough), min(answers, enough)
    return Workspace(
        everything=everything,
        interior=(
            everything if at_once else interior(selected_arms, selected_alternatives, dimension)
        ),
        goal=np.zeros(5),
        selection_goal=np.zeros(5),
        answer=np.zeros(answers, dtype=np.int64),
        arms=np.zeros(selected_arms, dtype=np.int64),
        alternatives=np.zeros(selected_alternatives, dtype=np.int64),
        has_arm=np.zeros(arms if selected_arms else 0, dtype=np.int64),
        has_alternative=np.zeros(answers if selected_arms else 0, dtype=np.int64),
    )


@kernel
def _price(full: Interior, k: int, n: int) -> tuple[float, float]:
    """F and load of every alternative and arm at PRIMAL and DUAL, and the bounds from them."""
    if not _distances(full, k, n):
        return 0.0, math.inf
    loads = full.point[LEVEL, :k]
    _spread(full, k, n)
    _fill(loads, 0.0)
    for i in range(full.arms.shape[0]):
        for a in range(k):
            loads[a] += full.white_arms[i, a] * full.spread_arms[i, a]
    return _bounds(full.point, k, n)


@kernel
def _warm_up(full: Interior, k: int, n: int) -> None:
    """Multiplicative updates w_a ← w_a·load_a, the multipliers being a soft minimum of F.

    They come nowhere near the optimum, but show which arms and alternatives matter.
    """
    point = full.point
    weights, multipliers = point[PRIMAL, :k], point[DUAL, k : k + n]
    distances = point[LEVEL, k : k + n]
    _fill(weights, 1.0 / k)
    _fill(multipliers, 1.0 / n)
    for update in range(WARM_UP):
        _price(full, k, n)
        if update == 0:
            _adopt_whitened(full, k, n)
        else:
            mean = 0.0
            for a in range(k):
                mean += weights[a] * point[LEVEL, a]
            for a in range(k):
                # Not to zero: all arms together may be just enough to span.
                weights[a] = max(weights[a] * point[LEVEL, a] / mean, 1e-4 / k)
        lowest = _lowest(distances)
        for x in range(n):
            multipliers[x] = (lowest / distances[x]) ** SOFTNESS
        _copy(multipliers, multipliers, 1.0 / _total(multipliers))


@kernel
def _select(score: Vector, least: float, most: int, chosen: Counts, has: Counts, count: int) -> int:
    """Append to `chosen` the (at most `most`) largest scores above `least`; the new count."""
    for _ in range(min(most, chosen.shape[0] - count)):
        best = -1
        for i in range(score.shape[0]):
            if has[i] == 0 and score[i] > (least if best < 0 else score[best]):
                best = i
        if best < 0:
            break
        has[best] = 1
        chosen[count] = best
        count += 1
    return count


@kernel
def _select_basis(full: Interior, k: int, chosen: Counts, has: Counts) -> int:
    """Select d arms that span, by pivoted Gram–Schmidt on √w·L⁻¹a: the most useful ones first."""
    columns, length = full.spread_arms, full.point[WORK, :k]
    d = columns.shape[0]
    for i in range(d):
        for a in range(k):
            columns[i, a] = math.sqrt(full.point[PRIMAL, a]) * full.white_arms[i, a]
    count = 0
    for _ in range(d):
        _squared_lengths(columns, length)
        count = _select(length, 0.0, 1, chosen, has, count)
        pivot = chosen[count - 1]
        norm = length[pivot]
        _products(columns, columns, pivot, 0, k, length)
        for i in range(d):
            scale = columns[i, pivot] / norm
            for a in range(k):
                columns[i, a] -= scale * length[a]
    return count


@kernel
def _gather(source: Matrix, chosen: Counts, count: int, out: Matrix) -> None:
    """Copy the chosen columns."""
    for i in range(source.shape[0]):
        for j in range(count):
            out[i, j] = source[i, chosen[j]]


@kernel
def _scatter(source: Vector, chosen: Counts, count: int, scale: float, out: Vector) -> None:
    """Put scaled entries at the chosen places, zero elsewhere."""
    _fill(out, 0.0)
    for j in range(count):
        out[chosen[j]] = scale * source[j]


@kernel
def _keep(score: Vector, least: float, first: int, chosen: Counts, has: Counts, count: int) -> int:
    """Drop from `chosen`, except from its `first` entries, the scores below `least`."""
    kept = 0
    for j in range(count):
        if j >= first and score[chosen[j]] < least:
            has[chosen[j]] = 0
            continue
        chosen[kept] = chosen[j]
        kept += 1
    return kept


@kernel
def _best_score(score: Vector, chosen: Counts, count: int) -> float:
    best = -math.inf
    for j in range(count):
        best = max(best, score[chosen[j]])
    return best


@spliced
def _generate(work: Workspace, k_all: int, n_all: int) -> int:
    """Solve by column and constraint generation: solve a selection, price everything, extend it.

    With weights and multipliers normalised, arms of larger load than any in the selection, and
    alternatives of smaller F, are what its solution has overlooked.
    """
    full, p, goal, inner_goal = work.everything, work.interior, work.goal, work.selection_goal
    arms, alternatives = work.arms, work.alternatives
    point, d = full.point, full.arms.shape[0]
    load, nearness = point[LEVEL, :k_all], point[SQUARE, k_all : k_all + n_all]
    if goal[WARM] == 0.0:
        _warm_up(full, k_all, n_all)
    else:
        _copy(point[CENTRED, :k_all], point[PRIMAL, :k_all], 1.0)
        _copy(point[CENTRED, k_all:], point[DUAL, k_all:], 1.0)
    _price(full, k_all, n_all)
    work.has_arm[:] = 0
    work.has_alternative[:] = 0
    k = _select_basis(full, k_all, arms, work.has_arm)
    support = 3 * d * (d + 1) // 10
    k = _select(point[PRIMAL, :k_all], 0.0, support, arms, work.has_arm, k)
    n, more_n, least = 0, 2 * d, -math.inf
    inner_goal[GAP], inner_goal[FLOOR] = 0.0, 1e-2
    inner_goal[ABOVE], inner_goal[BELOW], inner_goal[WARM] = -math.inf, math.inf, 0.0
    steps = 0
    for _ in range(GENERATIONS):
        _copy(point[LEVEL, k_all : k_all + n_all], nearness, -1.0)
        n = _select(nearness, least, more_n, alternatives, work.has_alternative, n)
        _gather(full.arms, arms, k, p.arms)
        _gather(full.directions, alternatives, n, p.directions)
        for j in range(k):
            p.point[CENTRED, j] = point[CENTRED, arms[j]]
        for j in range(n):
            p.point[CENTRED, k + j] = point[CENTRED, k_all + alternatives[j]]
        steps += _optimise(p, k, n, inner_goal)
        for row in (PRIMAL, CENTRED):
            scale = 1.0 / _total(p.point[row, :k])
            _scatter(p.point[row, :k], arms, k, scale, point[row, :k_all])
        for row in (DUAL, CENTRED):
            scale = 1.0 / _total(p.point[row, k : k + n])
            _scatter(p.point[row, k : k + n], alternatives, n, scale, point[row, k_all:])
        lower, upper = _price(full, k_all, n_all)
        if _reached(lower, upper, goal):
            break
        gap = upper / lower - 1.0
        _copy(point[LEVEL, k_all : k_all + n_all], nearness, -1.0)
        highest = _best_score(load, arms, k)
        nearest = _best_score(nearness, alternatives, n)
        # Late dropouts would come back: their absence moves the solution by more than the gap.
        off = OUTSIDE * max(gap, 1e-3)
        k = _keep(load, (1.0 - off) * highest, d, arms, work.has_arm, k)
        n = _keep(nearness, (1.0 + off) * nearest, 0, alternatives, work.has_alternative, n)
        overlooked = OVERLOOKED * min(gap, 1.0)
        k = _select(load, (1.0 + overlooked) * highest, 2 * d, arms, work.has_arm, k)
        least, more_n = (1.0 - overlooked) * nearest, d
        inner_goal[FLOOR] = max(0.2 * goal[FLOOR], min(inner_goal[FLOOR], gap / 30.0))
        inner_goal[WARM] = 1.0
    _copy(point[PRIMAL, :k_all], point[BEST, :k_all], 1.0)
    _copy(point[PRIMAL, :k_all], point[BEST_AT, :k_all], 1.0)
    _copy(point[DUAL, k_all:], point[BEST, k_all:], 1.0)
    return steps


@kernel
def optimum(work: Workspace, k: int, n: int) -> tuple[float, float, int]:
    """Solve the problem in work.everything to work.goal; certified bounds and number of steps.

    BEST holds the normalised weights and multipliers, LEVEL the certified F for these weights.
    """
    if work.arms.shape[0] > 0:
        steps = _generate(work, k, n)
    else:
        steps = _optimise(work.interior, k, n, work.goal)
    upper = _certify_upper(work.everything, k, n) * (1.0 + ROUNDING)
    lower = _certify_lower(work.everything, k, n) * (1.0 - ROUNDING)
    return lower, upper, steps


@kernel
def directions(
    arms: Matrix, answers: Matrix, values: Vector, z: int, c: float, e: float, work: Workspace
) -> int:
    """Load arms, and u_x = y_x/n_x of the alternatives that can be confused with z.

    Returns their number, or −1 if some n_x ≤ 0: then z is not ε-optimal and its value is 0.
    """
    p = work.everything
    d = answers.shape[1]
    count = 0
    for x in range(answers.shape[0]):
        if x == z:
            continue
        difference = 0.0
        length = 0.0
        for i in range(d):
            y = answers[z, i] - c * answers[x, i]
            difference += y * y
            length += answers[z, i] * answers[z, i] + answers[x, i] * answers[x, i]
        if difference <= NEGLIGIBLE * length:
            continue
        margin = values[z] - c * values[x] + e
        if not margin > SMALLEST_MARGIN:
            return -1
        for i in range(d):
            p.directions[i, count] = (answers[z, i] - c * answers[x, i]) / margin
        work.answer[count] = x
        count += 1
    for a in range(arms.shape[0]):
        for i in range(d):
            p.arms[i, a] = arms[a, i]
    return count


def _design(
    arms: Matrix,
    answers: Matrix,
    values: Vector,
    z: int,
    c: float,
    e: float,
    gap: float,
    weights_out: Vector,
    multipliers_out: Vector,
    work: Workspace,
) -> tuple[float, float, int]:
    """Certified bracket of value(z), with its weights and multipliers, and the steps it took.

    A negative number of steps says that the bracket, though valid, is wider than `gap`.
    """
    k = arms.shape[0]
    _fill(weights_out, 1.0 / k)
    _fill(multipliers_out, 0.0)
    n = directions(arms, answers, values, z, c, e, work)
    if n < 0:
        return 0.0, 0.0, 0
    if n == 0:
        return math.inf, math.inf, 0
    goal = work.goal
    goal[GAP] = goal[FLOOR] = MARGIN * gap
    goal[ABOVE], goal[BELOW], goal[WARM] = -math.inf, math.inf, 0.0
    lower, upper, steps = optimum(work, k, n)
    best = work.everything.point[BEST]
    _copy(best[:k], weights_out, 1.0)
    for i in range(n):
        multipliers_out[work.answer[i]] = best[k + i]
    if not lower <= upper <= (1.0 + gap) * lower:
        steps = -max(steps, 1)
    return lower, upper, steps


# For callers that are compiled themselves, or in a hurry. From Python, `_design` as it stands does
# the same a few microseconds later, and has nothing to compile that other kernels do not share.
best_design = kernel(_design)


class Design(NamedTuple):
    """An allocation for one answer; value(z) lies in [lower, upper], T in [2/upper, 2/lower]."""

    lower: float
    upper: float
    weights: Vector
    multipliers: Vector
    iterations: int


def solve(
    arms: Matrix, answers: Matrix, values: Vector, z: int, c: float, e: float, gap: float = 1e-8
) -> Design:
    """`best_design` with its own workspace."""
    weights = np.zeros(arms.shape[0])
    multipliers = np.zeros(answers.shape[0])
    work = workspace(arms.shape[0], answers.shape[0], arms.shape[1])
    lower, upper, iterations = _design(
        arms, answers, values, z, c, e, gap, weights, multipliers, work
    )
    return Design(lower, upper, weights, multipliers, iterations)
