"""Yes/no outcomes of factorial designs: the test for bounded rewards with features against σ = ½.

    python benchmarks/features_bounded.py times --runs 300
    python benchmarks/features_bounded.py errors --runs 600

All rows of a table see yes/no outcomes from the same random streams. Figures: theory page
docs/theory/features-bounded.md.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import replace

import numpy as np

import furthest as ft
from furthest.engine import simulated
from furthest.preparation import prepare
from furthest.problem import Problem

DELTA, LONGEST = 0.05, 3_000_000

# ε, then the base value and the effects of the factors: on 2³ the weights of the tilts were chosen
# (seed 3), on the others nothing.
TIMES: dict[str, tuple[float, list[float]]] = {
    "2³, p .03–.055, ε .005": (0.005, [0.03, 0.01, 0.01, 0.005]),
    "2⁴, p .03–.065, ε .005": (0.005, [0.03, 0.015, 0.01, 0.006, 0.004]),
    "2³, p .4–.6, ε .05": (0.05, [0.4, 0.1, 0.06, 0.04]),
    "2³, p .9–.98, ε .02": (0.02, [0.9, 0.04, 0.02, 0.02]),
}


def factorial(eps: float, factors: int, notion: str = "additive") -> Problem:
    """Factors of two levels."""
    levels = {f"factor {i}": ["old", "new"] for i in range(factors)}
    return Problem.factorial(levels, eps=eps, notion=notion, noise="bernoulli")


def near_null() -> Iterator[tuple[str, Problem, list[float]]]:
    """Answers that are worse than ε by a hair."""
    yield "2², p .005–.065", factorial(0.03, 2), [0.005, 0.0302, 0.0302]
    yield "2², p .3–.5", factorial(0.1, 2), [0.3, 0.101, 0.101]
    yield "2², p .86–.96", factorial(0.05, 2), [0.86, 0.0501, 0.0501]
    yield "2³, p .02–.11", factorial(0.03, 3), [0.02, 0.0301, 0.0301, 0.0301]
    yield "2², a third", factorial(1 / 3, 2, "multiplicative"), [0.1, 0.101, 0.101]


def stopping_times(
    problem: Problem, mu: list[float], sampling: str, runs: int, seed: int
) -> tuple[np.ndarray, int, float]:
    """Measurements until each run stops, wrong answers, and processor time per round in µs."""
    task, right = problem.task, problem.near_best(mu)
    ready = prepare(ft.Strategy(sampling), task, [DELTA])
    source = simulated(task.arms @ problem.whiten(mu), either=True)
    times, wrong, begun = [], 0, 0.0
    for run in range(-1, runs):  # the first, to compile, counts for nothing
        noise, own = np.random.default_rng([seed, run + 1]), np.random.default_rng(run + 1)
        state = ready.start()
        ready.advance(task, state, source, noise, own, LONGEST if run >= 0 else 1000, True)
        if run < 0:
            begun = time.process_time()
            continue
        reached = state.milestones.times[0] >= 0
        times.append(int(state.milestones.times[0]) if reached else LONGEST)
        wrong += bool(reached and not right[state.milestones.answers[0]])
    spent = (time.process_time() - begun) / sum(times) * 1e6
    return np.array(times, float), wrong, spent


def show_times(runs: int, slow_runs: int, only: str) -> None:
    """Mean ± standard error; beside it the same with σ = ½."""
    print("| instance | sampling | σ = ½ | bounded-linear | ratio | wrong | µs per round |")
    print("|---|---|---|---|---|---|---|")
    for name, (eps, mu) in TIMES.items():
        if only not in name:
            continue
        problem = factorial(eps, len(mu) - 1)
        for sampling in ("uniform", "softmin", "lebai"):
            plain = replace(problem, noise="sub-Gaussian")
            slow, slow_wrong, _ = stopping_times(plain, mu, sampling, slow_runs, 17)
            fast, wrong, spent = stopping_times(problem, mu, sampling, runs, 17)
            print(
                f"| {name} | {sampling} | {_mean(slow)} | **{_mean(fast)}** "
                f"| {slow.mean() / fast.mean():.1f} | {slow_wrong}, {wrong} | {spent:.1f} |",
                flush=True,
            )


def show_errors(runs: int) -> None:
    """The share of wrong answers where some are wrong by a hair."""
    print("| instance | sampling | mean | wrong |")
    print("|---|---|---|---|")
    for name, problem, mu in near_null():
        for sampling in ("uniform", "softmin"):
            times, wrong, _ = stopping_times(problem, mu, sampling, runs, 18)
            print(f"| {name} | {sampling} | {_mean(times)} | {wrong}/{runs} |", flush=True)


def _mean(times: np.ndarray) -> str:
    return f"{times.mean():,.0f} ± {times.std(ddof=1) / len(times) ** 0.5:,.0f} ({len(times)})"


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["times", "errors"])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--slow-runs", type=int, default=20, help="runs of σ = ½")
    parser.add_argument("--only", default="", help="a part of an instance's name")
    chosen = parser.parse_args()
    if chosen.table == "times":
        show_times(chosen.runs, chosen.slow_runs, chosen.only)
    else:
        show_errors(chosen.runs)
