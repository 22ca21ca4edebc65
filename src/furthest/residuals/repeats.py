"""Can values that repeat exactly be Gaussian? Only if they are finely rounded.

Under Gaussian noise no two results are ever equal, whatever the arms and their means. What people
write down is rounded, though, and rounding to a step h much smaller than σ does no harm; yes and
no, counts of a few, or a value that stands for "nothing happened" do. With h the smallest distance
between different values and s the spread within the arms, repeats count as rounding if

* h ≤ s/4: a coarser grid is no Gaussian curve;
* no value comes a third time before another has come twice: rounded values all repeat alike; and
* the most frequent value is not too frequent: a Gaussian rounded to steps of at most 10h, as
  instruments do that change their range, hits a value with probability at most 10h/(s√2π).

Otherwise a study with unknown σ must not stop. So it waits if nothing shows yet that few equal
values are rounded ones.
"""

import math
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from furthest.problem import Problem

# The coarsest step that passes as rounding, as a share of the spread.
COARSEST = 0.25

# So many equal values are too many for rounding where no other value repeats.
ALONE = 3

# How many times coarser the step may be elsewhere.
RANGES = 10

# Probability of so many equal values, were they rounded, below which they are not.
TOO_FREQUENT = 0.01

# Differences of so few units in the last place come from arithmetic, not from the instrument.
LAST_PLACES = 4

# The step is sought again when there are so many times more different values: O(1) each.
GROWTH = 1.1


class Repeats:
    """Whether the results so far repeat as no rounded Gaussian value does; one by one, O(1) each.

    Attributes:
        step: The smallest distance between different values, once any value has come twice.
        commonest: The most frequent value …
        times: … and how often it came; 0 before the first result.
        repeating: How many different values came more than once.
        results: How many results there were.
    """

    def __init__(self) -> None:
        self.step = math.inf
        self.commonest = math.nan
        self.times = 0
        self.repeating = 0
        self.results = 0
        self._counts: dict[float, int] = {}
        self._sought = 0  # how many different values the step was sought among
        self._arms: dict[int, tuple[int, float]] = {}  # results and their mean
        self._within = 0.0  # sum of squares around the arms' means

    def take(self, arm: int, value: float) -> bool:
        """Take in the next result; whether the data now look discrete, so no study may stop."""
        self.results += 1
        count, mean = self._arms.get(arm, (0, 0.0))
        moved = mean + (value - mean) / (count + 1)
        self._arms[arm] = (count + 1, moved)
        self._within += (value - mean) * (value - moved) if count else 0.0
        times = self._counts.get(value, 0) + 1
        self._counts[value] = times
        self.repeating += times == 2
        if times > self.times:
            self.commonest, self.times = value, times
        return self.discrete

    def parts(self) -> tuple[dict[str, NDArray[np.float64]], dict[str, Any]]:
        """All of it as plain data: the different values in columns, and the rest."""
        rest = vars(self).copy()
        counts = rest.pop("_counts")
        columns = {
            "values": np.fromiter(counts, float),
            "times": np.fromiter(counts.values(), float),
        }
        return columns, rest | {"_arms": list(self._arms.items())}

    def restore(self, columns: dict[str, NDArray[np.float64]], rest: dict[str, Any]) -> None:
        """Take in what was stored."""
        vars(self).update(rest)
        times = columns["times"].astype(np.int64).tolist()
        self._counts = dict(zip(columns["values"].tolist(), times, strict=True))
        self._arms = {arm: (count, mean) for arm, (count, mean) in rest["_arms"]}

    @property
    def spread(self) -> float:
        """The standard deviation within the arms; NaN before an arm has two results."""
        freedom = self.results - len(self._arms)
        return math.sqrt(self._within / freedom) if freedom else math.nan

    @property
    def discrete(self) -> bool:
        """Whether values repeat, and not as rounded values do."""
        if self.times < 2:
            return False
        if len(self._counts) > GROWTH * self._sought:
            self._sought = len(self._counts)
            self.step = _smallest_distance(np.fromiter(self._counts, float))
        spread = self.spread
        if not self.step <= COARSEST * spread:
            return True
        return (self.repeating == 1 and self.times >= ALONE) or self._too_frequent(spread)

    def _too_frequent(self, spread: float) -> bool:
        """Whether Chernoff's bound on the binomial tail, for any of the values, is too small."""
        step = min(RANGES * self.step / spread, COARSEST)
        chance, share = step / math.sqrt(2 * math.pi), self.times / self.results
        if share <= chance:
            return False
        surprise = share * math.log(share / chance)
        if share < 1:
            surprise += (1 - share) * math.log((1 - share) / (1 - chance))
        return self.results * surprise > math.log(len(self._counts) / TOO_FREQUENT)


def _smallest_distance(values: NDArray[np.float64]) -> float:
    ordered = np.sort(values)
    gaps = np.diff(ordered)
    real = gaps > LAST_PLACES * np.spacing(np.abs(ordered[1:]))
    return float(gaps[real].min(initial=math.inf))


def repeats(arms: NDArray[np.int64], values: NDArray[np.float64]) -> Repeats:
    """The same for results that are all there."""
    found = Repeats()
    for arm, value in zip(arms.tolist(), values.tolist(), strict=True):
        found.take(arm, value)
    return found


def rounding(
    problem: "Problem", arms: NDArray[np.int64], values: NDArray[np.float64]
) -> float | None:
    """The step to which values are rounded that pass as Gaussian; None if nothing repeats.

    Only for unknown σ, where the theorem is about Gaussian noise: it holds up to this rounding.
    """
    if problem.sigma is not None or len(np.unique(values)) == len(values):
        return None
    found = repeats(arms, values)
    return None if found.discrete else found.step
