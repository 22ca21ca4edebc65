"""ε-Track-and-Stop: track the optimal proportions w_F(μ_t) of the estimate.

Garivier & Kaufmann (2016) for best arms; with the furthest answer for ε-best ones, Garivier &
Kaufmann (2021) and Degenne & Koolen (2019). The paper runs it on 500 random allocations; here w_F
is solved to a certified gap at every round. `grid=500` is the paper's way, for reproduction only.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.errors import StrategyError
from furthest.kernels.alternatives import SAME
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector
from furthest.kernels.oracle import Oracle, furthest_design, oracle_for
from furthest.kernels.tracking import catch_up, most_behind
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task

TINY = 1e-300
# Distances of a grid: 800 megabytes.
MOST_PAIRS = 100_000_000


class EpsTas(NamedTuple):
    """Oracle and cumulative proportions."""

    oracle: Oracle
    gap: float  # relative gap to which w_F(μ_t) is solved
    cumulative: Vector  # (K,) W, the sum of all proportions
    grid: Matrix  # (G, K) allocations to choose from instead of solving; none by default
    nearness: NDArray[np.float64]  # (G, Z, Z) 1/‖z − c·x‖² in V_w⁻¹ for each of them


def start(task: Task, *, gap: float = 1e-3, grid: int = 0) -> EpsTas:
    """The state before the first round; `grid` random allocations as in the paper, or none."""
    if grid < 0 or grid != int(grid):
        raise StrategyError(f"grid must be a number of allocations, not {grid:g}")
    arms, answers = task.arms.shape[0], task.answers.shape[0]
    if grid * answers**2 > MOST_PAIRS:
        raise StrategyError(
            f"a grid of {grid:g} allocations has a distance for each pair of answers, which for "
            f"{answers:,} of them is too much: without a grid they are solved for"
        )
    cumulative = np.bincount(task.initial, minlength=arms).astype(float)
    allocations = np.random.default_rng(0).dirichlet(np.ones(arms), int(grid))
    return EpsTas(oracle_for(task), gap, cumulative, allocations, _nearness(task, allocations))


def _nearness(task: Task, allocations: Matrix) -> NDArray[np.float64]:
    """Infinite where z − c·x vanishes: such a pair cannot be confused."""
    answers = task.answers.shape[0]
    result = np.zeros((len(allocations), answers, answers))
    for near, weights in zip(result, allocations, strict=True):
        information = task.arms.T @ (weights[:, None] * task.arms)
        gram = task.answers @ np.linalg.solve(information, task.answers.T)
        own = np.diag(gram)
        squares = own[:, None] - 2 * task.c * gram + task.c**2 * own
        near[:] = np.where(squares > SAME * own[:, None], 1 / np.maximum(squares, TINY), np.inf)
    return result


@kernel
def choose(rule: EpsTas, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """C-tracking of w_F(μ_t); arms that fall behind √t − K/2 are explored first.

    Paper: ε-TaS.
    """
    cumulative = rule.cumulative
    if not catch_up(evidence.counts, cumulative, evidence.clock[Clock.ROUNDS]):
        weights = rule.oracle.weights[0]
        if rule.grid.shape[0] > 0:
            weights = rule.grid[best_of_grid(rule.nearness, evidence.values, task.c, task.e)]
        else:
            answer = furthest_design(rule.oracle, task, evidence.values, rule.gap)
            weights = rule.oracle.weights[rule.oracle.places[answer]]
        for a in range(cumulative.shape[0]):
            cumulative[a] += weights[a]
    return most_behind(evidence.counts, cumulative, 1.0)


@kernel
def best_of_grid(nearness: NDArray[np.float64], values: Vector, c: float, e: float) -> int:
    """The allocation with the largest max over ε-best z of min over x of n_x²/‖z − c·x‖².

    Paper: simplex grid.
    """
    highest, best = 0.0, 0
    for g in range(nearness.shape[0]):
        for z in range(values.shape[0]):
            lowest = math.inf
            for x in range(values.shape[0]):
                margin = max(values[z] - c * values[x] + e, 0.0)
                distance = margin * margin * nearness[g, z, x]
                # Infinite times zero is NaN, and loses the comparison; `min` need not ignore it.
                if x != z and distance < lowest:
                    lowest = distance
            if lowest > highest:
                highest, best = lowest, g
    return best


RULE = Rule(
    name="eps-tas",
    start=start,
    choose=choose,
    source="Garivier & Kaufmann (2016, 2021), Degenne & Koolen (2019): ε-Track-and-Stop",
    optimality="asymptotically optimal where the furthest answer is unique",
)
