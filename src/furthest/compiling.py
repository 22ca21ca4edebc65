"""Say so where something is compiled: one line for a call, and how far it is.

Blocks of `announced` may be nested, as calls are: the outermost one speaks, those within it only
tell the display what is being compiled at the moment. How long it took, and how many kernels it
was, is remembered in a small file beside the kernel cache, for the next time that the cache is
empty. Nothing here is ever needed: where that file cannot be read or written it is done without.
"""

import json
import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from furthest.display import one_line
from furthest.watching import is_watched
from furthest.writing import write_text

if TYPE_CHECKING:
    from furthest.bars import Bar
    from furthest.strategy import Strategy

RECORD = "compiled.json"

# So many things are remembered, the latest ones.
MOST = 200


class Record(NamedTuple):
    """What it took the last time."""

    seconds: float
    kernels: int


@contextmanager
def announced(what: str, *, said: bool | None = None) -> Iterator[None]:
    """Say that `what` is compiled if, in this block, anything has to be.

    Args:
        what: What will be compiled, for somebody who has to wait for it.
        said: Whether to say it; by default where somebody watches, on a terminal or in a notebook.
            In a block within another one that has been settled.
    """
    block = object()
    call = _enter(block, what, said=said)
    try:
        yield
    finally:
        call.leave(block)


def words(strategy: "Strategy") -> str:
    """What is compiled for a strategy: `softmin with ranked`, `uniform with glr paper`."""
    test = strategy.stopping
    parts = [strategy.name, "with", test if isinstance(test, str) else getattr(test, "name", "")]
    if strategy.threshold is not None:
        parts.append(strategy.threshold)
    if strategy.candidate == "furthest":
        parts.append("for the exact candidate")
    return " ".join(parts)


class Counter:
    """How much is compiled, by Numba's own account; what is loaded from disk does not count."""

    def __init__(self) -> None:
        self.kernels = 0
        self.seconds = 0.0
        self._depth = 0  # kernels are compiled within kernels
        self._began = 0.0

    def on_start(self, _: Any) -> None:
        """A kernel is begun."""
        if self._depth == 0:
            self._began = time.perf_counter()
        self._depth += 1

    def on_end(self, _: Any) -> None:
        """A kernel is finished, or has failed."""
        if self._depth == 1:
            self.seconds += time.perf_counter() - self._began
        self._depth = max(0, self._depth - 1)  # another thread's may have been begun before
        self.kernels += 1

    def listening(self) -> AbstractContextManager[Any]:
        """Count in this block."""
        from numba.core import event

        return event.install_listener("numba:compile", _listener()(self))


@cache  # Numba is imported where something may be compiled, and a class takes a while to make
def _listener() -> Any:
    from numba.core import event

    class Listener(event.Listener):
        def __init__(self, counter: Counter) -> None:
            self._counter = counter

        def on_start(self, event: Any) -> None:
            self._counter.on_start(event)

        def on_end(self, event: Any) -> None:
            self._counter.on_end(event)

    return Listener


