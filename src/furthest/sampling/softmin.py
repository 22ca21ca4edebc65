"""Softmin: pull the arm that adds most to the weakest evidence, softly.

The evidence for the furthest answer z against x is ev_x = ½(⟨m, y⟩ + e)²/‖y‖²_{V⁻¹}, y = z − c·x; z
is accepted about when the least of them is large enough. What one pull of a adds, in first order,
to −(1/τ) ln Σ_x exp(−τ·ev_x) is a weighted sum of ⟨a, u_x⟩²/(1 + ‖a‖²_{V⁻¹}), u_x being the step to
the closest alternative; ‖a‖_{V⁻¹} is added to |⟨a, u_x⟩| out of optimism. No learner, no tracking,
no δ.

Where the arms have costs, the gains are divided by the root of them: the first-order conditions say
the whole cost, which spends more on most of what was tried (docs/decisions/0023-costs.md).

An arm about which much less is known than it should be after t rounds, ‖a‖²_{V⁻¹} > d/√t, is pulled
first: so nothing is forgotten, and it hardly ever happens (docs/theory/softmin.md).
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.codes import Noise
from furthest.errors import StrategyError
from furthest.kernels.alternatives import SAME, contrast_norms, margin
from furthest.kernels.answers import TIE, greedy_answer, instantaneous_furthest
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Vector, combine, fill, lowest
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task

# τ; the sharper one where every pair has an e-process of its own (docs/decisions/0022).
USUAL, SHARPER = 0.5, 1.0
# Weights below this do not count.
NEGLIGIBLE = 1e-6

# Of the costs by which gains are divided.
COST_POWER = 0.5


class Softmin(NamedTuple):
    """Sharpness, optimism and work arrays."""

    tau: float
    kappa: float
    norms: Vector  # (Z,) q_x = ‖z − c·x‖²_{V⁻¹}
    steps: Vector  # (Z,) n_x/q_x
    evidence: Vector  # (Z,) ev_x
    step: Vector  # (d,) u_x
    along: Vector  # (K,) ⟨a, u_x⟩
    gains: Vector  # (K,)
    divisors: Vector  # (K,) what the gains are divided by: costs to some power


def start(
    task: Task, *, tau: float | None = None, kappa: float = 1.0, power: float = COST_POWER
) -> Softmin:
    """The state before the first round.

    τ is ½, and 1 for bounded rewards of plain options; `power` is that of the costs, if any.
    """
    if tau is None:
        tau = SHARPER if task.noise in (Noise.BOUNDED, Noise.BERNOULLI) else USUAL
    if not (0 < tau < math.inf and 0 <= kappa < math.inf):
        raise StrategyError(f"softmin needs tau > 0 and kappa ≥ 0, not {tau!r} and {kappa!r}")
    (arms, d), answers = task.arms.shape, len(task.answers)
    return Softmin(
        float(tau),
        float(kappa),
        norms=np.zeros(answers),
        steps=np.zeros(answers),
        evidence=np.zeros(answers),
        step=np.zeros(d),
        along=np.zeros(arms),
        gains=np.zeros(arms),
        divisors=_divisors(task, power),
    )


def _divisors(task: Task, power: float) -> Vector:
    """What the gains are divided by: 1 without costs."""
    if not 0 <= power < math.inf:
        raise StrategyError(f"softmin needs a power ≥ 0 of the costs, not {power!r}")
    if not len(task.costs):
        return np.ones(len(task.arms))
    return np.asarray((task.costs / task.costs.min()) ** power)


@kernel
def choose(rule: Softmin, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """An arm of which too little is known, or else the one of largest gain."""
    widest = greedy_answer(evidence.widths)
    rounds = float(evidence.clock[Clock.ROUNDS])
    if evidence.widths[widest] > task.arms.shape[1] / math.sqrt(rounds):
        return widest
    z, _ = instantaneous_furthest(task, evidence)
    _weigh(rule, task, evidence, z)
    _gain(rule, task, evidence, z)
    best, gains = 0, rule.gains
    for a in range(gains.shape[0]):
        gains[a] /= rule.divisors[a]
    for a in range(1, gains.shape[0]):
        more, equal = gains[a] - gains[best], TIE * gains[best]
        # Of equal ones the one that was pulled least.
        if more > equal or (more >= -equal and evidence.counts[a] < evidence.counts[best]):
            best = a
    return best


@kernel
def _weigh(rule: Softmin, task: Task, evidence: Evidence, z: int) -> None:
    """Evidence and steps of z against every x; infinite where nothing tells them apart."""
    own = contrast_norms(task.answer_columns, evidence.projected, z, task.c, rule.norms)
    for x in range(rule.norms.shape[0]):
        rule.evidence[x] = math.inf
        if x == z or not rule.norms[x] > SAME * own:
            continue
        gap = max(margin(task, evidence.values, z, x), 0.0) * evidence.precision[0]
        rule.steps[x] = gap / rule.norms[x]
        rule.evidence[x] = 0.5 * gap * rule.steps[x]


@kernel
def _gain(rule: Softmin, task: Task, evidence: Evidence, z: int) -> None:
    """What a pull of each arm adds to the soft minimum, optimistically."""
    gains, step, projected = rule.gains, rule.step, evidence.projected
    fill(gains, 0.0)
    least = lowest(rule.evidence)
    for x in range(rule.evidence.shape[0]):
        weight = math.exp(-rule.tau * (rule.evidence[x] - least))
        if not weight > NEGLIGIBLE:  # nor is NaN, where nothing tells z from any x
            continue
        for i in range(step.shape[0]):
            step[i] = rule.steps[x] * (projected[i, z] - task.c * projected[i, x])
        combine(step, task.arm_columns, rule.along)
        for a in range(gains.shape[0]):
            width = evidence.widths[a]
            gain = abs(rule.along[a]) + rule.kappa * math.sqrt(width)
            gains[a] += weight * gain * gain / (1.0 + width)


RULE = Rule(
    name="softmin",
    start=start,
    choose=choose,
    source="this project: docs/theory/softmin.md",
    optimality="none proven",
)
