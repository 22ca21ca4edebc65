"""The closest alternative within an ellipsoid, against a conic solver."""

import math
from typing import NamedTuple

import cvxpy as cp
import numpy as np
import pytest

from furthest.kernels.ellipsoid import (
    diagonalise,
    ellipsoid,
    multiplier,
    nearest_within,
    relaxed,
    set_contrast,
    step_to,
    take_metric,
)
from furthest.problem import Problem
from furthest.task import Smoothness

SHARES = (0.02, 0.5, 1.0, 4.0)  # R over μᵀPμ: from far outside to well within


class Case(NamedTuple):
    """One question in whitened coordinates."""

    answers: np.ndarray
    metric: np.ndarray
    root: np.ndarray  # P = root · rootᵀ
    bound: float
    mu: np.ndarray
    c: float
    e: float


def case(seed, share, rank=None):
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 7))
    rank = int(rng.integers(1, d + 1)) if rank is None else min(rank, d)
    root, mu = rng.standard_normal((d, rank)), rng.standard_normal(d)
    spread = rng.standard_normal((d, d))
    return Case(
        answers=rng.standard_normal((4, d)),
        metric=spread @ spread.T + np.diag(rng.uniform(0.1, 30, d)),
        root=root,
        bound=share * float(((mu @ root) ** 2).sum()),
        mu=mu,
        c=float(rng.choice([1.0, 0.9])),
        e=float(rng.choice([0.0, 0.1, 1.0])),
    )


def work_for(case):
    task = Problem(np.eye(len(case.mu)), case.answers).task
    known = Smoothness(case.root @ case.root.T, case.bound)
    work, columns = ellipsoid(task, known), np.ascontiguousarray(case.answers.T)
    assert take_metric(work, columns, case.metric, case.mu)
    return work


def conic(case, x=None):
    """The squared distance by Clarabel; of the ellipsoid alone without x."""
    point = cp.Variable(len(case.mu))
    inside = [cp.sum_squares(case.root.T @ point) <= case.bound]
    if x is not None:
        inside.append((case.answers[0] - case.c * case.answers[x]) @ point + case.e <= 0)
    factor = np.linalg.cholesky(case.metric)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(factor.T @ (point - case.mu))), inside)
    problem.solve(solver=cp.CLARABEL)
    return float(problem.value)


@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_eigenvalues_are_those_of_lapack(d):
    rng = np.random.default_rng(d)
    half = rng.standard_normal((d, max(1, d - 1)))
    matrix = half @ half.T
    axes, values = np.zeros((d, d)), np.zeros(d)
    diagonalise(matrix.copy(), axes, values)
    np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(matrix), atol=1e-13 * d)
    np.testing.assert_allclose(axes * values @ axes.T, matrix, atol=1e-13 * d)
    np.testing.assert_allclose(axes.T @ axes, np.eye(d), atol=1e-14 * d)


@pytest.mark.parametrize("share", SHARES)
@pytest.mark.parametrize("seed", range(12))
def test_the_distance_is_that_of_a_conic_solver(seed, share):
    asked = case(seed, share)
    work, expected = work_for(asked), conic(asked, 1)
    set_contrast(work, 0, 1, asked.c)
    found, gamma = multiplier(work, asked.e, math.inf)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)
    if found == math.inf:
        return
    step_to(work, 0, 1, asked.c, asked.e, gamma)
    point = asked.mu - work.step
    assert (asked.answers[0] - asked.c * asked.answers[1]) @ point + asked.e <= 1e-9
    assert ((point @ asked.root) ** 2).sum() <= asked.bound * (1 + 1e-12)
    assert work.step @ asked.metric @ work.step == pytest.approx(found, rel=1e-8, abs=1e-8)


