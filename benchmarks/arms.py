"""What it saves to say how noisy each arm is.

Six plain options, one of them five times as noisy as the others. The rule is told every arm's σ,
or the largest for all, which is what it had to be told before. The true noise is the same.

    python benchmarks/arms.py sigma --runs 300
"""

import argparse

import numpy as np
from numpy.typing import NDArray

import furthest as ft
from furthest.engine import told
from furthest.preparation import prepare
from furthest.stopping.nomination import Progress

Array = NDArray[np.float64]

VALUES = np.array([1.0, 0.6, 0.45, 0.3, 0.15, 0.0])
NOISY = {"the best": 0, "the second": 1, "the worst": 5}
MOST = 1_000_000


def stopping_time(
    problem: ft.Problem, mu: Array, sigma: Array, delta: float, rng: np.random.Generator
) -> tuple[int, bool]:
    """Measurements of one study with this true noise, and whether its answer is right."""
    task, units = problem.task, problem.units
    prepared = prepare(ft.Strategy(), task, [delta])
    run = prepared.start()
    progress, means = run.stopping.progress, problem.arms @ mu
    for t in range(1, MOST):
        arm = int(progress[Progress.NEXT])
        reward = means[arm] + sigma[arm] * rng.standard_normal()
        source = told(np.array([arm]), np.array([reward / units[arm]]))
        prepared.advance(task, run, source, rng, rng, t, True)
        if progress[Progress.NEXT] < 0:
            return t, bool(problem.near_best(mu)[run.milestones.answers[0]])
    return MOST, True


def compare_sigmas(options: argparse.Namespace) -> None:
    """One line for each place of the noisy option."""
    for place, arm in NOISY.items():
        sigma = np.where(np.arange(6) == arm, 5.0, 1.0)
        rows = []
        for known in (sigma.tolist(), 5.0):
            problem = ft.Problem.options(list("ABCDEF"), eps=options.eps, sigma=known)
            runs = [
                stopping_time(
                    problem, VALUES, sigma, options.delta, np.random.default_rng([arm, i])
                )
                for i in range(options.runs)
            ]
            rows.append(np.array(runs, float))
        (own, largest), errors = (
            (row[:, 0] for row in rows),
            [int((1 - r[:, 1]).sum()) for r in rows],
        )
        ratio = largest.mean() / own.mean()
        spread = np.hypot(*(x.std(ddof=1) / x.mean() for x in (own, largest)))
        print(
            f"{place:>11} is noisy: σ per arm {_mean(own)}, largest σ for all {_mean(largest)}; "
            f"ratio {ratio:.2f} ± {ratio * spread / options.runs**0.5:.2f}; errors {errors}",
            flush=True,
        )


def _mean(times: Array) -> str:
    return f"{times.mean():,.0f} ± {times.std(ddof=1) / len(times) ** 0.5:,.0f}"


def main() -> None:
    """One table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("table", choices=["sigma"])
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--eps", type=float, default=0.2)
    parser.add_argument("--delta", type=float, default=0.05)
    compare_sigmas(parser.parse_args())


if __name__ == "__main__":
    main()
