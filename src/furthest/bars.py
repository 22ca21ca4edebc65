"""Bars on standard error where somebody watches, which leave nothing behind.

There is one display, however many bars there are: two would write over each other. Whoever has
something to show adds a bar to it; it appears with the first one and goes with the last.
"""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

from rich import progress
from rich.console import Console
from rich.markup import escape
from rich.text import Text

from furthest.display import one_line
from furthest.watching import Watch, in_notebook, is_watched

# Seconds for which nobody needs a bar.
PATIENCE = 1.0


class Bar:
    """What is under way, how far it is, and a remark; drawn once it has begun."""

    def __init__(self, what: str, total: float | None = None, *, counted: bool = True) -> None:
        """Say what is under way.

        Args:
            what: In words.
            total: How much there is to do, if that is known.
            counted: Whether that is a number of things; or a share is shown.
        """
        self._state: dict[str, Any] = {"what": _plain(what), "total": total, "completed": 0}
        self._state |= {"counted": counted, "text": ""}
        self._task: progress.TaskID | None = None

    @property
    def is_drawn(self) -> bool:
        """Whether somebody sees it."""
        return self._task is not None

    def begin(self) -> None:
        """Draw it from now on, where somebody watches."""
        with _screen.lock:
            if self._task is None and _can_draw():
                self._task = _screen.add(self._state)

    def update(
        self,
        *,
        what: str | None = None,
        total: float | None = None,
        done: float | None = None,
        text: str | None = None,
    ) -> None:
        """What has changed; `text` may have Rich's markup."""
        words = None if what is None else _plain(what)
        new = {"what": words, "total": total, "completed": done, "text": text}
        with _screen.lock:
            self._state |= {name: value for name, value in new.items() if value is not None}
            if self._task is not None:
                _screen.update(self._task, self._state)

    def advance(self, more: float, text: str | None = None) -> None:
        """So much more is done."""
        with _screen.lock:
            self.update(done=self._state["completed"] + more, text=text)

    def end(self) -> None:
        """Leave nothing behind."""
        with _screen.lock:
            task, self._task = self._task, None
            if task is not None:
                _screen.remove(task)


@contextmanager
def bar(what: str, total: float | None = None, *, counted: bool = True) -> Iterator[Bar]:
    """A bar for this block."""
    drawn = Bar(what, total, counted=counted)
    drawn.begin()
    try:
        yield drawn
    finally:
        drawn.end()


@contextmanager
def patient_bar(what: str, runs: int) -> Iterator[Watch]:
    """A bar of the finished runs, drawn once they take longer than `PATIENCE`.

    Beside it stands how long the present run is: a rule that never stops shows there.
    """
    drawn = Bar(what, runs)
    begin = threading.Timer(PATIENCE, drawn.begin)
    begin.daemon = True
    begin.start()
    try:
        yield Watch(
            lambda more: drawn.advance(more, text=""),
            lambda taken: drawn.update(text=f"a run has {taken:,} measurements"),
        )
    finally:
        begin.cancel()
        begin.join()
        drawn.end()


class _Screen:
    """The display, while there is a bar."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self._display: progress.Progress | None = None

    def add(self, state: dict[str, Any]) -> progress.TaskID:
        if self._display is None:
            self._display = progress.Progress(
                progress.TextColumn("{task.fields[what]}"),
                progress.BarColumn(),
                _Done(),
                _Time(),
                progress.TextColumn("{task.fields[text]}"),
                console=Console(stderr=True),
                transient=True,
            )
            self._display.start()
        return self._display.add_task("", **state)

    def update(self, task: progress.TaskID, state: dict[str, Any]) -> None:
        if self._display is not None:
            self._display.update(task, **state)

    def remove(self, task: progress.TaskID) -> None:
        if self._display is None:
            return
        if len(self._display.tasks) > 1:
            self._display.remove_task(task)
        else:
            display, self._display = self._display, None
            display.stop()


class _Done(progress.ProgressColumn):
    """How much is done: 3/10, or 30%."""

    def render(self, task: progress.Task) -> Text:
        if not task.fields["counted"]:
            return Text(f"{task.percentage:.0f}%")
        total = "?" if task.total is None else f"{task.total:,.0f}"
        return Text(f"{task.completed:,.0f}/{total}")


class _Time(progress.TimeRemainingColumn):
    """How long it will take; how long it has taken, where that does not follow from the past."""

    def render(self, task: progress.Task) -> Text:
        if task.total is None or task.fields["text"]:
            return progress.TimeElapsedColumn().render(task)
        return super().render(task)


_screen = _Screen()


def _can_draw() -> bool:
    """Rich draws in notebooks with the help of widgets, and complains where there are none."""
    return is_watched() and (not in_notebook() or find_spec("ipywidgets") is not None)


def _plain(text: str) -> str:
    """No markup, and nothing that controls a terminal."""
    return escape(one_line(text))
