"""Sticky Track-and-Stop, every round against plain NumPy and cold solves."""

import math

import numpy as np
import pytest

import furthest as ft
from furthest.instances import Instance
from furthest.preparation import prepare
from oracles.replay import instances
from oracles.steps import distances, furthest, last_step, near_best, shapes, steps, value

ROUNDS = 200


def region(instance: Instance, data, directions, power: float) -> list:
    """The points μ_t + √(2 ln f(t)) L⁻ᵀu, formed in the task's coordinates, where L belongs."""
    problem = instance.problem
    basis = problem._basis
    matrix = basis.T @ (data.arms.T * data.counts) @ data.arms @ basis
    root = np.linalg.inv(np.linalg.cholesky(matrix)).T
    radius = math.sqrt(2 * power * math.log(data.t))
    return [data.estimate + basis @ (radius * root @ u) for u in directions]


@pytest.mark.parametrize("instance", [*instances(), *shapes()], ids=lambda instance: instance.name)
@pytest.mark.parametrize("options", [{}, {"points": 1}, {"points": 12, "power": 0.3}], ids=str)
def test_every_round_is_as_the_formulas_say(instance: Instance, options: dict) -> None:
    """Paper: Sticky TaS."""
    problem = instance.problem
    count, designs = len(problem.arms), 0
    order = list(range(len(problem.answers)))[::-1]
    for step in steps("sticky-tas", instance, ROUNDS, order=order, **options):
        data, mu = step.data, step.data.estimate
        behind = data.counts - step.after
        assert behind[step.arm] <= behind.min() + 1e-9
        least = math.sqrt(data.t) - count / 2
        hungry = data.counts <= least
        if hungry.any():
            assert step.weights == pytest.approx(hungry / hungry.sum(), abs=1e-12)
            continue
        points = region(instance, data, step.rule.directions, options.get("power", 1.0))
        answers = [furthest(problem, point) for point in points]
        answer = int(step.rule.found[0])
        assert any(answer in tied for tied in answers)
        # Where several are furthest at one point, any of them counts.
        assert all(order.index(answer) <= max(map(order.index, tied)) for tied in answers)
        best = value(problem, mu, answer) if answer in near_best(problem, mu) else 0.0
        if best > 0:
            reached = distances(problem, mu, answer, step.weights).min()
            assert best * (1 - 1.01e-3) <= reached <= best * (1 + 1e-6)
            designs += 1
        else:
            assert step.weights == pytest.approx(np.full(count, 1 / count))
    assert step.after.sum() == pytest.approx(ROUNDS)
    assert np.abs(data.counts - step.before).max() < count
    assert designs > 0


def test_points_lie_on_the_region() -> None:
    """All but the estimate at the same distance, ½‖μ' − μ_t‖²_V = ln t, and no two alike."""
    instance = instances()[2]
    step = last_step("sticky-tas", instance, 40, points=20)
    data = step.data
    points = region(instance, data, step.rule.directions, 1.0)
    matrix = (data.arms.T * data.counts) @ data.arms
    offsets = [point - data.estimate for point in points]
    halves = [0.5 * y @ matrix @ y for y in offsets]
    assert halves[0] == 0
    assert halves[1:] == pytest.approx(np.full(19, math.log(data.t)))
    assert len(np.unique(np.round(points, 9), axis=0)) == 20


def test_sticks_where_two_answers_are_furthest() -> None:
    """Two equally good answers: ε-TaS wavers between their allocations, the rule does not."""
    problem = ft.Problem(np.eye(3), eps=0.3)
    instance = Instance("symmetric", problem, np.array([1.0, 1.0, 0.0]))
    answers = [int(s.rule.found[0]) for s in steps("sticky-tas", instance, 4000)]
    assert set(answers[-2000:]) == {0}
    reverse = [int(s.rule.found[0]) for s in steps("sticky-tas", instance, 4000, order=[2, 1, 0])]
    assert set(reverse[-2000:]) == {1}


@pytest.mark.parametrize(("notion", "arms"), [("multiplicative", "all"), ("additive", "basis")])
def test_stops_near_the_limit_on_the_hard_instance(notion: str, arms: str) -> None:
    instance = ft.hard(notion=notion, arms=arms)
    strategy = ft.Strategy("sticky-tas", threshold="paper")
    results = ft.simulate(instance.problem, instance.truth, strategy, runs=400, seed=1)
    low, high = {"multiplicative": (330, 480), "additive": (260, 390)}[notion]
    assert low < results.stopping_times.mean() < high
    assert results.correct.mean() > 0.98


@pytest.mark.parametrize(
    ("options", "message"),
    [({"points": 0}, "one point"), ({"power": 0}, "power"), ({"order": [0, 1, 1, 2]}, "order")],
)
def test_options_are_checked(options: dict, message: str) -> None:
    strategy = ft.Strategy("sticky-tas", options=options)
    with pytest.raises(ft.errors.StrategyError, match=message):
        prepare(strategy, ft.hard().problem.task, [0.01])
