"""Column and constraint generation: the interior point on the arms and alternatives that matter.

Solve a selection, price everything, extend the selection. With weights and multipliers normalised,
arms of larger load than any in the selection, and alternatives of smaller F, are what its solution
has overlooked.
"""

import math

from furthest.kernels.design import settings
from furthest.kernels.design.geometry import (
    adopt_whitened,
    bounds,
    measure_distances,
    spread_multipliers,
)
from furthest.kernels.design.goal import Goal, is_reached, within
from furthest.kernels.design.interior import Interior, Row
from furthest.kernels.design.steps import optimise
from furthest.kernels.design.workspace import Workspace
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    Counts,
    Matrix,
    Vector,
    column_products,
    dot,
    fill,
    lowest,
    scaled_copy,
    squared_lengths,
    total,
)


@kernel
def _price(full: Interior, k: int, n: int) -> tuple[float, float]:
    """F and load of every alternative and arm at PRIMAL and DUAL, and the bounds from them."""
    if not measure_distances(full, k, n):
        return 0.0, math.inf
    loads = full.point[Row.LEVEL, :k]
    spread_multipliers(full, k, n)
    fill(loads, 0.0)
    for i in range(full.arms.shape[0]):
        for a in range(k):
            loads[a] += full.white_arms[i, a] * full.spread_arms[i, a]
    return bounds(full.point, k, n)


@kernel
def _warm_up(full: Interior, k: int, n: int) -> None:
    """Multiplicative updates w_a ← w_a·load_a, the multipliers being a soft minimum of F.

    They come nowhere near the optimum, but show which arms and alternatives matter.
    """
    point = full.point
    weights, multipliers = point[Row.PRIMAL, :k], point[Row.DUAL, k : k + n]
    loads, distances = point[Row.LEVEL, :k], point[Row.LEVEL, k : k + n]
    fill(weights, 1.0 / k)
    fill(multipliers, 1.0 / n)
    for update in range(settings.WARM_UP):
        _price(full, k, n)
        if update == 0:
            adopt_whitened(full, k, n)
        else:
            mean = dot(weights, loads)
            for a in range(k):
                weights[a] = max(weights[a] * loads[a] / mean, settings.KEPT_WEIGHT / k)
        nearest = lowest(distances)
        for x in range(n):
            multipliers[x] = (nearest / distances[x]) ** settings.SOFTNESS
        scaled_copy(1.0 / total(multipliers), multipliers, multipliers)


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
    columns, length = full.spread_arms, full.point[Row.WORK, :k]
    d = columns.shape[0]
    for i in range(d):
        for a in range(k):
            columns[i, a] = math.sqrt(full.point[Row.PRIMAL, a]) * full.white_arms[i, a]
    count = 0
    for _ in range(d):
        squared_lengths(columns, length)
        count = _select(length, 0.0, 1, chosen, has, count)
        pivot = chosen[count - 1]
        norm = length[pivot]
        column_products(columns, pivot, columns, 0, k, length)
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
def _scatter(scale: float, source: Vector, chosen: Counts, out: Vector) -> None:
    """Put the scaled entries at the chosen places, zero elsewhere."""
    fill(out, 0.0)
    for j in range(source.shape[0]):
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


