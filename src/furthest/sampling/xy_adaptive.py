"""𝒳𝒴-Adaptive: the greedy 𝒳𝒴 design in phases, on the answers that may still be the best.

Soare, Lazaric & Munos (2014), "Best-Arm Identification in Linear Bandits", algorithm 𝒳𝒴-Adaptive.
They discard the data of earlier phases; here, as in Jourdan & Degenne (2022), data are kept.

Only differences of answers are learnt: enough for the additive notion, but with the multiplicative
one a run may never stop where the differences do not show how large the answers themselves are.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from furthest.errors import StrategyError
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.greedy_design import (
    GreedyDesign,
    best_arm,
    consider_differences,
    greedy_design,
)
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Vector, fill
from furthest.kernels.rivals import Mask, eliminate
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task
from furthest.verbs import width


class Phase(IntEnum):
    """Positions in XYAdaptive.phase."""

    SPREAD = 0  # ρ: the largest ‖y‖²_{V⁻¹} over differences of active answers, after the last pull
    GOAL = 1  # the phase ends once ρ/t is below this


class XYAdaptive(NamedTuple):
    """The design, the active answers and the phase."""

    alpha: float  # how far ρ/t must fall in a phase
    plan: GreedyDesign
    active: Mask  # (Z,)
    phase: Vector  # (2,) see Phase
    survivor: Counts  # (1,) the one answer left at the end of the last phase, or −1


def start(task: Task, *, alpha: float = 0.1) -> XYAdaptive:
    """The state before the first round: all answers active, ρ = 1 after the initial pulls."""
    if not 0 < alpha < 1:
        raise StrategyError(f"alpha of xy-adaptive must be between 0 and 1, not {alpha:g}")
    return XYAdaptive(
        alpha=float(alpha),
        plan=greedy_design(task),
        active=np.ones(task.answers.shape[0], np.bool_),
        phase=np.array([math.inf, alpha / task.initial.shape[0]]),
        survivor=np.array([-1]),
    )


@kernel
def choose(rule: XYAdaptive, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """argmin over arms of max over pairs of active answers of ‖z − x‖²_{(V + aaᵀ)⁻¹}.

    Paper: XY-Adaptive.
    """
    progress = rule.phase[Phase.SPREAD] / evidence.clock[Clock.ROUNDS]
    if progress < rule.phase[Phase.GOAL]:
        rule.phase[Phase.GOAL] = rule.alpha * progress
        _next_phase(rule, task, evidence, stopping)
    consider_differences(rule.plan, task, evidence, rule.active)
    arm = best_arm(rule.plan.worst, evidence.counts)
    rule.phase[Phase.SPREAD] = rule.plan.worst[arm]
    return arm


@kernel
def _next_phase(rule: XYAdaptive, task: Task, evidence: Evidence, stopping: Stopping) -> None:
    """Renew the active answers; where only one is left, the test `elimination` accepts it.

    If another test does not stop then, because it asks for more, all answers are active again.
    """
    active = rule.active
    bound = width(stopping, task, evidence.clock[Clock.ROUNDS])
    survivors = eliminate(task, evidence, bound, active)
    rule.survivor[0] = -1
    if survivors < 2:
        for z in range(active.shape[0]):
            if active[z]:
                rule.survivor[0] = z
            active[z] = True
    fill(rule.plan.bounds, math.inf)


RULE = Rule(
    name="xy-adaptive",
    start=start,
    choose=choose,
    source="Soare, Lazaric & Munos (2014), algorithm 𝒳𝒴-Adaptive, data kept between phases",
    optimality="none proven with data kept between phases",
    depends_on_delta=True,
)
