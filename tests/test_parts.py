"""Parts on disk: a whole is made of what another process has translated, and is the same."""

import json
from types import SimpleNamespace
from typing import NamedTuple

import numba
import pytest
from numba.core import types
from numba.core.registry import cpu_target

from furthest.kernels import parts
from furthest.kernels.linalg import dot

# `recompute` calls a dozen parts, some of which call others. Prints how many were translated.
RECOMPUTE = """
import json
import numpy as np
from furthest.kernels import merging
from furthest.kernels.evidence import no_evidence, recompute
from furthest.problem import Problem

made = []
usual = merging.Part.make_portable

def make_portable(part, descriptor):
    made.append(part.name)
    usual(part, descriptor)

merging.Part.make_portable = make_portable
task = Problem(np.array([[1.0, 0.3], [0.2, 1.0]])).task
evidence = no_evidence(task)
evidence.counts[:] = 4, 2
recompute(task, evidence)
print(json.dumps([len(made), evidence.widths.tolist()]))
"""

# A part of the package's, as far as anybody can tell, that reads an array.
LOOKUP = """
import sys
import numpy as np
from furthest.kernels.jit import kernel

VALUES = np.arange(int(sys.argv[1]), dtype=float)

def lookup(i):
    return VALUES[i]

lookup.__module__ = "furthest.engine"
part = kernel(lookup)

@kernel
def whole(i):
    return part(i) + 1.0

assert whole(3) == 4.0
"""


def outcome(process):
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def kept(folder):
    return sorted(path for path in folder.rglob("*") if path.parent.name == parts.FOLDER)


@pytest.fixture
def only_parts(own_cache, python):
    """What a first process has left on disk but for its machine code, and what it found."""
    count, widths = outcome(python("-c", RECOMPUTE))
    assert count == len(kept(own_cache)) > 5
    for path in own_cache.rglob("*.nb[ci]"):
        path.unlink()
    return SimpleNamespace(files=kept(own_cache), count=count, widths=widths)


def test_another_process_translates_none_again(only_parts, python):
    assert outcome(python("-c", RECOMPUTE)) == [0, only_parts.widths]


def test_what_is_damaged_or_missing_is_made_again(only_parts, own_cache, python):
    missing, damaged = only_parts.files[:2]
    missing.unlink()
    content = damaged.read_bytes()
    damaged.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    count, widths = outcome(python("-c", RECOMPUTE))
    # Whatever calls them is made again, too.
    assert 2 <= count <= only_parts.count
    assert widths == only_parts.widths
    assert kept(own_cache) == only_parts.files
    for path in own_cache.rglob("*.nb[ci]"):
        path.unlink()
    assert outcome(python("-c", RECOMPUTE)) == [0, widths]


@pytest.mark.parametrize(("size", "files"), [(10, 1), (200_000, 0)])
def test_what_has_an_address_in_it_is_not_kept(own_cache, python, size, files):
    """Numba copies a small array into the code, and refers to a large one."""
    for _ in range(2):
        process = python("-c", LOOKUP, str(size))
        assert process.returncode == 0, process.stderr
        assert len(kept(own_cache)) == files


class Foreign(NamedTuple):
    value: float


def key(function, *args):
    flags = SimpleNamespace(forceinline=True)
    return parts._key(
        function, SimpleNamespace(args=args, flags=flags, targetctx=cpu_target.target_context)
    )


def test_what_could_change_unseen_has_no_key():
    vector, foreign = types.float64[::1], numba.typeof(Foreign(1.0))
    function = dot.py_func  # type: ignore[attr-defined]  # it is a dispatcher
    assert key(function, vector, vector) == key(function, vector, vector)
    assert key(function, vector, vector) != key(function, vector, types.float64)
    assert key(function, vector, foreign) is None
    assert key(lambda x: x, vector) is None
