"""Do the measurements look like the model? Findings before it misleads.

| condition   | needed for      | evidence                                                         |
|-------------|-----------------|------------------------------------------------------------------|
| noise level | σ given         | e-value against "σ is large enough", from the spread in the arms |
| linear      | any σ           | e-value against "the values are linear in the features"          |
| bound       | μᵀPμ ≤ R        | e-value against "some μ within the bound explains the values"    |
| equal noise | σ unknown       | e-value against "all arms have one σ"                            |
| Gaussian    | σ unknown       | values that repeat exactly, and not by rounding                  |

Where the condition holds, an e-value ever reaches 1/p with probability at most p, whenever it is
looked at and whatever the sampling rule: docs/theory/doubts.md. A given σ is an upper bound for
every arm, so it needs neither equal noise nor a Gaussian. Where every arm has its own, values and
features are brought to one noise first, as for the tests (docs/theory/arms.md).

None of them can see noise that is heavy-tailed but rare, means that drift, results that depend on
each other, or a direction of the features in which there is only one arm.
"""

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.residuals.advice import INTERCEPT, columns_to_try
from furthest.residuals.evalues import (
    Sample,
    deviations,
    hidden_deviation,
    misfit_log_e_value,
    noise_log_e_value,
    summarise,
    unequal_log_e_value,
)
from furthest.residuals.repeats import Repeats, repeats, rounding

if TYPE_CHECKING:
    from furthest.problem import Problem

__all__ = ["DOUBT", "REFUTED", "Finding", "Repeats", "examine", "rounding", "sample_of", "unseen"]

# From here on a condition is in doubt: wrongly so in one study of 20 at most …
DOUBT = math.log(20)

# … and from here on refuted: one of 1000.
REFUTED = math.log(1000)

WITHOUT = "go on with plain options (as_options)"


class Finding(NamedTuple):
    """Something in the data that speaks against the model.

    Attributes:
        condition: What is in doubt: `noise level`, `linear`, `bound`, `equal noise` or `Gaussian`.
        log_e: The natural logarithm of the evidence; inf where the data are impossible under it.
        words: What is seen.
        advice: What to do about it.
    """

    condition: str
    log_e: float
    words: str
    advice: str


class Unseen(NamedTuple):
    """What the measurements could not have shown of a linear model.

    Attributes:
        arms: How many arms have no result.
        deviation: How far one that has could be from its features' prediction without showing.
        differences: How much the answers differ at most, by the estimates.
    """

    arms: int
    deviation: float
    differences: float


def examine(
    problem: "Problem",
    arms: NDArray[np.int64],
    values: NDArray[np.float64],
    sizes: NDArray[np.int64] | None = None,
    deviations: NDArray[np.float64] | None = None,
) -> list[Finding]:
    """Everything that puts a condition of the theorem in doubt; empty if nothing does.

    Each value is one result or, with `sizes`, the mean of so many, of which `deviations` are the
    standard deviations, NaN where they are not known.
    """
    if len(values) == 0:
        return []
    sample = sample_of(problem, arms, values, sizes, deviations)
    if problem.sigma is None:
        one = slice(None) if sizes is None else sizes == 1
        impossible = _repeating(problem, arms[one], values[one])
        # The other two compare with a Gaussian curve, which there is not.
        found = (
            [impossible] if impossible else [_unequal(problem, sample), _misfit(problem, sample)]
        )
    else:
        noise = _noise(problem, sample)
        # A σ that is too small would make everything look like a misfit.
        sigma = None if noise.log_e >= DOUBT else problem.unit
        found = [noise, _misfit(problem, sample, sigma)]
        if problem.radius is not None:
            found.append(_outside(problem, sample))
    return [finding for finding in found if finding.log_e >= DOUBT]


def unseen(problem: "Problem", sample: Sample) -> Unseen:
    """What the linear model is trusted with."""
    sigma = sample.spread if problem.sigma is None else problem.unit
    features = problem.task.arms[sample.seen]
    roots = np.sqrt(sample.counts)
    fit = np.linalg.lstsq(roots[:, None] * features, roots * sample.means, rcond=None)[0]
    return Unseen(
        arms=len(problem.arms) - len(sample.seen),
        deviation=hidden_deviation(features, sample, sigma * problem.ratios[sample.seen]),
        differences=float(np.ptp(problem.task.answers @ fit)),
    )


def sample_of(
    problem: "Problem",
    arms: NDArray[np.int64],
    values: NDArray[np.float64],
    sizes: NDArray[np.int64] | None = None,
    deviations: NDArray[np.float64] | None = None,
) -> Sample:
    """The results in numbers, with the noise of all arms brought to one unit."""
    ratios = problem.ratios[arms]
    apart = None if deviations is None else deviations / ratios
    return summarise(arms, values / ratios, sizes, apart)


