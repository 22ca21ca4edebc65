"""Pairs: for bounded rewards of plain options, such as yes and no; one e-process for each pair.

It adapts to the variance, which for rare outcomes is far below that of σ = half the bounds' width,
and works with counts alone. The decision is in kernels/pairs.py, statement and proof in
docs/theory/pairs.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import lru_cache
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from furthest.codes import Noise
from furthest.kernels.evidence import Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector
from furthest.kernels.pairs import (
    Pairs,
    Part,
    Price,
    accepts,
    interval,
    observe_squares,
    sample,
    weakest,
)
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import MOST, Guarantee, Score, StoppingTest
from furthest.stopping.within import of_question
from furthest.task import Task

# Edges of the cells of p_x, up to ½; mirrored above.
EDGES = (0.0, 0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32)
CELLS = (*EDGES, *(1.0 - edge for edge in reversed(EDGES)))
# The share of δ that is spent on the intervals of the arms' means, π₀.
INTERVALS = 0.05
# The share of a pair's mass for terms that go by squares, where rewards are not only 0 and 1.
SQUARES = 0.2
# Tilts: the smallest is what the smallest gap that matters would take, within these; the others are
# √2 times the one before, up to the largest.
SMALLEST, LARGEST_FIRST, LARGEST = 1e-3, 0.5, 3.0
# Terms by squares need tilts below 1.
LARGEST_BY_SQUARES = 0.95
# z up by h·2^(k/2), x down by h·2^(−k/2): as many results of x as of z, or fewer. Weights of k.
RATIOS = {-4: 0.04, -3: 0.08, -2: 0.16, -1: 0.2, 0: 0.4, 1: 0.08, 2: 0.04}

MEANING = "ln of the evidence against the least refuted rival, less its price, against ln 1/δ"


class Mixture(NamedTuple):
    """Tilts and terms of the cells so far, as `Pairs` has them."""

    tilts: list[tuple[float, float, float, float]]  # see Tilt
    weights: list[float]
    uses: list[tuple[int, ...]]  # which tilts are in a term, one for each answer that it is about
    first_tilts: list[int]
    first_terms: list[int]


# The tilts of a term, in steps of √2, from the number of its size and the ratio k.
Shape = Callable[[int, int], tuple[int, ...]]


def pair(size: int, ratio: int) -> tuple[int, int]:
    """Of z, up, and of x, down."""
    return size + ratio, size - ratio


def start(task: Task, deltas: Sequence[float]) -> Pairs:
    """The state before the first measurement."""
    answers, arms = len(task.answers), len(task.arms)
    c, e, least = _question(task)
    by_squares = task.noise == Noise.BOUNDED
    found = mixture(pair, c, e, by_squares=by_squares)
    ups, downs = found.pop("uses")
    levels = np.array([math.log(1 / delta) for delta in deltas])
    prices = {
        Price.INTERVAL: math.log(answers / INTERVALS),
        Price.PAIR: math.log((answers - 1) / (1.0 - INTERVALS)),
        Price.LEVEL: 0.0,
    }
    return Pairs(
        places=_places(task),
        low=task.low,
        c=c,
        e=e,
        least=least,
        edges=np.array(CELLS),
        squares=np.zeros(arms if by_squares else 0),
        required=np.array([levels + prices[row] for row in Price]),
        obstacles=np.full((answers, 2), -1),
        failed_at=np.zeros(answers),
        **found,
        ups=ups,
        downs=downs,
        parts=np.zeros((len(Part), found["tilts"].shape[1])),
        exponents=np.zeros_like(found["log_weights"]),
    )


def _question(task: Task) -> tuple[float, float, float]:
    """(c, e, least p_x with which a z can be wrong), as if rewards were within [0, 1]."""
    # Those of the task are in units of half the bounds' width.
    c, e = task.c, 0.5 * (task.e + (1.0 - task.c) * task.low)
    return c, e, max(0.0, e / c) if c == 1.0 else max(0.0, -0.5 * task.low, e / c)


def _places(task: Task) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    """Which arm each answer is: the nearest one, since they are equal up to rounding."""
    squares = (task.arms**2).sum(axis=1)
    return np.asarray((squares - 2 * task.answers @ task.arm_columns).argmin(axis=1), np.int64)


def _typical_tilt(low: float, high: float, c: float, e: float) -> float:
    """What tells p_z = c·p_x − e from p_z = p_x in this cell: gap over variance, halved."""
    p = 0.5 * (low + high)
    if 0 < low < high < 0.5:
        p = math.sqrt(low * high)
    elif 0.5 < low < high < 1:
        p = 1.0 - math.sqrt((1 - low) * (1 - high))
    return min(max((e + (1.0 - c) * p) / (2 * p * (1 - p)), SMALLEST), LARGEST_FIRST)


def mixture(shape: Shape, c: float, e: float, *, by_squares: bool) -> dict[str, Any]:
    """Tilts, terms and weights of all cells."""
    return dict(_mixture(shape, c, e, by_squares=by_squares))


@lru_cache(maxsize=32)
def _mixture(shape: Shape, c: float, e: float, *, by_squares: bool) -> dict[str, Any]:
    """Made once for all runs that ask the same, and never written to."""
    found = Mixture([], [], [], [0], [0])
    for cell in pairwise(CELLS):
        _add_cell(found, shape, _typical_tilt(*cell, c, e), by_squares=by_squares)
    return {
        "tilts": np.ascontiguousarray(np.array(found.tilts).T),
        "first_tilts": np.array(found.first_tilts),
        "first_terms": np.array(found.first_terms),
        "log_weights": np.log(found.weights),
        "uses": tuple(np.array(found.uses).T.copy()),
    }


def _add_cell(mixture: Mixture, shape: Shape, tilt: float, *, by_squares: bool) -> None:
    """The tilts and terms of one more cell; their weights add up to 1, or less."""
    sizes = 1 + int(2 * math.log2(LARGEST / tilt))
    usual = [
        (shape(i, k), RATIOS[k] * (1 + abs(i - 2) / 2) ** -2) for i in range(sizes) for k in RATIOS
    ]
    few = [
        (steps, weight)
        for steps, weight in usual
        if by_squares and tilt * 2 ** (max(steps) / 2) < LARGEST_BY_SQUARES
    ]
    _add_terms(mixture, usual, tilt, 1.0 - SQUARES if by_squares else 1.0, by_squares=False)
    _add_terms(mixture, few, tilt, SQUARES, by_squares=True)
    mixture.first_tilts.append(len(mixture.tilts))
    mixture.first_terms.append(len(mixture.weights))


def _add_terms(
    mixture: Mixture,
    terms: list[tuple[tuple[int, ...], float]],
    tilt: float,
    share: float,
    *,
    by_squares: bool,
) -> None:
    """Terms of one kind, each with its steps and its weight: tilts are tilt·2^(step/2)."""
    steps = sorted({step for own, _ in terms for step in own})
    places = {step: len(mixture.tilts) + number for number, step in enumerate(steps)}
    for step in steps:
        size = tilt * 2 ** (step / 2)
        # −ln(1 − θ) − θ is what a square of size 1 costs.
        mixture.tilts.append(
            (size, 0.0, 0.0, -math.log1p(-size) - size)
            if by_squares
            else (size, math.expm1(size), math.expm1(-size), 0.0)
        )
    total = sum(weight for _, weight in terms)
    for own, weight in terms:
        mixture.weights.append(share * weight / total)
        mixture.uses.append(tuple(places[step] for step in own))


@kernel
def observe(test: Pairs, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Only terms by squares need more than counts and sums."""
    observe_squares(test, evidence, arm, reward)


