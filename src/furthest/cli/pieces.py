"""How far stored runs are: a bar for everything and one for each part of it."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from furthest.sweeps.runner import Piece


@contextmanager
def piece_bars(pieces: list["Piece"], *, quiet: bool) -> Iterator[Callable[["Piece"], None]]:
    """One bar for everything and one per entry, on a terminal; else a line per entry."""
    from furthest.bars import Bar
    from furthest.watching import is_watched

    left: dict[str, float] = {}
    for piece in pieces:
        left[piece.entry] = left.get(piece.entry, 0.0) + piece.effort
    overall = Bar("everything", sum(left.values()), counted=False)
    bars = {name: Bar(name, total, counted=False) for name, total in left.items()}
    drawn = is_watched() and not quiet

    def advance(piece: "Piece") -> None:
        left[piece.entry] -= piece.effort
        ended = left[piece.entry] < piece.effort / 2
        if drawn:
            overall.advance(piece.effort)
            bars[piece.entry].begin()
            bars[piece.entry].advance(piece.effort)
            if ended:
                bars[piece.entry].end()
        elif ended and not quiet:
            print(f"{piece.entry}: done", file=sys.stderr, flush=True)

    if drawn:
        overall.begin()
    try:
        yield advance
    finally:
        for each in (overall, *bars.values()):
            each.end()
