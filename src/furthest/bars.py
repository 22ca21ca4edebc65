"""Bars on standard error where that is a terminal, which leave nothing behind."""

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def bars_of(*columns: Any, drawn: bool = True) -> "Progress":
    """An empty display of bars; silent where it is not to be drawn, or on no terminal."""
    from rich.console import Console
    from rich.progress import Progress

    console = Console(stderr=True)
    shown = drawn and console.is_terminal
    # Rich before 15 ends a display that was never shown with an empty line.
    console.quiet = not shown
    return Progress(*columns, console=console, transient=True, disable=not shown)


@contextmanager
def patient_bar(what: str, runs: int) -> Iterator[Watch]:
    """A bar of the finished runs, drawn once they take longer than `PATIENCE`.

    Beside it stands how long the present run is: a rule that never stops shows there.
    """
    if sys.stderr is None or not sys.stderr.isatty():
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
