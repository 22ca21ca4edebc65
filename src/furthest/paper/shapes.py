"""How an entry is shown: tables of numbers beside the print, box plots, quartile bands, curves.

A shape knows the cells it needs and turns their outcomes into blocks of the report.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Protocol

import numpy as np

from furthest.paper.cells import Draws, Runs
from furthest.paper.outcomes import Estimate, Outcomes, mean_of, median_of
from furthest.sweeps.cells import Cell

CLOSE = 0.05  # a number is confirmed within 5 % …
TIGHT = 0.03  # a mean stopping time should be within 3 % …
ERRORS = 3.0  # … or three standard errors of the print
ROUNDING = 1 / math.sqrt(12)  # of a printed whole number

SUBSAMPLES = 50  # the paper's σ is the deviation between means of so many sub-samples


@dataclass(frozen=True)
class Number:
    """One of our numbers, beside the printed one where there is one."""

    ours: Estimate
    printed: float | None = None
    sigma: float = 0.0  # printed deviation of the means of sub-samples
    digits: int = 0
    is_time: bool = True  # a mean stopping time, not the pulls of one arm

    @property
    def difference(self) -> float:
        """Relative to the print."""
        return math.nan if self.printed is None else self.ours.value / self.printed - 1

    @property
    def deviations(self) -> float:
        """The difference in standard errors of both numbers and of the rounding."""
        if self.printed is None:
            return math.nan
        error = math.hypot(self.ours.error, self.sigma / math.sqrt(SUBSAMPLES), ROUNDING)
        return (self.ours.value - self.printed) / error

    @property
    def verdict(self) -> str:
        """confirmed, differs, or nothing where nothing is printed."""
        if self.printed is None:
            return ""
        return "confirmed" if self.is_within(CLOSE) else "differs"

    def is_within(self, share: float) -> bool:
        """Whether ours is within this share of the print, or three standard errors."""
        return abs(self.difference) <= share or abs(self.deviations) <= ERRORS


def percent(share: float) -> str:
    """In words: `5 %`."""
    return f"{100 * share:g} %"


Item = str | Number


@dataclass(frozen=True)
class TableBlock:
    """A table of the report."""

    header: tuple[str, ...]
    rows: tuple[tuple[Item, ...], ...]
    note: str = ""


@dataclass(frozen=True)
class PictureBlock:
    """A picture of the report: a file in the folder of figures."""

    file: str
    caption: str


Block = TableBlock | PictureBlock


class Shape(Protocol):
    """One table or one picture."""

    def cells(self) -> Iterator[Cell]:
        """What must be computed."""

    def block(self, outcomes: Outcomes, figures: Path, name: str) -> Block:
        """What is shown; pictures are drawn into the folder under this name."""


@dataclass(frozen=True)
class Times:
    """A table of mean stopping times, rows × columns, with the printed means and deviations."""

    corner: str
    columns: tuple[str, ...]
    rows: Mapping[str, Sequence[Runs]]
    printed: Mapping[str, Sequence[float]] = field(default_factory=dict)
    sigma: Mapping[str, Sequence[float]] = field(default_factory=dict)
    digits: int = 0
    note: str = ""

    def cells(self) -> Iterator[Cell]:
        """All of them."""
        for row in self.rows.values():
            yield from row

    def block(self, outcomes: Outcomes, figures: Path, name: str) -> TableBlock:
        """One number per cell."""
        rows: list[tuple[Item, ...]] = []
        for label, cells in self.rows.items():
            nothing: list[float | None] = [None] * len(cells)
            printed = self.printed.get(label, nothing)
            sigma = self.sigma.get(label, [0.0] * len(cells))
            rows.append(
                (
                    label,
                    *(
                        Number(outcomes[cell].mean(), number, deviation, self.digits)
                        for cell, number, deviation in zip(cells, printed, sigma, strict=True)
                    ),
                )
            )
        return TableBlock((self.corner, *self.columns), tuple(rows), self.note)


@dataclass(frozen=True)
class Allocation:
    """Pulls per arm and their total."""

    rows: Mapping[str, Runs]
    printed: Mapping[str, Sequence[float]]
    sigma: Mapping[str, float]
    note: str = ""

    def cells(self) -> Iterator[Cell]:
        """One per row."""
        yield from self.rows.values()

    def block(self, outcomes: Outcomes, figures: Path, name: str) -> TableBlock:
        """Four arms and the total."""
        rows: list[tuple[Item, ...]] = []
        for label, cell in self.rows.items():
            *arms, total = self.printed[label]
            outcome = outcomes[cell]
            pulls = [
                Number(outcome.pulls(arm), number, is_time=False) for arm, number in enumerate(arms)
            ]
            rows.append((label, *pulls, Number(outcome.mean(), total, self.sigma[label])))
        header = ("", *(f"a{arm + 1}" for arm in range(len(arms))), "total")
        return TableBlock(header, tuple(rows), self.note)


@dataclass(frozen=True)
class Boxes:
    """Box plots of stopping times, one panel beside the other, the mean as a star."""

    panels: Mapping[str, Mapping[str, Runs]]
    caption: str
    columns: int = 4

    def cells(self) -> Iterator[Cell]:
        """All boxes."""
        for panel in self.panels.values():
            yield from panel.values()

    def block(self, outcomes: Outcomes, figures: Path, name: str) -> PictureBlock:
        """Draw it."""
        from furthest.paper.drawing import boxes

        panels = {
            title: {label: outcomes[cell].times() for label, cell in panel.items()}
            for title, panel in self.panels.items()
        }
        names = {
            label: cell.strategy.name
            for panel in self.panels.values()
            for label, cell in panel.items()
        }
        boxes(panels, names, figures / f"{name}.svg", self.columns)
        return PictureBlock(f"{name}.svg", self.caption)


@dataclass(frozen=True)
class Quartiles:
    """Share of draws whose furthest answer is not greedy, and quartiles of T_ε/T_g there."""

    draws: Mapping[float, Draws]  # by ε
    caption: str

    def cells(self) -> Iterator[Cell]:
        """One per ε."""
        yield from self.draws.values()

    def block(self, outcomes: Outcomes, figures: Path, name: str) -> PictureBlock:
        """Draw it."""
        from furthest.paper.drawing import quartiles

        shares = [share(outcomes, cell) for cell in self.draws.values()]
        bands = [
            np.quantile(ratios(outcomes, cell), [0.25, 0.5, 0.75]) for cell in self.draws.values()
        ]
        means = [mean_of(ratios(outcomes, cell)).value for cell in self.draws.values()]
        quartiles(list(self.draws), shares, np.array(bands), means, figures / f"{name}.svg")
        return PictureBlock(f"{name}.svg", self.caption)


def _differs(outcomes: Outcomes, cell: Draws) -> "np.ndarray[tuple[int], np.dtype[np.bool_]]":
    columns = outcomes[cell].columns
    return np.asarray(columns["furthest"] != columns["greedy"])


def share(outcomes: Outcomes, cell: Draws) -> Estimate:
    """Of the draws, those with z_F ≠ z*."""
    outcome = outcomes[cell]
    return mean_of(_differs(outcomes, cell).astype(float), outcome.noise)


def median_ratio(outcomes: Outcomes, cell: Draws) -> Estimate:
    """The median T_ε/T_g where z_F ≠ z*."""
    outcome = outcomes[cell]
    found = outcome.columns["T"] / outcome.columns["T_greedy"]
    return median_of(found, _differs(outcomes, cell), outcome.noise)


def ratios(outcomes: Outcomes, cell: Draws) -> "np.ndarray[tuple[int], np.dtype[np.float64]]":
    """T_ε/T_g where z_F ≠ z*; NaN where there is no such draw."""
    columns, chosen = outcomes[cell].columns, _differs(outcomes, cell)
    found = columns["T"][chosen] / columns["T_greedy"][chosen]
    return found if len(found) else np.array([math.nan])


@dataclass(frozen=True)
class Curves:
    """Mean stopping time / ln(1/δ) against δ, with the limits of the theory."""

    lines: Mapping[str, Runs]
    limits: Callable[[], Mapping[str, float]]
    caption: str

    def cells(self) -> Iterator[Cell]:
        """One per line, all δ in one."""
        yield from self.lines.values()

    def block(self, outcomes: Outcomes, figures: Path, name: str) -> PictureBlock:
        """Draw it."""
        from furthest.paper.drawing import curves

        lines = {
            label: [(-math.log(delta), outcomes[cell].mean(delta)) for delta in cell.deltas]
            for label, cell in self.lines.items()
        }
        curves(lines, self.limits(), figures / f"{name}.svg")
        return PictureBlock(f"{name}.svg", self.caption)


@dataclass(frozen=True)
class Rates:
    """The same numbers at some of the levels, as a table."""

    lines: Mapping[str, Runs]
    deltas: tuple[float, ...]

    def cells(self) -> Iterator[Cell]:
        """One per line."""
        yield from self.lines.values()

    def block(self, outcomes: Outcomes, figures: Path, name: str) -> TableBlock:
        """Mean stopping time / ln(1/δ)."""
        rows: list[tuple[Item, ...]] = []
        for label, cell in self.lines.items():
            numbers = []
            for delta in self.deltas:
                log, mean = -math.log(delta), outcomes[cell].mean(delta)
                numbers.append(Number(Estimate(mean.value / log, mean.error / log), digits=2))
            rows.append((label, *numbers))
        header = ("mean stopping time / ln(1/δ)", *(f"δ = {delta:.0e}" for delta in self.deltas))
        return TableBlock(header, tuple(rows))
