"""What a cell's runs say: means with their standard errors.

Cells of one instance share their noise, run by run, so numbers made of them err together: a ratio
of two is known better than each. Estimates keep account of what each run does to them.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from furthest.columns import Columns
from furthest.paper.cells import noise_of
from furthest.sweeps.cells import Cell, key, measurements


@dataclass(frozen=True)
class Estimate:
    """A number with its standard error, and where that comes from.

    Attributes:
        value: The number.
        own: The part of its standard error that it shares with no other number.
        moves: The rest: by noise, how far each run has moved the number, to first order.
    """

    value: float
    own: float = 0.0
    moves: Mapping[str, NDArray[Any]] = field(default_factory=dict, repr=False, compare=False)

    @property
    def error(self) -> float:
        """The standard error: runs are independent of one another, and so are noises."""
        return math.hypot(self.own, *(_spread(each) for each in self.moves.values()))

    def over(self, other: "Estimate") -> "Estimate":
        """The ratio, by the delta method."""
        ratio = self.value / other.value
        return combined(ratio, (1 / other.value, self), (-ratio / other.value, other))

    def minus(self, other: "Estimate") -> "Estimate":
        """The difference."""
        return combined(self.value - other.value, (1.0, self), (-1.0, other))


def combined(value: float, *terms: tuple[float, Estimate]) -> Estimate:
    """A number that changes with each of these by so much per unit."""
    moves: dict[str, NDArray[Any]] = {}
    for slope, term in terms:
        for noise, each in term.moves.items():
            moves[noise] = _sum(moves.get(noise, np.zeros(0)), slope * each)
    return Estimate(value, math.hypot(*(slope * term.own for slope, term in terms)), moves)


def _sum(one: NDArray[Any], other: NDArray[Any]) -> NDArray[Any]:
    """Run by run; a run that a cell does not have has not moved it."""
    short, total = sorted((one, other), key=len)
    total = total.copy()
    total[: len(short)] += short
    return total


def _spread(moves: NDArray[Any]) -> float:
    """The standard error of what so many runs have moved."""
    runs = len(moves)
    return math.sqrt(float(moves @ moves) * runs / (runs - 1)) if runs > 1 else math.nan


def mean_of(sample: NDArray[Any], noise: str = "") -> Estimate:
    """The mean of a sample, one number per run; without a noise it is independent of all else."""
    if not len(sample):
        return Estimate(math.nan, math.nan)
    mean = float(sample.mean())
    return _estimate(mean, (sample - mean) / len(sample), noise)


def median_of(sample: NDArray[Any], chosen: NDArray[np.bool_], noise: str = "") -> Estimate:
    """The median of the chosen numbers of a sample; its error is that of a normal sample.

    A normal density is 1/(σ√(2π)) at the median, so a number above it moves it by σ√(π/2)/n.
    """
    numbers = sample[chosen]
    if len(numbers) < 2:
        return Estimate(float(numbers[0]) if len(numbers) else math.nan, math.nan)
    median = float(np.median(numbers))
    step = math.sqrt(math.pi / 2) * float(numbers.std(ddof=1)) / len(numbers)
    return _estimate(median, np.where(chosen, np.sign(sample - median) * step, 0.0), noise)


def _estimate(value: float, moves: NDArray[Any], noise: str) -> Estimate:
    return Estimate(value, 0.0, {noise: moves}) if noise else Estimate(value, _spread(moves))


def average(estimates: Iterable[Estimate]) -> Estimate:
    """The mean of several numbers."""
    each = list(estimates)
    share = 1 / len(each)
    return combined(share * sum(one.value for one in each), *((share, one) for one in each))


class Outcome:
    """The runs of one cell, in order of their numbers, and the name of their noise."""

    def __init__(self, columns: Columns, noise: str = "") -> None:
        self.columns = columns
        self.noise = noise

    @property
    def units(self) -> int:
        """How many runs or draws."""
        return len(np.unique(self.columns["run"]))

    @property
    def rounds(self) -> int:
        """Measurements that were simulated."""
        return measurements(self.columns)

    def times(self, delta: float | None = None) -> NDArray[Any]:
        """Stopping times, at one level where there are several."""
        times = self.columns["stopping_time"]
        return times if delta is None else times[self.columns["delta"] == delta]

    def mean(self, delta: float | None = None) -> Estimate:
        """Mean stopping time."""
        return mean_of(self.times(delta), self.noise)

    def pulls(self, arm: int) -> Estimate:
        """Mean pulls of one arm."""
        return mean_of(self.columns[f"pulls_{arm}"], self.noise)

    @property
    def errors(self) -> int:
        """Runs that stopped with an answer that is not ε-best."""
        return int((self.columns["stopped"] & ~self.columns["correct"]).sum())


class NotMadeError(KeyError):
    """The cell does not belong to the entries that were asked for."""


class Outcomes:
    """Outcomes by cell; read once each."""

    def __init__(self, cells: Mapping[str, Cell], read: Callable[[Cell], Columns]) -> None:
        self._read = read
        self._cells = cells
        self._known: dict[str, Outcome] = {}

    def __getitem__(self, cell: Cell) -> Outcome:
        """The outcome of a cell."""
        name = key(cell, 0)
        if name not in self._cells:
            raise NotMadeError(name)
        if name not in self._known:
            self._known[name] = Outcome(self._read(self._cells[name]), noise_of(cell))
        return self._known[name]

    def all(self) -> Iterator[Outcome]:
        """Every outcome."""
        return (self[cell] for cell in self._cells.values())
