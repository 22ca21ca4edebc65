"""Logs on a machine that runs `furthest serve`. Needs the extra `http`.

All that can go wrong on the way is a StorageError that says whether something may have been
written. It may, when the answer to the end of a transaction is lost; to tell the same result again
changes nothing.
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import Any
from urllib.parse import urlsplit

from furthest.errors import (
    FurthestError,
    InputError,
    MissingExtraError,
    StorageError,
    StudyError,
)
from furthest.study.events import Event
from furthest.study.messages import LONGEST, PATH, encoded, result_of
from furthest.study.turns import Turn

try:
    from websockets.exceptions import ConnectionClosed, InvalidStatus, WebSocketException
    from websockets.sync.client import ClientConnection, connect
except ImportError:
    raise MissingExtraError("websockets", "http") from None

# Seconds to wait for other writers. A server that then says nothing for some more is given up.
LOCK_SECONDS = 30.0
GRACE = 10.0

# Seconds to wait for the end of a connection that is let go.
CLOSING = 1.0

# What is longer is sent in pieces of so many characters: each must leave within the same time.
PIECE = 2**20

# Of an answer, around the events that a request of the longest kind had.
FRAME = 2**16

# A token as it can stand in a header.
TOKEN = re.compile(r"[\x21-\x7e]+")

# After a request whose answer is lost.
IN_DOUBT = dict.fromkeys(
    ("create", "commit", "delete"),
    "what was just written may or may not be there: look, or try again (the same result told again "
    "changes nothing)",
)
NOTHING = "nothing was written; try again"

NONSENSE = "the answer makes no sense: is this a server of this furthest?"

TOO_BIG = 1009  # the code with which a message is refused
UNKNOWN_TOKEN = (401, 403)


class RemoteStorage:
    """One connection, shared by the threads of this process and reopened when it is lost.

    Args:
        url: `http://HOST:PORT` or `https://HOST:PORT`, with a path if the server has one in front.
        token: What the server asks for. It goes into a header of the connection, and nowhere else.
        patience: Seconds to wait for other writers.
    """

    def __init__(self, url: str, token: str | None = None, patience: float = LOCK_SECONDS) -> None:
        self._url = _checked(url)
        self._headers = _headers(token)
        self._patience = patience
        self._turn = Turn(self)
        self._open: ClientConnection | None = None

    def studies(self) -> dict[str, int]:
        """Keys of all studies by name."""
        with self._turn:
            return dict(self._begin("studies"))

    def create(self, name: str, *events: Event) -> int:
        """Begin a log with its created event, and with others."""
        with self._turn:
            self._check_alive()
            return int(self._ask("create", name=name, events=events))

    def read(
        self, key: int, after: int = 0, head: str = "", most: int | None = None
    ) -> list[Event]:
        """All committed events with a larger number, or the first of them, in their order.

        They come in parts. What others append meanwhile may be among them: a log only grows, and
        the last part must end as the log does.
        """
        with self._turn:
            return self._read(self._begin, key, after, head, most)

    @contextmanager
    def writing(self, key: int) -> Iterator["RemoteLog"]:
        """Lock the log: nobody else writes until the block ends."""
        with self._turn:
            self._begin("begin", key=key, patience=float(self._patience))
            try:
                yield RemoteLog(self, key)
            except BaseException:
                with suppress(FurthestError):
                    self._ask("rollback")
                raise
            self._ask("commit")

    def delete(self, key: int) -> None:
        """Remove a log for ever."""
        with self._turn:
            self._check_alive()
            self._ask("delete", key=key)

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
                self._open.close()
            self._open = None

    def __del__(self) -> None:
        # At the end of the program modules may be gone already, and `suppress` with them.
        try:  # noqa: SIM105
            self.close()
        except Exception:  # noqa: BLE001, S110
            pass

    def _read(
        self, ask: Callable[..., Any], key: int, after: int, head: str, most: int | None
    ) -> list[Event]:
        """Part by part."""
        events: list[Event] = []
        ends = False
        while not ends and len(events) != most:
            left = -1 if most is None else most - len(events)
            part = ask("read", key=key, after=after, head=head, most=left)
            news, ends = _part(part, self._url)
            events += news
            if news:
                after, head = news[-1].seq, news[-1].chain
        return events

    def _begin(self, verb: str, **fields: Any) -> Any:
        """Ask for what may be asked for twice, over a new connection if the old one is lost."""
        self._turn.check()
        with self._named_errors(verb):
            if self._open is not None:
                with suppress(ConnectionClosed):
                    return self._answer(verb, fields)
            self._connect()
            return self._answer(verb, fields)

    def _check_alive(self) -> None:
        """Open a connection, or see that the open one still leads to the server."""
        self._turn.check()
        if self._open is not None:
            try:
                if self._open.ping().wait(self._patience + GRACE):
                    return
            except ConnectionClosed:
                pass
            self.close()
        self._connect()

    def _ask(self, verb: str, **fields: Any) -> Any:
        """The same over this connection or none, and once."""
        self._turn.check()
        with self._named_errors(verb):
            return self._answer(verb, fields)

    def _answer(self, verb: str, fields: dict[str, Any]) -> Any:
        """What the server says to a request; a connection in doubt is not used again."""
        if self._open is None:
            raise StorageError(f"{self._url}: the connection was lost; {NOTHING}")
        text = self._encoded(verb, fields)
        try:
            return result_of(self._exchange(self._open, text))
        except FurthestError:
            raise
        except BaseException:  # after Ctrl-C the answer may still come
            self.close()
            raise

    @contextmanager
    def _named_errors(self, verb: str) -> Iterator[None]:
        """What happens on the way as errors of ours, with what to do."""
        try:
            yield
        except FurthestError:
            raise
        except (ConnectionClosed, OSError) as error:
            reason = _reason(error, self._patience + GRACE)
            raise StorageError(f"{self._url}: {reason}; {IN_DOUBT.get(verb, NOTHING)}") from error
        except (ValueError, RecursionError) as error:
            raise StorageError(f"{self._url}: {NONSENSE}") from error

    def _encoded(self, verb: str, fields: dict[str, Any]) -> str:
        text = encoded({"do": verb, **fields})
        if len(text) > LONGEST - FRAME:
            raise StudyError(
                f"{self._url}: a message of {len(text):,} characters, where {LONGEST - FRAME:,} "
                "are the most: keep a study of such a size in a database of its own"
            )
        return text

    def _exchange(self, connection: ClientConnection, text: str) -> Any:
        pieces = [text[first : first + PIECE] for first in range(0, len(text), PIECE)]
        connection.send(pieces if len(pieces) > 1 else text)
        return json.loads(connection.recv(self._patience + GRACE))

    def _connect(self) -> None:
        self.close()
        address = re.sub("^http", "ws", self._url) + PATH
        try:
            opening = connect(
                address,
                additional_headers=self._headers,
                compression=None,  # half of a log are digests, and most servers are near
                max_size=LONGEST,
                close_timeout=CLOSING,
            )
            self._open = opening.__enter__()  # as `with`, to be closed by `close`
        except InvalidStatus as error:
            raise StorageError(f"{self._url}: {self._refusal(error)}") from error
        except (OSError, WebSocketException) as error:
            what = " ".join(str(error).split())
            raise StorageError(
                f"{self._url}: nobody answers ({what}); nothing was written; try again"
            ) from error
        self._open.socket.settimeout(self._patience + GRACE)  # for each piece that is sent

    def _refusal(self, error: InvalidStatus) -> str:
        """What to do about a server that does not let us in."""
        status = error.response.status_code
        if status in UNKNOWN_TOKEN and self._headers:
            return (
                "the server does not know this token: give another one as token=, or as the "
                "variable FURTHEST_TOKEN of the environment"
            )
        if status in UNKNOWN_TOKEN:
            return (
                "the server asks for a token: give it as token=, or as the variable "
                "FURTHEST_TOKEN of the environment"
            )
        if status == 404:
            return "there is no furthest server at this address"
        return f"the server answers with status {status}; nothing was written; try again"


class RemoteLog:
    """One study's log while it is locked for us."""

    def __init__(self, storage: RemoteStorage, key: int) -> None:
        self._storage = storage
        self._key = key

    def read(self, after: int, head: str, most: int | None = None) -> list[Event]:
        """All events with a larger number, or the first; `head` is the chain of this number's."""
        return self._storage._read(self._storage._ask, self._key, after, head, most)

    def append(self, events: Sequence[Event]) -> None:
        """Write events; they are there once the lock is released without an error."""
        if events:
            self._storage._ask("append", events=events)


