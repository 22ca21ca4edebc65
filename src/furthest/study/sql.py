"""What SQLite and PostgreSQL have in common: tables, queries, versions of the schema."""

import gc
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any

from furthest.errors import StorageError, StudyError, UnknownStudyError
from furthest.study.events import Event

SCHEMA_VERSION = 2

# What leads from each version of the schema to the next; words in braces differ by database.
STEPS: dict[int, tuple[str, ...]] = {
    0: (
        "CREATE TABLE furthest_schema (version INTEGER NOT NULL)",
        "INSERT INTO furthest_schema (version) VALUES (0)",
        "CREATE TABLE furthest_studies (key {key}, name TEXT NOT NULL UNIQUE)",
        """CREATE TABLE furthest_events (
            study BIGINT NOT NULL REFERENCES furthest_studies (key),
            seq INTEGER NOT NULL,
            kind TEXT NOT NULL,
            at {float} NOT NULL,
            trial TEXT NOT NULL,
            arm INTEGER,
            value {float},
            data TEXT NOT NULL,
            PRIMARY KEY (study, seq)
        ) {clustered}""",
    ),
    1: ("ALTER TABLE furthest_events ADD COLUMN worker TEXT NOT NULL DEFAULT ''",),
}

COLUMNS = "seq, kind, at, trial, arm, value, data, worker"
READ = f"SELECT {COLUMNS} FROM furthest_events WHERE study = ? AND seq > ? ORDER BY seq"  # noqa: S608
LAST = "SELECT MAX(seq) FROM furthest_events WHERE study = ?"
APPEND = f"INSERT INTO furthest_events (study, {COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608


# Event._make without the detour through Python.
_event = partial(tuple.__new__, Event)


class SqlStorage(ABC):
    """The contract on a database that can lock, commit and roll back."""

    words: dict[str, str]

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[Any]:
        """A cursor-like object with `execute`; commits at the end, rolls back on an error.

        Without `write` all queries see one and the same moment.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; the next call opens them again."""

    def __del__(self) -> None:
        # At the end of the program modules may be gone already.
        with suppress(Exception):
            self.close()

    @abstractmethod
    def lock(self, cursor: Any, key: int) -> None:
        """Wait until nobody else writes to this study."""

    @abstractmethod
    def insert_study(self, cursor: Any, name: str) -> int | None:
        """The key of a new study; None if there is one of this name."""

    def migrate(self, cursor: Any, version: int) -> None:
        """Bring an older schema to this version, in the transaction of the cursor."""
        if version > SCHEMA_VERSION:
            raise StorageError(
                f"the database was written by a newer furthest (schema {version}, this one reads "
                f"up to {SCHEMA_VERSION}): upgrade furthest"
            )
        for step in range(version, SCHEMA_VERSION):
            for statement in STEPS[step]:
                cursor.execute(statement.format(**self.words))
            cursor.execute(f"UPDATE furthest_schema SET version = {step + 1}")  # noqa: S608

    def studies(self) -> dict[str, int]:
        """Keys of all studies by name."""
        with self.transaction(write=False) as cursor:
            return dict(
                cursor.execute("SELECT name, key FROM furthest_studies ORDER BY name").fetchall()
            )

    def create(self, name: str, *events: Event) -> int:
        """Begin a log with its created event, and with others."""
        with self.transaction(write=True) as cursor:
            key = self.insert_study(cursor, name)
            if key is None:
                raise StudyError(f"there is a study {name!r} already: load it, or delete it first")
            SqlLog(cursor, key).append(events)
        return key

    def read(self, key: int, after: int = 0) -> list[Event]:
        """All committed events with a larger number, in their order."""
        with self.transaction(write=False) as cursor:
            return SqlLog(cursor, key).read(after)

    @contextmanager
    def writing(self, key: int) -> Iterator["SqlLog"]:
        """Lock the log: nobody else writes until the block ends."""
        with self.transaction(write=True) as cursor:
            self.lock(cursor, key)
            if not cursor.execute(
                "SELECT 1 FROM furthest_studies WHERE key = ?", (key,)
            ).fetchall():
                raise UnknownStudyError("the study was deleted")
            yield SqlLog(cursor, key)

    def delete(self, key: int) -> None:
        """Remove a log for ever."""
        with self.transaction(write=True) as cursor:
            self.lock(cursor, key)
            cursor.execute("DELETE FROM furthest_events WHERE study = ?", (key,))
            cursor.execute("DELETE FROM furthest_studies WHERE key = ?", (key,))


class SqlLog:
    """One study's log within a transaction."""

    def __init__(self, cursor: Any, key: int) -> None:
        self._cursor = cursor
        self._key = key

    def read(self, after: int) -> list[Event]:
        """All events with a larger number; the one of that number must be there, too."""
        with _no_collection():
            rows = self._cursor.execute(READ, (self._key, after)).fetchall()
            if not rows:
                self._check_last(after)
            return list(map(_event, rows))

    def _check_last(self, known: int) -> None:
        """Whether the log still holds what was read of it before."""
        last = self._cursor.execute(LAST, (self._key,)).fetchone()[0]
        if last is None:
            raise UnknownStudyError("the study was deleted")
        if last < known:
            raise StorageError(
                f"the log ends at event {last}, but {known} were read before: the database was "
                "restored or replaced; load the study again"
            )

    def append(self, events: Sequence[Event]) -> None:
        """Write events."""
        for event in events:
            self._cursor.execute(APPEND, (self._key, *event))


@contextmanager
def _no_collection() -> Iterator[None]:
    """The garbage collector would look through a long log again and again while it grows."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()
