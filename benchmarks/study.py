"""Latency of live studies: ask and tell with fsync, what deciding costs, long logs, PostgreSQL.

    python benchmarks/study.py [--postgres URL] [--rounds 500] [--long 100000 1000000]

Without --postgres a private server is started where one is installed (as in the tests).
"""

import argparse
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import numpy as np

import furthest as ft
from furthest.study import snapshot
from furthest.study.chain import chained
from furthest.study.events import Due, Event
from furthest.study.storage import open_storage

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

# K = Z = 20, d = 12, too hard to stop soon.
ARMS = ft.random(d=12, seed=3).problem.arms
PROBLEM = ft.Problem(ARMS, eps=1e-4)
MEANS = ARMS @ ft.random(d=12, seed=3).truth * 1e-3

WORKER = """
import sys, time
import numpy as np
import furthest as ft
study = ft.Study.load("many", sys.argv[1])
study.ask(); study.status()
print("ready", flush=True)
sys.stdin.readline()
ask, tell = [], []
for _ in range(int(sys.argv[2])):
    t0 = time.perf_counter()
    trial = study.ask()
    t1 = time.perf_counter()
    study.tell(trial.id, 0.5)
    ask.append(t1 - t0); tell.append(time.perf_counter() - t1)
print(*ask, *tell)
"""


OPENER = """
import re, sys, time
wall = time.perf_counter()
import furthest as ft
state = ft.Study.load("long", sys.argv[1]).status().state
peak = int(re.search(r"VmHWM:\\s*(\\d+)", open("/proc/self/status").read())[1]) / 1024
print(time.perf_counter() - wall, time.process_time(), peak, state)
"""


def milliseconds(seconds: list[float]) -> str:
    """Median and 95 % quantile."""
    high = np.quantile(seconds, 0.95)
    return f"median {1e3 * statistics.median(seconds):7.2f} ms   95 % {1e3 * high:7.2f} ms"


def one_worker(url: str, rounds: int) -> None:
    """Ask and tell in turn, with what deciding alone takes."""
    study = ft.Study.create("one", PROBLEM, storage=url)
    rng = np.random.default_rng(0)
    ask, tell, fold, suggest = (list[float]() for _ in range(4))
    for i in range(rounds + 30):
        t0 = time.perf_counter()
        trial = study.ask()
        t1 = time.perf_counter()
        study.tell(trial.id, MEANS[trial.arm] + rng.standard_normal())
        t2 = time.perf_counter()
        own = study._fold  # what the next ask would do first: record and decide
        t3 = time.perf_counter()
        own.suggest([Due(trial.arm)] if own.ready else [], 1)  # decide with one trial pending
        t4 = time.perf_counter()
        if i >= 30:
            for times, seconds in zip(
                (ask, tell, fold, suggest), (t1 - t0, t2 - t1, t3 - t2, t4 - t3), strict=True
            ):
                times.append(seconds)
    together = [a + b for a, b in zip(ask, tell, strict=True)]
    share = statistics.median(fold) / statistics.median(together)
    print(f"  ask                       {milliseconds(ask)}")
    print(f"  tell                      {milliseconds(tell)}")
    print(f"  ask + tell                {milliseconds(together)}")
    print(f"  of it record and decide   {milliseconds(fold)}   ({share:.1%})")
    print(f"  deciding beside 1 pending {milliseconds(suggest)}")
    study.close()


def heard(child: subprocess.Popen[str]) -> str:
    """The next line of a worker."""
    assert child.stdout is not None
    return child.stdout.readline()


