"""LεBAI beside the same loop in C, per round and in whole runs; compile time, two processes.

All figures come from one run on one machine, C and Python measured in turn; compare the ratios.
"""

import argparse
import json
import math
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import furthest as ft
from furthest.engine import simulated
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.strategy import Strategy

HERE = Path(__file__).resolve().parent
FLAGS = ["-O3", "-march=native", "-ffast-math"]
INSTANCES = {
    "hard d=2 K=4": (ft.hard(), 200_000),
    "random d=6 K=20": (ft.random(d=6, seed=3), 40_000),
    "random d=12 K=20": (ft.random(d=12, seed=3), 40_000),
}
UNREACHABLE = 1e-300

COLD_START = """
import time
started = time.perf_counter()
import furthest as ft
instance = ft.hard()
ft.simulate(instance.problem, instance.mu, ft.Strategy("lebai", threshold="paper"), runs=1)
print(time.perf_counter() - started)
"""


def compile_c(folder: Path) -> Path:
    """The yardstick, compiled for this machine."""
    program = folder / "lebai"
    compiler = os.environ.get("CC", "cc")
    subprocess.run([compiler, *FLAGS, HERE / "lebai.c", "-lm", "-o", program], check=True)
    return program


def in_c(program: Path, problem: Problem, mu: np.ndarray, *arguments: float) -> list[float]:
    """What the C program prints."""
    task = problem.task
    numbers = [*task.arms.shape, len(task.answers), task.c, task.e]
    arrays = (task.arms, task.answers, task.arms @ problem.whiten(mu))
    text = " ".join(map(repr, [*numbers, *np.concatenate([a.ravel() for a in arrays]).tolist()]))
    command = [str(program), *map(str, arguments)]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    return [float(word) for word in done.stdout.split()]


def c_time(program: Path, problem: Problem, mu: np.ndarray, rounds: int) -> float:
    """Microseconds per round of the C program."""
    return in_c(program, problem, mu, rounds, 1)[0] / 1e3


def engine_time(problem: Problem, mu: np.ndarray, rounds: int) -> float:
    """Microseconds per round of the compiled engine, at a threshold that is hardly ever reached."""
    task = problem.task
    ready = prepare(Strategy("lebai", threshold="paper"), task, [UNREACHABLE])
    run, source = ready.start(), simulated(task.arms @ problem.whiten(mu))
    rng = np.random.default_rng(1)
    ready.advance(task, run, source, rng, rng, 1, True)
    started = time.perf_counter()
    taken = ready.advance(task, run, source, rng, rng, rounds, True)
    return (time.perf_counter() - started) / taken * 1e6


def rounds_table(repeats: int) -> None:
    """C and engine in turn; the minimum over repetitions is the least disturbed."""
    print(f"microseconds per round, best of {repeats}, one core")
    print(f"{'instance':<18}{'C':>9}{'furthest':>10}{'ratio':>8}")
    with tempfile.TemporaryDirectory() as folder:
        program = compile_c(Path(folder))
        for name, (instance, rounds) in INSTANCES.items():
            pairs = [
                (
                    c_time(program, instance.problem, instance.truth, rounds),
                    engine_time(instance.problem, instance.truth, rounds),
                )
                for _ in range(repeats)
            ]
            c, ours = np.min(pairs, axis=0)
            print(f"{name:<18}{c:>9.3f}{ours:>10.3f}{ours / c:>8.2f}", flush=True)


def whole_runs(repeats: int, runs: int) -> None:
    """The same study simulated often, from start to end: another process, a call, and a round.

    Each in turn, the least disturbed of several; the random numbers are not the same.
    """
    instance = ft.hard()
    problem, mu, strategy = instance.problem, instance.truth, Strategy("lebai", threshold="paper")
    command = [sys.executable, "-m", "furthest", "simulate", "hard", "--sampling", "lebai"]
    command += ["--threshold", "paper", "--json", "--runs", str(runs)]
    ways: dict[str, Callable[[], float]] = {}
    with tempfile.TemporaryDirectory() as folder:
        program = compile_c(Path(folder))
        level = math.log(1 / 0.01)
        ways["C, its process"] = lambda: in_c(program, problem, mu, 10**6, runs, level)[0]
        ways["ft.simulate"] = lambda: float(
            ft.simulate(problem, mu, strategy, runs=runs, quiet=True).steps / runs
        )
        ways["furthest simulate, its process"] = lambda: json.loads(
            subprocess.run(command, capture_output=True, check=True).stdout
        )["results"][0]["mean"]
        ways["four rounds of each run"] = lambda: float(
            ft.simulate(problem, mu, strategy, runs=runs, max_rounds=4, quiet=True).steps / runs
        )
        print(f"\n{runs} runs on hard, δ = .01, best of {repeats}, one core")
        print(f"{'':<34}{'rounds':>8}{'s':>9}{'µs a run':>10}{'to C':>7}")
        best = dict.fromkeys(ways, math.inf)
        rounds = {}
        for _ in range(repeats):
            for name, way in ways.items():
                started = time.perf_counter()
                rounds[name] = way()
                best[name] = min(best[name], time.perf_counter() - started)
        for name, seconds in best.items():
            ratio = seconds / best["C, its process"]
            micro = seconds / runs * 1e6
            print(f"{name:<34}{rounds[name]:>8.1f}{seconds:>9.3f}{micro:>10.2f}{ratio:>7.2f}")


def start_times() -> None:
    """Cold compile and warm start, each in a new process on a copy of the package."""
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "furthest"
        shutil.copytree(
            Path(ft.__file__).parent, copy, ignore=shutil.ignore_patterns("__pycache__")
        )
        environment = os.environ | {"PYTHONPATH": folder}
        for label in ("cold: compile LεBAI", "warm: load it from disk"):
            done = subprocess.run(
                [sys.executable, "-c", COLD_START],
                env=environment,
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"{label:<40}{float(done.stdout):>8.2f} s")


def two_processes(runs: int) -> None:
    """The same runs on one worker and on two."""
    instance = ft.hard()
    seconds = [
        ft.simulate(
            instance.problem,
            instance.truth,
            Strategy("lebai", threshold="paper"),
            runs=runs,
            jobs=jobs,
        ).seconds
        for jobs in (1, 2)
    ]
    print(f"{runs} runs, one process{'':<17}{seconds[0]:>8.2f} s")
    print(f"{runs} runs, two processes{'':<15}{seconds[1]:>8.2f} s  ×{seconds[0] / seconds[1]:.2f}")


def main() -> None:
    """Everything, or with --rounds-only the comparison with C alone."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--runs", type=int, default=20_000)
    parser.add_argument("--rounds-only", action="store_true")
    arguments = parser.parse_args()
    rounds_table(arguments.repeats)
    if not arguments.rounds_only:
        whole_runs(arguments.repeats, 10_000)
        start_times()
        two_processes(arguments.runs)


if __name__ == "__main__":
    main()
