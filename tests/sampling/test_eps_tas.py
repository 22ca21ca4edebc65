"""ε-Track-and-Stop on the paper's grid of allocations."""

import numpy as np
import pytest

import furthest as ft
from furthest.errors import StrategyError
from furthest.problem import Problem
from furthest.sampling import eps_tas


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
def test_best_of_grid_by_brute_force(notion):
    """Paper: simplex grid."""
    rng = np.random.default_rng(2)
    arms, answers = rng.standard_normal((4, 3)), rng.standard_normal((5, 3))
    problem = Problem(arms, np.vstack([answers, 1.5 * answers[:1]]), eps=0.3, notion=notion)
    task = problem.task
    state = eps_tas.start(task, grid=40)
    assert state.grid.sum(axis=1) == pytest.approx(np.ones(40))
    for _ in range(20):
        mu = rng.standard_normal(3)
        values = task.answers @ mu
        best = np.zeros(40)
        for g, weights in enumerate(state.grid):
            inverse = np.linalg.inv((task.arms.T * weights) @ task.arms)
            for z in range(6):
                differences = task.answers[z] - task.c * np.delete(task.answers, z, axis=0)
                margins = differences @ mu + task.e
                distances = margins**2 / np.einsum("xi,ij,xj->x", differences, inverse, differences)
                if (margins >= 0).all():
                    best[g] = max(best[g], distances.min())
        chosen = eps_tas.best_of_grid(state.nearness, values, task.c, task.e)
        assert best[chosen] == pytest.approx(best.max())


def test_grid_and_exact_solver_stop_at_about_the_same_time():
    """Paper: ε-TaS, simplex grid."""
    instance = ft.hard(arms="basis")
    means = [
        ft.simulate(
            instance.problem,
            instance.truth,
            ft.Strategy("eps-tas", stopping="glr", options=options),
            runs=300,
        )
        for options in ({}, {"grid": 500})
    ]
    exact, grid = (results.summary()[0] for results in means)
    assert exact.mean == pytest.approx(grid.mean, abs=4 * np.hypot(exact.sem, grid.sem))
    assert (means[0].stopping_times != means[1].stopping_times).any()


@pytest.mark.parametrize("grid", [-1, 0.5])
def test_bad_grids(grid):
    with pytest.raises(StrategyError, match="grid"):
        eps_tas.start(ft.hard().problem.task, grid=grid)
