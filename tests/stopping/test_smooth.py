"""The test that knows a bound on the parameter: by hand, by a conic solver, and by its errors."""

import math

import cvxpy as cp
import numpy as np
import pytest

import furthest as ft
from furthest import errors
from furthest.kernels.evidence import no_evidence, take_in
from furthest.kernels.scales import mixture_scales
from furthest.problem import Problem
from furthest.stopping import smooth, versions
from furthest.stopping.exclusions import is_excluded
from furthest.stopping.nomination import Nominee
from furthest.stopping.thresholds import required
from furthest.stopping.within import certified_eps
from oracles.loop import Loop

PATH = [(0, 1), (1, 2), (2, 3)]
MU = np.array([0.0, 0.3, 0.7, 0.5])
PROBLEM = Problem.spectral(PATH, 0.3, eps=0.1)
FIXED = {"threshold": "theory"}, {"threshold": "mixture"}


def measured(problem, rounds, seed):
    """Evidence of uniform sampling under MU."""
    evidence, rng = no_evidence(problem.task), np.random.default_rng(seed)
    for t in range(rounds):
        arm = t % len(problem.arms)
        reward = (MU[arm] + problem.sigma * rng.standard_normal()) / problem.sigma
        take_in(problem.task, evidence, arm, reward)
    return evidence


def conic(problem, evidence, metric, z, x, eps=None):
    """The squared distance of one alternative within the bound, in the user's coordinates.

    The arms are the unit vectors: in whitened coordinates they are √K times as long. Another ε than
    the problem's may be asked for.
    """
    eps = problem.eps if eps is None else eps
    count = len(problem.arms)
    estimate = evidence.values * problem.sigma
    point = cp.Variable(count)
    factor = np.linalg.cholesky(metric)
    worse = point[z] - point[x] + eps
    if problem.notion == "multiplicative":
        worse = point[z] - (1 - eps) * point[x]
    smooth_enough = cp.quad_form(point, cp.psd_wrap(problem.roughness)) <= problem.radius
    inside = [smooth_enough, worse <= 0]
    aim = cp.sum_squares(factor.T @ (point - estimate)) / problem.sigma**2
    found = cp.Problem(cp.Minimize(aim), inside)
    found.solve(solver=cp.CLARABEL)
    return float(found.value)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("sigma", [1.0, 0.25])
def test_the_statistic_is_the_nearest_alternative_within_the_bound(seed, sigma):
    problem = Problem.spectral(PATH, 0.3, eps=0.1, sigma=sigma)
    evidence = measured(problem, 30, seed)
    metric = np.diag(evidence.counts.astype(float))
    test = smooth.TESTS["theory"].start(problem.task, [0.1], smoothness=problem.smoothness)
    for z in range(4):
        expected = min(conic(problem, evidence, metric, z, x) for x in range(4) if x != z)
        found = smooth.statistic_within(test.within, test.rival, problem.task, evidence, z)
        assert found == pytest.approx(expected, rel=1e-4, abs=1e-5)


def by_conic(problem, evidence, threshold, z, eps=None):
    """What the test compares with its threshold, of all alternatives by the conic solver."""
    counts, uniform = evidence.counts.astype(float), 1 / 4
    others = set(range(4)) - {z}
    if threshold == "theory":
        return min(conic(problem, evidence, np.diag(counts), z, x, eps) for x in others)
    logs = []
    for x in others:
        terms = []
        for kappa in mixture_scales(4):
            prior = counts + kappa * uniform
            distance = conic(problem, evidence, np.diag(counts**2 / prior), z, x, eps)
            terms.append(distance / 2 - np.log(prior / (kappa * uniform)).sum() / 2)
        logs.append(np.logaddexp.reduce(terms) - math.log(3))
    return min(logs)


