"""The decision of `ranked-pairs`: bounded rewards of plain options, with masses by rank.

A wrong answer of rank k + 1 is outranked by k others. Beside the evidence against a pair (z, x),
as in kernels/pairs.py, there is that against a trio: p_z ≤ p_j ≤ c·p_x − e, tilts of z up, of x and
j down. All of it is looked at for each cell of p_x by itself. Statement and proof:
docs/theory/pairs.md, "Masses by rank".
"""

import math
from enum import IntEnum
from typing import NamedTuple

from furthest.kernels.evidence import Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix, Vector, sort_together
from furthest.kernels.pairs import (
    CERTAIN,
    NOTHING,
    STEPS,
    Least,
    Pairs,
    Sample,
    Tilt,
    interval,
    least_in,
    log_e_value,
    sample,
)
from furthest.kernels.ranked import LARGEST, Rank, link, weak_set

# So many of a set that failed are remembered; a larger one is looked for anew.
REMEMBERED = 8


class Price(IntEnum):
    """Rows of RankedPairs.required: what each confidence level asks for."""

    INTERVAL = 0  # ln of what M_a(p) must reach to rule out p
    FIRST = 1  # ln 1/(π₁δ)
    ENOUGH = 2  # with so much evidence against (z, x) any rank is harmless
    LEVEL = 3  # ln 1/δ


class Part(IntEnum):
    """Rows of RankedPairs.parts: what one tilt adds to an exponent, and to its slope."""

    UP = 0  # of z, at p_z
    UP_SLOPE = 1
    BEST = 2  # of x, down, at p_x
    BEST_SLOPE = 3
    THIRD = 4  # of j, down, at p_j = p_z
    THIRD_SLOPE = 5


class Obstacle(IntEnum):
    """Columns of RankedPairs.obstacles, before the answers that outrank z, the top one first."""

    BEST = 0  # x
    CELL = 1
    SIZE = 2  # how many outrank z; 0 where the pair alone has failed, −1 if nothing is remembered


class Point(IntEnum):
    """Columns of RankedPairs.points, before p_z = p_j of each trio: where evidence was least."""

    PAIR = 0  # p_x, against (z, x)
    TOP = 1  # p_x, against (j*, x)


# Where the answers begin, and their points.
FIRST_ANSWER, FIRST_POINT = len(Obstacle), len(Point)


class Trios(NamedTuple):
    """The mixture against trios, cell by cell, as `Pairs` has that against pairs."""

    tilts: Matrix  # (4, tilts) see Tilt
    first_tilts: Counts
    first_terms: Counts
    log_weights: Vector
    ups: Counts  # which tilt z has in a term, …
    bests: Counts  # … which x …
    thirds: Counts  # … and which j


class RankedPairs(NamedTuple):
    """The question, the mixtures, masses by rank, and what failed last."""

    pairs: Pairs
    asked: Pairs  # the same; or, of the answer in question alone, with another ε
    trios: Trios
    ranks: Matrix  # (2, n) see Rank
    required: Matrix  # (4, levels) see Price
    obstacles: Counts  # (Z, 3 + remembered) see Obstacle
    points: Matrix  # (Z, 2 + remembered) see Point
    lows: Vector  # (Z,) scratch: intervals of the means …
    highs: Vector  # (Z,) … at the level in question
    alone: Vector  # (Z,) scratch: what (j, x) adds to the sum, and at which p_x …
    alone_at: Vector
    beside: Vector  # (Z,) … what (z, x, j) adds, and at which p_z
    beside_at: Vector
    rivals: Counts  # (Z,) scratch
    order: Counts  # (Z,) scratch
    following: Counts  # (Z + 1,) scratch
    parts: Matrix  # (6, tilts) scratch; see Part
    exponents: Vector  # (terms,) scratch


class Trio(NamedTuple):
    """What is known of z, of x and of j, and the least p_x of the cell."""

    own: Sample
    best: Sample
    third: Sample
    least: float


@kernel
def accepts(state: RankedPairs, evidence: Evidence, z: int, level: int) -> bool:
    """Whether no x, and no answers that may outrank z, leave room for a wrong z.

    First what failed last.
    """
    if state.obstacles[z, Obstacle.SIZE] >= 0 and _still_fails(state, evidence, z, level):
        return False
    pairs = state.pairs
    answers, cells = pairs.places.shape[0], pairs.edges.shape[0] - 1
    for x in range(answers):
        found = sample(pairs, evidence, x)
        low, high = interval(found.n, found.s, state.required[Price.INTERVAL, level])
        state.lows[x], state.highs[x] = low, high
    for x in range(answers):
        if pairs.places[x] == pairs.places[z]:
            continue
        below = max(state.lows[x], pairs.least)
        for cell in range(cells):
            first, last = max(below, pairs.edges[cell]), min(state.highs[x], pairs.edges[cell + 1])
            if first <= last and _fails_in(state, evidence, z, x, cell, first, last, level):
                state.obstacles[z, Obstacle.BEST] = x
                state.obstacles[z, Obstacle.CELL] = cell
                return False
    return True


