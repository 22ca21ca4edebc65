"""All arrays of a state in one block of memory: to begin again is to copy it."""

from collections.abc import Iterator
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

LINE = 64  # bytes: where arrays begin
LARGEST = 2**24  # bytes: beyond it a round takes longer than to make a new state


class Block(NamedTuple):
    """A state and the memory of its arrays."""

    state: Any
    memory: NDArray[np.int64]


def in_one_block(state: Any) -> Block | None:
    """The same state, copied; None if it is too large, or has more in it than arrays and numbers.

    What may not be written to stays where it is.
    """
    leaves = list(_leaves(state))
    arrays = {id(leaf): leaf for leaf in leaves if isinstance(leaf, np.ndarray) and leaf.size > 0}
    if not all(map(_is_plain, leaves)) or _overlap(list(arrays.values())):
        return None
    written = {name: array for name, array in arrays.items() if array.flags.writeable}
    begins = np.cumsum([0, *(-(-array.nbytes // LINE) * LINE for array in written.values())])
    if begins[-1] > LARGEST:
        return None
    room = np.zeros(begins[-1] + LINE, np.uint8)
    memory = room[-room.ctypes.data % LINE :][: begins[-1]]
    copies: dict[int, NDArray[Any]] = {}
    for (name, array), begin in zip(written.items(), begins[:-1].tolist(), strict=True):
        part = memory[begin : begin + array.nbytes].view(array.dtype).reshape(array.shape)
        part[...] = array
        copies[name] = part
    return Block(_replaced(state, copies), memory.view(np.int64))


def _leaves(state: Any) -> Iterator[Any]:
    if isinstance(state, tuple):
        for field in state:
            yield from _leaves(field)
    else:
        yield state


def _is_plain(leaf: Any) -> bool:
    """Numbers never change; arrays must look the same to compiled code when they are copied."""
    if isinstance(leaf, np.ndarray):
        return bool(leaf.flags.c_contiguous and leaf.flags.aligned and leaf.dtype.kind in "fiub")
    return isinstance(leaf, bool | int | float | np.number)


def _overlap(arrays: list[NDArray[Any]]) -> bool:
    """Whether any has memory of another one."""
    spans = sorted((array.ctypes.data, array.ctypes.data + array.nbytes) for array in arrays)
    return any(begin < end for (_, end), (begin, _) in pairwise(spans))


def _replaced(state: Any, copies: dict[int, NDArray[Any]]) -> Any:
    if isinstance(state, tuple):
        fields = [_replaced(field, copies) for field in state]
        make = getattr(type(state), "_make", tuple)
        return make(fields)
    return copies.get(id(state), state)
