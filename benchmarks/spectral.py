"""What a bound on the parameter saves: ten options in a row whose values change slowly.

Stopping times with and without the bound, with the bound at the true roughness and half as much
more, and the least that any strategy needs.

    python benchmarks/spectral.py --runs 400
"""

import argparse

import numpy as np

import furthest as ft

MU = np.array([0, 0.05, 0.1, 0.15, 0.2, 0.25, 0.2, 0.15, 0.1, 0.05])
EDGES = [(i, i + 1) for i in range(len(MU) - 1)]
ROUGHNESS = float((np.diff(MU) ** 2).sum())
DELTA = 0.05

STRATEGIES = {
    "LεBAI, glr theory": ft.Strategy("lebai", threshold="theory"),
    "LεBAI, smooth theory": ft.Strategy("lebai", stopping="smooth", threshold="theory"),
    "spectral-tas, smooth theory": ft.Strategy(
        "spectral-tas", stopping="smooth", threshold="theory"
    ),
    "LεBAI, glr mixture": ft.Strategy("lebai", threshold="mixture"),
    "LεBAI, smooth mixture": ft.Strategy("lebai", stopping="smooth"),
    "spectral-tas, smooth mixture": ft.Strategy("spectral-tas", stopping="smooth"),
    "LεBAI, top-wrong": ft.Strategy("lebai", stopping="top-wrong"),
}


def main() -> None:
    """Read the command line, simulate, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    for factor in (1.0, 1.5):
        problem = ft.Problem.spectral(EDGES, factor * ROUGHNESS, eps=0.1, sigma=0.2)
        price = ft.complexity(problem, MU)
        free = ft.complexity(ft.Problem(np.eye(len(MU)), eps=0.1, sigma=0.2), MU)
        print(f"R = {factor:g} S_G(μ): T_ε = {price.T:.2f}, without bound {free.T:.2f}")
        for name, strategy in STRATEGIES.items():
            results = ft.simulate(problem, MU, strategy, DELTA, options.runs, options.seed)
            found = results.summary()[0]
            print(
                f"  {name:29s} {found.mean:7.1f} ± {found.sem:5.1f}  wrong {found.errors}",
                flush=True,
            )


if __name__ == "__main__":
    main()
