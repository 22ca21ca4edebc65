"""The interior point: where it begins, how it steps, and when it begins again.

Primal-dual steps with Mehrotra's predictor and corrector (Mehrotra 1992), with a reset of slacks
that lag behind, and a safe mode of short, well centred steps where the fast mode fails.
"""

import math
from enum import IntEnum

from furthest.kernels.design import settings
from furthest.kernels.design.geometry import (
    adopt_whitened,
    bounds,
    evaluate,
    scale_directions,
    sum_loads,
)
from furthest.kernels.design.goal import Goal, in_units, is_reached
from furthest.kernels.design.interior import Interior, Row
from furthest.kernels.design.newton import factor_newton, find_direction
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, fill, highest, lowest, scaled_copy


class Attempt(IntEnum):
    """Attempts at a problem, each if the one before did not reach the goal."""

    WARM = 0  # from the centred iterate of an earlier solve, with fast steps
    FAST = 1
    SAFE = 2


@kernel
def _reset_slacks(point: Matrix, k: int, n: int) -> float:
    """Residuals after the slack reset, and the merit wᵀs + cᵀq + wᵀ|r_d| + qᵀ|r_p|.

    A slack that lags behind the true one is set to it, which makes its residual vanish: plain
    Mehrotra steps stall without it.
    """
    merit = 0.0
    for i in range(k + n):
        slack = 1.0 - point[Row.LEVEL, i] if i < k else point[Row.LEVEL, i] - 1.0
        kept, other = (Row.DUAL, Row.PRIMAL) if i < k else (Row.PRIMAL, Row.DUAL)
        if slack > settings.SLACK_LAG * point[kept, i]:
            point[kept, i] = slack
        point[Row.RESIDUAL, i] = slack - point[kept, i]
        merit += point[other, i] * (point[kept, i] + abs(point[Row.RESIDUAL, i]))
    return merit


@kernel
def _aim(point: Matrix, size: int, centring: float) -> None:
    """Right-hand sides of a step towards w∘s = q∘c = centring, to first order."""
    for i in range(size):
        point[Row.TARGET, i] = centring - point[Row.PRIMAL, i] * point[Row.DUAL, i]


@kernel
def _correct_aim(point: Matrix, size: int, centring: float) -> None:
    """Add the centring and the second-order terms of the affine step (Mehrotra 1992)."""
    for i in range(size):
        point[Row.TARGET, i] += centring - point[Row.STEP_PRIMAL, i] * point[Row.STEP_DUAL, i]


@kernel
def _lengths(point: Matrix, size: int, way: float) -> tuple[float, float]:
    """Primal and dual step lengths, a share of the way to the boundary and at most 1."""
    primal = settings.NO_APPROACH
    dual = settings.NO_APPROACH
    for i in range(size):
        primal = max(primal, -point[Row.STEP_PRIMAL, i] / point[Row.PRIMAL, i])
        dual = max(dual, -point[Row.STEP_DUAL, i] / point[Row.DUAL, i])
    return min(1.0, way / primal), min(1.0, way / dual)


@kernel
def _complementarity(point: Matrix, size: int, primal: float, dual: float) -> float:
    """Mean of w∘s and q∘c after a step of the given lengths."""
    products = 0.0
    for i in range(size):
        moved = point[Row.PRIMAL, i] + primal * point[Row.STEP_PRIMAL, i]
        products += moved * (point[Row.DUAL, i] + dual * point[Row.STEP_DUAL, i])
    return products / size


@kernel
def _move(point: Matrix, size: int, primal: float, dual: float) -> None:
    """Iterate = remembered iterate + step."""
    for i in range(size):
        point[Row.PRIMAL, i] = point[Row.OLD_PRIMAL, i] + primal * point[Row.STEP_PRIMAL, i]
        point[Row.DUAL, i] = point[Row.OLD_DUAL, i] + dual * point[Row.STEP_DUAL, i]


@kernel
def _prepare_step(p: Interior, k: int, n: int, safe: bool) -> tuple[float, float]:
    """A Newton direction, how far to go along it, and the iterate remembered."""
    point, size = p.point, k + n
    count = factor_newton(p, k, n)
    mean = _complementarity(point, size, 0.0, 0.0)
    way = settings.SAFE_WAY
    if safe:
        _aim(point, size, settings.SAFE_CENTRING * mean)
    else:
        _aim(point, size, 0.0)
        find_direction(p, k, n, count)
        primal, dual = _lengths(point, size, 1.0)
        affine = _complementarity(point, size, primal, dual)
        _correct_aim(point, size, mean * min(1.0, max(0.0, affine / mean)) ** 3)
        way = min(settings.LONGEST_WAY, max(settings.SHORTEST_WAY, 1.0 - settings.HASTE * mean))
    find_direction(p, k, n, count)
    scaled_copy(1.0, point[Row.PRIMAL, :size], point[Row.OLD_PRIMAL, :size])
    scaled_copy(1.0, point[Row.DUAL, :size], point[Row.OLD_DUAL, :size])
    return _lengths(point, size, way)


