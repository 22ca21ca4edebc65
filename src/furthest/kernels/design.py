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
# Steps of the fast mode, and of the safe mode that follows if it failed.
FAST_STEPS = 40
SAFE_STEPS = 150
# Allowance for rounding in the certificate.
ROUNDING = 1e-13
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
    inner: Matrix  # (n, k) ⟨θ_x, a⟩
    arm: Matrix  # (ARM_ROWS, k)
    alternative: Matrix  # (ALTERNATIVE_ROWS, n)
    newton: Matrix  # (k, k) Newton matrix, then its upper Cholesky factor
    active: Counts  # (n) alternatives that go through the Schur complement
    coupling: Matrix  # (n, k) their gradients, solved against the factor
    schur: Matrix  # (n, n)


def interior(k: int, n: int, d: int) -> Interior:
    """Room for `k` arms and `n` alternatives in dimension `d`."""
    return Interior(
        arms=np.zeros((d, k)),
        directions=np.zeros((d, n)),
        information=np.zeros((d, d)),
        white_arms=np.zeros((d, k)),
        white_directions=np.zeros((d, n)),
        residuals=np.zeros((d, n)),
        inner=np.zeros((n, k)),
        arm=np.zeros((ARM_ROWS, k)),
        alternative=np.zeros((ALTERNATIVE_ROWS, n)),
        newton=np.zeros((k, k)),
        active=np.zeros(n, dtype=np.int64),
        coupling=np.zeros((n, k)),
        schur=np.zeros((n, n)),
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
    """F_x, ⟨θ_x, a⟩ and the load at the iterate. False where V_w is singular."""
    arm, alternative, inner = p.arm, p.alternative, p.inner
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
        for a in range(k):
            inner[x, a] = 0.0
        for i in range(p.white_arms.shape[0]):
            scale = distance * p.white_directions[i, x]
            for a in range(k):
                inner[x, a] += scale * p.white_arms[i, a]
        q = alternative[Q, x]
        for a in range(k):
            arm[LOAD, a] += q * inner[x, a] * inner[x, a]
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
        if curvature > CURVATURE:
            p.active[count] = x
            count += 1
            curvature = CURVATURE
        alternative[KEPT, x] = curvature
        alternative[SQUARE, x] = curvature - 2.0 * alternative[Q, x] / alternative[F, x]
    return count


@kernel
def _newton_matrix(
    white_arms: Matrix,
    inner: Matrix,
    linear: Vector,
    square: Vector,
    diagonal: Vector,
    row: Vector,
    k: int,
    n: int,
    out: Matrix,
) -> None:
    """Upper triangle of M = 2(A V⁻¹Aᵀ)∘(R diag(linear) Rᵀ) + Gᵀ diag(square) G + diag(diagonal).

    By tiles of columns, which stay in the cache, and four alternatives at a time, which saves
    loads and stores of `out`: this loop is where large problems spend their time.
    """
    for low in range(0, k, TILE):
        high = min(low + TILE, k)
        for a in range(high):
            start = max(a, low)
            for b in range(start, high):
                out[a, b] = 0.0
                row[b] = 0.0
            for i in range(white_arms.shape[0]):
                scale = 2.0 * white_arms[i, a]
                for b in range(start, high):
                    row[b] += scale * white_arms[i, b]
            for x in range(0, n - 3, 4):
                r0, r1, r2, r3 = inner[x, a], inner[x + 1, a], inner[x + 2, a], inner[x + 3, a]
                l0, l1 = linear[x] * r0, linear[x + 1] * r1
                l2, l3 = linear[x + 2] * r2, linear[x + 3] * r3
                s0, s1 = square[x] * r0 * r0, square[x + 1] * r1 * r1
                s2, s3 = square[x + 2] * r2 * r2, square[x + 3] * r3 * r3
                for b in range(start, high):
                    r0, r1 = inner[x, b], inner[x + 1, b]
                    r2, r3 = inner[x + 2, b], inner[x + 3, b]
                    out[a, b] += (l0 * r0 + l1 * r1 + l2 * r2 + l3 * r3) * row[b]
                    out[a, b] += s0 * r0 * r0 + s1 * r1 * r1 + s2 * r2 * r2 + s3 * r3 * r3
            for x in range(n - n % 4, n):
                l0 = linear[x] * inner[x, a]
                s0 = square[x] * inner[x, a] * inner[x, a]
                for b in range(start, high):
                    out[a, b] += inner[x, b] * (l0 * row[b] + s0 * inner[x, b])
    for a in range(k):
        out[a, a] += diagonal[a]


@kernel
def _factor(matrix: Matrix, size: int, pivots: Vector) -> None:
    """Upper Cholesky factor in place, matrix = UᵀU; numerically null pivots freeze.

    By panels of four rows, for the sake of the last loop. A frozen row is zero, its entry of
    `pivots`, the inverse diagonal, too.
    """
    for j in range(size):
        pivots[j] = NULL_PIVOT * matrix[j, j]
    for low in range(0, size, 4):
        high = min(low + 4, size)
        for j in range(low, high):
            pivots[j] = 1.0 / math.sqrt(matrix[j, j]) if matrix[j, j] > pivots[j] else 0.0
            for b in range(j, size):
                matrix[j, b] *= pivots[j]
            for i in range(j + 1, high):
                scale = matrix[j, i]
                for b in range(i, size):
                    matrix[i, b] -= scale * matrix[j, b]
        for i in range(high, size):
            s0, s1 = matrix[low, i], matrix[low + 1, i]
            s2, s3 = matrix[low + 2, i], matrix[low + 3, i]
            for b in range(i, size):
                matrix[i, b] -= (
                    s0 * matrix[low, b]
                    + s1 * matrix[low + 1, b]
                    + s2 * matrix[low + 2, b]
                    + s3 * matrix[low + 3, b]
                )


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
    for a in range(k):
        arm[STEP_S, a] = arm[S, a] / arm[W, a]
    _newton_matrix(
        p.white_arms,
        p.inner,
        alternative[Q],
        alternative[SQUARE],
        arm[STEP_S],
        arm[ROW],
        k,
        n,
        p.newton,
    )
    _factor(p.newton, k, arm[PIVOT])
    for i in range(count):
        x = p.active[i]
        for a in range(k):
            coupling[i, a] = p.inner[x, a] * p.inner[x, a]
        _solve_forward(p.newton, k, arm[PIVOT], coupling[i])
        for j in range(i + 1):
            total = 0.0
            for a in range(k):
                total += coupling[i, a] * coupling[j, a]
            p.schur[j, i] = total
        excess = alternative[Q, x] - CURVATURE * alternative[C, x]
        p.schur[i, i] += alternative[C, x] / excess
    _factor(p.schur, count, alternative[SCHUR_PIVOT])
    return count


@kernel
def _direction(p: Interior, k: int, n: int, count: int) -> None:
    """Newton step for the right-hand sides TARGET_W (of w∘s) and TARGET_Q (of q∘c)."""
    arm, alternative, inner, coupling = p.arm, p.alternative, p.inner, p.coupling
    pivots, schur_pivots = arm[PIVOT], alternative[SCHUR_PIVOT]
    step, excess = arm[STEP_W], alternative[STEP_C]
    for a in range(k):
        step[a] = arm[TARGET_W, a] / arm[W, a] - arm[DUAL, a]
    for x in range(n):
        alternative[STEP_Q, x] = 0.0
        wanted = alternative[TARGET_Q, x] / alternative[Q, x] - alternative[PRIMAL, x]
        scale = alternative[KEPT, x] * wanted
        for a in range(k):
            step[a] += scale * inner[x, a] * inner[x, a]
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
            change += inner[x, a] * inner[x, a] * step[a]
        q, c, target = alternative[Q, x], alternative[C, x], alternative[TARGET_Q, x]
        alternative[STEP_Q, x] += alternative[KEPT, x] * (target / q - change)
        if q > CURVATURE * c:
            # Read off the complementarity row: the sum above cancels for active alternatives.
            change = (target - c * alternative[STEP_Q, x]) / q
        alternative[STEP_C, x] = change


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
            arm[LOAD, a] += alternative[Q, x] * p.inner[x, a] ** 2
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

    interior: Interior
    index: Counts  # (Z) answer of each alternative
    goal: Vector  # (4) when to stop: gap, floor, above, below


def workspace(arms: int, answers: int, dimension: int) -> Workspace:
    """Room for problems of that many arms and answers."""
    return Workspace(
        interior=interior(arms, answers, dimension),
        index=np.zeros(answers, dtype=np.int64),
        goal=np.zeros(4),
    )


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
    p = work.interior
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
    lower, upper, steps = optimise(p, k, n, work.goal, False)
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
