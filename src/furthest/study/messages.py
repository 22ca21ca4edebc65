"""What a storage elsewhere and its clients say to each other: one request, one answer, in JSON.

| request                           | answer                                                 |
|-----------------------------------|--------------------------------------------------------|
| studies                           | the keys by name                                       |
| create: name, events              | the key                                                |
| read: key, after, head, most      | some of the events, and whether the log ends with them |
| begin: key, patience              | nothing: the log is locked                             |
| append: events                    | nothing                                                |
| commit, or rollback               | nothing: the lock is released                          |
| delete: key                       | nothing                                                |

Each answer is `{"ok": …}`, or `{"error": …, "message": …}` with the name of one of our errors.
Events are lists, and floats are what Python reads back exactly. Between `begin` and `commit` the
log is only read and appended to. When the connection ends before `commit` nothing is written.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any

from furthest import errors
from furthest.errors import FurthestError, MissingExtraError, StorageError

# Under the address of a server.
PATH = "/api/v1/storage"

# Characters of a message, and bytes: all are ASCII. The question of 2,000 arms with 2,000 features
# takes 43 MB, as one event; results come in parts, see `PAGE`.
LONGEST = 2**28

# One answer to `read` has at most so many events, and ends with the one that is beyond so many
# characters.
PAGE = 5_000
PAGE_LENGTH = 2**23

# Errors by name. `MissingExtraError` is about the other machine, and made of other words.
KNOWN: dict[str, type[FurthestError]] = {
    name: kind
    for name, kind in vars(errors).items()
    if isinstance(kind, type)
    and issubclass(kind, FurthestError)
    and not issubclass(kind, MissingExtraError)
}


# As it goes over the wire. What a damaged database has in place of a text is sent as Python shows
# it: the reader of such a log finds that it does not follow.
encoded = json.JSONEncoder(separators=(",", ":"), default=repr).encode


def done(result: Any = None) -> str:
    """The answer to what was done."""
    return encoded({"ok": result})


def page(events: Sequence[Sequence[Any]], *, is_whole: bool) -> str:
    """The answer to `read`, with as many of these events as are sent at once.

    `is_whole` says whether the log ends with the last of them.
    """
    texts: list[str] = []
    length = 0
    for event in events:
        texts.append(encoded(event))
        length += len(texts[-1])
        if length > PAGE_LENGTH:
            break
    ends = encoded(is_whole and len(texts) == len(events))
    return f'{{"ok":{{"events":[{",".join(texts)}],"ends":{ends}}}}}'


def refused(error: FurthestError) -> str:
    """The answer to what was not."""
    return encoded({"error": type(error).__name__, "message": str(error)})


def result_of(answer: Any) -> Any:
    """What was done, or the other side's error as if it were our own."""
    match answer:
        case {"ok": result}:
            return result
        case {"error": str(name), "message": str(message)}:
            raise KNOWN.get(name, StorageError)(message)
    raise ValueError("no answer")


def fields_of(request: Any, kinds: Mapping[str, Mapping[str, type]]) -> tuple[str, dict[str, Any]]:
    """What is asked for, and with what; ValueError unless that is one of `kinds`, to the letter."""
    fields = dict(request) if isinstance(request, dict) else {}
    verb = fields.pop("do", None)
    wanted = kinds.get(verb) if isinstance(verb, str) else None
    if wanted is None or {name: type(value) for name, value in fields.items()} != wanted:
        raise ValueError("no request")
    return verb, fields
