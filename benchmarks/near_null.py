"""Error rates on near-null instances: wrong answers that are worse than ε by a hair.

A test that stops too early gives such an answer often; a proven one must stay below every δ.

    python benchmarks/near_null.py --runs 20000
    python benchmarks/near_null.py near-2 --sampling uniform --runs 100000
"""

import argparse
import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

import furthest as ft
from furthest.problem import Notion, Problem

HAIR = 0.002
Shape = tuple[Problem, NDArray[np.float64]]


def near(d: int, notion: Notion, eps: float = 0.2) -> Shape:
    """The unit vectors, and one answer of value 1 − ε − hair; μ = e₁."""
    value = 1 - eps - HAIR
    wrong = value * np.eye(d)[0] + math.sqrt(1 - value**2) * np.eye(d)[1]
    return Problem(np.vstack([np.eye(d), wrong]), None, eps, notion), np.eye(d)[0]


def tied(d: int, notion: Notion, eps: float = 0.3) -> Shape:
    """The unit vectors; all but the first are wrong by a hair, and tied."""
    problem = Problem(np.eye(d), None, eps, notion)
    if notion == "additive":
        return problem, np.eye(d)[0] * (eps + HAIR)
    return problem, np.r_[1.0, np.full(d - 1, 1 - eps - HAIR)]


def fan(d: int, notion: Notion, eps: float = 0.2) -> Shape:
    """The unit vectors, and d − 1 unit vectors around e₁ that are all wrong by a hair."""
    value = 1 - eps - HAIR
    ring = math.sqrt(1 - value**2) * np.eye(d)[1:] + value * np.eye(d)[0]
    return Problem(np.vstack([np.eye(d), ring]), None, eps, notion), np.eye(d)[0]


def step(d: int, notion: Notion, eps: float = 0.3) -> Shape:
    """Unit vectors of falling value: right, wrong by a hair, and clearly wrong ones."""
    best = 1.0
    values = np.r_[best, best - 0.9 * eps, np.linspace(best - eps - HAIR, best - 2 * eps, d - 2)]
    return Problem(np.eye(d), None, eps, notion), values


INSTANCES: dict[str, Callable[[Notion], Shape]] = {
    "near-2": lambda notion: near(2, notion),
    "near-4": lambda notion: near(4, notion),
    "tied-3": lambda notion: tied(3, notion),
    "tied-5": lambda notion: tied(5, notion),
    "tied-8": lambda notion: tied(8, notion),
    "fan-4": lambda notion: fan(4, notion),
    "step-5": lambda notion: step(5, notion),
}


def main() -> None:
    """Print one line per instance, notion, sampling rule and knowledge of σ."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("instances", nargs="*", default=list(INSTANCES))
    parser.add_argument("--runs", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--delta", type=float, nargs="+", default=[0.2, 0.1, 0.05])
    parser.add_argument("--sampling", nargs="+", default=["uniform", "softmin"])
    parser.add_argument("--stopping", default="ranked")
    parser.add_argument("--notion", nargs="+", default=["additive", "multiplicative"])
    options = parser.parse_args()
    broken = False
    for name in options.instances:
        for notion in options.notion:
            problem, mu = INSTANCES[name](notion)
            for sampling in options.sampling:
                strategy = ft.Strategy(sampling, stopping=options.stopping)
                for sigma in (1.0, None):
                    results = ft.simulate(
                        replace(problem, sigma=sigma),
                        mu,
                        strategy,
                        options.delta,
                        options.runs,
                        options.seed,
                        options.jobs,
                    )
                    rates = 1 - results.correct.mean(axis=1)
                    broken |= bool(np.any(rates > options.delta))
                    cells = "  ".join(
                        f"δ={delta:g}: {rate:.4f} ({mean:.0f})"
                        for delta, rate, mean in zip(
                            options.delta, rates, results.stopping_times.mean(axis=1), strict=True
                        )
                    )
                    known = "known" if sigma else "unknown"
                    print(f"{name:7s} {notion:15s} {sampling:8s} σ {known:8s} {cells}", flush=True)
    print("BROKEN: some rate is above its δ" if broken else "every rate is below its δ")


if __name__ == "__main__":
    main()
