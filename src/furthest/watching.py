"""Whether somebody watches, and who is told how far something is."""

import builtins
import sys
from collections.abc import Callable
from typing import NamedTuple


class Watch(NamedTuple):
    """Who is told how far a simulation is."""

    finished: Callable[[int], None]  # so many more runs are finished
    within: Callable[[int], None]  # the present run has so many measurements


def _ignore(_: int) -> None:
    pass


NOBODY = Watch(_ignore, _ignore)


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
