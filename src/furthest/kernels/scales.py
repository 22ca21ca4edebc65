"""Prior precisions of the Gaussian mixtures, and the volumes that go with them."""

import math

import numpy as np

from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector, cholesky, copy, log_determinant

# κ_j = 4d·16^j: from weak to strong priors on V₀ (whitened: I).
FIRST_SCALE = 4.0
RATIO = 16.0
SCALES = 3


def mixture_scales(d: int) -> Vector:
    """The mixture's prior precisions in dimension d."""
    return FIRST_SCALE * d * RATIO ** np.arange(SCALES, dtype=float)


@kernel
def volumes(matrix: Matrix, precisions: Vector, factor: Matrix, out: Vector) -> float:
    """out_j = ln|V + κ_jI| − ln|κ_jI| for every precision κ_j; returns the least of them.

    Infinite, which proves nothing, where rounding leaves V + κ_jI without a Cholesky factor.
    """
    d = factor.shape[0]
    least = math.inf
    for j in range(precisions.shape[0]):
        copy(matrix, factor)
        for i in range(d):
            factor[i, i] += precisions[j]
        out[j] = math.inf
        if cholesky(factor):
            out[j] = log_determinant(factor) - d * math.log(precisions[j])
        least = min(least, out[j])
    return least
