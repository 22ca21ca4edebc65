"""The one runner: makes the units that are not stored yet, on several processes.

The work is cut into pieces of about a second, so an interruption costs no more than that; which
pieces they are and who makes them changes nothing in the outcome.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from furthest.paper.cells import Cell, distinct, key, own_seed
from furthest.paper.outcomes import Outcome
from furthest.paper.store import Store
from furthest.workers import spread

PIECE = 1.0  # seconds of work, roughly
MOST = 500  # units in a piece


class Piece(NamedTuple):
    """Units first … last − 1 of a cell."""

    entry: str
    cell: Cell
    first: int
    last: int

    @property
    def effort(self) -> float:
        """Seconds, roughly."""
        return (self.last - self.first) * self.cell.effort


@dataclass
class Work:
    """What was done: units, measurements simulated, processor seconds."""

    units: int = 0
    rounds: int = 0
    cpu: float = 0.0


def plan(entries: Mapping[str, Sequence[Cell]], store: Store, runs: int) -> list[Piece]:
    """All missing pieces, entry by entry; a cell that several entries show is made once."""
    pieces: list[Piece] = []
    left = distinct(cell for cells in entries.values() for cell in cells)
    for entry, cells in entries.items():
        for name in distinct(cells):
            cell = left.pop(name, None)
            if cell is not None:
                gaps = store.missing(cell, cell.units(runs))
                pieces += [Piece(entry, cell, *cut) for cut in _cut(gaps, cell.effort)]
    return pieces


def _cut(gaps: Iterable[tuple[int, int]], effort: float) -> Iterator[tuple[int, int]]:
    size = max(1, min(MOST, int(PIECE / effort)))
    for first, last in gaps:
        for start in range(first, last, size):
            yield start, min(start + size, last)


def run(
    pieces: Sequence[Piece],
    store: Store,
    jobs: int,
    progress: Callable[[Piece], None],
    work: Work,
) -> None:
    """Make the pieces and store them; `progress` hears of each, and `work` adds them up."""
    if not pieces:
        return
    cells = {key(piece.cell, store.seed): piece.cell for piece in pieces}
    for cell in cells.values():
        cell.warm_up()
    calls = [(store.folder, store.seed, number, piece) for number, piece in enumerate(pieces)]
    done = spread(_make, calls, jobs) if jobs > 1 else (_make(*call) for call in calls)
    for number, rounds, cpu in done:
        piece = pieces[number]
        work.units += piece.last - piece.first
        work.rounds += rounds
        work.cpu += cpu
        progress(piece)
    for cell in cells.values():
        store.merge(cell)


def _make(folder: Path, seed: int, number: int, piece: Piece) -> tuple[int, int, float]:
    """Make and store one piece: (its number, measurements simulated, processor seconds)."""
    before = sum(os.times()[:2])
    columns = piece.cell.make(piece.first, piece.last, own_seed(piece.cell, seed))
    Store(folder, seed).write(piece.cell, piece.first, piece.last, columns)
    return number, Outcome(columns).rounds, sum(os.times()[:2]) - before
