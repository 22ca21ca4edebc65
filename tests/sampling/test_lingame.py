"""LinGame against plain NumPy, and the invariants of its game."""

import math
from typing import Any

import numpy as np
import pytest

from furthest.errors import StrategyError
from furthest.instances import Instance, hard, random
from oracles.game import GreedyGame
from oracles.replay import Array, Data, compiled, independent, instances

ROUNDS = 200


def widths(data: Data) -> Array:
    return np.einsum("ai,ij,aj->a", data.arms, data.inverse, data.arms)


@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_pulls_what_the_formulas_say(instance: Instance) -> None:
    """Paper: LinGame."""
    game = GreedyGame(len(instance.problem.arms), widths)
    ran = compiled("lingame", instance, ROUNDS, seed=3)
    assert ran.arms == independent(game.choose, instance, ROUNDS, seed=3)


@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_with_the_ridge_and_the_cap_of_the_public_code(instance: Instance) -> None:
    game = GreedyGame(len(instance.problem.arms), widths, cap=2.0)
    ran = compiled("lingame", instance, ROUNDS, seed=3, ridge=1.0, threshold="paper", cap=2.0)
    assert ran.arms == independent(game.choose, instance, ROUNDS, seed=3, ridge=1.0)
    assert ran.arms != compiled("lingame", instance, ROUNDS, seed=3, cap=2.0).arms


@pytest.mark.parametrize("rule", ["lingame", "dkm"])
@pytest.mark.parametrize("cap", [0, -1.0, True, "2", math.nan])
def test_bad_caps(rule: str, cap: Any) -> None:
    with pytest.raises(StrategyError, match=f"cap of {rule} must be a positive number"):
        compiled(rule, hard(), 1, seed=3, cap=cap)


@pytest.mark.parametrize(
    "instance", [hard(), random(d=12, seed=3)], ids=lambda instance: instance.name
)
def test_game_keeps_its_invariants(instance: Instance) -> None:
    ran = compiled("lingame", instance, 3000, seed=3, delta=1e-300)
    game = ran.rule.game
    assert ran.counts.sum() == 3000
    assert game.weights.sum() == pytest.approx(1)
    assert (game.weights >= 0).all()
    assert game.cumulative.sum() == pytest.approx(3000)
    # C-tracking: N − W is below 1 for the arm just pulled, and the deficits add up to no more.
    assert np.abs(ran.counts - game.cumulative).max() < len(ran.counts)
    assert np.isfinite(game.losses).all()


def test_only_greedy_answers_have_learnt() -> None:
    """The second answer is opposite to the best one: it is never greedy, its learner untouched."""
    instance = hard()
    game = compiled("lingame", instance, 300, seed=3, delta=1e-300).rule.game
    learnt = np.flatnonzero(game.gaps[:, 0])
    assert 0 in learnt
    assert (game.losses[np.setdiff1d(np.arange(4), learnt)] == 0).all()
