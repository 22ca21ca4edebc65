"""What a cell's runs say: means with their standard errors."""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.columns import Columns
from furthest.paper.cells import Cell, key


class Estimate(NamedTuple):
    """A number with its standard error; arithmetic treats the numbers as independent."""

    value: float
    error: float

    def over(self, other: "Estimate") -> "Estimate":
        """The ratio, by the delta method."""
        ratio = self.value / other.value
        spread = math.hypot(self.error / self.value, other.error / other.value)
        return Estimate(ratio, abs(ratio) * spread)


def mean_of(sample: NDArray[Any]) -> Estimate:
    """The mean of a sample."""
    if not len(sample):
        return Estimate(math.nan, math.nan)
    spread = float(sample.std(ddof=1)) if len(sample) > 1 else math.nan
    return Estimate(float(sample.mean()), spread / math.sqrt(len(sample)))


def paired_ratio(above: NDArray[Any], below: NDArray[Any]) -> Estimate:
    """The ratio of the means of two samples of pairs, by the delta method."""
    ratio = float(above.mean() / below.mean())
    return Estimate(ratio, mean_of(above - ratio * below).error / float(below.mean()))


def average(estimates: Iterable[Estimate]) -> Estimate:
    """The mean of independent estimates."""
    values, errors = np.array(list(estimates)).T
    return Estimate(float(values.mean()), float(np.hypot.reduce(errors)) / len(values))


class Outcome:
    """The runs of one cell."""

    def __init__(self, columns: Columns) -> None:
        self.columns = columns

    @property
    def units(self) -> int:
        """How many runs or draws."""
        return len(np.unique(self.columns["run"]))

    @property
    def rounds(self) -> int:
        """Measurements that were simulated."""
        if "stopping_time" not in self.columns:
            return 0
        latest = np.zeros(int(self.columns["run"].max()) + 1, np.int64)
        np.maximum.at(latest, self.columns["run"], self.columns["stopping_time"])
        return int(latest.sum())

    def times(self, delta: float | None = None) -> NDArray[Any]:
        """Stopping times, at one level where there are several."""
        times = self.columns["stopping_time"]
        return times if delta is None else times[self.columns["delta"] == delta]

    def mean(self, delta: float | None = None) -> Estimate:
        """Mean stopping time."""
        return mean_of(self.times(delta))

    def pulls(self, arm: int) -> Estimate:
        """Mean pulls of one arm."""
        return mean_of(self.columns[f"pulls_{arm}"])

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
            self._known[name] = Outcome(self._read(self._cells[name]))
        return self._known[name]

    def all(self) -> Iterator[Outcome]:
        """Every outcome."""
        return (self[cell] for cell in self._cells.values())
