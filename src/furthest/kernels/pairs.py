"""The decision of the test for bounded rewards of plain options: one e-process for each pair.

Only counts and sums matter: n_a results of arm a with the sum s_a, both as if rewards were within
[0, 1]. Answer z is wrong beside the best one x if p_z < c·p_x − e. The evidence against that is a
mixture of exponential tilts, z up and x down; how strong they are is chosen by the cell in which
p_x lies, on which the proof may condition. Statement and proof: docs/theory/pairs.md.
"""

import math
from enum import IntEnum
from typing import NamedTuple

from furthest.kernels.evidence import Clock, Evidence, Squares
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix, Vector

LOG_PI = math.log(math.pi)
# Newton's method from outside ends here; each step only shrinks an interval that holds the root.
STEPS, NEGLIGIBLE = 60, 1e-12
# The logit of a mean that is 0 for all purposes.
FAR = -700.0
# A minimum is known when what is certain below it is so near.
CERTAIN = 1e-10
# e to minus this is nothing beside 1: leaving it out makes the evidence smaller, if anything.
NOTHING = 40.0


class Price(IntEnum):
    """Rows of Pairs.required."""

    INTERVAL = 0  # ln of what M_a(p) must reach to rule out p
    PAIR = 1  # ln of what E must reach
    LEVEL = 2  # ln 1/δ, which is a part of both


class Tilt(IntEnum):
    """Rows of Pairs.tilts."""

    SIZE = 0  # θ > 0: up for z, and −θ, down, for x
    UP_FACTOR = 1  # e^θ − 1; 0 in one that goes by squares
    DOWN_FACTOR = 2  # e^−θ − 1; 0 in one that goes by squares
    LOSS = 3  # what its squares cost; 0 in others


class Part(IntEnum):
    """Rows of Pairs.parts: what one tilt adds to an exponent, and to its slope in p_x."""

    UP = 0
    UP_SLOPE = 1
    DOWN = 2
    DOWN_SLOPE = 3


class Pairs(NamedTuple):
    """The question in units of the interval, the mixture, and what failed last."""

    places: Counts  # (Z,) which arm each answer is
    low: float  # lower bound of the rewards, in the task's units
    c: float  # z is wrong beside x if p_z < c·p_x − e
    e: float
    least: float  # with a smaller p_x no z can be wrong
    edges: Vector  # (cells + 1,)
    tilts: Matrix  # (4, tilts) see Tilt
    first_tilts: Counts  # (cells + 1,) where the tilts of each cell begin …
    first_terms: Counts  # (cells + 1,) … and its terms
    log_weights: Vector  # (terms,)
    ups: Counts  # (terms,) which tilt z has in it …
    downs: Counts  # (terms,) … and which x
    squares: Vector  # (K,) Σ (X − m)², m predicted; none where no term goes by them
    required: Matrix  # (3, levels) see Price
    obstacles: Counts  # (Z, 2) x and cell by which z failed last; −1 before
    failed_at: Vector  # (Z,) p_x at which it did
    parts: Matrix  # (4, tilts) scratch; see Part
    exponents: Vector  # (terms,) scratch


class Sample(NamedTuple):
    """All that is known of one arm."""

    n: float
    s: float
    squares: float


class Least(NamedTuple):
    """The minimum of a convex function on an interval."""

    bound: float  # it is certainly not below this
    value: float  # the least that was seen …
    at: float  # … and where


@kernel
def sample(state: Pairs, evidence: Evidence, answer: int) -> Sample:
    """The results of an answer's arm, rescaled."""
    arm = state.places[answer]
    n = float(evidence.counts[arm])
    s = min(max(0.5 * (evidence.sums[arm] - state.low * n), 0.0), n)
    return Sample(n, s, state.squares[arm] if state.squares.shape[0] > 0 else 0.0)


@kernel
def observe_squares(state: Pairs, evidence: Evidence, arm: int, reward: float) -> None:
    """Add the squares of what the arm's own past did not predict, of one reward or several."""
    if state.squares.shape[0] > 0:
        size = float(evidence.clock[Clock.SIZE])
        n = float(evidence.counts[arm]) - size
        value = 0.5 * (reward / size - state.low)
        before = 0.5 * (evidence.sums[arm] - reward - state.low * n)
        predicted = min(max((0.5 + before) / (1.0 + n), 0.0), 1.0)
        state.squares[arm] += 0.25 * evidence.residual[Squares.WITHIN]
        state.squares[arm] += size * (value - predicted) ** 2


