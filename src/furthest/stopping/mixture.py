"""Mixture: an e-value against every alternative, by Gaussian mixtures over three prior scales.

Method of mixtures (Robbins 1970; Abbasi-Yadkori, Pál & Szepesvári 2011). The test stops when a
lower bound on the e-value exceeds 1/δ. Where σ is unknown the mixture is over σ too: the
normal–gamma e-values of kernels/normal_gamma.py. Statements and proofs: docs/theory.md.
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from furthest.kernels import normal_gamma
from furthest.kernels.alternatives import SAME, contrast_norms, margin
from furthest.kernels.evidence import Clock, Evidence, Squares
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector
from furthest.kernels.normal_gamma import (
    Prior,
    Shapes,
    largest_eigenvalue,
)
from furthest.kernels.scales import mixture_scales, volumes
from furthest.stopping.contrasts import contrasts, is_singular
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import (
    MOST,
    NATS,
    PROVEN,
    PROVEN_UNKNOWN_SIGMA,
    Misses,
    Score,
    StoppingTest,
)
from furthest.stopping.thresholds import About
from furthest.stopping.within import of_question
from furthest.task import Task


class Mixture(NamedTuple):
    """The e-value, for σ = 1 or, with `shapes`, for unknown σ."""

    levels: Vector  # (levels,) ln 1/δ, ascending
    kappas: Vector  # (scales,) prior precisions κ_j
    shapes: Matrix  # (2, shapes) see normal_gamma.Prior; none where σ is known
    floor: Vector  # (1,) the smallest ln|V + κ|/|κ| when last computed; it only grows
    logdets: Vector  # (scales,) scratch
    factor: Matrix  # (d, d) scratch
    work: Matrix  # (d, d) scratch
    spreads: Vector  # (Z,) scratch


def start(task: Task, deltas: Sequence[float], shapes: Shapes | None = None) -> Mixture:
    """The state before the first measurement."""
    d = task.arms.shape[1]
    kappas = mixture_scales(d)
    priors = shapes or Shapes((), ())
    return Mixture(
        levels=np.array([math.log(1 / delta) for delta in deltas]),
        kappas=kappas,
        shapes=np.array([priors.shapes, np.log(priors.weights)], float),
        floor=np.zeros(1),
        logdets=np.zeros_like(kappas),
        factor=np.zeros((d, d)),
        work=np.zeros((d, d)),
        spreads=np.zeros(task.answers.shape[0]),
    )


def start_student(task: Task, deltas: Sequence[float]) -> Mixture:
    """The same for unknown σ."""
    return start(task, deltas, Shapes())


@kernel
def judge(
    test: Mixture, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Whether the e-value is enough."""
    return nominee.answer, levels_reached(test, task, evidence, nominee)


@kernel
def levels_reached(test: Mixture, task: Task, evidence: Evidence, nominee: Nominee) -> int:
    """How many levels; most rounds need no more than a bound on the e-value."""
    reached = nominee.reached
    if reached == test.levels.shape[0]:
        return reached
    # Volumes only grow: the old ones make the e-value larger than it is.
    if largest_e_value(test, evidence, nominee.glr) - 0.5 * test.floor[0] < test.levels[reached]:
        return reached
    score = log_e_value(test, task, evidence, nominee.answer)
    while reached < test.levels.shape[0] and score > test.levels[reached]:
        reached += 1
    return reached


@kernel
def largest_e_value(test: Mixture, evidence: Evidence, glr: float) -> float:
    """The most that the e-value can be, but for the volume: κ = 0, hence G = V and ρ = 0."""
    if test.shapes.shape[1] == 0:
        return 0.5 * glr
    rounds = float(evidence.clock[Clock.ROUNDS])
    share = glr / (evidence.residual[Squares.TOTAL] + glr) if glr < math.inf else 1.0
    best = -math.inf
    for i in range(test.shapes.shape[1]):
        found = normal_gamma.log_e_value(share, rounds, test.shapes[Prior.PARAMETER, i])
        best = max(best, found)
    return best


@kernel
def log_e_value(test: Mixture, task: Task, evidence: Evidence, z: int) -> float:
    """Logarithm of the e-value against "z is not ε-best", minimised over all alternatives.

    For prior precision L = κV₀ and true μ, sqrt(|L|/|V+L|)·exp(½‖V(μ_t−μ)‖²_{(V+L)⁻¹}) is a
    supermartingale from 1. Its infimum over the half-space of x has the exponent ½n²/(yᵀG⁻¹y) with
    G⁻¹ = V⁻¹ + κV⁻¹V₀V⁻¹. The mixture averages over the scales; the infimum of the average is at
    least the average of the infima, which is what is returned.

    For unknown σ, at distance D = ‖m − λ‖²_G, RSS(λ) = RSS + ‖m − λ‖²_V ≤ RSS + (1 + ρ)D with
    ρ = κ·λ_max(V⁻¹): the share of every λ in the half-space of x is at least D/(RSS + (1 + ρ)D) at
    D = n²/(yᵀG⁻¹y).
    """
    largest = update_volumes(test, evidence)
    norms, spreads = evidence.norms, test.spreads
    own = contrast_norms(task.answer_columns, evidence.projected, z, task.c, norms)
    contrast_norms(evidence.projected, evidence.projected, z, task.c, spreads)
    lowest = math.inf
    for x in range(norms.shape[0]):
        if x == z or not norms[x] > SAME * own:
            continue
        n = margin(task, evidence.values, z, x)
        if n <= 0.0:
            return -math.inf
        lowest = min(lowest, log_average(test, evidence, n * n, norms[x], spreads[x], largest))
    return lowest


