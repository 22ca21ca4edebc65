"""Lazy Track-and-Stop, every round against plain NumPy and cold solves."""

import math

import numpy as np
import pytest
from scipy.linalg import eigh

import furthest as ft
from furthest.instances import Instance
from furthest.preparation import prepare
from furthest.problem import spanning_arms
from oracles.replay import instances
from oracles.steps import distances, furthest, last_step, shapes, steps, value

ROUNDS = 300


def least_eigenvalue(arms, counts) -> float:
    """λ_min(V) where one pull of each arm counts as K·I, without any change of coordinates."""
    uniform = arms.T @ arms / len(arms)
    return float(eigh((arms.T * counts) @ arms, uniform, eigvals_only=True)[0])


@pytest.mark.parametrize("instance", [*instances(), *shapes()], ids=lambda instance: instance.name)
@pytest.mark.parametrize("ratio", [0.2, 1.0])
def test_every_round_is_as_the_formulas_say(instance: Instance, ratio: float) -> None:
    """Paper: Lazy TaS."""
    problem = instance.problem
    renewal, turn, weights, forced = 0, 0, None, 0
    for step in steps("lazy-tas", instance, ROUNDS, ratio=ratio):
        data, this_round = step.data, step.data.t + 1
        if this_round >= renewal:
            renewal = max(this_round + 1, math.ceil((1 + ratio) * this_round))
            weights = step.weights
            answers = furthest(problem, data.estimate)
            best = max(value(problem, data.estimate, z) for z in answers)
            if best > 0:
                reached = max(distances(problem, data.estimate, z, weights).min() for z in answers)
                assert best * (1 - 1.01e-3) <= reached <= best * (1 + 1e-6)
        assert step.weights == pytest.approx(weights, abs=1e-12)
        spanning, pace = step.rule.spanning, step.rule.pace
        if least_eigenvalue(data.arms, data.counts) < pace * math.sqrt(data.t):
            assert step.arm == spanning[turn]
            turn = (turn + 1) % len(spanning)
            forced += 1
        else:
            behind = data.counts - step.after
            assert behind[step.arm] <= behind.min() + 1e-9
            assert (behind[: step.arm] > behind[step.arm] - 1e-9).all()
    assert np.abs(step.after.sum() - ROUNDS) < 1e-9
    # Tracking, and what forced pulls may add to it.
    assert np.abs(data.counts - step.before).max() < len(data.counts) + forced


def test_spanning_arms_span_and_exploration_keeps_its_pace() -> None:
    rng = np.random.default_rng(5)
    arms = rng.normal(size=(30, 6))
    arms[rng.integers(30, size=10)] = arms[0]
    chosen = arms[spanning_arms(arms)]
    assert np.linalg.matrix_rank(chosen) == 6
    step = last_step("lazy-tas", ft.hard(), 3000)
    reached = least_eigenvalue(step.data.arms, step.data.counts)
    assert reached >= step.rule.pace * (math.sqrt(3000) - 2)


@pytest.mark.parametrize(("notion", "arms"), [("multiplicative", "all"), ("additive", "basis")])
def test_stops_near_the_limit_on_the_hard_instance(notion: str, arms: str) -> None:
    """ε-TaS needs 389 and 294; T_ε ln(1/δ) is 129 and 105, the threshold about three times that."""
    instance = ft.hard(notion=notion, arms=arms)
    strategy = ft.Strategy("lazy-tas", threshold="paper")
    results = ft.simulate(instance.problem, instance.truth, strategy, runs=400, seed=1)
    low, high = {"multiplicative": (330, 420), "additive": (260, 345)}[notion]
    assert low < results.stopping_times.mean() < high
    assert results.correct.mean() > 0.98


@pytest.mark.parametrize("ratio", [-0.1, math.inf])
def test_ratio_is_checked(ratio: float) -> None:
    strategy = ft.Strategy("lazy-tas", options={"ratio": ratio})
    with pytest.raises(ft.errors.StrategyError, match="ratio"):
        prepare(strategy, ft.hard().problem.task, [0.01])
