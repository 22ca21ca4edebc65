"""Evidence against the model: e-values that may be looked at after every measurement.

Each is the least value, over all parameters the model allows, of a mixture of likelihood ratios. At
the true parameter that mixture is a (super)martingale from 1, whatever the sampling rule; so where
the model is right, the probability of ever seeing 1/p or more is at most p. Statements and proofs:
docs/theory/doubts.md.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

# 1/ρ: how many times larger the true variance may be.
VARIANCE_RATIOS = (1.2, 1.5, 2.0, 4.0, 10.0, 100.0)

# κ: after how many pulls a deviation of one σ in one arm counts.
PRECISIONS = (1.0, 16.0, 256.0)

# (α, κ) where σ is unknown; α is how sure the alternative is that its noise is that of the null.
# Few pulls show only deviations that are large against the noise, and there σ may be anything.
SHAPES_AND_PRECISIONS = ((1.0, 0.3), (1.0, 1.0), (100.0, 16.0), (100.0, 256.0))

# α and κ where each arm may have a noise of its own: anything goes.
FREE_SHAPE = 0.3
FREE_PRECISIONS = np.array([[0.3], [1.0], [3.0]])

# Relative to the largest singular value: below this, a direction of the arms is rounding.
RANK_TOLERANCE = 1e-9

# Where ln(1/σ²) is sought around its estimate, and in how many steps of the golden section.
RANGE = 30.0
STEPS = 50
GOLDEN = (math.sqrt(5) - 1) / 2


class Sample(NamedTuple):
    """What the e-values need of the results: a row per arm that was measured."""

    seen: NDArray[np.int64]  # the arms' numbers
    counts: Vector
    means: Vector
    within: Vector  # sums of squares around the arms' own means …
    squares: Vector  # … and of how many squares: of a mean told without its deviation there is one

    @property
    def freedom(self) -> float:
        """Squares beyond the first of each arm."""
        return float(self.squares.sum()) - len(self.squares)

    @property
    def spread(self) -> float:
        """The standard deviation within the arms; NaN before an arm has two results."""
        return math.sqrt(self.within.sum() / self.freedom) if self.freedom else math.nan


def summarise(
    arms: NDArray[np.int64],
    values: Vector,
    sizes: NDArray[np.int64] | None = None,
    deviations: Vector | None = None,
) -> Sample:
    """The sample in numbers; each value the mean of several, with `sizes`."""
    sizes = np.ones(len(arms), np.int64) if sizes is None else sizes
    deviations = np.full(len(arms), np.nan) if deviations is None else deviations
    seen, own = np.unique(arms, return_inverse=True)
    counts = np.bincount(own, sizes).astype(float)
    means = np.bincount(own, sizes * values) / counts
    told = (sizes - 1) * np.nan_to_num(deviations) ** 2
    within = np.bincount(own, sizes * (values - means[own]) ** 2 + told)
    squares = np.bincount(own, np.where(np.isnan(deviations), 1, sizes))
    return Sample(seen, counts, means, np.asarray(within, float), squares.astype(float))


def hidden_deviation(features: Matrix, sample: Sample, sigmas: Vector) -> float:
    """How far one arm's value could be from its features' prediction without showing.

    A deviation δ of arm a moves the arm's mean by (1 − h)δ against the fit, h = n_a‖a‖²_{V⁻¹}, and
    the noise of that is σ√((1 − h)/n_a): this is the δ of two standard errors, in the arm where it
    is largest; infinite where an arm alone decides what the features mean. σ is that of each arm,
    features and sample are in one unit of noise.
    """
    rows = np.sqrt(sample.counts)[:, None] * features
    basis, singular, _ = np.linalg.svd(rows, full_matrices=False)
    kept = singular > RANK_TOLERANCE * singular[0]
    rest = 1.0 - (basis[:, kept] ** 2).sum(axis=1)
    informed = sample.counts * np.where(rest > RANK_TOLERANCE, rest, 0.0)
    return float((2.0 * sigmas / np.sqrt(informed)).max()) if informed.min() > 0 else math.inf


def noise_log_e_value(squares: float, rounds: float) -> float:
    """Log e-value against "σ is large enough", `squares` in units of σ²."""
    terms = [
        0.5 * (1 - 1 / ratio) * squares - 0.5 * rounds * math.log(ratio)
        for ratio in VARIANCE_RATIOS
    ]
    return _average(terms)


def misfit_log_e_value(features: Matrix, sample: Sample, sigma: float | None) -> float:
    """Log e-value against values that are linear in the features (rows: the arms measured)."""
    if sigma is None:
        return _misfit_unknown_sigma(features, sample)
    terms = []
    for precision in PRECISIONS:
        weights = sample.counts**2 / (sample.counts + precision)
        evidence = float((weights * deviations(features, weights, sample.means) ** 2).sum())
        penalty = float(np.log1p(sample.counts / precision).sum())
        terms.append(0.5 * (evidence / sigma**2 - penalty))
    return _average(terms)


def deviations(features: Matrix, weights: Vector, means: Vector) -> Vector:
    """The arms' means minus their weighted least-squares fit."""
    roots = np.sqrt(weights)
    return _outside(_span(roots[:, None] * features), roots * means) / roots


def _misfit_unknown_sigma(features: Matrix, sample: Sample) -> float:
    rounds = float(sample.counts.sum())
    terms = []
    for shape, precision in SHAPES_AND_PRECISIONS:
        share = least_share(features, sample, precision)
        penalty = 0.5 * float(np.log1p(sample.counts / precision).sum())
        terms.append(log_student(share, rounds, shape) - penalty)
    return _average(terms)


