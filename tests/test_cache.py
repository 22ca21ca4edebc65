"""The disk cache: a second process compiles nothing, an edit is always noticed."""

import json
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from importlib import import_module
from pathlib import Path

import pytest

import furthest
from furthest.kernels.jit import compiled_sources, source_digest

PACKAGE = Path(furthest.__file__).parent

COUNT_COMPILATIONS = """
import json
import numba.core.event as events

class Counter(events.Listener):
    count = 0
    def on_start(self, event):
        self.count += 1
    def on_end(self, event):
        pass

counter = Counter()
events.register("numba:compile", counter)
"""

# The rule and the test that are compiled soonest: here they are compiled from nothing.
SIMULATE = (
    COUNT_COMPILATIONS
    + """
import furthest as ft
instance, strategy = ft.hard(), ft.Strategy("uniform", stopping="glr")
results = ft.simulate(instance.problem, instance.mu, strategy, runs=2)
print(json.dumps([counter.count, results.stopping_times.tolist()]))
"""
)
SIMULATED = ("simulate", "hard", "--sampling", "uniform", "--stopping", "glr", "--runs", "2")

# `recompute` calls kernels of linalg.py, `dot` among them, which are compiled into it.
RECOMPUTE = (
    COUNT_COMPILATIONS
    + """
import numpy as np
from furthest.kernels.evidence import no_evidence, recompute
from furthest.problem import Problem
task = Problem(np.eye(2)).task
evidence = no_evidence(task)
evidence.counts[:] = 4, 2
recompute(task, evidence)
print(json.dumps([counter.count, evidence.widths.tolist()]))
"""
)


def cache_files(folder):
    return {path: path.stat().st_mtime_ns for path in folder.rglob("*.nb[ci]")}


@pytest.fixture
def own_cache(tmp_path, monkeypatch):
    """A cache for this test's processes alone: nobody else fills it, or has filled it before."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def copy(tmp_path):
    """The package's sources in a directory of their own, without any cache."""
    target = tmp_path / "copy" / "furthest"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def outcome(process):
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_a_second_process_compiles_nothing(own_cache, python, furthest):
    count, times = outcome(python("-c", SIMULATE))
    assert count > 0
    before = cache_files(own_cache)
    assert before
    assert outcome(python("-c", SIMULATE)) == [0, times]
    # Nothing is compiled, and there is no terminal: nothing to say but the outcome.
    process = furthest(*SIMULATED, "--json")
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.count("\n") == 1
    assert cache_files(own_cache) == before


def test_an_edit_of_a_callee_in_another_file_is_noticed(copy, own_cache, python):
    def run():
        # Sources are compared by content: no bytecode, whose clock may be too coarse.
        return outcome(
            python("-c", RECOMPUTE, PYTHONPATH=str(copy.parent), PYTHONDONTWRITEBYTECODE="1")
        )

    count, widths = run()
    assert count > 0
    assert cache_files(own_cache)
    assert widths == pytest.approx([1 / 4, 1 / 2])
    assert run() == [0, widths]
    linalg = copy / "kernels" / "linalg.py"
    source = linalg.read_text(encoding="utf-8")
    assert source.count("total += x[i] * y[i]") == 1
    linalg.write_text(source.replace("total += x[i] * y[i]", "total += 2.0 * x[i] * y[i]"), "utf-8")
    count, doubled = run()
    assert count > 0
    assert doubled == pytest.approx([1 / 2, 1.0])


