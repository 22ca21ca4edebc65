"""Logs in one SQLite file: the standard library's, with a write-ahead log and full syncs."""

import os
import sqlite3
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from furthest.errors import StorageError, StudyError
from furthest.study.sql import SCHEMA_VERSION, SqlStorage, Transaction

# Seconds to wait for other writers; each holds the lock for milliseconds.
LOCK_SECONDS = 30.0


class SqliteStorage(SqlStorage):
    """One connection, shared by the threads of this process and reopened after a fork."""

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
        self._patience = patience
        self._turn = threading.RLock()
        self._open: sqlite3.Connection | None = None
        self._owner = 0

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """BEGIN IMMEDIATE takes SQLite's one lock for writing; readers never wait."""
        with self._turn, self._named_errors():
            connection = self._connection()
            connection.execute("BEGIN IMMEDIATE" if write else "BEGIN")
            try:
                yield Transaction(connection.execute)
                connection.execute("COMMIT")
            except BaseException:
                # SQLite has rolled back on its own after some errors.
                with suppress(sqlite3.Error):
                    connection.execute("ROLLBACK")
                raise

    def lock(self, transaction: Transaction, key: int) -> None:
        """BEGIN IMMEDIATE has done it."""

    def insert_study(self, transaction: Transaction, name: str) -> int | None:
        """The key of a new study."""
        insert = "INSERT OR IGNORE INTO furthest_studies (name) VALUES (?)"
        done = transaction.execute(insert, (name,))
        return done.lastrowid if done.rowcount else None

    def close(self) -> None:
        """Let go of the file."""
        with self._turn:
            if self._open is not None and self._owner == os.getpid():
                self._open.close()
            self._open = None

    def _connection(self) -> sqlite3.Connection:
        if self._open is None or self._owner != os.getpid():
            self._open, self._owner = self._connect(), os.getpid()
        return self._open

    def _connect(self) -> sqlite3.Connection:
        if not self._path.parent.is_dir():
            raise StudyError(f"{self._path}: there is no folder {str(self._path.parent)!r}")
        connection = sqlite3.connect(
            self._path, timeout=self._patience, isolation_level=None, check_same_thread=False
        )
        try:
            connection.execute("PRAGMA synchronous = FULL")
            self._write_ahead(connection)
            if self._version(connection) != SCHEMA_VERSION:
                connection.execute("BEGIN IMMEDIATE")
                # Another process may have been faster; an error leaves the file as it was.
                self.migrate(connection.execute, self._version(connection))
                connection.execute("COMMIT")
        except BaseException:
            connection.close()
            raise
        return connection

    def _write_ahead(self, connection: sqlite3.Connection) -> None:
        """Switch to the write-ahead log; SQLite itself does not wait for others here."""
        deadline = time.monotonic() + self._patience
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.02)
            else:
                return

    @staticmethod
    def _version(connection: sqlite3.Connection) -> int:
        tables = "SELECT name FROM sqlite_master WHERE name = 'furthest_schema'"
        if not connection.execute(tables).fetchall():
            return 0
        return int(connection.execute("SELECT version FROM furthest_schema").fetchone()[0])

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """SQLite's errors as ours, with the file's name and what to do."""
        try:
            yield
        except sqlite3.OperationalError as error:
            text = str(error)
            advice = ": another process holds the lock; try again" if "locked" in text else ""
            raise StorageError(f"{self._path}: {text}{advice}; nothing was written") from error
        except sqlite3.Error as error:
            raise StorageError(f"{self._path}: {error}; nothing was written") from error
