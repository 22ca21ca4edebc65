"""Top-wrong: one-sided e-processes against the best-valued wrong answer.

State, e-processes and the test itself are in kernels/topwrong.py; statement and proof, for known
and for unknown σ, in docs/theory/top-wrong.md.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from furthest.errors import StrategyError
from furthest.kernels.contrasts import Ellipsoid, Obstacle, Price, TopWrong, update_ellipsoids
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.normal_gamma import Prior, Shapes, log_normaliser
from furthest.kernels.topwrong import (
    AGAIN,
    COMPLETELY,
    REMEMBERED,
    Masses,
    Scales,
    case,
    met,
    met_against,
    met_within,
    observe,
    top_wrong,
)
from furthest.stopping.contrasts import (
    contrasts,
    is_singular,
    signed_distance,
)
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import (
    MOST,
    NATS,
    PROVEN,
    PROVEN_UNKNOWN_SIGMA,
    Misses,
    Score,
    StoppingTest,
)
from furthest.stopping.within import of_question
from furthest.task import Task

# How closely the ln 1/δ of a score is looked for.
HALVINGS = 50
# How closely it is looked for against what has failed alone, relative to the level.
ROUGHLY = 1e-9
# Where it is looked for first, in shares of the way from the lowest level to there.
LADDER = (2**-12, 2**-8, 2**-4, 1.0)
# The squared radius to which the smallest ellipsoid may shrink in the search.
SMALLEST = 1e-9
# Relative to the values: beyond rounding.
WIDENING = 1e-12

# What only `judge` looks at: some thirty numbers for every answer.
JUDGED = ("obstacles", "ranks", "strengths", "reaches", "rolls", "shares", "steps")

Numbers = Sequence[float] | float

_masses, _scales, _shapes = Masses(), Scales(), Shapes()


def check(
    *,
    ellipsoid: float = _masses.ellipsoid,
    summed: float = _masses.summed,
    fallback: float = _masses.fallback,
    directions: Numbers = _scales.directions,
    direction_weights: Numbers = _scales.weights,
    ellipsoids: Numbers = _scales.ellipsoids,
    shapes: Numbers = _shapes.shapes,
    shape_weights: Numbers = _shapes.weights,
) -> tuple[Masses, Scales, Shapes]:
    """The options as they are meant; refuses those with which the proof would not hold."""
    masses = Masses(*(_numbers(mass)[0] for mass in (ellipsoid, summed, fallback)))
    scales = Scales(_numbers(directions), _numbers(direction_weights), _numbers(ellipsoids))
    forms = Shapes(_numbers(shapes), _numbers(shape_weights))
    if not (_positive(masses) and sum(masses) < 1):
        raise StrategyError(
            f"the masses of top-wrong must be positive with a sum below 1, not {tuple(masses)}"
        )
    if not _positive(scales.ellipsoids):
        raise StrategyError(
            f"the ellipsoids' scales of top-wrong must be positive, not {scales.ellipsoids}"
        )
    _check_mixture("directions", scales.directions, scales.weights)
    _check_mixture("shapes", forms.shapes, forms.weights)
    return masses, scales, forms


def _numbers(value: Any) -> tuple[float, ...]:
    """One or more numbers; NaN, which is refused later, for what is none."""
    try:
        found = np.asarray(value, float).ravel().tolist()
    except (TypeError, ValueError):
        found = []
    return tuple(found) or (math.nan,)


def _positive(numbers: Sequence[float]) -> bool:
    return all(0 < number < math.inf for number in numbers)


def _check_mixture(name: str, parameters: Sequence[float], weights: Sequence[float]) -> None:
    if len(parameters) != len(weights):
        raise StrategyError(f"the {name} of top-wrong need one weight each")
    if not _positive((*parameters, *weights)):
        raise StrategyError(f"the {name} of top-wrong and their weights must be positive")
    if not sum(weights) <= 1 + 1e-12:
        raise StrategyError(
            f"the weights of top-wrong's {name} must sum to at most 1, not {tuple(weights)}"
        )


def start(task: Task, deltas: Sequence[float], **options: Any) -> TopWrong:
    """The state before the first measurement; σ is known."""
    masses, scales, _ = check(**options)
    return top_wrong(task, deltas, masses, scales)


def start_student(task: Task, deltas: Sequence[float], **options: Any) -> TopWrong:
    """The same for unknown σ."""
    return top_wrong(task, deltas, *check(**options))


@kernel
def judge(
    test: TopWrong, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Level by level."""
    reached = nominee.reached
    while reached < test.required.shape[1] and met(test, task, evidence, nominee.answer, reached):
        reached += 1
    return nominee.answer, reached


