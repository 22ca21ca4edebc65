"""The closest alternative against a general optimiser, also where the weights forget directions."""

import math

import numpy as np
import pytest
from scipy.optimize import minimize

from furthest.kernels.evidence import Evidence, no_evidence, take_in
from furthest.kernels.game import closest_alternative, nature, optimistic_gains
from furthest.problem import Notion, Problem
from furthest.task import Task


def measured(task: Task, mu: np.ndarray, seed: int) -> Evidence:
    """A few measurements of every arm."""
    rng = np.random.default_rng(seed)
    evidence = no_evidence(task)
    for arm in [*range(len(task.arms))] * 5:
        take_in(task, evidence, arm, float(task.arms[arm] @ mu + rng.normal()))
    return evidence


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
@pytest.mark.parametrize("seed", range(8))
def test_is_the_closest_alternative(seed: int, notion: Notion) -> None:
    """Paper: closest alternative."""
    rng = np.random.default_rng(seed)
    arms, answers = rng.normal(size=(5, 3)), rng.normal(size=(4, 3))
    problem = Problem(arms, answers, 0.1, notion)
    task = problem.task
    evidence = measured(task, problem.whiten(rng.normal(size=3) * 2), seed)
    z = int(evidence.values.argmax())
    weights = rng.dirichlet(np.ones(5))
    player = nature(task)
    scale = closest_alternative(player, task, evidence, z, weights)
    shift = scale * player.direction

    matrix = (task.arms.T * weights) @ task.arms
    found = []
    for x in set(range(4)) - {z}:
        y = task.answers[z] - task.c * task.answers[x]
        half_space = {
            "type": "ineq",
            "fun": lambda s, y=y: y @ (s - evidence.estimate) - task.e,
        }
        start = np.zeros(3)
        best = minimize(lambda s: s @ matrix @ s, start, constraints=[half_space], tol=1e-12)
        found.append(best.fun)
    assert shift @ matrix @ shift == pytest.approx(min(found), rel=1e-5, abs=1e-8)


def test_forgotten_directions_gain_most() -> None:
    """All weight on one of two arms: the alternative moves along the other, at almost no cost."""
    problem = Problem(np.eye(2), eps=0.1)
    task = problem.task
    evidence = measured(task, problem.whiten([1.0, 0.0]), 0)
    player, gains = nature(task), np.zeros(2)
    scale = closest_alternative(player, task, evidence, 0, np.array([1.0, 0.0]))
    optimistic_gains(
        task.arm_columns, player.direction, scale, evidence.widths, 0.0, math.inf, math.inf, gains
    )
    margin = evidence.values[0] - evidence.values[1] + task.e
    assert gains == pytest.approx([0, margin**2], rel=1e-3, abs=1e-3)


def test_gains_are_optimistic_up_to_the_cap() -> None:
    """Paper: Equation 21."""
    arms = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    gains = np.zeros(3)
    direction, widths = np.array([1.0, -0.5]), np.array([0.25, 1.0, 0.0])
    optimistic_gains(np.ascontiguousarray(arms.T), direction, 2.0, widths, 4.0, 9.0, 10.0, gains)
    assert gains == pytest.approx([9.0, 10.0, 1.0])
    optimistic_gains(np.ascontiguousarray(arms.T), direction, 2.0, widths, 4.0, 0.25, 99.0, gains)
    assert gains == pytest.approx([6.25, 6.25, 1.0])