def test_the_cases_are_of_all_kinds():
    """With the bound of no matter, of matter, and with nothing in both sets."""
    kinds = set()
    for seed in range(12):
        for share in SHARES:
            asked = case(seed, share)
            work = work_for(asked)
            set_contrast(work, 0, 1, asked.c)
            found, gamma = multiplier(work, asked.e, math.inf)
            kinds.add("none" if found == math.inf else "matters" if gamma > 0 else "idle")
    assert kinds == {"none", "matters", "idle"}


@pytest.mark.parametrize("seed", range(12))
def test_every_multiplier_gives_a_lower_bound(seed):
    asked = case(seed, 0.5)
    work, expected = work_for(asked), conic(asked, 1)
    set_contrast(work, 0, 1, asked.c)
    for gamma in np.geomspace(1e-6, 1e6, 25):
        assert relaxed(work, asked.e, gamma)[2] <= expected + 1e-5 * (1 + abs(expected))


@pytest.mark.parametrize("seed", range(12))
def test_the_derivatives_are_those_of_small_differences(seed):
    asked = case(seed, 0.5)
    work, gamma, small = work_for(asked), 0.7, 1e-6
    set_contrast(work, 0, 1, asked.c)
    before, here, after = (
        relaxed(work, asked.e, at) for at in (gamma - small, gamma, gamma + small)
    )
    assert (after[0] - before[0]) / (2 * small) == pytest.approx(here[1], rel=1e-4, abs=1e-5)
    # D'(γ) = vᵀΛv − R
    assert (after[2] - before[2]) / (2 * small) == pytest.approx(
        here[0] - asked.bound, rel=1e-4, abs=1e-4
    )


@pytest.mark.parametrize("seed", range(6))
def test_a_bound_of_no_matter_leaves_the_half_space(seed):
    asked = case(seed, 1e9)
    work = work_for(asked)
    y = asked.answers[0] - asked.c * asked.answers[1]
    set_contrast(work, 0, 1, asked.c)
    found, gamma = multiplier(work, asked.e, math.inf)
    margin = max(float(asked.mu @ y) + asked.e, 0.0)
    assert gamma == 0.0
    assert found == pytest.approx(margin**2 / (y @ np.linalg.solve(asked.metric, y)), rel=1e-10)


def test_nothing_in_both_sets_is_infinitely_far():
    """|λ₁ − λ₂| ≤ 0.1 excludes that the second is better by more than 1."""
    root = np.array([[1.0], [-1.0]])
    work = work_for(Case(np.eye(2), np.eye(2), root, 0.01, np.array([5.0, 5.0]), 1.0, 1.0))
    set_contrast(work, 0, 1, 1.0)
    assert multiplier(work, 1.0, math.inf)[0] == math.inf
    assert nearest_within(work, 0, 1.0, 1.0)[:2] == (math.inf, -1)
    # At 0.1 itself they touch: near it is for the search to find out, and no longer infinite.
    assert multiplier(work, 0.0999, math.inf)[0] < math.inf


@pytest.mark.parametrize("seed", range(8))
def test_the_nearest_of_all(seed):
    asked = case(seed, 0.5)
    expected = min(conic(asked, x) for x in range(1, 4))
    found, _, _ = nearest_within(work_for(asked), 0, asked.c, asked.e)
    assert found == pytest.approx(expected, rel=1e-5, abs=1e-5)


@pytest.mark.parametrize("share", SHARES)
def test_without_contrast_it_is_the_distance_of_the_ellipsoid(share):
    asked = case(3, share)
    work = work_for(asked)
    work.contrast[:] = 0.0
    found, _ = multiplier(work, asked.e, math.inf)
    assert found == pytest.approx(conic(asked), rel=1e-5, abs=1e-6)


def test_a_singular_metric_is_no_metric():
    asked = case(2, 1.0)
    task = Problem(np.eye(len(asked.mu)), asked.answers).task
    work = ellipsoid(task, Smoothness(np.eye(len(asked.mu)), 1.0))
    assert not take_metric(work, task.answer_columns, np.zeros_like(asked.metric), asked.mu)