def many_workers(url: str, workers: int, rounds: int) -> None:
    """Processes that ask and tell at the same time."""
    study = ft.Study.create("many", PROBLEM, storage=url)
    study.close()
    with ExitStack() as stack:
        children = [
            stack.enter_context(
                subprocess.Popen(
                    [sys.executable, "-c", WORKER, url, str(rounds)],
                    stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            )
            for _ in range(workers)
        ]
        for child in children:
            heard(child)
        started = time.perf_counter()
        for child in children:
            assert child.stdin is not None
            child.stdin.write("go\n")
            child.stdin.flush()
        times = [list(map(float, heard(child).split())) for child in children]
        seconds = time.perf_counter() - started
    ask = [each for row in times for each in row[:rounds]]
    tell = [each for row in times for each in row[rounds:]]
    print(f"  {workers} workers: ask            {milliseconds(ask)}")
    print(f"  {workers} workers: tell           {milliseconds(tell)}")
    print(f"  {workers * rounds / seconds:.0f} measurements per second in all")


def long_log(url: str, count: int) -> None:
    """Open a study with many measurements that has not stopped, in new processes."""
    study = ft.Study.create("long", PROBLEM, storage=url)
    rng = np.random.default_rng(1)
    arms = [*range(20), *rng.integers(20, size=count - 20).tolist()]
    values = (MEANS[arms] + rng.standard_normal(count)).tolist()
    tag, storage, (created,) = study.settings.tag, open_storage(url), study.events()
    events = []
    for i, (arm, value) in enumerate(zip(arms, values, strict=True)):
        trial = f"{tag}-{2 * i + 2}"
        events += [
            Event(2 * i + 2, "asked", created.at, trial, arm, worker="bench"),
            Event(2 * i + 3, "told", created.at, trial, arm, value),
        ]
    with storage.writing(study._key) as log:
        log.append(chained(events, created.chain))
    storage.close()
    study.close()
    print(f"  {count:,} measurements, load and status in a new process; it leaves a snapshot:")
    for each in ("from the log", "again", "again", "again"):
        kept = snapshot._folder() / f"{created.chain}.npz"
        if each == "from the log":
            kept.unlink(missing_ok=True)
        done = subprocess.run(
            [sys.executable, "-c", OPENER, url], capture_output=True, text=True, check=True
        )
        wall, processor, peak, state = done.stdout.split()
        size = kept.stat().st_size / 2**20 if kept.exists() else 0.0
        print(
            f"    {each:14s} {float(wall):6.2f} s, of the processor {float(processor):6.2f} s; "
            f"{float(peak):5.0f} MB at most; snapshot {size:.0f} MB; {state}"
        )
    study = ft.Study.load("long", url)
    study.ask()
    times = []
    for _ in range(50):
        t0 = time.perf_counter()
        study.tell(study.ask().id, 0.5)
        times.append(time.perf_counter() - t0)
    print(f"  ask + tell on top of it   {milliseconds(times)}")
    study.close()
    kept.unlink(missing_ok=True)


@contextmanager
def postgres(url: str | None) -> Iterator[str | None]:
    """A server: the one given, or a private one, or none."""
    if url:
        yield url
        return
    from servers import binaries, private_server

    found = binaries()
    if found is None:
        yield None
        return
    with private_server(found) as server:
        yield server.url("public")


def main() -> None:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--postgres", help="URL of an empty database")
    parser.add_argument("--rounds", type=int, default=500)
    parser.add_argument("--long", type=int, nargs="*", default=[100_000])
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/bench.db"
        print("SQLite, every commit synced; K = Z = 20, d = 12")
        one_worker(url, arguments.rounds)
        many_workers(url, 8, arguments.rounds // 5)
        for count in arguments.long:
            long_log(f"sqlite:///{folder}/{count}.db", count)
    with postgres(arguments.postgres) as place:
        if place is None:
            print("no PostgreSQL server on this machine")
            return
        print("PostgreSQL on a local socket, synchronous commit; K = Z = 20, d = 12")
        one_worker(place, arguments.rounds)
        many_workers(place, 8, arguments.rounds // 5)
        for count in arguments.long:
            long_log(place, count)
            ft.Study.load("long", place).delete()


if __name__ == "__main__":
    main()
