import math

import numpy as np
import pytest

import furthest as ft
from furthest import errors
from furthest.characteristic import complexity
from furthest.problem import Problem

# The hard instance, solved once with an independent conic solver (relative gap below 1e-7).
HARD = {
    "multiplicative": (28.05509, 32.45197, (0.26700, 0.73300)),
    "additive": (22.72216, 26.60717, (0.16169, 0.83831)),
}


@pytest.mark.parametrize("arms", ["all", "basis"])
@pytest.mark.parametrize("notion", HARD)
def test_the_hard_instance(notion, arms):
    instance = ft.hard(notion=notion, arms=arms)
    found = complexity(instance.problem, instance.truth)
    time, greedy, weights = HARD[notion]
    assert pytest.approx(time, rel=1e-6) == found.T
    assert found.lower <= found.T <= found.upper <= found.lower * (1 + 2e-8)
    assert found.T_greedy == pytest.approx(greedy, rel=1e-6)
    assert (found.furthest, found.ties, found.greedy, found.binding) == (2, (2,), 0, (3,))
    assert found.weights[:2] == pytest.approx(weights, abs=1e-4)
    assert found.measurements(0.01) == pytest.approx(time * math.log(100), rel=1e-6)


def test_sigma_scales_the_price():
    one = complexity(Problem(np.eye(2), eps=0.1), [1.0, 0.0])
    three = complexity(Problem(np.eye(2), eps=0.1, sigma=3.0), [1.0, 0.0])
    assert pytest.approx(9 * one.T, rel=1e-7) == three.T


def test_unknown_sigma_needs_the_noise_to_expect():
    """Four options, ε = .015: with σ = 1 for an unknown .03 the price was 1,100 times too high."""
    mu = [0.10, 0.08, 0.05, 0.05]
    unknown, known = (Problem(np.eye(4), eps=0.015, sigma=sigma) for sigma in (None, 0.03))
    with pytest.raises(errors.ParameterError, match=r"σ is unknown.*noise=… or --noise"):
        complexity(unknown, mu)
    found, told = complexity(unknown, mu, noise=0.03), complexity(known, mu)
    assert pytest.approx(told.T, rel=1e-6) == found.T
    assert found.weights == pytest.approx(told.weights, abs=1e-4)
    assert found.noise == found.to_dict()["noise"] == told.noise == 0.03
    # What T is for cannot be another noise than the one that is stated.
    with pytest.raises(errors.ParameterError, match="leave out the noise"):
        complexity(known, mu, noise=0.03)
    for noise in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(errors.ParameterError, match="the noise must be positive"):
            complexity(unknown, mu, noise=noise)


def test_two_arms_in_closed_form():
    # n²/(1/w₁ + 1/w₂) is largest at w = ½: T = 2·4/n².
    found = complexity(Problem(np.eye(2), eps=0.1), [1.0, 0.4])
    assert pytest.approx(8 / 0.7**2, rel=1e-7) == found.T
    assert found.T_bai == pytest.approx(8 / 0.6**2, rel=1e-7)
    assert found.weights == pytest.approx([0.5, 0.5], abs=1e-4)


def test_the_limits_of_hard_best_arm_problems():
    # The paper's lemma on hard problems, its misprints corrected: docs/theory.md.
    theta, eps, d = 1e-3, 0.05, 3
    basis = np.eye(d)
    near = math.cos(theta) * basis[0] + math.sin(theta) * basis[1]
    for notion, limit in (
        ("additive", 2 * (1 + math.sqrt(d - 1)) ** 2 / (1 + eps) ** 2),
        ("multiplicative", 2 * (1 + (1 - eps) * math.sqrt(d - 1)) ** 2),
    ):
        problem = Problem(np.vstack([basis, near]), eps=eps, notion=notion)
        found = complexity(problem, basis[0])
        assert pytest.approx(limit, rel=2e-3) == found.T
        assert found.T_bai > 1e5


def test_equal_answers_are_tied():
    found = complexity(Problem(np.eye(3), eps=0.5), [1.0, 1.0, 0.0])
    assert found.ties == (0, 1)
    assert found.T_bai == math.inf
    assert found.to_dict()["T_bai"] is None


def test_answers_that_are_all_equal_cost_nothing():
    found = complexity(Problem(np.eye(2), [[1, 0], [1, 0]], eps=0.1), [1.0, 0.0])
    assert found.T == 0.0


def test_a_problem_in_a_subspace_costs_what_it_costs_there():
    flat = ft.hard().problem
    lifted = Problem(np.hstack([flat.arms, flat.arms[:, :1]]), eps=flat.eps, notion=flat.notion)
    found = complexity(lifted, [0.5, 0.0, 0.5])
    assert pytest.approx(HARD["multiplicative"][0], rel=1e-6) == found.T


def test_a_parameter_without_an_answer_is_refused():
    with pytest.raises(errors.ParameterError, match="positive"):
        complexity(ft.hard().problem, [-1.0, -1.0])


def test_fixed_tracks_the_optimal_proportions():
    instance = ft.hard(arms="basis")
    results = ft.simulate(instance.problem, instance.truth, ft.Strategy("fixed"), runs=20)
    share = results.pulls.sum(axis=0) / results.pulls.sum()
    assert share == pytest.approx([0.267, 0.733], abs=0.01)


@pytest.mark.parametrize("candidate", ["furthest", "greedy"])
def test_the_exact_furthest_answer_as_candidate(candidate):
    instance = ft.hard(notion="additive")
    strategy = ft.Strategy(candidate=candidate, threshold="paper")
    results = ft.simulate(instance.problem, instance.truth, strategy, runs=100)
    assert np.bincount(results.answers, minlength=3)[2] > (60 if candidate == "furthest" else 0)
