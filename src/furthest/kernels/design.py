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

from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix, Vector

# Squared relative length below which y_x = z − c·x counts as zero: x cannot be confused with z.
NEGLIGIBLE = 1e-26
# A margin whose square underflows is zero.
SMALLEST_MARGIN = 1e-140
# A pivot of the Newton matrix below this share of its diagonal freezes its variable.
NULL_PIVOT = 1e-15
# Curvature q/c of an alternative that goes into the Newton matrix. What exceeds it goes through
# the Schur complement, which keeps the matrix well conditioned near the optimum.
CURVATURE = 10.0
# Columns of the Newton matrix that are built together.
TILE = 128
# Rows of its factor that are computed together; a multiple of four.
PANEL = 16
# Steps of the fast mode, and of the safe mode that follows if it failed.
FAST_STEPS = 40
SAFE_STEPS = 150
# Allowance for rounding in the certificate.
ROUNDING = 1e-13
# Work of a Newton step (in multiplications) up to which the whole problem is solved at once.
DENSE = 3e6
# Column generation: multiplicative updates to begin with, and their exponent; rounds; multiple
# of the gap by which a column must be off to be dropped.
WARM_UP = 12
SOFTNESS = 8.0
GENERATIONS = 60
OUTSIDE = 50.0
OVERLOOKED = 0.1
# Share of the gap that the iteration aims at, so that the recheck stays within the whole.
MARGIN = 0.95
# Relative gap down to which an iterate counts as centred enough for a warm start.
CENTRED = 1e-3
# Relative gap of a warm start above which a cold one is better.
WARM = 0.5
WARM_SLACK = 0.2
WARM_PRODUCT = 0.005

# Rows of Interior.arm, one number per arm.
W, S = 0, 1  # weights, not normalised; slack of load ≤ 1
LOAD, DUAL = 2, 3  # Σ_x q_x ⟨θ_x, a⟩²; residual 1 − load − s
STEP_W, STEP_S, OLD_W, OLD_S = 4, 5, 6, 7
TARGET_W = 8  # right-hand side of w∘s
PIVOT, ROW = 9, 10  # inverse diagonal of the Newton factor, 0 for frozen variables; work
BEST_W, BEST_QW = 11, 12  # weights of the best lower bound; those behind the θ of the best upper
CENTRED_W = 13  # last centred iterate
ARM_ROWS = 14

# Rows of Interior.alternative, one number per alternative.
F, Q, C = 0, 1, 2  # distance F_x(w); multiplier; slack of F ≥ 1
PRIMAL = 3  # residual F − 1 − c
STEP_Q, STEP_C, OLD_Q, OLD_C = 4, 5, 6, 7
TARGET_Q = 8  # right-hand side of q∘c
KEPT, SQUARE = 9, 10  # curvature of the barrier, and in all, inside the Newton matrix
SCHUR_PIVOT = 11  # as PIVOT, of the Schur complement
BEST_Q, CENTRED_Q = 12, 13
ALTERNATIVE_ROWS = 14

# Entries of a goal: stop at gap FLOOR, or at GAP once the lower bound is ABOVE this or the upper
# bound BELOW that.
GAP, FLOOR, ABOVE, BELOW = 0, 1, 2, 3


