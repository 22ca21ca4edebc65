"""A million rounds: running sums and rank-one updates stay where exact arithmetic is.

`benchmarks/deep.py` does the same with ten million, and with every sum of the tests.
"""

import math

import numpy as np
import pytest

import furthest as ft
from furthest.engine import told
from furthest.preparation import prepare

ROUNDS = 1_000_000

# Of the e-processes, whose exact sums take Python a while.
FEWER = 20_000


def taken_in(problem, strategy, rounds, means, seed):
    """A state after so many rounds, and what it was told; nothing is ever accepted."""
    task, rng = problem.task, np.random.default_rng(seed)
    prepared = prepare(strategy, task, (0.01,))
    state = prepared.start()
    state.stopping.test.required[...] = np.inf
    # One arm is measured nearly always, so that V is far from round.
    weights = np.array([0.999, *[0.001 / (len(means) - 1)] * (len(means) - 1)])
    arms = np.concatenate([task.initial, rng.choice(len(means), rounds, p=weights)])
    rewards = means[arms] + rng.standard_normal(len(arms))
    assert prepared.advance(task, state, told(arms, rewards), rng, rng, 2**40, True) == len(arms)
    return task, state, arms, rewards


def close(ours, exact):
    """To 1e-9 of the largest entry; the bound of the sums is n·2⁻⁵³ of the sum of the sizes."""
    np.testing.assert_allclose(ours, exact, rtol=0, atol=1e-9 * np.abs(exact).max())


def test_a_million_rounds_without_drift():
    instance = ft.random(d=6, seed=3)
    means = instance.problem.arms @ instance.truth + 1e3  # what all have in common
    task, state, arms, rewards = taken_in(
        instance.problem, ft.Strategy("lebai", stopping="top-wrong"), ROUNDS, means, 5
    )
    counts = np.bincount(arms, minlength=len(means))
    sums = np.array([math.fsum(rewards[arms == a]) for a in range(len(means))])
    v = (task.arms.T * counts) @ task.arms
    estimate = np.linalg.solve(v, task.arms.T @ sums)
    evidence = state.evidence
    np.testing.assert_array_equal(evidence.counts, counts)
    close(evidence.sums, sums)
    close(evidence.estimate, estimate)
    close(evidence.inverse, np.linalg.inv(v))
    close(evidence.projected, np.linalg.solve(v, task.answers.T))
    close(evidence.widths, ((task.arms @ np.linalg.inv(v)) * task.arms).sum(axis=1))
    close(evidence.residual[0], math.fsum((rewards - (task.arms @ estimate)[arms]) ** 2))
    assert state.rule.cumulative.sum() == pytest.approx(len(arms) + 1, rel=1e-9)


@pytest.mark.parametrize("stopping", ["ranked", "top-wrong"])
def test_the_e_processes_do_not_drift(stopping):
    """τ, D, J and b of the hard instance, with 64 bits of mantissa and V solved in every round."""
    problem, long = ft.hard().problem, np.longdouble
    means = problem.task.arms @ problem.whiten(ft.hard().truth)
    task, state, arms, rewards = taken_in(problem, ft.Strategy(stopping=stopping), FEWER, means, 6)
    test, first = state.stopping.test, len(task.initial)
    growth, correction, _, initial, _ = test.weighting.astype(long)
    features = task.arms.astype(long)
    (p, q), (_, r) = features[arms[:first]].T @ features[arms[:first]]
    moments = features[arms[:first]].T @ rewards[:first].astype(long)
    det = p * r - q * q
    inverse = np.array([[r, -q], [-q, p]]) / det
    b, tau = initial, initial * (inverse @ moments)
    drift, spread = np.zeros((2, 2), long), initial**2 * inverse
    for t, (arm, reward) in enumerate(zip(arms[first:], rewards[first:], strict=True), first + 1):
        x, y = features[arm]
        p, q, r = p + x * x, q + x * y, r + y * y
        det = p * r - q * q
        lever = np.array([r * x - q * y, p * y - q * x]) / det
        beta = (t / initial) ** growth
        g = beta * t * lever - correction * (lever @ drift)
        b, tau = b + beta, tau + reward * g
        spread = spread + np.outer(g, g)
        drift = drift + np.outer(features[arm], g) - beta * np.eye(2)
    close(test.weighting[4], float(b))
    close(test.total, tau.astype(float))
    close(test.spread, spread.astype(float))
    np.testing.assert_allclose(test.drift, drift.astype(float), rtol=0, atol=1e-9 * float(b))
