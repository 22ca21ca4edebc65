"""Large problems: time per round and peak memory against K, Z and d, live and simulated.

    python benchmarks/scale.py [--quick]

Random arms and answers on the sphere, ε = 0.1, the default strategy. Each size has a process of its
own, with one thread for linear algebra, which has gone through a small study before: so the memory
is that of the study alone. Times are medians of CPU time; of wall time where a file is synced.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import furthest as ft

ROUNDS = 40


class Size(NamedTuple):
    """K arms, Z answers (the arms themselves if there are as many), d features."""

    arms: int
    answers: int
    dimension: int

    def problem(self) -> ft.Problem:
        """On the sphere, the same every time."""
        rng = np.random.default_rng(0)
        arms = _directions(rng, self.arms, self.dimension)
        same = self.answers == self.arms
        answers = None if same else _directions(rng, self.answers, self.dimension)
        return ft.Problem(arms, answers, eps=0.1)

    @property
    def numbers(self) -> float:
        """Megabytes of arms and answers, each counted."""
        return (self.arms + self.answers) * self.dimension * 8 / 2**20


TARGETS = [Size(10_000, 10_000, 32), Size(100_000, 100_000, 64)]
SERIES = {
    "K = Z": [Size(n, n, 32) for n in (1_000, 3_000, 10_000, 30_000, 100_000)],
    "K": [Size(n, 1_000, 32) for n in (3_000, 10_000, 30_000, 100_000)],
    "Z": [Size(1_000, n, 32) for n in (3_000, 10_000, 30_000, 100_000)],
    "d": [Size(10_000, 10_000, d) for d in (8, 16, 32, 64, 100)],
}
QUICK = {"K = Z": [Size(n, n, 16) for n in (1_000, 3_000, 10_000)]}
HEAD = ("create s", "load s", "ask ms", "tell ms", "ask + tell", "wall", "2nd ask", "sim. ms")


def _directions(rng: np.random.Generator, count: int, dimension: int) -> np.ndarray:
    rows = rng.standard_normal((count, dimension))
    return np.asarray(rows / np.linalg.norm(rows, axis=1, keepdims=True))


def peak() -> float:
    """Megabytes that this process has had at most (Linux)."""
    lines = Path("/proc/self/status").read_text(encoding="utf-8").splitlines()
    return next(float(line.split()[1]) / 1024 for line in lines if line.startswith("VmHWM"))


def timed(act: Callable[[], Any]) -> tuple[Any, float, float]:
    """What it returns, its CPU time and its wall time."""
    wall, cpu = time.perf_counter(), time.process_time()
    found = act()
    return found, time.process_time() - cpu, time.perf_counter() - wall


def live(size: Size, url: str, rounds: int) -> dict[str, float]:
    """A study on SQLite, one worker: rounds after the initial design."""
    problem = size.problem()
    study, create, _ = timed(partial(ft.Study.create, "large", problem, storage=url))
    parameter, rng = problem.arms[0].copy(), np.random.default_rng(1)
    asks, tells, walls = [], [], []
    for number in range(len(problem.initial) + rounds):
        trial, ask, waited = timed(study.ask)
        value = float(problem.arms[trial.arm] @ parameter + rng.standard_normal())
        _, tell, synced = timed(partial(study.tell, trial, value))
        if number > len(problem.initial) + 2:
            asks.append(ask)
            tells.append(tell)
            walls.append(waited + synced)
    study.ask()
    _, pending, _ = timed(study.ask)
    study.close()
    del study, problem
    again, load, _ = timed(lambda: ft.Study.load("large", url))
    again.close()
    both = [ask + tell for ask, tell in zip(asks, tells, strict=True)]
    found = {"create": create, "load": load, "pending": pending}
    parts = {"ask": asks, "tell": tells, "both": both, "wall": walls}
    return found | {name: statistics.median(part) for name, part in parts.items()}


def simulated(size: Size, rounds: int) -> float:
    """CPU time of a simulated round."""
    problem = size.problem()
    first = len(problem.initial)

    def run(until: int) -> ft.Results:
        return ft.simulate(problem, problem.arms[0], max_rounds=until, runs=1, quiet=True)

    _, design, _ = timed(lambda: run(first))
    _, whole, _ = timed(lambda: run(first + rounds))
    return (whole - design) / rounds


def one(size: Size, rounds: int) -> None:
    """All figures of one size, as JSON."""
    with tempfile.TemporaryDirectory() as folder:
        url = f"sqlite:///{folder}/scale.db"
        live(Size(600, 600, 20), f"sqlite:///{folder}/small.db", 5)
        simulated(Size(600, 600, 20), 5)
        before = peak()
        found = live(size, url, rounds)
        memory = peak() - before
        found |= {"memory": memory, "simulate": simulated(size, rounds)}
    print(json.dumps(found))


def measured(size: Size, rounds: int) -> dict[str, float]:
    """`one` in a process of its own."""
    done = subprocess.run(
        [
            *(sys.executable, "-W", "ignore", __file__),
            *("--one", *map(str, size), "--rounds", str(rounds)),
        ],
        env=os.environ | {"OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return dict(json.loads(done.stdout))


def row(size: Size, found: dict[str, float]) -> str:
    """One line of the table."""
    seconds = [found["create"], found["load"]]
    names = ("ask", "tell", "both", "wall", "pending", "simulate")
    cells = [f"{each:10.2f}" for each in seconds]
    cells += [f"{1e3 * found[name]:10.2f}" for name in names]
    share = found["memory"] / size.numbers
    counts = f"{size.arms:>8,}{size.answers:>9,}{size.dimension:>5}"
    return f"{counts}{''.join(cells)}{found['memory']:>8.0f} MB = {share:.1f} ×"


def exponent(sizes: list[float], values: list[float]) -> float:
    """The slope on log axes."""
    return float(np.polyfit(np.log(sizes), np.log(values), 1)[0])


def main() -> None:
    """The targets, then each series with its exponents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--one", nargs=3, type=int, help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true")
    arguments = parser.parse_args()
    if arguments.one:
        one(Size(*arguments.one), arguments.rounds)
        return
    series = QUICK if arguments.quick else {"targets": TARGETS, **SERIES}
    print(f"{'K':>8}{'Z':>9}{'d':>5}{''.join(f'{name:>10}' for name in HEAD)}   peak memory")
    known: dict[Size, dict[str, float]] = {}
    for name, sizes in series.items():
        for size in sizes:
            if size not in known:
                known[size] = measured(size, arguments.rounds)
                print(row(size, known[size]), flush=True)
        if name == "targets":
            continue
        along = [float(size.answers if name == "Z" else size.arms) for size in sizes]
        along = [float(size.dimension) for size in sizes] if name == "d" else along
        slopes = {
            each: exponent(along, [known[size][each] for size in sizes])
            for each in ("both", "simulate", "create", "memory")
        }
        words = ", ".join(f"{each} {slope:.2f}" for each, slope in slopes.items())
        print(f"  exponents in {name}: {words}", flush=True)


if __name__ == "__main__":
    main()
