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
# Curvature q/c of an alternative that goes into the Newton matrix; what exceeds it goes through
# the Schur complement, which keeps the matrix well conditioned near the optimum.
CURVATURE = 10.0
# Steps of the fast mode and of the safe mode that follows if it failed.
FAST_STEPS = 40
SAFE_STEPS = 150
# Asked of the iteration, so that the recheck stays within the gap that the caller asked.
MARGIN = 0.95


class Interior(NamedTuple):
    """A problem of k arms and n alternatives, and the iterate of its interior point."""

    arms: Matrix  # (d, k) arms as columns
    directions: Matrix  # (d, n) u_x as columns
    information: Matrix  # (d, d) V_w, then its Cholesky factor
    white_arms: Matrix  # (d, k) L⁻¹a
    white_directions: Matrix  # (d, n) L⁻¹u
    residuals: Matrix  # (d, n) of the recheck
    distance: Vector  # (n) F_x(w)
    inner: Matrix  # (n, k) ⟨θ_x, a⟩
    load: Vector  # (k) Σ_x q_x ⟨θ_x, a⟩²
    w: Vector  # (k) weights, not normalised
    s: Vector  # (k) slack of load ≤ 1
    q: Vector  # (n) multipliers
    c: Vector  # (n) slack of F ≥ 1
    dual_residual: Vector  # (k)
    primal_residual: Vector  # (n)
    step_w: Vector
    step_s: Vector
    step_q: Vector
    step_c: Vector
    old_w: Vector
    old_s: Vector
    old_q: Vector
    old_c: Vector
    target_w: Vector  # (k) right-hand sides of w∘s
    target_q: Vector  # (n) right-hand sides of q∘c
    newton: Matrix  # (k, k) Newton matrix, then its upper Cholesky factor
    pivots: Vector  # (k) inverse diagonal of that factor, 0 for frozen variables
    row: Vector  # (k) work
    kept: Vector  # (n) curvature of each alternative inside the Newton matrix
    active: Counts  # (n) alternatives outside of it
    coupling: Matrix  # (n, k) their gradients, solved against the factor
    schur: Matrix  # (n, n)
    schur_pivots: Vector  # (n)
    best_w: Vector  # (k) weights of the best lower bound
    best_q: Vector  # (n) multipliers of the best upper bound
    best_q_w: Vector  # (k) and the weights that define its θ
    centred_w: Vector  # (k) last iterate far enough from the boundary to restart from
    centred_q: Vector  # (n)


def interior(k: int, n: int, d: int) -> Interior:
    """Room for `k` arms and `n` alternatives in dimension `d`."""
    shapes: dict[str, tuple[int, ...]] = {
        "arms": (d, k),
        "directions": (d, n),
        "information": (d, d),
        "white_arms": (d, k),
        "white_directions": (d, n),
        "residuals": (d, n),
        "inner": (n, k),
        "newton": (k, k),
        "coupling": (n, k),
        "schur": (n, n),
    }
    over_alternatives = {
        *("distance", "q", "c", "primal_residual", "step_q", "step_c", "old_q", "old_c"),
        *("target_q", "kept", "active", "schur_pivots", "best_q", "centred_q"),
    }
    arrays = {}
    for name in Interior._fields:
        shape = shapes.get(name, (n,) if name in over_alternatives else (k,))
        arrays[name] = np.zeros(shape, dtype=np.int64 if name == "active" else np.float64)
    return Interior(**arrays)


@kernel
def _factor_information(p: Interior, k: int, weights: Vector) -> bool:
    """V_w = L·Lᵀ in place. False where V_w is not positive definite in floating point.

    No relative threshold here: V_w may be singular at the optimum, and the bounds are rechecked.
    """
    d = p.arms.shape[0]
    factor = p.information
    for i in range(d):
        for a in range(k):
            p.row[a] = weights[a] * p.arms[i, a]
        for j in range(i + 1):
            total = 0.0
            for a in range(k):
                total += p.row[a] * p.arms[j, a]
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
    """F_x and ⟨θ_x, a⟩ at the weights p.w. False where V_w is singular."""
    if not _factor_information(p, k, p.w):
        return False
    _whiten(p.information, p.arms, k, p.white_arms)
    _whiten(p.information, p.directions, n, p.white_directions)
    _squared_lengths(p.white_directions, n, p.distance)
    d = p.arms.shape[0]
    for x in range(n):
        distance = 1.0 / p.distance[x]
        p.distance[x] = distance
        scale = distance * p.white_directions[0, x]
        for a in range(k):
            p.inner[x, a] = scale * p.white_arms[0, a]
        for i in range(1, d):
            scale = distance * p.white_directions[i, x]
            for a in range(k):
                p.inner[x, a] += scale * p.white_arms[i, a]
    return True


