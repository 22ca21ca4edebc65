"""The one runner: makes the units that are not stored yet, on several processes.

The work is cut into pieces of about a second, so an interruption costs no more than that; which
pieces they are and who makes them changes nothing in the outcome.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from typing import NamedTuple

from furthest.columns import Columns
from furthest.sweeps.cells import Cell, distinct, key, measurements
from furthest.sweeps.store import Store
from furthest.workers import spread

PIECE = 1.0  # seconds of work, roughly
MOST = 5000  # units in a piece


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
                if gaps:
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
    executor: Executor | None = None,
) -> None:
    """Make the pieces and store them; `progress` hears of each, and `work` adds them up."""
    if not pieces:
        return
    cells = {key(piece.cell, store.seed): piece.cell for piece in pieces}
    for cell in cells.values():
        cell.warm_up()
    made: dict[int, Work] = {}

    def keep(number: int, found: tuple[Columns, float]) -> None:
        (_, cell, first, last), (columns, cpu) = pieces[number], found
        store.write(cell, first, last, columns)
        made[number] = Work(last - first, measurements(columns), cpu)

    calls = [(piece.cell, piece.first, piece.last, store.seed) for piece in pieces]
    try:
        spread(
            _make,
            calls,
            keep,
            jobs=jobs,
            executor=executor,
            told=lambda number: progress(pieces[number]),
        )
    finally:
        work.units += sum(each.units for each in made.values())
        work.rounds += sum(each.rounds for each in made.values())
        work.cpu += sum(each.cpu for each in made.values())
    for cell in cells.values():
        store.merge(cell)


def _make(cell: Cell, first: int, last: int, seed: int) -> tuple[Columns, float]:
    """Units of a cell, and the processor seconds that they took."""
    before = time.thread_time()
    return cell.make(first, last, cell.run_seed(seed)), time.thread_time() - before