@kernel
def _fails_in(
    state: RankedPairs,
    evidence: Evidence,
    z: int,
    x: int,
    cell: int,
    first: float,
    last: float,
    level: int,
) -> bool:
    """Whether z may be wrong beside x with p_x in a cell, from `first` to `last`."""
    pairs, asked, required, points = state.pairs, state.asked, state.required, state.points[z]
    own, best = sample(pairs, evidence, z), sample(pairs, evidence, x)
    begin = max(first, (state.lows[z] + asked.e) / asked.c)
    if begin > last:
        return False
    found = least_in(asked, cell, begin, last, own, best, math.nan)
    points[Point.PAIR] = found.at
    if not found.bound >= required[Price.FIRST, level]:
        state.obstacles[z, Obstacle.SIZE] = 0
        return True
    if found.bound >= required[Price.ENOUGH, level]:
        return False
    count = _gather(state, evidence, z, x, cell, first, last, level)
    against = math.exp(min(found.bound - required[Price.LEVEL, level], LARGEST))
    alone, beside, following = state.alone, state.beside, state.following
    sort_together(beside, alone, state.order, count)
    link(alone, following, count)
    size, top = weak_set(state.ranks, against, alone, beside, following, count)
    if size > 0:
        _remember(state, z, size, top)
    return size > 0


@kernel
def _gather(
    state: RankedPairs,
    evidence: Evidence,
    z: int,
    x: int,
    cell: int,
    first: float,
    last: float,
    level: int,
) -> int:
    """The evidence of all that may outrank z, and how many these are."""
    pairs, required = state.pairs, state.required
    own, best = sample(pairs, evidence, z), sample(pairs, evidence, x)
    highest, count = pairs.c * last - pairs.e, 0
    for j in range(pairs.places.shape[0]):
        begin = max(first, (state.lows[j] + pairs.e) / pairs.c)
        low, high = max(state.lows[j], state.lows[z]), min(state.highs[j], highest)
        if pairs.places[j] in (pairs.places[z], pairs.places[x]) or begin > last or low > high:
            continue
        third = sample(pairs, evidence, j)
        alone = least_in(pairs, cell, begin, last, third, best, math.nan)
        beside = least_of_trio(state, cell, low, high, Trio(own, best, third, first))
        state.rivals[count], state.order[count] = j, count
        state.alone_at[count], state.beside_at[count] = alone.at, beside.at
        state.alone[count] = math.exp(min(alone.bound - required[Price.FIRST, level], 0.0))
        excess = beside.bound - required[Price.LEVEL, level]
        state.beside[count] = math.exp(min(excess, LARGEST))
        count += 1
    return count


@kernel
def _remember(state: RankedPairs, z: int, size: int, top: int) -> None:
    """The top one and the weakest others, and where the evidence of each was least."""
    obstacle, points = state.obstacles[z], state.points[z]
    if size > points.shape[0] - FIRST_POINT:
        obstacle[Obstacle.SIZE] = -1
        return
    obstacle[Obstacle.SIZE] = size
    points[Point.TOP] = state.alone_at[state.order[top]]
    place, weakest = 0, -1
    while place < size:
        which = state.order[top if place == 0 else weakest]
        if place == 0 or weakest != top:
            obstacle[FIRST_ANSWER + place] = state.rivals[which]
            points[FIRST_POINT + place] = state.beside_at[which]
            place += 1
        weakest += 1


@kernel
def _still_fails(state: RankedPairs, evidence: Evidence, z: int, level: int) -> bool:
    """Whether what failed last is still possible where it did, and still fails.

    There the evidence is no less than the least, and a set is one of many.
    """
    pairs, asked, required = state.pairs, state.asked, state.required
    obstacle, points = state.obstacles[z], state.points[z]
    x, cell, size = obstacle[Obstacle.BEST], obstacle[Obstacle.CELL], obstacle[Obstacle.SIZE]
    own, best = sample(pairs, evidence, z), sample(pairs, evidence, x)
    limit = required[Price.INTERVAL, level]
    least, _ = interval(own.n, own.s, limit)
    low, high = interval(best.n, best.s, limit)
    p = points[Point.PAIR]
    if not (low <= p <= high and asked.c * p - asked.e >= least):
        return False
    against, _ = log_e_value(asked, cell, p, own, best)
    if not against >= required[Price.FIRST, level]:
        return True
    if size == 0:
        return False
    cost = required[Price.LEVEL, level]
    total = state.ranks[Rank.FALLBACK, size - 1] * math.exp(min(against - cost, LARGEST))
    first = max(low, pairs.least, pairs.edges[cell])
    for i in range(size):
        third = sample(pairs, evidence, obstacle[FIRST_ANSWER + i])
        lowest, highest = interval(third.n, third.s, limit)
        if i == 0:
            p = points[Point.TOP]
            if not (low <= p <= high and pairs.c * p - pairs.e >= lowest):
                return False
            alone, _ = log_e_value(pairs, cell, p, third, best)
            total += math.exp(min(alone - required[Price.FIRST, level], LARGEST))
        q = points[FIRST_POINT + i]
        if not (max(least, lowest) <= q <= highest and q + pairs.e <= pairs.c * high):
            return False
        both, _ = _log_e_value_of_trio(state, cell, q, Trio(own, best, third, first))
        total += state.ranks[Rank.SUMMED, size - 1] * math.exp(min(both - cost, LARGEST))
    return not total >= 1.0


