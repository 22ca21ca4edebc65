"""The ranked test against its theorem, on the statistics that it shares with top-wrong."""

import math
from collections.abc import Callable

import numpy as np
import pytest
from numpy.random import Generator

import furthest as ft
from furthest.codes import Noise
from furthest.errors import InputError, StrategyError
from furthest.kernels import contrasts
from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.contrasts import Obstacle, Price, TopWrong
from furthest.kernels.evidence import no_evidence, take_in
from furthest.kernels.linalg import sort_together
from furthest.kernels.ranked import (
    FIRST,
    RANKED,
    ROOM,
    Rank,
    RankMasses,
    link,
    weak_set,
)
from furthest.kernels.topwrong import Scales, met, observe, top_wrong
from furthest.problem import Notion, Problem
from furthest.stopping.ranked import BLIND, MASSES, WEIGHTING, check, prior, start, start_student
from furthest.task import Task
from oracles.near_null import (
    CHASE,
    LONGER,
    NOTIONS,
    ROUND_ROBIN,
    is_scandal,
    near_null,
    simulate,
    tied,
    wrong_answers,
)
from oracles.ranked import RankedOracle
from oracles.topwrong import Array

DELTA = 0.1


def crowd(rng: Generator, d: int, notion: Notion) -> tuple[Problem, Array]:
    """Random answers, of which the best one for μ = e₁ is the first and others are close to it."""
    answers = rng.normal(size=(5, d))
    answers[0] = np.eye(d)[0] * (0.5 + np.abs(answers[:, 0]).max())
    answers[1:3] = answers[0] + 0.4 * rng.normal(size=(2, d))
    return Problem(answers, None, 0.1, notion), 1.4 * np.eye(d)[0]


def equals(_: Generator, d: int, notion: Notion) -> tuple[Problem, Array]:
    """Six options, five of them equal and wrong: many may outrank each other."""
    return Problem(np.eye(6), None, 0.4, notion), np.r_[1.1, np.full(5, 0.3)]


def followed(
    problem: Problem, mu: Array, rng: Generator, rounds: int
) -> tuple[list[bool], set[int]]:
    """Decisions along a run, and the sizes of the sets that stood in the way.

    Every tenth round by the theorem; every round against the test without a memory.
    """
    task, decisions, sizes = problem.task, [], set()
    arms = len(task.arms)
    evidence, state = no_evidence(task), start(task, [DELTA])
    pulls: list[int] = []
    rewards: list[float] = []
    for t in range(rounds):
        pulls.append(t if t < arms else int(rng.integers(arms)))
        rewards.append(float(problem.arms[pulls[-1]] @ mu + rng.normal()))
        take_in(task, evidence, pulls[-1], rewards[-1])
        observe(state, task, evidence, pulls[-1], rewards[-1])
        if t < arms:
            continue
        z, _ = instantaneous_furthest(task, evidence)
        decision = met(state, task, evidence, z, 0)
        forgetful = state._replace(
            obstacles=np.full_like(state.obstacles, -1), ellipsoids=state.ellipsoids.copy()
        )
        assert decision == met(forgetful, task, evidence, z, 0)
        sizes.add(0 if decision else int(state.obstacles[z, Obstacle.OTHER]))
        if t % 10 == 0:
            asked = (problem.arms, problem.answers, task.c, task.e, arms)
            assert decision == RankedOracle(*asked, pulls, rewards).stops(z, DELTA)
            decisions.append(decision)
    return decisions, sizes


@pytest.mark.parametrize("notion", NOTIONS)
def test_decisions_along_runs_are_those_of_the_theorem(notion: Notion) -> None:
    decisions: list[bool] = []
    sizes: set[int] = set()
    shapes = (crowd, equals, crowd, lambda _, d, notion: tied(d, notion), crowd, equals)
    for seed, shape in enumerate(shapes):
        rng = np.random.default_rng(seed)
        problem, mu = shape(rng, 2 + seed % 2, notion)
        found, failed = followed(problem, mu, rng, 140)
        decisions += found
        sizes |= failed
    assert 10 < sum(decisions) < len(decisions) - 10
    assert {0, 1, 2} <= sizes  # pairs and sets of several sizes have failed