@kernel
def _load(p: Interior, k: int, n: int) -> None:
    """load_a = Σ_x q_x ⟨θ_x, a⟩²."""
    for a in range(k):
        p.load[a] = 0.0
    for x in range(n):
        q = p.q[x]
        for a in range(k):
            p.load[a] += q * p.inner[x, a] * p.inner[x, a]


@kernel
def _bounds(p: Interior, k: int, n: int) -> tuple[float, float]:
    """The certificate at the iterate: min F/1ᵀw and max load/1ᵀq."""
    total_w = 0.0
    total_q = 0.0
    lowest = math.inf
    highest = 0.0
    for a in range(k):
        total_w += p.w[a]
        highest = max(highest, p.load[a])
    for x in range(n):
        total_q += p.q[x]
        lowest = min(lowest, p.distance[x])
    return lowest / total_w, highest / total_q


@kernel
def _residuals(p: Interior, k: int, n: int) -> float:
    """Residuals after the slack reset, and the merit wᵀs + cᵀq + wᵀ|r_d| + qᵀ|r_p|.

    A slack that lags behind the true one is set to it, which makes its residual vanish: plain
    Mehrotra steps stall without it.
    """
    merit = 0.0
    for a in range(k):
        slack = 1.0 - p.load[a]
        if slack > 0.3 * p.s[a]:
            p.s[a] = slack
        p.dual_residual[a] = slack - p.s[a]
        merit += p.w[a] * (p.s[a] + abs(p.dual_residual[a]))
    for x in range(n):
        slack = p.distance[x] - 1.0
        if slack > 0.3 * p.c[x]:
            p.c[x] = slack
        p.primal_residual[x] = slack - p.c[x]
        merit += p.q[x] * (p.c[x] + abs(p.primal_residual[x]))
    return merit


@kernel
def _newton_matrix(p: Interior, k: int, n: int) -> int:
    """Upper triangle of M = 2(A V⁻¹Aᵀ)∘(R Q Rᵀ) + Gᵀ diag(kept − 2q/F) G + diag(s/w).

    Alternatives whose curvature q/c exceeds `CURVATURE` are listed in p.active, with the excess
    left to the Schur complement. Returns their number.
    """
    d = p.arms.shape[0]
    count = 0
    for x in range(n):
        curvature = p.q[x] / p.c[x]
        if curvature > CURVATURE:
            p.active[count] = x
            count += 1
            curvature = CURVATURE
        p.kept[x] = curvature
    for a in range(k):
        for b in range(a, k):
            p.newton[a, b] = 0.0
            p.row[b] = 0.0
        for i in range(d):
            scale = 2.0 * p.white_arms[i, a]
            for b in range(a, k):
                p.row[b] += scale * p.white_arms[i, b]
        for x in range(n):
            inner = p.inner[x, a]
            linear = p.q[x] * inner
            square = (p.kept[x] - 2.0 * p.q[x] / p.distance[x]) * inner * inner
            for b in range(a, k):
                other = p.inner[x, b]
                p.newton[a, b] += other * (linear * p.row[b] + square * other)
        p.newton[a, a] += p.s[a] / p.w[a]
    return count


@kernel
def _factor(matrix: Matrix, size: int, pivots: Vector) -> None:
    """Upper Cholesky factor in place, matrix = UᵀU; numerically null pivots freeze."""
    for j in range(size):
        pivots[j] = matrix[j, j]
    for j in range(size):
        pivot = matrix[j, j]
        if not pivot > NULL_PIVOT * pivots[j]:
            pivots[j] = 0.0
            for b in range(j, size):
                matrix[j, b] = 0.0
            continue
        inverse = 1.0 / math.sqrt(pivot)
        pivots[j] = inverse
        for b in range(j, size):
            matrix[j, b] *= inverse
        for i in range(j + 1, size):
            scale = matrix[j, i]
            for b in range(i, size):
                matrix[i, b] -= scale * matrix[j, b]


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
def _factor_schur(p: Interior, k: int, count: int) -> None:
    """Factor G_A M⁻¹ G_Aᵀ + 1/(q/c − CURVATURE) over the active alternatives."""
    for i in range(count):
        x = p.active[i]
        for a in range(k):
            p.coupling[i, a] = p.inner[x, a] * p.inner[x, a]
        _solve_forward(p.newton, k, p.pivots, p.coupling[i])
    for i in range(count):
        for j in range(i, count):
            total = 0.0
            for a in range(k):
                total += p.coupling[i, a] * p.coupling[j, a]
            p.schur[i, j] = total
        x = p.active[i]
        p.schur[i, i] += p.c[x] / (p.q[x] - CURVATURE * p.c[x])
    _factor(p.schur, count, p.schur_pivots)


