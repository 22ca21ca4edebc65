"""Stopping times and cost per round of `ranked` and `top-wrong` beside `mixture` and `paper`.

All rules are judged on the same trajectories: LεBAI samples without looking at the stopping rule.

    python benchmarks/topwrong.py times hard --runs 2000
    python benchmarks/topwrong.py times random:d=12 --instances 20 --runs 100
    python benchmarks/topwrong.py cost
"""

import argparse
import time
from dataclasses import replace

import numpy as np

import furthest as ft
from furthest.files import find_instance
from furthest.problem import Problem

PAPER = ft.Strategy("lebai", stopping="glr", threshold="paper")
MIXTURE = ft.Strategy("lebai", stopping="glr", threshold="mixture")
TOP_WRONG = ft.Strategy("lebai", stopping="top-wrong")
RANKED = ft.Strategy("lebai", stopping="ranked")
DEFAULT = ft.Strategy()

# Name, strategy, whether it is told σ
RULES = (
    ("paper", PAPER, True),
    ("mixture", MIXTURE, True),
    ("top-wrong", TOP_WRONG, True),
    ("ranked", RANKED, True),
    ("mixture, σ unknown", MIXTURE, False),
    ("top-wrong, σ unknown", TOP_WRONG, False),
    ("ranked, σ unknown", RANKED, False),
    ("softmin, ranked", DEFAULT, True),
    ("softmin, ranked, σ unknown", DEFAULT, False),
)


def told(problem: Problem, known: bool) -> Problem:
    """The problem as the rule sees it."""
    return problem if known else replace(problem, sigma=None)


def times(name: str, options: argparse.Namespace) -> None:
    """Mean stopping times with standard errors, and mean ratios over instances."""
    deltas = sorted(options.delta, reverse=True)
    for notion in options.notion:
        means = np.zeros((len(RULES), len(deltas), options.instances))
        variances = np.zeros_like(means)
        wrong = np.zeros(means.shape[:2], int)
        for number in range(options.instances):
            text = name if options.instances == 1 else f"{name},seed={number}"
            instance = find_instance(text, eps=options.eps, notion=notion)
            for i, (_, strategy, known) in enumerate(RULES):
                results = ft.simulate(
                    told(instance.problem, known),
                    instance.truth,
                    strategy,
                    deltas,
                    options.runs,
                    options.seed + number,
                )
                means[i, :, number] = results.stopping_times.mean(axis=1)
                variances[i, :, number] = results.stopping_times.var(axis=1, ddof=1) / options.runs
                wrong[i] += (~results.correct).sum(axis=1)
        errors = np.sqrt(variances.sum(axis=2)) / options.instances
        print(f"{name} {notion}: {options.instances} instance(s), {options.runs} runs each")
        for level, delta in enumerate(deltas):
            for i, (label, _, _) in enumerate(RULES):
                to_paper = (means[i, level] / means[0, level]).mean()
                to_mixture = (means[i, level] / means[1, level]).mean()
                print(
                    f"  δ={delta:<6g} {label:21s} {means[i, level].mean():7.1f} ± "
                    f"{errors[i, level]:4.1f}  /paper {to_paper:.3f}  /mixture {to_mixture:.3f}  "
                    f"wrong {wrong[i, level]}",
                    flush=True,
                )


def cost(options: argparse.Namespace) -> None:
    """Microseconds of processor time per round, with the sampling; the best of several tries.

    The strategies take turns, so that a machine that grows slow is slow for all of them.
    """
    for text in ("hard", "random:d=12,seed=3"):
        instance = find_instance(text, eps=options.eps, notion="multiplicative")
        best = dict.fromkeys((label for label, _, _ in RULES), np.inf)
        for attempt in range(10):
            for label, strategy, known in RULES:
                problem = told(instance.problem, known)
                started = time.process_time()
                results = ft.simulate(problem, instance.truth, strategy, 1e-9, 60)
                if attempt:  # the first one compiles
                    taken = (time.process_time() - started) / results.steps
                    best[label] = min(best[label], taken)
        for label, taken in best.items():
            ratio = taken / best["top-wrong"]
            print(f"{text} {label}: {1e6 * taken:.2f} µs per round, {ratio:.2f} of top-wrong")


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("times", "cost"))
    parser.add_argument("instance", nargs="?", default="hard")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--eps", type=float, default=0.05)
    parser.add_argument("--delta", type=float, nargs="+", default=[0.1, 0.01, 1e-6])
    parser.add_argument("--notion", nargs="+", default=["multiplicative", "additive"])
    options = parser.parse_args()
    if options.what == "times":
        times(options.instance, options)
    else:
        cost(options)


if __name__ == "__main__":
    main()
