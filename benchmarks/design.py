"""Time of one certified design, beside Clarabel in the same run; and of the oracle per round.

    python benchmarks/design.py [--repeats 20] [--checks 2000] [--quick]

Times are the fastest and the median of the repeats, of CPU time on one thread.
"""

import argparse
import math
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

import furthest as ft
from furthest.instances import Instance
from furthest.kernels.design import best_design, solve, workspace_for
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Matrix
from furthest.kernels.oracle import Oracle, Tally, furthest_design, oracle_for
from furthest.task import Task
from oracles.conic import by_clarabel
from oracles.designs import Case, case_of, epsilon_optimal, path, task_of

GAP = 1e-8
# name: instance, limit in milliseconds, whether Clarabel can be waited for
DESIGNS = {
    "hard": (ft.hard(), 0.02, True),
    "random K=Z=20 d=6": (ft.random(d=6, seed=3), 0.3, True),
    "random K=Z=20 d=12": (ft.random(d=12, seed=3), 0.3, True),
    "random K=Z=100 d=10": (ft.random(d=10, seed=3, arms=100), 10.0, True),
    "random K=Z=1000 d=20": (ft.random(d=20, seed=3, arms=1000), 300.0, False),
    "random K=Z=5000 d=30": (ft.random(d=30, seed=3, arms=5000), 3000.0, False),
}
# name: generator, runs, rounds, limit in microseconds per round
ORACLES: dict[str, tuple[Callable[[Any, int], Instance], int, int, float]] = {
    "hard": (lambda notion, _: ft.hard(notion=notion), 16, 400, 3.0),
    "random K=Z=20 d=6": (lambda notion, i: ft.random(notion=notion, d=6, seed=i), 4, 600, 60.0),
    "random K=Z=20 d=12": (lambda notion, i: ft.random(notion=notion, d=12, seed=i), 4, 600, 60.0),
}


def furthest_case(case: Case) -> Case:
    """The furthest answer instead of the greedy one."""
    designs = {
        z: solve(*case._replace(z=z), 1e-4) for z in epsilon_optimal(case.values, case.c, case.e)
    }
    return case._replace(z=max(designs, key=lambda z: designs[z].lower))


compiled = kernel(best_design)


def time_design(case: Case, repeats: int, seconds: float = 20.0) -> tuple[float, float, float, int]:
    """Fastest and median milliseconds, relative gap, Newton steps."""
    work = workspace_for(len(case.arms), len(case.answers), case.arms.shape[1])
    weights, multipliers = np.zeros(len(case.arms)), np.zeros(len(case.answers))
    times: list[float] = []
    begun = time.perf_counter()
    while len(times) < 3 or (len(times) < repeats and time.perf_counter() - begun < seconds):
        started = time.thread_time()
        lower, upper, steps = compiled(*case, GAP, weights, multipliers, work)
        times.append(1e3 * (time.thread_time() - started))
    return min(times), statistics.median(times), upper / lower - 1, steps


def print_designs(repeats: int, quick: bool) -> None:
    """One line per instance."""
    print("one answer, gap 1e-8         fastest     median      limit   gap     steps   Clarabel")
    for name, (instance, limit, conic) in DESIGNS.items():
        if quick and not conic:
            continue
        case = furthest_case(case_of(instance))
        fastest, median, gap, steps = time_design(case, repeats if limit > 1 else 100 * repeats)
        clarabel = ""
        if conic:
            found = by_clarabel(case, GAP)
            clarabel = f"{1e3 * found.seconds:.1f} ms, {1e3 * found.seconds / fastest:.0f} times"
        print(
            f"{name:24} {fastest:9.4f}ms {median:9.4f}ms {limit:9.2f}ms "
            f"{gap:8.0e} {steps:4}   {clarabel}",
            flush=True,
        )


@kernel
def drive(held: Oracle, task: Task, values: Matrix, gap: float, out: Counts) -> None:
    """The oracle alone, once per round; it begins anew."""
    for z in range(held.known.shape[0]):
        held.known[z] = 0
    for i in range(held.statistics.shape[0]):
        held.statistics[i] = 0
    for t in range(values.shape[0]):
        out[t] = furthest_design(held, task, values[t], gap)


def microseconds(
    held: Oracle, task: Task, values: Matrix, gap: float, out: Counts, repeats: int
) -> float:
    """Fastest time of a whole run."""
    times = []
    for _ in range(repeats):
        started = time.thread_time()
        drive(held, task, values, gap, out)
        times.append(time.thread_time() - started)
    return 1e6 * min(times)


def disagrees(case: Case, values: np.ndarray, z: int) -> bool:
    """Whether cold solves to 1e-9 prove another answer to be further than z."""
    candidates = epsilon_optimal(values, case.c, case.e)
    if not candidates or (case.c < 1.0 and values.max() <= 0.0):
        return z != int(values.argmax())
    brackets = {x: solve(*case._replace(values=values, z=x), 1e-9) for x in candidates}
    return brackets[z].upper < max(found.lower for found in brackets.values())


def run_of(instance: Instance, rounds: int, seed: int) -> tuple[Case, Matrix]:
    """The case and the values of its estimates while w_F(μ) is tracked."""
    case = furthest_case(case_of(instance))
    return case, path(instance, solve(*case, 1e-6).weights, rounds, seed)


def print_oracle(repeats: int, checks: int) -> None:
    """One line per instance and notion."""
    print(
        "\noracle per round              exact z_F   limit   no solve  steps   w_F to 1e-3  checked"
    )
    for name, (generate, runs, rounds, limit) in ORACLES.items():
        for notion in ("multiplicative", "additive"):
            spent, designed, asked, solved, steps, checked, wrong = 0.0, 0.0, 0, 0, 0, 0, 0
            for i in range(runs):
                case, values = run_of(generate(notion, i), rounds, i)
                task = task_of(case)
                held = oracle_for(task)
                out = np.zeros(len(values), dtype=np.int64)
                designed += microseconds(held, task, values, 1e-3, out, repeats)
                spent += microseconds(held, task, values, math.inf, out, repeats)
                asked += int(held.statistics[Tally.ROUNDS])
                solved += int(held.statistics[Tally.SOLVED_ROUNDS])
                steps += int(held.statistics[Tally.NEWTON_STEPS])
                every = max(1, runs * len(values) * 2 * len(ORACLES) // checks)
                for t in range(i % every, len(values), every):
                    checked += 1
                    wrong += disagrees(case, values[t], int(out[t]))
            print(
                f"{name:20}{notion[:3]:5} {spent / asked:9.2f}us {limit:6.0f}us "
                f"{1 - solved / asked:9.0%} {steps / asked:7.2f} {designed / asked:10.2f}us "
                f"{checked:6}, {wrong} wrong",
                flush=True,
            )


def main() -> None:
    """Print both tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeats", type=int, default=20)
    parser.add_argument("--checks", type=int, default=2400, help="cold solves of sampled rounds")
    parser.add_argument("--quick", action="store_true", help="without the large instances")
    options = parser.parse_args()
    started = time.perf_counter()
    solve(*case_of(ft.hard()))
    print(f"first design, with compilation or its cache: {time.perf_counter() - started:.1f} s\n")
    print_designs(options.repeats, options.quick)
    print_oracle(max(2, options.repeats // 5), options.checks)


if __name__ == "__main__":
    main()
