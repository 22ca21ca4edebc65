"""LinGapE against plain NumPy, and what it must do where nothing is left to tell apart."""

import numpy as np
import pytest

import furthest as ft
from furthest.instances import Instance
from oracles.replay import Data, compiled, independent, instances, least, paper_threshold

ROUNDS = 200


def choose(data: Data) -> int:
    values, inverse = data.answers @ data.estimate, data.inverse
    width = paper_threshold(data, 0.01)
    z = int(values.argmax())
    y = data.answers - data.answers[z]
    optimism = y @ data.estimate + np.sqrt(np.einsum("xi,ij,xj->x", y, inverse, y) * width)
    optimism[z] = -np.inf
    y = y[int(optimism.argmax())]
    matrix = np.linalg.inv(inverse)
    after = [y @ np.linalg.inv(matrix + np.outer(a, a)) @ y for a in data.arms]
    return least(after, data.counts)


@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_pulls_what_the_formulas_say(instance: Instance) -> None:
    """Paper: LinGapE."""
    ran = compiled("lingape", instance, ROUNDS, seed=3, threshold="paper")
    assert ran.arms == independent(choose, instance, ROUNDS, seed=3)
    assert ran.counts.sum() == ROUNDS


def test_width_follows_delta() -> None:
    instance = instances()[2]
    calm = compiled("lingape", instance, ROUNDS, seed=3, delta=0.01, threshold="paper")
    strict = compiled("lingape", instance, ROUNDS, seed=3, delta=1e-30, threshold="paper")
    assert calm.arms != strict.arms
    with pytest.raises(ft.errors.StrategyError, match="depends on δ"):
        ft.simulate(instance.problem, instance.truth, ft.Strategy("lingape"), delta=[0.1, 0.01])


def test_equal_answers_are_never_rivals() -> None:
    """Two copies of the best answer: with nothing else to tell apart, every arm in turn."""
    arms = np.eye(2)
    problem = ft.Problem(arms, [[1.0, 1.0], [1.0, 1.0]], eps=0.5, notion="multiplicative")
    ran = compiled("lingape", Instance("copies", problem, np.array([0.1, 0.1])), 20, seed=1)
    assert ran.counts.tolist() == [10, 10]
