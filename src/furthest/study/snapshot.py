"""Snapshots: what a long log comes to, kept by whoever has read it for their next process.

A snapshot has the results in columns, the bookkeeping and the state of the fold after some event.
It is a file in this user's cache, not in the database: who could write one there could just as well
put machine code beside it. It is for one log, by the digest of its first event, and for one place
in it, by that of the last event that it knows: what comes next must be chained to that. Other
software has other snapshots, and another processor makes a state of its own.

It saves time, and no more than that: a process that has one says how a study stands, but before
anything is certified, or written down as the end, all is read and done again from the log alone
(docs/decisions/0029). Whatever is wrong with it, it is done without. It may be deleted at any time.
"""

import hashlib
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest import __version__
from furthest.writing import write_beside

FOLDER = "studies"

# So many are kept, the latest ones; and none of a log that has fewer events, which is read as fast.
MOST = 16
LEAST_EVENTS = 20_000

# A new one is made when the log has grown by such a part: what is read beyond it stays short.
SHARE = 32

PACKAGE = Path(__file__).resolve().parent.parent


# In front of the names of the columns of a snapshot's parts.
PARTS = ("ledger.", "fold.")


class Parts(NamedTuple):
    """Something as plain data: large columns, and the rest."""

    columns: dict[str, NDArray[Any]]
    rest: dict[str, Any]


class Snapshot(NamedTuple):
    """After some event of a log."""

    ledger: Parts
    fold: Parts | None  # where the strategy's state is plain data


def is_due(events: int, kept: int) -> bool:
    """Whether so many events are worth a new snapshot, if the last one has so many."""
    return events - kept >= max(LEAST_EVENTS, events // SHARE)


def load(log: str) -> Snapshot | None:
    """The snapshot of the log whose first event has this digest; None if none can be used."""
    try:
        with (_folder() / f"{log}.npz").open("rb") as file:
            stored = dict(np.load(file, allow_pickle=False))
        data = json.loads(stored.pop("rest").tobytes())
        if data["software"] != software():
            return None
        ledger, fold = (
            Parts(
                {name[len(each) :]: stored[name] for name in stored if name.startswith(each)},
                data[each],
            )
            for each in PARTS
        )
    except Exception:  # noqa: BLE001 - it is damaged, or there is none
        return None
    return Snapshot(ledger, fold if fold.rest else None)


def save(log: str, snapshot: Snapshot) -> None:
    """Keep a snapshot, if there is where to."""
    with suppress(OSError, RuntimeError):  # the latter where there is no home
        data: dict[str, Any] = {"software": software()}
        stored: dict[str, NDArray[Any]] = {}
        for each, parts in zip(PARTS, snapshot, strict=True):
            columns, data[each] = parts or Parts({}, {})
            stored |= {each + name: column for name, column in columns.items()}
        stored["rest"] = np.frombuffer(json.dumps(data).encode(), np.uint8)
        folder = _folder()
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        write_beside(folder / f"{log}.npz", lambda draft: np.savez(draft, **stored))  # type: ignore[arg-type]
        _forget(folder.glob("*.npz"))


def _forget(paths: Iterable[Path]) -> None:
    """All but the latest."""
    for path in sorted(paths, key=lambda each: each.stat().st_mtime)[:-MOST]:
        path.unlink(missing_ok=True)


def _folder() -> Path:
    """Where machine code is kept, too: `NUMBA_CACHE_DIR`, or else the user's cache."""
    own = os.environ.get("NUMBA_CACHE_DIR")
    if own:
        return Path(own, FOLDER)
    home = os.environ.get("XDG_CACHE_HOME") or os.environ.get("LOCALAPPDATA")
    return Path(home or Path("~/.cache").expanduser(), "furthest", FOLDER)


@cache
def software() -> str:
    """What reads logs: this package to the letter, and NumPy."""
    digest = hashlib.sha256(f"{__version__} {np.__version__}".encode())
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(path.relative_to(PACKAGE).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def machine() -> str:
    """What the last digits of a state depend on beyond that."""
    from llvmlite import binding

    features = binding.get_host_cpu_features().flatten()
    return f"{binding.get_host_cpu_name()} {features} {version('numba')} {version('llvmlite')}"
