"""The disk cache: a second process compiles nothing, an edit is always noticed."""

import errno
import json
import os
import pickle
import re
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from enum import IntEnum
from importlib import import_module
from pathlib import Path
from types import SimpleNamespace

import numba
import numpy as np
import pytest
from numba.core import caching

import furthest
from compilations import COUNT_COMPILATIONS
from furthest.kernels import cache
from furthest.kernels.cache import compiled_sources, source_digest
from furthest.stopping.nomination import Nominee

PACKAGE = Path(furthest.__file__).parent

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
def copy(tmp_path):
    """The package's sources in a directory of their own, without any cache."""
    target = tmp_path / "copy" / "furthest"
    shutil.copytree(PACKAGE, target, ignore=shutil.ignore_patterns("__pycache__"))
    return target


def outcome(process):
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout)


def test_a_second_process_compiles_nothing(own_machine_code, python, furthest):
    count, times = outcome(python("-c", SIMULATE))
    assert count > 0
    before = cache_files(own_machine_code)
    assert before
    assert outcome(python("-c", SIMULATE)) == [0, times]
    # Nothing is compiled, and there is no terminal: nothing to say but the outcome.
    process = furthest(*SIMULATED, "--json")
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout.count("\n") == 1
    assert cache_files(own_machine_code) == before


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


def begin(*arguments):
    """A process with ways to and from it."""
    return subprocess.Popen(
        [sys.executable, "-c", *arguments],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )


def test_processes_that_compile_together_lose_nothing(own_cache):
    def ended(process, numbers):
        out, _ = process.communicate(" ".join(map(str, numbers)) + "\n")
        assert process.returncode == 0
        return int(out)

    shares = [range(first, 64, 4) for first in range(4)]
    processes = [begin(TOGETHER) for _ in shares]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    with ThreadPoolExecutor() as pool:
        assert all(count > 0 for count in pool.map(ended, processes, shares))
    # Everything is there, and nobody runs what another one has compiled.
    last = begin(TOGETHER)
    assert last.stdout.readline() == "ready\n"
    assert ended(last, range(64)) == 0


# Each process counts what it compiles itself, not what it waits for.
ALIKE = """
import sys
import numpy as np
from furthest.kernels import parts
from furthest.kernels.linalg import dot
make, made = parts.KeepingWholeCompiler._make, []
def counted(self, function):
    made.append(function)
    return make(self, function)
parts.KeepingWholeCompiler._make = counted
print("ready", flush=True)
sys.stdin.readline()
for kind in ("f8", "f4", "i8", "i4"):
    assert dot(np.full(3, 2, kind), np.ones(3, kind)) == 6
print(len(made))
"""


def test_what_several_processes_need_is_compiled_by_one_of_them(own_cache):
    processes = [begin(ALIKE) for _ in range(3)]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    assert sum(int(process.communicate()[0]) for process in processes) == 4
    assert [process.returncode for process in processes] == [0, 0, 0]


