"""A storage with several connections: for a server, whose many threads must not wait for one.

Whoever comes first is served first. Writers to one study queue up here, each without a connection,
so that they leave those to others; with SQLite, which has one lock for all, all writers do.
"""

from collections import deque
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import ExitStack, contextmanager
from threading import Lock
from typing import Generic, TypeVar
from weakref import WeakValueDictionary

from furthest.errors import StorageError
from furthest.study.events import Event
from furthest.study.storage import Log, Storage, open_storage

T = TypeVar("T")

# Connections of a pool.
SIZE = 8

# Seconds to wait for one, or for another writer.
LOCK_SECONDS = 30.0

# In place of a study's key, where there is one lock for all studies.
ALL = 0


class _Line(Generic[T]):
    """Things that are lent to one at a time, in the order in which they were asked for."""

    def __init__(self, *things: T) -> None:
        self._free = list(things)
        self._waiting = deque[Future[T]]()
        self._lock = Lock()

    @contextmanager
    def one(self, patience: float) -> Iterator[T]:
        """Wait until it is our turn."""
        thing = self._take(patience)
        try:
            yield thing
        finally:
            self._give_back(thing)

    def _take(self, patience: float) -> T:
        turn = Future[T]()
        with self._lock:
            if self._free:
                return self._free.pop()
            self._waiting.append(turn)
        try:
            return turn.result(patience)
        except BaseException as error:
            self._give_up(turn)
            if isinstance(error, TimeoutError):
                raise StorageError(
                    f"others held the lock, or all connections, for {patience:g} seconds; try "
                    "again; nothing was written"
                ) from None
            raise  # Ctrl-C

    def _give_up(self, turn: Future[T]) -> None:
        """Leave the queue, or hand on what came too late."""
        with self._lock:
            waited = turn in self._waiting
            if waited:
                self._waiting.remove(turn)
        if not waited:
            self._give_back(turn.result())

    def _give_back(self, thing: T) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set_result(thing)
            else:
                self._free.append(thing)


class Pool:
    """A storage that has at most so many connections; each is opened when it is first needed.

    It is for a process that does not fork.
    """

    def __init__(self, url: str, size: int = SIZE, patience: float = LOCK_SECONDS) -> None:
        self._storages = [open_storage(url) for _ in range(size)]
        self._patience = patience
        self._has_one_lock = url.startswith("sqlite:")
        self._line = _Line(*self._storages)
        self._writers = WeakValueDictionary[int, _Line[None]]()
        self._lock = Lock()

    def studies(self) -> dict[str, int]:
        """Keys of all studies by name."""
        with self._line.one(self._patience) as storage:
            return storage.studies()

    def create(self, name: str, *events: Event) -> int:
        """Begin a log with its created event, and with others."""
        with self._for_writing(ALL) as storage:
            return storage.create(name, *events)

    def read(
        self, key: int, after: int = 0, head: str = "", most: int | None = None
    ) -> list[Event]:
        """All committed events with a larger number, or the first of them, in their order."""
        with self._line.one(self._patience) as storage:
            return storage.read(key, after, head, most)

    @contextmanager
    def writing(self, key: int, patience: float | None = None) -> Iterator[Log]:
        """Lock the log: nobody else writes until the block ends.

        To wait for other writers of this process there is as much time as `patience` says; for
        those of others, as much as the database's storage has.
        """
        with self._for_writing(key, patience) as storage, storage.writing(key) as log:
            yield log

    def delete(self, key: int) -> None:
        """Remove a log for ever."""
        with self._for_writing(key) as storage:
            storage.delete(key)

    def close(self) -> None:
        """Let go of files and connections, once they are not in use; the next call opens others."""
        for storage in self._storages:
            storage.close()

    @contextmanager
    def _for_writing(self, key: int, patience: float | None = None) -> Iterator[Storage]:
        """A connection, when no other one of this pool writes to the study."""
        seconds = self._patience if patience is None else patience
        with ExitStack() as held:
            held.enter_context(self._writers_to(key).one(seconds))
            yield held.enter_context(self._line.one(self._patience))

    def _writers_to(self, key: int) -> _Line[None]:
        own = ALL if self._has_one_lock else key
        with self._lock:
            return self._writers.setdefault(own, _Line(None))
