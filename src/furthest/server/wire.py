"""The storage of this server for other machines: what `furthest.study.remote` talks to.

Each client has one WebSocket and, for as long as it is connected, one thread, which answers one
request after the other (`furthest.study.messages`). So a transaction is begun, used and ended by
one and the same thread, and a database that is slow keeps nobody else waiting.

A transaction is undone when its client says so, sends an event that is refused, goes away, or holds
the lock for too long.

What a client appends is looked at before it is committed: every field is of its kind and can be
kept by every database, numbers go on without gaps, and each event is chained to the one before.
Whether an event *makes sense* after the others is not: that takes all of the log, and no server.
Everybody who reads a log, this server's own pages and certificates included, goes through
`furthest.study.ledger`, which refuses what does not follow. The one event that follows and may be
untrue is that the study has stopped: `Study.status` certifies nothing unless the test accepts the
answer there, and `furthest.study.certificate.verify` does it all again, for whoever wants to be
sure. The token lets a client do what any user of the database can, and no more.
"""

import asyncio
import json
import logging
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from contextlib import suppress
from queue import Empty, SimpleQueue
from threading import Thread
from typing import Any, NamedTuple

from starlette.websockets import WebSocket, WebSocketDisconnect

from furthest.errors import (
    FurthestError,
    InputError,
    StorageError,
    UnknownStudyError,
    VerificationError,
)
from furthest.study.chain import link
from furthest.study.events import CREATED, Event, is_event
from furthest.study.ledger import check_name, storable_text
from furthest.study.messages import LONGEST, PAGE, done, fields_of, page, refused
from furthest.study.pool import Pool
from furthest.study.storage import Log

# Seconds that a client may hold the lock of a study: an `ask` decides within it, which takes
# milliseconds, or seconds where a question is very large.
HELD_SECONDS = 30.0

# Seconds for an answer to leave: a client that does not read is gone.
SEND_SECONDS = 30.0

# So long a client may want to wait for other writers.
LONGEST_PATIENCE = 3600.0

# Characters of a request that writes nothing.
SHORT = 2**16

# Beyond this a column of PostgreSQL ends, and beyond the other a key of any database.
LARGEST, LARGEST_KEY = 2**31 - 1, 2**63 - 1

# What a request has beside what it asks for.
READS: dict[str, dict[str, type]] = {
    "studies": {},
    "read": {"key": int, "after": int, "head": str, "most": int},
}
WRITES: dict[str, dict[str, type]] = {
    "create": {"name": str, "events": list},
    "begin": {"key": int, "patience": float},
    "append": {"events": list},
    "commit": {},
    "rollback": {},
    "delete": {"key": int},
}
REQUESTS = READS | WRITES

_log = logging.getLogger(__name__)


async def serve(
    socket: WebSocket, pool: Pool, *, may_write: bool, held: float = HELD_SECONDS
) -> None:
    """Answer one client until it goes away.

    Whoever calls this knows already that the client may read. The server should take messages of
    `messages.LONGEST` characters.
    """
    await socket.accept()
    loop = asyncio.get_running_loop()
    inbox = SimpleQueue[str | None]()
    over = Future[None]()

    def say(text: str) -> None:
        try:
            asyncio.run_coroutine_threadsafe(socket.send_text(text), loop).result(SEND_SECONDS)
        except Exception as error:
            raise _GoneError from error

    session = _Session(pool, inbox, say, may_write=may_write, held=held)
    over.set_running_or_notify_cancel()  # nobody can cancel it any more
    Thread(target=session.run, args=(over,), name="furthest-storage", daemon=True).start()
    try:
        while True:
            message = await socket.receive()
            # A client that does not wait for its answers is none of ours.
            if message["type"] == "websocket.disconnect" or not inbox.empty():
                break
            inbox.put(message.get("text") or "")
    finally:
        inbox.put(None)
    await asyncio.wrap_future(over)
    with suppress(RuntimeError, WebSocketDisconnect):  # it is closed already
        await socket.close()


class _GoneError(Exception):
    """The client is not there any more."""


class _UndoneError(Exception):
    """The client wants nothing of it to be written."""


class _HeldError(Exception):
    """The lock was held for too long."""


