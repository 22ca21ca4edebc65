"""Intervals of values: against the confidence sets as they are stated, and how often they miss."""

import math
from itertools import product
from typing import Any, NamedTuple

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln

from furthest.codes import Noise
from furthest.engine import told
from furthest.kernels.bounded_linear import Number
from furthest.kernels.evidence import Evidence
from furthest.preparation import prepare
from furthest.problem import Notion, Problem
from furthest.stopping.exclusions import is_excluded
from furthest.stopping.intervals import Intervals, intervals
from furthest.stopping.test import StoppingTest
from furthest.strategy import Strategy
from furthest.task import Task
from oracles.near_null import LONGER, NOTIONS, is_scandal

Array = NDArray[np.float64]

DELTA = 0.1
STRATEGIES = {
    "ranked": Strategy("uniform"),
    "top-wrong": Strategy("uniform", stopping="top-wrong"),
    "mixture": Strategy("uniform", stopping="glr"),
    "theory": Strategy("uniform", stopping="glr", threshold="theory"),
}
YES_NO = {
    "pairs": Strategy("uniform"),
    "ranked-pairs": Strategy("uniform", stopping="ranked-pairs"),
}


class Run:
    """A test that takes in results one by one, whether it accepts something or not."""

    def __init__(self, problem: Problem, strategy: Strategy, delta: float) -> None:
        self.task = problem.task
        self._prepared = prepare(strategy, self.task, [delta, 1e-300])
        self._state = self._prepared.start()
        self._rng = default_rng(0)
        self.test: StoppingTest = strategy.test_for(Noise(self.task.noise))

    def take(self, arms: Any, rewards: Any) -> None:
        results = told(np.array(arms, np.int64), np.array(rewards, float))
        rng, many = self._rng, 10**9
        self._prepared.advance(self.task, self._state, results, rng, rng, many, True)

    @property
    def asked(self) -> tuple[Any, Task, Evidence]:
        return self._state.stopping.test, self.task, self._state.evidence

    @property
    def evidence(self) -> Evidence:
        found: Evidence = self._state.evidence
        return found

    def of(self, rows: Array) -> Intervals:
        found = intervals(self.test, *self.asked, rows)
        assert found is not None
        return found


def measured(problem: Problem, name: str, mu: Array, more: int, seed: int = 5) -> Run:
    """A run after so many results more than the initial design."""
    rng, task = default_rng(seed), problem.task
    run = Run(problem, STRATEGIES[name], DELTA)
    share = 0.6 ** np.arange(len(task.arms))
    arms = np.r_[task.initial, rng.choice(len(task.arms), more, p=share / share.sum())]
    run.take(arms, task.arms[arms] @ mu + rng.normal(size=len(arms)))
    return run


PLANE = Problem([[1.0, 0.0], [0.2, 1.0], [0.9, 0.3], [0.5, -0.5]], eps=0.1)


def shrunk(evidence: Evidence, kappa: float) -> Array:
    """G = V(V + κ)⁻¹V."""
    V = evidence.matrix
    return np.asarray(V @ np.linalg.inv(V + kappa * np.eye(len(V))) @ V)


def logdet(evidence: Evidence, kappa: float) -> float:
    return float(np.linalg.slogdet(evidence.matrix / kappa + np.eye(len(evidence.matrix)))[1])


def edge(metric: Array, squared_radius: float, turns: int = 200_000) -> Array:
    """Points on an ellipse around 0, by their directions."""
    angles = np.linspace(0, 2 * np.pi, turns)
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    squares = np.einsum("ti,ij,tj->t", rays, metric, rays)
    return np.asarray(rays * np.sqrt(squared_radius / squares)[:, None])


