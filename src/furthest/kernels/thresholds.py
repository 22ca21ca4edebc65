"""When is the evidence enough? The thresholds of the GLR statistic, and the mixture's e-value.

`theory` and `paper` stop when the GLR statistic exceeds slope·ln(4 + ln(t/scale)) + offset(δ).
`mixture` stops when a lower bound on an e-value against every alternative exceeds 1/δ.
Statements and proofs: docs/theory.md.
"""

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from furthest.kernels.alternatives import SAME, contrast_norms, margin
from furthest.kernels.evidence import ROUNDS, Evidence
from furthest.kernels.jit import inlined, kernel
from furthest.kernels.linalg import Matrix, Vector, volumes
from furthest.kernels.task import Task

GLR = 0
MIXTURE = 1

# κ_j = 4d·16^j: prior precisions of the mixture, from weak to strong priors on V₀ (whitened: I).
MIXTURE_SCALES = 3


class Threshold(NamedTuple):
    """Which statistic is compared, and with what."""

    kind: int  # GLR or MIXTURE
    slope: float
    scale: float
    offsets: Vector  # (levels,) one per confidence level, ascending
    kappas: Vector  # (scales,) prior precisions of the mixture
    floor: Vector  # (1,) the mixture's smallest ln|V+κ|/|κ| when last computed; it only grows
    logdets: Vector  # (scales,) scratch
    factor: Matrix  # (d, d) scratch
    spreads: Vector  # (Z,) scratch


def threshold(
    task: Task, kind: int, slope: float, scale: float, offsets: Sequence[float]
) -> Threshold:
    """A fresh threshold for one run."""
    d = task.arms.shape[1]
    return Threshold(
        kind=kind,
        slope=slope,
        scale=scale,
        offsets=np.array(offsets, float),
        kappas=4.0 * d * 16.0 ** np.arange(MIXTURE_SCALES),
        floor=np.zeros(1),
        logdets=np.zeros(MIXTURE_SCALES),
        factor=np.zeros((d, d)),
        spreads=np.zeros(task.answers.shape[0]),
    )


def concentration(x: float) -> float:
    """C_G(x) = min over λ in (½, 1) of (g_G(λ) + x)/λ, from Kaufmann & Koolen (2021).

    g_G(λ) = 2λ − 2λ ln(4λ) + ln ζ(2λ) − ½ ln(1 − λ). The paper prints a maximum, which would be
    infinite; its source has the minimum.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def objective(lam: float) -> float:
        g = 2 * lam - 2 * lam * math.log(4 * lam) + math.log(zeta(2 * lam))
        return float((g - 0.5 * math.log1p(-lam) + x) / lam)

    found = minimize_scalar(
        objective, bounds=(0.5 + 1e-12, 1 - 1e-12), method="bounded", options={"xatol": 1e-12}
    )
    return float(found.fun)


@inlined
def required(rule: Threshold, rounds: int, level: int) -> float:
    """What the statistic must exceed after `rounds` measurements.

    Fewer rounds than arms: n·ln(4 + ln(t/n)) over the n ≤ t arms pulled is at most K·ln 4.
    """
    if rule.slope == 0.0:
        return rule.offsets[level]
    per_arm = max(rounds / rule.scale, 1.0)
    return rule.slope * math.log(4.0 + math.log(per_arm)) + rule.offsets[level]


@kernel
def width(rule: Threshold, rounds: int, level: int) -> float:
    """The threshold on the scale of the GLR statistic, for rules that use it as a width.

    An e-value has none. Sampling rules that want one get the squared radius of the first scale's
    ellipsoid where all directions are known equally well, V = t·I.
    """
    if rule.kind == MIXTURE:
        kappa, d = rule.kappas[0], rule.factor.shape[0]
        volume = d * math.log1p(rounds / kappa)
        scales = rule.kappas.shape[0]
        return (1.0 + kappa / rounds) * (2.0 * (rule.offsets[level] + math.log(scales)) + volume)
    return required(rule, rounds, level)


@inlined
def levels_met(
    rule: Threshold, task: Task, evidence: Evidence, z: int, glr: float, done: int
) -> int:
    """How many confidence levels answer z has reached; the first `done` are known to be."""
    rounds = evidence.clock[ROUNDS]
    met = done
    score = glr
    if done == rule.offsets.shape[0]:
        return done
    if rule.kind == MIXTURE:
        # The e-value is at most exp(glr/2 − floor/2): most rounds need nothing more.
        if 0.5 * (glr - rule.floor[0]) < rule.offsets[done]:
            return met
        score = log_e_value(rule, task, evidence, z)
    while met < rule.offsets.shape[0] and score > required(rule, rounds, met):
        met += 1
    return met


@kernel
def log_e_value(rule: Threshold, task: Task, evidence: Evidence, z: int) -> float:
    """Logarithm of the e-value against "z is not ε-best", minimised over all alternatives.

    For prior precision L = κV₀ and true μ, sqrt(|L|/|V+L|)·exp(½‖V(μ_t−μ)‖²_{(V+L)⁻¹}) is a
    supermartingale from 1. Its infimum over the half-space of x has the exponent ½n²/(yᵀG⁻¹y) with
    G⁻¹ = V⁻¹ + κV⁻¹V₀V⁻¹. The mixture averages over the scales; the infimum of the average is at
    least the average of the infima, which is what is returned.
    """
    update_volumes(rule, evidence.matrix)
    norms, spreads = evidence.norms, rule.spreads
    own = contrast_norms(task.answer_columns, evidence.projected, z, task.c, norms)
    contrast_norms(evidence.projected, evidence.projected, z, task.c, spreads)
    lowest = math.inf
    for x in range(norms.shape[0]):
        if x == z or not norms[x] > SAME * own:
            continue
        n = margin(task, evidence.values, z, x)
        if n <= 0.0:
            return -math.inf
        lowest = min(lowest, _log_average(rule, n * n, norms[x], spreads[x]))
    return lowest


@inlined
def update_volumes(rule: Threshold, matrix: Matrix) -> None:
    """ln|V + κI| − ln|κI| for every scale."""
    rule.floor[0] = volumes(matrix, rule.kappas, rule.factor, rule.logdets)


@kernel
def _log_average(rule: Threshold, squared_margin: float, norm: float, spread: float) -> float:
    """ln of the average over scales of exp(½n²/(yᵀG_j⁻¹y) − ½logdet_j)."""
    scales = rule.kappas.shape[0]
    top = -math.inf
    for j in range(scales):
        top = max(top, squared_margin / (norm + rule.kappas[j] * spread) - rule.logdets[j])
    total = 0.0
    for j in range(scales):
        exponent = squared_margin / (norm + rule.kappas[j] * spread) - rule.logdets[j]
        total += math.exp(0.5 * (exponent - top))
    return 0.5 * top + math.log(total / scales)
