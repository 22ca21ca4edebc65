"""Bars on standard error where that is a terminal, which leave nothing behind."""

import builtins
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from rich.progress import Progress

# Seconds for which nobody needs a bar.
PATIENCE = 1.0


class Watch(NamedTuple):
    """Who is told how far a simulation is."""

    finished: Callable[[int], None]  # so many more runs are finished
    within: Callable[[int], None]  # the present run has so many measurements


def _ignore(_: int) -> None:
    pass


NOBODY = Watch(_ignore, _ignore)


# The displays that are on the terminal now; more than one would write over each other.
_live: "list[Progress]" = []


def in_notebook() -> bool:
    """Whether this is a notebook's kernel, which puts its own function among the builtins."""
    shell = getattr(builtins, "get_ipython", lambda: None)()
    return type(shell).__name__ == "ZMQInteractiveShell"


def is_watched() -> bool:
    """Whether somebody reads standard error while it is written."""
    return _is_terminal() or in_notebook()


def _is_terminal() -> bool:
    """Whether standard error is one; a process may have none, a closed one, or one of its own."""
    try:
        return bool(sys.stderr.isatty())
    except (AttributeError, ValueError):
        return False


def bars_of(*columns: Any, drawn: bool = True, gives_way: bool = False) -> "Progress":
    """An empty display of bars; silent where it is not to be drawn, or nobody watches.

    One that gives way ends where another one begins.
    """
    from rich.console import Console
    from rich.progress import Progress

    class Bars(Progress):
        def start(self) -> None:
            for other in [each for each in _live if each is not self]:
                if getattr(other, "gives_way", False):
                    other.stop()
            super().start()
            if not self.disable and self not in _live:
                _live.append(self)

        def stop(self) -> None:
            if self in _live:
                _live.remove(self)
            super().stop()

    console = Console(stderr=True)
    # Rich draws in notebooks with the help of widgets, and complains where there are none.
    shown = drawn and (console.is_terminal or (console.is_jupyter and _has_widgets()))
    # Rich before 15 ends a display that was never shown with an empty line.
    console.quiet = not shown
    bars = Bars(*columns, console=console, transient=True, disable=not shown)
    bars.gives_way = gives_way  # type: ignore[attr-defined]
    return bars


def _has_widgets() -> bool:
    return find_spec("ipywidgets") is not None


class Line:
    """One more bar, in the display that is there already or else in one of its own."""

    def __init__(self) -> None:
        self._bars: Progress | None = None
        self._own = False
        self._task: Any = None

    def update(self, what: str, done: int, total: int | None) -> None:
        """Draw it."""
        from rich.markup import escape

        if self._bars is not None and self._bars not in _live:
            self._bars = None  # it has ended, or given way
        state: Any = {"description": escape(what), "completed": done, "total": total}
        if self._bars is None:
            self._begin(state)
        else:
            self._bars.update(self._task, **state)

    def end(self) -> None:
        """Leave nothing behind."""
        bars, self._bars = self._bars, None
        if bars is None or bars not in _live:
            return
        if self._own:
            bars.stop()
        else:
            bars.remove_task(self._task)

    def _begin(self, state: Any) -> None:
        self._own = not _live
        bars = _own_display() if self._own else _live[-1]
        # Other displays have columns of their own; these two fields are all that they show.
        self._task = bars.add_task(**state, text="", within="")
        if self._own:
            bars.start()
        self._bars = bars


def _own_display() -> "Progress":
    from rich import progress

    return bars_of(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        gives_way=True,
    )


@contextmanager
def patient_bar(what: str, runs: int) -> Iterator[Watch]:
    """A bar of the finished runs, drawn once they take longer than `PATIENCE`.

    Beside it stands how long the present run is: a rule that never stops shows there.
    """
    if not _is_terminal():
        yield NOBODY
        return
    from rich import progress

    bar = bars_of(
        progress.TextColumn("{task.description}"),
        progress.BarColumn(),
        progress.MofNCompleteColumn(),
        progress.TimeElapsedColumn(),
        progress.TextColumn("{task.fields[within]}"),
    )
    task = bar.add_task(what, total=runs, within="")
    begin = threading.Timer(PATIENCE, bar.start)
    begin.daemon = True
    begin.start()
    try:
        yield Watch(
            lambda more: bar.update(task, advance=more, within=""),
            lambda taken: bar.update(task, within=f"a run has {taken:,} measurements"),
        )
    finally:
        begin.cancel()
        begin.join()
        if bar.live.is_started:
            bar.stop()
