"""Mixture: an e-value against every alternative, by Gaussian mixtures over three prior scales.

Method of mixtures (Robbins 1970; Abbasi-Yadkori, Pál & Szepesvári 2011). The test stops when a
lower bound on the e-value exceeds 1/δ. Where σ is unknown the mixture is over σ too: the
normal–gamma e-values of kernels/normal_gamma.py. Statements and proofs: docs/theory.md.
"""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from furthest.kernels import normal_gamma
from furthest.kernels.alternatives import SAME, contrast_norms, margin
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import inlined, kernel, spliced
from furthest.kernels.linalg import Counts, Matrix, Vector
from furthest.kernels.normal_gamma import (
    Prior,
    Shapes,
    largest_eigenvalue,
    residual_of_design,
    residual_of_measurement,
)
from furthest.kernels.scales import mixture_scales, volumes
from furthest.stopping.contrasts import clearest_defeat
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import NATS, Guarantee, Score, StoppingTest
from furthest.stopping.thresholds import About
from furthest.task import Task


class Volumes(NamedTuple):
    """The prior precisions κ_j, and ln|V + κ_j|/|κ_j|."""

    kappas: Vector  # (scales,)
    floor: Vector  # (1,) the smallest volume when last computed; it only grows
    logdets: Vector  # (scales,) scratch
    factor: Matrix  # (d, d) scratch
    spreads: Vector  # (Z,) scratch


def _volumes(task: Task) -> Volumes:
    d = task.arms.shape[1]
    kappas = mixture_scales(d)
    return Volumes(
        kappas=kappas,
        floor=np.zeros(1),
        logdets=np.zeros_like(kappas),
        factor=np.zeros((d, d)),
        spreads=np.zeros(task.answers.shape[0]),
    )


class Mixture(NamedTuple):
    """The e-value for known σ."""

    levels: Vector  # (levels,) ln 1/δ, ascending
    prior: Volumes


def start(task: Task, deltas: Sequence[float]) -> Mixture:
    """The state before the first measurement."""
    return Mixture(_logs(deltas), _volumes(task))


def _logs(deltas: Sequence[float]) -> Vector:
    return np.array([math.log(1 / delta) for delta in deltas])


