"""The streams of runs, against those that NumPy makes."""

import numpy as np
import pytest
from numpy.random import PCG64, Generator, SeedSequence

from furthest.kernels import streams as module
from furthest.kernels.streams import begin, streams_of

SEEDS = [0, 1, 2**31, 2**32 - 1, 2**32, 2**63 + 5, 2**128 + 1, 10**60]
NUMBERS = [0, 1, 7, 1023, 2**32 - 1, 2**32, 2**40 + 3]


@pytest.fixture
def generators():
    return Generator(PCG64(0)), Generator(PCG64(0))


@pytest.mark.parametrize("seed", SEEDS)
def test_a_run_begins_where_numpy_would_begin_it(generators, seed):
    streams = streams_of(seed, *generators)
    assert streams is not None
    for number in NUMBERS:
        begin(streams, number)
        for index, generator in enumerate(generators):
            generator.random()
            fresh = Generator(PCG64(SeedSequence(seed, spawn_key=(number, index))))
            assert generator.bit_generator.state == fresh.bit_generator.state, (number, index)
            np.testing.assert_array_equal(generator.standard_normal(9), fresh.standard_normal(9))


def test_memory_that_looks_different_is_found_out(generators, monkeypatch):
    # As where the compiler has no numbers of 128 bits: the upper half is first.
    memory = module._memory

    def other(generator):
        return memory(generator)[[2, 3, 0, 1, 6, 7, 4, 5]]

    monkeypatch.setattr(module, "_memory", other)
    assert streams_of(1, *generators) is None