@kernel
def _direction(p: Interior, k: int, n: int, count: int) -> None:
    """Newton step for the right-hand sides target_w (of w∘s) and target_q (of q∘c)."""
    for a in range(k):
        p.step_w[a] = p.target_w[a] / p.w[a] - p.dual_residual[a]
    for x in range(n):
        scale = p.kept[x] * (p.target_q[x] / p.q[x] - p.primal_residual[x])
        for a in range(k):
            p.step_w[a] += scale * p.inner[x, a] * p.inner[x, a]
    _solve_forward(p.newton, k, p.pivots, p.step_w)
    for i in range(count):
        x = p.active[i]
        total = p.target_q[x] / p.q[x] - p.primal_residual[x]
        for a in range(k):
            total -= p.coupling[i, a] * p.step_w[a]
        p.step_c[i] = total
    _solve_forward(p.schur, count, p.schur_pivots, p.step_c)
    _solve_backward(p.schur, count, p.schur_pivots, p.step_c)
    for x in range(n):
        p.step_q[x] = 0.0
    for i in range(count):
        excess = p.step_c[i]
        p.step_q[p.active[i]] = excess
        for a in range(k):
            p.step_w[a] += excess * p.coupling[i, a]
    _solve_backward(p.newton, k, p.pivots, p.step_w)
    for a in range(k):
        p.step_s[a] = (p.target_w[a] - p.s[a] * p.step_w[a]) / p.w[a]
    for x in range(n):
        change = p.primal_residual[x]
        for a in range(k):
            change += p.inner[x, a] * p.inner[x, a] * p.step_w[a]
        p.step_q[x] += p.kept[x] * (p.target_q[x] / p.q[x] - change)
        if p.q[x] > CURVATURE * p.c[x]:
            # Read off the complementarity row: the sum above cancels for active alternatives.
            change = (p.target_q[x] - p.c[x] * p.step_q[x]) / p.q[x]
        p.step_c[x] = change


@kernel
def _longest(point: Vector, step: Vector, size: int) -> float:
    """Largest multiple of `step` (at most 1e30) that keeps `point` nonnegative."""
    inverse = 1e-30
    for i in range(size):
        inverse = max(inverse, -step[i] / point[i])
    return 1.0 / inverse


@kernel
def _complementarity(p: Interior, k: int, n: int, primal: float, dual: float) -> float:
    """Mean of w∘s and q∘c after the given step lengths."""
    total = 0.0
    for a in range(k):
        total += (p.w[a] + primal * p.step_w[a]) * (p.s[a] + dual * p.step_s[a])
    for x in range(n):
        total += (p.q[x] + dual * p.step_q[x]) * (p.c[x] + primal * p.step_c[x])
    return total / (k + n)


@kernel
def _lengths(p: Interior, k: int, n: int, fraction: float) -> tuple[float, float]:
    """Primal and dual step lengths, a fraction of the way to the boundary and at most 1."""
    primal = min(_longest(p.w, p.step_w, k), _longest(p.c, p.step_c, n))
    dual = min(_longest(p.q, p.step_q, n), _longest(p.s, p.step_s, k))
    return min(1.0, fraction * primal), min(1.0, fraction * dual)


@kernel
def _predictor(p: Interior, k: int, n: int, count: int, mean: float) -> float:
    """Affine step; leaves its second-order terms in the targets. Returns the centring σ."""
    for a in range(k):
        p.target_w[a] = -p.w[a] * p.s[a]
    for x in range(n):
        p.target_q[x] = -p.q[x] * p.c[x]
    _direction(p, k, n, count)
    primal, dual = _lengths(p, k, n, 1.0)
    for a in range(k):
        p.target_w[a] -= p.step_w[a] * p.step_s[a]
    for x in range(n):
        p.target_q[x] -= p.step_q[x] * p.step_c[x]
    ratio = max(_complementarity(p, k, n, primal, dual) / mean, 0.0)
    return ratio * ratio * ratio