@kernel
def _iterate(
    p: Interior, k: int, n: int, goal: Goal, safe: bool, limit: int
) -> tuple[float, float, int]:
    """Interior-point steps from the iterate in `p`: best bounds, number of steps.

    The points behind the bounds are left in BEST and BEST_AT.
    """
    point, size = p.point, k + n
    best_lower = 0.0
    best_upper = math.inf
    merit = math.inf
    primal = dual = 0.0
    shortened = settings.SHORTENINGS
    step = 0
    while True:
        reached = math.inf
        if evaluate(p, k, n):
            reached = _reset_slacks(point, k, n)
        if shortened < settings.SHORTENINGS and not reached <= settings.MERIT_GROWTH * merit:
            shortened += 1
            primal *= settings.SHORTENING
            dual *= settings.SHORTENING
            _move(point, size, primal, dual)
            continue
        if not reached < math.inf:
            break
        merit = reached
        lower, upper = bounds(point, k, n)
        if lower > best_lower:
            best_lower = lower
            scaled_copy(1.0, point[Row.PRIMAL, :k], point[Row.BEST, :k])
        if upper < best_upper:
            best_upper = upper
            scaled_copy(1.0, point[Row.DUAL, k:size], point[Row.BEST, k:size])
            scaled_copy(1.0, point[Row.PRIMAL, :k], point[Row.BEST_AT, :k])
        if upper - lower >= settings.CENTRED_GAP * lower:
            scaled_copy(1.0, point[Row.PRIMAL, :k], point[Row.CENTRED, :k])
            scaled_copy(1.0, point[Row.DUAL, k:size], point[Row.CENTRED, k:size])
        if step == limit or is_reached(goal, best_lower, best_upper):
            break
        primal, dual = _prepare_step(p, k, n, safe)
        _move(point, size, primal, dual)
        shortened = 0
        step += 1
    return best_lower, best_upper, step


@kernel
def _start(p: Interior, k: int, n: int, warm: bool) -> float:
    """Scale the problem to a value near 1 and set the iterate; the scale of the bounds, or 0.

    Cold: uniform weights and q ~ 1/c, strictly feasible. Warm: the centred iterate, found for
    nearby margins. The slack that it lost is given back in proportion to its gap, and no product
    w∘s or q∘c stays far below their mean; 0 where it is too far from optimal to help.
    """
    point, size = p.point, k + n
    if warm:
        scaled_copy(1.0, point[Row.CENTRED, :k], point[Row.PRIMAL, :k])
        scaled_copy(1.0, point[Row.CENTRED, k:size], point[Row.DUAL, k:size])
    else:
        fill(point[Row.PRIMAL, :k], 1.0 / k)
    if not evaluate(p, k, n):
        return 0.0
    nearest = lowest(point[Row.LEVEL, k:size])
    distance, load, product = settings.COLD_DISTANCE, settings.COLD_LOAD, 0.0
    if not warm:
        adopt_whitened(p, k, n)
        for i in range(k, size):
            point[Row.DUAL, i] = 1.0 / (distance * point[Row.LEVEL, i] / nearest - 1.0)
        sum_loads(p, k, n)
    scale, upper = bounds(point, k, n)
    heaviest = highest(point[Row.LEVEL, :k])
    if warm:
        gap = max(upper / scale - 1.0, settings.CENTRED_GAP)
        if not gap < settings.WARM_GAP:
            return 0.0
        distance, load = 1.0 + settings.WARM_SLACK * gap, 1.0 - settings.WARM_SLACK * gap
        product = settings.WARM_PRODUCT * gap / size
    scale_directions(p, n, math.sqrt(scale))
    for i in range(size):
        # F/nearest and load/heaviest are free of scale; the weights and multipliers are not.
        if i < k:
            point[Row.DUAL, i] = 1.0 - load * point[Row.LEVEL, i] / heaviest
            weight = distance * scale / nearest * point[Row.PRIMAL, i]
            point[Row.PRIMAL, i] = max(weight, product / point[Row.DUAL, i])
        else:
            point[Row.PRIMAL, i] = distance * point[Row.LEVEL, i] / nearest - 1.0
            multiplier = load * scale / heaviest * point[Row.DUAL, i]
            point[Row.DUAL, i] = max(multiplier, product / point[Row.PRIMAL, i])
    return scale


@kernel
def optimise(p: Interior, k: int, n: int, goal: Goal) -> int:
    """Solve the problem in `p` to `goal`: BEST, BEST_AT and CENTRED; the number of steps.

    Warm start if asked for, fast mode, and safe mode if neither reached the goal.
    """
    steps = 0
    for attempt in (Attempt.WARM, Attempt.FAST, Attempt.SAFE):
        if attempt == Attempt.WARM and not goal.warm:
            continue
        scale = _start(p, k, n, attempt == Attempt.WARM)
        if not 0.0 < scale < math.inf:
            continue
        safe = attempt == Attempt.SAFE
        scaled = in_units(goal, scale)
        limit = settings.SAFE_STEPS if safe else settings.FAST_STEPS
        lower, upper, more = _iterate(p, k, n, scaled, safe, limit)
        steps += more
        scale_directions(p, n, 1.0 / math.sqrt(scale))
        if is_reached(scaled, lower, upper):
            break
    return steps
