"""Elimination: the sampling rule has eliminated all answers but one.

Soare, Lazaric & Munos (2014), 𝒳𝒴-Adaptive, for ε = 0. The rule eliminates at the end of its phases,
by the threshold as a width; this test looks at what is left.
"""

from typing import Any, NamedTuple

from furthest.kernels.evidence import Evidence
from furthest.kernels.jit import kernel
from furthest.stopping.glr import region, within
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import Score
from furthest.stopping.thresholds import Threshold, by_threshold
from furthest.task import Task


class Elimination(NamedTuple):
    """Nothing to remember; the threshold is the sampling rule's."""

    threshold: Threshold


@kernel
def judge(
    test: Elimination, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """The survivor, if there is one, has reached all levels at once."""
    if rule.survivor[0] < 0:
        return nominee.answer, nominee.reached
    return rule.survivor[0], test.threshold.offsets.shape[0]


def score(test: Elimination, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    """How many answers the last phase has eliminated; where it left one, all are active again."""
    needed = len(rule.active) - 1
    found = needed if rule.survivor[0] >= 0 else int((~rule.active).sum())
    return Score(float(found), float(needed), "answers eliminated, of all but one")


TESTS = by_threshold(
    Elimination,
    name="elimination",
    judge=judge,
    score=score,
    region=region,
    within=within,
    what="the sampling rule has eliminated all answers but one",
    source="Soare, Lazaric & Munos (2014), 𝒳𝒴-Adaptive; ε = 0",
    sampling="xy-adaptive",
)
