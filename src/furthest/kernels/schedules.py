"""When the candidate answer is renewed and when the stopping test is made.

Every step: both, each round. Sticky: the candidate is renewed on a grid of rounds, or when it is no
longer ε-best; the test is made each round. Lazy: both on the grid only. Grids as in the paper's
appendix on computational relaxations. A sub-sampled test keeps every guarantee.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from furthest.codes import Grid, Mode
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts

# Relative rounding error of a grid round.
ROUNDING = 1e-12


class Place(IntEnum):
    """Positions in Schedule.state: where on the grid we are."""

    NEXT = 0  # next round on the grid; 0 before the first
    INDEX = 1  # how many grid rounds there were


class Schedule(NamedTuple):
    """Mode, grid, and where on the grid we are. Rounds are numbered from 1, as in the paper."""

    mode: int
    grid: int
    start: int  # T₀
    ratio: float  # γ, or the probability p of the Bernoulli grid
    state: Counts  # (2,) see Place


def schedule(mode: int, grid: int, start: int, ratio: float) -> Schedule:
    """A fresh schedule for one run."""
    return Schedule(mode, grid, start, ratio, np.zeros(len(Place), np.int64))


@kernel
def is_random(rule: Schedule) -> bool:
    """Whether `on_grid` needs luck."""
    return rule.mode != Mode.EVERY and rule.grid == Grid.BERNOULLI


@kernel
def on_grid(rule: Schedule, this_round: int, luck: float) -> bool:
    """Whether this round is on the grid; moves the grid on. The first call always is.

    `luck` is uniform on [0, 1), where the schedule is random.

    Paper: sticky and lazy updates.
    """
    if rule.mode == Mode.EVERY:
        return True
    state = rule.state
    if rule.grid == Grid.BERNOULLI:
        first = state[Place.INDEX] == 0
        state[Place.INDEX] += 1
        return luck < rule.ratio or first
    if this_round < state[Place.NEXT]:
        return False
    while state[Place.NEXT] <= this_round:
        state[Place.NEXT] = _after(rule, state[Place.NEXT], state[Place.INDEX])
        state[Place.INDEX] += 1
    return True


@kernel
def _after(rule: Schedule, last: int, index: int) -> int:
    """The grid round that follows `last`.

    Paper: grids.
    """
    if last == 0:
        return rule.start
    if rule.grid == Grid.CONSTANT:
        return last + rule.start
    ratio = rule.ratio
    if rule.grid == Grid.DECREASING:
        ratio /= math.sqrt(index)
    # 1.1·10 is a little more than 11 in floating point, which must not become 12.
    return max(last + 1, math.ceil((1.0 + ratio) * last - ROUNDING * last))