@kernel
def log_normaliser(n: float, s: float) -> float:
    """ln of B(s + ½, n − s + ½)/π: Jeffreys' mixture is this over p^s (1 − p)^(n − s)."""
    return math.lgamma(s + 0.5) + math.lgamma(n - s + 0.5) - math.lgamma(n + 1.0) - LOG_PI


@kernel
def log_against(n: float, s: float, p: float) -> float:
    """ln M(p), the evidence against the mean p; infinite where p is impossible."""
    found = log_normaliser(n, s)
    if s > 0.0:
        found -= s * math.log(p) if p > 0.0 else -math.inf
    if n - s > 0.0:
        found -= (n - s) * math.log1p(-p) if p < 1.0 else -math.inf
    return found


@kernel
def interval(n: float, s: float, required: float) -> tuple[float, float]:
    """The means against which there is less evidence than required, or a little more than these.

    ln M is convex in the logit u of p, with slopes −s and n − s far out. From where that line
    reaches what is required Newton's method comes nearer from outside, and never gets inside.
    """
    constant = log_normaliser(n, s) - required
    return _least_mean(n, s, constant), 1.0 - _least_mean(n, n - s, constant)


@kernel
def _least_mean(n: float, s: float, constant: float) -> float:
    """The lower end of the interval; the upper one is that of what is missing to 1."""
    if not constant > FAR * s:
        return 0.0
    u = constant / s
    for _ in range(STEPS):
        falling = s - n / (1.0 + math.exp(-u))
        over = constant - s * u + n * (max(u, 0.0) + math.log1p(math.exp(-abs(u))))
        if not (falling > 0.0 and over > NEGLIGIBLE * falling * (1.0 + abs(u))):
            break
        u += over / falling
    return (1.0 - NEGLIGIBLE) / (1.0 + math.exp(-u))


@kernel
def log_e_value(
    state: Pairs, cell: int, p: float, own: Sample, best: Sample
) -> tuple[float, float]:
    """ln E at p_x = p and p_z = c·p − e, and its slope in p."""
    _add_up(state, cell, p, own, best)
    parts, exponents, ups, downs = state.parts, state.exponents, state.ups, state.downs
    first, last = state.first_terms[cell], state.first_terms[cell + 1]
    largest = -math.inf
    for j in range(first, last):
        exponent = state.log_weights[j] + parts[Part.UP, ups[j]] + parts[Part.DOWN, downs[j]]
        exponents[j] = exponent
        largest = max(largest, exponent)
    total = slope = 0.0
    for j in range(first, last):
        if exponents[j] < largest - NOTHING:
            continue
        share = math.exp(exponents[j] - largest)
        total += share
        slope += share * (parts[Part.UP_SLOPE, ups[j]] + parts[Part.DOWN_SLOPE, downs[j]])
    return largest + math.log(total), slope / total


@kernel
def _add_up(state: Pairs, cell: int, p: float, own: Sample, best: Sample) -> None:
    """What each tilt of the cell adds where z, or x, has it: few tilts make many terms."""
    tilts, parts = state.tilts, state.parts
    q = state.c * p - state.e
    for j in range(state.first_tilts[cell], state.first_tilts[cell + 1]):
        size, up, down = tilts[Tilt.SIZE, j], tilts[Tilt.UP_FACTOR, j], tilts[Tilt.DOWN_FACTOR, j]
        loss = tilts[Tilt.LOSS, j]
        if loss > 0.0:
            parts[Part.UP, j] = size * (own.s - own.n * q) - loss * own.squares
            parts[Part.UP_SLOPE, j] = -size * own.n * state.c
            parts[Part.DOWN, j] = size * (best.n * p - best.s) - loss * best.squares
            parts[Part.DOWN_SLOPE, j] = size * best.n
        else:
            parts[Part.UP, j] = size * own.s - own.n * math.log1p(q * up)
            parts[Part.UP_SLOPE, j] = -own.n * state.c * up / (1.0 + q * up)
            parts[Part.DOWN, j] = -size * best.s - best.n * math.log1p(p * down)
            parts[Part.DOWN_SLOPE, j] = -best.n * down / (1.0 + p * down)


