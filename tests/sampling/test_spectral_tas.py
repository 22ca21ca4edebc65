"""SpectralTaS: its steps by hand, where they lead, and what the bound saves."""

import math

import cvxpy as cp
import numpy as np
import pytest

import furthest as ft
from furthest.kernels.evidence import no_evidence, take_in
from furthest.problem import Problem
from furthest.sampling import spectral_tas
from oracles.loop import Loop

PATH = [(i, i + 1) for i in range(5)]
MU = np.array([0.0, 0.05, 0.1, 0.15, 0.1, 0.05])
RADIUS = 5 * 0.05**2
PROBLEM = Problem.spectral(PATH, RADIUS, eps=0.1, sigma=0.2)


def test_a_step_is_an_exponentiated_gradient():
    """Paper: SpectralTaS."""
    totals, out = np.array([3.0, 1.0, 2.0]), np.zeros(3)
    spectral_tas.ascend(totals, 4.0, out)
    expected = np.exp(math.sqrt(2 * math.log(3) / 4) * totals)
    np.testing.assert_allclose(out, expected / expected.sum(), rtol=1e-12)
    spectral_tas.ascend(np.zeros(3), 0.0, out)
    np.testing.assert_allclose(out, 1 / 3)


@pytest.mark.parametrize("seed", range(4))
def test_the_gains_are_those_at_the_closest_alternative(seed):
    """The supergradient at w, with the alternative from a conic solver."""
    rng = np.random.default_rng(seed)
    problem, task = PROBLEM, PROBLEM.task
    evidence, weights = no_evidence(task), rng.dirichlet(np.ones(6))
    for arm in range(6):
        take_in(task, evidence, arm, (MU[arm] + 0.03 * rng.standard_normal()) / 0.2)
    rule = spectral_tas.start(task, smoothness=problem.smoothness)
    rule.weights[:] = weights
    answer = int(evidence.values.argmax())
    spectral_tas.to_closest(rule, task, evidence, answer)
    spectral_tas.take_gains(
        task.arm_columns, rule.within.step, rule.gains, rule.totals, rule.squares
    )
    expected = closest(evidence.values, weights, answer)
    assert weights @ rule.gains == pytest.approx(weights @ expected, rel=1e-4)
    np.testing.assert_allclose(rule.gains, expected, rtol=5e-3, atol=1e-3)
    np.testing.assert_array_equal(rule.totals, rule.gains)
    assert rule.squares[0] == pytest.approx(rule.gains.max() ** 2)


def closest(values, weights, z):
    """(μ − λ)² of every arm, in units of σ."""
    found = []
    for x in range(6):
        if x == z:
            continue
        point = cp.Variable(6)
        bound = RADIUS / 0.2**2
        inside = [
            cp.quad_form(point, cp.psd_wrap(PROBLEM.roughness)) <= bound,
            point[z] - point[x] + 0.1 / 0.2 <= 0,
        ]
        asked = cp.Problem(
            cp.Minimize(cp.sum_squares(cp.multiply(np.sqrt(weights), point - values))), inside
        )
        asked.solve(solver=cp.CLARABEL)
        if math.isfinite(asked.value):
            found.append((asked.value, (values - point.value) ** 2))
    return min(found, key=lambda each: each[0])[1]


@pytest.mark.parametrize("radius", [RADIUS, 1e6])
def test_without_noise_it_climbs_to_the_optimal_proportions(radius):
    """What it has measured after 3,000 rounds is worth nearly as much as what is best.

    Paper: SpectralTaS.
    """
    problem = Problem.spectral(PATH, radius, eps=0.1, sigma=0.2)
    strategy = ft.Strategy("spectral-tas", stopping="glr", threshold="theory")
    loop = Loop(strategy, problem, MU, [1e-300], np.random.default_rng(0))
    loop.source = loop.source._replace(noise=0.0)
    loop.advance(3000)
    shares = loop.run.evidence.counts / loop.rounds
    best = ft.complexity(problem, MU)
    least = min(2 / worth(problem, shares, z) for z in (best.furthest, best.greedy))
    assert least * (1 + 1e-6) >= best.T
    assert least < 1.1 * best.T


def worth(problem, shares, z):
    """F(w) of answer z, by the same certified search that `complexity` ends with."""
    from furthest import bounded
    from furthest.kernels.ellipsoid import ellipsoid

    task = problem.task
    work, question = ellipsoid(task, problem.smoothness), (z, task.c, task.e)
    mu = problem.whiten(MU)
    return bounded.add_rows(work, task, mu, shares, question, bounded.Rows(6), math.inf)


def test_a_bound_of_no_matter_changes_nothing():
    wide, none = Problem.spectral(PATH, 1e9, eps=0.1), Problem(np.eye(6), eps=0.1)
    pulls = [
        ft.simulate(each, MU, ft.Strategy("spectral-tas"), 1e-9, 3, max_rounds=300, quiet=True)
        for each in (wide, none)
    ]
    np.testing.assert_array_equal(pulls[0].pulls, pulls[1].pulls)


def test_the_bound_saves_measurements():
    theirs = ft.Strategy("spectral-tas", stopping="smooth", threshold="theory")
    ours = ft.Strategy("lebai", stopping="glr", threshold="theory")
    with_bound, without = (ft.simulate(PROBLEM, MU, each, 0.1, 60) for each in (theirs, ours))
    assert with_bound.correct.all()
    assert with_bound.stopping_times.mean() < 0.8 * without.stopping_times.mean()
