"""σ unknown, or derived from bounds: through simulate and the command line."""

import numpy as np
import pytest

import furthest as ft
from furthest import errors
from furthest.problem import Problem


@pytest.mark.parametrize("stopping", ["glr", "top-wrong"])
def test_the_scale_of_the_noise_does_not_matter(stopping):
    instance = ft.hard()
    problem = Problem(instance.problem.arms, eps=0.05, notion="multiplicative", sigma=None)
    strategy = ft.Strategy(stopping=stopping)
    quiet, loud = (
        ft.simulate(problem, noise * instance.truth, strategy, runs=100, noise=noise)
        for noise in (1.0, 30.0)
    )
    np.testing.assert_array_equal(quiet.stopping_times, loud.stopping_times)
    assert "Gaussian noise of unknown σ" in quiet.to_dict()["strategy"]["guarantee"]
    known = ft.simulate(instance.problem, instance.truth, strategy, runs=100)
    assert known.stopping_times.mean() < quiet.stopping_times.mean()


@pytest.mark.parametrize("threshold", ["paper", "theory"])
def test_thresholds_without_a_version_are_refused(threshold):
    problem = Problem(np.eye(2), sigma=None)
    with pytest.raises(errors.StrategyError, match="unknown σ"):
        ft.simulate(problem, [1, 0], ft.Strategy(threshold=threshold), runs=1)


def test_bounded_rewards_have_half_their_range_as_sigma():
    bounded, given = Problem(np.eye(2), bounds=(0, 1)), Problem(np.eye(2), sigma=0.5)
    one, other = (ft.simulate(p, [0.9, 0.1], runs=20) for p in (bounded, given))
    np.testing.assert_array_equal(one.stopping_times, other.stopping_times)
