"""Kernels made of plain Python functions."""

from types import FunctionType

from furthest.kernels.jit import compiled_twin

factor = 2.0


def part(x):
    return factor * x


def whole(x):
    return factor + part(x)


def test_a_part_keeps_the_names_of_its_own_module():
    # As a benchmark's own loop has parts that are the engine's.
    elsewhere = FunctionType(part.__code__, {"__name__": "elsewhere", "factor": 3.0}, "part")
    assert elsewhere(5.0) == 15.0
    assert compiled_twin(whole, elsewhere)(5.0) == 2.0 + 15.0
    assert compiled_twin(whole, part)(5.0) == whole(5.0) == 2.0 + 10.0