@pytest.mark.parametrize("seed", range(4))
def test_the_e_value_is_an_average_of_such(seed):
    evidence = measured(PROBLEM, 30, seed)
    task, known = PROBLEM.task, PROBLEM.smoothness
    test = smooth.TESTS["mixture"].start(task, [0.1], smoothness=known)
    for z in range(4):
        found = smooth.log_e_value_within(test, task, evidence, z)
        assert found == pytest.approx(by_conic(PROBLEM, evidence, "mixture", z), rel=1e-4, abs=1e-5)


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
@pytest.mark.parametrize("threshold", ["theory", "mixture"])
def test_what_a_spent_budget_proves_begins_where_no_alternative_is_left(threshold, notion):
    """A little above the ε' that is found all alternatives are too far away, a little below not."""
    problem = Problem.spectral(PATH, 0.3, eps=0.01, sigma=0.25, notion=notion)
    test, found_for = smooth.TESTS[threshold], 0
    for seed in range(3):
        evidence = measured(problem, 60, seed)
        state = test.start(problem.task, [0.1], smoothness=problem.smoothness)
        enough = math.log(10)
        if threshold == "theory":
            enough = required(state.threshold, 60, 0)
        for z in (1, 2):
            found = certified_eps(test, problem, state, evidence, z)
            if found is None:
                continue
            assert found > problem.eps
            found_for += 1
            assert by_conic(problem, evidence, threshold, z, found * (1 + 1e-4)) > enough
            assert by_conic(problem, evidence, threshold, z, found * (1 - 1e-4)) < enough
    assert found_for >= 3


def test_a_bound_makes_what_is_proven_sharper():
    """And where it is of no matter it changes nothing."""
    found = []
    for radius, name in ((0.3, "smooth"), (1e9, "smooth"), (1e9, "glr")):
        problem = Problem.spectral(PATH, radius, eps=0.01, sigma=0.25)
        test, known = versions(name)["theory"], {}
        if name == "smooth":
            known["smoothness"] = problem.smoothness
        state = test.start(problem.task, [0.1], **known)
        found.append(certified_eps(test, problem, state, measured(problem, 60, 0), 2))
    bounded, blind, plain = found
    assert bounded < 0.97 * blind
    assert blind == pytest.approx(plain, rel=1e-6)


@pytest.mark.parametrize("threshold", ["theory", "mixture", "paper"])
def test_it_never_stops_later_than_without_bound(threshold):
    """The same measurements, to the last digit; and where the bound is of no matter, no earlier."""
    flat = np.array([0.0, 0.05, 0.1, 0.05])

    def times(radius, stopping):
        problem = Problem.spectral(PATH, radius, eps=0.1, sigma=0.1)
        strategy = ft.Strategy("uniform", stopping=stopping, threshold=threshold)
        return ft.simulate(problem, flat, strategy, 0.1, 40, seed=3).stopping_times

    plain = times(0.009, "glr")
    assert (times(0.009, "smooth") <= plain).all()
    assert times(0.009, "smooth").mean() < 0.8 * plain.mean()
    np.testing.assert_array_equal(times(1e6, "smooth"), plain)


@pytest.mark.parametrize("threshold", ["theory", "mixture"])
def test_what_is_skipped_would_not_have_stopped(threshold):
    """The alternative that is remembered spares the search, and decides nothing."""
    strategy = ft.Strategy("uniform", stopping="smooth", threshold=threshold)
    loop = Loop(strategy, PROBLEM, MU, [0.1], np.random.default_rng(1))
    skipped = searched = 0
    while not loop.advance(loop.rounds + 1):
        evidence, own = loop.run.evidence, loop.run.stopping.test
        if loop.rounds < 4:
            continue
        z = int(loop.run.stopping.progress[0])
        if own.rival.answer[0] != z:
            continue
        fresh = loop.ready.start().stopping.test
        if threshold == "theory":
            known = smooth.distance_of(own.rival, evidence, z)
            found = smooth.statistic_within(fresh.within, fresh.rival, loop.task, evidence, z)
            enough = required(own.threshold, loop.rounds, 0)
        else:
            known = smooth.log_e_value_at(own, evidence, z)
            found = smooth.log_e_value_within(fresh, loop.task, evidence, z)
            enough = own.mixture.levels[0]
        assert found <= known + 1e-6 * abs(known)
        skipped += known <= enough
        searched += known > enough
    assert skipped > searched


