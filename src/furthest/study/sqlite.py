"""Logs in one SQLite file: the standard library's, with a write-ahead log and full syncs."""

import os
import sqlite3
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from furthest.errors import StorageError, StudyError
from furthest.study.sql import SCHEMA_VERSION, SqlStorage, Transaction
from furthest.study.turns import Turn, inherited
from furthest.study.witness import Note, Witness

# Seconds to wait for other writers; each holds the lock for milliseconds.
LOCK_SECONDS = 30.0

# Kilobytes of pages to keep: what is asked for lies at the end of a log.
CACHE = 512

# From this version of the schema on commits are counted.
COUNTED_SINCE = 3

STATE = "SELECT version, id, commits FROM furthest_schema"
COUNT = "UPDATE furthest_schema SET commits = ?"

# What SQLite says of a folder in which it cannot create its own files.
NO_FILES_BESIDE = (sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY)

# Device and number of a file that is there.
Identity = tuple[int, int] | None


class _State(NamedTuple):
    """What a database says of itself."""

    schema: int = 0
    name: str = ""
    commits: int = 0


class SqliteStorage(SqlStorage):
    """One connection, shared by the threads of this process; a child of a fork opens its own.

    To look changes nothing: no file, no table, no mode. Only who writes creates, turns on the
    write-ahead log and brings the schema up to date.
    """

    words = {  # noqa: RUF012
        "key": "INTEGER PRIMARY KEY AUTOINCREMENT",
        "float": "REAL",
        "clustered": "WITHOUT ROWID",
        "chained_only": """CREATE TRIGGER furthest_chained BEFORE INSERT ON furthest_events
            WHEN NEW.chain = '' BEGIN
            SELECT RAISE(ABORT, 'the database was upgraded: upgrade furthest here, too');
            END""",
    }

    def __init__(self, path: str, patience: float = LOCK_SECONDS) -> None:
        self._path = Path(path)
        # SQLite's own files lie beside what a link leads to; so does the witness.
        self._file = Path(os.path.realpath(path))
        self._log = self._file.with_name(f"{self._file.name}-wal")
        self._witness = Witness(self._file)
        self._patience = patience
        self._turn = Turn(self)
        self._open: sqlite3.Connection | None = None
        self._known: Identity = None  # of the file that was last open
        self._known_log: Identity = None
        self._for_writing = False
        self._for_once = False
        self._counted = False  # the database has a name, and counts its commits

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """BEGIN IMMEDIATE takes SQLite's one lock for writing; readers never wait."""
        with self._turn, self._named_errors():
            if not (write or self._is_there()):
                yield Transaction(_nothing, 0)
                return
            connection = self._connection(write=write)
            note = self._witness.read()  # what it says must be there when we begin
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            before, written = connection.total_changes, None
            try:
                state = self._state(connection, note)
                if write and state.schema < SCHEMA_VERSION:
                    self.migrate(connection.execute, state.schema)
                    state = self._found(connection)
                yield Transaction(partial(self._execute, connection), state.schema)
                self._turn.check()
                if connection.total_changes > before:
                    written = Note(state.name, state.commits + 1)
                    connection.execute(COUNT, (written.commits,))
                connection.execute("COMMIT")
            except BaseException:
                self._counted = False  # that may have been undone
                if not self._turn.lost:
                    # SQLite has rolled back on its own after some errors.
                    with suppress(sqlite3.Error):
                        connection.execute("ROLLBACK")
                raise
            finally:
                if self._for_once:
                    self.close()
            if written is not None:
                self._check_kept()
                self._witness.write(written)

    def lock(self, transaction: Transaction, key: int) -> None:
        """BEGIN IMMEDIATE has done it."""

    def insert_study(self, transaction: Transaction, name: str) -> int | None:
        """The key of a new study."""
        insert = "INSERT OR IGNORE INTO furthest_studies (name) VALUES (?)"
        done = transaction.execute(insert, (name,))
        return done.lastrowid if done.rowcount else None

    def migrate(self, execute: Callable[..., Any], version: int) -> None:
        """Count commits, too."""
        super().migrate(execute, version)
        if version < COUNTED_SINCE:
            execute("ALTER TABLE furthest_schema ADD COLUMN commits INTEGER NOT NULL DEFAULT 0")

    def _execute(
        self, connection: sqlite3.Connection, query: str, values: Sequence[Any] = ()
    ) -> sqlite3.Cursor:
        self._turn.check()
        return connection.execute(query, values)

    @property
    def is_open(self) -> bool:
        """Whether a child that is forked now would inherit a connection."""
        return self._open is not None

    def close(self) -> None:
        """Let go of the file."""
        if self._turn.lost:
            return  # the parent's
        with self._turn:
            if self._open is not None:
                self._open.close()
            self._open = None

    def _is_there(self) -> bool:
        """Whether there is a file; what was open once must not be gone."""
        if not self._file.parent.is_dir():
            raise StudyError(f"{self._path}: there is no folder {str(self._path.parent)!r}")
        there = self._file.exists()
        if self._known and not there:
            self.close()
            raise StorageError(
                f"{self._path}: the file was removed while it was in use: bring it back, with all "
                "its files; nothing was written"
            )
        return there

    def _connection(self, *, write: bool) -> sqlite3.Connection:
        if self._open is not None and not self._is_in_place():
            self.close()
        if self._open is None:
            self._open = self._connect(write=write)
        if write and not self._for_writing:
            try:
                self._prepare(self._open)
            except BaseException:
                self.close()
                raise
            self._for_writing = True
        return self._open

    def _connect(self, *, write: bool) -> sqlite3.Connection:
        """Open the file that is there; only who writes may create one."""
        there = self._is_there()
        if not there:
            self._witness.forget()
        self._check_not_inherited()
        self._for_writing = self._for_once = self._counted = False
        try:
            connection = self._connected("mode=rw" if there else "mode=rwc")
        except sqlite3.OperationalError as error:
            if write or error.sqlite_errorcode & 0xFF not in NO_FILES_BESIDE:
                raise
            self._check_may_be_frozen(error)
            self._for_once = True
            connection = self._connected("immutable=1")
        self._known, self._known_log = _identity(self._file), None
        return connection

    def _connected(self, how: str) -> sqlite3.Connection:
        connection = sqlite3.connect(
            f"{self._file.as_uri()}?{how}",
            uri=True,
            timeout=self._patience,
            isolation_level=None,
            check_same_thread=False,
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
            connection.execute(f"PRAGMA cache_size = -{CACHE}")
            connection.execute("PRAGMA schema_version").fetchone()  # is it a database?
        except BaseException:
            connection.close()
            raise
        return connection

    def _check_may_be_frozen(self, error: sqlite3.OperationalError) -> None:
        """Where SQLite may not put its files beside the database, whether this is all of it.

        Then it can be read as it stands, for once: what others write would not be noticed.
        """
        if os.access(self._file.parent, os.W_OK):
            raise error
        if self._log.exists() and self._log.stat().st_size:
            raise StorageError(
                f"{self._path}: the folder cannot be written to, and part of the database is still "
                f"in {self._log.name}: copy both files to a folder that can be, and look there"
            ) from error

    def _check_not_inherited(self) -> None:
        """SQLite would take the locks of the parent of this process for its own."""
        for other in inherited:
            if isinstance(other, SqliteStorage) and other._known == _identity(self._file):
                raise StorageError(
                    f"{self._path}: this process was forked in the middle of a transaction of its "
                    "parent and cannot use the database: fork before it, or after; nothing was "
                    "written"
                )

    def _is_in_place(self) -> bool:
        """Whether the open file is the one of this name, and so is its write-ahead log.

        While a connection is open nobody but a user removes either.
        """
        log = _identity(self._log)
        self._known_log = self._known_log or log
        return _identity(self._file) == self._known and log == self._known_log

    def _check_kept(self) -> None:
        if not self._is_in_place():
            self.close()
            raise StorageError(
                f"{self._path}: the file, or {self._log.name}, was removed or replaced while it "
                "was in use; what was just written may be lost: try again"
            )

    def _prepare(self, connection: sqlite3.Connection) -> None:
        """Turn on the write-ahead log of a database that may be written to."""
        self._state(connection, self._witness.read())
        deadline = time.monotonic() + self._patience
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                # SQLite itself does not wait for others here.
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    def _state(self, connection: sqlite3.Connection, note: Note | None) -> _State:
        """What is in the database; refused if it is too new, or less than there was before."""
        state = self._found(connection)
        lost = note.commits - state.commits if note else 0
        if note is None or state.name not in ("", note.database) or lost <= 0:
            return state
        raise StorageError(
            f"{self._path}: the last {lost} acknowledged transactions are missing: the write-ahead "
            f"log {self._log.name} was damaged or removed, or an older copy was put in the place "
            "of the database. Bring the newest one back, with all its files; or, if the older "
            f"state is meant, delete {self._witness.path.name}. Nothing is written until then"
        )

    def _found(self, connection: sqlite3.Connection) -> _State:
        if not self._counted:
            tables = "SELECT name FROM sqlite_master WHERE name = 'furthest_schema'"
            if connection.execute(tables).fetchone() is None:
                return _State()
            row = connection.execute("SELECT version FROM furthest_schema").fetchone()
            schema = self.check_schema(row and row[0])
            if schema < COUNTED_SINCE:
                return _State(schema)
            self._counted = True
        row = connection.execute(STATE).fetchone()
        self.check_schema(row and row[0])
        if not (isinstance(row[1], str) and isinstance(row[2], int)):
            raise StorageError(f"{self._path}: the database is damaged: {row!r} is not its state")
        return _State(*row)

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """SQLite's errors as ours, with the file's name and what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            text = str(error)
            advice = ": another process holds the lock; try again" if "locked" in text else ""
            raise StorageError(f"{self._path}: {text}{advice}; nothing was written") from error
        except (sqlite3.Error, UnicodeDecodeError) as error:  # what SQLite says may be no text
            raise StorageError(f"{self._path}: {error}; nothing was written") from error


def _identity(path: Path) -> Identity:
    try:
        found = path.stat()
    except FileNotFoundError:
        return None
    return found.st_dev, found.st_ino


def _nothing(query: str, *_values: object) -> NoReturn:
    raise AssertionError(f"there is no database: {query}")
