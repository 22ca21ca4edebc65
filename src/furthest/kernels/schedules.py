"""When the candidate answer is renewed and when the stopping test is made.

Every step: both, each round. Sticky: the candidate is renewed on a grid of rounds, or when it is no
longer ε-best; the test is made each round. Lazy: both on the grid only. Grids as in the paper's
appendix on computational relaxations. A sub-sampled test keeps every guarantee.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator

from furthest.kernels.jit import inlined, kernel
from furthest.kernels.linalg import Counts

EVERY = 0
STICKY = 1
LAZY = 2

CONSTANT = 0
GEOMETRIC = 1
DECREASING = 2
BERNOULLI = 3

# Positions in Schedule.state.
NEXT = 0  # next round on the grid; 0 before the first
INDEX = 1  # how many grid rounds there were


# Relative rounding error of a grid round.
ROUNDING = 1e-12


class Schedule(NamedTuple):
    """Mode, grid, and where on the grid we are. Rounds are numbered from 1, as in the paper."""

    mode: int
    grid: int
    start: int  # T₀
    ratio: float  # γ, or the probability p of the Bernoulli grid
    state: Counts  # (2,) see the positions above


def schedule(mode: int, grid: int, start: int, ratio: float) -> Schedule:
    """A fresh schedule for one run."""
    return Schedule(mode, grid, start, ratio, np.zeros(2, np.int64))


@inlined
def on_grid(rule: Schedule, this_round: int, rng: Generator) -> bool:
    """Whether this round is on the grid; moves the grid on. The first call always is."""
    if rule.mode == EVERY:
        return True
    state = rule.state
    if rule.grid == BERNOULLI:
        first = state[INDEX] == 0
        state[INDEX] += 1
        return rng.random() < rule.ratio or first
    if this_round < state[NEXT]:
        return False
    while state[NEXT] <= this_round:
        state[NEXT] = _after(rule, state[NEXT], state[INDEX])
        state[INDEX] += 1
    return True


@kernel
def _after(rule: Schedule, last: int, index: int) -> int:
    """The grid round that follows `last`."""
    if last == 0:
        return rule.start
    if rule.grid == CONSTANT:
        return last + rule.start
    ratio = rule.ratio
    if rule.grid == DECREASING:
        ratio /= math.sqrt(index)
    # 1.1·10 is a little more than 11 in floating point, which must not become 12.
    return max(last + 1, math.ceil((1.0 + ratio) * last - ROUNDING * last))
