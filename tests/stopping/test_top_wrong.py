"""The top-wrong-answer test against its theorem, its martingales and its promise.

The statistical tests are small enough for every day; oracles/near_null.py tells how to make them
larger.
"""

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.random import Generator

from furthest.errors import StrategyError
from furthest.kernels import contrasts
from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.contrasts import Case, Ellipsoid, Price, TopWrong
from furthest.kernels.evidence import Clock, Evidence, no_evidence, take_in
from furthest.kernels.normal_gamma import Shapes
from furthest.kernels.topwrong import Masses, Scales, met, observe, top_wrong
from furthest.problem import Notion, Problem
from furthest.stopping.nomination import Nominee
from furthest.stopping.top_wrong import check, score
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
from oracles.topwrong import Array, TopWrongOracle

DELTA = 0.1

# ------------------------------------------------------------------ against the theorem's formulas


def random_case(seed: int, d: int, notion: Notion) -> tuple[Task, TopWrongOracle]:
    """A random question after a random number of measurements, the later ones chasing rewards.

    The kernels work on whitened coordinates, the oracle on the original ones. On even seeds the
    initial design is only a spanning set.
    """
    rng = np.random.default_rng([seed, d])
    arms = rng.normal(size=(d + int(rng.integers(1, 5)), d)) * np.exp(rng.normal(size=d))
    answers = rng.normal(size=(int(rng.integers(2, 6)), d)) * np.exp(rng.normal(size=d))
    mu = rng.normal(size=d) * np.exp(rng.normal(0.5))
    if (answers @ mu).max() < 0:
        mu = -mu
    eps = rng.uniform(0.05, 0.4)
    pulls = list(range(len(arms) if seed % 2 else d))
    initial = len(pulls)
    rewards = [float(arms[a] @ mu + rng.normal()) for a in pulls]
    for _ in range(int(rng.integers(0, 120))):
        pull = int(rng.integers(len(arms)))
        if rng.random() < 0.5:
            pull = pulls[int(np.argmax(rewards))]
        pulls.append(pull)
        rewards.append(float(arms[pull] @ mu + rng.normal()))
    task = Problem(arms, answers, eps, notion).task._replace(initial=np.arange(initial))
    c, e = (1.0, eps) if notion == "additive" else (1 - eps, 0.0)
    return task, TopWrongOracle(arms, answers, c, e, initial, pulls, rewards)


def case_of(task: Task, evidence: Evidence) -> Case:
    """The part of task and evidence that the test looks at."""
    rounds = float(evidence.clock[Clock.ROUNDS])
    least_squares = (evidence.values, evidence.projected, evidence.inverse)
    return Case(task.answers, task.answer_columns, task.c, task.e, rounds, *least_squares)


def replay(task: Task, oracle: TopWrongOracle) -> tuple[Case, TopWrong]:
    """The kernels after the oracle's measurements."""
    evidence, state = no_evidence(task), top_wrong(task, [DELTA])
    for arm, reward in zip(oracle.pulls, oracle.rewards, strict=True):
        take_in(task, evidence, arm, reward)
        observe(state, task, evidence, arm, reward)
    case = case_of(task, evidence)
    contrasts.update_offset(state, evidence.estimate)
    contrasts.update_ellipsoids(state, case, evidence.matrix, 0)
    return case, state


def pairs(oracle: TopWrongOracle) -> Iterator[tuple[int, int]]:
    count = len(oracle.answers)
    return ((z, x) for z in range(count) for x in range(count) if x != z)


CASES = [(seed, d, notion) for d in range(1, 7) for seed in range(5) for notion in NOTIONS]


@pytest.mark.parametrize(("seed", "d", "notion"), CASES)
def test_evidence_of_every_contrast_is_that_of_the_theorem(
    seed: int, d: int, notion: Notion
) -> None:
    task, oracle = random_case(seed, d, notion)
    case, state = replay(task, oracle)

    def compare(found: float, y: Array) -> None:
        if oracle.m @ y + oracle.e <= 0:
            assert found == -math.inf
        else:
            assert found == pytest.approx(oracle.strength(y, DELTA), rel=1e-6, abs=1e-6)

    Z, c = oracle.answers, oracle.c
    for z, x in pairs(oracle):
        compare(contrasts.strength(state, case, z, x, z), Z[z] - c * Z[x])
        other = next((i for i in range(len(Z)) if i not in (z, x)), None)
        if other is not None:
            found = contrasts.strength(state, case, z, x, other)
            compare(found, 2 * Z[z] - c * Z[x] - Z[other])


