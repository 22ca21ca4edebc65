"""States in one block of memory."""

from typing import Any, NamedTuple

import numpy as np

from furthest import blocks
from furthest.blocks import in_one_block
from furthest.codes import Candidate


class Inner(NamedTuple):
    counts: Any
    matrix: Any


class Outer(NamedTuple):
    inner: Any
    number: Any
    again: Any


def state(**fields):
    counts = np.arange(5)
    inner = Inner(counts, np.arange(6.0).reshape(2, 3))
    return Outer(**({"inner": inner, "number": 3.5, "again": counts} | fields))


def test_copying_the_block_back_is_to_begin_again():
    made = state()
    block = in_one_block(made)
    assert block is not None
    copied, memory = block
    assert type(copied) is Outer
    assert type(copied.inner) is Inner
    assert copied.again is copied.inner.counts is not made.inner.counts
    fresh = memory.copy()
    copied.inner.counts[:] = -1
    copied.inner.matrix[1] = np.nan
    memory[:] = fresh
    np.testing.assert_array_equal(copied.inner.counts, made.inner.counts)
    np.testing.assert_array_equal(copied.inner.matrix, made.inner.matrix)
    assert made.inner.counts.tolist() == [0, 1, 2, 3, 4]


def test_arrays_look_the_same_to_compiled_code_and_begin_at_a_line():
    made = state(number=Candidate.FURTHEST, again=(np.zeros((0, 4)), np.ones(3, np.uint32)))
    block = in_one_block(made)
    assert block is not None
    for one, other in (
        (block.state.inner.counts, made.inner.counts),
        (block.state.inner.matrix, made.inner.matrix),
        *zip(block.state.again, made.again, strict=True),
    ):
        assert (one.dtype, one.shape, one.strides) == (other.dtype, other.shape, other.strides)
        assert one.flags.c_contiguous
        assert one.flags.writeable
        assert one.ctypes.data % blocks.LINE == 0 or not one.size
    assert block.state.number is Candidate.FURTHEST


def test_what_cannot_be_written_to_stays():
    constant = np.arange(3.0)
    constant.flags.writeable = False
    block = in_one_block(state(again=constant))
    assert block is not None
    assert block.state.again is constant


def test_states_that_are_more_than_arrays_and_numbers(monkeypatch):
    whole = np.arange(12.0)
    for other in (
        [1, 2],
        np.random.default_rng(),
        np.array([None]),
        np.arange(6.0).reshape(2, 3).T,
        np.arange(6.0)[::2],
        (whole, whole[3:]),
    ):
        assert in_one_block(state(again=other)) is None, other
    monkeypatch.setattr(blocks, "LARGEST", 100)
    assert in_one_block(state()) is None
