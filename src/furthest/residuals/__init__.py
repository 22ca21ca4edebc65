"""Do the measurements look like the model? Warnings before it misleads.

Both tests are e-values that may be looked at after every measurement, whatever the sampling rule:
where the model is right, each ever warns with probability at most `LEVEL`.

*σ too small.* X = ⟨μ, a⟩ + η with η σ-sub-Gaussian has E exp(λη²/σ²) ≤ (1 − 2λ)^(−½), so for every
ρ in (0, 1) the product of √ρ·exp((1 − ρ)η²/2σ²) is a supermartingale. It increases in Ση², and that
is at least the squared deviation of all measurements from the mean of their arm. So a linear model
that does not fit cannot set this one off; nor can it see a σ that is too large, noise that depends
on the arm, or a single bad value among many arms measured once.

*Linear model.* Against arms with values of their own there is the mixture over a N(0, 1/κ)
deviation of each arm, as in docs/theory.md: ½Σ N²r²/(N + κ) − ½Σ ln(1 + N/κ) for the deviations r
of the arms' means from ⟨μ, a⟩, in units of σ, at the μ that suits it best. It sees only arms that
were measured: nothing can be said of a direction in which there is one arm.

For unknown σ the deviations are compared with the spread within the arms, by an F-test: a heuristic
at the same level, which peeking inflates.
"""

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from furthest.residuals.repeats import Repeats as Repeats
from furthest.residuals.repeats import rounding as rounding

if TYPE_CHECKING:
    from furthest.problem import Problem

LEVEL = 1e-3

# 1/ρ: how many times larger the true variance may be.
VARIANCE_RATIOS = (1.2, 1.5, 2.0, 4.0, 10.0, 100.0)

# κ: after how many pulls a deviation of one σ in one arm counts.
PRECISIONS = (1.0, 16.0, 256.0)


def check(problem: "Problem", arms: NDArray[np.int64], values: NDArray[np.float64]) -> list[str]:
    """What speaks against the model in these measurements, in words; empty if nothing."""
    counts = np.bincount(arms, minlength=len(problem.arms)).astype(float)
    seen = counts > 0
    if not seen.any():
        return []
    means = np.zeros_like(counts)
    np.divide(np.bincount(arms, values, len(counts)), counts, out=means, where=seen)
    within = float(((values - means[arms]) ** 2).sum())
    if problem.sigma is None:
        return _unknown_sigma(problem, counts, means, within)
    if noise_log_e_value(within / problem.sigma**2, len(values)) > -math.log(LEVEL):
        replicates = len(values) - int(seen.sum())
        spread = math.sqrt(within / max(replicates, 1))
        return [_noise(problem.sigma, spread)]
    log_e, deviations = misfit_log_e_value(problem, counts, means)
    return [_misfit(problem, deviations)] if log_e > -math.log(LEVEL) else []


def noise_log_e_value(squares: float, rounds: int) -> float:
    """Log e-value against "σ is large enough", `squares` in units of σ²."""
    terms = [
        0.5 * (1 - 1 / ratio) * squares - 0.5 * rounds * math.log(ratio)
        for ratio in VARIANCE_RATIOS
    ]
    return float(np.logaddexp.reduce(terms)) - math.log(len(terms))


def misfit_log_e_value(
    problem: "Problem", counts: NDArray[np.float64], means: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """Log e-value against the linear model, and the arms' deviations from its best fit."""
    terms, deviations = [], np.zeros_like(means)
    for precision in PRECISIONS:
        weights = counts**2 / (counts + precision)
        deviations = _deviations(problem, weights, means)
        evidence = (weights * deviations**2).sum() / (problem.sigma or 1.0) ** 2
        terms.append(0.5 * (evidence - np.log1p(counts / precision).sum()))
    return float(np.logaddexp.reduce(terms)) - math.log(len(terms)), deviations


def _deviations(
    problem: "Problem", weights: NDArray[np.float64], means: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Means of the measured arms minus their weighted least-squares fit; 0 for the others."""
    roots = np.sqrt(weights)
    fit = np.linalg.lstsq(roots[:, None] * problem.arms, roots * means, rcond=None)[0]
    return np.asarray(np.where(weights > 0, means - problem.arms @ fit, 0.0))


def _unknown_sigma(
    problem: "Problem",
    counts: NDArray[np.float64],
    means: NDArray[np.float64],
    within: float,
) -> list[str]:
    from scipy.stats import f

    seen = counts > 0
    free = int(seen.sum()) - int(np.linalg.matrix_rank(problem.arms[seen]))
    replicates = int(counts.sum()) - int(seen.sum())
    if free < 1 or replicates < 1 or within <= 0:
        return []
    deviations = _deviations(problem, counts, means)
    ratio = (counts * deviations**2).sum() / free / (within / replicates)
    return [_misfit(problem, deviations)] if f.sf(ratio, free, replicates) < LEVEL else []


def _noise(sigma: float, spread: float) -> str:
    return (
        f"the noise is larger than σ = {sigma:g} says: within the arms it is about {spread:.3g}; "
        "the guarantee holds for the σ given, so start again with a larger one, or with σ unknown"
    )


def _misfit(problem: "Problem", deviations: NDArray[np.float64]) -> str:
    worst = int(np.abs(deviations).argmax())
    side = "above" if deviations[worst] > 0 else "below"
    return (
        f"the features do not explain the values: {problem.arm_names[worst]!r} is measured "
        f"{abs(deviations[worst]):.3g} {side} its prediction; the guarantee needs a linear model, "
        "so add features or interactions, or compare plain options"
    )
