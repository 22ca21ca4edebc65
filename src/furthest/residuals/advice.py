"""Which columns would explain what the features do not: exploratory, a start for the next study."""

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from furthest.residuals.evalues import Sample, misfit_log_e_value, rank

if TYPE_CHECKING:
    from furthest.problem import Problem

INTERCEPT = "1"

# With more features there are too many products to try.
MOST_FEATURES = 12

# More columns than this, found by looking, explain anything.
MOST_COLUMNS = 2


def columns_to_try(
    problem: "Problem", sample: Sample, sigma: float | None, doubt: float
) -> tuple[list[str], bool]:
    """Columns that help most, one after the other, and whether the doubt is gone with them.

    An intercept comes first if it is enough. Squares and products count only while they leave an
    arm to spare: with as many columns as arms everything is explained.
    """
    features = problem.arms[sample.seen]
    features = features / np.maximum(np.abs(features).max(axis=0), np.finfo(float).tiny)
    # The sample is in one unit of noise, and so are the columns that are to explain it.
    ratios = problem.ratios[sample.seen]
    candidates = {name: column / ratios for name, column in _candidates(problem, features)}
    features = features / ratios[:, None]
    found: list[str] = []
    log_e = misfit_log_e_value(features, sample, sigma)
    while candidates and len(found) < MOST_COLUMNS and log_e >= doubt:
        scores = {
            name: misfit_log_e_value(np.column_stack([features, column]), sample, sigma)
            for name, column in candidates.items()
            if _says_something(features, column, saturated=name == INTERCEPT)
        }
        if not scores:
            break
        best = min(scores, key=scores.__getitem__)
        if scores.get(INTERCEPT, doubt) < doubt:
            best = INTERCEPT
        if scores[best] > log_e - doubt:
            break
        log_e = scores[best]
        features = np.column_stack([features, candidates.pop(best)])
        found.append(best)
    return found, log_e < doubt


def _candidates(
    problem: "Problem", features: NDArray[np.float64]
) -> Iterator[tuple[str, NDArray[np.float64]]]:
    yield INTERCEPT, np.ones(len(features))
    dimension = features.shape[1]
    if dimension > MOST_FEATURES:
        return
    names = problem.feature_names
    for j, k in itertools.combinations_with_replacement(range(dimension), 2):
        name = f"{names[j]}²" if j == k else f"{names[j]}·{names[k]}"
        yield name, features[:, j] * features[:, k]


def _says_something(
    features: NDArray[np.float64], column: NDArray[np.float64], *, saturated: bool
) -> bool:
    """Whether a column adds a direction and, unless it may saturate, leaves an arm to spare."""
    wider = rank(np.column_stack([features, column]))
    return wider > rank(features) and (saturated or wider < len(features))
