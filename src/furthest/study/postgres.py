"""Logs on a PostgreSQL server, for teams: many machines, one order. Needs the extra `postgres`."""

import re
import time
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from furthest.display import passwords, without_password
from furthest.errors import MissingExtraError, StorageError, StudyError
from furthest.study.sql import SCHEMA_VERSION, SqlStorage, Transaction
from furthest.study.turns import Turn

try:
    import psycopg
    from psycopg.conninfo import conninfo_to_dict
except ImportError:
    raise MissingExtraError("psycopg", "postgres") from None

# Seconds to wait for other writers. A server that then says nothing for some more is given up: one
# that was stopped, or cut off, keeps no promise of its own. There is no limit to statements, which
# would let a COMMIT return that a standby has not confirmed.
LOCK_SECONDS = 30.0
GRACE = 5.0

# So many times as long a client may think within a transaction; one that was stopped lets go then.
IDLE = 10

# For a connection, unless the URL says otherwise; seconds, the last one milliseconds.
CONNECT = {
    "connect_timeout": 10,
    "keepalives_idle": 60,
    "keepalives_interval": 10,
    "keepalives_count": 3,
    "tcp_user_timeout": 30_000,
}

# Writers must see what others committed before they got the lock; readers see one moment.
BEGIN = {
    True: b"BEGIN ISOLATION LEVEL READ COMMITTED READ WRITE",
    False: b"BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
}

TABLES = (
    "SELECT 1 FROM pg_tables "
    "WHERE tablename = 'furthest_schema' AND schemaname = ANY (current_schemas(false))"
)

# Any number that no other program locks.
MIGRATION_LOCK = 0x667572746865


class _Connection(psycopg.Connection[Any]):
    """Gives up a server that says nothing for too long."""

    patience = LOCK_SECONDS + GRACE

    def wait(self, gen: Any, *arguments: Any, **options: Any) -> Any:
        """What psycopg waits with."""
        return super().wait(_heard(gen, self.patience), *arguments, **options)


def _heard(steps: Generator[Any, Any, Any], patience: float) -> Generator[Any, Any, Any]:
    """The same steps, as long as now and then the server is ready for one."""
    heard = time.monotonic()
    try:
        wanted = next(steps)
        while True:
            ready = yield wanted
            now = time.monotonic()
            if ready:
                heard = now
            elif now - heard > patience:
                raise psycopg.OperationalError(f"no answer within {patience:g} seconds")
            wanted = steps.send(ready)
    except StopIteration as end:
        return end.value


def _commit(connection: _Connection) -> None:
    """PostgreSQL rolls back instead, without an error, after one that was caught."""
    if connection.execute(b"COMMIT").statusmessage != "COMMIT":
        raise StorageError("PostgreSQL: the transaction had failed; nothing was written")


class PostgresStorage(SqlStorage):
    """One connection, shared by the threads of this process and reopened when it is lost.

    To look needs no more than the right to read: tables are made, and brought up to date, by the
    first who writes.
    """

    words = {  # noqa: RUF012
        "key": "BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY",
        "float": "DOUBLE PRECISION",
        "clustered": "",
        "chained_only": "ALTER TABLE furthest_events ALTER COLUMN chain DROP DEFAULT",
    }

    def __init__(self, url: str, patience: float = LOCK_SECONDS) -> None:
        if re.match(r"[^/]*//[^/?#]*@[^/?#]*@", url):
            raise StudyError(
                f"{without_password(url)!r}: an @ in the name or password of a user is written %40"
            )
        self._url = url
        self._patience = patience
        self._turn = Turn(self)
        self._open: _Connection | None = None
        self._found = False  # the tables, over this connection

    @contextmanager
    def transaction(self, *, write: bool) -> Iterator[Transaction]:
        """Readers see one moment; writers see, after `lock`, what others have committed."""
        with self._turn, self._named_errors():
            connection = self._begun(write=write)
            try:
                schema = self._schema(connection)
                if write and schema < SCHEMA_VERSION:
                    connection.execute(b"ROLLBACK")
                    self._upgrade(connection)
                    connection.execute(BEGIN[write])
                    schema = self._schema(connection)
                with connection.cursor() as cursor:
                    yield Transaction(partial(self._execute, cursor), schema)
                self._turn.check()
                _commit(connection)
            except BaseException:
                if not self._turn.lost:
                    self._roll_back(connection)
                raise

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

    def _execute(
        self, cursor: psycopg.Cursor[Any], query: str, values: Sequence[Any] = ()
    ) -> psycopg.Cursor[Any]:
        """With SQLite's placeholders."""
        self._turn.check()
        return cursor.execute(query.replace("?", "%s").encode(), values)

    @property
    def is_open(self) -> bool:
        """Whether a child that is forked now would inherit a connection."""
        return self._open is not None

    def close(self) -> None:
        """Let go of the connection."""
        if self._turn.lost:
            return  # the parent's
        with self._turn:
            if self._open is not None:
                with suppress(psycopg.Error):
                    self._open.close()
            self._open, self._found = None, False

    def _begun(self, *, write: bool) -> _Connection:
        """The open connection if it still answers, else a new one, in a transaction."""
        if self._open is not None:
            try:
                self._open.execute(BEGIN[write])
            except psycopg.OperationalError:
                self.close()
            else:
                return self._open
        self._open = self._connect()
        self._open.execute(BEGIN[write])
        return self._open

    def _connect(self) -> _Connection:
        options: dict[str, Any] = CONNECT | conninfo_to_dict(self._url)
        connection = _Connection.connect(**options, autocommit=True)
        connection.patience = self._patience + GRACE
        try:
            connection.execute(
                "SET synchronous_commit TO on;"  # an acknowledged tell is on disk
                f"SET lock_timeout TO '{self._patience:g}s';"
                f"SET idle_in_transaction_session_timeout TO '{IDLE * self._patience:g}s'".encode()
            )
        except BaseException:
            connection.close()
            raise
        return connection

    def _roll_back(self, connection: _Connection) -> None:
        try:
            connection.execute(b"ROLLBACK")
        except psycopg.Error:
            self.close()

    def _upgrade(self, connection: _Connection) -> None:
        """Bring the tables up to date, in a transaction of its own: none waits for another's."""
        connection.execute(BEGIN[True])
        connection.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
        # Another process may have been faster; an error leaves all as it was.
        with connection.cursor() as cursor:
            self.migrate(partial(self._execute, cursor), self._schema(connection))
        _commit(connection)

    def _schema(self, connection: _Connection) -> int:
        """The version of the schema; 0 if there are no tables. Refused if it is too new."""
        if not self._found and connection.execute(TABLES).fetchone() is None:
            return 0
        row = connection.execute("SELECT version FROM furthest_schema").fetchone()
        schema = self.check_schema(row and row[0])
        self._found = True
        return schema

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
            for secret in passwords(self._url):
                text = text.replace(secret, "***")
            raise StorageError(f"PostgreSQL: {text}; try again") from error
