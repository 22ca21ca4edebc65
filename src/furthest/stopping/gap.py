"""Gap: no answer may still beat the candidate by more than ε.

Xu, Honda & Sugiyama (2018), LinGapE; for the greedy answer and the additive notion it is the GLR.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.rivals import rival
from furthest.stopping.contrasts import contrasts, is_singular
from furthest.stopping.glr import region, within
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import Score
from furthest.stopping.thresholds import Threshold, by_threshold, required
from furthest.task import Task


class Gap(NamedTuple):
    """Nothing to remember; a threshold serves as the squared width."""

    threshold: Threshold


@kernel
def judge(
    test: Gap, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Level by level.

    Paper: gap rule.
    """
    threshold, rounds, reached = test.threshold, evidence.clock[Clock.ROUNDS], nominee.reached
    while reached < threshold.offsets.shape[0]:
        _, gap = rival(task, evidence, nominee.answer, required(threshold, rounds, reached))
        if gap > task.e:
            break
        reached += 1
    return nominee.answer, reached


def score(test: Gap, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    """How far the largest gap is below ε."""
    width = required(test.threshold, int(evidence.clock[Clock.ROUNDS]), 0)
    margins, norms, _ = contrasts(task._replace(c=1.0, e=0.0), evidence, nominee.answer)
    gaps = np.sqrt(norms * width) - margins
    # Without an estimate no answer is known to differ from the nominee: as if one did by a width.
    largest = math.sqrt(width) if is_singular(evidence) else float(gaps.max(initial=-math.inf))
    return Score(task.e - largest, 0.0, "ε minus the largest possible gap")


TESTS = by_threshold(
    Gap,
    name="gap",
    judge=judge,
    score=score,
    region=region,
    within=within,
    what="no answer may still beat the candidate by more than ε, by the threshold as a width",
    source="Xu, Honda & Sugiyama (2018), LinGapE; additive notion",
    notions=("additive",),
)
