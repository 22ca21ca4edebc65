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
    """Paper: Theorem 2.1, Equation 1, Equation 2, Equation 4."""
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
    """Paper: Equation 1, Equation 7."""
    # n²/(1/w₁ + 1/w₂) is largest at w = ½: T = 2·4/n².
    found = complexity(Problem(np.eye(2), eps=0.1), [1.0, 0.4])
    assert pytest.approx(8 / 0.7**2, rel=1e-7) == found.T
    assert found.T_bai == pytest.approx(8 / 0.6**2, rel=1e-7)
    assert found.weights == pytest.approx([0.5, 0.5], abs=1e-4)


def test_the_limits_of_hard_best_arm_problems():
    """Paper: Lemma C.3, Lemma C.4."""
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


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
def test_the_greedy_answer_costs_more_exactly_where_another_one_is_furthest(notion):
    """Paper: Lemma 2.2."""
    kinds = set()
    for seed in range(60):
        instance = ft.circle(0.2, notion, seed=seed)
        found = complexity(instance.problem, instance.mu)
        kinds.add(found.furthest == found.greedy)
        # The brackets are 1e-8 wide; the smallest difference that was seen is a thousand of them.
        assert (found.T_greedy > found.upper * (1 + 1e-6)) == (found.furthest != found.greedy)
        # At ε = 0 it is harder still.
        assert found.T_greedy < found.T_bai
    assert kinds == {True, False}


def test_a_share_of_the_best_is_the_best_among_shrunk_answers():
    """Paper: shrunk answers."""
    rng = np.random.default_rng(5)
    for _ in range(10):
        arms, answers, mu = rng.normal(size=(4, 3)), rng.normal(size=(5, 3)), rng.normal(size=3)
        if (answers @ mu).max() <= 0:
            mu = -mu
        question = Problem(arms, answers, eps=0.3, notion="multiplicative")
        times = []
        for z in np.flatnonzero(question.near_best(mu)):
            shrunk = 0.7 * answers
            shrunk[z] = answers[z]
            times.append(complexity(Problem(arms, shrunk, eps=0.0), mu).T)
        assert pytest.approx(min(times), rel=1e-7) == complexity(question, mu).T


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
    """Paper: Fixed."""
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


PATH = [(0, 1), (1, 2)]


def test_a_bound_of_no_matter_leaves_the_price():
    mu = [0.0, 0.4, 0.9]
    for notion in ("additive", "multiplicative"):
        wide = complexity(Problem.spectral(PATH, 1e6, eps=0.1, notion=notion), mu)
        none = complexity(Problem(np.eye(3), eps=0.1, notion=notion), mu)
        for name in ("T", "lower", "upper", "T_greedy", "T_bai"):
            assert getattr(wide, name) == pytest.approx(getattr(none, name), rel=1e-6)
        assert (wide.furthest, wide.greedy, wide.binding) == (
            none.furthest,
            none.greedy,
            none.binding,
        )
        np.testing.assert_allclose(wide.weights, none.weights, atol=1e-3)


def grid_value(mu, radius, eps, z, steps=30):
    """max over a grid of w of the least distance over a grid of alternatives within the bound.

    A shift of all values is free: the best one is a weighted mean, and the rest is a plane.
    """
    first, second = np.meshgrid(*2 * [np.linspace(-0.75, 0.75, 1001)], indexing="ij")
    values = np.stack([np.zeros_like(first), first, first + second]).reshape(3, -1)
    steep = np.diff(values, axis=0)
    inside = (steep**2).sum(axis=0) <= radius
    beaten = values.max(axis=0) >= values[z] + eps
    apart = values[:, inside & beaten] - np.asarray(mu)[:, None]
    best = 0.0
    for i in range(1, steps):
        for j in range(1, steps - i):
            w = np.array([i, j, steps - i - j]) / steps
            mean = w @ apart
            best = max(best, float((w @ apart**2 - mean**2).min()))
    return best


@pytest.mark.parametrize("radius", [0.05, 0.08, 0.5])
def test_a_bound_against_brute_force(radius):
    mu = [0.0, 0.1, 0.3]
    found = complexity(Problem.spectral(PATH, radius, eps=0.15), mu)
    values = [grid_value(mu, radius, 0.15, z) for z in (1, 2)]
    assert 2 / max(values) == pytest.approx(found.T, rel=0.02)
    assert found.lower <= found.T <= found.upper <= found.lower * (1 + 2e-8)
    assert found.weights.sum() == pytest.approx(1)
    assert (found.greedy, found.noise) == (2, 1.0)
    assert found.T <= complexity(Problem(np.eye(3), eps=0.15), mu).T * (1 + 1e-8)


def test_the_smaller_the_bound_the_cheaper():
    mu = np.array([0.0, 0.1, 0.2])
    times = [
        complexity(Problem.spectral(PATH, radius, eps=0.1), mu).T
        for radius in (0.02, 0.03, 0.05, 0.1, 1.0)
    ]
    assert (np.diff(times) > -1e-6).all()
    assert times[0] < 0.9 * times[-1]


def test_a_bound_that_excludes_every_alternative_costs_nothing():
    found = complexity(Problem.spectral(PATH, 0.01, eps=1.0), [0.0, 0.05, 0.1])
    assert (found.T, found.lower, found.upper) == (0.0, 0.0, 0.0)
    assert found.T_bai > 0


def test_a_parameter_outside_the_bound_is_refused():
    problem = Problem.spectral(PATH, 0.1, eps=0.1)
    for ask in (complexity, ft.simulate):
        with pytest.raises(errors.ParameterError, match=r"μᵀPμ is 1 .* at most 0.1"):
            ask(problem, [0, 0, 1])


def test_a_bound_in_the_unit_of_unknown_noise():
    mu = [0.0, 0.1, 0.3]
    unknown = complexity(Problem.spectral(PATH, 0.06, eps=0.15, sigma=None), mu, noise=0.5)
    known = complexity(Problem.spectral(PATH, 0.06, eps=0.15, sigma=0.5), mu)
    assert pytest.approx(known.T, rel=1e-6) == unknown.T


@pytest.mark.parametrize(("bounds", "means"), [((0, 1), (0.05, 0.04)), ((-2, 3), (-1.75, -1.8))])
def test_outcomes_have_the_noise_of_their_means(bounds, means):
    """Two options: T = 2(σ₁ + σ₂)²/gap², measured in the proportion of the σ's (Neyman)."""
    low, width = bounds[0], bounds[1] - bounds[0]
    eps = 0.005 * width
    problem = Problem.options(["A", "B"], eps=eps, bounds=bounds)
    shares = (np.array(means) - low) / width
    sigma = width * np.sqrt(shares * (1 - shares))
    expected = 2 * sigma.sum() ** 2 / (means[0] - means[1] + eps) ** 2
    found = complexity(problem, means)
    assert expected == pytest.approx(found.T, rel=1e-6)
    np.testing.assert_allclose(found.weights, sigma / sigma.sum(), rtol=1e-3)
    # Who goes by σ pays for it.
    blind = Problem.options(["A", "B"], eps=eps, bounds=bounds, noise="sub-Gaussian")
    assert complexity(blind, means).T > 5 * found.T
    assert complexity(problem, [bounds[1], low]).T < 1e-3  # an outcome that is certain