def test_a_set_that_is_too_large_to_remember_is_found_again() -> None:
    """Forty equal options after an equal number of equal results: all of them outrank the last."""
    options = 40
    task = Problem(np.eye(options), None, 0.5).task
    evidence, state = no_evidence(task), start(task, [DELTA])
    for t in range(40 * options):
        reward = 0.9 * (t % options == 0) + (0.5, -0.5)[(t // options) % 2]
        take_in(task, evidence, t % options, reward)
        observe(state, task, evidence, t % options, reward)
    found = [met(state, task, evidence, z, 0) for z in (0, 1, 0, 1)]
    assert found == [True, False, True, False]
    assert state.obstacles.shape[1] == FIRST + ROOM


@pytest.mark.parametrize("masses", MASSES)
@pytest.mark.parametrize("answers", [2, 3, 7, 40])
def test_the_masses_sum_to_one(masses: str, answers: int) -> None:
    state = start(Problem(np.eye(answers), eps=0.1).task, [DELTA], masses=masses)
    ranks = np.arange(1, answers - 1)
    first = math.exp(-math.log(DELTA) - state.required[Price.FIRST, 0])
    spent = state.ranks[Rank.FALLBACK].sum() + (ranks * state.ranks[Rank.SUMMED]).sum()
    assert first + spent + check(masses=masses)[0].ellipsoid == pytest.approx(1)


def test_two_answers_leave_no_bystanders() -> None:
    state = start(Problem(np.eye(2), None, 0.1).task, [0.1])
    assert state.required[Price.FIRST, 0] == pytest.approx(math.log(1 / (0.95 * 0.1)))
    assert state.required[Price.FALLBACK, 0] == math.inf


def test_the_prior_follows_from_the_question_alone() -> None:
    """ε in units of σ says which gaps matter; where it does not, the prior is wide."""
    arms = np.eye(3)
    additive = Problem(arms, eps=0.1, notion="additive", sigma=0.5).task
    assert prior(additive).per_size == pytest.approx((0.0, 0.01 / 0.2**2, 0.1 / 0.2**2))
    assert prior(additive._replace(noise=Noise.GAUSSIAN)) == BLIND
    assert prior(Problem(arms, eps=0.1, notion="multiplicative").task) == BLIND
    assert prior(Problem(arms, eps=0.0, notion="additive").task) == BLIND
    given = start(additive, [0.1], directions=[30.0], direction_weights=[0.5])
    assert given.directions.T.tolist() == [[30.0, math.log(0.5), 0.0]]


@pytest.mark.parametrize("eps", [1e-5, 1e-100, 1e-160, 1e-300])
@pytest.mark.parametrize("size", [1.0, 1e60, 1e99])
def test_no_number_is_too_small_or_too_large_for_the_prior(eps: float, size: float) -> None:
    """A scale that is infinite must not make evidence of anything: nothing is accepted yet."""
    problem = Problem(np.eye(3), np.eye(3) * size, eps, "additive")
    task, rng = problem.task, np.random.default_rng(0)
    evidence, state = no_evidence(task), start(task, [DELTA])
    for t in range(30):
        reward = float(rng.normal())
        take_in(task, evidence, t % 3, reward)
        observe(state, task, evidence, t % 3, reward)
        if t >= 3:
            assert not any(met(state, task, evidence, z, 0) for z in range(3))
    y = state.vectors[0] + size
    found = contrasts.log_one_sided(3.0, 2.0, float(y @ y), state.directions)
    assert not math.isnan(found)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"masses": "balancd"}, "balanced"),
        ({"directions": [1.0, -1.0], "direction_weights": [0.5, 0.5]}, "positive"),
        ({"directions": [1.0]}, "one weight each"),
        ({"directions": [1.0, 2.0], "direction_weights": [0.9, 0.9]}, "at most 1"),
    ],
)
def test_options_that_break_the_proof_are_named(options: dict[str, object], words: str) -> None:
    with pytest.raises((InputError, StrategyError), match=words):
        check(**options)


@pytest.mark.parametrize("sigma", [1.0, None])
def test_it_stops_sooner_than_top_wrong(sigma: float | None) -> None:
    instance = ft.hard()
    problem = Problem(instance.problem.arms, eps=0.05, notion="multiplicative", sigma=sigma)
    times = [
        ft.simulate(problem, instance.mu, ft.Strategy(stopping=stopping), runs=200, quiet=True)
        for stopping in ("top-wrong", "ranked")
    ]
    assert times[1].correct.mean() > 0.97
    assert times[1].stopping_times.mean() < 0.96 * times[0].stopping_times.mean()


# ---------------------------------------------------------------- supermartingales and error rates


# So strong that the mean of every component is seen as 1 (see test_top_wrong).
LIGHT = Scales((150.0, 400.0), (0.7, 0.3), (50.0, 100.0))