@kernel
def least_in(
    state: Pairs, cell: int, low: float, high: float, own: Sample, best: Sample, enough: float
) -> Least:
    """The least ln E for p_x from `low` to `high`; only so far that it is clear if it is `enough`.

    It is convex: two tangents meet below it. An `enough` of NaN asks for the minimum itself.
    """
    below, falling = log_e_value(state, cell, low, own, best)
    if falling >= 0.0 or below < enough or low >= high:
        return Least(below, below, low)
    above, rising = log_e_value(state, cell, high, own, best)
    if rising <= 0.0 or above < enough:
        return Least(above, above, high)
    value, at, bound = (below, low, -math.inf) if below < above else (above, high, -math.inf)
    width = high - low
    for _ in range(STEPS):
        meet = (above - below + falling * low - rising * high) / (falling - rising)
        meet = min(max(meet, low), high)
        bound = min(below + falling * (meet - low), above + rising * (meet - high))
        if bound >= enough or value - bound <= CERTAIN:
            break
        # Where the slope would be 0 if it were linear; the middle where that gets on too slowly.
        middle = (low * rising - high * falling) / (rising - falling)
        if high - low > 0.5 * width or not low < middle < high:
            middle = 0.5 * (low + high)
        width = high - low
        found, slope = log_e_value(state, cell, middle, own, best)
        if found < value:
            value, at = found, middle
        if found < enough or slope == 0.0:
            bound = found if slope == 0.0 else bound
            break
        if slope < 0.0:
            low, below, falling = middle, found, slope
        else:
            high, above, rising = middle, found, slope
    return Least(min(bound, value), value, at)


@kernel
def accepts(state: Pairs, evidence: Evidence, z: int, level: int) -> bool:
    """Whether every other answer is shown not to be better by too much; first what failed last."""
    enough = state.required[Price.PAIR, level]
    if state.obstacles[z, 0] >= 0 and _still_fails(state, evidence, z, level):
        return False
    own = sample(state, evidence, z)
    low, _ = interval(own.n, own.s, state.required[Price.INTERVAL, level])
    for x in range(state.places.shape[0]):
        if state.places[x] == state.places[z]:
            continue
        found, cell = weakest(state, evidence, own, low, x, level, enough)
        if not found.bound >= enough:
            state.obstacles[z, 0], state.obstacles[z, 1] = x, cell
            state.failed_at[z] = found.at
            return False
    return True


@kernel
def weakest(
    state: Pairs,
    evidence: Evidence,
    own: Sample,
    low: float,
    x: int,
    level: int,
    enough: float,
) -> tuple[Least, int]:
    """The least evidence against p_z < c·p_x − e, over all p_x that are possible, and its cell.

    `low` is the least p_z that is possible. Infinite where no p_x is.
    """
    best = sample(state, evidence, x)
    below, above = interval(best.n, best.s, state.required[Price.INTERVAL, level])
    below = max(below, state.least, (low + state.e) / state.c)
    least, where = Least(math.inf, math.inf, math.nan), -1
    for cell in range(state.edges.shape[0] - 1):
        first, last = max(below, state.edges[cell]), min(above, state.edges[cell + 1])
        if first > last:
            continue
        found = least_in(state, cell, first, last, own, best, enough)
        if not found.bound >= least.bound:
            least, where = found, cell
        if least.bound < enough or math.isnan(least.bound):
            break
    return least, where


@kernel
def _still_fails(state: Pairs, evidence: Evidence, z: int, level: int) -> bool:
    """Whether the p at which z failed last is still possible, and still fails."""
    x, p = state.obstacles[z, 0], state.failed_at[z]
    own, best = sample(state, evidence, z), sample(state, evidence, x)
    required = state.required[Price.INTERVAL, level]
    q = state.c * p - state.e
    if not log_against(best.n, best.s, p) < required:
        return False
    if q < own.s / own.n and not log_against(own.n, own.s, q) < required:
        return False
    found, _ = log_e_value(state, state.obstacles[z, 1], p, own, best)
    return not found >= state.required[Price.PAIR, level]