@kernel
def least_of_trio(state: RankedPairs, cell: int, low: float, high: float, trio: Trio) -> Least:
    """The least ln E against a trio for p_z = p_j from `low` to `high`, as kernels/pairs.py has it.

    ln E is convex in all three means; p_x is the least that goes with p_j: the slope may jump.
    """
    below, falling = _log_e_value_of_trio(state, cell, low, trio)
    if falling >= 0.0 or low >= high:
        return Least(below, below, low)
    above, rising = _log_e_value_of_trio(state, cell, high, trio)
    if rising <= 0.0:
        return Least(above, above, high)
    value, at, bound = (below, low, -math.inf) if below < above else (above, high, -math.inf)
    width = high - low
    for _ in range(STEPS):
        meet = (above - below + falling * low - rising * high) / (falling - rising)
        meet = min(max(meet, low), high)
        bound = min(below + falling * (meet - low), above + rising * (meet - high))
        if value - bound <= CERTAIN:
            break
        middle = (low * rising - high * falling) / (rising - falling)
        if high - low > 0.5 * width or not low < middle < high:
            middle = 0.5 * (low + high)
        width = high - low
        found, slope = _log_e_value_of_trio(state, cell, middle, trio)
        if found < value:
            value, at = found, middle
        if slope == 0.0:
            bound = found
            break
        if slope < 0.0:
            low, below, falling = middle, found, slope
        else:
            high, above, rising = middle, found, slope
    return Least(min(bound, value), value, at)


@kernel
def _log_e_value_of_trio(
    state: RankedPairs, cell: int, q: float, trio: Trio
) -> tuple[float, float]:
    """ln E at p_z = p_j = q and the least p_x with which both are wrong; and its slope in q."""
    pairs, trios, parts, exponents = state.pairs, state.trios, state.parts, state.exponents
    p = (q + pairs.e) / pairs.c
    bound = 1.0 / pairs.c if p >= trio.least else 0.0  # how p_x goes with q
    _add_up(state, cell, q, max(p, trio.least), trio)
    first, last = trios.first_terms[cell], trios.first_terms[cell + 1]
    ups, bests, thirds = trios.ups, trios.bests, trios.thirds
    largest = -math.inf
    for j in range(first, last):
        exponent = trios.log_weights[j] + parts[Part.UP, ups[j]] + parts[Part.BEST, bests[j]]
        exponents[j] = exponent + parts[Part.THIRD, thirds[j]]
        largest = max(largest, exponents[j])
    total = slope = 0.0
    for j in range(first, last):
        if exponents[j] < largest - NOTHING:
            continue
        share = math.exp(exponents[j] - largest)
        total += share
        own = parts[Part.UP_SLOPE, ups[j]] + parts[Part.THIRD_SLOPE, thirds[j]]
        slope += share * (own + bound * parts[Part.BEST_SLOPE, bests[j]])
    return largest + math.log(total), slope / total


@kernel
def _add_up(state: RankedPairs, cell: int, q: float, p: float, trio: Trio) -> None:
    """What each tilt of the cell adds where z, x, or j, has it."""
    tilts, parts = state.trios.tilts, state.parts
    own, best, third, _ = trio
    for j in range(state.trios.first_tilts[cell], state.trios.first_tilts[cell + 1]):
        size, up, down = tilts[Tilt.SIZE, j], tilts[Tilt.UP_FACTOR, j], tilts[Tilt.DOWN_FACTOR, j]
        loss = tilts[Tilt.LOSS, j]
        if loss > 0.0:
            parts[Part.UP, j] = size * (own.s - own.n * q) - loss * own.squares
            parts[Part.UP_SLOPE, j] = -size * own.n
            parts[Part.BEST, j] = size * (best.n * p - best.s) - loss * best.squares
            parts[Part.BEST_SLOPE, j] = size * best.n
            parts[Part.THIRD, j] = size * (third.n * q - third.s) - loss * third.squares
            parts[Part.THIRD_SLOPE, j] = size * third.n
        else:
            parts[Part.UP, j] = size * own.s - own.n * math.log1p(q * up)
            parts[Part.UP_SLOPE, j] = -own.n * up / (1.0 + q * up)
            parts[Part.BEST, j] = -size * best.s - best.n * math.log1p(p * down)
            parts[Part.BEST_SLOPE, j] = -best.n * down / (1.0 + p * down)
            parts[Part.THIRD, j] = -size * third.s - third.n * math.log1p(q * down)
            parts[Part.THIRD_SLOPE, j] = -third.n * down / (1.0 + q * down)