def component_means(sampling: int, noise_scale: float = 1.0) -> list[tuple[float, float]]:
    """Mean and standard error of E_y at the truth: the pair, a bystander, and the two together."""
    runs, rounds, d = 1500 * LONGER, 50, 3
    problem, mu = near_null(d, "additive")
    task, truth = problem.task, problem.whiten(mu)
    Z, found = task.answers, []
    lean = WEIGHTING.lean
    directions = [Z[-1] - Z[0], Z[1] - Z[0], (Z[1] - Z[0]) + lean * (Z[1] - Z[-1])]
    for run in range(runs):
        state = top_wrong(task, [DELTA], RankMasses(), LIGHT, None, WEIGHTING, RANKED)
        evidence, noise = no_evidence(task), np.random.default_rng([run, sampling])
        shrunk = task.arms @ truth / noise_scale
        simulate(task, evidence, state, shrunk, sampling, False, noise, rounds, rounds + 1)
        B = state.drift + state.weighting[contrasts.Weight.TOTAL] * np.eye(d)
        row = []
        for y in directions:
            t = noise_scale * (y @ state.total) - (B @ y) @ truth
            variance = y @ state.spread @ y
            row.append(contrasts.log_one_sided(t, variance, y @ y, state.directions))
        found.append(np.exp(row))
    errors = np.std(found, axis=0, ddof=1) / math.sqrt(runs)
    return list(zip(np.mean(found, axis=0), errors, strict=True))


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
def test_every_component_is_a_martingale(sampling: int) -> None:
    for mean, error in component_means(sampling):
        assert abs(mean - 1) <= 4 * error


def test_noise_above_sigma_is_seen_by_the_martingale_test() -> None:
    for mean, error in component_means(CHASE, noise_scale=1.3):
        assert mean > 1 + 4 * error


def lean(task: Task, deltas: list[float]) -> TopWrong:
    return start(task, deltas, masses="lean")


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
@pytest.mark.parametrize("make", [start, lean, start_student])
@pytest.mark.parametrize(("shape", "d"), [(near_null, 2), (tied, 4)])
def test_wrong_answers_are_rarer_than_promised(
    shape: Callable[[int, Notion], tuple[Problem, Array]],
    d: int,
    make: Callable[..., TopWrong],
    sampling: int,
) -> None:
    runs, delta = 300 * LONGER, 0.2
    for notion in NOTIONS:
        problem, mu = shape(d, notion)
        assert wrong_answers(problem, mu, delta, sampling, runs, make=make) <= delta * runs


@pytest.mark.parametrize("make", [start, start_student])
def test_a_lowered_threshold_is_found_out(make: Callable[..., TopWrong]) -> None:
    """Sabotage: the same count on the same instance fails when the test asks for too little."""
    problem, mu = near_null(5, "additive")
    runs, delta = 400 * LONGER, 0.2
    assert not is_scandal(wrong_answers(problem, mu, delta, CHASE, runs, make=make), runs, delta)
    wrong = wrong_answers(problem, mu, delta, CHASE, runs, make=make, lowered=6.0)
    assert is_scandal(wrong, runs, delta)


def test_a_weak_set_among_many_is_found() -> None:
    """Against all sizes and all top ones, where evidence is of all sizes and often equal."""
    rng, verdicts = np.random.default_rng(0), []
    for count in (1, 2, 5, 30, 100):
        ranks = RankMasses().budget(count).ranks
        for _ in range(300):
            beside = np.sort(np.exp(rng.uniform(-3, 6) + 2 * rng.integers(0, 4, count)))
            alone = np.minimum(1, np.exp(-rng.uniform(0, 3) * rng.integers(0, 4, count)))
            own, following = float(np.exp(rng.uniform(0, 5))), np.zeros(count, np.int64)
            link(alone, following, count)
            size, top = weak_set(ranks, own, alone, beside, following, count)
            others = np.array([np.delete(beside, t) for t in range(count)])  # ascending in each row
            weakest = np.pad(others.cumsum(axis=1), ((0, 0), (1, 0)))  # sums of the first k - 1
            sums = (beside[:, None] + weakest).T
            totals = alone + ranks[Rank.FALLBACK][:, None] * own
            totals = totals + ranks[Rank.SUMMED][:, None] * sums
            assert (size > 0) == (totals.min() < 1)
            assert size == 0 or totals[size - 1, top] < 1
            verdicts.append(size)
    assert 200 < np.count_nonzero(verdicts) < len(verdicts) - 200
    assert max(verdicts) > 10


def test_things_are_sorted_together() -> None:
    rng = np.random.default_rng(0)
    for count in (0, 1, 2, 7, 50):
        keys, values, numbers = rng.integers(0, 9, 60) / 4, rng.random(60), np.arange(60)
        before = sorted(zip(keys[:count], values[:count], numbers[:count], strict=True))
        rest = keys[count:].copy()
        sort_together(keys, values, numbers, count)
        after = list(zip(keys[:count], values[:count], numbers[:count], strict=True))
        assert sorted(after) == before
        assert (np.diff(keys[:count]) >= 0).all()
        assert (keys[count:] == rest).all()
