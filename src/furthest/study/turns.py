"""Locks that a fork cannot leave locked for ever.

A child of a fork has only the thread that forked. What other threads held stays locked in it, and
what they were changing stays half changed. And no connection may be carried over: of an open SQLite
file the child would believe that it has the locks of its parent. So before a fork the threads that
are at work finish what they do, and the storages let go of their connections; afterwards parent and
child each open their own.

What could not be let go, because the forking thread is in the middle of a transaction itself or
another one does not come to an end, cannot be used in the child: it says so.
"""

import os
import threading
from typing import Any, Protocol
from weakref import ref

from furthest.errors import StorageError

# Seconds that a fork waits for the threads at work. Most are done in milliseconds; one may compile.
FORK_SECONDS = 60.0


class Holder(Protocol):
    """A storage: it may have a connection."""

    @property
    def is_open(self) -> bool:
        """Whether it has."""

    def close(self) -> None:
        """Let go of it."""


class Turn:
    """A re-entrant lock, of a study or of a storage."""

    def __init__(self, holder: Holder | None = None) -> None:
        self.lost = False  # in a child: its parent was in the middle of something
        self._holder = ref(holder) if holder is not None else lambda: None
        self._lock = threading.RLock()
        self._depth = 0
        _turns.add(ref(self, _turns.discard))

    def __enter__(self) -> None:
        _gate.enter()
        try:
            self._lock.acquire()
        except BaseException:  # Ctrl-C while it waits
            _gate.leave()
            raise
        self._depth += 1
        try:
            self.check()
        except StorageError:
            self.__exit__()
            raise

    def __exit__(self, *error: object) -> None:
        self._depth -= 1
        self._lock.release()
        _gate.leave()

    def check(self) -> None:
        """Refuse what belongs to the parent of this process."""
        if self.lost:
            raise StorageError(
                "this process was forked in the middle of its parent's work: load the study again"
            )

    def let_go(self) -> None:
        """Before a fork: close what nobody is using."""
        holder = self._holder()
        if holder is not None and self._lock.acquire(blocking=False):
            try:
                if not self._depth:
                    holder.close()
            finally:
                self._lock.release()

    def inherit(self) -> None:
        """In the child: open what was left locked; what is not whole is lost."""
        holder = self._holder()
        free = self._lock.acquire(blocking=False)  # or had by this very thread
        if free:
            self._lock.release()
        else:
            self._lock, self._depth = threading.RLock(), 0
        if not free or (holder is not None and holder.is_open):
            self.lost = True
            inherited.append(holder)


class _Own(threading.local):
    """What a thread knows of itself."""

    depth = 0  # of its turns
    forking = False


class _Gate:
    """Knows how many threads have a turn; no other one gets any while a thread forks."""

    def __init__(self) -> None:
        self._change = threading.Condition()
        self._own = _Own()
        self._inside = 0
        self._forks = 0

    def enter(self) -> None:
        """Wait until nobody else forks, unless this thread has a turn already."""
        if not self._own.depth:
            with self._change:
                self._change.wait_for(lambda: self._own.forking or not self._forks)
                self._inside += 1
        self._own.depth += 1

    def leave(self) -> None:
        """Let those go on who wait to fork."""
        self._own.depth -= 1
        if not self._own.depth:
            with self._change:
                self._inside -= 1
                self._change.notify_all()

    def close(self) -> None:
        """Wait until no other thread has a turn, or for too long."""
        self._own.forking = True
        with self._change:
            self._forks += 1
            self._inside -= self._own.depth > 0
            self._change.notify_all()
            self._change.wait_for(lambda: not self._inside, FORK_SECONDS)

    def open(self) -> None:
        """Let the others go on."""
        self._own.forking = False
        with self._change:
            self._forks -= 1
            self._inside += self._own.depth > 0
            self._change.notify_all()

    def inherit(self) -> None:
        """In the child: there are no others."""
        self._change = threading.Condition()
        self._own.forking = False
        self._inside, self._forks = int(self._own.depth > 0), 0


# Of the parent, in the child: neither used nor freed, which would close them.
inherited: list[Any] = []

_turns: set[ref[Turn]] = set()
_gate = _Gate()


def _known_turns() -> list[Turn]:
    return [turn for each in list(_turns) if (turn := each()) is not None]


def _before_fork() -> None:
    _gate.close()
    for turn in _known_turns():
        turn.let_go()


def _in_child() -> None:
    _gate.inherit()
    for turn in _known_turns():
        turn.inherit()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_gate.open, after_in_child=_in_child)