@kernel
def _begin(work: Workspace, k_all: int, n_all: int, warm: bool) -> int:
    """Weights and multipliers to begin with, priced; and the first selection of arms, its size."""
    full, arms = work.everything, work.arms
    point, d = full.point, full.arms.shape[0]
    if warm:
        scaled_copy(1.0, point[Row.CENTRED, :k_all], point[Row.PRIMAL, :k_all])
        scaled_copy(1.0, point[Row.CENTRED, k_all:], point[Row.DUAL, k_all:])
    else:
        _warm_up(full, k_all, n_all)
    _price(full, k_all, n_all)
    for a in range(k_all):
        work.has_arm[a] = 0
    for x in range(n_all):
        work.has_alternative[x] = 0
    k = _select_basis(full, k_all, arms, work.has_arm)
    support = settings.SUPPORT_TENTHS * (d * (d + 1) // 2) // 10
    return _select(point[Row.PRIMAL, :k_all], 0.0, support, arms, work.has_arm, k)


@kernel
def _solve_selection(
    work: Workspace, k_all: int, n_all: int, k: int, n: int, goal: Goal
) -> tuple[float, float, int]:
    """Solve the selection; its solution priced on everything: bounds, and number of steps."""
    full, p = work.everything, work.interior
    arms, alternatives = work.arms, work.alternatives
    point, selected = full.point, p.point
    _gather(full.arms, arms, k, p.arms)
    _gather(full.directions, alternatives, n, p.directions)
    for j in range(k):
        selected[Row.CENTRED, j] = point[Row.CENTRED, arms[j]]
    for j in range(n):
        selected[Row.CENTRED, k + j] = point[Row.CENTRED, k_all + alternatives[j]]
    steps = optimise(p, k, n, goal)
    for row in (Row.PRIMAL, Row.CENTRED):
        scale = 1.0 / total(selected[row, :k])
        _scatter(scale, selected[row, :k], arms, point[row, :k_all])
    for row in (Row.DUAL, Row.CENTRED):
        scale = 1.0 / total(selected[row, k : k + n])
        _scatter(scale, selected[row, k : k + n], alternatives, point[row, k_all:])
    lower, upper = _price(full, k_all, n_all)
    return lower, upper, steps


@kernel
def generate(work: Workspace, k_all: int, n_all: int, goal: Goal) -> int:
    """Solve the problem in work.everything to `goal`, into BEST and BEST_AT; number of steps."""
    arms, alternatives = work.arms, work.alternatives
    has_arm, has_alternative = work.has_arm, work.has_alternative
    point, d = work.everything.point, work.everything.arms.shape[0]
    distances = point[Row.LEVEL, k_all : k_all + n_all]
    load, nearness = point[Row.LEVEL, :k_all], point[Row.SQUARE, k_all : k_all + n_all]
    k = _begin(work, k_all, n_all, goal.warm)
    n, more, least = 0, settings.FIRST_ALTERNATIVES * d, -math.inf
    floor, warm, steps = settings.FIRST_GAP, False, 0
    for _ in range(settings.GENERATIONS):
        scaled_copy(-1.0, distances, nearness)
        n = _select(nearness, least, more, alternatives, has_alternative, n)
        lower, upper, taken = _solve_selection(work, k_all, n_all, k, n, within(floor, warm))
        steps += taken
        if is_reached(goal, lower, upper):
            break
        gap = upper / lower - 1.0
        scaled_copy(-1.0, distances, nearness)
        heaviest = _best_score(load, arms, k)
        nearest = _best_score(nearness, alternatives, n)
        off = settings.OUTSIDE * max(gap, settings.LATE_GAP)
        k = _keep(load, (1.0 - off) * heaviest, d, arms, has_arm, k)
        n = _keep(nearness, (1.0 + off) * nearest, 0, alternatives, has_alternative, n)
        overlooked = settings.OVERLOOKED * min(gap, settings.EARLY_GAP)
        k = _select(load, (1.0 + overlooked) * heaviest, settings.MORE_ARMS * d, arms, has_arm, k)
        least, more = (1.0 - overlooked) * nearest, settings.MORE_ALTERNATIVES * d
        floor = max(settings.INNER_SHARE * goal.floor, min(floor, gap / settings.INNER_PARTS))
        warm = True
    scaled_copy(1.0, point[Row.PRIMAL, :k_all], point[Row.BEST, :k_all])
    scaled_copy(1.0, point[Row.PRIMAL, :k_all], point[Row.BEST_AT, :k_all])
    scaled_copy(1.0, point[Row.DUAL, k_all:], point[Row.BEST, k_all:])
    return steps