class Interior(NamedTuple):
    """A problem of k arms and n alternatives, and the iterate of its interior point.

    Few arrays with many rows rather than many vectors: every array of a tuple costs compile time
    in each kernel that takes it.
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
    arm: Matrix  # (ARM_ROWS, k)
    alternative: Matrix  # (ALTERNATIVE_ROWS, n)
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
        arm=np.zeros((ARM_ROWS, k)),
        alternative=np.zeros((ALTERNATIVE_ROWS, n)),
        newton=np.zeros((k_square, k_square)),
        active=np.zeros(m, dtype=np.int64),
        coupling=np.zeros((m, k_square)),
        schur=np.zeros((m, m)),
    )


@kernel
def _factor_information(arms: Matrix, k: int, weights: Vector, row: Vector, factor: Matrix) -> bool:
    """factor = L with V_w = L·Lᵀ. False where V_w is not positive definite in floating point.

    No relative threshold: V_w may be singular at the optimum, and the bounds are rechecked.
    """
    d = arms.shape[0]
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
def _squared_lengths(columns: Matrix, count: int, out: Vector) -> None:
    """Squared length of each of the first `count` columns."""
    for j in range(count):
        out[j] = 0.0
    for i in range(columns.shape[0]):
        for j in range(count):
            out[j] += columns[i, j] * columns[i, j]


@kernel
def _evaluate(p: Interior, k: int, n: int) -> bool:
    """F_x, its gradient G_xa and the load at the iterate. False where V_w is singular."""
    arm, alternative, gradient = p.arm, p.alternative, p.gradient
    row = arm[ROW]
    if not _factor_information(p.arms, k, arm[W], arm[ROW], p.information):
        return False
    _whiten(p.information, p.arms, k, p.white_arms)
    _whiten(p.information, p.directions, n, p.white_directions)
    _squared_lengths(p.white_directions, n, alternative[F])
    for a in range(k):
        arm[LOAD, a] = 0.0
    for x in range(n):
        distance = 1.0 / alternative[F, x]
        alternative[F, x] = distance
        _products(p.white_directions, p.white_arms, x, 0, k, row)
        q = alternative[Q, x]
        for a in range(k):
            gradient[x, a] = distance * distance * row[a] * row[a]
            arm[LOAD, a] += q * gradient[x, a]
    return True


@kernel
def _bounds(arm: Matrix, alternative: Matrix, k: int, n: int) -> tuple[float, float]:
    """The certificate at the iterate: min F/1ᵀw and max load/1ᵀq."""
    total_w = 0.0
    total_q = 0.0
    lowest = math.inf
    highest = 0.0
    for a in range(k):
        total_w += arm[W, a]
        highest = max(highest, arm[LOAD, a])
    for x in range(n):
        total_q += alternative[Q, x]
        lowest = min(lowest, alternative[F, x])
    return lowest / total_w, highest / total_q


@kernel
def _residuals(arm: Matrix, alternative: Matrix, k: int, n: int) -> float:
    """Residuals after the slack reset, and the merit wᵀs + cᵀq + wᵀ|r_d| + qᵀ|r_p|.

    A slack that lags behind the true one is set to it, which makes its residual vanish: plain
    Mehrotra steps stall without it.
    """
    merit = 0.0
    for a in range(k):
        slack = 1.0 - arm[LOAD, a]
        if slack > 0.3 * arm[S, a]:
            arm[S, a] = slack
        arm[DUAL, a] = slack - arm[S, a]
        merit += arm[W, a] * (arm[S, a] + abs(arm[DUAL, a]))
    for x in range(n):
        slack = alternative[F, x] - 1.0
        if slack > 0.3 * alternative[C, x]:
            alternative[C, x] = slack
        alternative[PRIMAL, x] = slack - alternative[C, x]
        merit += alternative[Q, x] * (alternative[C, x] + abs(alternative[PRIMAL, x]))
    return merit


@kernel
def _curvatures(p: Interior, n: int) -> int:
    """Split the curvature q/c of each alternative; number of active ones.

    At most `CURVATURE` of it goes into the Newton matrix, together with that of −F, as KEPT and
    SQUARE; alternatives with more are listed in p.active.
    """
    alternative = p.alternative
    count = 0
    for x in range(n):
        curvature = alternative[Q, x] / alternative[C, x]
        if curvature > CURVATURE and count < p.active.shape[0]:
            p.active[count] = x
            count += 1
            curvature = CURVATURE
        alternative[KEPT, x] = curvature
        alternative[SQUARE, x] = curvature - 2.0 * alternative[Q, x] / alternative[F, x]
    return count


@kernel
def _spread(p: Interior, k: int, n: int) -> None:
    """p.spread = Σ_x q_x θ_x θ_xᵀ in whitened coordinates, p.spread_arms its product with arms."""
    d = p.spread.shape[0]
    row = p.alternative[STEP_C]
    for i in range(d):
        for x in range(n):
            distance = p.alternative[F, x]
            row[x] = p.alternative[Q, x] * distance * distance * p.white_directions[i, x]
        for j in range(i + 1):
            total = 0.0
            for x in range(n):
                total += row[x] * p.white_directions[j, x]
            p.spread[i, j] = total
            p.spread[j, i] = total
    for i in range(d):
        for a in range(k):
            p.spread_arms[i, a] = 0.0
        for j in range(d):
            scale = p.spread[i, j]
            for a in range(k):
                p.spread_arms[i, a] += scale * p.white_arms[j, a]


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
def _newton_matrix(p: Interior, k: int, n: int) -> None:
    """Upper triangle of M = 2(A V⁻¹Aᵀ)∘(A Σ_x q_x θ_x θ_xᵀ Aᵀ) + Gᵀ diag(SQUARE) G + diag(s/w).

    By tiles of columns, which stay in the cache, and four alternatives at a time, which saves
    loads and stores of the matrix: the last loop is where large problems spend their time.
    """
    gradient, out = p.gradient, p.newton
    square, row, other = p.alternative[SQUARE], p.arm[ROW], p.arm[STEP_W]
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
        out[a, a] += p.arm[S, a] / p.arm[W, a]


@kernel
def _subtract_rows(
    source: Matrix, scales: Vector, low: int, high: int, start: int, row: Vector, size: int
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
        for j in range(low, high):
            for i in range(low, j):
                column[i] = matrix[i, j]
            _subtract_rows(matrix, column, low, j, j, matrix[j], size)
            pivots[j] = 1.0 / math.sqrt(matrix[j, j]) if matrix[j, j] > pivots[j] else 0.0
            for b in range(j, size):
                matrix[j, b] *= pivots[j]
        for i in range(high, size):
            for j in range(low, high):
                column[j] = matrix[j, i]
            _subtract_rows(matrix, column, low, high, i, matrix[i], size)


@kernel
def _solve_forward_rows(
    factor: Matrix, size: int, pivots: Vector, rows: Matrix, count: int
) -> None:
    """Each of the first `count` rows ← U⁻ᵀ row, together, by panels of the factor."""
    for low in range(0, size, PANEL):
        high = min(low + PANEL, size)
        for i in range(count):
            for j in range(low, high):
                solved = rows[i, j] * pivots[j]
                rows[i, j] = solved
                for b in range(j + 1, high):
                    rows[i, b] -= solved * factor[j, b]
            _subtract_rows(factor, rows[i], low, high, high, rows[i], size)


@kernel
def _solve_forward(factor: Matrix, size: int, pivots: Vector, rhs: Vector) -> None:
    """rhs ← U⁻ᵀ rhs."""
    for j in range(size):
        solved = rhs[j] * pivots[j]
        rhs[j] = solved
        for b in range(j + 1, size):
            rhs[b] -= solved * factor[j, b]


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
    arm, alternative, coupling = p.arm, p.alternative, p.coupling
    count = _curvatures(p, n)
    _newton_matrix(p, k, n)
    _factor(p.newton, k, arm[PIVOT], arm[ROW])
    for i in range(count):
        x = p.active[i]
        for a in range(k):
            coupling[i, a] = p.gradient[x, a]
    _solve_forward_rows(p.newton, k, arm[PIVOT], coupling, count)
    for i in range(count):
        x = p.active[i]
        for j in range(i + 1):
            total = 0.0
            for a in range(k):
                total += coupling[i, a] * coupling[j, a]
            p.schur[j, i] = total
        excess = alternative[Q, x] - CURVATURE * alternative[C, x]
        p.schur[i, i] += alternative[C, x] / excess
    _factor(p.schur, count, alternative[SCHUR_PIVOT], alternative[STEP_C])
    return count


@kernel
def _direction(p: Interior, k: int, n: int, count: int) -> None:
    """Newton step for the right-hand sides TARGET_W (of w∘s) and TARGET_Q (of q∘c)."""
    arm, alternative, gradient, coupling = p.arm, p.alternative, p.gradient, p.coupling
    pivots, schur_pivots = arm[PIVOT], alternative[SCHUR_PIVOT]
    step, excess = arm[STEP_W], alternative[STEP_C]
    for a in range(k):
        step[a] = arm[TARGET_W, a] / arm[W, a] - arm[DUAL, a]
    for x in range(n):
        alternative[STEP_Q, x] = 0.0
        wanted = alternative[TARGET_Q, x] / alternative[Q, x] - alternative[PRIMAL, x]
        scale = alternative[KEPT, x] * wanted
        for a in range(k):
            step[a] += scale * gradient[x, a]
    _solve_forward(p.newton, k, pivots, step)
    for i in range(count):
        x = p.active[i]
        total = alternative[TARGET_Q, x] / alternative[Q, x] - alternative[PRIMAL, x]
        for a in range(k):
            total -= coupling[i, a] * step[a]
        excess[i] = total
    _solve_forward(p.schur, count, schur_pivots, excess)
    _solve_backward(p.schur, count, schur_pivots, excess)
    for i in range(count):
        alternative[STEP_Q, p.active[i]] = excess[i]
        for a in range(k):
            step[a] += excess[i] * coupling[i, a]
    _solve_backward(p.newton, k, pivots, step)
    for a in range(k):
        arm[STEP_S, a] = (arm[TARGET_W, a] - arm[S, a] * step[a]) / arm[W, a]
    for x in range(n):
        change = alternative[PRIMAL, x]
        for a in range(k):
            change += gradient[x, a] * step[a]
        wanted = alternative[TARGET_Q, x] / alternative[Q, x]
        alternative[STEP_Q, x] += alternative[KEPT, x] * (wanted - change)
        alternative[STEP_C, x] = change
    for i in range(count):
        # Read off the complementarity row: the sum above cancels for active alternatives.
        x = p.active[i]
        moved = alternative[TARGET_Q, x] - alternative[C, x] * alternative[STEP_Q, x]
        alternative[STEP_C, x] = moved / alternative[Q, x]


@kernel
def _affine_targets(arm: Matrix, alternative: Matrix, k: int, n: int, centring: float) -> None:
    """Right-hand sides of a step towards w∘s = q∘c = centring, to first order."""
    for a in range(k):
        arm[TARGET_W, a] = centring - arm[W, a] * arm[S, a]
    for x in range(n):
        alternative[TARGET_Q, x] = centring - alternative[Q, x] * alternative[C, x]


@kernel
def _corrected_targets(arm: Matrix, alternative: Matrix, k: int, n: int, centring: float) -> None:
    """Add the centring and the second-order terms of the affine step (Mehrotra 1992)."""
    for a in range(k):
        arm[TARGET_W, a] += centring - arm[STEP_W, a] * arm[STEP_S, a]
    for x in range(n):
        alternative[TARGET_Q, x] += centring - alternative[STEP_Q, x] * alternative[STEP_C, x]


@kernel
def _lengths(
    arm: Matrix, alternative: Matrix, k: int, n: int, fraction: float
) -> tuple[float, float]:
    """Primal and dual step lengths, a fraction of the way to the boundary and at most 1."""
    primal = 1e-30
    dual = 1e-30
    for a in range(k):
        primal = max(primal, -arm[STEP_W, a] / arm[W, a])
        dual = max(dual, -arm[STEP_S, a] / arm[S, a])
    for x in range(n):
        primal = max(primal, -alternative[STEP_C, x] / alternative[C, x])
        dual = max(dual, -alternative[STEP_Q, x] / alternative[Q, x])
    return min(1.0, fraction / primal), min(1.0, fraction / dual)


@kernel
def _complementarity(
    arm: Matrix, alternative: Matrix, k: int, n: int, primal: float, dual: float
) -> float:
    """Mean of w∘s and q∘c after a step of the given lengths."""
    total = 0.0
    for a in range(k):
        weight = arm[W, a] + primal * arm[STEP_W, a]
        total += weight * (arm[S, a] + dual * arm[STEP_S, a])
    for x in range(n):
        slack = alternative[C, x] + primal * alternative[STEP_C, x]
        total += slack * (alternative[Q, x] + dual * alternative[STEP_Q, x])
    return total / (k + n)


@kernel
def _remember(arm: Matrix, alternative: Matrix, k: int, n: int) -> None:
    """Keep the iterate as the point from which steps are tried."""
    for a in range(k):
        arm[OLD_W, a] = arm[W, a]
        arm[OLD_S, a] = arm[S, a]
    for x in range(n):
        alternative[OLD_Q, x] = alternative[Q, x]
        alternative[OLD_C, x] = alternative[C, x]


@kernel
def _move(arm: Matrix, alternative: Matrix, k: int, n: int, primal: float, dual: float) -> None:
    """Iterate = remembered iterate + step."""
    for a in range(k):
        arm[W, a] = arm[OLD_W, a] + primal * arm[STEP_W, a]
        arm[S, a] = arm[OLD_S, a] + dual * arm[STEP_S, a]
    for x in range(n):
        alternative[Q, x] = alternative[OLD_Q, x] + dual * alternative[STEP_Q, x]
        alternative[C, x] = alternative[OLD_C, x] + primal * alternative[STEP_C, x]


@kernel
def _copy(source: Vector, size: int, out: Vector) -> None:
    for i in range(size):
        out[i] = source[i]


@kernel
def _reached(lower: float, upper: float, goal: Vector) -> bool:
    """Whether the bracket answers the question asked in `goal`."""
    width = upper - lower
    if width <= goal[FLOOR] * lower:
        return True
    return width <= goal[GAP] * lower and (lower >= goal[ABOVE] or upper <= goal[BELOW])


@kernel
def _iterate(
    p: Interior, k: int, n: int, goal: Vector, safe: bool, limit: int
) -> tuple[float, float, int]:
    """Interior-point steps from the iterate in `p`: best bounds, number of steps.

    The points behind the bounds are left in BEST_W, BEST_Q and BEST_QW. A step is shortened only
    where the merit grew tenfold: asking for a decrease makes the method fail more often.
    """
    arm, alternative = p.arm, p.alternative
    best_lower = 0.0
    best_upper = math.inf
    merit = math.inf
    primal = dual = 0.0
    tries = 3
    step = 0
    while True:
        reached = math.inf
        if _evaluate(p, k, n):
            reached = _residuals(arm, alternative, k, n)
        if tries < 3 and not reached <= 10.0 * merit:
            tries += 1
            primal *= 0.4
            dual *= 0.4
            _move(arm, alternative, k, n, primal, dual)
            continue
        if not reached < math.inf:
            break
        merit = reached
        lower, upper = _bounds(arm, alternative, k, n)
        if lower > best_lower:
            best_lower = lower
            _copy(arm[W], k, arm[BEST_W])
        if upper < best_upper:
            best_upper = upper
            _copy(alternative[Q], n, alternative[BEST_Q])
            _copy(arm[W], k, arm[BEST_QW])
        if upper - lower >= CENTRED * lower:
            _copy(arm[W], k, arm[CENTRED_W])
            _copy(alternative[Q], n, alternative[CENTRED_Q])
        if step == limit or _reached(best_lower, best_upper, goal):
            break
        count = _factor_newton(p, k, n)
        mean = _complementarity(arm, alternative, k, n, 0.0, 0.0)
        fraction = 0.6
        centring = 0.3 * mean
        if not safe:
            _affine_targets(arm, alternative, k, n, 0.0)
            _direction(p, k, n, count)
            primal, dual = _lengths(arm, alternative, k, n, 1.0)
            affine = _complementarity(arm, alternative, k, n, primal, dual)
            centring = mean * min(1.0, max(0.0, affine / mean)) ** 3
            _corrected_targets(arm, alternative, k, n, centring)
            fraction = min(0.9995, max(0.9, 1.0 - 10.0 * mean))
        else:
            _affine_targets(arm, alternative, k, n, centring)
        _direction(p, k, n, count)
        primal, dual = _lengths(arm, alternative, k, n, fraction)
        _remember(arm, alternative, k, n)
        _move(arm, alternative, k, n, primal, dual)
        tries = 0
        step += 1
    return best_lower, best_upper, step


@kernel
def _scale_directions(p: Interior, n: int, scale: float) -> None:
    for i in range(p.directions.shape[0]):
        for x in range(n):
            p.directions[i, x] *= scale


@kernel
def _cold_start(p: Interior, k: int, n: int) -> float:
    """Scale the directions so that uniform weights have min F = 1, and start strictly feasible.

    Returns the value of uniform weights, by which the bounds have to be multiplied; 0 on failure.
    """
    arm, alternative = p.arm, p.alternative
    for x in range(n):
        alternative[Q, x] = 0.0
    for a in range(k):
        arm[W, a] = 1.0 / k
    if not _evaluate(p, k, n):
        return 0.0
    uniform = math.inf
    for x in range(n):
        uniform = min(uniform, alternative[F, x])
    _scale_directions(p, n, math.sqrt(uniform))
    for a in range(k):
        arm[W, a] = 1.3 / k
        arm[LOAD, a] = 0.0
    for x in range(n):
        alternative[C, x] = 1.3 * alternative[F, x] / uniform - 1.0
        alternative[Q, x] = 1.0 / alternative[C, x]
        for a in range(k):
            arm[LOAD, a] += alternative[Q, x] * p.gradient[x, a]
    highest = 0.0
    for a in range(k):
        highest = max(highest, arm[LOAD, a])
    for x in range(n):
        # ⟨θ, a⟩² was computed before the scaling and shrinks with it.
        alternative[Q, x] *= 0.7 * uniform / highest
    for a in range(k):
        arm[S, a] = 1.0 - 0.7 * arm[LOAD, a] / highest
    return uniform


@kernel
def _warm_start(p: Interior, k: int, n: int) -> float:
    """Start from CENTRED_W and CENTRED_Q, found for nearby margins. As `_cold_start`.

    The slack that the iterate lost is given back in proportion to its gap, and no product w∘s or
    q∘c stays far below their mean. Returns 0 where the iterate is too far from optimal to help.
    """
    arm, alternative = p.arm, p.alternative
    _copy(arm[CENTRED_W], k, arm[W])
    _copy(alternative[CENTRED_Q], n, alternative[Q])
    if not _evaluate(p, k, n):
        return 0.0
    lower, upper = _bounds(arm, alternative, k, n)
    width = max(upper / lower - 1.0, CENTRED)
    if not width < WARM:
        return 0.0
    _scale_directions(p, n, math.sqrt(lower))
    lowest = math.inf
    highest = 0.0
    for a in range(k):
        highest = max(highest, arm[LOAD, a])
    for x in range(n):
        lowest = min(lowest, alternative[F, x])
    slack = WARM_SLACK * width
    mean = WARM_PRODUCT * width / (k + n)
    for a in range(k):
        arm[S, a] = 1.0 - (1.0 - slack) * arm[LOAD, a] / highest
        arm[W, a] = max((1.0 + slack) * lower / lowest * arm[W, a], mean / arm[S, a])
    for x in range(n):
        alternative[C, x] = (1.0 + slack) * alternative[F, x] / lowest - 1.0
        scaled = (1.0 - slack) * lower / highest * alternative[Q, x]
        alternative[Q, x] = max(scaled, mean / alternative[C, x])
    return lower


@kernel
def optimise(p: Interior, k: int, n: int, goal: Vector, warm: bool) -> tuple[float, float, int]:
    """Certified bounds of the problem in `p`, and the steps taken; points in BEST_W, BEST_Q.

    Warm start if asked for, fast mode, and safe mode if neither reached the goal. The weights
    and multipliers are normalised, and F is left at its certified values for these weights.
    """
    above, below = goal[ABOVE], goal[BELOW]
    lower, upper, steps = 0.0, math.inf, 0
    for attempt in range(0 if warm else 1, 3):
        scale = _warm_start(p, k, n) if attempt == 0 else _cold_start(p, k, n)
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
    upper = _certify_upper(p, k, n) * (1.0 + ROUNDING)
    lower = _certify_lower(p, k, n) * (1.0 - ROUNDING)
    return lower, upper, steps


@kernel
def _certify_lower(p: Interior, k: int, n: int) -> float:
    """min_x F_x(w)/1ᵀw at BEST_W, with an error that does not grow with the condition of V_w.

    For any p: uᵀV⁻¹u = 2⟨u, p⟩ − pᵀVp + rᵀV⁻¹r with r = u − Vp. At p ≈ V⁻¹u the last term, the
    only one to involve V⁻¹, is of second order. Normalises the weights, and leaves F_x in F.
    """
    weights = p.arm[BEST_W]
    total = 0.0
    for a in range(k):
        total += weights[a]
    for a in range(k):
        weights[a] /= total
    if not _factor_information(p.arms, k, weights, p.arm[ROW], p.information):
        return 0.0
    d = p.arms.shape[0]
    solved = p.white_directions
    residual = p.residuals
    inner = p.alternative[STEP_Q]
    quadratic = p.alternative[STEP_C]
    _whiten(p.information, p.directions, n, solved)
    _unwhiten(p.information, solved, n)
    for x in range(n):
        quadratic[x] = 0.0
    for i in range(d):
        for x in range(n):
            residual[i, x] = p.directions[i, x]
            quadratic[x] += 2.0 * p.directions[i, x] * solved[i, x]
    for a in range(k):
        weight = weights[a]
        if weight == 0.0:
            continue
        for x in range(n):
            inner[x] = 0.0
        for i in range(d):
            for x in range(n):
                inner[x] += p.arms[i, a] * solved[i, x]
        for x in range(n):
            quadratic[x] -= weight * inner[x] * inner[x]
        for i in range(d):
            scale = weight * p.arms[i, a]
            for x in range(n):
                residual[i, x] -= scale * inner[x]
    _whiten(p.information, residual, n, solved)
    lowest = math.inf
    _squared_lengths(solved, n, inner)
    for x in range(n):
        p.alternative[F, x] = 1.0 / (max(quadratic[x], 0.0) + inner[x])
        lowest = min(lowest, p.alternative[F, x])
    return lowest


@kernel
def _certify_upper(p: Interior, k: int, n: int) -> float:
    """max_a Σ_x q_x ⟨θ_x, a⟩² / Σ_x q_x ⟨θ_x, u_x⟩², a bound whatever the error in θ.

    Normalises the multipliers BEST_Q, such that ⟨θ_x, u_x⟩ = 1.
    """
    multipliers, weights = p.alternative[BEST_Q], p.arm[BEST_QW]
    if not _factor_information(p.arms, k, weights, p.arm[ROW], p.information):
        return math.inf
    d = p.arms.shape[0]
    theta = p.white_directions
    _whiten(p.information, p.directions, n, theta)
    _squared_lengths(theta, n, p.alternative[STEP_C])
    _unwhiten(p.information, theta, n)
    for a in range(k):
        p.arm[LOAD, a] = 0.0
    total = 0.0
    for x in range(n):
        if multipliers[x] == 0.0:
            continue
        distance = 1.0 / p.alternative[STEP_C, x]
        normal = 0.0
        for i in range(d):
            normal += distance * theta[i, x] * p.directions[i, x]
        multiplier = multipliers[x]
        multipliers[x] = multiplier * normal * normal
        total += multipliers[x]
        for a in range(k):
            p.arm[ROW, a] = 0.0
        for i in range(d):
            scale = distance * theta[i, x]
            for a in range(k):
                p.arm[ROW, a] += scale * p.arms[i, a]
        for a in range(k):
            p.arm[LOAD, a] += multiplier * p.arm[ROW, a] * p.arm[ROW, a]
    highest = 0.0
    for a in range(k):
        highest = max(highest, p.arm[LOAD, a])
    for x in range(n):
        multipliers[x] /= total
    return highest / total


@kernel
def directions(
    answers: Matrix,
    values: Vector,
    z: int,
    c: float,
    e: float,
    out: Matrix,
    index: Counts,
) -> int:
    """u_x = y_x/n_x of the alternatives that can be confused with z, as columns of `out`.

    Returns their number, or −1 if some n_x ≤ 0: then z is not ε-optimal and its value is 0.
    """
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
            out[i, count] = (answers[z, i] - c * answers[x, i]) / margin
        index[count] = x
        count += 1
    return count


class Workspace(NamedTuple):
    """Everything that `best_design` writes to besides its outputs."""

    everything: Interior  # the whole problem, and where solutions are left
    interior: Interior  # where the interior point runs: the same, or a selection of columns
    goal: Vector  # (4) when to stop
    selection_goal: Vector  # (4) and for the selection
    index: Counts  # (Z) answer of each alternative
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
        goal=np.zeros(4),
        selection_goal=np.zeros(4),
        index=np.zeros(answers, dtype=np.int64),
        arms=np.zeros(selected_arms, dtype=np.int64),
        alternatives=np.zeros(selected_alternatives, dtype=np.int64),
        has_arm=np.zeros(arms if selected_arms else 0, dtype=np.int64),
        has_alternative=np.zeros(answers if selected_arms else 0, dtype=np.int64),
    )


@kernel
def _price(full: Interior, k: int, n: int) -> tuple[float, float]:
    """F and LOAD of every arm and alternative at W and Q, and the bounds from them."""
    arm, alternative = full.arm, full.alternative
    if not _factor_information(full.arms, k, arm[W], arm[ROW], full.information):
        return 0.0, math.inf
    _whiten(full.information, full.arms, k, full.white_arms)
    _whiten(full.information, full.directions, n, full.white_directions)
    _squared_lengths(full.white_directions, n, alternative[F])
    for x in range(n):
        alternative[F, x] = 1.0 / alternative[F, x]
    _spread(full, k, n)
    for a in range(k):
        arm[LOAD, a] = 0.0
    for i in range(full.arms.shape[0]):
        for a in range(k):
            arm[LOAD, a] += full.white_arms[i, a] * full.spread_arms[i, a]
    return _bounds(arm, alternative, k, n)


@kernel
def _warm_up(full: Interior, k: int, n: int) -> None:
    """Multiplicative updates w_a ← w_a·load_a, the multipliers being a soft minimum of F.

    They come nowhere near the optimum, but show which arms and alternatives matter.
    """
    arm, alternative = full.arm, full.alternative
    for a in range(k):
        arm[W, a] = 1.0 / k
    for x in range(n):
        alternative[Q, x] = 1.0 / n
    for update in range(WARM_UP):
        _price(full, k, n)
        lowest = math.inf
        for x in range(n):
            lowest = min(lowest, alternative[F, x])
        total = 0.0
        for a in range(k):
            if update > 0:
                arm[W, a] *= arm[LOAD, a]
            total += arm[W, a]
        for a in range(k):
            arm[W, a] /= total
        total = 0.0
        for x in range(n):
            alternative[Q, x] = (lowest / alternative[F, x]) ** SOFTNESS
            total += alternative[Q, x]
        for x in range(n):
            alternative[Q, x] /= total


@kernel
def _select(
    score: Vector, size: int, least: float, most: int, chosen: Counts, has: Counts, count: int
) -> int:
    """Append to `chosen` the (at most `most`) largest scores above `least`; the new count."""
    for _ in range(min(most, chosen.shape[0] - count)):
        best = -1
        for i in range(size):
            if has[i] == 0 and score[i] > (least if best < 0 else score[best]):
                best = i
        if best < 0:
            break
        has[best] = 1
        chosen[count] = best
        count += 1
    return count


@kernel
def _select_basis(work: Workspace, k: int) -> int:
    """Select d arms that span, by pivoted Gram–Schmidt on √w·L⁻¹a: the most useful ones first."""
    full = work.everything
    columns, length = full.spread_arms, full.arm[ROW]
    d = columns.shape[0]
    for i in range(d):
        for a in range(k):
            columns[i, a] = math.sqrt(full.arm[W, a]) * full.white_arms[i, a]
    count = 0
    for _ in range(d):
        _squared_lengths(columns, k, length)
        count = _select(length, k, 0.0, 1, work.arms, work.has_arm, count)
        pivot = work.arms[count - 1]
        norm = length[pivot]
        for a in range(k):
            length[a] = 0.0
        for i in range(d):
            for a in range(k):
                length[a] += columns[i, pivot] * columns[i, a]
        for i in range(d):
            scale = columns[i, pivot] / norm
            for a in range(k):
                columns[i, a] -= scale * length[a]
    return count


@kernel
def _restrict(work: Workspace, k: int, n: int) -> None:
    """Copy the selected columns into the interior problem."""
    full, p = work.everything, work.interior
    for i in range(full.arms.shape[0]):
        for j in range(k):
            p.arms[i, j] = full.arms[i, work.arms[j]]
        for j in range(n):
            p.directions[i, j] = full.directions[i, work.alternatives[j]]


@kernel
def _extend(work: Workspace, k: int, n: int) -> None:
    """Weights and multipliers of the interior problem as those of the whole one, normalised."""
    full, p = work.everything, work.interior
    full.arm[W, :] = 0.0
    full.alternative[Q, :] = 0.0
    total = 0.0
    for j in range(k):
        total += p.arm[W, j]
    for j in range(k):
        full.arm[W, work.arms[j]] = p.arm[W, j] / total
    total = 0.0
    for j in range(n):
        total += p.alternative[Q, j]
    for j in range(n):
        full.alternative[Q, work.alternatives[j]] = p.alternative[Q, j] / total


@kernel
def _drop_outsiders(work: Workspace, k: int, n: int, gap: float) -> tuple[int, int]:
    """Deselect arms and alternatives that do not bind, by far more than the present gap.

    The basis of the arms stays, without which V_w could become singular.
    """
    full, p = work.everything, work.interior
    # Late dropouts would only come back: their absence moves the solution by more than the gap.
    margin = OUTSIDE * max(gap, 1e-3)
    upper, lower = 0.0, math.inf
    for j in range(k):
        upper = max(upper, full.arm[LOAD, work.arms[j]])
    for j in range(n):
        lower = min(lower, full.alternative[F, work.alternatives[j]])
    arms = 0
    for j in range(k):
        a = work.arms[j]
        if j >= full.arms.shape[0] and full.arm[LOAD, a] < (1.0 - margin) * upper:
            work.has_arm[a] = 0
            continue
        work.arms[arms] = a
        p.arm[CENTRED_W, arms] = p.arm[CENTRED_W, j]
        arms += 1
    alternatives = 0
    for j in range(n):
        x = work.alternatives[j]
        if full.alternative[F, x] > (1.0 + margin) * lower:
            work.has_alternative[x] = 0
            continue
        work.alternatives[alternatives] = x
        p.alternative[CENTRED_Q, alternatives] = p.alternative[CENTRED_Q, j]
        alternatives += 1
    return arms, alternatives


@kernel
def _generate(work: Workspace, k_all: int, n_all: int, warm: bool) -> tuple[float, float, int]:
    """As `optimise`, by column and constraint generation: solve a selection, price, extend it.

    With W and Q normalised, arms of load above the bound of the selection, and alternatives of
    F below it, are those that its solution has overlooked.
    """
    full, p, goal = work.everything, work.interior, work.goal
    d = full.arms.shape[0]
    arm, alternative, nearness = full.arm, full.alternative, full.alternative[STEP_Q]
    if warm:
        _copy(arm[CENTRED_W], k_all, arm[W])
        _copy(alternative[CENTRED_Q], n_all, alternative[Q])
    else:
        _warm_up(full, k_all, n_all)
    _price(full, k_all, n_all)
    work.has_arm[:] = 0
    work.has_alternative[:] = 0
    k = _select_basis(work, k_all)
    k = _select(arm[W], k_all, 0.0, 3 * d * (d + 1) // 10, work.arms, work.has_arm, k)
    n = 0
    least = -math.inf
    most = 2 * d
    tolerance = 1e-2
    work.selection_goal[ABOVE] = -math.inf
    work.selection_goal[BELOW] = math.inf
    steps = 0
    lower, upper = 0.0, math.inf
    for attempt in range(GENERATIONS):
        for x in range(n_all):
            nearness[x] = -alternative[F, x]
        new_n = _select(nearness, n_all, least, most, work.alternatives, work.has_alternative, n)
        for j in range(n, new_n):
            p.alternative[CENTRED_Q, j] = 0.0
        n = new_n
        _restrict(work, k, n)
        work.selection_goal[GAP] = work.selection_goal[FLOOR] = tolerance
        _, _, more = optimise(p, k, n, work.selection_goal, attempt > 0)
        steps += more
        _extend(work, k, n)
        lower, upper = _price(full, k_all, n_all)
        if _reached(lower, upper, goal):
            break
        gap = upper / lower - 1.0
        tolerance = max(0.2 * goal[FLOOR], min(tolerance, gap / 30.0))
        highest = 0.0
        for j in range(k):
            highest = max(highest, arm[LOAD, work.arms[j]])
        lowest = math.inf
        for j in range(n):
            lowest = min(lowest, alternative[F, work.alternatives[j]])
        k, n = _drop_outsiders(work, k, n, gap)
        highest *= 1.0 + OVERLOOKED * gap
        new_k = _select(arm[LOAD], k_all, highest, 2 * d, work.arms, work.has_arm, k)
        for j in range(k, new_k):
            p.arm[CENTRED_W, j] = 0.0
        k = new_k
        least = -lowest * (1.0 - OVERLOOKED * gap)
        most = d
    _copy(arm[W], k_all, arm[BEST_W])
    _copy(arm[W], k_all, arm[BEST_QW])
    _copy(arm[W], k_all, arm[CENTRED_W])
    _copy(alternative[Q], n_all, alternative[BEST_Q])
    _copy(alternative[Q], n_all, alternative[CENTRED_Q])
    upper = _certify_upper(full, k_all, n_all) * (1.0 + ROUNDING)
    lower = _certify_lower(full, k_all, n_all) * (1.0 - ROUNDING)
    return lower, upper, steps


@kernel
def optimum(work: Workspace, k: int, n: int, warm: bool) -> tuple[float, float, int]:
    """`optimise` the problem in work.everything to work.goal, at once or by generation."""
    if work.arms.shape[0] > 0:
        return _generate(work, k, n, warm)
    return optimise(work.interior, k, n, work.goal, warm)


@kernel
def load_arms(arms: Matrix, out: Matrix) -> None:
    """out = armsᵀ, one arm per column."""
    for a in range(arms.shape[0]):
        for i in range(arms.shape[1]):
            out[i, a] = arms[a, i]


@kernel
def best_design(
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
    p = work.everything
    k = arms.shape[0]
    for a in range(k):
        weights_out[a] = 1.0 / k
    for x in range(answers.shape[0]):
        multipliers_out[x] = 0.0
    n = directions(answers, values, z, c, e, p.directions, work.index)
    if n < 0:
        return 0.0, 0.0, 0
    if n == 0:
        return math.inf, math.inf, 0
    load_arms(arms, p.arms)
    work.goal[GAP] = MARGIN * gap
    work.goal[FLOOR] = MARGIN * gap
    work.goal[ABOVE] = -math.inf
    work.goal[BELOW] = math.inf
    lower, upper, steps = optimum(work, k, n, False)
    for a in range(k):
        weights_out[a] = p.arm[BEST_W, a]
    for i in range(n):
        multipliers_out[work.index[i]] = p.alternative[BEST_Q, i]
    if not upper - lower <= gap * lower:
        steps = -max(steps, 1)
    return lower, upper, steps


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
    lower, upper, iterations = best_design(
        arms, answers, values, z, c, e, gap, weights, multipliers, work
    )
    return Design(lower, upper, weights, multipliers, iterations)
