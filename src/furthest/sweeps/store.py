"""The store of runs: a folder per cell, with its settings and its runs in numbered pieces.

A piece `000100-000250.parquet` holds units 100 … 249. Pieces are written beside their place and
renamed into it, so that a killed process leaves whole pieces only; what is missing is what no
piece covers. Without pyarrow the pieces are CSV.
"""

import json
from pathlib import Path

import numpy as np

from furthest import columns as tables
from furthest.columns import Columns
from furthest.sweeps.cells import Cell, describe, join, key
from furthest.writing import write_beside, write_text

READERS = {".parquet": tables.read_parquet, ".csv": tables.read_csv}
WRITERS = {".parquet": tables.write_parquet, ".csv": tables.write_csv}


# More units than any cell will ever have.
MOST = 10**9


class Store:
    """The runs of one output folder, for one seed."""

    def __init__(self, folder: Path, seed: int) -> None:
        self.folder = folder
        self.seed = seed
        self.suffix = ".parquet" if tables.has_parquet() else ".csv"

    def missing(self, cell: Cell, units: int) -> list[tuple[int, int]]:
        """The gaps (first, last) below `units` that no piece covers."""
        gaps, reached = [], 0
        for first, last, _ in self._pieces(cell):
            if first > reached:
                gaps.append((reached, min(first, units)))
            reached = max(reached, last)
            if reached >= units:
                return gaps
        return [*gaps, (reached, units)]

    def reached(self, cell: Cell) -> int:
        """How many units are stored without a gap, from the first on."""
        return self.missing(cell, MOST)[0][0]

    def write(self, cell: Cell, first: int, last: int, columns: Columns) -> None:
        """Add a piece."""
        home = self._home(cell)
        home.mkdir(parents=True, exist_ok=True)
        settings = home / "settings.json"
        if not settings.exists():
            known = describe(cell, self.seed) | {"run_seed": cell.run_seed(self.seed)}
            text = json.dumps(known, indent=2, sort_keys=True)
            write_text(settings, text + "\n")
        piece = home / f"{first:06d}-{last:06d}{self.suffix}"
        write_beside(piece, lambda path: WRITERS[self.suffix](columns, path))

    def read(self, cell: Cell, units: int) -> Columns:
        """Units 0 … units − 1, in order of their numbers."""
        columns = join([READERS[path.suffix](path) for _, _, path in self._pieces(cell)])
        # Pieces overlap where a merger was interrupted; several δ share a run's number.
        levels = columns.get("delta", np.zeros(len(columns["run"])))
        _, rows = np.unique(np.column_stack([columns["run"], levels]), axis=0, return_index=True)
        rows = rows[columns["run"][rows] < units]
        return {name: column[rows] for name, column in columns.items()}

    def merge(self, cell: Cell) -> None:
        """One piece instead of many, once there are no gaps."""
        pieces = self._pieces(cell)
        last = max(piece[1] for piece in pieces)
        if len(pieces) == 1 or self.missing(cell, last):
            return
        self.write(cell, 0, last, self.read(cell, last))
        for first, end, path in pieces:
            if (first, end) != (0, last):
                path.unlink()

    def _home(self, cell: Cell) -> Path:
        return self.folder / "runs" / key(cell, self.seed)

    def _pieces(self, cell: Cell) -> list[tuple[int, int, Path]]:
        """(first, last, file) in order."""
        found = []
        for path in self._home(cell).glob("*-*.*"):
            if path.suffix in READERS and not path.name.startswith("."):  # a draft
                first, _, last = path.stem.partition("-")
                found.append((int(first), int(last), path))
        return sorted(found)
