"""Unknown variance: normal–gamma e-values, proven for Gaussian noise of one constant σ.

Under the null (λ, σ) the errors u = (X − ⟨λ, a⟩)/σ are standard normal. The alternative gives them
a mean in the direction of interest and the variance 1/ρ, ρ ~ Gamma(a, a): a mixture of likelihood
ratios, hence a martingale from 1 at the true (μ, σ) for any sampling rule. Its least value over all
σ has a closed form and depends on the data only through the *share* s of the residual sum of
squares RSS(λ) that the direction explains. Statement and proof: docs/theory/top-wrong.md.

Everything here is free of units: rewards and λ may be scaled together.
"""

import math
from enum import IntEnum
from typing import NamedTuple

from furthest.kernels.jit import inlined, kernel
from furthest.kernels.linalg import Matrix, dot

# Squarings in the bound on the largest eigenvalue: at most d^(1/2⁵) times too large.
SQUARINGS = 5


class Prior(IntEnum):
    """Rows of an array of shapes a_i."""

    PARAMETER = 0
    LOG_WEIGHT = 1


class Direction(IntEnum):
    """Rows of an array of half-normal priors along a contrast y: ℓ_j/‖y‖², in two parts."""

    CONSTANT = 0
    LOG_WEIGHT = 1
    PER_SIZE = 2  # times ‖y‖²


class Shapes(NamedTuple):
    """Priors on the noise level of the alternative: how sure it is to be near that of the null.

    A large shape loses least in long runs, but cannot stop before about √(8·a·ln 1/δ) rounds,
    however small the noise is; the small one in the mixture can.
    """

    shapes: tuple[float, ...] = (3.0, 100.0)  # a_i
    weights: tuple[float, ...] = (0.1, 0.9)


@kernel
def log_normaliser(rounds: float, shape: float) -> float:
    """ln Γ(k) − k ln k + k − (ln Γ(a) − a ln a + a) with k = a + t/2, by Stirling's series."""
    k = shape + 0.5 * rounds
    return _stirling(k) - _stirling(shape) - 0.5 * math.log(k / shape)


@kernel
def _stirling(k: float) -> float:
    """ln Γ(k) − (k − ½) ln k + k − ½ ln 2π; four terms of the series are exact from k = 20 on."""
    if k < 20.0:
        return math.lgamma(k) - (k - 0.5) * math.log(k) + k - 0.5 * math.log(2.0 * math.pi)
    square = 1.0 / (k * k)
    return (1.0 / 12.0 - square * (1.0 / 360.0 - square * (1.0 / 1260.0 - square / 1680.0))) / k


@kernel
def log_e_value(share: float, rounds: float, shape: float) -> float:
    """φ(s) = −k ln(1 − s) − a·s/(1 − s) + normaliser: the e-value minimised over σ.

    Without the factor |L|/|V + L| of the prior. Beyond s = 1 − a/k the least σ is 0 and φ is flat.
    """
    k = shape + 0.5 * rounds
    share = min(share, 1.0 - shape / k)
    return -k * math.log1p(-share) - shape * share / (1.0 - share) + log_normaliser(rounds, shape)


@kernel
def largest_share(target: float, rounds: float, shape: float) -> float:
    """The share at which φ reaches `target`, rounded up; inf where it never does.

    In v = −ln(1 − s) the function is k·v − a(eᵛ − 1), concave: Newton's steps from the left never
    overshoot.
    """
    half = 0.5 * rounds
    k = shape + half
    goal = target - log_normaliser(rounds, shape)
    if goal <= 0.0:
        return 0.0
    if not goal < k * math.log(k / shape) - half:
        return math.inf
    v = goal / half
    for _ in range(50):
        grown = shape * math.expm1(v)
        step = (goal - k * v + grown) / (half - grown)
        v += step
        if not step > 1e-12 * v:
            break
    v *= 1.0 + 1e-10
    return -math.expm1(-v)


