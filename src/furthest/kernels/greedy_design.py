"""Greedy designs: pull the arm after which the least known direction is known best.

Each round pulls argmin_a max_y ‖y‖²_{(V + aaᵀ)⁻¹}, which by Sherman–Morrison is
‖y‖²_{V⁻¹} − (yᵀV⁻¹a)²/(1 + ‖a‖²_{V⁻¹}). A pull can only lower ‖y‖², so a direction y matters in
this round only if its ‖y‖²_{V⁻¹} exceeds min_a max over the directions seen before: most are
skipped.

A greedy design need not reach the optimal one: where several directions are equally unknown, it
takes an arm that helps them all a little rather than the best arms for each in turn.
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.alternatives import contrast_norms
from furthest.kernels.evidence import Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix, Vector, combine, fill, matvec
from furthest.kernels.rivals import Mask
from furthest.task import Task

# Relative differences below this are rounding.
TIE = 1e-10


class GreedyDesign(NamedTuple):
    """Work arrays, and what is remembered of the differences between answers."""

    worst: Vector  # (K,) max_y ‖y‖² after a pull of each arm, over the directions seen so far
    dual: Vector  # (d,) V⁻¹y
    along: Vector  # (K,) yᵀV⁻¹a
    bounds: Vector  # (Z,) at least max over active j > i of ‖z_i − z_j‖²


def greedy_design(task: Task) -> GreedyDesign:
    """A fresh design."""
    arms, d = task.arms.shape
    return GreedyDesign(
        worst=np.zeros(arms),
        dual=np.zeros(d),
        along=np.zeros(arms),
        bounds=np.full(task.answers.shape[0], math.inf),
    )


@kernel
def consider(
    arm_columns: Matrix, widths: Vector, dual: Vector, norm: float, along: Vector, worst: Vector
) -> float:
    """worst_a = max(worst_a, ‖y‖²_{(V + aaᵀ)⁻¹}), given V⁻¹y and ‖y‖²; returns min_a worst_a."""
    combine(dual, arm_columns, along)
    for a in range(worst.shape[0]):
        after = norm - along[a] * along[a] / (1.0 + widths[a])
        worst[a] = max(worst[a], after)
    least = math.inf
    for a in range(worst.shape[0]):
        least = min(least, worst[a])
    return least


@kernel
def best_arm(worst: Vector, counts: Counts) -> int:
    """The arm that leaves the least; of equals the one pulled least, then the first.

    In a symmetric problem no single pull helps all of the least known directions, and all arms are
    equal: the first index alone would be pulled for ever.
    """
    best = 0
    for a in range(1, worst.shape[0]):
        excess = worst[a] - worst[best]
        slack = TIE * worst[best]
        if excess < -slack or (excess <= slack and counts[a] < counts[best]):
            best = a
    return best


@kernel
def consider_difference(
    plan: GreedyDesign, task: Task, evidence: Evidence, z: int, x: int
) -> float:
    """`consider` y = z − x; its ‖y‖² is taken from evidence.norms[x]."""
    projected = evidence.projected
    for i in range(plan.dual.shape[0]):
        plan.dual[i] = projected[i, z] - projected[i, x]
    return consider(
        task.arm_columns, evidence.widths, plan.dual, evidence.norms[x], plan.along, plan.worst
    )


@kernel
def consider_differences(plan: GreedyDesign, task: Task, evidence: Evidence, active: Mask) -> None:
    """`worst` over all differences of active answers.

    ‖y‖² never grows, so what was once the largest of a row i bounds the row from above until it is
    computed again. The row of the largest bound goes first: then few others need to be.
    """
    bounds = plan.bounds
    leader = 0
    for i in range(1, bounds.shape[0]):
        if bounds[i] > bounds[leader]:
            leader = i
    fill(plan.worst, 0.0)
    least = _consider_row(plan, task, evidence, active, leader, 0.0)
    for i in range(bounds.shape[0]):
        if i != leader and bounds[i] > least:
            least = _consider_row(plan, task, evidence, active, i, least)


@kernel
def _consider_row(
    plan: GreedyDesign, task: Task, evidence: Evidence, active: Mask, i: int, least: float
) -> float:
    """The differences of answer i and the active answers after it; renews the bound of the row."""
    norms = evidence.norms
    bound = 0.0
    if active[i]:
        contrast_norms(task.answer_columns, evidence.projected, i, 1.0, norms)
        for j in range(i + 1, norms.shape[0]):
            if active[j]:
                bound = max(bound, norms[j])
                if norms[j] > least:
                    least = consider_difference(plan, task, evidence, i, j)
    plan.bounds[i] = bound
    return least


@kernel
def consider_arms(plan: GreedyDesign, task: Task, evidence: Evidence) -> None:
    """`worst` over all arms."""
    widths = evidence.widths
    leader = 0
    for b in range(1, widths.shape[0]):
        if widths[b] > widths[leader]:
            leader = b
    fill(plan.worst, 0.0)
    least = _consider_arm(plan, task, evidence, leader)
    for b in range(widths.shape[0]):
        if b != leader and widths[b] > least:
            least = _consider_arm(plan, task, evidence, b)


@kernel
def _consider_arm(plan: GreedyDesign, task: Task, evidence: Evidence, arm: int) -> float:
    widths = evidence.widths
    matvec(evidence.inverse, task.arms[arm], plan.dual)
    return consider(task.arm_columns, widths, plan.dual, widths[arm], plan.along, plan.worst)
