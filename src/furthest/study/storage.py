"""The contract of a storage: append-only logs, each in one total order.

A storage keeps the promise of `tell`: what `writing` has committed survives `kill -9` and a power
cut, all of it or nothing. Failures are `StorageError`s; after one, the call may be tried again.
"""

import os
from collections.abc import Sequence
from contextlib import AbstractContextManager
from typing import Protocol

from furthest.display import without_password
from furthest.errors import InputError, StudyError
from furthest.study.events import Event


class Log(Protocol):
    """One study's log while it is locked for writing."""

    def read(self, after: int, head: str, most: int | None = None) -> list[Event]:
        """All events with a larger number, or the first; `head` is the chain of this number's."""

    def append(self, events: Sequence[Event]) -> None:
        """Write events; they are there once the lock is released without an error."""


class Storage(Protocol):
    """Where logs are kept. Studies have keys, never used twice; names may be, after a deletion."""

    def studies(self) -> dict[str, int]:
        """Keys of all studies by name."""

    def create(self, name: str, *events: Event) -> int:
        """Begin a log with its created event, and with others; StudyError if the name is taken."""

    def read(
        self, key: int, after: int = 0, head: str = "", most: int | None = None
    ) -> list[Event]:
        """All committed events with a larger number, or the first of them, in their order.

        `head` is the chain of the event with this number. VerificationError if the log does not
        end as it was written, or ends elsewhere than it did before.
        """

    def writing(self, key: int) -> AbstractContextManager[Log]:
        """Lock the log: nobody else writes until the block ends.

        An error within the block undoes all that was appended in it.
        """

    def delete(self, key: int) -> None:
        """Remove a log for ever."""

    def close(self) -> None:
        """Let go of files and connections; the next call opens them again."""


def open_storage(url: str, token: str | None = None) -> Storage:
    """The storage that a URL means: a SQLite file, a PostgreSQL server, or `furthest serve`.

    The last one asks for a token: this one, or the variable FURTHEST_TOKEN of the environment.
    """
    scheme, found, rest = url.partition("://")
    if found and scheme in ("http", "https"):
        from furthest.study.remote import RemoteStorage

        return RemoteStorage(url, token or os.environ.get("FURTHEST_TOKEN") or None)
    if token is not None:
        raise InputError("a token goes with a storage http://… or https://…, and with no other")
    if found and scheme in ("postgresql", "postgres"):
        from furthest.study.postgres import PostgresStorage

        try:
            url.encode()
        except UnicodeEncodeError:
            raise StudyError(f"the storage {without_password(url)!r} is not a text") from None
        return PostgresStorage(url)
    if found and scheme == "sqlite":
        from furthest.study.sqlite import SqliteStorage

        if not rest.strip("/"):
            raise StudyError("the storage sqlite:/// needs a file: sqlite:///furthest.db")
        return SqliteStorage(rest.removeprefix("/"))
    raise StudyError(
        f"unknown storage {without_password(url)!r}; sqlite:///FILE (sqlite:////… for an absolute "
        "path), postgresql://USER@HOST/DATABASE or http://HOST:PORT"
    )