def test_the_cases_have_evidence_of_every_kind() -> None:
    found = []
    for parameters in CASES:
        task, oracle = random_case(*parameters)
        case, state = replay(task, oracle)
        found += [contrasts.strength(state, case, z, x, z) for z, x in pairs(oracle)]
    kinds = np.array(found)
    required = -math.log(DELTA)
    assert (kinds == math.inf).sum() > 20
    assert ((kinds > required) & (kinds < math.inf)).sum() > 20
    assert ((kinds > 0) & (kinds < required)).sum() > 20


@pytest.mark.parametrize(("seed", "d", "notion"), [case for case in CASES if case[1] in (2, 3)])
def test_the_score_is_where_the_theorem_begins_to_hold(seed: int, d: int, notion: Notion) -> None:
    """Also at a formal δ' > 1: the oracle accepts just above exp(−score), and not just below."""
    task, oracle = random_case(seed, d, notion)
    evidence, state = no_evidence(task), top_wrong(task, [DELTA])
    for arm, reward in zip(oracle.pulls, oracle.rewards, strict=True):
        take_in(task, evidence, arm, reward)
        observe(state, task, evidence, arm, reward)
    Z, values = oracle.answers, oracle.answers @ oracle.m
    for z in range(len(Z)):
        found = score(state, task, evidence, Nominee(z, 0.0, 0), None)
        if values[z] - oracle.c * np.delete(values, z).max() + oracle.e <= 0:
            assert -math.inf < found.statistic < found.threshold
        elif found.statistic < 50:
            assert oracle.stops(z, math.exp(1e-4 - found.statistic))
            assert not oracle.stops(z, math.exp(-1e-4 - found.statistic))


@pytest.mark.parametrize(("seed", "d", "notion"), CASES[::3])
def test_out_of_the_ellipsoid_is_what_a_quadratic_programme_says(
    seed: int, d: int, notion: Notion
) -> None:
    task, oracle = random_case(seed, d, notion)
    case, state = replay(task, oracle)
    count = len(oracle.answers)
    for z, x in pairs(oracle):
        for other in set(range(count)) - {z, x}:
            beyond = contrasts.beyond_ellipsoid(state, case, z, x, other)
            excess = [
                oracle.distance(z, x, other, j) - oracle.squared_radius(j, DELTA) for j in (0, 1)
            ]
            if min(map(abs, excess)) > 1e-6:
                # d = 1: two opposite constraints may exclude each other; the kernel does not look
                assert beyond == (max(excess) > 0) or max(excess) == math.inf


@pytest.mark.parametrize("notion", NOTIONS)
def test_decisions_along_runs_are_those_of_the_theorem(notion: Notion) -> None:
    """Every tenth round by the theorem; every round against the test without a memory."""
    decisions = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        d = 2 + seed % 2
        problem, mu = near_null(d, notion) if seed % 3 else (hidden(rng, d, notion), np.eye(d)[0])
        decisions += decisions_along_a_run(problem, 1.4 * mu, rng)
    assert 10 < sum(decisions) < len(decisions) - 10


def decisions_along_a_run(problem: Problem, mu: Array, rng: Generator) -> list[bool]:
    task = problem.task
    arms = len(task.arms)
    evidence, state = no_evidence(task), top_wrong(task, [DELTA])
    pulls: list[int] = []
    rewards: list[float] = []
    decisions = []
    for t in range(100):
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
        if t % 10 == 0:
            question = (problem.arms, problem.answers, task.c, task.e, arms)
            assert decision == TopWrongOracle(*question, pulls, rewards).stops(z, DELTA)
            decisions.append(decision)
    return decisions


def hidden(rng: Generator, d: int, notion: Notion) -> Problem:
    """Random answers, of which the best one for μ = e₁ is the first."""
    answers = rng.normal(size=(4, d))
    answers[0] = np.eye(d)[0] * (0.5 + np.abs(answers[:, 0]).max())
    return Problem(answers, None, 0.1, notion)


