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


class Tracking(IntEnum):
    """How pulls follow proportions."""

    C = 0
    D = 1