def score(test: TopWrong, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    """The largest ln 1/δ' at which the test accepts the answer, a δ' above 1 included.

    Where the answer is not even ε-best under the estimate it is never accepted. Then ε is widened
    until it is, and what that took is subtracted, as a log-likelihood ratio.
    """
    needed, z = float(test.required[Price.LEVEL, 0]), nominee.answer
    if is_singular(evidence):
        return Score(0.0, needed, NATS)
    behind = -float(contrasts(task, evidence, z).margins.min(initial=math.inf))
    if behind < 0.0:
        return Score(_level(test, task, evidence, z), needed, NATS)
    widened = task._replace(e=task.e + behind + WIDENING * (abs(evidence.values).max() + behind))
    found = _level(test, widened, evidence, z)
    found += 0.5 * signed_distance(task, evidence, z) * float(evidence.precision[0]) ** 2
    return Score(max(-MOST, min(found, math.nextafter(needed, -math.inf))), needed, NATS)


def _level(test: TopWrong, task: Task, evidence: Evidence, z: int) -> float:
    """The same for an answer that is ε-best under the estimate.

    A greater δ' shrinks the ellipsoids and lowers what is required: acceptance is monotone. The
    level is looked for against what has failed alone; then against all that may have failed beside
    the same best answer x, from far below up to just below it; then against all. So few tests are
    complete, and few of those of one x are far above the level, where many answers are in doubt. It
    ends with an ellipsoid that is hardly more than the estimate, before it would be empty.
    """
    slopes = np.ones_like(test.required)
    slopes[Price.RADIUS] = 2.0  # the squared radius contains 2 ln 1/δ
    needed = float(test.required[Price.LEVEL, 0])

    def accepts(level: float, against: int = AGAIN) -> bool:
        moved = test._replace(required=test.required + (level - needed) * slopes)
        return bool(met_against(moved, task, evidence, z, against))

    below, above = _lowest(test, task, evidence), needed
    if accepts(needed, COMPLETELY):
        below, above = needed, 2 * needed + 1
        while accepts(above):
            below, above = above, 2 * above
            if above > MOST:
                return below
    accepts(above, _runner_up(evidence, z))  # if that fails, it is what is remembered
    precision = math.ldexp(above - below, -HALVINGS)
    remembered = partial(accepts, against=REMEMBERED)

    def against_x(level: float) -> bool:
        return remembered(level) and accepts(level, int(test.obstacles[z, Obstacle.BEST]))

    while True:
        width = ROUGHLY * max(1.0, abs(above))
        near = _largest(remembered, below, above, width)
        least, most = near - width, near + width
        rungs = [below + share * (least - below) for share in LADDER if least > below]
        failed = next((level for level in rungs if not against_x(level)), None)
        if failed is not None:
            above = failed
            if not remembered(failed):
                continue  # something else has failed
            least = below  # a larger set than there is room for
        found = _largest(against_x, max(below, least), min(above, most), precision)
        if found <= below or accepts(found):
            return found
        above = found


def _runner_up(evidence: Evidence, z: int) -> int:
    """The best of the other answers: against no other one is the evidence often weaker."""
    others = evidence.values.copy()
    others[z] = -math.inf
    return int(others.argmax())


def _largest(
    accepts: Callable[[float], bool], below: float, above: float, precision: float
) -> float:
    """The largest level from `below` on that is accepted, by bisection; `above` is not."""
    while above - below > precision:
        middle = 0.5 * (below + above)
        if not below < middle < above:
            break
        below, above = (middle, above) if accepts(middle) else (below, middle)
    return below


def _lowest(test: TopWrong, task: Task, evidence: Evidence) -> float:
    """The ln 1/δ' at which the squared radius of the smallest ellipsoid is `SMALLEST`, or 0.

    For unknown σ it is 0 from where the share is, and never negative.
    """
    update_ellipsoids(test, case(task, evidence), evidence.matrix, 0)
    rounds = float(evidence.clock[Clock.ROUNDS])
    volume = float(test.ellipsoids[Ellipsoid.VOLUME].min())
    price = float(test.required[Price.RADIUS, 0] - 2 * test.required[Price.LEVEL, 0])
    shape, weight = Prior.PARAMETER, Prior.LOG_WEIGHT
    losses = [log_normaliser(rounds, row[shape]) + row[weight] for row in test.shapes.T]
    return 0.5 * (SMALLEST - price - volume) + min(losses, default=0.0)


def region(test: TopWrong, task: Task, evidence: Evidence) -> Misses:
    """The ellipsoids: one that misses a half-space is enough."""
    update_ellipsoids(test, case(task, evidence), evidence.matrix, 0)
    # Plain numbers: of a few, asked for many answers, they are ten times as quick as arrays.
    kappas = test.ellipsoids[Ellipsoid.KAPPA].tolist()
    radii = test.ellipsoids[Ellipsoid.SQUARED_RADIUS].tolist()
    sizes = list(zip(kappas, radii, strict=True))

    def misses(square: float, norm: float, spread: float) -> bool:
        return any(square / (norm + kappa * spread) > radius for kappa, radius in sizes)

    return misses


def within(test: TopWrong, task: Task, evidence: Evidence, z: int, *, relative: bool) -> float:
    """The e-processes stay those of the study's question; of z alone less is asked."""
    return of_question(
        task,
        evidence,
        lambda asked: bool(met_within(test, task, evidence, z, task.c - asked.c, asked.e - task.e)),
        relative=relative,
    )


KNOWN = StoppingTest(
    name="top-wrong",
    start=start,
    judge=judge,
    observe=observe,
    takes_sums=True,
    score=score,
    region=region,
    within=within,
    guarantee=PROVEN,
    what="one-sided e-process against the best-valued wrong answer; no price for the dimension",
    source="docs/theory/top-wrong.md",
    check=check,
    judged=JUDGED,
)
UNKNOWN = replace(KNOWN, start=start_student, guarantee=PROVEN_UNKNOWN_SIGMA)
TESTS = {None: replace(KNOWN, unknown_sigma=UNKNOWN)}
