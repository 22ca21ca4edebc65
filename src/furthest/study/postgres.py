"""Logs on a PostgreSQL server, for teams: many machines, one order. Needs the extra `postgres`."""

import os
import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any
from urllib.parse import unquote

from furthest.errors import MissingExtraError, StorageError
from furthest.study.sql import SCHEMA_VERSION, SqlStorage, Transaction

try:
    import psycopg
except ImportError:
    raise MissingExtraError("psycopg", "postgres") from None

# Seconds to wait for other writers, and for a connection.
LOCK_SECONDS = 30
CONNECT = 10

# Any number that no other program locks.
MIGRATION_LOCK = 0x667572746865


def _execute(
    cursor: "psycopg.Cursor[Any]", query: str, values: Sequence[Any] = ()
) -> "psycopg.Cursor[Any]":
    """With SQLite's placeholders."""
    return cursor.execute(query.replace("?", "%s").encode(), values)


def _password(url: str) -> str:
    """As it stands in the URL; it must not be in any message."""
    found = re.search(r"://[^/@:]*:([^/@]*)@", url)
    return found.group(1) if found else ""


class PostgresStorage(SqlStorage):
    """One connection, shared by the threads of this process and reopened when it is lost."""

    words = {  # noqa: RUF012
        "key": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "float": "DOUBLE PRECISION",
        "clustered": "",
        "chained_only": "ALTER TABLE furthest_events ALTER COLUMN chain DROP DEFAULT",
    }

    def __init__(self, url: str, patience: float = LOCK_SECONDS) -> None:
        self._url = url
        self._password = _password(url)
        self._patience = patience
        self._turn = threading.RLock()
        self._open: psycopg.Connection[Any] | None = None
        self._owner = 0

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """Readers see one moment; writers see, after `lock`, what others have committed."""
        with self._turn, self._named_errors():
            connection = self._connection()
            with connection.transaction(), connection.cursor() as cursor:
                if not write:
                    cursor.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ, READ ONLY")
                yield Transaction(partial(_execute, cursor))

    def lock(self, transaction: Transaction, key: int) -> None:
        """Lock the study's row; writers of other studies go on."""
        transaction.execute("SELECT key FROM furthest_studies WHERE key = ? FOR UPDATE", (key,))

    def insert_study(self, transaction: Transaction, name: str) -> int | None:
        """The key of a new study."""
        insert = (
            "INSERT INTO furthest_studies (name) VALUES (?) ON CONFLICT DO NOTHING RETURNING key"
        )
        row = transaction.execute(insert, (name,)).fetchone()
        return None if row is None else int(row[0])

    def close(self) -> None:
        """Let go of the connection."""
        with self._turn:
            if self._open is not None and self._owner == os.getpid():
                with suppress(psycopg.Error):
                    self._open.close()
            self._open = None

    def _connection(self) -> "psycopg.Connection[Any]":
        """The open connection if it still answers, else a new one."""
        if self._open is not None and self._owner == os.getpid():
            try:
                self._open.execute("SELECT 1")
            except psycopg.OperationalError:
                self.close()
            else:
                return self._open
        self._open, self._owner = self._connect(), os.getpid()
        return self._open

    def _connect(self) -> "psycopg.Connection[Any]":
        connection = psycopg.connect(self._url, connect_timeout=CONNECT, autocommit=True)
        try:
            connection.execute("SET synchronous_commit TO on")  # an acknowledged tell is on disk
            connection.execute(f"SET lock_timeout TO '{self._patience:g}s'".encode())
            if self._version(connection) != SCHEMA_VERSION:
                with connection.transaction(), connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                    # Another process may have been faster; an error leaves all as it was.
                    self.migrate(partial(_execute, cursor), self._version(connection))
        except BaseException:
            connection.close()
            raise
        return connection

    @staticmethod
    def _version(connection: "psycopg.Connection[Any]") -> int:
        tables = (
            "SELECT 1 FROM pg_tables "
            "WHERE tablename = 'furthest_schema' AND schemaname = ANY (current_schemas(false))"
        )
        if connection.execute(tables).fetchone() is None:
            return 0
        row = connection.execute("SELECT version FROM furthest_schema").fetchone()
        return int(row[0]) if row else 0

    @contextmanager
    def _named_errors(self) -> Iterator[None]:
        """PostgreSQL's errors as ours; a connection in doubt is not used again."""
        try:
            yield
        except psycopg.errors.LockNotAvailable as error:
            raise StorageError(
                "PostgreSQL: another process holds the lock; try again; nothing was written"
            ) from error
        except psycopg.Error as error:
            self.close()
            text = " ".join(str(error).split())
            for secret in filter(None, {self._password, unquote(self._password)}):
                text = text.replace(secret, "***")
            raise StorageError(f"PostgreSQL: {text}; try again") from error