class _Session:
    """What one client does."""

    def __init__(
        self,
        pool: Pool,
        inbox: SimpleQueue[str | None],
        say: Callable[[str], None],
        *,
        may_write: bool,
        held: float,
    ) -> None:
        self._pool = pool
        self._inbox = inbox
        self._say = say
        self._may_write = may_write
        self._held = held
        self._unlocked = "no log is locked"  # or why it is not any more

    def run(self, over: Future[None]) -> None:
        """Until the client is gone."""
        try:
            while True:
                answer = self._answer(self._next())
                if answer is not None:
                    self._say(answer)
        except _GoneError:
            pass
        finally:
            over.set_result(None)

    def _next(self, seconds: float | None = None) -> str:
        """The next message."""
        try:
            text = self._inbox.get(timeout=seconds)
        except Empty:
            raise _HeldError from None
        if text is None:
            raise _GoneError
        return text

    def _answer(self, text: str) -> str | None:
        """What was done, or why it was not; None if the client will hear it later."""
        try:
            verb, fields = self._request(text)
            return self._do(verb, fields)
        except FurthestError as error:
            return refused(error)
        except _GoneError:
            raise
        except Exception:  # noqa: BLE001 - others are served all the same
            _log.exception("a request to the storage failed")
            return refused(StorageError("the server has failed; its log says why"))

    def _request(self, text: str) -> tuple[str, dict[str, Any]]:
        if len(text) > (LONGEST if self._may_write else SHORT):
            raise InputError(f"a message of {len(text):,} characters is too long")
        try:
            verb, fields = fields_of(json.loads(text), REQUESTS)
        except (ValueError, RecursionError):
            raise InputError("this is no request to a storage") from None
        if verb in WRITES and not self._may_write:
            raise StorageError("this token may only read")
        return verb, fields

    def _do(self, verb: str, fields: dict[str, Any]) -> str | None:
        """Any request while no log is locked."""
        match verb:
            case "studies":
                return done(self._pool.studies())
            case "create":
                return done(self._create(**fields))
            case "read":
                return _page(self._pool, **fields)
            case "begin":
                return self._transaction(**fields)
            case "delete":
                self._pool.delete(_key(fields["key"]))
            case "append" | "commit":
                raise StorageError(f"{self._unlocked}; nothing was written")
        return done()

    def _create(self, name: str, events: list[Any]) -> int:
        log = list(map(_event, events))
        if not log or log[0].kind != CREATED:
            raise InputError("a log begins with its creation")
        _check_chain(log, 0, "")
        return self._pool.create(check_name(name), *log)

    def _transaction(self, key: int, patience: float) -> str | None:
        """From the request that begins it to the answer to the one that ends it."""
        self._unlocked = "no log is locked, or an error has released the lock"
        if not patience >= 0:  # NaN is not
            raise InputError(f"a patience of {patience!r} seconds")
        try:
            with self._pool.writing(_key(key), min(patience, LONGEST_PATIENCE)) as log:
                self._within(log, key)
        except _UndoneError:
            pass
        except _HeldError:
            self._unlocked = "the lock was held for too long"
            return None
        return done()

    def _within(self, log: Log, key: int) -> None:
        """Requests until the one to commit."""
        until = time.monotonic() + self._held
        self._say(done())
        while True:
            text = self._next(max(0.0, until - time.monotonic()))
            verb, fields = self._request(text)
            match verb:
                case "commit":
                    return
                case "rollback":
                    raise _UndoneError
                case "append":
                    _append(log, list(map(_event, fields["events"])))
                    self._say(done())
                case "read" if fields["key"] == key:
                    self._say(_tried(_page, _Locked(log), **fields))
                case _:
                    raise InputError(f"{verb}: not while a log is locked")


class _Locked(NamedTuple):
    """A log that is locked, to be read as in a storage."""

    log: Log

    def read(self, _key: int, after: int, head: str, most: int | None) -> list[Event]:
        """What comes after some event."""
        return self.log.read(after, head, most)


def _tried(action: Callable[..., str], *arguments: Any, **fields: Any) -> str:
    """Its answer, or that it was refused, which ends nothing."""
    try:
        return action(*arguments, **fields)
    except FurthestError as error:
        return refused(error)


def _page(place: Pool | _Locked, key: int, after: int, head: str, most: int) -> str:
    """As many events as are sent at once; `most` is negative where all are wanted."""
    count = min(most, PAGE) if most >= 0 else PAGE
    storable_text(head, "the digest of an event")
    events = place.read(_key(key), _seq(after), head, count)
    return page(events, is_whole=len(events) < count)


def _append(log: Log, events: Sequence[Event]) -> None:
    """Write events that are chained to what is there."""
    if not events:
        return
    before: list[Event] = []
    with suppress(VerificationError):  # there is nothing near this number
        before = log.read(events[0].seq - 2, "", 1)
    last = before[0] if before and events[0].seq > 1 else Event(0, "", 0.0)
    _check_chain(events, last.seq, last.chain)
    log.append(events)


def _check_chain(events: Sequence[Event], seq: int, head: str) -> None:
    """Whether these come after the event of this number and digest."""
    for event in events:
        if event.seq != seq + 1:
            raise StorageError(f"event {event.seq} is not the next one; nothing was written")
        seq, head = event.seq, link(head, event)
        if event.chain != head:
            raise VerificationError(
                f"event {seq} is not chained to the one before it; nothing was written"
            )


def _event(row: Any) -> Event:
    """An event that every database can keep, and gives back as it is."""
    if type(row) is not list or len(row) != len(Event._fields):
        raise InputError(f"an event is a list of {len(Event._fields)}")
    event = Event(*row)
    if not (_is_event(event) and _fits(event.seq) and _fits(event.arm or 0)):
        raise InputError("a field of an event is not of its kind, or out of range")
    if any(type(number) is int or str(number) == "-0.0" for number in (event.at, event.value)):
        raise InputError("a moment or result of an event is not as it is read back")
    for text in (event.kind, event.trial, event.data, event.worker, event.chain):
        storable_text(text, "what an event says")
    return event


def _is_event(event: Event) -> bool:
    try:
        return is_event(event)
    except OverflowError:  # a whole number that is no float
        return False


def _fits(number: int) -> bool:
    return 0 <= number <= LARGEST


def _seq(number: int) -> int:
    if not _fits(number):
        raise InputError(f"{number} is no number of an event")
    return number


def _key(key: int) -> int:
    if not 0 < key <= LARGEST_KEY:
        raise UnknownStudyError("there is no study of this key")
    return key
