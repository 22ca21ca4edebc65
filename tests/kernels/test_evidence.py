"""Evidence against NumPy from the counts and the sums of rewards."""

import numpy as np
import pytest
from hypothesis import given

from furthest import instances
from furthest.kernels.evidence import REFRESH, Clock, no_evidence, take_in
from furthest.problem import Problem
from furthest.strategy import Strategy
from oracles.plain import Plain, compiled
from oracles.runs import evidence_after
from strategies import observed

DERIVED = ("matrix", "inverse", "estimate", "values", "projected", "widths")


def from_scratch(task, evidence):
    """Everything that `Evidence` keeps, from counts and sums alone."""
    arms, answers = task.arms, task.answers
    matrix = arms.T @ (arms * evidence.counts[:, None])
    inverse = np.linalg.inv(matrix)
    estimate = np.linalg.solve(matrix, arms.T @ evidence.sums)
    return {
        "matrix": matrix,
        "inverse": inverse,
        "estimate": estimate,
        "values": answers @ estimate,
        "projected": inverse @ answers.T,
        "widths": np.einsum("ai,ij,aj->a", arms, inverse, arms),
    }


def relative_errors(task, evidence):
    """Largest error of each field, relative to the size of the terms that it is summed from."""
    expected = from_scratch(task, evidence)
    size = {name: np.abs(value).max() for name, value in expected.items()}
    size["estimate"] = (
        np.abs(expected["inverse"]) @ np.abs(task.arms.T) @ np.abs(evidence.sums)
    ).max()
    size["values"] = np.abs(task.answers).sum(axis=1).max() * size["estimate"]
    return {
        name: np.abs(getattr(evidence, name) - expected[name]).max() / (size[name] or 1.0)
        for name in DERIVED
    }


@given(observed())
def test_short_sequences(case):
    """Paper: design matrix, least squares."""
    problem, measurements = case
    evidence, plain = compiled(problem, measurements), Plain(problem, measurements)
    assert evidence.clock[Clock.ROUNDS] == plain.rounds
    assert evidence.clock[Clock.READY] == 1
    np.testing.assert_array_equal(evidence.counts, plain.counts)
    assert max(relative_errors(problem.task, evidence).values()) < 1e-12
    # The same in the user's coordinates and units.
    scale = np.abs(plain.rewards).max() / np.abs(problem.arms).max() + 1e-300
    np.testing.assert_allclose(
        problem.unwhiten(evidence.estimate), plain.estimate, rtol=1e-9, atol=1e-9 * scale
    )
    np.testing.assert_allclose(
        problem.task.answers @ evidence.projected * problem.sigma**2,
        problem.answers @ plain.inverse @ problem.answers.T,
        rtol=1e-9,
        atol=1e-9,
    )


@given(observed())
def test_an_arm_is_known_at_least_as_well_as_from_its_own_measurements(case):
    """Paper: Lemma E.23."""
    problem, measurements = case
    evidence = compiled(problem, measurements)
    assert (evidence.widths * evidence.counts <= 1 + 1e-9).all()


@pytest.mark.parametrize("ridge", [0.3, 1.0, 40.0])
@given(case=observed())
def test_a_ridge_is_that_of_the_users_coordinates(ridge, case):
    problem, measurements = case
    check_ridge(problem, measurements, ridge)


def check_ridge(problem, measurements, ridge):
    """Plain ridge regression, in the user's coordinates and with rewards in units of σ."""
    task = problem.task_with(ridge)
    evidence = no_evidence(task)
    for arm, reward in measurements:
        take_in(task, evidence, arm, reward / problem.sigma)
    rows = problem.arms[[arm for arm, _ in measurements]]
    rewards = np.array([reward for _, reward in measurements]) / problem.sigma
    matrix = rows.T @ rows + ridge * np.eye(rows.shape[1])
    estimate = np.linalg.solve(matrix, rows.T @ rewards)
    answers, arms = problem.answers, problem.arms
    np.testing.assert_allclose(evidence.values, answers @ estimate, rtol=1e-8, atol=1e-8)
    norms = answers @ np.linalg.solve(matrix, answers.T)
    np.testing.assert_allclose(task.answers @ evidence.projected, norms, rtol=1e-8, atol=1e-8)
    widths = np.einsum("ai,ia->a", arms, np.linalg.solve(matrix, arms.T))
    np.testing.assert_allclose(evidence.widths, widths, rtol=1e-8, atol=1e-10)


