"""A cell: the smallest thing that is computed, stored and resumed.

A cell is a numbered sequence of units (runs of one strategy, or draws of an instance). Unit i
depends on the cell's settings, the seed and i only, so cells can be made in any pieces and order.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np

from furthest import __version__
from furthest.columns import Columns


class Cell(Protocol):
    """What the runner and the store need to know."""

    @property
    def effort(self) -> float:
        """Seconds per unit, roughly."""

    def units(self, runs: int) -> int:
        """How many units belong to a reproduction or sweep with so many runs."""

    def settings(self) -> dict[str, Any]:
        """Everything that determines the outcome, besides the seed."""

    def run_seed(self, seed: int) -> int:
        """The seed of its noise."""

    def make(self, first: int, last: int, seed: int) -> Columns:
        """Units first … last − 1, by number, with the noise of this seed."""

    def warm_up(self) -> None:
        """Compile what `make` needs."""


def join(pieces: Sequence[Columns]) -> Columns:
    """Pieces below one another."""
    return {name: np.concatenate([piece[name] for piece in pieces]) for name in pieces[0]}


def distinct(cells: Iterable[Cell]) -> dict[str, Cell]:
    """Cells by their settings."""
    return {key(cell, 0): cell for cell in cells}


def describe(cell: Cell, seed: int) -> dict[str, Any]:
    """The exact settings of a cell, as they are stored beside its runs."""
    return cell.settings() | {"version": __version__, "seed": seed}


def key(cell: Cell, seed: int) -> str:
    """A name for the cell: other settings, other name."""
    settings = describe(cell, seed)
    text = json.dumps(settings, sort_keys=True)
    digest = hashlib.sha256(text.encode()).hexdigest()
    what = settings["strategy"]["sampling"] if "strategy" in settings else "times"
    place = settings["instance"].replace("{run}", "n")
    words = "".join(letter if letter.isalnum() else "-" for letter in f"{place}-{what}")
    return f"{words}-{digest[:12]}"


def measurements(columns: Columns) -> int:
    """How many were simulated: of several δ that share a run, up to the last."""
    if "stopping_time" not in columns:
        return 0
    latest = np.zeros(int(columns["run"].max()) + 1, np.int64)
    np.maximum.at(latest, columns["run"], columns["stopping_time"])
    return int(latest.sum())