def _noise(problem: "Problem", sample: Sample) -> Finding:
    squares = sample.within / problem.unit**2
    log_e = noise_log_e_value(float(squares.sum()), float(sample.squares.sum()))
    words = f"the noise is larger than σ = {problem.sigma_words} says: within the arms it is about "
    words += f"{sample.spread:.3g}"
    if isinstance(problem.sigma, tuple):
        # Every σ is a claim of its own, and a quiet arm must not hide that another is too noisy.
        own = np.array(list(map(noise_log_e_value, squares.tolist(), sample.squares.tolist())))
        log_e = float(np.logaddexp(log_e, np.logaddexp.reduce(own) - math.log(len(own))))
        log_e -= math.log(2)
        words = _too_noisy(problem, sample, int(own.argmax()))
    return Finding(
        "noise level",
        log_e,
        words,
        "the guarantee holds for the σ given, so start again with a larger one, or with σ unknown",
    )


def _too_noisy(problem: "Problem", sample: Sample, row: int) -> str:
    """The arm that speaks most against the σ of the arms."""
    arm, freedom = sample.seen[row], max(sample.squares[row] - 1, 1)
    spread = math.sqrt(sample.within[row] / freedom) * problem.ratios[arm]
    return (
        f"the noise is larger than σ = {problem.sigma_words} says: that of "
        f"{problem.arm_names[arm]!r} is about {spread:.3g} instead of {problem.units[arm]:g}"
    )


def _misfit(problem: "Problem", sample: Sample, sigma: float | None = None) -> Finding:
    features = problem.task.arms[sample.seen]
    log_e = misfit_log_e_value(features, sample, sigma)
    if log_e < DOUBT:
        return Finding("linear", log_e, "", "")
    apart = deviations(features, sample.counts, sample.means)
    worst = int((np.sqrt(sample.counts) * np.abs(apart)).argmax())
    distance = abs(apart[worst]) * problem.ratios[sample.seen[worst]]
    side = "above" if apart[worst] > 0 else "below"
    return Finding(
        "linear",
        log_e,
        f"the features do not explain the values: {problem.arm_names[sample.seen[worst]]!r} is "
        f"measured {distance:.3g} {side} its prediction",
        f"the guarantee needs a linear model: {_columns(problem, sample, sigma)}",
    )


def _outside(problem: "Problem", sample: Sample) -> Finding:
    from furthest.residuals.bound import bound_log_e_value

    return Finding(
        "bound",
        bound_log_e_value(problem, sample),
        f"no parameter with μᵀPμ ≤ {problem.radius:g} explains the values",
        "the guarantee rests on this bound, so start again with a larger radius, or with a "
        "stopping rule that needs none",
    )


def _columns(problem: "Problem", sample: Sample, sigma: float | None) -> str:
    """What to try, as far as the values tell; it was chosen by them, so it proves nothing."""
    found, enough = columns_to_try(problem, sample, sigma, DOUBT)
    if not found:
        return f"no square or product of the features explains it, so {WITHOUT}"
    missing = ["an intercept, a feature that is 1 for every arm," * (INTERCEPT in found)]
    missing += [f"the column {name}" for name in found if name != INTERCEPT]
    words = " and ".join(filter(None, missing)).removesuffix(",")
    outcome = "would explain these values" if enough else "helps most, but does not explain all"
    return f"{words} {outcome} (exploratory: chosen by looking at them); or {WITHOUT}"


def _unequal(problem: "Problem", sample: Sample) -> Finding:
    log_e = unequal_log_e_value(sample)
    if log_e < DOUBT:
        return Finding("equal noise", log_e, "", "")
    freedom, within = sample.counts - 1, sample.within
    others = (within.sum() - within) / np.maximum(freedom.sum() - freedom, 1)
    own = within / np.maximum(freedom, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = own / others
        apart = np.nan_to_num(freedom * (ratio - 1 - np.log(ratio)), nan=0.0)
    odd = int(apart.argmax())
    return Finding(
        "equal noise",
        log_e,
        f"the noise depends on the arm: that of {problem.arm_names[sample.seen[odd]]!r} is about "
        f"{math.sqrt(own[odd]):.3g}, that of the others {math.sqrt(others[odd]):.3g}",
        "unknown σ must be one constant, so give a σ that no arm exceeds, or bounds",
    )


def _repeating(
    problem: "Problem", arms: NDArray[np.int64], values: NDArray[np.float64]
) -> Finding | None:
    found = repeats(arms, values)
    if not found.discrete:
        return None
    equal = values == found.commonest
    counts = np.bincount(arms[equal], minlength=len(problem.arms))
    arm, times, results, whose = int(counts.argmax()), found.times, found.results, ""
    if counts[arm] > 1:
        times, results = int(counts[arm]), int((arms == arm).sum())
        whose = f" of {problem.arm_names[arm]!r}"
    return Finding(
        "Gaussian",
        math.inf,
        f"{times} of {results} results{whose} are exactly {found.commonest:.10g}, and nothing "
        "shows that this is only rounding",
        "unknown σ needs Gaussian noise, which never repeats, so a study will not stop on these: "
        "give bounds=(0, 1) for yes/no outcomes, bounds=(a, b) for ratings, or σ if you know it",
    )
