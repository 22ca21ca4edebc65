"""Machine code that comes with the package, for processors that have what it was made for.

`scripts/wheel.py` compiles everything for each level of processors and puts it into a wheel. Index
and code are sealed like those of the cache: with another Numba or other sources they are as good as
none, and the kernels are compiled as usual.
"""

import os
import platform
from functools import cache
from pathlib import Path

import llvmlite.binding as llvm

FOLDER = Path(__file__).resolve().parent.parent / "machine_code"

# The variable by which the builder says which level is being built.
BUILDING = "FURTHEST_BUILD_LEVEL"

# What LLVM calls them, the best first; and what a processor of the level must be able to do.
LEVELS: dict[str, dict[str, frozenset[str]]] = {
    "x86_64": {
        "x86-64-v3": frozenset({"avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "xsave"}),
        "x86-64": frozenset(),
    },
    "aarch64": {"generic": frozenset()},
}


def levels() -> dict[str, frozenset[str]]:
    """The levels of this architecture."""
    names = {"AMD64": "x86_64", "arm64": "aarch64"}
    machine = platform.machine()
    return LEVELS.get(names.get(machine, machine), {})


@cache
def usable_levels() -> list[str]:
    """Those that this processor can run, the best first; none where nothing was shipped."""
    if building():
        return []
    here = {level: needed for level, needed in levels().items() if (FOLDER / level).is_dir()}
    able = {name for name, has in llvm.get_host_cpu_features().items() if has} if here else set()
    return [level for level, needed in here.items() if needed <= able]


def building() -> str | None:
    """The level for which this process compiles what is to be shipped."""
    return os.environ.get(BUILDING)


def folder(level: str, module: str) -> str:
    """Where the kernels of one module are."""
    return str(FOLDER / level / module)