def least_share(features: Matrix, sample: Sample, precision: float) -> float:
    """The least share, over all μ, that own means explain of the sum of squares around ⟨μ, a⟩.

    Both sums of squares are quadratic forms in (μ, 1), so it is the smallest eigenvalue of their
    pencil; in orthonormal coordinates of the second, of a symmetric matrix. 0 if all is fitted.
    """
    roots, within = np.sqrt(sample.counts), float(sample.within.sum())
    span = _span(roots[:, None] * features)
    rest = _outside(span, roots * sample.means)
    total = float(rest @ rest) + within
    if total <= 0:
        return 0.0
    coordinates = np.column_stack([span, rest / math.sqrt(total)])
    shrunk = (sample.counts / (sample.counts + precision))[:, None] * coordinates
    return max(0.0, float(np.linalg.eigvalsh(coordinates.T @ shrunk)[0]))


def log_student(share: float, rounds: float, shape: float) -> float:
    """φ(s) of docs/theory/doubts.md: the normal–gamma e-value, minimised over σ."""
    k = shape + 0.5 * rounds
    share = min(share, 1 - shape / k)
    normaliser = math.lgamma(k) - k * math.log(k) + k
    normaliser -= math.lgamma(shape) - shape * math.log(shape) + shape
    return -k * math.log1p(-share) - shape * share / (1 - share) + normaliser


def unequal_log_e_value(sample: Sample) -> float:
    """Log e-value against "the noise of all arms has one σ"; the arms' means may be any.

    The alternatives: one arm has a noise level of its own and nothing is said of the others; all
    arms have their own; one arm has its own and the others share one.
    """
    if len(sample.counts) < 2 or sample.within.sum() <= 0:
        return -math.inf
    alternatives = _Alternatives(sample.counts)
    start = math.log(sample.counts.sum() / sample.within.sum())
    # Convex in 1/σ², so the golden section finds the least value on any monotone scale of it.
    low, high = start - RANGE, start + RANGE
    left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
    at_left, at_right = (alternatives.log_average(sample.within, x) for x in (left, right))
    for _ in range(STEPS):
        if at_left < at_right:
            high, right, at_right = right, left, at_left
            left = high - GOLDEN * (high - low)
            at_left = alternatives.log_average(sample.within, left)
        else:
            low, left, at_left = left, right, at_right
            right = low + GOLDEN * (high - low)
            at_right = alternatives.log_average(sample.within, right)
    return min(at_left, at_right)


class _Alternatives:
    """Groups of arms that share a noise level; the first axis of arrays is κ, the second the arm.

    The e-value of a group at 1/σ², minimised over the arms' true means: with b₀ = α + ½Σw and c the
    largest κ/(n + κ), b = max(b₀, kc), it is ½Σw + (b − b₀)/c − k ln b + constant.
    """

    def __init__(self, counts: Vector) -> None:
        penalties = 0.5 * np.log1p(counts / FREE_PRECISIONS)
        slopes = FREE_PRECISIONS / (counts + FREE_PRECISIONS)
        ordered = np.sort(slopes, axis=1)
        largest, second = ordered[:, -1:], ordered[:, -2:-1]
        self._own = _Groups.of(counts, slopes, penalties)
        self._others = _Groups.of(
            counts.sum() - counts,
            np.where(slopes == largest, np.where(largest == second, largest, second), largest),
            penalties.sum(axis=1, keepdims=True) - penalties,
        )

    def log_average(self, within: Vector, log_precision: float) -> float:
        """Logarithm of the average over the alternatives, at ln(1/σ²)."""
        squares = math.exp(log_precision) * within
        own = self._own.at(squares)
        pairs = own + self._others.at(squares.sum() - squares)
        arms = math.log(own.shape[1])
        families = [own - arms, own.sum(axis=1, keepdims=True), pairs - arms]
        terms = np.concatenate([each.ravel() for each in families])
        return float(np.logaddexp.reduce(terms)) - math.log(len(families) * len(own))


class _Groups(NamedTuple):
    half_rounds: Vector  # k
    slopes: Matrix  # c
    constants: Matrix

    @classmethod
    def of(cls, counts: Vector, slopes: Matrix, penalties: Matrix) -> "_Groups":
        half_rounds = FREE_SHAPE + 0.5 * counts
        prior = FREE_SHAPE * math.log(FREE_SHAPE) - math.lgamma(FREE_SHAPE)
        constants = np.array([math.lgamma(k) for k in half_rounds]) + prior - penalties
        return cls(half_rounds, slopes, constants)

    def at(self, squares: Vector) -> Matrix:
        """The groups' log e-values, `squares` in units of σ²."""
        bare = FREE_SHAPE + 0.5 * squares
        scale = np.maximum(bare, self.half_rounds * self.slopes)
        least = 0.5 * squares + (scale - bare) / self.slopes - self.half_rounds * np.log(scale)
        return np.asarray(least + self.constants)


def rank(features: Matrix) -> int:
    """How many directions the features have, whatever their columns' units."""
    return int(_span(features).shape[1])


def _span(rows: Matrix) -> Matrix:
    """Orthonormal coordinates of the columns' span, whatever their units."""
    sizes = np.abs(rows).max(axis=0, initial=0.0)
    left, singular, _ = np.linalg.svd(rows / np.where(sizes > 0, sizes, 1.0), full_matrices=False)
    return np.asarray(left[:, singular > RANK_TOLERANCE * singular.max(initial=0.0)])


def _outside(span: Matrix, vector: Vector) -> Vector:
    """The part of a vector orthogonal to the span; twice is enough for rounding."""
    once = vector - span @ (span.T @ vector)
    return np.asarray(once - span @ (span.T @ once))


def _average(logarithms: list[float]) -> float:
    return float(np.logaddexp.reduce(logarithms)) - math.log(len(logarithms))