@pytest.mark.parametrize("name", ["ranked", "top-wrong"])
@pytest.mark.parametrize("more", [5, 60, 2000])
def test_ends_are_those_of_the_ellipsoids(name: str, more: int) -> None:
    run = measured(PLANE, name, np.array([1.0, 0.5]), more)
    rows, evidence, d = default_rng(1).normal(size=(9, 2)), run.evidence, 2
    found = run.of(rows)
    ends = []
    for kappa in (4.0 * d, 100.0 * d):  # the statement: docs/theory/top-wrong.md
        squared_radius = 2 * math.log(2 / (0.05 * DELTA)) + logdet(evidence, kappa)
        around = rows @ (evidence.estimate + edge(shrunk(evidence, kappa), squared_radius)).T
        ends.append((around.min(axis=1), around.max(axis=1)))
    lows, highs = zip(*ends, strict=True)
    np.testing.assert_allclose(found.highs, np.min(highs, axis=0), rtol=1e-6)
    np.testing.assert_allclose(found.lows, np.max(lows, axis=0), rtol=1e-6)


@pytest.mark.parametrize("more", [5, 60, 2000])
def test_the_mixture_leaves_no_parameter_out(more: int) -> None:
    """Its set by rays from the estimate; its intervals may be longer, by a little."""
    run = measured(PLANE, "mixture", np.array([1.0, 0.5]), more)
    rows, evidence = default_rng(1).normal(size=(9, 2)), run.evidence
    kappas = [8.0 * 16**j for j in range(3)]
    angles = np.linspace(0, 2 * np.pi, 4000)
    rays = np.column_stack([np.cos(angles), np.sin(angles)])
    squares = np.array([np.einsum("ti,ij,tj->t", rays, shrunk(evidence, k), rays) for k in kappas])
    volumes = np.array([logdet(evidence, kappa) for kappa in kappas])[:, None]

    def is_in(lengths: Array) -> NDArray[np.bool_]:
        terms = 0.5 * squares * lengths**2 - 0.5 * volumes
        return np.asarray(np.logaddexp.reduce(terms) - math.log(3) < math.log(1 / DELTA))

    inside, outside = np.zeros(len(rays)), np.full(len(rays), 1e3)
    for _ in range(60):
        middle = 0.5 * (inside + outside)
        here = is_in(middle)
        inside, outside = np.where(here, middle, inside), np.where(here, outside, middle)
    around = rows @ (evidence.estimate + rays * inside[:, None]).T
    found = run.of(rows)
    widths = np.ptp(around, axis=1)
    assert (found.highs >= around.max(axis=1)).all()
    assert (found.lows <= around.min(axis=1)).all()
    assert (found.highs - found.lows <= 1.01 * widths).all()


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(("name", "sigma"), [*product(STRATEGIES, [1.0]), ("ranked", None)])
def test_an_answer_is_out_where_the_interval_of_a_difference_says_so(
    name: str, sigma: float | None, notion: Notion
) -> None:
    answers = default_rng(5).normal(size=(30, 4))
    problem = Problem(answers, eps=0.1, notion=notion, sigma=sigma)
    mu = problem.whiten(2 * answers[0] / (answers[0] @ answers[0]))
    verdicts = []
    for more in (60, 400):
        run = measured(problem, name, mu, more)
        task, (state, _, evidence) = run.task, run.asked
        assert run.test.region is not None
        misses = run.test.region(state, task, evidence)
        for z in range(30):
            others = np.delete(task.answers, z, axis=0)
            highs = run.of(task.answers[z] - task.c * others).highs + task.e
            if abs(highs.min()) > 1e-6:
                assert is_excluded(misses, task, evidence, z) == (highs.min() < 0)
                verdicts.append(highs.min() < 0)
    assert 3 < sum(verdicts) < len(verdicts) - 3


def test_nothing_is_said_before_there_is_an_estimate() -> None:
    run = Run(PLANE, STRATEGIES["ranked"], DELTA)
    found = run.of(np.eye(2))
    assert np.isinf([found.lows, found.highs]).all()
    run = Run(Problem(np.eye(3), sigma=None), STRATEGIES["ranked"], DELTA)
    run.take([0, 1, 2, 0], [1.0, 0.0, 0.0, 1.1])  # of σ next to nothing is known
    found = run.of(np.eye(3))
    assert np.isinf([found.lows, found.highs]).all()