def test_a_cache_of_an_older_version_is_replaced(copy, own_cache, python):
    def run():
        environment = {"PYTHONPATH": str(copy.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        return outcome(python("-c", RECOMPUTE, **environment))

    count, widths = run()
    assert count > 0
    # The same function at the same line, but its types have another name.
    for source in (*copy.rglob("*.py"),):
        text = source.read_text(encoding="utf-8")
        source.write_text(re.sub(r"\bEvidence\b", "Knowledge", text), "utf-8")
    count, again = run()
    assert (count > 0, again) == (True, widths)
    assert run() == [0, widths]


# Each process compiles `dot` for types of its own, all at the same moment.
TOGETHER = (
    COUNT_COMPILATIONS
    + """
import sys
import numpy as np
from furthest.kernels.linalg import dot
kinds = [np.dtype(kind) for kind in ("f8", "f4", "i8", "i4", "i2", "u1", "u2", "u4")]
print("ready", flush=True)
mine = sys.stdin.readline().split()
for number in map(int, mine):
    one, other = kinds[number // 8], kinds[number % 8]
    assert dot(np.full(3, number, one), np.ones(3, other)) == 3.0 * number
print(counter.count)
"""
)


def test_processes_that_compile_together_lose_nothing(own_cache):
    def begin():
        return subprocess.Popen(
            [sys.executable, "-c", TOGETHER],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ended(process, numbers):
        out, _ = process.communicate(" ".join(map(str, numbers)) + "\n")
        assert process.returncode == 0
        return int(out)

    shares = [range(first, 64, 4) for first in range(4)]
    processes = [begin() for _ in shares]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    with ThreadPoolExecutor() as pool:
        assert all(count > 0 for count in pool.map(ended, processes, shares))
    # Everything is there, and nobody runs what another one has compiled.
    last = begin()
    assert last.stdout.readline() == "ready\n"
    assert ended(last, range(64)) == 0


def test_the_stamp_covers_every_source_that_can_be_compiled(copy):
    stamps = {source_digest(copy)}
    files = list(compiled_sources(copy))
    names = {path.relative_to(copy).as_posix() for path in files}
    assert names > {
        *(path.relative_to(PACKAGE).as_posix() for path in PACKAGE.glob("kernels/**/*.py")),
        "engine.py",
        "verbs.py",
        "task.py",
        "codes.py",
        "sampling/lebai.py",
        "stopping/mixture.py",
        "paper/decreasing.py",
    }
    for path in files:
        path.write_bytes(path.read_bytes() + b"# edited\n")
        stamps.add(source_digest(copy))
    assert len(stamps) == len(files) + 1
    # A new source registers itself.
    (copy / "study" / "new.py").write_text("from furthest.kernels.jit import kernel\n")
    stamps.add(source_digest(copy))
    (copy / "kernels" / "new.py").write_text("")
    stamps.add(source_digest(copy))
    assert len(stamps) == len(files) + 3
    # Everything else may change without recompiling.
    (copy / "problem.py").write_text("")
    assert source_digest(copy) in stamps


def test_swapping_two_files_changes_the_stamp(copy):
    before = source_digest(copy)
    one, other = copy / "kernels" / "answers.py", copy / "kernels" / "learners.py"
    first, second = one.read_bytes(), other.read_bytes()
    one.write_bytes(second)
    other.write_bytes(first)
    assert source_digest(copy) != before


def test_what_ends_up_in_machine_code_is_in_the_stamp():
    """Kernels, and the types and constants that they are made of, wherever they are defined."""
    stamped = compiled_sources()
    for path in PACKAGE.rglob("*.py"):
        lines = path.read_text(encoding="utf-8").splitlines()
        marks = ("@kernel", "@inlined", "@spliced", "@njit", "@overload")
        assert path in stamped or not any(line.startswith(marks) for line in lines), path
    seen = 0
    for path in stamped:
        module = ".".join(("furthest", *path.relative_to(PACKAGE).with_suffix("").parts))
        for value in vars(import_module(module.removesuffix(".__init__"))).values():
            if isinstance(value, type) and issubclass(value, tuple | IntEnum):
                home = value.__module__
                if home.startswith("furthest."):
                    seen += 1
                    source = Path(import_module(home).__file__)
                    is_state = issubclass(value, IntEnum) or any(
                        "Vector" in str(kind) or "Counts" in str(kind) or "NDArray" in str(kind)
                        for kind in value.__annotations__.values()
                    )
                    assert source in stamped or not is_state, (path, value)
    assert seen > 100
