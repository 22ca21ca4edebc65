"""DKM against plain NumPy, and against LinGame where the two must agree."""

import numpy as np
import pytest

import furthest as ft
from furthest.instances import Instance
from oracles.game import GreedyGame
from oracles.replay import compiled, independent, instances

ROUNDS = 200


@pytest.mark.parametrize("cap", [1.0, 2.0])
@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_pulls_what_the_formulas_say(instance: Instance, cap: float) -> None:
    """Paper: DKM."""
    game = GreedyGame(len(instance.problem.arms), lambda data: 1 / data.counts, cap)
    ran = compiled("dkm", instance, ROUNDS, seed=3, cap=cap)
    assert ran.arms == independent(game.choose, instance, ROUNDS, seed=3)
    assert ran.counts.sum() == ROUNDS


def test_is_lingame_for_unstructured_arms() -> None:
    """Orthonormal arms: ‖a‖²_{V⁻¹} = 1/N_a."""
    problem = ft.Problem(np.eye(5), eps=0.01)
    instance = Instance("unstructured", problem, np.array([0.5, 0.45, 0.3, 0.2, 0.0]))
    one = compiled("dkm", instance, ROUNDS, seed=3)
    other = compiled("lingame", instance, ROUNDS, seed=3)
    assert one.arms == other.arms
