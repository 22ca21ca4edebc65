"""Files that are there whole or not at all."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any


def write_beside(path: str | Path, write: Callable[[Path], Any]) -> None:
    """Let `write` make a draft beside the file, then put it in its place.

    Whoever reads the file meanwhile, or after a full disk or a killed process, has the old one.
    """
    path = Path(path)
    draft = path.with_name(f".{os.getpid()}.{path.name}")  # the ending tells the format
    try:
        write(draft)
        draft.replace(path)
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def write_text(path: str | Path, text: str, newline: str | None = None) -> None:
    """The same for a text."""
    write_beside(path, lambda draft: draft.write_text(text, encoding="utf-8", newline=newline))
