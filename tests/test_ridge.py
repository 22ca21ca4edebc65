"""Simulations with a ridge, against plain NumPy; and where a ridge may not go."""

import math

import numpy as np
import pytest
from numpy.random import PCG64, Generator, SeedSequence

from furthest import instances
from furthest.errors import InputError, StrategyError
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.simulation import simulate
from furthest.strategy import Strategy

HARD = instances.hard(sigma=2.0)
UNIFORM = Strategy("uniform", threshold="paper")


def statistic(problem, matrix, estimate):
    """The largest GLR statistic of an answer that is ε-best for the estimate."""
    answers, c = problem.answers, 1 - problem.eps
    values = answers @ estimate
    found = []
    for z in np.flatnonzero(values >= c * values.max()):
        contrasts = answers[z] - c * np.delete(answers, z, axis=0)
        norms = np.einsum("xi,ix->x", contrasts, np.linalg.solve(matrix, contrasts.T))
        found.append(((contrasts @ estimate) ** 2 / norms).min())
    return max(found, default=0.0)


def stopping_time(instance, delta, seed, run, ridge):
    """Arms in turn, ridge regression and the paper's threshold, in the user's coordinates."""
    problem = instance.problem
    arms, (k, d) = problem.arms, problem.arms.shape
    means = arms @ instance.truth / problem.sigma
    noise = Generator(PCG64(SeedSequence(seed, spawn_key=(run, 0))))
    matrix, moments, t = ridge * np.eye(d), np.zeros(d), 0
    while True:
        arm = t % k
        matrix += np.outer(arms[arm], arms[arm])
        moments += arms[arm] * (means[arm] + noise.standard_normal())
        t += 1
        needed = 4 * d * math.log(4 + math.log(max(t / d, 1))) + 2 * math.log(1 / delta)
        if t < k:
            continue
        estimate = np.linalg.solve(matrix, moments)
        if statistic(problem, matrix, estimate) > needed:
            return t


@pytest.mark.parametrize("ridge", [0.0, 1.0, 30.0])
def test_stopping_times_are_those_of_ridge_regression(ridge):
    results = simulate(HARD.problem, HARD.truth, UNIFORM, 0.3, 6, seed=5, ridge=ridge)
    expected = [stopping_time(HARD, 0.3, 5, run, ridge) for run in range(6)]
    assert results.stopping_times.tolist() == expected
    assert (results.ridge, results.to_dict()["ridge"]) == (ridge, ridge)


def test_workers_have_it_too():
    alone, two = (
        simulate(HARD.problem, HARD.truth, UNIFORM, 0.3, 6, seed=5, jobs=jobs, ridge=3.0)
        for jobs in (1, 2)
    )
    np.testing.assert_array_equal(alone.pulls, two.pulls)


@pytest.mark.parametrize(
    "parts",
    [
        {},
        {"threshold": "mixture"},
        {"threshold": "theory"},
        {"stopping": "gap", "threshold": "theory"},
        {"sampling": "xy-adaptive", "stopping": "elimination", "threshold": "theory"},
    ],
)
def test_nothing_proven_has_a_ridge(parts):
    problem = Problem(HARD.problem.arms, eps=0.05, notion="additive")
    strategy = Strategy(**{"sampling": "uniform"} | parts)
    assert strategy.guarantee.proven
    with pytest.raises(StrategyError, match="proven for least squares: no ridge goes with it"):
        simulate(problem, HARD.truth, strategy, 0.3, 2, ridge=1.0)
    # Whatever the way there: runs are made ready in one place.
    with pytest.raises(StrategyError, match="no ridge"):
        prepare(strategy, problem.task_with(1.0), [0.3])


@pytest.mark.parametrize("threshold", ["mixture", "theory", "paper"])
def test_nothing_that_rests_on_a_bound_has_a_ridge(threshold):
    problem = Problem.spectral({(0, 1): 1.0, (1, 2): 1.0}, radius=1.0, eps=0.1)
    strategy = Strategy("uniform", stopping="smooth", threshold=threshold)
    with pytest.raises(StrategyError, match="no ridge goes with it"):
        simulate(problem, [0.1, 0.3, 0.5], strategy, 0.3, 2, ridge=1.0)


def test_nothing_with_unknown_sigma_has_a_ridge():
    problem = Problem(HARD.problem.arms, eps=0.05, notion="additive", sigma=None)
    for strategy in (Strategy("uniform"), Strategy("uniform", threshold="mixture")):
        with pytest.raises(StrategyError, match="no ridge goes with it"):
            simulate(problem, HARD.truth, strategy, 0.3, 2, ridge=1.0)


@pytest.mark.parametrize("ridge", [-1.0, math.nan, math.inf])
def test_bad_ridges(ridge):
    with pytest.raises(InputError, match="the ridge must be at least 0"):
        simulate(HARD.problem, HARD.truth, UNIFORM, 0.3, 2, ridge=ridge)