@kernel
def _corrector(p: Interior, k: int, n: int, count: int, mean: float, safe: bool) -> None:
    """The step to take: centred, and corrected to second order unless in safe mode."""
    centring = mean * 0.3
    if safe:
        for a in range(k):
            p.target_w[a] = centring - p.w[a] * p.s[a]
        for x in range(n):
            p.target_q[x] = centring - p.q[x] * p.c[x]
    else:
        centring = mean * min(1.0, _predictor(p, k, n, count, mean))
        for a in range(k):
            p.target_w[a] += centring
        for x in range(n):
            p.target_q[x] += centring
    _direction(p, k, n, count)


@kernel
def _move(p: Interior, k: int, n: int, primal: float, dual: float) -> None:
    """Iterate = old iterate + step."""
    for a in range(k):
        p.w[a] = p.old_w[a] + primal * p.step_w[a]
        p.s[a] = p.old_s[a] + dual * p.step_s[a]
    for x in range(n):
        p.q[x] = p.old_q[x] + dual * p.step_q[x]
        p.c[x] = p.old_c[x] + primal * p.step_c[x]


@kernel
def _copy(source: Vector, size: int, out: Vector) -> None:
    for i in range(size):
        out[i] = source[i]


@kernel
def _take_step(p: Interior, k: int, n: int, merit: float, fraction: float) -> float:
    """Step, and shorten it only where the merit grew tenfold. Returns the new merit.

    Asking for a decrease of the merit at every step makes the method fail more often, not less.
    """
    primal, dual = _lengths(p, k, n, fraction)
    _copy(p.w, k, p.old_w)
    _copy(p.s, k, p.old_s)
    _copy(p.q, n, p.old_q)
    _copy(p.c, n, p.old_c)
    reached = math.inf
    for _ in range(4):
        _move(p, k, n, primal, dual)
        if _evaluate(p, k, n):
            _load(p, k, n)
            reached = _residuals(p, k, n)
            if reached <= 10.0 * merit:
                break
        primal *= 0.4
        dual *= 0.4
    return reached


@kernel
def _iterate(
    p: Interior, k: int, n: int, goal: Vector, safe: bool, limit: int
) -> tuple[float, float, int]:
    """Interior-point steps from the iterate in `p`; best bounds so far, number of steps.

    goal = (gap, floor, above, below): stop at gap `floor`, or at `gap` as soon as the lower bound
    reaches `above` or the upper bound `below`. The best points are left in p.best_*.
    """
    best_lower = 0.0
    best_upper = math.inf
    if not _evaluate(p, k, n):
        return best_lower, best_upper, 0
    _load(p, k, n)
    merit = _residuals(p, k, n)
    for step in range(limit):
        lower, upper = _bounds(p, k, n)
        if lower > best_lower:
            best_lower = lower
            _copy(p.w, k, p.best_w)
        if upper < best_upper:
            best_upper = upper
            _copy(p.q, n, p.best_q)
            _copy(p.w, k, p.best_q_w)
        if upper - lower >= CENTRED * lower:
            _copy(p.w, k, p.centred_w)
            _copy(p.q, n, p.centred_q)
        if _reached(best_lower, best_upper, goal) or not merit < math.inf:
            return best_lower, best_upper, step
        mean = _complementarity(p, k, n, 0.0, 0.0)
        count = _newton_matrix(p, k, n)
        _factor(p.newton, k, p.pivots)
        _factor_schur(p, k, count)
        _corrector(p, k, n, count, mean, safe)
        fraction = 0.6 if safe else min(0.9995, max(0.9, 1.0 - 10.0 * mean))
        merit = _take_step(p, k, n, merit, fraction)
    return best_lower, best_upper, limit


# Relative gap down to which an iterate counts as centred enough for a warm start.
CENTRED = 1e-3


@kernel
def _reached(lower: float, upper: float, goal: Vector) -> bool:
    """Whether the bracket answers the question asked in `goal`."""
    width = upper - lower
    if width <= goal[1] * lower:
        return True
    return width <= goal[0] * lower and (lower >= goal[2] or upper <= goal[3])


@kernel
def _cold_start(p: Interior, k: int, n: int) -> float:
    """Scale the directions so that uniform weights have min F = 1, and start strictly feasible.

    Returns the value of uniform weights, by which the bounds have to be multiplied; 0 on failure.
    """
    for a in range(k):
        p.w[a] = 1.0 / k
    if not _evaluate(p, k, n):
        return 0.0
    uniform = math.inf
    for x in range(n):
        uniform = min(uniform, p.distance[x])
    _scale_directions(p, n, math.sqrt(uniform))
    for a in range(k):
        p.w[a] = 1.3 / k
    for x in range(n):
        p.c[x] = 1.3 * p.distance[x] / uniform - 1.0
        p.q[x] = 1.0 / p.c[x]
    _load(p, k, n)
    highest = 0.0
    for a in range(k):
        highest = max(highest, p.load[a])
    for x in range(n):
        # ⟨θ, a⟩² was computed before the scaling and shrinks with it.
        p.q[x] *= 0.7 * uniform / highest
    for a in range(k):
        p.s[a] = 1.0 - 0.7 * p.load[a] / highest
    return uniform


