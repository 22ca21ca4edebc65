"""Softmin: pull the arm that adds most to the weakest evidence, softly.

The evidence for the furthest answer z against x is ev_x = ½(⟨m, y⟩ + e)²/‖y‖²_{V⁻¹}, y = z − c·x; z
is accepted about when the least of them is large enough. What one pull of a adds, in first order,
to −(1/τ) ln Σ_x exp(−τ·ev_x) is a weighted sum of ⟨a, u_x⟩²/(1 + ‖a‖²_{V⁻¹}), u_x being the step to
the closest alternative; ‖a‖_{V⁻¹} is added to |⟨a, u_x⟩| out of optimism. No learner, no tracking,
no δ.

Where the arms have costs, the gains are divided by the root of them: the first-order conditions say
the whole cost, which spends more on most of what was tried (docs/decisions/0023-costs.md).

Every x would cost a product with every arm, and early in a study nearly all of many count. So only
as many as there is room for are summed one by one, those of least evidence; of the others
Σ w(|g| + k)² is replaced by (√Σwg² + k√Σw)², which is at least that and at most twice as much, and
whose Σwg² is one quadratic form (docs/decisions/0027-large-problems.md).

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
from furthest.kernels.linalg import (
    BLOCK,
    Counts,
    Matrix,
    Vector,
    add_products,
    combine,
    combine_block,
    fill,
    lowest,
    quadratic_forms,
)
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task

# τ; the sharper one where every pair has an e-process of its own (docs/decisions/0022).
USUAL, SHARPER = 0.5, 1.0
# Weights below this do not count.
NEGLIGIBLE = 1e-6

# Multiplications per round up to which answers are summed one by one; and so many always are.
WORK = 2**23
LEAST_ROOM = 16
# Halvings of an interval of evidence, to find as many.
HALVINGS = 24

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
    # None of these where there is room for all.
    influence: Vector  # (Z,) w_x = exp(−τ·ev_x) in units of the largest; 0 if negligible
    nearest: Counts  # (room,) the x that are summed one by one
    paths: Matrix  # (room, d) their u_x
    others: Matrix  # (d, d) Σ w_x u_x u_xᵀ over the other x
    block: Matrix  # (d, BLOCK) √w_x·u_x of some of them
    sizes: Vector  # (K,) Σ w_x |⟨a, u_x⟩| over the nearest
    forms: Vector  # (K,) Σ w_x ⟨a, u_x⟩² over the others


def start(
    task: Task,
    *,
    tau: float | None = None,
    kappa: float = 1.0,
    power: float = COST_POWER,
    room: int | None = None,
) -> Softmin:
    """The state before the first round.

    τ is ½, and 1 for bounded rewards of plain options; `power` is that of the costs, if any; `room`
    is for how many answers there is room to be summed one by one.
    """
    if tau is None:
        tau = SHARPER if task.noise in (Noise.BOUNDED, Noise.BERNOULLI) else USUAL
    if not (0 < tau < math.inf and 0 <= kappa < math.inf):
        raise StrategyError(f"softmin needs tau > 0 and kappa ≥ 0, not {tau!r} and {kappa!r}")
    (arms, d), answers = task.arms.shape, len(task.answers)
    if room is None:
        room = max(LEAST_ROOM, WORK // (arms * d))
    if type(room) is not int or room < 0:
        raise StrategyError(f"the room of softmin must be a number of answers, not {room!r}")
    # Sizes of what is needed where there is no room for all.
    few, many, side = (room, answers, d) if room < answers else (0, 0, 0)
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
        influence=np.zeros(many),
        nearest=np.zeros(few, np.int64),
        paths=np.zeros((few, side)),
        others=np.zeros((side, side)),
        block=np.zeros((side, BLOCK)),
        sizes=np.zeros(arms if side else 0),
        forms=np.zeros(arms if side else 0),
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
    level = _level(rule) if rule.forms.shape[0] > 0 else math.inf
    fill(rule.gains, 0.0)
    if level < math.inf:
        _gain_in_crowd(rule, task, evidence, z, level)
        return
    gains, step, projected = rule.gains, rule.step, evidence.projected
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


@kernel
def _gain_in_crowd(rule: Softmin, task: Task, evidence: Evidence, z: int, level: float) -> None:
    """The same for the nearest x, and for all beyond the level together what is at least that."""
    count = _take_nearest(rule, task, evidence.projected, z, level)
    beyond, near = _sum_others(rule, task, evidence.projected, z, level), 0.0
    for i in range(count):
        near += rule.influence[rule.nearest[i]]
    fill(rule.sizes, 0.0)
    for low in range(0, rule.gains.shape[0], BLOCK):
        gains, along = rule.gains[low : low + BLOCK], rule.along[low : low + BLOCK]
        sizes, forms = rule.sizes[low : low + BLOCK], rule.forms[low : low + BLOCK]
        widths = evidence.widths[low : low + BLOCK]
        for i in range(count):
            weight = rule.influence[rule.nearest[i]]
            combine_block(rule.paths[i], task.arm_columns, low, along)
            for a in range(gains.shape[0]):
                gains[a] += weight * along[a] * along[a]
                sizes[a] += weight * abs(along[a])
        quadratic_forms(rule.others, task.arm_columns, low, along, forms)
        for a in range(gains.shape[0]):
            bonus = rule.kappa * math.sqrt(widths[a])
            others = math.sqrt(max(forms[a], 0.0)) + bonus * math.sqrt(beyond)
            gains[a] += bonus * (2.0 * sizes[a] + bonus * near) + others * others
            gains[a] /= 1.0 + widths[a]


@kernel
def _level(rule: Softmin) -> float:
    """Weighs all x; infinite where there is room for all that count, else the evidence of some x.

    There is room for those of no more evidence than that. It may be a few fewer than there could
    be, and none of many that are equal.
    """
    room, least = rule.nearest.shape[0], lowest(rule.evidence)
    count = 0
    for x in range(rule.evidence.shape[0]):
        weight = math.exp(-rule.tau * (rule.evidence[x] - least))
        if not weight > NEGLIGIBLE:  # nor is NaN, where nothing tells z from any x
            weight = 0.0
        rule.influence[x] = weight
        count += weight > 0.0
    if count <= room:
        return math.inf
    reach = -math.log(NEGLIGIBLE) / rule.tau
    low, high = least - reach, least + reach
    for _ in range(HALVINGS):
        middle = 0.5 * (low + high)
        if _count_up_to(rule.evidence, middle) <= room:
            low = middle
        else:
            high = middle
    return low


@kernel
def _count_up_to(evidence: Vector, level: float) -> int:
    """How many x have no more evidence than that."""
    count = 0
    for x in range(evidence.shape[0]):
        count += evidence[x] <= level
    return count


@kernel
def _take_nearest(rule: Softmin, task: Task, projected: Matrix, z: int, level: float) -> int:
    """List the x that are summed one by one, with u_x; their number."""
    count = 0
    for x in range(rule.evidence.shape[0]):
        if rule.influence[x] > 0.0 and rule.evidence[x] <= level and count < rule.nearest.shape[0]:
            rule.nearest[count] = x
            for i in range(projected.shape[0]):
                rule.paths[count, i] = rule.steps[x] * (projected[i, z] - task.c * projected[i, x])
            count += 1
    return count


@kernel
def _sum_others(rule: Softmin, task: Task, projected: Matrix, z: int, level: float) -> float:
    """Σ w_x u_x u_xᵀ over the x beyond the level, into `others`; returns Σ w_x."""
    total = 0.0
    for i in range(rule.others.shape[0]):
        fill(rule.others[i], 0.0)
    for low in range(0, rule.influence.shape[0], BLOCK):
        roots, weights = rule.norms[low : low + BLOCK], rule.influence[low : low + BLOCK]
        steps, evidence = rule.steps[low : low + BLOCK], rule.evidence[low : low + BLOCK]
        high = low + roots.shape[0]
        for x in range(roots.shape[0]):
            roots[x] = 0.0
            if weights[x] > 0.0 and evidence[x] > level:
                total += weights[x]
                roots[x] = math.sqrt(weights[x]) * steps[x]  # what makes V⁻¹y the root of its term
        for i in range(rule.block.shape[0]):
            own, duals, out = projected[i, z], projected[i, low:high], rule.block[i]
            for x in range(roots.shape[0]):
                out[x] = roots[x] * (own - task.c * duals[x])
        add_products(rule.block, high - low, rule.others)
    return total


RULE = Rule(
    name="softmin",
    start=start,
    choose=choose,
    source="this project: docs/theory/softmin.md",
    optimality="none proven",
)