def test_two_constraints_against_a_fine_parametrisation() -> None:
    rng = np.random.default_rng(0)
    angles = np.linspace(0, 2 * np.pi, 20_001)
    circle = np.array([np.cos(angles), np.sin(angles)])
    for _ in range(100):
        y = rng.normal(size=(2, 2))
        gaps = rng.normal(0.3, 1, size=2)
        gram = y @ y.T
        found = contrasts.squared_distance(gaps[0], gaps[1], gram[0, 0], gram[0, 1], gram[1, 1])
        # The least radius at which a direction meets both constraints
        reach = y @ circle
        with np.errstate(divide="ignore", invalid="ignore"):
            low = np.where(reach > 0, gaps[:, None] / reach, -np.inf)
            high = np.where(reach < 0, gaps[:, None] / reach, np.inf)
        low, high = np.maximum(low.max(axis=0), 0), high.min(axis=0)
        feasible = (low <= high) & ~((reach == 0) & (gaps[:, None] > 0)).any(axis=0)
        assert found == pytest.approx(low[feasible].min() ** 2, rel=1e-3, abs=1e-6)


# -------------------------------------------------------------------------------- edges and options


def test_equal_answers_do_not_stand_in_each_others_way() -> None:
    arms = np.array([[1.0, 0.0], [0.0, 1.0]])
    task = Problem(arms, np.vstack([arms, arms[:1]]), 0.1, "additive").task
    evidence, state = no_evidence(task), top_wrong(task, [DELTA])
    for t in range(400):
        reward = (1.0, 0.0)[t % 2] + (0.5, -0.5)[(t // 2) % 2]
        take_in(task, evidence, t % 2, reward)
        observe(state, task, evidence, t % 2, reward)
    assert met(state, task, evidence, 0, 0)
    assert met(state, task, evidence, 2, 0)
    assert not met(state, task, evidence, 1, 0)


def test_an_answer_that_is_a_multiple_of_another_needs_no_evidence_against_it() -> None:
    """z = (1 − ε)x is ε-best when x is the best, whatever μ is."""
    answers = np.array([[1.0, 0.0], [0.75, 0.0], [0.0, 1.0]])
    task = Problem(answers, None, 0.25, "multiplicative").task
    evidence, state = no_evidence(task), top_wrong(task, [DELTA])
    for t in range(900):
        reward = (1.0, 0.75, 0.0)[t % 3] + (0.5, -0.5)[(t // 3) % 2]
        take_in(task, evidence, t % 3, reward)
        observe(state, task, evidence, t % 3, reward)
    assert contrasts.strength(state, case_of(task, evidence), 1, 0, 1) == math.inf
    assert met(state, task, evidence, 1, 0)


def test_two_answers_leave_no_bystanders() -> None:
    task = Problem(np.eye(2), None, 0.1).task
    state = top_wrong(task, [0.1])
    assert state.required[Price.FIRST, 0] == pytest.approx(math.log(1 / (0.95 * 0.1)))
    assert state.required[Price.SUMMED, 0] == state.required[Price.FALLBACK, 0] == math.inf


def test_stricter_levels_are_met_later() -> None:
    problem, mu = near_null(2, "additive")
    task = problem.task
    rng = np.random.default_rng(1)
    evidence, state = no_evidence(task), top_wrong(task, [0.5, 0.1, 0.001])
    first = [math.inf] * 3
    for t in range(600):
        arm = t % len(task.arms)
        reward = float(problem.arms[arm] @ mu * 3 + rng.normal())
        take_in(task, evidence, arm, reward)
        observe(state, task, evidence, arm, reward)
        if t >= len(task.arms):
            z, _ = instantaneous_furthest(task, evidence)
            for level in range(3):
                if met(state, task, evidence, z, level):
                    first[level] = min(first[level], t)
    assert first[0] < first[1] < first[2] < math.inf


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"ellipsoid": 0.0}, "masses"),
        ({"summed": 0.6, "fallback": 0.4}, "sum below 1"),
        ({"direction_weights": (1.0,)}, "one weight"),
        ({"direction_weights": (0.9, 0.2)}, "at most 1"),
        ({"ellipsoids": ()}, "ellipsoids"),
        ({"ellipsoids": (4.0, math.nan)}, "ellipsoids"),
        ({"ellipsoids": "large"}, "ellipsoids"),
        ({"directions": (10.0, -1.0)}, "directions"),
        ({"shapes": (1.0, 2.0), "shape_weights": (0.9, 0.9)}, "shapes"),
    ],
)
def test_options_that_break_the_proof_are_named(options: dict[str, Any], words: str) -> None:
    with pytest.raises(StrategyError, match=words):
        check(**options)


def test_the_defaults_are_those_of_the_kernels() -> None:
    assert check() == (Masses(), Scales(), Shapes())


# --------------------------------------------------------------------------------- martingales


class Component(NamedTuple):
    """One summand of the proof's supermartingale, evaluated at the true parameter."""

    name: str
    mean: float
    error: float  # standard error of the mean


