"""The e-values are e-values, see what they should, and are silent about what they should not."""

import numpy as np
import pytest

import furthest as ft
from furthest import residuals

LINE = np.column_stack([np.ones(5), np.linspace(-1, 1, 5)])


def measured(problem, means, rounds, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    arms = rng.integers(len(means), size=rounds)
    return arms, np.asarray(means)[arms] + noise * rng.standard_normal(rounds)


def warnings(problem, means, rounds=400, noise=1.0, seed=0):
    return residuals.check(problem, *measured(problem, means, rounds, noise, seed))


@pytest.mark.parametrize("sigma", [1.0, None])
def test_a_line_is_a_line_and_a_parabola_is_not(sigma):
    problem = ft.Problem(LINE, sigma=sigma)
    straight, bent = LINE @ [0.3, 1.0], LINE[:, 1] ** 2
    assert not warnings(problem, straight)
    (said,) = warnings(problem, bent, rounds=800)
    assert "features" in said
    assert "'arm 2'" in said or "'arm 0'" in said or "'arm 4'" in said


def test_noise_above_sigma_is_noticed_and_noise_below_is_not():
    problem = ft.Problem(LINE, sigma=1.0)
    (said,) = warnings(problem, LINE @ [0, 1], noise=1.5)
    assert "noise" in said
    assert "1.4" in said or "1.5" in said
    assert not warnings(problem, LINE @ [0, 1], noise=0.5)


def test_misfit_does_not_look_like_noise():
    problem = ft.Problem(LINE, sigma=1.0)
    (said,) = warnings(problem, 3 * LINE[:, 1] ** 2)
    assert "features" in said


def test_nothing_can_be_said_without_repeats_or_spare_arms():
    square = ft.Problem(np.eye(3))
    assert not residuals.check(square, np.array([0, 1, 2]), np.array([5.0, -9.0, 100.0]))
    assert not residuals.check(square, np.array([], int), np.array([]))
    unknown = ft.Problem(LINE, sigma=None)
    assert not residuals.check(unknown, np.arange(5), LINE[:, 1] ** 2)


def test_units_do_not_matter():
    arms, values = measured(None, LINE[:, 1] ** 2, 800)
    for unit in (1e-6, 1e6):
        assert residuals.check(ft.Problem(LINE, sigma=unit), arms, unit * values)


def test_e_values_have_mean_at_most_one():
    """At a fixed time, with the adaptive sampling that would hurt a test that is no e-value."""
    rng = np.random.default_rng(5)
    runs, rounds = 4000, 30
    e_values = np.zeros((2, runs))
    problem = ft.Problem(LINE)
    for run in range(runs):
        counts, sums, squares = np.zeros(5), np.zeros(5), np.zeros(5)
        for t in range(rounds):
            arm = t if t < 5 else int(np.argmax(sums / counts))  # chase the largest mean
            value = rng.standard_normal()
            counts[arm] += 1
            sums[arm] += value
            squares[arm] += value**2
        within = (squares - sums**2 / counts).sum()
        e_values[0, run] = np.exp(residuals.noise_log_e_value(within, rounds))
        e_values[1, run] = np.exp(residuals.misfit_log_e_value(problem, counts, sums / counts)[0])
    error = e_values.std(axis=1) / np.sqrt(runs)
    assert (e_values.mean(axis=1) <= 1 + 4 * error).all()
    assert (e_values.mean(axis=1) > 0.005).all()