def test_a_ridge_where_columns_have_other_scales_and_one_is_the_sum_of_two():
    # Directions that no arm sees shrink to nothing, and the ridge does not see them either.
    rng = np.random.default_rng(6)
    plain = rng.normal(size=(5, 2)) * [1.0, 200.0]
    problem = Problem(np.column_stack([plain, plain.sum(axis=1)]), sigma=2.0)
    assert problem.dropped
    rounds = [*range(5), *rng.integers(0, 5, 2 * REFRESH)]
    check_ridge(problem, [(arm, rng.normal()) for arm in rounds], 3.0)


def test_without_a_ridge_nothing_starts():
    problem = instances.random(d=4, seed=1).problem
    assert not problem.task.ridge.any()
    np.testing.assert_allclose(
        problem.task_with(2.0).ridge, 2.0 * problem._basis.T @ problem._basis, atol=1e-12
    )


def skewed(problem, weights, rounds, seed):
    """Evidence after many rounds in very unequal proportions."""
    strategy = Strategy("fixed", threshold="paper", options={"weights": weights})
    mu = np.linspace(-1, 1, problem.arms.shape[1])
    return evidence_after(problem, mu, strategy, rounds, seed)


@pytest.mark.parametrize(
    ("rounds", "bound"),
    [
        # The last round before all is recomputed, when rank-one updates have drifted the most.
        (REFRESH * 3907 - 1, 1e-12),
        (REFRESH * 3907, 1e-13),
    ],
)
def test_a_million_rounds_with_skewed_sampling(rounds, bound):
    problem = instances.random(d=6, seed=3).problem
    evidence = skewed(problem, 10.0 ** -np.linspace(0, 6, 20), rounds, seed=1)
    assert rounds > 10**6
    assert evidence.counts.max() > 4e5 * evidence.counts.min()
    assert max(relative_errors(problem.task, evidence).values()) < bound


def test_nearly_parallel_arms_for_a_million_rounds():
    # One arm is pulled almost always.
    problem = Problem([[1.0, 0.0], [1.0, 1e-3], [0.0, 1e-2]])
    evidence = skewed(problem, [1.0, 1e-6, 0.0], REFRESH * 3907 - 1, seed=2)
    errors = relative_errors(problem.task, evidence)
    condition = np.linalg.cond(evidence.matrix)
    assert condition > 1e5
    assert max(errors.values()) < 1e-11


def test_refresh_changes_nothing_but_rounding():
    problem = instances.random(d=4, seed=1, arms=6).problem
    rng = np.random.default_rng(5)
    pulls = np.concatenate([np.arange(6), rng.integers(0, 6, 2 * REFRESH)])
    rewards = rng.standard_normal(len(pulls))
    task, evidence = problem.task, no_evidence(problem.task)
    worst = 0.0
    for t, (arm, reward) in enumerate(zip(pulls, rewards, strict=True), 1):
        take_in(task, evidence, arm, reward)
        if t > 6 and t % REFRESH in {REFRESH - 1, 0, 1}:
            worst = max(worst, *relative_errors(task, evidence).values())
    assert worst < 1e-12


def test_before_the_initial_design_is_complete():
    task = instances.hard().problem.task
    evidence = no_evidence(task)
    assert evidence.clock[Clock.MEMO_ROUND] == -1
    for t, arm in enumerate([2, 0, 0, 2, 1], 1):
        take_in(task, evidence, arm, 1.0)
        assert evidence.clock[Clock.ROUNDS] == t
        assert evidence.clock[Clock.READY] == 0
        assert not evidence.matrix.any()
        assert not evidence.estimate.any()
    take_in(task, evidence, 3, 1.0)
    assert evidence.clock[Clock.READY] == 1
    assert evidence.counts.tolist() == [2, 1, 2, 1]
    assert evidence.sums.tolist() == [2.0, 1.0, 2.0, 1.0]
    assert max(relative_errors(task, evidence).values()) < 1e-14


def test_the_design_may_be_finished_on_a_refresh_round():
    task = instances.hard().problem.task
    evidence = no_evidence(task)
    for t in range(REFRESH - 1):
        take_in(task, evidence, t % 3, 0.5)
    assert evidence.clock[Clock.READY] == 0
    take_in(task, evidence, 3, 0.5)
    assert evidence.clock[Clock.READY] == 1
    assert max(relative_errors(task, evidence).values()) < 1e-13


def test_the_order_of_measurements_does_not_matter():
    problem = instances.hard().problem
    rng = np.random.default_rng(3)
    measurements = [(arm, rng.standard_normal()) for arm in [*range(4), *rng.integers(0, 4, 96)]]
    one, other = compiled(problem, measurements), compiled(problem, measurements[::-1])
    for name in DERIVED:
        np.testing.assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-12, atol=1e-13)