@kernel
def _scale_directions(p: Interior, n: int, scale: float) -> None:
    for i in range(p.directions.shape[0]):
        for x in range(n):
            p.directions[i, x] *= scale


@kernel
def _optimise(p: Interior, k: int, n: int, goal: Vector) -> tuple[float, float, int]:
    """Cold solve: fast mode, then safe mode if that failed. Bounds in the units of p.directions."""
    scale = _cold_start(p, k, n)
    if not 0.0 < scale < math.inf:
        return 0.0, math.inf, 0
    goal[2] /= scale
    goal[3] /= scale
    lower, upper, steps = _iterate(p, k, n, goal, False, FAST_STEPS)
    if not _reached(lower, upper, goal):
        again = _cold_start(p, k, n)
        scale *= again
        lower, upper, more = _iterate(p, k, n, goal, True, SAFE_STEPS)
        steps += more
    _scale_directions(p, n, 1.0 / math.sqrt(scale))
    return lower * scale, upper * scale, steps


@kernel
def _certify_lower(p: Interior, k: int, n: int, weights: Vector) -> float:
    """min_x F_x(w)/1ᵀw, computed so that its error does not grow with the condition of V_w.

    For any p: uᵀV⁻¹u = 2⟨u, p⟩ − pᵀVp + rᵀV⁻¹r with r = u − Vp. At p ≈ V⁻¹u the last term, the
    only one to involve V⁻¹, is of second order. F_x(w)/1ᵀw is left in p.distance.
    """
    if not _factor_information(p, k, weights):
        return 0.0
    d = p.arms.shape[0]
    solved = p.white_directions
    residual = p.residuals
    inner = p.step_q
    quadratic = p.step_c
    total = 0.0
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
        total += weight
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
        p.distance[x] = 1.0 / (max(quadratic[x], 0.0) + inner[x]) / total
        lowest = min(lowest, p.distance[x])
    return lowest


@kernel
def _certify_upper(p: Interior, k: int, n: int, multipliers: Vector, weights: Vector) -> float:
    """max_a Σ_x q_x ⟨θ_x, a⟩² / Σ_x q_x ⟨θ_x, u_x⟩², a bound whatever the error in θ.

    The multipliers are rescaled to sum to one with ⟨θ_x, u_x⟩ = 1.
    """
    if not _factor_information(p, k, weights):
        return math.inf
    d = p.arms.shape[0]
    theta = p.white_directions
    _whiten(p.information, p.directions, n, theta)
    _squared_lengths(theta, n, p.step_c)
    _unwhiten(p.information, theta, n)
    for a in range(k):
        p.load[a] = 0.0
    total = 0.0
    for x in range(n):
        distance = 1.0 / p.step_c[x]
        normal = 0.0
        for i in range(d):
            normal += distance * theta[i, x] * p.directions[i, x]
        multiplier = multipliers[x]
        multipliers[x] = multiplier * normal * normal
        total += multipliers[x]
        for a in range(k):
            p.row[a] = 0.0
        for i in range(d):
            scale = distance * theta[i, x]
            for a in range(k):
                p.row[a] += scale * p.arms[i, a]
        for a in range(k):
            p.load[a] += multiplier * p.row[a] * p.row[a]
    highest = 0.0
    for a in range(k):
        highest = max(highest, p.load[a])
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
def _load_arms(arms: Matrix, out: Matrix) -> None:
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
    _load_arms(arms, p.arms)
    work.goal[0] = MARGIN * gap
    work.goal[1] = MARGIN * gap
    work.goal[2] = -math.inf
    work.goal[3] = math.inf
    lower, upper, steps = _optimise(p, k, n, work.goal)
    lower = _certify_lower(p, k, n, p.best_w)
    upper = _certify_upper(p, k, n, p.best_q, p.best_q_w)
    total = 0.0
    for a in range(k):
        total += p.best_w[a]
    for a in range(k):
        weights_out[a] = p.best_w[a] / total
    for i in range(n):
        multipliers_out[work.index[i]] = p.best_q[i]
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
