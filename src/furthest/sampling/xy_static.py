"""𝒳𝒴-Static: the greedy design that makes the least known difference of answers known best.

Soare, Lazaric & Munos (2014), "Best-Arm Identification in Linear Bandits", static allocation 𝒳𝒴 in
its greedy version. What is observed plays no part.

Only differences of answers are learnt: enough for the additive notion, but with the multiplicative
one a run may never stop where the differences do not show how large the answers themselves are.
"""

from typing import NamedTuple

import numpy as np

from furthest.kernels.evidence import Evidence
from furthest.kernels.greedy_design import (
    GreedyDesign,
    best_arm,
    consider_differences,
    greedy_design,
)
from furthest.kernels.jit import kernel
from furthest.kernels.rivals import Mask
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class XYStatic(NamedTuple):
    """The design and the answers it is about."""

    plan: GreedyDesign
    active: Mask  # (Z,) all of them


def start(task: Task) -> XYStatic:
    """The state before the first round."""
    return XYStatic(greedy_design(task), np.ones(task.answers.shape[0], np.bool_))


@kernel
def choose(rule: XYStatic, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """argmin over arms of max over pairs of answers of ‖z − x‖²_{(V + aaᵀ)⁻¹}.

    Paper: XY-Static.
    """
    consider_differences(rule.plan, task, evidence, rule.active)
    return best_arm(rule.plan.worst, evidence.counts)


RULE = Rule(
    name="xy-static",
    start=start,
    choose=choose,
    source="Soare, Lazaric & Munos (2014), 𝒳𝒴-allocation, greedy version",
    optimality="none: a greedy worst-case design, blind to what is observed",
)
