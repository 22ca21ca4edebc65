"""What the best-answer algorithms with ε = 0 test: gap and elimination.

Differences of answers are y = z − x here, whatever the notion of the task.
"""

import math

import numpy as np
from numpy.typing import NDArray

from furthest.kernels.alternatives import SAME, contrast_norms
from furthest.kernels.answers import TIE
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.task import Task

Mask = NDArray[np.bool_]


@kernel
def rival(task: Task, evidence: Evidence, z: int, width: float) -> tuple[int, float]:
    """(x, gap): the answer that may still beat z by most, and by how much.

    gap = max over x ≠ z of ⟨μ_t, x − z⟩/σ + ‖x − z‖_{V⁻¹} √width (Xu, Honda & Sugiyama 2018).
    LinGapE stops at gap ≤ ε/σ; for z greedy and the additive notion that is GLR(z) ≥ width. Without
    any x that differs from z, x = −1; while σ cannot be estimated, x is the least known.

    Paper: LinGapE, gap rule.
    """
    norms, values, precision = evidence.norms, evidence.values, evidence.precision[0]
    floor = SAME * contrast_norms(task.answer_columns, evidence.projected, z, 1.0, norms)
    where, gap = -1, -math.inf
    for x in range(norms.shape[0]):
        if x == z or not norms[x] > floor:
            continue
        optimism = precision * (values[x] - values[z]) + math.sqrt(norms[x] * width)
        if where < 0 or optimism > gap + TIE * abs(gap):
            where, gap = x, optimism
    return where, gap


@kernel
def eliminate(task: Task, evidence: Evidence, width: float, active: Mask) -> int:
    """Mark the answers that no other one beats for certain; returns how many there are.

    i is beaten if some j has ⟨μ_t, j − i⟩/σ ≥ ‖j − i‖_{V⁻¹} √width (Soare, Lazaric & Munos 2014).
    Of equal answers only the first can be active. While V is singular none is beaten.
    """
    norms, values, precision = evidence.norms, evidence.values, evidence.precision[0]
    survivors = 0
    for i in range(norms.shape[0]):
        floor = SAME * contrast_norms(task.answer_columns, evidence.projected, i, 1.0, norms)
        active[i] = True
        for j in range(norms.shape[0]):
            if evidence.clock[Clock.SINGULAR] == 1:
                break
            if norms[j] > floor:
                if precision * (values[j] - values[i]) >= math.sqrt(norms[j] * width):
                    active[i] = False
            elif j < i:
                active[i] = False
        if active[i]:
            survivors += 1
    return survivors
