"""Rows for some answers at a time, where a row for each would be answers × arms numbers.

An answer claims a row when something is to be remembered about it; if none is free it gets that of
the answer that has not been used for longest, which is forgotten. Where there are few answers every
one has a row of its own from the beginning, and keeps it.
"""

import math

import numpy as np

from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts

# Numbers in a matrix of such rows (all of a stack), and rows that there are in any case.
MOST, LEAST = 2**22, 32


def slots(answers: int, length: int, stack: tuple[int, ...] = ()) -> tuple[Counts, Counts]:
    """`places` (Z,), the row of each answer or −1, and `used` (2, rows): by whom and when."""
    rows = min(answers, max(LEAST, MOST // (length * math.prod(stack))))
    places, used = np.full((*stack, answers), -1), np.full((*stack, 2, rows), -1)
    if rows == answers:
        places[...] = used[..., 0, :] = np.arange(answers)
    return places, used


@kernel
def claim(places: Counts, used: Counts, z: int) -> bool:
    """See to it that z has a row, which counts as used just now; whether it is a new one."""
    rows, latest, oldest = used.shape[1], 0, 0
    if rows == places.shape[0]:
        return False
    for row in range(rows):
        latest = max(latest, used[1, row])
        if used[1, row] < used[1, oldest]:
            oldest = row
    new = places[z] < 0
    if new:
        if used[0, oldest] >= 0:
            places[used[0, oldest]] = -1
        used[0, oldest] = z
        places[z] = oldest
    used[1, places[z]] = latest + 1
    return new
