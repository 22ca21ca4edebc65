"""The random streams of simulated runs, begun inside compiled code.

Run `number` has what NumPy makes of `PCG64(SeedSequence(seed, spawn_key=(number, i)))`, i = 0 for
its noise and 1 for its rule. To make these objects takes as long as a hundred rounds. Here the same
words are computed (O'Neill's hash `seed_seq_fe` and her generator PCG XSL RR 128/64) and written to
where a generator keeps its state.
"""

import ctypes
from typing import NamedTuple

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts
from furthest.kernels.states import by_reference

MASK, BITS, HALF = 0xFFFFFFFF, 32, 16
POOL = 4
# Of the hash: the factors with which it begins, and by which they are multiplied at each word.
IN_BEGIN, IN_FACTOR = 0x43B0D7E5, 0x931E8875
OUT_BEGIN, OUT_FACTOR = 0x8B51F9DD, 0x58F38DED
MIX_LEFT, MIX_RIGHT = 0xCA01F9DD, 0x4973F715

Words = NDArray[np.uint32]


@by_reference
class Streams(NamedTuple):
    """Where two generators keep their states, and what is written there."""

    noise: Words  # (8,) the noise's state and increment, each with its lowest word first
    rule: Words  # (8,) the same of what the strategy draws
    entropy: Counts  # (words,) the seed, 32 bits at a time, at least `POOL`
    pool: Counts  # (5,) scratch: what the hash has mixed, and its factor
    words: Counts  # (8,) scratch: what the hash gives


_NONE = np.zeros(0, np.int64)
NO_STREAMS = Streams(np.zeros(0, np.uint32), np.zeros(0, np.uint32), _NONE, _NONE, _NONE)


def streams_of(seed: int, noise: Generator, rule: Generator) -> Streams | None:
    """For two generators of this thread; None where their memory does not look as expected."""
    words = [seed >> shift & MASK for shift in range(0, max(seed.bit_length(), 1), BITS)]
    entropy = np.array(words + [0] * (POOL - len(words)))
    scratch = np.zeros(POOL + 1, np.int64), np.zeros(2 * POOL, np.int64)
    streams = Streams(_memory(noise), _memory(rule), entropy, *scratch)
    begin(streams, 1)
    for index, generator in enumerate((noise, rule)):
        generator.random()
        fresh = PCG64(SeedSequence(seed, spawn_key=(1, index)))
        if generator.bit_generator.state != fresh.state:
            return None
    return streams


def _memory(generator: Generator) -> Words:
    """NumPy has no public name for it, but says where it is."""
    address = ctypes.c_void_p.from_address(generator.bit_generator.ctypes.state_address).value
    return np.ctypeslib.as_array((ctypes.c_uint32 * 8).from_address(address or 0))


@kernel
def begin(streams: Streams, number: int) -> None:
    """Let both generators begin run `number`, one number too early: its first one is to be drawn.

    PCG64 begins with state = increment + words and makes a step; drawing a number does so, too.
    """
    for index in range(2):
        memory = streams.noise if index == 0 else streams.rule
        _mix_seed(streams.entropy, streams.pool)
        _mix(streams.pool, number & MASK)
        if number >> BITS > 0:
            _mix(streams.pool, number >> BITS)
        _mix(streams.pool, index)
        _write(streams.pool, streams.words, memory)


@kernel
def _mix_seed(entropy: Counts, pool: Counts) -> None:
    """The hash of the seed alone."""
    pool[POOL] = IN_BEGIN
    for i in range(POOL):
        pool[i] = _hashed(pool, entropy[i])
    for i in range(POOL):
        for j in range(POOL):
            if i != j:
                pool[j] = _mixed(pool[j], _hashed(pool, pool[i]))
    for i in range(POOL, entropy.shape[0]):
        _mix(pool, entropy[i])


@kernel
def _mix(pool: Counts, word: int) -> None:
    """One word more."""
    for i in range(POOL):
        pool[i] = _mixed(pool[i], _hashed(pool, word))


@kernel
def _hashed(pool: Counts, word: int) -> int:
    """A word of the hash; of a product the lowest 32 bits are right even where it overflows."""
    factor = int(pool[POOL])
    word = int(word) ^ factor
    factor = factor * IN_FACTOR & MASK
    pool[POOL] = factor
    word = word * factor & MASK
    return word ^ word >> HALF


@kernel
def _mixed(x: int, y: int) -> int:
    word = int(x) * MIX_LEFT - int(y) * MIX_RIGHT & MASK
    return word ^ word >> HALF


@kernel
def _write(pool: Counts, words: Counts, memory: Words) -> None:
    """Increment 2·words + 1, and state = increment + other words: 128 bits each, in four parts.

    The words come by 64 bits, of which the lower half is first, and the upper 64 bits first.
    """
    factor = OUT_BEGIN
    for i in range(2 * POOL):
        word = int(pool[i % POOL]) ^ factor
        factor = factor * OUT_FACTOR & MASK
        word = word * factor & MASK
        words[i ^ 2] = word ^ word >> HALF
    lower, carry = 1, 0
    for i in range(POOL):
        word = int(words[POOL + i])
        increment = (word << 1 & MASK) | lower
        lower = word >> BITS - 1
        carry += int(words[i]) + increment
        memory[POOL + i] = increment
        memory[i] = carry & MASK
        carry >>= BITS
