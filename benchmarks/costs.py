"""What sampling by cost saves.

Mean cost ± standard error of runs until they stop, with the default stopping test: softmin with the
gains divided by cost^p, p = 0 being blind to costs; LεBAI; and LεBAI's game about what one unit of
money buys (arms a/√c, money tracked), which is only here, since it lost. The instances were fixed
before any of these was run on them.

    python benchmarks/costs.py --runs 300
"""

import argparse
import math
from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import furthest as ft
from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.game import closest_alternative, optimistic_gains
from furthest.kernels.jit import kernel
from furthest.kernels.learners import learn, learner_weights
from furthest.kernels.tracking import TIE, explore
from furthest.sampling import lebai
from furthest.stopping.nomination import Stopping
from furthest.task import Task

Array = NDArray[np.float64]

SIX = np.array([1.0, 0.6, 0.45, 0.3, 0.15, 0.0])
CLICKS = np.linspace(0.06, 0.03, 6)
POWERS = (0.0, 0.25, 0.5, 1.0)


class Instance(NamedTuple):
    """A problem with costs, and its truth."""

    name: str
    problem: ft.Problem
    mu: Array


def by_sigma() -> Iterator[Instance]:
    """Known σ = 1: the test `ranked`."""
    for costs in ([1, 4] * 3, [4, 1] * 3, [1] * 5 + [20], [20] + [1] * 5):
        six = ft.Problem.options(list("ABCDEF"), eps=0.2, costs=costs)
        yield Instance(f"six {','.join(map(str, costs))}", six, SIX)
    names, dearer = [str(i) for i in range(10)], np.arange(1.0, 11.0)
    ten = ft.Problem.options(names, eps=0.2, costs=dearer)
    yield Instance("ten 1…10", ten, np.linspace(1, -0.8, 10))
    factors = {"a": [0, 1, 2], "b": [0, 1, 2], "c": [0, 1]}
    effects = np.array([0.0, 0.5, 0.2, 0.4, 0.1, 0.6])
    factorial = ft.Problem.factorial(factors, eps=0.2, costs=[1, 5] * 9)
    yield Instance("factorial 3×3×2 1,5", factorial, effects)
    found = ft.random(d=6, seed=3, notion="additive")
    asked = found.problem
    priced = [1 + 3 * (arm % 3) for arm in range(len(asked.arms))]
    drawn = ft.Problem(asked.arms, asked.answers, asked.eps, costs=priced)
    yield Instance("random d = 6 1,4,7", drawn, found.truth)
    two = ft.Problem.options(["A", "B"], eps=0.3, costs=[1, 10])
    yield Instance("two 1,10", two, np.array([0.5, 0.0]))


def by_bounds() -> Iterator[Instance]:
    """Yes or no: the tests that go by bounds."""
    for costs in ([1, 4] * 3, [4, 1] * 3, [1] * 5 + [20], [20] + [1] * 5):
        six = ft.Problem.options(list("ABCDEF"), eps=0.01, bounds=(0, 1), costs=costs)
        yield Instance(f"yes/no six {','.join(map(str, costs))}", six, CLICKS)
    four = ft.Problem.options(list("ABCD"), eps=0.02, bounds=(0, 1), costs=[1, 4] * 2)
    yield Instance("yes/no four 1,4,1,4", four, np.array([0.93, 0.90, 0.88, 0.85]))
    for costs in ([1, 4], [4, 1]):
        two = ft.Problem.options(["A", "B"], eps=0.02, bounds=(0, 1), costs=costs)
        yield Instance(f"yes/no two {','.join(map(str, costs))}", two, np.array([0.15, 0.1]))
    factors = {"a": [0, 1], "b": [0, 1], "c": [0, 1]}
    factorial = ft.Problem.factorial(factors, eps=0.05, bounds=(0, 1), costs=[1, 5] * 4)
    yield Instance("yes/no factorial 2³ 1,5", factorial, np.array([0.2, 0.1, 0.05, 0.03]))


