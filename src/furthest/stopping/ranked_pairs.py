"""Ranked pairs: `pairs` with masses by rank, for bounded rewards of plain options.

Where several answers are clearly worse than ε it needs less than `pairs`, above all with uniform
sampling; where several are within ε of the best, more (docs/decisions/0025). The decision is in
kernels/ranked_pairs.py, statement and proof in docs/theory/pairs.md.
"""

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from furthest.codes import Noise
from furthest.kernels.evidence import Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector
from furthest.kernels.pairs import observe_squares
from furthest.kernels.ranked import RankMasses
from furthest.kernels.ranked_pairs import (
    REMEMBERED,
    Obstacle,
    Part,
    Point,
    Price,
    RankedPairs,
    Trios,
    accepts,
)
from furthest.stopping import pairs
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import MOST, NATS, Score
from furthest.stopping.within import DOUBLINGS, of_question
from furthest.task import Task

# Chosen on the instances `TUNED` of benchmarks/rates.py.
MASSES = RankMasses(
    ellipsoid=pairs.INTERVALS, summed=0.3, fallback=0.25, summed_power=1.2, fallback_power=0.8
)
# How closely a score is looked for: closer than certificates are compared.
PRECISION = 1e-11


def trio(size: int, ratio: int) -> tuple[int, int, int]:
    """Of z, up, and of x and j, down: j a little less than x, and z a little more than beside x."""
    return size + ratio + 1, size - ratio, size - ratio - 1


def start(task: Task, deltas: Sequence[float]) -> RankedPairs:
    """The state before the first measurement."""
    plain, answers = pairs.start(task, deltas), len(task.answers)
    found = pairs.mixture(trio, plain.c, plain.e, by_squares=task.noise == Noise.BOUNDED)
    ups, bests, thirds = found.pop("uses")
    budget = MASSES.budget(answers - 2)
    prices = {
        Price.INTERVAL: math.log(answers / MASSES.ellipsoid),
        Price.FIRST: budget.first,
        Price.ENOUGH: max(budget.first, budget.fallback if answers > 2 else 0.0),
        Price.LEVEL: 0.0,
    }
    levels = np.array([math.log(1 / delta) for delta in deltas])
    numbers = [np.zeros(answers, np.int64) for _ in range(2)]
    sizes = [np.zeros(answers) for _ in range(6)]
    return RankedPairs(
        pairs=plain,
        asked=plain,
        trios=Trios(**found, ups=ups, bests=bests, thirds=thirds),
        ranks=budget.ranks,
        required=np.array([levels + prices[row] for row in Price]),
        obstacles=np.full((answers, len(Obstacle) + REMEMBERED), -1),
        points=np.zeros((answers, len(Point) + REMEMBERED)),
        lows=sizes[0],
        highs=sizes[1],
        alone=sizes[2],
        alone_at=sizes[3],
        beside=sizes[4],
        beside_at=sizes[5],
        rivals=numbers[0],
        order=numbers[1],
        following=np.zeros(answers + 1, np.int64),
        parts=np.zeros((len(Part), found["tilts"].shape[1])),
        exponents=np.zeros_like(found["log_weights"]),
    )


@kernel
def observe(test: RankedPairs, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """As in `pairs`."""
    observe_squares(test.pairs, evidence, arm, reward)


@kernel
def judge(
    test: RankedPairs, task: Task, evidence: Evidence, nominee: Nominee, rule: object
) -> tuple[int, int]:
    """Level by level."""
    reached = nominee.reached
    while reached < test.required.shape[1] and accepts(test, evidence, nominee.answer, reached):
        reached += 1
    return nominee.answer, reached


def score(
    test: RankedPairs, task: Task, evidence: Evidence, nominee: Nominee, rule: object
) -> Score:
    """The largest ln 1/δ' at which it would accept, the intervals being those of δ; by halving."""
    needed = float(test.required[Price.LEVEL, 0])
    slopes = np.ones_like(test.required)
    slopes[Price.INTERVAL] = 0.0
    nothing_failed = np.full_like(test.obstacles, -1)

    def accepted(level: float) -> bool:
        moved = test.required + (level - needed) * slopes
        again = test._replace(required=moved, obstacles=nothing_failed.copy())
        return bool(accepts(again, evidence, nominee.answer, 0))

    below, above, step = needed, needed, 1.0
    while accepted(above):
        below, above, step = above, above + step, 2.0 * step
        if above > MOST:
            return Score(MOST, needed, NATS)
    step = 1.0
    for _ in range(DOUBLINGS if below == above else 0):
        below, step = below - step, 2.0 * step
        if accepted(below):
            break
        above = below
    while above - below > PRECISION * max(1.0, abs(above)):
        middle = 0.5 * (below + above)
        below, above = (middle, above) if accepted(middle) else (below, middle)
    return Score(below, needed, NATS)


def excludes(test: RankedPairs, task: Task, evidence: Evidence, z: int) -> bool:
    """Whether the intervals of the means leave no room for an ε-best z."""
    return pairs.excludes(test.pairs, task, evidence, z)


def extent(
    test: RankedPairs, task: Task, evidence: Evidence, rows: Matrix
) -> tuple[Vector, Vector]:
    """By the same intervals."""
    return pairs.extent(test.pairs, task, evidence, rows)


def within(test: RankedPairs, task: Task, evidence: Evidence, z: int, *, relative: bool) -> float:
    """The e-processes stay those of the study's question; beside x alone less is asked of z."""

    def still(asked: Task) -> bool:
        again = test._replace(
            asked=pairs.asked_otherwise(test.pairs, asked),
            obstacles=np.full_like(test.obstacles, -1),
        )
        return bool(accepts(again, evidence, z, 0))

    return of_question(task, evidence, still, relative=relative)


RANKED_PAIRS = replace(
    pairs.PAIRS,
    name="ranked-pairs",
    start=start,
    judge=judge,
    observe=observe,
    score=score,
    excludes=excludes,
    extent=extent,
    within=within,
    what="pairs with masses by rank: less where many answers are clearly worse, more in a crowd",
)
TESTS = {None: replace(RANKED_PAIRS, bounded=RANKED_PAIRS)}