CLAIM = """
import sys
from furthest.kernels.cache import _claimed
with _claimed(sys.argv[1], "a kernel"):
    print("claimed", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def claimant(tmp_path):
    """A process that has claimed a kernel, and does not come to an end with it."""
    with begin(CLAIM, str(tmp_path)) as process:
        assert process.stdout.readline() == "claimed\n"
        yield process
        process.kill()


@pytest.mark.skipif(os.name != "posix", reason="claims are locks of POSIX")
def test_nobody_waits_for_ever(claimant, tmp_path, monkeypatch):
    waits = []

    def sleep(seconds):
        waits.append(seconds)
        now[0] += seconds

    now = [0.0]
    monkeypatch.setattr(cache, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: now[0]))
    with cache._claimed(str(tmp_path), "another kernel"):
        assert not waits
    with cache._claimed(str(tmp_path), "a kernel"):
        assert sum(waits) == pytest.approx(cache.PATIENCE, abs=cache.STEP)


@pytest.mark.skipif(os.name != "posix", reason="claims are locks of POSIX")
def test_a_claim_ends_with_its_process(claimant, tmp_path, monkeypatch):
    waits = []

    def sleep(_):
        waits.append(claimant.kill())

    monkeypatch.setattr(cache, "time", SimpleNamespace(sleep=sleep, monotonic=lambda: 0.0))
    with cache._claimed(str(tmp_path), "a kernel"):
        assert waits


def one_more(x):
    return x + 1


@pytest.fixture
def cached(tmp_path, monkeypatch):
    """Compile `one_more` with the package's cache, each time as if in a new process.

    Returns how often it was found in the cache.
    """
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(cache, "_warned", [])

    def call(*arguments):
        dispatcher = numba.njit(one_more)
        dispatcher._cache = cache.PackageCache(one_more)
        for argument in arguments:
            assert dispatcher(argument) == argument + 1
        return sum(dispatcher.stats.cache_hits.values())

    return call


def stored(folder, suffix):
    [path] = folder.rglob(f"*.{suffix}")
    return path


DAMAGES = {
    "truncated": lambda content: content[: len(content) // 2],
    "shorter by a byte": lambda content: content[:-1],
    "longer by a byte": lambda content: content + b".",
    "empty": lambda content: b"",
    "random": lambda content: np.random.default_rng(1).bytes(len(content)),
    "something else": lambda content: pickle.dumps((numba.__version__, {"garbage": 1})),
    "unsealed": lambda content: content[cache.SEAL :],
}


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_damaged_is_compiled_again_and_replaced(cached, tmp_path, suffix, damage):
    assert cached(1) == 0
    assert cached(1) == 1
    path = stored(tmp_path, suffix)
    path.write_bytes(DAMAGES[damage](path.read_bytes()))
    assert cached(1) == 0
    assert cached(1) == 1


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_what_is_missing_is_compiled_again(cached, tmp_path, suffix):
    assert cached(1) == 0
    stored(tmp_path, suffix).unlink()
    assert cached(1) == 0
    assert cached(1) == 1


@pytest.mark.parametrize("suffix", ["nbi", "nbc"])
def test_a_flipped_bit_anywhere_is_noticed(cached, tmp_path, suffix):
    cached(1)
    path = stored(tmp_path, suffix)
    files = cache.PackageCache(one_more)._cache_file
    [key] = files._load_index()
    assert files.load(key) is not None
    content = path.read_bytes()
    # Every byte of the index; of the code, the seal and a share of the rest.
    for place in sorted({*range(100), *range(0, len(content), 1 if suffix == "nbi" else 7)}):
        damaged = bytearray(content)
        damaged[place] ^= 1 << place % 8
        path.write_bytes(damaged)
        assert files.load(key) is None, place
    path.write_bytes(content)
    assert files.load(key) is not None


def test_code_for_other_types_is_never_taken(cached, tmp_path):
    """An index may name a file that was never written: an older one of that name is there."""
    cached(1, 1.0)
    assert cached(1, 1.0) == 2
    one, two = sorted(tmp_path.rglob("*.nbc"))
    two.write_bytes(one.read_bytes())
    assert cached(1, 1.0) == 1
    assert cached(1, 1.0) == 2


def test_code_of_older_sources_is_never_taken(cached, monkeypatch):
    with monkeypatch.context() as before:
        before.setattr(cache, "DIGEST", "an older one")
        cached(1)
        old = cache.PackageCache(one_more)._cache_file
        [key] = old._load_index()
    new = cache.PackageCache(one_more)._cache_file
    assert new.load(key) is None
    # The index is written, and then the process is killed.
    new._save_index({key: old._load_index()[key]})
    assert new.load(key) is None


@pytest.mark.parametrize("room", [0, 1])
def test_a_full_disk_is_told_of_once(cached, monkeypatch, tmp_path, room):
    """The disk is full at once, or when the index is written but the code is not."""
    replace, written = os.replace, []

    def replace_while_there_is_room(*paths):
        if len(written) == room:
            raise OSError(errno.ENOSPC, "No space left on device")
        written.append(paths)
        replace(*paths)

    with monkeypatch.context() as full:
        full.setattr(os, "replace", replace_while_there_is_room)
        with pytest.warns(cache.CacheWarning) as told:
            assert [cached(1, 1.0), cached(1, 1.0)] == [0, 0]
    [warning] = told
    words = str(warning.message)
    assert words.startswith("compiled code cannot be stored (No space left on device: ")
    assert str(tmp_path) in words
    assert "set NUMBA_CACHE_DIR to a folder with room" in words
    # What was left behind, if anything, harms nobody.
    assert cached(1, 1.0) == 0
    assert cached(1, 1.0) == 2
    assert not list(tmp_path.rglob("*.tmp.*"))


def test_a_folder_in_place_of_a_file_is_told_of(cached, tmp_path):
    cached(1)
    path = stored(tmp_path, "nbc")
    path.unlink()
    path.mkdir()
    with pytest.warns(cache.CacheWarning, match="directory"):
        assert cached(1) == 0


def test_without_a_lock_it_works_all_the_same(cached, tmp_path):
    cached(1)
    lock = next(tmp_path.rglob("lock"))
    lock.unlink()
    lock.mkdir()
    assert cached(1) == 1
    assert cached(1.0) == 0
    assert cached(1, 1.0) == 2


def test_without_any_place_it_is_compiled_in_memory(cached, monkeypatch):
    monkeypatch.setattr(numba.config, "CACHE_LOCATOR_CLASSES", "IPythonCacheLocator")
    with pytest.warns(cache.CacheWarning, match="unset NUMBA_CACHE_LOCATOR_CLASSES"):
        assert isinstance(cache.cache_for(one_more), caching.NullCache)


def test_without_sources_nothing_is_stored(cached, monkeypatch, tmp_path):
    """Nobody would notice that it is stale."""
    monkeypatch.setattr(cache, "DIGEST", source_digest(tmp_path))
    with pytest.warns(cache.CacheWarning, match="with its sources"):
        assert isinstance(cache.cache_for(one_more), caching.NullCache)


# `dot` is a kernel that is compiled soon.
DOT = (
    COUNT_COMPILATIONS
    + """
