"""What SQLite and PostgreSQL have in common: tables, queries, versions of the schema."""

import gc
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from typing import Any, NamedTuple

from furthest.errors import (
    StorageError,
    StudyExistsError,
    UnknownStudyError,
    VerificationError,
)
from furthest.study.chain import seal
from furthest.study.events import CREATED, Event, is_event

SCHEMA_VERSION = 3

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
    # Number and digest of each log's last event stand apart from the log, and the database has a
    # name of its own: what is missing at the end can be known. A process of an older version that
    # is still at work cannot write on without them.
    2: (
        "ALTER TABLE furthest_events ADD COLUMN chain TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE furthest_studies ADD COLUMN last INTEGER NOT NULL DEFAULT 0",
        "ALTER TABLE furthest_studies ADD COLUMN head TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE furthest_schema ADD COLUMN id TEXT NOT NULL DEFAULT ''",
        "{chained_only}",
    ),
}

# Columns that older schemas do not have.
SINCE = {"worker": 2, "chain": 3}
ENDS_SINCE = 3

COLUMNS = Event._fields
PLACES = ", ".join("?" * (len(COLUMNS) + 1))
APPEND = f"INSERT INTO furthest_events (study, {', '.join(COLUMNS)}) VALUES ({PLACES})"  # noqa: S608

# The text of a question that is longer, because it has many arms, stands in rows of its own, with
# numbers up to −1: a database makes several copies of what is in one row, and SQLite reads all of a
# row to find the one after it. In its place is a note, which an older furthest takes for the
# question of a newer one.
LONG_TEXT = 2**20
PART = 2**18
PARTS = "part"
NOTE = '{"version": 7, "question": "in parts"}'

# Event._make without the detour through Python.
_event = partial(tuple.__new__, Event)


class Transaction(NamedTuple):
    """A transaction: how to execute SQL, with ? for values, and the schema that it finds."""

    execute: Callable[..., Any]
    schema: int = SCHEMA_VERSION


class SqlStorage(ABC):
    """The contract on a database that can lock, commit and roll back."""

    words: dict[str, str]

    @abstractmethod
    def transaction(self, *, write: bool) -> AbstractContextManager[Transaction]:
        """Commits at the end, rolls back on an error.

        To write, the schema is brought to its newest version. Without `write` nothing is changed,
        and all queries see one and the same moment; the schema may be an older one, or 0: none.
        """

    @abstractmethod
    def close(self) -> None:
        """Let go of files and connections; the next call opens them again."""

    def __del__(self) -> None:
        # At the end of the program modules may be gone already, and `suppress` with them.
        try:  # noqa: SIM105
            self.close()
        except Exception:  # noqa: BLE001, S110
            pass

    @abstractmethod
    def lock(self, transaction: Transaction, key: int) -> None:
        """Wait until nobody else writes to this study."""

    @abstractmethod
    def insert_study(self, transaction: Transaction, name: str) -> int | None:
        """The key of a new study; None if there is one of this name."""

    @staticmethod
    def check_schema(version: object) -> int:
        """The version of a schema; refused if it is none, or of a newer furthest."""
        if type(version) is not int or version < 0:
            raise StorageError(f"the database is damaged: {version!r} is no version of its schema")
        if version > SCHEMA_VERSION:
            raise StorageError(
                f"the database was written by a newer furthest (schema {version}, this one reads "
                f"up to {SCHEMA_VERSION}): upgrade furthest"
            )
        return version

    def migrate(self, execute: Callable[..., Any], version: int) -> None:
        """Bring an older schema to this version, within the caller's transaction."""
        self.check_schema(version)
        for step in range(version, SCHEMA_VERSION):
            for statement in STEPS[step]:
                execute(statement.format(**self.words))
            execute(f"UPDATE furthest_schema SET version = {step + 1}")  # noqa: S608
            if step + 1 == ENDS_SINCE:
                execute("UPDATE furthest_schema SET id = ?", (secrets.token_hex(16),))
                for (key,) in execute("SELECT key FROM furthest_studies").fetchall():
                    SqlLog(Transaction(execute), key).seal()

    def studies(self) -> dict[str, int]:
        """Keys of all studies by name."""
        with self.transaction(write=False) as now:
            if not now.schema:
                return {}
            rows = now.execute("SELECT name, key FROM furthest_studies ORDER BY name").fetchall()
            return {str(name): key for name, key in rows}  # in a damaged database it may be bytes

    def create(self, name: str, *events: Event) -> int:
        """Begin a log with its created event, and with others."""
        with self.transaction(write=True) as now:
            key = self.insert_study(now, name)
            if key is None:
                raise StudyExistsError(
                    f"there is a study {name!r} already: load it, or delete it first"
                )
            SqlLog(now, key).append(events)
        return key

    def read(
        self, key: int, after: int = 0, head: str = "", most: int | None = None
    ) -> list[Event]:
        """All committed events with a larger number, or the first of them, in their order."""
        with self.transaction(write=False) as now:
            return SqlLog(now, key).read(after, head, most)

    @contextmanager
    def writing(self, key: int) -> Iterator["SqlLog"]:
        """Lock the log: nobody else writes until the block ends."""
        with self.transaction(write=True) as now:
            self.lock(now, key)
            yield SqlLog(now, key)

    def delete(self, key: int) -> None:
        """Remove a log for ever."""
        with self.transaction(write=True) as now:
            self.lock(now, key)
            now.execute("DELETE FROM furthest_events WHERE study = ?", (key,))
            now.execute("DELETE FROM furthest_studies WHERE key = ?", (key,))


