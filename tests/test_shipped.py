"""Machine code that comes with the package is used where it fits, and nowhere else."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import furthest
from compilations import COUNT_COMPILATIONS
from furthest.kernels import shipped

PACKAGE = Path(furthest.__file__).parent

# A kernel that is compiled soon, for two types.
DOT = (
    COUNT_COMPILATIONS
    + """
import numpy as np
from furthest.kernels.linalg import dot
total = dot(np.ones(3), np.ones(3)) + dot(np.ones(2, int), np.ones(2))
print(json.dumps([counter.count, total]))
"""
)


def run(package, cache, **more):
    """[how many were compiled, total], with the package there and this cache."""
    environment = os.environ | {
        "PYTHONPATH": str(package.parent),
        "PYTHONDONTWRITEBYTECODE": "1",
        "NUMBA_CACHE_DIR": str(cache),
    }
    done = subprocess.run(
        [sys.executable, "-c", DOT],
        env=environment | more,
        capture_output=True,
        text=True,
        check=True,
    )
    return json.loads(done.stdout)


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A copy of the package that carries its kernels for every level of this architecture."""
    folder = tmp_path_factory.mktemp("built")
    package = folder / "source" / "furthest"
    shutil.copytree(PACKAGE, package, ignore=shutil.ignore_patterns("__pycache__"))
    for level in shipped.levels():
        settings = {"NUMBA_CPU_NAME": level, "NUMBA_CPU_FEATURES": "", shipped.BUILDING: level}
        assert run(package, folder / level, **settings) == [2, 5.0]
        assert (package / "machine_code" / level / "furthest.kernels.linalg").is_dir()
    return package


def test_nothing_is_compiled_and_nothing_is_written(built, tmp_path):
    cache = tmp_path / "cache"
    assert run(built, cache) == [0, 5.0]
    assert not list(cache.rglob("*.nb?"))


def test_a_level_that_the_processor_cannot_run_is_left_alone(built, tmp_path, monkeypatch):
    best, *others = shipped.levels()
    monkeypatch.setattr(shipped, "FOLDER", built / "machine_code")
    shipped.usable_levels.cache_clear()
    monkeypatch.setattr("llvmlite.binding.get_host_cpu_features", lambda: {"avx2": False})
    assert shipped.usable_levels() == [*([] if shipped.levels()[best] else [best]), *others]
    shipped.usable_levels.cache_clear()


@pytest.fixture
def copy(built, tmp_path):
    package = tmp_path / "copy" / "furthest"
    shutil.copytree(built, package)
    return package


def test_the_next_level_serves_as_well(copy, tmp_path):
    best, *others = shipped.levels()
    shutil.rmtree(copy / "machine_code" / best)
    assert run(copy, tmp_path / "cache") == [0 if others else 2, 5.0]


def test_other_sources_have_no_use_for_it(copy, tmp_path):
    linalg = copy / "kernels" / "linalg.py"
    source = linalg.read_text(encoding="utf-8")
    linalg.write_text(source.replace("total += x[i] * y[i]", "total += 2.0 * x[i] * y[i]"), "utf-8")
    assert run(copy, tmp_path / "cache") == [2, 10.0]


def test_what_is_damaged_is_compiled(copy, tmp_path):
    for path in copy.rglob("*.nbc"):
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    assert run(copy, tmp_path / "cache") == [2, 5.0]
    assert run(copy, tmp_path / "cache") == [0, 5.0]


def test_without_any_it_is_as_ever(monkeypatch, tmp_path):
    monkeypatch.setattr(shipped, "FOLDER", tmp_path)
    shipped.usable_levels.cache_clear()
    assert shipped.usable_levels() == []
    shipped.usable_levels.cache_clear()