class Bought(NamedTuple):
    """LεBAI's game, whose weights are shares of the money."""

    game: lebai.Lebai
    costs: Array  # (K,) the cheapest has 1
    shares: Array  # (K,) of measurements


def start(task: Task) -> Bought:
    """Before the first round."""
    costs = task.costs / task.costs.min()
    game = lebai.start(task)
    game.cumulative[:] *= costs
    return Bought(game, costs, np.zeros(len(costs)))


@kernel
def choose(state: Bought, task: Task, evidence: Evidence, stopping: Stopping) -> int:  # noqa: ARG001
    """One round: the arm on which least money was spent beside what the learner has put there."""
    rule, costs, shares = state.game, state.costs, state.shares
    this_round = evidence.clock[Clock.ROUNDS] + 1
    answer, _ = instantaneous_furthest(task, evidence)
    learner_weights(rule.learner, rule.played)
    share = 1.0 / this_round
    explore(rule.played, share, rule.weights)
    for a in range(costs.shape[0]):
        shares[a] = rule.weights[a] / costs[a]
    scale = closest_alternative(rule.nature, task, evidence, answer, shares)
    log_round = math.log(this_round)
    bonus = 2.0 * log_round
    columns, direction, widths = task.arm_columns, rule.nature.direction, evidence.widths
    optimistic_gains(columns, direction, scale, widths, bonus, math.inf, log_round, rule.gains)
    spent = target = 0.0
    for a in range(costs.shape[0]):
        rule.gains[a] *= (1.0 - share) / costs[a]
        rule.cumulative[a] += rule.weights[a]
        spent += evidence.counts[a] * costs[a]
        target += rule.cumulative[a]
    learn(rule.learner, rule.played, rule.gains)
    best, where = math.inf, 0
    for a in range(costs.shape[0]):
        lead = evidence.counts[a] * costs[a] - rule.cumulative[a] / target * spent
        if lead < best - TIE:
            best, where = lead, a
    return where


GAME = ft.Rule("game", start, choose)


def strategies() -> dict[str, ft.Strategy]:
    """The columns of the table."""
    softmin = {f"p = {p:g}": ft.Strategy("softmin", options={"power": p}) for p in POWERS}
    return softmin | {"LεBAI": ft.Strategy("lebai"), "game": ft.Strategy(GAME)}


def table(instances: Sequence[Instance], options: argparse.Namespace) -> None:
    """One line for each instance."""
    columns = strategies()
    print("| instance | " + " | ".join(columns) + " | errors |")
    print("|---" * (len(columns) + 2) + "|", flush=True)
    ratios: dict[str, list[float]] = {name: [] for name in columns}
    for name, problem, mu in instances:
        cells, errors, blind = [], [], math.nan
        for column, strategy in columns.items():
            how = (options.delta, options.runs, options.seed)
            row = ft.simulate(problem, mu, strategy, *how, quiet=True).summary()[0]
            cost, error = row.cost or math.nan, row.cost_sem or math.nan
            blind = cost if column == "p = 0" else blind
            ratios[column].append(cost / blind)
            cells.append(f"{cost:,.0f} ± {error:,.0f}")
            errors.append(row.errors + row.unstopped)
        print(f"| {name} | {' | '.join(cells)} | {', '.join(map(str, errors))} |", flush=True)
    means = [f"{math.exp(float(np.log(each).mean())):.2f}" for each in ratios.values()]
    print(f"| × p = 0, geometric mean | {' | '.join(means)} | |", flush=True)


def main() -> None:
    """Two tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--delta", type=float, default=0.05)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--noise", choices=["sigma", "bounds", "both"], default="both")
    options = parser.parse_args()
    if options.noise != "bounds":
        table(list(by_sigma()), options)
    if options.noise != "sigma":
        table(list(by_bounds()), options)


if __name__ == "__main__":
    main()
