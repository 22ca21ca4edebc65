"""Memory that was let go of, back to the system."""

import ctypes
from functools import cache
from typing import Any

# So many bytes are worth it.
LARGE = 2**20


def give_back(freed: int) -> None:
    """After so many bytes were let go of, what is free goes back to the system.

    Of large arrays and texts glibc keeps up to twice the largest, 64 MB at most, for what comes
    next; and more, where something small lies behind it. With another C library nothing happens.
    """
    trim = _trim() if freed >= LARGE else None
    if trim is not None:
        trim(0)


@cache
def _trim() -> Any:
    try:
        return ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):  # another C library, or Windows
        return None
