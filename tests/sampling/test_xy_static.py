"""𝒳𝒴-Static against plain NumPy and against a design that is known."""

from itertools import combinations

import numpy as np
import pytest

import furthest as ft
from furthest.instances import Instance
from oracles.replay import Data, compiled, independent, instances, least

ROUNDS = 200


def choose(data: Data) -> int:
    matrix = np.linalg.inv(data.inverse)
    differences = [z - x for z, x in combinations(data.answers, 2)]
    worst = []
    for a in data.arms:
        inverse = np.linalg.inv(matrix + np.outer(a, a))
        worst.append(max(y @ inverse @ y for y in differences))
    return least(worst, data.counts)


@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_pulls_what_the_formulas_say(instance: Instance) -> None:
    """Paper: XY-Static."""
    ran = compiled("xy-static", instance, ROUNDS, seed=3)
    assert ran.arms == independent(choose, instance, ROUNDS, seed=3)
    assert ran.counts.sum() == ROUNDS


def test_is_blind_to_rewards() -> None:
    instance = instances()[2]
    one, other = (compiled("xy-static", instance, ROUNDS, seed=seed).arms for seed in (1, 2))
    assert one == other


def test_bounds_hold_across_refreshes() -> None:
    """Rows skipped for their old bound are never the ones that decide."""
    instance = ft.random(d=12, seed=3)
    ran = compiled("xy-static", instance, 600, seed=3, delta=1e-300)
    inverse = np.linalg.inv((instance.problem.arms.T * ran.counts) @ instance.problem.arms)
    for i, bound in enumerate(ran.rule.plan.bounds[:-1]):
        y = instance.problem.answers[i] - instance.problem.answers[i + 1 :]
        assert np.einsum("xi,ij,xj->x", y, inverse, y).max() <= bound * (1 + 1e-9)


def test_equal_pulls_for_a_symmetric_question() -> None:
    instance = Instance("basis", ft.Problem(np.eye(4), eps=0.01), np.array([0.2, 0.1, 0, 0]))
    assert compiled("xy-static", instance, ROUNDS, seed=3).counts.tolist() == [50] * 4