@kernel
def log_one_sided_bonus(share: float, rounds: float, shape: float) -> float:
    """What h > 0 instead of any h adds to φ: almost ln 2 for a clear direction, never less than 0.

    The one-sided e-value is the other times 2F(x), F Student's distribution function with 2k
    degrees of freedom, x² = 2k·s/(1 − s)·(1 − a/b), b = k(1 − s)·u, and u = 1 where φ is attained.
    For smaller u the other factor is larger by k(u − 1 − ln u) ≥ k(1 − u)²/2 in logarithm; so only
    u from 1 − √(2 ln 2/k) on matter, and there a bound on Student's tail bounds F.
    """
    k = shape + 0.5 * rounds
    share = min(share, 1.0 - shape / k)
    least = k * (1.0 - share) * (1.0 - math.sqrt(2.0 * math.log(2.0) / k))
    if least <= shape:
        return 0.0
    square = share / (1.0 - share) * (1.0 - shape / least)  # x²/2k
    freedom = 2.0 * k
    x = math.sqrt(square * freedom)
    if x <= 0.0:
        return 0.0
    tail = math.exp(-0.5 * (freedom - 1.0) * math.log1p(square)) / (
        (1.0 - 1.0 / freedom) * x * math.sqrt(2.0 * math.pi)
    )
    return math.log(2.0 - 2.0 * min(tail, 0.5))


@inlined
def prior_precision(directions: Matrix, j: int, size: float) -> float:
    """ℓ_j of a contrast with ‖y‖² = size."""
    return (directions[Direction.CONSTANT, j] + directions[Direction.PER_SIZE, j] * size) * size


@kernel
def log_one_sided_student(
    t: float,
    variance: float,
    size: float,
    residual: float,
    rounds: float,
    directions: Matrix,
    shapes: Matrix,
) -> float:
    """ln Σ w_j v_i E_ij of a contrast with T ≥ t and RSS(λ) ≤ residual."""
    if not (t > 0.0 and residual < math.inf):
        return -math.inf
    top, total = -math.inf, 0.0
    for j in range(directions.shape[1]):
        prior = prior_precision(directions, j, size)
        both = variance + prior
        if not both < math.inf:  # a scale beyond all numbers adds nothing
            continue
        share = t * t / (both * residual) if residual > 0.0 else 1.0
        penalty = directions[Direction.LOG_WEIGHT, j] - 0.5 * math.log(both / prior)
        for i in range(shapes.shape[1]):
            shape = shapes[Prior.PARAMETER, i]
            term = penalty + shapes[Prior.LOG_WEIGHT, i] + log_e_value(share, rounds, shape)
            term += log_one_sided_bonus(share, rounds, shape)
            if term > top:
                total = total * math.exp(top - term) + 1.0
                top = term
            else:
                total += math.exp(term - top)
    return top + math.log(total) if total > 0.0 else -math.inf


@kernel
def ellipsoid_share(target: float, rounds: float, shapes: Matrix) -> float:
    """The largest share ‖S(λ)‖²/RSS(λ) of a λ that is not rejected: the least over the shapes."""
    least = math.inf
    for i in range(shapes.shape[1]):
        goal = target - shapes[Prior.LOG_WEIGHT, i]
        least = min(least, largest_share(goal, rounds, shapes[Prior.PARAMETER, i]))
    return least


@kernel
def largest_eigenvalue(matrix: Matrix, power: Matrix, work: Matrix) -> float:
    """An upper bound on the largest eigenvalue λ of a positive definite matrix M.

    (tr Mⁿ)^{1/n} lies between λ and d^{1/n}·λ; n = 2⁵ by repeated squaring of M/tr M.
    """
    d = matrix.shape[0]
    trace = 0.0
    for i in range(d):
        trace += matrix[i, i]
    for i in range(d):
        for j in range(d):
            power[i, j] = matrix[i, j] / trace
    log_scale = 0.0  # ln of the factor taken out of the power
    for _ in range(SQUARINGS):
        square_trace = 0.0
        for i in range(d):
            for j in range(d):
                work[i, j] = dot(power[i], power[j])
            square_trace += work[i, i]
        log_scale = 2.0 * log_scale + math.log(square_trace)
        for i in range(d):
            for j in range(d):
                power[i, j] = work[i, j] / square_trace
    return trace * math.exp(log_scale / 2.0**SQUARINGS) * (1.0 + 1e-12)


@kernel
def largest_diagonal(matrix: Matrix) -> float:
    """A lower bound on the largest eigenvalue of a positive definite matrix."""
    largest = 0.0
    for i in range(matrix.shape[0]):
        largest = max(largest, matrix[i, i])
    return largest