class _Call(Counter):
    """The outermost block, and what is said in it."""

    def __init__(self, what: str, *, said: bool | None) -> None:
        super().__init__()
        self.what = what
        self.blocks: dict[object, str] = {}  # those under way, the innermost last
        self._said = said
        self._told = False
        self._last: Record | None = None
        self._shown = False
        self._bar: Bar | None = None
        self._listening = self.listening()
        self._listening.__enter__()

    def leave(self, block: object) -> None:
        """The end of a block; the end of the call, if it was the last."""
        with _state.lock:
            del self.blocks[block]
            if self._bar is not None:
                with suppress(OSError, ValueError):
                    self._bar.end()
                self._bar = None
            if self.blocks:
                return
            self._listening.__exit__(None, None, None)
            if _state.call is self:
                _state.call = None
            if self.kernels:
                _remember(self.what, Record(self.seconds, self.kernels))

    def hush(self) -> None:
        """Say nothing from now on."""
        self._told, self._shown, self._bar = True, False, None

    def on_start(self, event: Any) -> None:
        """Tell it once, and draw how far it is."""
        with _state.lock:
            super().on_start(event)
            if not self._told:
                self._told = True
                self._tell(event)
            self._draw()

    def on_end(self, event: Any) -> None:
        """Count it."""
        with _state.lock:
            super().on_end(event)
            self._draw()

    def _tell(self, event: Any) -> None:
        watched = is_watched()
        if not (watched if self._said is None else self._said):
            return
        self._last = _recall(self.what, _records(folder()))
        # Whoever has closed standard error has no need to know.
        with suppress(OSError, ValueError):
            if sys.stderr is not None:
                message = _message(self.what, self._last, kept=_is_kept(event))
                sys.stderr.write(f"{message}\n")
                sys.stderr.flush()
        self._shown = watched

    def _draw(self) -> None:
        if not self._shown:
            return
        from furthest.bars import Bar

        what = f"compiling {list(self.blocks.values())[-1]}"
        begun = self.kernels + self._depth
        total = None if self._last is None else max(self._last.kernels, begun)
        with suppress(OSError, ValueError):
            if self._bar is None:
                self._bar = Bar(what)
                self._bar.begin()
            self._bar.update(what=what, done=self.kernels, total=total)


class _State:
    """Of this process: a forked one begins anew."""

    def __init__(self) -> None:
        self.call: _Call | None = None
        self.begin()

    def begin(self) -> None:
        """A worker must not say what its parent is saying, nor wait for its parent's threads."""
        self.lock = threading.RLock()
        if self.call is not None:
            self.call.hush()
        self.call = None


_state = _State()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_state.begin)


def _enter(block: object, what: str, *, said: bool | None) -> _Call:
    with _state.lock:
        if _state.call is None:
            _state.call = _Call(what, said=said)
        _state.call.blocks[block] = what
        return _state.call


def _message(what: str, last: Record | None, *, kept: bool) -> str:
    often = "for this machine, once" if kept else "for this process"
    begin = f"compiling {one_line(what)} {often}"
    if last is None:
        return f"{begin}: some seconds"
    return f"{begin}; it took {max(1, round(last.seconds))} s here last time"


def _is_kept(event: Any) -> bool:
    """Whether the machine code goes to disk: not where a rule from elsewhere is part of it."""
    from numba.core.caching import NullCache

    from furthest.kernels.cache import is_foreign

    kernel = event.data["dispatcher"]
    return not (isinstance(kernel._cache, NullCache) or is_foreign(event.data["args"]))


def folder() -> Path | None:
    """Where the machine code of this package's own folder is kept, and the record; if anywhere."""
    from furthest.kernels.cache import PackageCache

    try:
        return Path(PackageCache(folder).cache_path)
    except (RuntimeError, OSError):
        return None


def _recall(what: str, records: dict[str, Any]) -> Record | None:
    """What `what` took the last time."""
    try:
        found = records[what]
        return Record(float(found["seconds"]), int(found["kernels"]))
    except (KeyError, TypeError, ValueError, OverflowError):
        return None


def _remember(what: str, taken: Record) -> None:
    """For the next time, unless it was only the rest of what has been compiled before."""
    from furthest.kernels.cache import DIGEST

    place = folder()
    records = _records(place)
    known = _recall(what, records)
    same = isinstance(records.get(what), dict) and records[what].get("sources") == DIGEST
    if place is None or (same and known is not None and known.kernels > taken.kernels):
        return
    records.pop(what, None)
    records[what] = taken._asdict() | {"sources": DIGEST}
    latest = dict(list(records.items())[-MOST:])
    with suppress(OSError, ValueError):
        write_text(place / RECORD, json.dumps(latest, ensure_ascii=False, indent=1))


def _records(place: Path | None) -> dict[str, Any]:
    with suppress(OSError, ValueError, RecursionError):
        found = json.loads((place / RECORD).read_text(encoding="utf-8")) if place else {}
        if isinstance(found, dict):
            return found
    return {}
