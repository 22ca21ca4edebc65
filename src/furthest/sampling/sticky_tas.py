"""Sticky Track-and-Stop: among all answers that may be furthest, stick to the first.

Degenne & Koolen (2019), "Pure Exploration with Multiple Correct Answers", Sticky Track-and-Stop.
Where several answers are furthest, w_F(μ_t) jumps between their allocations for ever, and the
average is good for none. So the rule takes the furthest answers of all μ' in a small confidence
region, ½‖μ' − μ_t‖²_{V_t} ≤ σ² ln f(t), and tracks the optimal proportions, at μ_t, of the first of
them in a fixed order: once the region is small, always of the same.

The union over the region cannot be computed; here it is taken over the estimate and points on the
region's boundary. f(t) = t^power; the theory wants power 10 and a constant, which is very sticky.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from furthest.errors import StrategyError
from furthest.kernels.answers import greedy_answer, is_near_best
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    Counts,
    Matrix,
    Vector,
    cholesky,
    combine,
    copy,
    solve_lower_transposed,
)
from furthest.kernels.oracle import Oracle, design_of, furthest_answer, one_of, oracles_for
from furthest.kernels.tracking import catch_up, most_behind
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class StickyTas(NamedTuple):
    """An oracle for every point of the region, and cumulative proportions."""

    oracles: Oracle  # one per point
    gap: float  # relative gap to which the proportions are solved
    power: float
    directions: Matrix  # (P, d) u of the points μ_t + σ√(2 ln f(t)) L⁻ᵀu: unit vectors, the first 0
    rank: Counts  # (Z,) place of each answer in the fixed order
    cumulative: Vector  # (K,) W, the sum of all proportions
    found: Counts  # (2,) the answer of this round, and the point where it was found
    values: Vector  # (Z,) ⟨μ', z⟩
    offset: Vector  # (d,) μ' − μ_t
    factor: Matrix  # (d, d) L with V_t = L·Lᵀ


def start(
    task: Task,
    *,
    points: int | None = None,
    power: float = 1.0,
    order: Sequence[int] | None = None,
    gap: float = 1e-3,
) -> StickyTas:
    """The state before the first round; by default 2d + 1 points and answers in index order."""
    arms, d = task.arms.shape
    answers = task.answers.shape[0]
    count = 2 * d + 1 if points is None else points
    if count < 1:
        raise StrategyError(f"sticky-tas needs at least one point, not {count}")
    if not 0 < power < math.inf:
        raise StrategyError(f"the power of t must be positive and finite, not {power:g}")
    sequence = np.arange(answers) if order is None else np.asarray(order)
    if sorted(sequence.tolist()) != list(range(answers)):
        raise StrategyError(f"order must name each answer from 0 to {answers - 1} once")
    return StickyTas(
        oracles=oracles_for(task, count),
        gap=gap,
        power=power,
        directions=_directions(count, d),
        rank=np.argsort(sequence),
        cumulative=np.bincount(task.initial, minlength=arms).astype(float),
        found=np.zeros(2, np.int64),
        values=np.zeros(answers),
        offset=np.zeros(d),
        factor=np.zeros((d, d)),
    )


def _directions(count: int, d: int) -> Matrix:
    """Zero, the axes in both senses, then random directions, the same in every run."""
    more = np.random.default_rng(0).standard_normal((max(count - 2 * d - 1, 0), d))
    more /= np.linalg.norm(more, axis=1, keepdims=True)
    axes = np.stack([np.eye(d), -np.eye(d)], axis=1).reshape(2 * d, d)
    return np.ascontiguousarray(np.vstack([np.zeros((1, d)), axes, more])[:count])


@kernel
def choose(rule: StickyTas, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """C-tracking of the first answer's proportions; arms behind √t − K/2 are explored first.

    Paper: Sticky TaS.
    """
    if not catch_up(evidence.counts, rule.cumulative, evidence.clock[Clock.ROUNDS]):
        _follow_first_answer(rule, task, evidence)
    return most_behind(evidence.counts, rule.cumulative, 1.0)


@kernel
def _follow_first_answer(rule: StickyTas, task: Task, evidence: Evidence) -> None:
    """Add the optimal proportions of the first answer to the target."""
    arms = rule.cumulative.shape[0]
    answer = _first_answer(rule, task, evidence)
    oracle = one_of(rule.oracles, 0)
    solved = answer >= 0 and design_of(oracle, task, evidence.values, answer, rule.gap)
    for a in range(arms):
        # Where the answer is wrong at μ_t itself, all proportions are equally good.
        rule.cumulative[a] += oracle.weights[oracle.places[answer], a] if solved else 1.0 / arms


@kernel
def _first_answer(rule: StickyTas, task: Task, evidence: Evidence) -> int:
    """The first, in the fixed order, of the points' furthest answers; −1 without a region.

    Begins where the answer of the last round was found: a point is passed over if no answer before
    the best so far can be furthest there, which mostly leaves one point to be solved.
    """
    found, values, offset = rule.found, rule.values, rule.offset
    points, precision = rule.directions.shape[0], evidence.precision[0]
    copy(evidence.matrix, rule.factor)
    if not precision > 0.0 or not cholesky(rule.factor):
        return -1
    radius = math.sqrt(2.0 * rule.power * math.log(evidence.clock[Clock.ROUNDS])) / precision
    first, begin = -1, found[1]
    for i in range(points):
        point = (begin + i) % points
        for j in range(offset.shape[0]):
            offset[j] = radius * rule.directions[point, j]
        solve_lower_transposed(rule.factor, offset)
        combine(offset, task.answer_columns, values)
        for z in range(values.shape[0]):
            values[z] += evidence.values[z]
        if first >= 0 and not _may_improve(task, values, rule.rank, rule.rank[first]):
            continue
        answer = furthest_answer(one_of(rule.oracles, point), task, values)
        if first < 0 or rule.rank[answer] < rule.rank[first]:
            first, found[1] = answer, point
    found[0] = first
    return first


@kernel
def _may_improve(task: Task, values: Vector, rank: Counts, limit: int) -> bool:
    """Whether some answer before the limit is ε-best at these values, or greedy."""
    greedy = greedy_answer(values)
    for z in range(values.shape[0]):
        if rank[z] < limit and (z == greedy or is_near_best(task, values, z, values[greedy])):
            return True
    return False


RULE = Rule(
    name="sticky-tas",
    start=start,
    choose=choose,
    source="Degenne & Koolen (2019): Sticky Track-and-Stop, on finitely many points of the region",
    optimality=(
        "asymptotically optimal, even where several answers are furthest, with the whole region "
        "and f(t) of order t¹⁰; on finitely many points, where the furthest answer is unique"
    ),
)