def test_nothing_to_tell_apart_needs_no_measurements():
    """All values are within 0.2 of each other: at ε = 1 every answer will do."""
    problem = Problem.spectral([(0, 1), (1, 2)], 0.01, eps=1.0)
    for threshold in ("theory", "mixture"):
        strategy = ft.Strategy("spectral-tas", stopping="smooth", threshold=threshold)
        assert set(ft.simulate(problem, np.zeros(3), strategy, runs=5).stopping_times) == {3}


# On the edge of the bound, with wrong answers that are worse than ε by a hair.
EDGE = np.array([0.0, 0.3002, 0.6004, 0.3002])


@pytest.mark.parametrize("strategy", FIXED)
@pytest.mark.parametrize("sampling", ["uniform", "spectral-tas"])
def test_errors_stay_below_delta(sampling, strategy):
    laplacian = Problem.spectral(PATH, 1.0).roughness
    problem = Problem.spectral(PATH, float(EDGE @ laplacian @ EDGE), eps=0.3, sigma=0.5)
    runs, delta = 300, 0.1
    chosen = ft.Strategy(sampling, stopping="smooth", **strategy)
    results = ft.simulate(problem, EDGE, chosen, delta, runs, max_rounds=4000, quiet=True)
    wrong = int((results.stopped & ~results.correct).sum())
    assert wrong <= delta * runs
    assert results.stopped.mean() > 0.9


def test_several_levels_are_reached_in_order():
    strategy = ft.Strategy("spectral-tas", stopping="smooth")
    results = ft.simulate(PROBLEM, MU, strategy, [0.1, 0.01, 1e-4], 20)
    assert (np.diff(results.stopping_times, axis=0) >= 0).all()
    alone = ft.simulate(PROBLEM, MU, strategy, 0.01, 20)
    np.testing.assert_array_equal(results.stopping_times[1], alone.stopping_times)


@pytest.mark.parametrize("threshold", ["theory", "mixture", "paper"])
def test_the_score_reaches_its_threshold_when_the_test_stops(threshold):
    strategy = ft.Strategy("spectral-tas", stopping="smooth", threshold=threshold)
    loop = Loop(strategy, PROBLEM, MU, [0.1], np.random.default_rng(5))
    before = None
    while not loop.advance(loop.rounds + 1):
        if loop.rounds >= 4:
            before = scored(loop, strategy)
            assert before.statistic <= before.threshold
    after = scored(loop, strategy)
    assert before is not None
    assert after.statistic > after.threshold


def scored(loop, strategy):
    state = loop.run.stopping
    nominee = Nominee(int(state.progress[0]), 0.0, 0)
    return strategy.test.score(state.test, loop.task, loop.run.evidence, nominee, loop.run.rule)


@pytest.mark.parametrize("threshold", ["theory", "mixture"])
def test_a_rival_that_is_ahead_makes_the_score_negative(threshold):
    problem = Problem.spectral(PATH, 50.0, eps=0.1, sigma=0.1)
    evidence = measured(problem, 80, 0)
    test = smooth.TESTS[threshold]
    state = test.start(problem.task, [0.1], smoothness=problem.smoothness)
    assert test.score(state, problem.task, evidence, Nominee(0, 0.0, 0), None).statistic < 0
    misses = test.region(state, problem.task, evidence)
    assert is_excluded(misses, problem.task, evidence, 0)
    assert not is_excluded(misses, problem.task, evidence, 2)


def test_the_guarantee_names_the_bound():
    proven = {name: test.guarantee for name, test in smooth.TESTS.items()}
    assert [promise.proven for promise in proven.values()] == [True, True, False]
    assert all("within the bound" in proven[name].words for name in ("mixture", "theory"))


def test_what_it_cannot_be_used_for():
    unknown = Problem.spectral(PATH, 0.3, eps=0.1, sigma=None)
    with pytest.raises(errors.StrategyError, match="no version for unknown σ"):
        ft.simulate(unknown, MU, ft.Strategy(stopping="smooth"), runs=1)
    with pytest.raises(errors.StrategyError, match="has no options"):
        ft.Strategy(stopping="smooth", stopping_options={"smoothness": 1})
