"""Draw the pictures of docs/idea.md and print its table: `python scripts/pictures.py`.

The same pictures, byte by byte, whenever they are drawn with the same Matplotlib.
"""

import argparse
from pathlib import Path

import numpy as np

import furthest as ft
from furthest import plots

# Two things can be measured, each of which is one feature; the answers are mixtures of the two.
PROBLEM = ft.Problem(
    np.eye(2),
    [[1.0, 0.0], [0.99, 0.32], [0.76, 0.93]],
    eps=0.2,
    arm_names=["x", "y"],
    answer_names=["A", "B", "C"],
)
MU = np.array([1.0, 0.0])
DELTAS = [0.1, 0.01, 1e-4, 1e-8]
STRATEGIES = {
    "softmin, furthest": ft.Strategy(),
    "softmin, greedy": ft.Strategy(candidate="greedy"),
    "uniform, furthest": ft.Strategy("uniform"),
}


def draw(folder: Path) -> ft.Complexity:
    """The pictures, in that folder."""
    folder.mkdir(parents=True, exist_ok=True)
    price = ft.complexity(PROBLEM, MU)
    plots.explain_apart(PROBLEM, MU, price, folder)
    return price


def rows(price: ft.Complexity, runs: int) -> list[str]:
    """The table, in Markdown: measurements until the answer."""
    limits = [f"{price.measurements(delta):.0f}" for delta in DELTAS]
    found = [_row("limit T_ε ln(1/δ)", limits)]
    for name, strategy in STRATEGIES.items():
        results = ft.simulate(PROBLEM, MU, strategy, delta=DELTAS, runs=runs, quiet=True)
        found.append(
            _row(name, [f"{each.mean:.0f} ± {each.sem:.1f}" for each in results.summary()])
        )
    return found


def _row(name: str, cells: list[str]) -> str:
    return f"| {name} | {' | '.join(cells)} |"


if __name__ == "__main__":
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--out", type=Path, default=Path("docs/images/idea"))
    options.add_argument("--runs", type=int, default=2000)
    given = options.parse_args()
    print(*rows(draw(given.out), given.runs), sep="\n")
