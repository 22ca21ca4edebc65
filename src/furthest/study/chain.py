"""The hash chain of a log: every event carries a digest of itself and of all that came before.

So a changed value, a swapped ask or a missing event shows by itself: nothing after it fits. Logs of
versions 1 and 2 had no chain. They get a `sealed` event, with a digest of all before it, when their
database is first written to; from there on they are chained.

Whoever can write to the log can also compute a new chain. Against a forger there are earlier
certificates, which name the digest, and signatures (`furthest.study.signature`).
"""

from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from json.encoder import encode_basestring_ascii as quoted

from furthest.study.events import SEALED, Event

# The first version of a log that is chained from its first event on.
CHAINED = 3


# Of data some characters are hashed at a time: there may be many, and each step makes copies.
STEP = 2**16

# An empty text as JSON.
NOTHING = '""'


def link(head: str, event: Event) -> str:
    """The digest of an event and, by `head`, of all before it."""
    if len(event.data) <= STEP:
        return sha256((head + _text(event)).encode()).hexdigest()
    digest_so_far = sha256(head.encode())
    for piece in _pieces(event):
        digest_so_far.update(piece.encode())
    return digest_so_far.hexdigest()


def _pieces(event: Event) -> Iterator[str]:
    """`_text` of an event with much data, piece by piece."""
    yield _text(event._replace(data="", worker="")).removesuffix('"", ""]') + '"'
    for first in range(0, len(event.data), STEP):
        yield quoted(event.data[first : first + STEP])[1:-1]
    yield f'", {quoted(event.worker)}]'


def chained(events: Iterable[Event], head: str = "") -> list[Event]:
    """The events, each with its link to the one before; `head` is that of the last one written."""
    linked = []
    for event in events:
        head = link(head, event)
        linked.append(event._replace(chain=head))
    return linked


def digest(events: Sequence[Event]) -> str:
    """SHA-256 of a log: the last link of its chain, if there is one."""
    return events[-1].chain or _unchained(events)


def seal(events: Sequence[Event], now: float) -> Event:
    """What an older log goes on with: from here on it is chained."""
    return chained([Event(events[-1].seq + 1, SEALED, now, data=_unchained(events))])[0]


def _unchained(events: Sequence[Event]) -> str:
    return sha256("\n".join(map(_text, events)).encode()).hexdigest()


def _text(event: Event) -> str:
    """All fields but the chain as JSON, in half the time that `json` takes."""
    seq, kind, at, trial, arm, value, data, worker, _ = event
    return (
        f"[{seq}, {quoted(kind)}, {at!r}, {quoted(trial)}, {'null' if arm is None else arm}, "
        f"{'null' if value is None else repr(value)}, {quoted(data) if data else NOTHING}, "
        f"{quoted(worker) if worker else NOTHING}]"
    )
