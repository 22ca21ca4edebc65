"""Distances to the closest alternative against a quadratic programme."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from furthest.kernels.alternatives import contrast_norms, margin, nearest, statistic
from furthest.problem import Problem
from oracles.plain import Plain, compiled, constants, halfspace_distance, rivals
from strategies import observed


def reward_scale(plain):
    """Margins are differences of values: this much of them is rounding."""
    return 1e-13 * (np.abs(plain.values).max() + plain.e)


@given(observed())
def test_statistic_is_the_distance_of_a_quadratic_programme(case):
    """Paper: Equation 5, likelihood ratio, Lemma C.2."""
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    for z in range(len(problem.answers)):
        found, x = statistic(problem.task, evidence, z, -math.inf)
        others = rivals(problem, z)
        if not others:
            assert (found, x) == (math.inf, -1)
            continue
        expected = {}
        for rival in others:
            y, n = plain.contrast(z, rival)
            expected[rival] = halfspace_distance(plain.matrix, y, n)
        best = min(expected.values())
        y, n = plain.contrast(z, x)
        slack = reward_scale(plain) ** 2 / (y @ plain.inverse @ y)
        assert found == pytest.approx(best, rel=1e-7, abs=1e-9 + slack)
        assert expected[x] == pytest.approx(best, rel=1e-7, abs=1e-9 + slack)


@given(observed())
def test_the_closest_alternative_satisfies_the_optimality_conditions(case):
    """Paper: Lemma C.1, Lemma C.2."""
    # λ = μ − n/‖y‖²·V⁻¹y is on the edge of the half-space, V(μ − λ) is a positive multiple of y,
    # and its distance is the one returned: that characterises the projection.
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    for z in range(len(problem.answers)):
        found, x = statistic(problem.task, evidence, z, -math.inf)
        if x < 0 or found == 0.0:
            continue
        y, n = plain.contrast(z, x)
        dual = plain.inverse @ y
        closest = plain.estimate - n / (y @ dual) * dual
        size = np.abs(plain.estimate).max() + np.abs(closest).max()
        scale = np.abs(problem.answers).max() * size + plain.e
        assert closest @ y + plain.e == pytest.approx(0, abs=1e-9 * scale)
        gap = plain.estimate - closest
        assert gap @ plain.matrix @ gap == pytest.approx(found, rel=1e-6, abs=1e-12)
        values = problem.answers @ closest
        assert values[z] <= plain.c * values.max() - plain.e + 1e-9 * scale


@given(observed(), st.data())
def test_any_alternative_is_at_least_as_far(case, data):
    """Paper: alternatives."""
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    rng = np.random.default_rng(data.draw(st.integers(0, 1000)))
    d = problem.arms.shape[1]
    root = np.linalg.cholesky(plain.inverse)
    steps = rng.standard_normal((200, d)) * np.exp(rng.uniform(-3, 3, (200, 1)))
    points = plain.estimate + steps @ root.T
    values = points @ problem.answers.T
    for z in range(len(problem.answers)):
        found, _ = statistic(problem.task, evidence, z, -math.inf)
        others = values[:, rivals(problem, z)].max(axis=1, initial=-np.inf)
        wrong = values[:, z] < plain.c * others - plain.e - 1e-9
        reach = (steps**2).sum(axis=1)
        assert (reach[wrong] >= found * (1 - 1e-9) - 1e-12).all()


@given(observed())
def test_giving_up_early_only_happens_below_the_limit(case):
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    for z in range(len(problem.answers)):
        exact, _ = statistic(problem.task, evidence, z, -math.inf)
        for distance in plain.distances(z).values():
            for limit in (0.5 * distance, 0.99 * distance, 1.01 * distance):
                found, _ = statistic(problem.task, evidence, z, limit)
                assert found == exact or exact <= found < limit


@given(observed(), st.lists(st.floats(0.01, 1), min_size=7, max_size=7))
def test_other_metrics(case, weights):
    """Paper: Lemma C.1."""
    # The sampling rule asks for the alternative closest in V_w, w on the simplex.
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    w = np.array(weights[: len(problem.arms)])
    w /= w.sum()
    task = problem.task
    white = task.arms.T @ (task.arms * w[:, None])
    duals = np.linalg.solve(white, task.answer_columns)
    metric = problem.arms.T @ (problem.arms * w[:, None]) / problem.sigma**2
    norms = np.zeros(len(problem.answers))
    for z in range(len(problem.answers)):
        own = contrast_norms(task.answer_columns, duals, z, task.c, norms)
        found, x = nearest(task, evidence.values, z, norms, own, -math.inf)
        expected = [
            halfspace_distance(metric, *plain.contrast(z, rival)) for rival in rivals(problem, z)
        ]
        if x < 0:
            assert not expected
            continue
        y, _ = plain.contrast(z, x)
        slack = reward_scale(plain) ** 2 / (y @ np.linalg.solve(metric, y))
        assert found == pytest.approx(min(expected), rel=1e-7, abs=1e-9 + slack)


@given(observed())
def test_margin(case):
    """Paper: alternatives."""
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    c, e = constants(problem)
    for z in range(len(problem.answers)):
        for x in range(len(problem.answers)):
            expected = plain.values[z] - c * plain.values[x] + e
            found = margin(problem.task, evidence.values, z, x) * problem.sigma
            assert found == pytest.approx(expected, abs=1e-9 * (1 + np.abs(plain.values).max()))


def measured(problem, rewards):
    return compiled(problem, list(enumerate(rewards)))


def test_equal_answers_are_no_alternatives_to_each_other():
    problem = Problem(np.eye(2), [[1, 0], [1, 0], [0, 1]], eps=0.1)
    evidence = measured(problem, [1.0, 0.0])
    # Only e2 counts: margin 1 + 0.1, ‖e1 − e2‖² = 2.
    assert statistic(problem.task, evidence, 0, -math.inf) == (pytest.approx(1.1**2 / 2), 2)
    only_equal = Problem([[1.0]], [[1.0], [1.0]], eps=0.1)
    assert statistic(only_equal.task, measured(only_equal, [1.0]), 0, -math.inf) == (math.inf, -1)


def test_an_answer_that_is_epsilon_best_by_definition():
    # z = (1 − ε)x has exactly the value that is good enough, whatever μ is.
    problem = Problem([[1.0]], [[1.0], [0.9]], eps=0.1, notion="multiplicative")
    evidence = measured(problem, [2.0])
    assert statistic(problem.task, evidence, 1, -math.inf) == (math.inf, -1)
    # Answer 0 loses to answer 1 only where the values are negative: at λ = 0, two units away.
    assert statistic(problem.task, evidence, 0, -math.inf) == (pytest.approx(4.0), 1)


def test_one_dimension_by_hand():
    problem = Problem([[2.0]], [[1.0], [-1.0]], eps=0.5, sigma=2.0)
    evidence = measured(problem, [3.0])
    # μ = 1.5 and V = 4/4; z loses to x where 2λ + 0.5 ≤ 0, λ = −0.25: distance 1.75.
    assert statistic(problem.task, evidence, 0, -math.inf) == (pytest.approx(1.75**2), 1)
    assert statistic(problem.task, evidence, 1, -math.inf) == (0.0, 0)
