"""The results of a log in columns: some 60 bytes each, where an event takes 600."""

from array import array
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from math import isnan, nan
from typing import Any

import numpy as np
from numpy.typing import NDArray

from furthest.study.events import ADDED, TOLD, Columns, Event, Note
from furthest.study.snapshot import Parts

Rows = NDArray[np.int64]

# The columns, and of what type they are.
KINDS = {
    "seqs": "q",
    "ats": "d",
    "arms": "q",
    "values": "d",
    "sizes": "q",
    "deviations": "d",  # NaN where nobody said
    "trials": "q",  # the number of an own one, that of the ask; −1, −2, … for a foreign one
    "added": "b",  # 1 for what nobody asked for
}

# Digits of the number of an event.
LONGEST = 18


class Results:
    """All told and added events, by row in the order of the log, or by trial."""

    def __init__(self, tag: str) -> None:
        self._columns = {name: array(kind) for name, kind in KINDS.items()}
        self._add: Any = tuple(column.append for column in self._columns.values())
        self._own = f"{tag}-"
        self._before = len(self._own)
        self._row_after = array("q")  # by the number of an own trial: its row plus 1; 0 for none
        self._foreign: dict[str, int] = {}  # trials whose ids are not of this study: their rows
        self._foreign_ids: list[str] = []
        self._moments: dict[int, str] = {}  # by row: when it was measured, if somebody said so

    def __len__(self) -> int:
        return len(self._columns["seqs"])

    def __contains__(self, trial: str) -> bool:
        return self.row(trial) >= 0

    def __getitem__(self, trial: str) -> Event:
        row = self.row(trial)
        if row < 0:
            raise KeyError(trial)
        return self.event(row)

    def get(self, trial: str, otherwise: Event | None = None) -> Event | None:
        """The result of a trial."""
        row = self.row(trial)
        return otherwise if row < 0 else self.event(row)

    def row(self, trial: str) -> int:
        """Where the result of a trial is; −1 if there is none."""
        number = self._number(trial)
        if 0 <= number < len(self._row_after) and self._row_after[number]:
            return self._row_after[number] - 1
        return self._foreign.get(trial, -1)

    def event(self, row: int) -> Event:
        """A result as the log has it, but for worker and chain."""
        seq, at, arm, value, size, sd, trial, added = (
            column[row] for column in self._columns.values()
        )
        note = Note(size, None if isnan(sd) else sd, self._moments.get(row, ""))
        kind = ADDED if added else TOLD
        return Event(seq, kind, at, self._id(trial), arm, value, note.text)

    def latest(self, count: int) -> list[str]:
        """Ids of the last trials that have results, the very last one first."""
        return list(map(self._id, islice(reversed(self._columns["trials"]), count)))

    def append(self, event: Event, note: Note) -> int:
        """One more; returns its row."""
        row, number = len(self), self._number(event.trial)
        if not 0 <= number <= event.seq:
            self._foreign_ids.append(event.trial)
            self._foreign[event.trial] = row
            number = -len(self._foreign_ids)
        else:
            lacking = number + 1 - len(self._row_after)
            if lacking > 0:
                self._row_after.frombytes(bytes(lacking * self._row_after.itemsize))
            self._row_after[number] = row + 1
        size, deviation, moment = note
        if moment:
            self._moments[row] = moment
        # One by one: there may be a million.
        seqs, ats, arms, values, sizes, deviations, trials, added = self._add
        seqs(event.seq)
        ats(event.at)
        arms(event.arm)
        values(event.value)
        sizes(size)
        deviations(nan if deviation is None else deviation)
        trials(number)
        added(event.kind == ADDED)
        return row

    def columns(self, rows: Rows) -> Columns:
        """What is computed with, of some results."""
        names = ("arms", "values", "sizes", "deviations")
        return Columns(*(self._of(name, rows) for name in names))

    def moments_of_added(self, rows: Rows) -> list[str]:
        """Of those that nobody asked for: when they were measured, or nothing."""
        added = rows[self._of("added", rows) == 1]
        return [self._moments.get(row, "") for row in added.tolist()]

    def parts(self) -> Parts:
        """All of it as plain data."""
        every = slice(None)
        columns = {name: self._of(name, every) for name in KINDS}
        return Parts(
            columns, {"foreign": self._foreign_ids, "moments": list(self._moments.items())}
        )

    def restore(self, columns: dict[str, NDArray[Any]], rest: dict[str, Any]) -> None:
        """Take in what was stored."""
        for name, column in self._columns.items():
            column.frombytes(np.asarray(columns[name], column.typecode).tobytes())
        if len({len(column) for column in self._columns.values()}) > 1:
            raise ValueError("columns of different lengths")
        self._foreign_ids, self._moments = rest["foreign"], dict(rest["moments"])
        trials = columns["trials"]
        rows = np.arange(len(trials))
        own = trials >= 0
        places = np.zeros(trials.max(initial=0) + 1, np.int64)
        places[trials[own]] = rows[own] + 1
        self._row_after.frombytes(places.tobytes())
        foreign = zip(trials[~own].tolist(), rows[~own].tolist(), strict=True)
        self._foreign = {self._id(number): row for number, row in foreign}

    def _of(self, name: str, rows: Rows | slice) -> Any:
        """Copied: an array that is looked at cannot grow."""
        column = self._columns[name]
        whole = np.frombuffer(column, column.typecode) if column else np.zeros(0, column.typecode)
        return whole[rows].copy() if isinstance(rows, slice) else whole[rows]

    def _number(self, trial: str) -> int:
        """The number in an id that this study has given; −1 in any other."""
        if not trial.startswith(self._own):
            return -1
        digits = trial[self._before :]
        plain = digits.isdecimal() and digits.isascii() and digits[0] != "0"
        return int(digits) if plain and len(digits) <= LONGEST else -1

    def _id(self, number: int) -> str:
        return f"{self._own}{number}" if number >= 0 else self._foreign_ids[-1 - number]


@dataclass(frozen=True)
class Selection:
    """Some of the results, in some order."""

    results: Results
    rows: Rows

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def events(self) -> Iterator[Event]:
        """One by one."""
        return map(self.results.event, self.rows.tolist())

    @property
    def columns(self) -> Columns:
        """What is computed with."""
        return self.results.columns(self.rows)

    @property
    def moments_of_added(self) -> list[str]:
        """Of those that nobody asked for: when they were measured, or nothing."""
        return self.results.moments_of_added(self.rows)

    def among(self, trials: Iterable[str]) -> int:
        """How many of these trials have their result here."""
        wanted = [self.results.row(trial) for trial in trials]
        return int(np.isin(self.rows, [row for row in wanted if row >= 0]).sum())
