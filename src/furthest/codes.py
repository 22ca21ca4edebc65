"""The closed axes of a strategy as integers, which compiled code branches on.

So the number of compilations grows with the rules, not with the product of all options. The words
for these codes, and what they mean, are in `axes`.
"""

from enum import IntEnum

__compiled__ = True


class Candidate(IntEnum):
    """Which answer the stopping test is made for, or a sampling rule is about."""

    GREEDY = 0
    INSTANTANEOUS = 1
    FURTHEST = 2


class Mode(IntEnum):
    """When the candidate is renewed and tested."""

    EVERY = 0
    STICKY = 1
    LAZY = 2


class Grid(IntEnum):
    """The rounds of a sticky or lazy schedule."""

    CONSTANT = 0
    GEOMETRIC = 1
    DECREASING = 2
    BERNOULLI = 3


class Noise(IntEnum):
    """What is known of the noise of a measurement."""

    SUB_GAUSSIAN = 0  # with known σ, the unit of the rewards
    GAUSSIAN = 1  # with unknown σ
    BOUNDED = 2  # rewards within bounds, of plain options; the unit is half the bounds' width
    BERNOULLI = 3  # the same, and each reward is one of the bounds
    BOUNDED_LINEAR = 4  # rewards within bounds, means linear in features; the same unit


class Tracking(IntEnum):
    """How pulls follow proportions."""

    C = 0
    D = 1
