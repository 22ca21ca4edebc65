"""G-Static against plain NumPy and against the theorem of Kiefer and Wolfowitz."""

import numpy as np
import pytest

import furthest as ft
from furthest.instances import Instance
from oracles.replay import Data, compiled, independent, instances, least

ROUNDS = 200


def choose(data: Data) -> int:
    matrix = np.linalg.inv(data.inverse)
    worst = []
    for a in data.arms:
        inverse = np.linalg.inv(matrix + np.outer(a, a))
        worst.append(max(b @ inverse @ b for b in data.arms))
    return least(worst, data.counts)


@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_pulls_what_the_formulas_say(instance: Instance) -> None:
    """Paper: G-Static."""
    ran = compiled("g-static", instance, ROUNDS, seed=3)
    assert ran.arms == independent(choose, instance, ROUNDS, seed=3)
    assert ran.counts.sum() == ROUNDS


def test_is_blind_to_rewards() -> None:
    instance = instances()[2]
    one, other = (compiled("g-static", instance, ROUNDS, seed=seed).arms for seed in (1, 2))
    assert one == other


def test_approaches_the_optimal_design() -> None:
    """Kiefer & Wolfowitz (1960): the smallest possible max_a ‖a‖²_{V_w⁻¹} is d.

    In two dimensions the greedy design gets there; in higher ones it need not.
    """
    instance = ft.hard()
    arms = instance.problem.arms
    counts = compiled("g-static", instance, 3000, seed=3, delta=1e-300).counts
    inverse = np.linalg.inv((arms.T * (counts / 3000)) @ arms)
    assert 2 <= np.einsum("ai,ij,aj->a", arms, inverse, arms).max() < 2.02


def test_equal_pulls_for_equal_arms() -> None:
    """No pull makes the largest ‖a‖² smaller while others are as large: all arms are tied."""
    instance = Instance("basis", ft.Problem(np.eye(4), eps=0.01), np.array([0.2, 0.1, 0, 0]))
    assert compiled("g-static", instance, ROUNDS, seed=3).counts.tolist() == [50] * 4