@kernel
def judge(
    test: Pairs, task: Task, evidence: Evidence, nominee: Nominee, rule: object
) -> tuple[int, int]:
    """Level by level."""
    reached = nominee.reached
    while reached < test.required.shape[1] and accepts(test, evidence, nominee.answer, reached):
        reached += 1
    return nominee.answer, reached


def score(test: Pairs, task: Task, evidence: Evidence, nominee: Nominee, rule: object) -> Score:
    """The least evidence over all rivals. It is enough where it reaches ln 1/δ."""
    z = nominee.answer
    own = sample(test, evidence, z)
    low, _ = interval(own.n, own.s, float(test.required[Price.INTERVAL, 0]))
    found = [
        weakest(test, evidence, own, low, x, 0, math.nan)[0].bound
        for x in range(len(test.places))
        if test.places[x] != test.places[z]
    ]
    _, pair, level = test.required[:, 0].tolist()
    return Score(min(min(found, default=MOST) - pair + level, MOST), level, MEANING)


def excludes(test: Pairs, task: Task, evidence: Evidence, z: int) -> bool:
    """Whether the intervals of the means leave no room for an ε-best z."""
    required = float(test.required[Price.INTERVAL, 0])

    def ends(answer: int) -> tuple[float, float]:
        own = sample(test, evidence, answer)
        return interval(own.n, own.s, required)

    best = max(ends(x)[0] for x in range(len(test.places)))
    return bool(ends(z)[1] < test.c * best - test.e)


def extent(test: Pairs, task: Task, evidence: Evidence, rows: Matrix) -> tuple[Vector, Vector]:
    """By the intervals of the means; of an arm that is no answer, by the bounds of the rewards."""
    required, arms = float(test.required[Price.INTERVAL, 0]), len(task.arms)
    ends = np.array([np.zeros(arms), np.ones(arms)])
    for answer, arm in enumerate(test.places.tolist()):
        own = sample(test, evidence, answer)
        ends[:, arm] = interval(own.n, own.s, required)
    low, high = task.low + 2.0 * ends
    shares = rows @ task.arm_columns / arms  # of each arm: AᵀA = K·I, and there are K directions
    ups, downs = np.maximum(shares, 0.0), np.minimum(shares, 0.0)
    return ups @ low + downs @ high, ups @ high + downs @ low


def within(test: Pairs, task: Task, evidence: Evidence, z: int, *, relative: bool) -> float:
    """The smallest ε' for which it would accept, by the evidence of the study's own question."""

    def still(asked: Task) -> bool:
        return bool(accepts(asked_otherwise(test, asked), evidence, z, 0))

    return of_question(task, evidence, still, relative=relative)


def asked_otherwise(test: Pairs, task: Task) -> Pairs:
    """The state for another ε. Mixtures stay: at the true means they know of one question alone."""
    c, e, least = _question(task)
    return test._replace(c=c, e=e, least=least, obstacles=np.full_like(test.obstacles, -1))


PAIRS = StoppingTest(
    name="pairs",
    start=start,
    judge=judge,
    observe=observe,
    takes_sums=True,
    score=score,
    excludes=excludes,
    extent=extent,
    within=within,
    guarantee=Guarantee(
        proven=True,
        noise="bounded",
        words="proven (ε,δ)-PAC for bounded rewards, any sampling rule, any checking times",
    ),
    what="one e-process for each pair of plain options with bounded rewards, such as yes and no",
    source="docs/theory/pairs.md",
)
TESTS = {None: replace(PAIRS, bounded=PAIRS)}
