"""Results that are told as the mean of several: what the tests make of them."""

from typing import Any

import numpy as np
import pytest
from numpy.random import default_rng
from numpy.typing import NDArray

import furthest as ft
from furthest.engine import Run, told
from furthest.kernels.contrasts import TopWrong
from furthest.kernels.evidence import Squares
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.stopping.nomination import Progress
from oracles.near_null import LONGER, is_scandal

Array = NDArray[Any]

FEATURES = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0], [1.0, 4.0]])


def groups(rng: np.random.Generator, problem: Problem, most: int) -> tuple[Array, list[Array]]:
    """Arms, the initial design first, and for each some results in the task's unit."""
    first = problem.task.initial
    arms = np.r_[first, rng.integers(len(problem.arms), size=12)]
    means = rng.normal(size=problem.arms.shape[1:]) @ problem.arms.T
    return arms, [means[arm] + rng.normal(size=rng.integers(1, most)) for arm in arms]


def fed(strategy: ft.Strategy, problem: Problem, arms: Array, results: list[Array]) -> Run:
    """A run that has taken in the sums of these results."""
    ready = prepare(strategy, problem.task, [0.1])
    run, rng = ready.start(), default_rng(0)
    sums = np.array([each.sum() for each in results])
    sizes = np.array([len(each) for each in results])
    within = np.array([((each - each.mean()) ** 2).sum() for each in results])
    source = told(arms, sums, sizes, within)
    assert ready.advance(problem.task, run, source, rng, rng, 10**9, False) == len(arms)
    return run


@pytest.mark.parametrize("sigma", [1.0, None], ids=["σ known", "σ unknown"])
def test_least_squares_does_not_care_how_results_are_told(sigma: float | None) -> None:
    problem = Problem(FEATURES, eps=0.1, sigma=sigma)
    arms, results = groups(default_rng(3), problem, 40)
    evidence = fed(ft.Strategy("uniform"), problem, arms, results).evidence
    rows = np.repeat(problem.task.arms[arms], [len(each) for each in results], axis=0)
    values = np.concatenate(results)
    expected, squares, *_ = np.linalg.lstsq(rows, values, rcond=None)
    np.testing.assert_allclose(evidence.estimate, expected, rtol=1e-9)
    np.testing.assert_allclose(evidence.matrix, rows.T @ rows, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(evidence.inverse @ evidence.matrix, np.eye(2), atol=1e-9)
    assert evidence.residual[Squares.TOTAL] == pytest.approx(squares[0], rel=1e-9)
    assert evidence.counts.sum() == len(values)


@pytest.mark.parametrize("stopping", ["top-wrong", "ranked"])
def test_results_of_one_sum_have_one_weight(stopping: str) -> None:
    """T, B and J as sums over every single result, with a g that is known before all of them."""
    problem = Problem(FEATURES, eps=0.1)
    arms, results = groups(default_rng(5), problem, 30)
    state: TopWrong = fed(ft.Strategy("uniform", stopping=stopping), problem, arms, results)[1].test
    rows, d = problem.task.arms, 2
    design = len(problem.task.initial)
    growth, correction = state.weighting[0], state.weighting[1]
    sizes = np.array([len(each) for each in results], float)
    V = (rows[arms[:design]].T * sizes[:design]) @ rows[arms[:design]]
    n0 = t = b = float(sizes[:design].sum())
    weights = [n0 * np.linalg.solve(V, rows[arm]) for arm in arms[:design]]
    B = sum(
        n * np.outer(rows[arm], g) for n, arm, g in zip(sizes, arms[:design], weights, strict=False)
    )
    for arm, n in zip(arms[design:], sizes[design:], strict=True):
        t += n
        V = V + n * np.outer(rows[arm], rows[arm])
        beta = (t / n0) ** growth
        g = (beta * t * np.eye(d) - correction * (B - b * np.eye(d))).T @ np.linalg.solve(
            V, rows[arm]
        )
        weights.append(g)
        b += n * beta
        B = B + n * np.outer(rows[arm], g)
    single = [(g, x) for g, each in zip(weights, results, strict=True) for x in each]
    np.testing.assert_allclose(state.total, sum(x * g for g, x in single), rtol=1e-8)
    np.testing.assert_allclose(state.spread, sum(np.outer(g, g) for g, _ in single), rtol=1e-8)
    np.testing.assert_allclose(state.drift, B - b * np.eye(d), rtol=1e-7, atol=1e-7 * b)


WRONG = {"sub-Gaussian": (1.0, False), "Gaussian": (None, False), "yes-no": (0.5, True)}


def errors(name: str, runs: int, size: int, *, sabotage: float = 0.0) -> int:
    """How often an answer that is wrong by a hair is given, if means of `size` results are told."""
    sigma, coins = WRONG[name]
    noise: Any = {"noise": "bernoulli"} if coins else {"sigma": sigma}
    eps = 0.1 if coins else 0.5
    problem = Problem.options(["A", "B", "C"], eps=eps, **noise)
    ready = prepare(ft.Strategy("uniform"), problem.task, [0.2])
    means = (np.array([0.5, 0.395, 0.395]) if coins else np.array([0.51, 0.0, 0.0])) / problem.unit
    rng, wrong, rounds = default_rng(11), 0, 120
    arms = np.arange(rounds) % 3
    for _ in range(runs):
        run = ready.start()
        if sabotage:
            run.stopping.test.required[:] -= sabotage
        shape = (rounds, size)
        if coins:
            results = 2.0 * (rng.random(shape) < 0.5 * means[arms][:, None])
        else:
            results = means[arms][:, None] + rng.normal(size=shape)
        within = size * results.var(axis=1)
        source = told(arms, results.sum(axis=1), np.full(rounds, size), within)
        ready.advance(problem.task, run, source, rng, rng, 10**9, True)
        if run.stopping.progress[Progress.REACHED]:
            wrong += run.stopping.progress[Progress.ANSWER] != 0
    return wrong


@pytest.mark.parametrize("name", WRONG)
def test_sums_do_not_mislead(name: str) -> None:
    runs = 400 * LONGER
    assert not is_scandal(errors(name, runs, 7), runs, 0.2)


@pytest.mark.parametrize(("name", "size"), [("sub-Gaussian", 2), ("yes-no", 7)])
def test_a_test_that_asks_for_less_is_caught(name: str, size: int) -> None:
    assert is_scandal(errors(name, 400, size, sabotage=4.0), 400, 0.2)


def test_squares_of_bounded_rewards() -> None:
    """Σ (X − m)² with m from before the sum; what nobody told is the most that it can be."""
    problem = Problem.options(["A", "B"], eps=0.1, bounds=(0, 1))
    rng = default_rng(4)
    arms, results = np.array([0, 1, 0, 0]), [rng.random(size) for size in (1, 3, 5, 8)]
    state: Any = fed(ft.Strategy("uniform"), problem, arms, [each / 0.5 for each in results])[1]
    expected, seen = np.zeros(2), [[0.5], [0.5]]
    for arm, each in zip(arms, results, strict=True):
        expected[arm] += ((each - np.mean(seen[arm])) ** 2).sum()
        seen[arm].extend(each)
    np.testing.assert_allclose(state.test.squares, expected, rtol=1e-9)
