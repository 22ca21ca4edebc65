"""The closed axes of a strategy, as data: every word, its code, what it is and where it comes from.

The command line, the documentation and the checks all read from here. Sampling rules and stopping
tests, the open axes, say these things themselves, each in its own file.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import Literal

from furthest.codes import Candidate, Grid, Mode, Tracking

PAPER = "Jourdan & Degenne (2022)"

CandidateWord = Literal["instantaneous-furthest", "furthest", "greedy"]
TrackingWord = Literal["C", "D"]
ThresholdWord = Literal["mixture", "theory", "paper", "paper-0.4"]


@dataclass(frozen=True)
class Choice:
    """One choice along one axis of a strategy."""

    name: str
    code: IntEnum
    what: str
    source: str = PAPER
    settings: Mapping[str, float] = field(default_factory=dict)  # with their defaults


def _table(*choices: Choice) -> dict[str, Choice]:
    return {choice.name: choice for choice in choices}


CANDIDATES = _table(
    Choice(
        "instantaneous-furthest",
        Candidate.INSTANTANEOUS,
        "the ε-best answer with the largest GLR statistic",
        f"{PAPER}, section 3.1",
    ),
    Choice(
        "furthest",
        Candidate.FURTHEST,
        "the exact furthest answer z_F(μ_t), the easiest to verify under the estimate",
        f"{PAPER}, section 2.2; solver: docs/solver.md",
    ),
    Choice(
        "greedy",
        Candidate.GREEDY,
        "the answer of largest estimated value",
        f"{PAPER}, section 3.1",
    ),
)

SCHEDULES = _table(
    Choice(
        "every",
        Mode.EVERY,
        "renew the candidate and test at every round",
        f"{PAPER}, section 3.1",
    ),
    Choice(
        "sticky",
        Mode.STICKY,
        "renew the candidate on a grid of rounds, or when it is not ε-best; test at every round",
        f"{PAPER}, appendix on computational relaxations",
    ),
    Choice(
        "lazy",
        Mode.LAZY,
        "renew the candidate and test on a grid of rounds",
        f"{PAPER}, appendix on computational relaxations",
    ),
)

GRIDS = _table(
    Choice("constant", Grid.CONSTANT, "every start rounds (10)", settings={"start": 10}),
    Choice(
        "geometric",
        Grid.GEOMETRIC,
        "from start (10), each round ⌈(1 + ratio)·last⌉ (0.2)",
        settings={"start": 10, "ratio": 0.2},
    ),
    Choice(
        "decreasing",
        Grid.DECREASING,
        "the same with ratio/√i at the i-th step",
        settings={"start": 10, "ratio": 0.2},
    ),
    Choice("bernoulli", Grid.BERNOULLI, "each round with probability p (0.1)", settings={"p": 0.1}),
)

TRACKINGS = _table(
    Choice(
        "C",
        Tracking.C,
        "pull the arm most behind the sum of all weights",
        "Garivier & Kaufmann (2016)",
    ),
    Choice(
        "D",
        Tracking.D,
        "pull the arm most behind t times this round's weights",
        "Garivier & Kaufmann (2016)",
    ),
)
