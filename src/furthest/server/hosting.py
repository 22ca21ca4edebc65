"""The studies of a service: opened once, and kept while somebody looks at them or works on them."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

from furthest.errors import UnknownStudyError, VerificationError
from furthest.study import documents
from furthest.study.ledger import End
from furthest.study.storage import Storage
from furthest.study.study import Study

T = TypeVar("T")

# Studies in memory; the one that was not asked for the longest makes room.
MOST_OPEN = 32


class _Row(NamedTuple):
    """A study's line in the list, and where its log ended then."""

    key: int
    end: End
    line: dict[str, Any]


class Hosting:
    """What all requests of one process share."""

    def __init__(self, storage: Storage) -> None:
        self.storage = storage
        self._lock = threading.Lock()
        self._open: OrderedDict[str, Study] = OrderedDict()
        self._rows: dict[str, _Row] = {}

    def on(self, name: str, work: Callable[[Study], T]) -> T:
        """Do something with a study; one that was deleted and begun anew is opened anew."""
        study = self.open(name)
        try:
            return work(study)
        except UnknownStudyError:
            if self.storage.studies().get(name) == study.key:
                raise
            self._forget(name, study)
            return work(self.open(name))
        except VerificationError:
            self._forget(name, study)  # a database that was put in order is read anew
            raise

    def open(self, name: str) -> Study:
        """A study; the same object for all who ask, as long as they do."""
        with self._lock:
            study = self._open.get(name)
            if study is not None:
                self._open.move_to_end(name)
                return study
        # Outside the lock: it may read a long log. Of two who come at once one object stays.
        study = Study.load(name, self.storage)
        with self._lock:
            study = self._open.setdefault(name, study)
            while len(self._open) > MOST_OPEN:
                self._open.popitem(last=False)
        return study

    def keep(self, study: Study) -> Study:
        """Take in one that was just created."""
        with self._lock:
            self._open[study.name] = study
        return study

    def rows(self) -> list[dict[str, Any]]:
        """All studies, as `documents.listed`; only logs that have grown are read."""
        known = self.storage.studies()
        found = []
        for name, key in known.items():
            with suppress(UnknownStudyError):  # deleted by somebody else in between
                found.append(self._row(name, key))
        for gone in self._rows.keys() - known.keys():
            self._rows.pop(gone, None)
        return found

    def _row(self, name: str, key: int) -> dict[str, Any]:
        row = self._rows.get(name)
        try:
            if row and row.key == key and not self._has_grown(row):
                return row.line
            study = self._current(name, key)
            line = documents.row(study)
        except VerificationError as error:
            self._rows.pop(name, None)
            return documents.damaged(name, error)
        self._rows[name] = _Row(key, study.end, line)
        return line

    def _has_grown(self, row: _Row) -> bool:
        return bool(self.storage.read(row.key, row.end.seq, row.end.chain, 1))

    def _current(self, name: str, key: int) -> Study:
        study = self.open(name)
        if study.key != key:
            self._forget(name, study)
            study = self.open(name)
        return study

    def _forget(self, name: str, study: Study) -> None:
        with self._lock:
            if self._open.get(name) is study:
                del self._open[name]

    def close(self) -> None:
        """Let go of everything."""
        with self._lock:
            self._open.clear()
        self.storage.close()