def test_a_row_of_zeros_has_the_value_zero() -> None:
    run = measured(PLANE, "ranked", np.array([1.0, 0.5]), 9)
    assert run.of(np.zeros((1, 2))) == (0.0, 0.0)


class YesNo(NamedTuple):
    """Yes/no outcomes of three options, in a problem with other bounds."""

    run: Run
    counts: Array
    sums: Array


def yes_no(name: str) -> YesNo:
    problem = Problem.options(["A", "B", "C"], eps=0.1, bounds=(-1, 3), noise="bernoulli")
    run = Run(problem, YES_NO[name], DELTA)
    rng = default_rng(3)
    arms = np.r_[0, 1, 2, rng.integers(0, 3, 200)]
    outcomes = rng.binomial(1, np.array([0.7, 0.2, 0.0])[arms])
    run.take(arms, (-1.0 + 4.0 * outcomes) / problem.unit)
    return YesNo(run, np.bincount(arms).astype(float), np.bincount(arms, outcomes))


@pytest.mark.parametrize("name", YES_NO)
def test_ends_are_those_of_the_intervals_of_means(name: str) -> None:
    """Jeffreys' mixture by SciPy; of a combination of answers the worst of all corners."""
    run, counts, sums = yes_no(name)
    ends = []
    for n, s in zip(counts, sums, strict=True):

        def log_e(p: float, n: float = n, s: float = s) -> float:
            found = betaln(s + 0.5, n - s + 0.5) - math.log(math.pi)
            found -= s * math.log(p) if s else 0.0
            found -= (n - s) * math.log1p(-p) if n > s else 0.0
            return float(found) - math.log(3 / (0.05 * DELTA))

        top = min(max(s / n, 1e-9), 1 - 1e-9)
        low = brentq(log_e, 1e-12, top) if s else 0.0
        ends.append((low, brentq(log_e, top, 1 - 1e-12)))
    values = np.array(ends) * 2.0 - 0.5  # of bounds −1 … 3, in units of 2
    found = run.of(run.task.answers)
    np.testing.assert_allclose(np.array([found.lows, found.highs]).T, values, atol=1e-7)
    shares = np.array([1.0, -0.4, -0.6])
    corners = [float(shares @ corner) for corner in product(*values)]
    one = run.of((shares @ run.task.arms)[None])
    assert one.lows[0] == pytest.approx(min(corners), abs=1e-6)
    assert one.highs[0] == pytest.approx(max(corners), abs=1e-6)


def test_the_guard_of_bounded_rewards_with_features_leaves_no_parameter_out() -> None:
    """All of a fine grid that intervals and likelihood ratio allow, as the theorem states them."""
    arms = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.5]])
    problem = Problem(arms, eps=0.1, noise="bernoulli")
    run = Run(problem, STRATEGIES["ranked"], DELTA)
    assert run.test.name == "bounded-linear"
    rng, kept = default_rng(3), 0
    pulled = np.r_[0, 1, rng.integers(0, 2, 300)]  # the third is never measured
    outcomes = rng.binomial(1, np.array([0.2, 0.6])[pulled])
    problem_initial = problem.task.initial.tolist()
    assert problem_initial == [0, 1, 2]
    pulled, outcomes = np.r_[0, 1, 2, pulled], np.r_[0, 1, 0, outcomes]
    grid = np.stack(np.meshgrid(np.linspace(0, 1, 801), np.linspace(0, 1, 801)), -1).reshape(-1, 2)
    means = grid @ np.linalg.solve(arms[:2], np.eye(2)).T @ arms.T  # by those of two arms
    for count in (10, 40, 150, 303):
        run.take(pulled[kept:count], outcomes[kept:count] / problem.unit)
        kept = count
        n = np.bincount(pulled[:count], minlength=3)
        s = np.bincount(pulled[:count], outcomes[:count], 3)
        with np.errstate(divide="ignore", invalid="ignore"):
            logs = np.where(s > 0, s * np.log(means), 0) + np.where(
                n > s, (n - s) * np.log1p(-means), 0
            )
        mixture = betaln(s + 0.5, n - s + 0.5) - math.log(math.pi) - logs
        allowed = (mixture < math.log(2 * 3 / (0.05 * DELTA))).all(axis=1)
        predicted = run.asked[0].numbers[Number.PREDICTED]
        allowed &= logs.sum(axis=1) > predicted - math.log(2 / (0.05 * DELTA))
        allowed &= ((means > 0) & (means < 1)).all(axis=1)
        assert allowed.sum() > 100
        rows = np.vstack([run.task.answers, run.task.answers[1] - run.task.answers[0]])
        values = 2.0 * np.column_stack([means, means[:, 1] - means[:, 0]])[allowed]
        found = run.of(rows)
        assert (found.lows <= values.min(axis=0)).all()
        assert (found.highs >= values.max(axis=0)).all()
    widths = found.highs - found.lows
    assert (widths[:2] < 2.0 * np.ptp(values, axis=0)[:2]).all()  # nor far more than that


