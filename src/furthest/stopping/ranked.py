"""Ranked: `top-wrong` with masses by rank, later measurements weighted more, a prior that knows ε.

A wrong answer of rank k + 1 is outranked by k others, each of which adds evidence against it: the
mass of a rank falls with k, and where there are many answers each costs less than with the same
mass for all. Statement and proof, for known and for unknown σ: docs/theory/ranked.md.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from furthest.codes import Noise
from furthest.errors import StrategyError, pick
from furthest.kernels.contrasts import TopWrong
from furthest.kernels.normal_gamma import Shapes
from furthest.kernels.ranked import RANKED, RankMasses
from furthest.kernels.topwrong import Scales, Weighting, top_wrong
from furthest.stopping import top_wrong as plain
from furthest.stopping.bounded_linear import BOUNDED_LINEAR
from furthest.stopping.pairs import PAIRS
from furthest.stopping.top_wrong import Numbers
from furthest.task import Task

MASSES = {
    "balanced": RankMasses(),
    # Sooner where few wrong answers are in the way, later where several are tied.
    "lean": RankMasses(summed=0.25, fallback=0.03, fallback_power=1.2),
}
WEIGHTING = Weighting(growth=0.1, correction=1.5, lean=0.7)

# Where nothing is known of the gaps: wide, since runs may be short or long.
BLIND = Scales((15.0, 400.0, 10_000.0), (0.85, 0.10, 0.05))
# Gaps of about ε or more have h² of about e²/‖y‖⁴ or more: this times ‖y‖⁴/e², beside a constant.
SEEING = Scales((15.0, 15.0, 15.0), (0.7, 0.15, 0.15), per_size=(0.0, 0.01, 0.1))
# Of smaller ε/σ no run will ever be long enough, and 1/ε² would leave the range of numbers.
LEAST = 1e-9


def check(
    *,
    masses: str = "balanced",
    directions: Numbers | None = None,
    direction_weights: Numbers | None = None,
) -> tuple[RankMasses, Scales | None]:
    """The options as they are meant; refuses those with which the proof would not hold.

    Without directions, precisions of the prior along a contrast, they follow from the question.
    """
    chosen = pick(masses, MASSES, "kind of masses")
    if directions is None and direction_weights is None:
        return chosen, None
    if directions is None or direction_weights is None:
        raise StrategyError("the directions of ranked need one weight each")
    _, scales, _ = plain.check(directions=directions, direction_weights=direction_weights)
    return chosen, scales


def prior(task: Task) -> Scales:
    """By the question alone: ε tells how long a run may be, if it is additive and σ is known."""
    if not (task.noise == Noise.SUB_GAUSSIAN and task.e > 0.0):
        return BLIND
    square = max(task.e, LEAST) ** 2
    return SEEING._replace(per_size=tuple(share / square for share in SEEING.per_size))


def start(task: Task, deltas: Sequence[float], **options: Any) -> TopWrong:
    """The state before the first measurement; σ is known."""
    return _start(task, deltas, None, **options)


def start_student(task: Task, deltas: Sequence[float], **options: Any) -> TopWrong:
    """The same for unknown σ."""
    return _start(task, deltas, Shapes(), **options)


def _start(task: Task, deltas: Sequence[float], shapes: Shapes | None, **options: Any) -> TopWrong:
    masses, scales = check(**options)
    scales = scales or prior(task)
    return top_wrong(task, deltas, masses, scales, shapes, WEIGHTING, RANKED)


KNOWN = replace(
    plain.KNOWN,
    name="ranked",
    start=start,
    what="top-wrong with masses by rank, and a prior that knows ε; for rewards within bounds, such "
    "as yes and no, an e-process for each pair (docs/theory/pairs.md, features-bounded.md)",
    source="docs/theory/ranked.md",
    check=check,
)
UNKNOWN = replace(KNOWN, start=start_student, guarantee=plain.UNKNOWN.guarantee)
TESTS = {None: replace(KNOWN, unknown_sigma=UNKNOWN, bounded=PAIRS, bounded_linear=BOUNDED_LINEAR)}
