"""When a solve may stop, and where it begins."""

import math
from typing import NamedTuple

from furthest.kernels.jit import kernel


class Goal(NamedTuple):
    """A question about value(z).

    The gap of a bracket is upper/lower − 1. A solve stops at the gap `floor`; at the wider `gap`
    already once the bracket lies on one side: its lower end at `above` or its upper end at `below`.
    """

    gap: float
    floor: float
    above: float
    below: float
    warm: bool  # begin at the centred iterate of an earlier solve


@kernel
def within(gap: float, warm: bool) -> Goal:
    """Only the gap matters."""
    return Goal(0.0, gap, -math.inf, math.inf, warm)


@kernel
def in_units(goal: Goal, unit: float) -> Goal:
    """The same question about a problem whose value is 1/unit times as large."""
    return Goal(goal.gap, goal.floor, goal.above / unit, goal.below / unit, goal.warm)


@kernel
def is_reached(goal: Goal, lower: float, upper: float) -> bool:
    """Whether the bracket answers the question."""
    width = upper - lower
    decided = lower >= goal.above or upper <= goal.below
    return width <= goal.floor * lower or (decided and width <= goal.gap * lower)