@spliced
def judge(
    test: Mixture, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Whether the e-value is enough."""
    return nominee.answer, levels_reached(test, task, evidence, nominee)


@inlined
def levels_reached(test: Mixture, task: Task, evidence: Evidence, nominee: Nominee) -> int:
    """How many levels; the e-value is at most exp(glr/2 − floor/2): most rounds need no more."""
    reached = nominee.reached
    if reached == test.levels.shape[0]:
        return reached
    if 0.5 * (nominee.glr - test.prior.floor[0]) < test.levels[reached]:
        return reached
    score = log_e_value(test, task, evidence, nominee.answer)
    while reached < test.levels.shape[0] and score > test.levels[reached]:
        reached += 1
    return reached


@kernel
def log_e_value(test: Mixture, task: Task, evidence: Evidence, z: int) -> float:
    """Logarithm of the e-value against "z is not ε-best", minimised over all alternatives.

    For prior precision L = κV₀ and true μ, sqrt(|L|/|V+L|)·exp(½‖V(μ_t−μ)‖²_{(V+L)⁻¹}) is a
    supermartingale from 1. Its infimum over the half-space of x has the exponent ½n²/(yᵀG⁻¹y) with
    G⁻¹ = V⁻¹ + κV⁻¹V₀V⁻¹. The mixture averages over the scales; the infimum of the average is at
    least the average of the infima, which is what is returned.
    """
    prior = test.prior
    update_volumes(prior, evidence.matrix)
    norms, spreads = evidence.norms, prior.spreads
    own = contrast_norms(task.answer_columns, evidence.projected, z, task.c, norms)
    contrast_norms(evidence.projected, evidence.projected, z, task.c, spreads)
    lowest = math.inf
    for x in range(norms.shape[0]):
        if x == z or not norms[x] > SAME * own:
            continue
        n = margin(task, evidence.values, z, x)
        if n <= 0.0:
            return -math.inf
        lowest = min(lowest, log_average(prior, n * n, norms[x], spreads[x]))
    return lowest


@inlined
def update_volumes(prior: Volumes, matrix: Matrix) -> None:
    """ln|V + κI| − ln|κI| for every scale."""
    prior.floor[0] = volumes(matrix, prior.kappas, prior.factor, prior.logdets)


@kernel
def log_average(prior: Volumes, squared_margin: float, norm: float, spread: float) -> float:
    """Ln of the average over scales of exp(½n²/(yᵀG_j⁻¹y) − ½logdet_j)."""
    scales = prior.kappas.shape[0]
    top = -math.inf
    for j in range(scales):
        top = max(top, squared_margin / (norm + prior.kappas[j] * spread) - prior.logdets[j])
    total = 0.0
    for j in range(scales):
        exponent = squared_margin / (norm + prior.kappas[j] * spread) - prior.logdets[j]
        total += math.exp(0.5 * (exponent - top))
    return 0.5 * top + math.log(total / scales)


def score(test: Mixture, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    """The e-value's logarithm."""
    found = log_e_value(test, task, evidence, nominee.answer)
    return Score(max(0.0, found), float(test.levels[0]), NATS)


def excludes(test: Mixture, task: Task, evidence: Evidence, z: int) -> bool:
    """Whether the confidence set misses every parameter under which z is ε-best."""
    defeat = clearest_defeat(task, evidence, z)
    if defeat is None:
        return False
    update_volumes(test.prior, evidence.matrix)
    return bool(log_average(test.prior, *defeat) > test.levels[0])


class Student(NamedTuple):
    """The e-value for unknown σ."""

    levels: Vector  # (levels,) ln 1/δ, ascending
    prior: Volumes
    shapes: Matrix  # (2, shapes) see normal_gamma.Prior
    started: Counts  # (1,) 1 once the initial design is folded in
    residual: Vector  # (1,) RSS at the estimate
    work: Matrix  # (d, d) scratch


def start_student(task: Task, deltas: Sequence[float]) -> Student:
    """The state before the first measurement."""
    d, shapes = task.arms.shape[1], Shapes()
    return Student(
        levels=_logs(deltas),
        prior=_volumes(task),
        shapes=np.array([shapes.shapes, np.log(shapes.weights)], float),
        started=np.zeros(1, np.int64),
        residual=np.zeros(1),
        work=np.zeros((d, d)),
    )


@inlined
def observe_student(test: Student, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Keep the residual sum of squares up to date."""
    if evidence.clock[Clock.READY] == 0:
        return
    if test.started[0] == 0:
        test.started[0] = 1
        test.residual[0] = residual_of_design(task, evidence)
    else:
        test.residual[0] += residual_of_measurement(task, evidence, arm, reward)


@spliced
def judge_student(
    test: Student, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Whether the e-value is enough."""
    return nominee.answer, student_levels_reached(test, task, evidence, nominee)


@inlined
def student_levels_reached(test: Student, task: Task, evidence: Evidence, nominee: Nominee) -> int:
    """How many levels; ρ ≥ 0 and the old volumes make share and e-value larger than they are."""
    glr, reached = nominee.glr, nominee.reached
    rounds = float(evidence.clock[Clock.ROUNDS])
    share = glr / (test.residual[0] + glr) if glr < math.inf else 1.0
    best = -math.inf
    for i in range(test.shapes.shape[1]):
        found = normal_gamma.log_e_value(share, rounds, test.shapes[Prior.PARAMETER, i])
        best = max(best, found)
    if best - 0.5 * test.prior.floor[0] < test.levels[reached]:
        return reached
    score = student_log_e_value(test, task, evidence, nominee.answer)
    while reached < test.levels.shape[0] and score > test.levels[reached]:
        reached += 1
    return reached


@kernel
def student_log_e_value(test: Student, task: Task, evidence: Evidence, z: int) -> float:
    """Logarithm of the e-value against "z is not ε-best", minimised over λ and σ.

    At distance D = ‖m − λ‖²_G, RSS(λ) = RSS + ‖m − λ‖²_V ≤ RSS + (1 + ρ)D with ρ = κ·λ_max(V⁻¹):
    the share of every λ in the half-space of x is at least D/(RSS + (1 + ρ)D) at D = n²/(yᵀG⁻¹y).
    """
    prior = test.prior
    update_volumes(prior, evidence.matrix)
    largest = largest_eigenvalue(evidence.inverse, prior.factor, test.work)
    norms, spreads = evidence.norms, prior.spreads
    own = contrast_norms(task.answer_columns, evidence.projected, z, task.c, norms)
    contrast_norms(evidence.projected, evidence.projected, z, task.c, spreads)
    rounds = float(evidence.clock[Clock.ROUNDS])
    lowest = math.inf
    for x in range(norms.shape[0]):
        if x == z or not norms[x] > SAME * own:
            continue
        n = margin(task, evidence.values, z, x)
        if n <= 0.0:
            return -math.inf
        found = student_log_average(test, n * n, norms[x], spreads[x], rounds, largest)
        lowest = min(lowest, found)
    return lowest


@kernel
def student_log_average(
    test: Student,
    squared_margin: float,
    norm: float,
    spread: float,
    rounds: float,
    largest: float,
) -> float:
    """Ln of the average over scales and shapes of exp(φ(s) − ½logdet)."""
    top, total = -math.inf, 0.0
    scales = test.prior.kappas.shape[0]
    for j in range(scales):
        kappa = test.prior.kappas[j]
        distance = squared_margin / (norm + kappa * spread)
        share = distance / (test.residual[0] + (1.0 + kappa * largest) * distance)
        for i in range(test.shapes.shape[1]):
            term = normal_gamma.log_e_value(share, rounds, test.shapes[Prior.PARAMETER, i])
            term += test.shapes[Prior.LOG_WEIGHT, i] - 0.5 * test.prior.logdets[j]
            if term > top:
                total = total * math.exp(top - term) + 1.0
                top = term
            else:
                total += math.exp(term - top)
    return top + math.log(total / scales)


def score_student(
    test: Student, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> Score:
    """The e-value's logarithm."""
    found = student_log_e_value(test, task, evidence, nominee.answer)
    return Score(max(0.0, found), float(test.levels[0]), NATS)


def excludes_student(test: Student, task: Task, evidence: Evidence, z: int) -> bool:
    """Whether the confidence set misses every parameter under which z is ε-best."""
    defeat = clearest_defeat(task, evidence, z)
    if defeat is None:
        return False
    update_volumes(test.prior, evidence.matrix)
    largest = largest_eigenvalue(evidence.inverse, test.prior.factor, test.work)
    rounds = float(evidence.clock[Clock.ROUNDS])
    return bool(student_log_average(test, *defeat, rounds, largest) > test.levels[0])


ABOUT = About(
    "e-value: Gaussian mixture over three prior scales, minimised over the alternatives",
    "method of mixtures (Robbins 1970; Abbasi-Yadkori, Pál & Szepesvári 2011); docs/theory.md",
    Guarantee(
        proven=True,
        noise="sub-Gaussian",
        words="proven (ε,δ)-PAC for sub-Gaussian noise, any sampling rule, any checking times",
    ),
)
TEST = StoppingTest(
    name="mixture",
    start=start,
    judge=judge,
    score=score,
    excludes=excludes,
    guarantee=ABOUT.guarantee,
    unknown_sigma=StoppingTest(
        name="mixture",
        start=start_student,
        judge=judge_student,
        observe=observe_student,
        score=score_student,
        excludes=excludes_student,
        guarantee=Guarantee(
            proven=True,
            noise="Gaussian",
            words="proven (ε,δ)-PAC for Gaussian noise of unknown σ, any sampling rule, "
            "any checking times",
        ),
    ),
)