import numpy as np
def dots():
    from furthest.kernels.linalg import dot
    return dot(np.ones(3), np.ones(3)) + dot(np.ones(2, int), np.ones(2))
def work():
    total = dots()
    print(json.dumps([counter.count, total]))
"""
)
HOMELESS = """
import pwd
def unknown(number):
    raise KeyError(number)
pwd.getpwuid = unknown
"""
READ_ONLY = """
import tempfile
def refused(*arguments, **options):
    raise PermissionError(13, "Permission denied")
tempfile.TemporaryFile = refused
"""


@pytest.fixture
def nowhere(copy, tmp_path, monkeypatch):
    """A copy of the package that cannot be written to, and no other place either."""
    for folder in (copy, *(path for path in copy.rglob("*") if path.is_dir())):
        (folder / "__pycache__").write_text("")
    (tmp_path / "file").write_text("")
    nothing = str(tmp_path / "file" / "nothing")
    for name in ("NUMBA_CACHE_DIR", "HOME", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.setenv(name, nothing)
    monkeypatch.setenv("PYTHONPATH", str(copy.parent))
    monkeypatch.setenv("PYTHONDONTWRITEBYTECODE", "1")
    return copy


def test_where_nothing_can_be_written_it_runs_with_one_warning(nowhere, python):
    process = python("-c", DOT + "work()")
    assert outcome(process) == [2, 5.0]
    assert process.stderr.count("CacheWarning: compiled code cannot be stored") == 1
    assert str(nowhere / "kernels" / "__pycache__") in process.stderr


SPAWNED = """
if __name__ == "__main__":
    from furthest import workers
    workers.sys.platform = "elsewhere"  # where workers are not forked
    work()
    found = {}
    workers.spread(dots, [(), ()], found.__setitem__, jobs=2)
    assert found == {0: 5.0, 1: 5.0}
"""


def test_workers_do_not_say_it_again(nowhere, python, tmp_path):
    (tmp_path / "script.py").write_text(DOT + SPAWNED)
    process = python("script.py")
    assert outcome(process) == [2, 5.0]
    assert process.stderr.count("CacheWarning: ") == 1


def test_the_command_line_says_it_in_a_sentence(nowhere, python):
    command = "import sys\nfrom furthest import cli\ncli.app.command('work')(work)\n"
    process = python("-c", DOT + command + "sys.argv[1:] = ['work']\ncli.main()")
    assert outcome(process) == [2, 5.0]
    [line] = process.stderr.splitlines()
    assert line.startswith("furthest: compiled code cannot be stored (")
    assert line.endswith("; set NUMBA_CACHE_DIR to a folder with room that can be written to")


def test_what_is_stored_where_nothing_can_be_written_is_used(nowhere, python):
    for path in nowhere.rglob("__pycache__"):
        path.unlink()
    assert outcome(python("-c", DOT + "work()")) == [2, 5.0]
    process = python("-c", READ_ONLY + DOT + "work()")
    assert (outcome(process), process.stderr) == ([0, 5.0], "")


@pytest.mark.skipif(os.name != "posix", reason="needs a table of users")
def test_without_a_home_no_folder_is_made_here(nowhere, python, tmp_path, monkeypatch):
    for name in ("HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name)
    before = sorted(tmp_path.iterdir())
    assert outcome(python("-c", HOMELESS + DOT + "work()")) == [2, 5.0]
    assert sorted(tmp_path.iterdir()) == before


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
        marks = ("@kernel", "@inlined", "@njit", "@overload")
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


def test_only_classes_that_their_module_knows_are_stored():
    """Another one would come back from disk as a class of its own, and never be found again."""
    known = numba.typeof(Nominee(0, 1.0, 2))
    assert not cache.is_foreign((known,))
    namesake = type("Nominee", (Nominee,), {"__module__": Nominee.__module__})
    assert cache.is_foreign((numba.typeof(namesake(0, 1.0, 2)),))
    assert cache.is_foreign((numba.typeof((1, namesake(0, 1.0, 2))),))
