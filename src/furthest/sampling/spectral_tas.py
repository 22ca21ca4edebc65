"""SpectralTaS: track proportions that climb towards the optimal ones, a step of mirror ascent each.

After Kocák & Garivier (2020), "Best Arm Identification in Spectral Bandits", and (2021), "Epsilon
Best Arm Identification in Spectral Bandits": Track-and-Stop where μᵀPμ ≤ R is known. The
proportions are those of mirror ascent with the entropy (exponentiated gradients) on
w ↦ min over alternatives λ within the bound of ‖μ_t − λ‖²_{V_w}, whose supergradient at w has the
entries ⟨μ_t − λ, a⟩² for the closest λ.

Ours, not theirs: the step √(2 ln K/Σ_s ‖g_s‖²_∞) for the supergradients g_s so far, which is the
textbook's √(2 ln K/s)/L with what has been seen in place of a Lipschitz constant L; the
instantaneous furthest answer, as for LεBAI; C-tracking and exploration as for ε-TaS, one step of
ascent per round. Without a bound it is mirror-ascent Track-and-Stop.
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.ellipsoid import (
    Ellipsoid,
    ellipsoid,
    nearest_within,
    step_to,
    take_metric,
)
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.game import RIDGE, Nature, closest_alternative, nature
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector, combine, fill, weighted_information
from furthest.kernels.tracking import catch_up, most_behind
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Smoothness, Task


class SpectralTas(NamedTuple):
    """Gains so far, proportions, bound and work arrays."""

    within: Ellipsoid
    nature: Nature  # who picks the closest alternative where the bound does not matter
    information: Matrix  # (d, d) V_w
    totals: Vector  # (K,) Σ_s g_s
    squares: Vector  # (1,) Σ_s ‖g_s‖²_∞
    gains: Vector  # (K,) g
    weights: Vector  # (K,) w_t
    cumulative: Vector  # (K,) W, the sum of all proportions


def start(task: Task, *, smoothness: Smoothness | None = None) -> SpectralTas:
    """The state before the first round."""
    arms, d = task.arms.shape
    return SpectralTas(
        within=ellipsoid(task, smoothness),
        nature=nature(task),
        information=np.zeros((d, d)),
        totals=np.zeros(arms),
        squares=np.zeros(1),
        gains=np.zeros(arms),
        weights=np.full(arms, 1 / arms),
        cumulative=np.bincount(task.initial, minlength=arms).astype(float),
    )


@kernel
def choose(rule: SpectralTas, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One step of ascent; arms that fall behind √t − K/2 are explored first.

    Paper: SpectralTaS.
    """
    if not catch_up(evidence.counts, rule.cumulative, evidence.clock[Clock.ROUNDS]):
        ascend(rule.totals, rule.squares[0], rule.weights)
        for a in range(rule.weights.shape[0]):
            rule.cumulative[a] += rule.weights[a]
        answer, _ = instantaneous_furthest(task, evidence)
        to_closest(rule, task, evidence, answer)
        take_gains(task.arm_columns, rule.within.step, rule.gains, rule.totals, rule.squares)
    return most_behind(evidence.counts, rule.cumulative, 1.0)


@kernel
def ascend(totals: Vector, squares: float, out: Vector) -> None:
    """w ∝ exp(η Σ_s g_s), the point to which mirror ascent with the entropy leads."""
    arms = totals.shape[0]
    rate = math.sqrt(2.0 * math.log(arms) / squares) if squares > 0.0 else 0.0
    top, total = -math.inf, 0.0
    for a in range(arms):
        top = max(top, totals[a])
    for a in range(arms):
        out[a] = math.exp(rate * (totals[a] - top))
        total += out[a]
    for a in range(arms):
        out[a] /= total


@kernel
def to_closest(rule: SpectralTas, task: Task, evidence: Evidence, answer: int) -> None:
    """μ_t − λ into `within.step`, for the closest alternative λ at V_w; 0 where there is none.

    If the closest of all alternatives is within the bound, it is the closest of those as well. All
    is in the unit of the rewards, also where σ is unknown; 0 while it cannot be estimated.
    """
    within, player, precision = rule.within, rule.nature, evidence.precision[0]
    scale = closest_alternative(player, task, evidence, answer, rule.weights)
    for i in range(within.step.shape[0]):
        within.step[i] = scale * player.direction[i] / precision if precision > 0.0 else 0.0
    if precision > 0.0 and within.bound < math.inf and not is_within(within, evidence.estimate):
        weighted_information(task.arms, task.outer, rule.weights, player.packed, rule.information)
        closest_within(within, task, evidence.estimate, rule.information, answer)


@kernel
def is_within(within: Ellipsoid, estimate: Vector) -> bool:
    """Whether λ = μ_t − step is within the bound."""
    total = 0.0
    for i in range(estimate.shape[0]):
        along = 0.0
        for j in range(estimate.shape[0]):
            along += within.matrix[i, j] * (estimate[j] - within.step[j])
        total += along * (estimate[i] - within.step[i])
    return total <= within.bound


@kernel
def closest_within(
    within: Ellipsoid, task: Task, estimate: Vector, information: Matrix, answer: int
) -> None:
    """μ_t − λ into `within.step`, for the closest alternative λ within the bound."""
    found = take_metric(within, task.answer_columns, information, estimate)
    if not found:
        # As in the game: without exploration whole directions may be forgotten.
        for i in range(information.shape[0]):
            information[i, i] += RIDGE
        found = take_metric(within, task.answer_columns, information, estimate)
    distance, x, gamma = math.inf, -1, 0.0
    if found:
        distance, x, gamma = nearest_within(within, answer, task.c, task.e)
    if distance < math.inf and x >= 0:
        step_to(within, answer, x, task.c, task.e, gamma)
    else:
        fill(within.step, 0.0)


@kernel
def take_gains(
    arm_columns: Matrix, step: Vector, gains: Vector, totals: Vector, squares: Vector
) -> None:
    """g_a = ⟨μ_t − λ, a⟩², the supergradient of the distance at w."""
    combine(step, arm_columns, gains)
    largest = 0.0
    for a in range(gains.shape[0]):
        gains[a] *= gains[a]
        totals[a] += gains[a]
        largest = max(largest, gains[a])
    squares[0] += largest * largest


RULE = Rule(
    name="spectral-tas",
    start=start,
    choose=choose,
    source="after Kocák & Garivier (2020, 2021): SpectralTaS, mirror ascent within a bound on μ",
    optimality="the published one is asymptotically optimal; with this step and answer no proof is "
    "known",
)
