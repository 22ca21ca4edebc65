"""σ unknown, or derived from bounds: through simulate and the command line."""

import numpy as np
import pytest

import furthest as ft
from furthest import engine, errors, sampling
from furthest.preparation import prepare
from furthest.problem import Problem


@pytest.mark.parametrize("stopping", ["glr", "ranked", "top-wrong"])
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


@pytest.mark.parametrize("name", sampling.MODULES)
def test_no_rule_depends_on_the_unit(name):
    """σ = 1000, of which nobody is told, took a hundred times as long as σ = 1."""
    means, strategy = np.array([2.0, 1.0, 0.5, 0.0]), ft.Strategy(name, stopping="glr")
    mean_times = []
    for unit in (1e-3, 1.0, 1e3):
        problem = Problem(np.eye(4), eps=0.3 * unit, sigma=None)
        results = ft.simulate(
            problem, unit * means, strategy, 0.05, 40, noise=unit, max_rounds=2000
        )
        assert results.stopped.all()
        mean_times.append(results.stopping_times.mean())
    # The same runs, but for what rounding does to ties.
    assert mean_times == pytest.approx([mean_times[1]] * 3, rel=0.1)
    assert 40 < mean_times[1] < 250


@pytest.mark.parametrize("name", sampling.MODULES)
def test_nothing_is_known_of_sigma_while_all_results_are_equal(name):
    """No residuals, no σ: rules explore evenly, with the widths alone."""
    task = Problem(np.eye(4), eps=0.3, sigma=None).task
    prepared = prepare(ft.Strategy(name, stopping="glr"), task, [1e-9], np.arange(4.0))
    run, rng = prepared.start(), np.random.default_rng(0)
    prepared.advance(task, run, engine.simulated(np.zeros(4), 0.0), rng, rng, 40, True)
    assert run.evidence.precision[0] == 0
    if name != "fixed":
        assert run.evidence.counts.min() >= 5


def test_sigma_is_estimated_from_the_residuals():
    problem = Problem(np.eye(3), sigma=None)
    task, rng = problem.task, np.random.default_rng(0)
    prepared = prepare(ft.Strategy("uniform", stopping="glr"), task, [1e-9])
    run = prepared.start()
    prepared.advance(task, run, engine.simulated(np.arange(3.0), 7.0), rng, rng, 3000, True)
    assert 1 / run.evidence.precision[0] == pytest.approx(7.0, rel=0.05)
    # Imagined results, which are all as predicted, do not make it smaller.
    before = run.evidence.precision[0]
    imagined = engine.told(np.zeros(5000, np.int64), np.full(5000, run.evidence.values[0]))
    prepared.advance(task, run, imagined, rng, rng, 8000, False)
    assert run.evidence.precision[0] == before


@pytest.mark.parametrize("threshold", ["paper", "theory"])
def test_thresholds_without_a_version_are_refused(threshold):
    problem = Problem(np.eye(2), sigma=None)
    with pytest.raises(errors.StrategyError, match="unknown σ"):
        ft.simulate(problem, [1, 0], ft.Strategy(threshold=threshold), runs=1)


def test_bounded_rewards_have_half_their_range_as_sigma():
    bounded = Problem(np.eye(2), bounds=(0, 1), noise="sub-Gaussian")
    given = Problem(np.eye(2), sigma=0.5)
    one, other = (ft.simulate(p, [0.9, 0.1], runs=20) for p in (bounded, given))
    np.testing.assert_array_equal(one.stopping_times, other.stopping_times)