def _part(answer: Any, url: str) -> tuple[list[Event], bool]:
    """The events of an answer, and whether the log ends with them."""
    match answer:
        case {"events": [*rows], "ends": bool(ends)} if rows or ends:
            with suppress(TypeError):
                return [Event(*row) for row in rows], ends
    raise StorageError(f"{url}: {NONSENSE}")


def _checked(url: str) -> str:
    """The address of a server: where it is, and nothing that should stay secret."""
    advice = "a server is http://HOST:PORT, or https://HOST:PORT"
    try:
        parts = urlsplit(url)
        parts.port  # noqa: B018 - ValueError if it is none
    except ValueError:
        raise StudyError(f"{advice}: the one given is no address") from None
    if "@" in parts.netloc or parts.query or parts.fragment:
        raise StudyError(
            f"{advice}, without user, password or anything after a question mark: what the server "
            "asks for is given as token=, or as the variable FURTHEST_TOKEN of the environment"
        )
    if not parts.hostname or not (url.isascii() and url.isprintable() and " " not in url):
        raise StudyError(f"{advice}, not {url!r}")
    return url.rstrip("/")


def _headers(token: str | None) -> dict[str, str]:
    if token is None:
        return {}
    if not isinstance(token, str) or not TOKEN.fullmatch(token):
        raise InputError("a token is made of letters, digits and signs, without spaces")
    return {"Authorization": f"Bearer {token}"}


def _reason(error: Exception, seconds: float) -> str:
    if isinstance(error, TimeoutError):
        return f"no answer within {seconds:g} seconds"
    close = error.rcvd if isinstance(error, ConnectionClosed) else None
    if close is not None and close.code == TOO_BIG:
        return "the server takes no message of this size"
    return "the connection was lost"
