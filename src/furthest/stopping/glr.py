"""GLR: the squared distance of the nearest alternative exceeds a threshold.

Jourdan & Degenne (2022), equation 5. With the threshold `mixture` an e-value takes the place of the
statistic: that is a test of its own, in mixture.py.
"""

from dataclasses import replace
from typing import Any, NamedTuple

from furthest.axes import PAPER
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.stopping import mixture
from furthest.stopping.contrasts import signed_distance
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import Misses, Score
from furthest.stopping.thresholds import THRESHOLDS, Threshold, by_threshold, required
from furthest.stopping.within import of_question
from furthest.task import Task

WHAT = "the candidate's evidence exceeds the threshold"
SOURCE = f"{PAPER}, equation 5"
MEANING = "GLR statistic; below 0 a rival is ahead by more than ε"


class Glr(NamedTuple):
    """Nothing to remember."""

    threshold: Threshold


@kernel
def judge(
    test: Glr, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Level by level.

    Paper: Equation 5, Lemma 3.1.
    """
    threshold, rounds, reached = test.threshold, evidence.clock[Clock.ROUNDS], nominee.reached
    while reached < threshold.offsets.shape[0] and nominee.glr > required(
        threshold, rounds, reached
    ):
        reached += 1
    return nominee.answer, reached


def score(test: Glr, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    """The statistic itself: no proof stands behind a level in between."""
    found = signed_distance(task, evidence, nominee.answer)
    rounds = int(evidence.clock[Clock.ROUNDS])
    return Score(found, float(required(test.threshold, rounds, 0)), MEANING)


def region(test: Any, task: Task, evidence: Evidence) -> Misses:
    """The ellipsoid of the threshold."""
    radius = float(required(test.threshold, int(evidence.clock[Clock.ROUNDS]), 0))
    return lambda square, norm, _: square / norm > radius


def within(test: Any, task: Task, evidence: Evidence, z: int, *, relative: bool) -> float:
    """The ellipsoid of the threshold knows of no ε."""
    radius = required(test.threshold, int(evidence.clock[Clock.ROUNDS]), 0)
    return of_question(
        task,
        evidence,
        lambda asked: signed_distance(asked, evidence, z) > radius,
        relative=relative,
    )


TESTS = {"mixture": replace(mixture.TEST, name="glr", what=WHAT, source=SOURCE)} | by_threshold(
    Glr,
    name="glr",
    judge=judge,
    score=score,
    region=region,
    within=within,
    what=WHAT,
    source=SOURCE,
)
ABOUT = {"mixture": mixture.ABOUT} | {name: choice.about for name, choice in THRESHOLDS.items()}