@kernel
def update_volumes(test: Mixture, evidence: Evidence) -> float:
    """ln|V + κI| − ln|κI| for every scale; returns λ_max(V⁻¹), or 0 where nobody needs it."""
    test.floor[0] = volumes(evidence.matrix, test.kappas, test.factor, test.logdets)
    if test.shapes.shape[1] == 0:
        return 0.0
    return largest_eigenvalue(evidence.inverse, test.factor, test.work)


@kernel
def log_average(
    test: Mixture,
    evidence: Evidence,
    squared_margin: float,
    norm: float,
    spread: float,
    largest: float,
) -> float:
    """ln of the average over scales of exp(½n²/(yᵀG_j⁻¹y) − ½logdet_j).

    For unknown σ over scales and shapes, of exp(φ(s) − ½logdet_j).
    """
    scales, shapes = test.kappas.shape[0], test.shapes.shape[1]
    rounds, residual = float(evidence.clock[Clock.ROUNDS]), evidence.residual[Squares.TOTAL]
    top, total = -math.inf, 0.0
    for j in range(scales):
        if test.logdets[j] == math.inf:
            continue
        kappa = test.kappas[j]
        distance = squared_margin / (norm + kappa * spread)
        for i in range(max(shapes, 1)):
            term = 0.5 * distance
            if shapes > 0:
                share = 0.0
                if distance > 0.0:
                    share = distance / (residual + (1.0 + kappa * largest) * distance)
                term = normal_gamma.log_e_value(share, rounds, test.shapes[Prior.PARAMETER, i])
                term += test.shapes[Prior.LOG_WEIGHT, i]
            term -= 0.5 * test.logdets[j]
            if term > top:
                total = total * math.exp(top - term) + 1.0
                top = term
            else:
                total += math.exp(term - top)
    return top + math.log(total / scales) if total > 0.0 else -math.inf


def score(test: Mixture, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    """The e-value's logarithm."""
    needed = float(test.levels[0])
    if is_singular(evidence):
        return Score(0.0, needed, NATS)
    found = log_e_value(test, task, evidence, nominee.answer)
    if found == -math.inf:
        found = _log_defeat(test, task, evidence, nominee.answer)
    return Score(max(-MOST, min(found, MOST)), needed, NATS)


def _log_defeat(test: Mixture, task: Task, evidence: Evidence, z: int) -> float:
    """The e-value of an answer that is not ε-best under the estimate, on the same scale.

    Against an x whose margin is 0 the evidence has a logarithm v < 0, all of it the volume's. From
    there it falls with a negative margin as it would rise with a positive one.
    """
    largest = update_volumes(test, evidence)
    volume = log_average(test, evidence, 0.0, 1.0, 0.0, largest)
    return volume - max(
        (
            log_average(test, evidence, n * n, norm, spread, largest) - volume
            for n, norm, spread in zip(*contrasts(task, evidence, z), strict=True)
            if n < 0.0
        ),
        default=0.0,
    )


def region(test: Mixture, task: Task, evidence: Evidence) -> Misses:
    """The parameters against which the e-value is too small."""
    largest = update_volumes(test, evidence)

    def misses(square: float, norm: float, spread: float) -> bool:
        found = log_average(test, evidence, square, norm, spread, largest)
        return bool(found > test.levels[0])

    return misses


def within(test: Mixture, task: Task, evidence: Evidence, z: int, *, relative: bool) -> float:
    """The e-value at the true parameter knows of no ε."""
    return of_question(
        task,
        evidence,
        lambda asked: log_e_value(test, asked, evidence, z) > test.levels[0],
        relative=relative,
    )


ABOUT = About(
    "e-value: Gaussian mixture over three prior scales, minimised over the alternatives",
    "method of mixtures (Robbins 1970; Abbasi-Yadkori, Pál & Szepesvári 2011); docs/theory.md",
    PROVEN,
)
KNOWN = StoppingTest(
    name="mixture",
    start=start,
    judge=judge,
    score=score,
    region=region,
    within=within,
    guarantee=PROVEN,
)
TEST = replace(
    KNOWN, unknown_sigma=replace(KNOWN, start=start_student, guarantee=PROVEN_UNKNOWN_SIGMA)
)
