"""The same sweep alone, with two processes, and on a Dask cluster of two workers.

    python benchmarks/cluster.py [--runs 600] [--repeats 3]

Seconds of wall time, of processor time that went into the runs, and of this process, which hands
them out and stores them (alone, it makes them): means over the repetitions, one way after the other
in each, with standard errors. All begin with compiled code on disk and with an empty folder; the
cluster's workers, of one thread each, are up before, and have loaded the code in a sweep that does
not count. Checked: every row is the same.
"""

import argparse
import statistics
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import furthest as ft
from furthest.workers import cluster

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from clusters import Cluster

GRID: dict[str, Any] = {
    "instances": ["hard", "random:d=6,seed=3"],
    "strategies": ["softmin", "lebai", "uniform"],
    "eps": [0.05, 0.1],
    "delta": [0.1, 0.01],
}


def main() -> None:
    """Print a line for each way."""
    parser = argparse.ArgumentParser(description="See the module's docstring.")
    parser.add_argument("--runs", type=int, default=600)
    parser.add_argument("--repeats", type=int, default=3)
    wanted = parser.parse_args()
    with TemporaryDirectory() as folder, Cluster(Path(folder)) as workers:
        workers.worker()
        workers.worker()
        with cluster(workers.address) as executor:
            ways: dict[str, dict[str, Any]] = {
                "alone": {},
                "two processes": {"jobs": 2},
                "two Dask workers": {"executor": executor},
            }
            taken: dict[str, list[tuple[float, ...]]] = {way: [] for way in ways}
            rows = set()
            for number in range(wanted.repeats + 1):
                for way, means in ways.items():
                    began, here = time.perf_counter(), time.process_time()
                    out = Path(folder) / f"{way}-{number}"
                    done = ft.sweep(GRID | {"runs": wanted.runs}, out, **means)
                    here, wall = time.process_time() - here, time.perf_counter() - began
                    taken[way].append((wall, done.work.cpu, here))
                    rows.add(repr(done.rows))
    assert len(rows) == 1
    print(f"{done.work.units:,} runs, {done.work.rounds:,} measurements")
    print(f"{'':<18} {'wall':>12} {'in runs':>12} {'here':>12}")
    for way, (_, *counted) in taken.items():
        print(f"{way:<18}", *(f"{_figure(each):>12}" for each in zip(*counted, strict=True)))


def _figure(seconds: tuple[float, ...]) -> str:
    error = statistics.stdev(seconds) / len(seconds) ** 0.5 if len(seconds) > 1 else 0.0
    return f"{statistics.mean(seconds):.2f} ± {error:.2f}"


if __name__ == "__main__":
    main()
