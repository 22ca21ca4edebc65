"""Bounded rewards whose means are linear in features, such as yes and no in a factorial design.

The weights of `top-wrong`, with the variance that outcomes of such means have in place of that of
σ = half the bounds' width. The decision is in kernels/bounded_linear.py, statement and proof in
docs/theory/features-bounded.md.
"""

import math
from collections.abc import Sequence

import numpy as np

from furthest.coordinates import inner_point
from furthest.errors import StrategyError
from furthest.kernels.bounded_linear import (
    LEAST_TILT,
    SLACK,
    Along,
    BoundedLinear,
    Box,
    Guard,
    Number,
    Price,
    Register,
    Scratch,
    accepts,
    accepts_within,
    strength,
    take_in,
)
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import MOST, Guarantee, Score, StoppingTest
from furthest.stopping.within import of_question
from furthest.task import Task

# The share of δ that is spent on the guard, π₀: half on intervals, half on the likelihood ratio.
GUARD = 0.05
# Tilts are √2 times the one before, up to this.
LARGEST_TILT = 4.0
# The tilts of a cell begin where it does; their weights fall from this one on.
CENTRE = 2
# Cells are between powers of 2, from LEAST_TILT on.
CELLS = 11

MEANING = (
    "ln of the evidence against the least refuted rival, less ln((Z − 1)/0.95), against ln 1/δ"
)


def start(task: Task, deltas: Sequence[float], *, guard: float = GUARD) -> BoundedLinear:
    """The state before the first measurement."""
    check(guard=guard)
    (arms, d), answers, levels = task.arms.shape, len(task.answers), len(deltas)
    inside = inner_point(task.arms, task.low)
    if inside is None:
        raise StrategyError("no parameter has all means within the bounds")
    logs = np.array([math.log(1 / delta) for delta in deltas])
    prices = {
        Price.INTERVAL: math.log(2 * arms / guard),
        Price.GUARD: math.log(2 / guard),
        Price.PAIR: math.log(max(answers - 1, 1) / (1.0 - guard)),
        Price.LEVEL: 0.0,
    }
    predictor, shift = 0.5 * inside, 0.5 * task.low
    numbers = np.zeros(len(Number))
    numbers[Number.SHIFT], numbers[Number.PSEUDO] = shift, 0.5 * min(1.0, d / arms)
    tilts = _tilts()
    ends = np.zeros((levels, 2, arms))
    ends[:, 1] = 1.0
    guards = np.zeros((len(Guard), levels))
    guards[Guard.SQUARED_RADIUS] = math.inf
    return BoundedLinear(
        registers=np.zeros(len(Register), np.int64),
        numbers=numbers,
        drift=np.zeros((d, d)),
        spread=np.zeros((arms * d, d)),
        total=np.zeros(d),
        extremes=np.tile(np.array([[math.inf], [-math.inf]]), (arms, d)),
        predictor=predictor,
        shares=np.array([task.arms @ predictor - shift, np.zeros(arms)]),
        required=np.array([logs + prices[row] for row in Price]),
        guard=guards,
        centres=np.zeros((levels, d)),
        metrics=np.zeros((levels * d, d)),
        boxes=ends.reshape(2 * levels, arms),
        tilts=tilts,
        log_weights=_log_weights(len(tilts)),
        obstacles=np.full(answers, -1),
        vectors=np.zeros((len(Scratch), d)),
        factor=np.zeros((d, d)),
        inverse=np.zeros((d, d)),
        exponents=np.zeros(len(tilts)),
        along_arms=np.zeros((len(Along), arms)),
    )


def check(*, guard: float = GUARD) -> None:
    """Refuse options with which the proof would not hold."""
    if not 0 < guard < 1:
        raise StrategyError(f"the guard's share of δ must be within 0 … 1, not {guard!r}")


def _tilts() -> Vector:
    """h‖y‖² of all terms."""
    return np.asarray(
        LEAST_TILT * 2.0 ** (np.arange(1 + 2 * math.log2(LARGEST_TILT / LEAST_TILT)) / 2)
    )


def _log_weights(tilts: int) -> Matrix:
    """What the mixture of each cell gives to every tilt: nothing to those below the cell."""
    place = np.arange(tilts) - 2 * np.arange(CELLS)[:, None]
    weights = np.where(place >= 0, (1 + np.abs(place - CENTRE) / 2) ** -2.0, 0.0)
    weights[0] = 1.0  # ε is 0 or next to nothing, and does not tell
    with np.errstate(divide="ignore"):
        return np.log(weights / weights.sum(axis=1, keepdims=True))


