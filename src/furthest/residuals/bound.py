"""Evidence against "μᵀPμ ≤ R": an e-value, by the mixtures of the stopping test `mixture`.

M_t(μ) is an e-process for the true μ. If that is within the bound, M_t(μ) is at least the infimum
over all parameters within it, which the distance of the estimate from the bound gives
(docs/theory/spectral.md).
"""

import math
from typing import TYPE_CHECKING

import numpy as np

from furthest.kernels.ellipsoid import ellipsoid, multiplier, take_metric
from furthest.kernels.scales import mixture_scales
from furthest.residuals.evalues import Sample

if TYPE_CHECKING:
    from furthest.problem import Problem


def bound_log_e_value(problem: "Problem", sample: Sample) -> float:
    """Its logarithm; −∞ while nothing can be said."""
    known, task = problem.smoothness, problem.task
    features = task.arms[sample.seen]
    matrix = features.T @ (sample.counts[:, None] * features)
    if known is None or np.linalg.matrix_rank(matrix, hermitian=True) < len(matrix):
        return -math.inf
    means = sample.means / problem.unit
    if problem.offset is not None:
        # The bound says nothing about what all rewards share, and digits are saved.
        ratios = problem.ratios[sample.seen]
        means = means - (means * ratios).mean() / ratios
    estimate = np.asarray(np.linalg.solve(matrix, features.T @ (sample.counts * means)), float)
    work, terms = ellipsoid(task, known), []
    for kappa in mixture_scales(len(matrix)):
        prior = matrix + kappa * np.eye(len(matrix))
        metric = np.ascontiguousarray(matrix @ np.linalg.solve(prior, matrix))
        if not take_metric(work, task.answer_columns, metric, estimate):
            return -math.inf
        work.contrast[:] = 0.0  # no half-space: the ellipsoid alone
        distance, _ = multiplier(work, 0.0, math.inf)
        terms.append(0.5 * (distance - np.linalg.slogdet(prior / kappa)[1]))
    return float(np.logaddexp.reduce(terms) - math.log(len(terms)))