def component_means(
    d: int,
    sampling: int,
    rounds: int,
    *,
    scales: Scales,
    coins: bool = False,
    noise_scale: float = 1.0,
) -> list[Component]:
    """Means over runs of E1 for several contrasts and of M0 at a fixed time."""
    runs = 1500 * LONGER
    problem, mu = near_null(d, "additive")
    task = problem.task
    truth = problem.whiten(mu)
    means = task.arms @ truth
    Z = task.answers
    directions = [Z[-1] - Z[0], Z[1] - Z[0], 2 * Z[1] - Z[0] - Z[-1]]
    # Noise of another standard deviation is had by shrinking everything else
    found = []
    for run in range(runs):
        evidence, state = no_evidence(task), top_wrong(task, [DELTA], scales=scales)
        noise = np.random.default_rng([run, d, sampling, coins])
        shrunk = means / noise_scale
        simulate(task, evidence, state, shrunk, sampling, coins, noise, rounds, rounds + 1)
        B = state.drift + rounds * np.eye(d)
        total = state.total * noise_scale
        row = []
        for y in directions:
            t = y @ total - (B @ y) @ truth
            variance = y @ state.spread @ y
            row.append(contrasts.log_one_sided(t, variance, y @ y, state.directions))
        error = evidence.matrix @ (evidence.estimate * noise_scale - truth)
        for kappa in state.ellipsoids[Ellipsoid.KAPPA]:
            both = evidence.matrix + kappa * np.eye(d)
            volume = np.linalg.slogdet(both)[1] - d * math.log(kappa)
            row.append(0.5 * (error @ np.linalg.solve(both, error) - volume))
        found.append(np.exp(row))
    names = ["top wrong", "fallback", "summed", "narrow ellipsoid", "wide ellipsoid"]
    values = np.array(found)
    spread = values.std(axis=0, ddof=1) / math.sqrt(runs)
    return [Component(*row) for row in zip(names, values.mean(axis=0), spread, strict=True)]


# Priors this strong keep the variance of the mixtures finite: a mean of 1 is then seen as 1. With
# the default priors the mean lives on rare events, and only an upper bound can be checked.
LIGHT = Scales(directions=(150.0, 400.0), ellipsoids=(50.0, 100.0))


@pytest.mark.parametrize("d", [2, 4])
@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
def test_every_component_is_a_martingale(d: int, sampling: int) -> None:
    for component in component_means(d, sampling, 50, scales=LIGHT):
        assert abs(component.mean - 1) <= 4 * component.error, component


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
@pytest.mark.parametrize("rounds", [12, 100])
def test_every_component_is_at_most_one_on_average(sampling: int, rounds: int) -> None:
    for component in component_means(3, sampling, rounds, scales=Scales()):
        assert component.mean <= 1 + 4 * component.error, component


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
def test_every_component_is_a_supermartingale_for_coin_flips(sampling: int) -> None:
    for component in component_means(2, sampling, 50, scales=LIGHT, coins=True):
        assert component.mean <= 1 + 4 * component.error, component


def test_noise_above_sigma_is_seen_by_the_martingale_test() -> None:
    """Sabotage: with noise of 1.3σ every component's mean is above 1 by more than 4 errors."""
    for component in component_means(2, CHASE, 50, scales=LIGHT, noise_scale=1.3):
        assert component.mean > 1 + 4 * component.error, component


# ------------------------------------------------------------------------------------- error rates


RATES = [
    (shape, d, notion, sampling)
    for shape, d in ((near_null, 2), (tied, 3), (near_null, 5))
    for notion in NOTIONS
    for sampling in (ROUND_ROBIN, CHASE)
]


@pytest.mark.parametrize(("shape", "d", "notion", "sampling"), RATES)
def test_wrong_answers_are_rarer_than_promised(
    shape: object, d: int, notion: Notion, sampling: int
) -> None:
    assert callable(shape)
    problem, mu = shape(d, notion)
    runs, delta = 400 * LONGER, 0.2
    wrong = wrong_answers(problem, mu, delta, sampling, runs, every=1 + 2 * (d == 2))
    assert wrong <= delta * runs


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
def test_a_lowered_threshold_is_found_out(sampling: int) -> None:
    """Sabotage: the same count on the same instance must fail when the test asks for too little."""
    problem, mu = near_null(2, "additive")
    runs, delta = 400 * LONGER, 0.2
    assert not is_scandal(wrong_answers(problem, mu, delta, sampling, runs), runs, delta)
    assert is_scandal(wrong_answers(problem, mu, delta, sampling, runs, lowered=2.0), runs, delta)