@kernel
def observe(test: BoundedLinear, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Weighted sums, predictions and the guard."""
    take_in(test, task, evidence, arm, reward)


@kernel
def judge(
    test: BoundedLinear, task: Task, evidence: Evidence, nominee: Nominee, rule: object
) -> tuple[int, int]:
    """Level by level, whenever the guard has been renewed."""
    reached, registers = nominee.reached, test.registers
    if registers[Register.RENEWED] == 1:
        registers[Register.RENEWED] = 0
        registers[Register.MADE] = evidence.clock[Clock.ROUNDS]
    elif registers[Register.MADE] != evidence.clock[Clock.ROUNDS]:
        return nominee.answer, reached
    while reached < test.required.shape[1] and accepts(test, task, nominee.answer, reached):
        reached += 1
    return nominee.answer, reached


def score(
    test: BoundedLinear, task: Task, evidence: Evidence, nominee: Nominee, rule: object
) -> Score:
    """The least evidence over all rivals. It is enough where it reaches ln 1/δ."""
    z = nominee.answer
    rivals = (x for x in range(len(task.answers)) if x != z)
    found = min(strength(test, task, z, x, 0, 0.0, 0.0) for x in rivals)
    pair, level = float(test.required[Price.PAIR, 0]), float(test.required[Price.LEVEL, 0])
    return Score(max(-MOST, min(found - pair + level, MOST)), level, MEANING)


def excludes(test: BoundedLinear, task: Task, evidence: Evidence, z: int) -> bool:
    """Whether the guard leaves no parameter under which z is ε-best."""
    squared_radius, d = float(test.guard[Guard.SQUARED_RADIUS, 0]), len(test.total)
    if not 0 <= squared_radius < math.inf:
        return False
    contrasts = task.answers[z] - task.c * np.delete(task.answers, z, axis=0)
    norms = np.einsum("xi,ij,xj->x", contrasts, test.metrics[:d], contrasts)
    highest = contrasts @ test.centres[0] + np.sqrt(squared_radius * norms) + 0.5 * task.e
    return bool((highest < 0.0).any())


def extent(
    test: BoundedLinear, task: Task, evidence: Evidence, rows: Matrix
) -> tuple[Vector, Vector]:
    """By the guard's ellipsoid; of what is a measured arm by its interval as well."""
    squared_radius, d = float(test.guard[Guard.SQUARED_RADIUS, 0]), len(test.total)
    highs = np.full(len(rows), math.inf)
    lows = -highs
    if squared_radius < 0:  # no parameter is left: the features do not explain the values
        return lows, highs
    if squared_radius < math.inf:
        norms = np.maximum(np.einsum("yi,ij,yj->y", rows, test.metrics[:d], rows), 0.0)
        reach = 2.0 * np.sqrt(squared_radius * norms) * (1.0 + SLACK)
        middles = 2.0 * rows @ test.centres[0]
        lows, highs = middles - reach, middles + reach
    measured = np.flatnonzero(evidence.counts)
    places = {task.arms[arm].tobytes(): arm for arm in measured.tolist()}
    low, high = task.low + 2.0 * test.boxes[: len(Box)]
    for y, row in enumerate(rows):
        arm = places.get(row.tobytes())
        if arm is not None:
            lows[y], highs[y] = max(lows[y], low[arm]), min(highs[y], high[arm])
    return lows, highs


def within(test: BoundedLinear, task: Task, evidence: Evidence, z: int, *, relative: bool) -> float:
    """The e-processes stay those of the study's question; there is one for every z."""
    return of_question(
        task,
        evidence,
        lambda asked: bool(accepts_within(test, task, z, task.c - asked.c, asked.e - task.e)),
        relative=relative,
    )


BOUNDED_LINEAR = StoppingTest(
    name="bounded-linear",
    start=start,
    judge=judge,
    observe=observe,
    score=score,
    excludes=excludes,
    extent=extent,
    within=within,
    takes_sums=True,
    guarantee=Guarantee(
        proven=True,
        noise="bounded",
        words="proven (ε,δ)-PAC for bounded rewards with means linear in the features, any "
        "sampling rule, any checking times",
    ),
    what="one e-process for each pair of answers, for bounded rewards with features",
    source="docs/theory/features-bounded.md",
    check=check,
)