def misses_once(
    problem: Problem, mu: Array, strategy: Strategy, delta: float, rng: Generator, scale: float
) -> bool:
    """Whether any interval of any answer ever misses its value, sampled by what looks best.

    With a scale below 1 they are shorter than they should be.
    """
    run, task = Run(problem, strategy, delta), problem.task
    means, unit = problem.arms @ mu, problem.unit

    def results(arms: Array) -> Array:
        if problem.bounds is not None:
            return np.asarray(rng.binomial(1, means[arms]) / unit)
        return np.asarray((means[arms] + rng.normal(size=len(arms))) / unit)

    truth = problem.answers @ mu / unit
    arms = task.initial
    for step in range(60):
        run.take(arms, results(arms))
        found = run.of(task.answers)
        middles, known = task.answers @ run.evidence.estimate, np.isfinite(found.highs)
        over = truth - middles > scale * (found.highs - middles)
        under = middles - truth > scale * (middles - found.lows)
        if (known & (over | under)).any():
            return True
        size = 1 + step // 8
        best = int((task.arms @ run.evidence.estimate).argmax())
        arms = np.where(rng.random(size) < 0.5, best, rng.integers(0, len(task.arms), size))
    return False


OPTIONS = Problem.options(["A", "B", "C"], eps=1e-6)
COVERED = {
    "ranked": (OPTIONS, STRATEGIES["ranked"]),
    "ranked, σ unknown": (Problem.options(["A", "B", "C"], eps=1e-6, sigma=None), Strategy()),
    "mixture": (PLANE, STRATEGIES["mixture"]),
    "pairs": (Problem.options(["A", "B", "C"], eps=1e-6, noise="bernoulli"), Strategy("uniform")),
    "bounded-linear": (
        Problem([[1.0, 0.0], [1.0, 1.0], [1.0, 0.5]], eps=1e-6, noise="bernoulli"),
        Strategy("uniform"),
    ),
}
MUS = {2: np.array([0.3, 0.2]), 3: np.array([0.5, 0.4, 0.1])}


@pytest.mark.parametrize("name", COVERED)
def test_intervals_seldom_miss_at_any_time(name: str) -> None:
    problem, strategy = COVERED[name]
    mu, rng, delta = MUS[problem.arms.shape[1]], default_rng(11), 0.3
    runs = 200 * LONGER
    wrong = sum(misses_once(problem, mu, strategy, delta, rng, 1.0) for _ in range(runs))
    assert not is_scandal(wrong, runs, delta)


@pytest.mark.parametrize("name", COVERED)
def test_shorter_intervals_would_be_noticed(name: str) -> None:
    problem, strategy = COVERED[name]
    mu, rng, delta = MUS[problem.arms.shape[1]], default_rng(11), 0.3
    wrong = sum(misses_once(problem, mu, strategy, delta, rng, 0.3) for _ in range(100))
    assert is_scandal(wrong, 100, delta)