class SqlLog:
    """One study's log within a transaction."""

    def __init__(self, transaction: Transaction, key: int) -> None:
        self._execute, self._schema = transaction
        self._key = key

    def read(self, after: int, head: str, most: int | None = None) -> list[Event]:
        """All events with a larger number, or the first; that of this number must be there, too."""
        if not self._schema:
            raise UnknownStudyError("the study was deleted")
        last, its_head = self._end()
        with _no_collection():
            rows = self._rows(after, most)
        if len(rows) == most:
            return rows  # the next ones tell whether this is the log
        end = (rows[-1].seq, rows[-1].chain) if rows else (after, head or its_head)
        if end != (last, its_head):
            raise VerificationError(
                f"event {end[0]} is not the end of the log, which has {last}: the database is "
                "damaged, or was replaced by another one or an older copy; if that was meant, "
                "load the study again"
            )
        return rows

    def append(self, events: Sequence[Event]) -> None:
        """Write events, and where the log now ends."""
        if not events:
            return
        for event in events:
            self._append(event if len(event.data) <= LONG_TEXT else self._in_parts(event))
        last = events[-1]
        done = self._execute(
            "UPDATE furthest_studies SET last = ?, head = ? WHERE key = ? AND last = ?",
            (last.seq, last.chain, self._key, events[0].seq - 1),
        )
        if done.rowcount != 1:
            raise StorageError(f"event {events[0].seq} is not the next one; nothing was written")

    def _append(self, event: Event) -> None:
        self._execute(APPEND, (self._key, *event))

    def _in_parts(self, event: Event) -> Event:
        """Write the text of a question; returns the event with the note instead."""
        if event.kind != CREATED:
            return event
        places = range(0, len(event.data), PART)
        for number, first in enumerate(places, -len(places)):
            text = event.data[first : first + PART]
            self._append(event._replace(seq=number, kind=PARTS, data=text))
        return event._replace(data=NOTE)

    def _whole(self, event: Event) -> Event:
        """The event with the text that was written in parts."""
        query = "SELECT data FROM furthest_events WHERE study = ? AND seq < 0 ORDER BY seq"
        rows = self._execute(query, (self._key,))
        return event._replace(data="".join(str(part) for (part,) in rows))

    def seal(self) -> None:
        """Begin the chain of a log that has none; one that is damaged stays as it is."""
        events = self._rows(0)
        if not events or not all(map(is_event, events)):
            return
        last = "UPDATE furthest_studies SET last = ? WHERE key = ?"
        self._execute(last, (events[-1].seq, self._key))
        self.append([seal(events, time.time())])

    def _rows(self, after: int, most: int | None = None) -> list[Event]:
        columns = (
            name if self._schema >= SINCE.get(name, 0) else f"'' AS {name}" for name in COLUMNS
        )
        query = (
            f"SELECT {', '.join(columns)} FROM furthest_events "  # noqa: S608
            "WHERE study = ? AND seq > ? ORDER BY seq"
        )
        query += "" if most is None else f" LIMIT {most:d}"
        rows = list(map(_event, self._execute(query, (self._key, after)).fetchall()))
        if rows and (rows[0].seq, rows[0].data) == (1, NOTE):
            rows[0] = self._whole(rows[0])
        return rows

    def _end(self) -> tuple[int, str]:
        """Number and digest of the last event."""
        query = (
            "SELECT last, head FROM furthest_studies WHERE key = ?"
            if self._schema >= ENDS_SINCE
            else "SELECT MAX(seq), '' FROM furthest_events WHERE study = ?"
        )
        last, head = self._execute(query, (self._key,)).fetchone() or (None, "")
        if last is None:
            raise UnknownStudyError("the study was deleted")
        return last, head


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
