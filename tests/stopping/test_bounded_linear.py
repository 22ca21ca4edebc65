"""The test for bounded rewards with features against its theorem."""

import math
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng
from scipy.optimize import minimize
from scipy.special import comb

import furthest as ft
from furthest.codes import Noise
from furthest.engine import Run, told
from furthest.errors import StrategyError
from furthest.kernels.bounded_linear import (
    BoundedLinear,
    Guard,
    Number,
    Price,
    Scratch,
    Share,
    accepts,
    accepts_within,
    curvature,
    log_prediction,
    predict,
    price,
    renew_guard,
    strength,
)
from furthest.preparation import prepare
from furthest.problem import Notion, Problem
from furthest.stopping import ranked
from furthest.stopping.bounded_linear import BOUNDED_LINEAR, excludes, score, start
from furthest.stopping.nomination import Nominee, Progress
from furthest.stopping.within import certified_eps
from furthest.study.certificate import verify
from oracles.bounded_linear import Array, LinearOracle
from oracles.near_null import LONGER, NOTIONS, is_scandal

DELTA = 0.1


def factorial(factors: int, eps: float, notion: Notion = "additive", **noise: Any) -> Problem:
    """All combinations of factors with two levels."""
    levels = {f"factor {i}": ["old", "new"] for i in range(factors)}
    return Problem.factorial(levels, eps=eps, notion=notion, **(noise or {"noise": "bernoulli"}))


def fed(problem: Problem, arms: Array, values: Array, sizes: Array | None = None) -> Run:
    """A run that has taken in these results, or sums of them, and proven nothing."""
    ready = prepare(ft.Strategy("uniform"), problem.task, [DELTA])
    run, rng = ready.start(), default_rng(0)
    counts = None if sizes is None else np.asarray(sizes, np.int64)
    source = told(np.asarray(arms, np.int64), values / problem.unit, counts)
    ready.advance(problem.task, run, source, rng, rng, 10**9, False)
    return run


def refreshed(problem: Problem, run: Run) -> BoundedLinear:
    """The test's state with a guard of now."""
    test: BoundedLinear = run.stopping.test
    predict(test, problem.task, run.evidence)
    renew_guard(test, problem.task, run.evidence, 0)
    return test


def oracle_of(problem: Problem, pulled: Array, values: Array) -> LinearOracle:
    """In the coordinates of the task, halved: so that means are within [0, 1]."""
    task = problem.task
    return LinearOracle(
        task.arms,
        task.answers,
        task.initial.tolist(),
        np.asarray(pulled, np.int64),
        values,
        task.c,
        task.e / 2,
        task.low / 2,
    )


def random_problem(rng: Generator, notion: Notion) -> tuple[Problem, Array]:
    """Features of all kinds, and means within (0, 1)."""
    kind, eps = rng.integers(3), float(rng.choice([0.03, 0.1]))
    if kind == 0:
        problem = factorial(2, eps, notion)
    elif kind == 1:  # answers that are no arms, and no constant
        arms = rng.dirichlet(np.ones(3), 5)
        problem = Problem(arms, rng.dirichlet(np.ones(3), 4), eps, notion, noise="bernoulli")
    else:
        arms = np.column_stack([np.ones(6), rng.uniform(-1, 1, 6)])
        problem = Problem(arms, None, eps, notion, bounds=(0, 1))
    level = float(rng.choice([0.05, 0.3, 0.8]))
    middle = problem.whiten(np.linalg.lstsq(problem.arms, np.full(len(problem.arms), level))[0])
    truth = middle + 0.4 * level * (1 - level) * rng.standard_normal(problem.task.arms.shape[1])
    return problem, np.clip(problem.task.arms @ truth / 2, 0.01, 0.99)


def random_log(rng: Generator, problem: Problem, means: Array, rounds: int) -> tuple[Array, Array]:
    """The initial design, then arms at random, some of them rarely; rewards 0, 1 and between."""
    shares = rng.dirichlet(np.full(len(means), 2.0))
    pulled = np.r_[problem.task.initial, rng.choice(len(means), rounds, p=shares)]
    values = (rng.random(len(pulled)) < means[pulled]).astype(float)
    if problem.noise != "bernoulli":
        values = rng.beta(5 * means[pulled], 5 * (1 - means[pulled]))
    return pulled, values


@pytest.mark.parametrize("weaker", [0.0, 0.08], ids=["as asked", "less"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_no_possible_parameter_has_less_evidence_than_is_claimed(
    notion: Notion, weaker: float
) -> None:
    """F against the exact e-process, at parameters that the exact guard leaves.

    Also where less is asked, a greater ε, with the evidence of the question as it was.
    """
    rng = default_rng(11)
    tilt, slack = (0.0, weaker) if notion == "additive" else (weaker, 0.0)
    tried, lost = 0, []
    for _ in range(10):
        problem, means = random_problem(rng, notion)
        pulled, values = random_log(rng, problem, means, int(rng.integers(50, 1500)))
        run = fed(problem, pulled, values)
        test, task = refreshed(problem, run), problem.task
        oracle = oracle_of(problem, pulled, values)
        g, predicted = oracle.weights(), float(test.numbers[Number.PREDICTED])
        z = int(run.evidence.values.argmax())
        for x in range(len(task.answers)):
            if x == z:
                continue
            border = task.answers[z] - (task.c - tilt) * task.answers[x]
            e = (task.e + slack) / 2
            claimed = strength(test, task, z, x, 0, tilt, slack)

            def against(nu: Array) -> float:
                wrong = float(nu @ border) + e <= 0  # noqa: B023
                if not (wrong and oracle.possible(nu, predicted, DELTA)):  # noqa: B023
                    return math.inf
                return oracle.log_e(g, z, x, nu)  # noqa: B023

            points = null_points(rng, test, border, e)
            found = [against(nu) for nu in points]
            tried += int(np.isfinite(found).sum())
            if not np.isfinite(min(found)):
                continue
            options = {"maxfev": 80, "initial_simplex": simplex(points, found)}
            least = minimize(against, points[0], method="Nelder-Mead", options=options).fun
            assert claimed <= least + 1e-7
            lost.append((least - claimed) / (3 + abs(least)))
    # What Bennett, the ellipsoid and the separate bounds give away: much while little is known.
    assert tried > 400
    assert np.quantile(lost, 0.25) < 0.4


@pytest.mark.parametrize("notion", NOTIONS)
def test_what_is_proven_of_a_weaker_question(notion: Notion) -> None:
    """At least ε, what the test accepts and nothing below; ε itself where it accepts at once."""
    rng, found = default_rng(2), []
    problem = factorial(2, 0.02, notion)
    means = np.array([0.3, 0.35, 0.4, 0.45])
    for rounds in (100, 400, 40_000):
        pulled, values = random_log(rng, problem, means, rounds)
        run = fed(problem, pulled, values)
        test, task = refreshed(problem, run), problem.task
        z = int(run.evidence.values.argmax())
        eps = certified_eps(BOUNDED_LINEAR, problem, test, run.evidence, z)
        found.append(math.inf if eps is None else eps)
        step = 1.0 if notion == "multiplicative" else 1 / problem.unit
        for share, expected in ((1.0, True), (0.99, False)):
            more = (found[-1] * share - problem.eps) * step
            weaker = (more, 0.0) if notion == "multiplicative" else (0.0, more)
            if math.isfinite(found[-1]) and found[-1] > 1.1 * problem.eps:
                assert bool(accepts_within(test, task, z, *weaker)) == expected
        assert accepts_within(test, task, z, 0.0, 0.0) == bool(accepts(test, task, z, 0))
    assert found[0] > found[1] > 1.5 * found[2]
    assert found[2] == pytest.approx(problem.eps)


def simplex(points: list[Array], found: list[float]) -> Array:
    """The best of the points, and half the way from it to others."""
    order = np.argsort(found)[: len(points[0]) + 1]
    best = points[int(order[0])]
    return np.array([best + 0.5 * (points[int(i)] - best) for i in order])


def null_points(rng: Generator, test: BoundedLinear, y: Array, e: float) -> list[Array]:
    """Parameters with ⟨ν, y⟩ + e ≤ 0 in and about the ellipsoid, many of them where T is least."""
    d, radius = len(y), math.sqrt(max(test.guard[Guard.SQUARED_RADIUS, 0], 0.0))
    root = np.linalg.cholesky(test.metrics[:d])
    normal, found = root.T @ y, []
    gap = float(test.centres[0] @ y) + e
    for _ in range(120):
        step = rng.standard_normal(d)
        step *= radius * rng.random() ** (0.5 / d) / np.linalg.norm(step)
        behind = gap + float(normal @ step)
        if behind > 0:
            step -= (behind * (1 + 1e-9) / float(normal @ normal)) * normal
        found.append(test.centres[0] + root @ step)
    return found


def test_the_sums_are_the_oracle_s() -> None:
    rng = default_rng(3)
    problem, means = random_problem(rng, "additive")
    pulled, values = random_log(rng, problem, means, 400)
    run, oracle = fed(problem, pulled, values), oracle_of(problem, pulled, values)
    test, task, g = run.stopping.test, problem.task, oracle.weights()
    d = task.arms.shape[1]
    product_ = task.arms[pulled].T @ g
    assert test.drift + test.numbers[Number.TOTAL] * np.eye(d) == pytest.approx(product_)
    assert test.total == pytest.approx((values + task.low / 2) @ g)
    for arm in range(len(task.arms)):
        own = g[pulled == arm]
        assert test.spread[arm * d : (arm + 1) * d] == pytest.approx(own.T @ own)
        assert test.extremes[2 * arm] == pytest.approx(own.min(axis=0))
        assert test.extremes[2 * arm + 1] == pytest.approx(own.max(axis=0))
    test = refreshed(problem, run)

    def against(nu: Array) -> float:
        p = np.clip(oracle.means(nu), 1e-12, 1 - 1e-12)
        credit = test.numbers[Number.PSEUDO] * float((np.log(p) + np.log1p(-p)).sum())
        return -oracle.log_likelihood(nu) - credit

    best = minimize(against, test.predictor, method="Nelder-Mead", options={"xatol": 1e-9})
    assert against(test.predictor) <= best.fun + 1e-4


def test_many_results_at_once_have_one_weight() -> None:
    """n outcomes of one arm, told together: one g from the arms and sizes alone."""
    problem, rng = factorial(2, 0.05), default_rng(6)
    task = problem.task
    pulled = np.r_[0, 1, 2, 3, rng.integers(4, size=12)]
    sizes = np.r_[1, 1, 20, 5, rng.integers(1, 400, size=12)]
    values = np.asarray(rng.binomial(sizes, 0.2), float)
    run = fed(problem, pulled, values, sizes)
    information, b, d = np.zeros((3, 3)), 0.0, 3
    for arm, size in zip(pulled[:4], sizes[:4], strict=True):
        information += size * np.outer(task.arms[arm], task.arms[arm])
        b += size
    weights = [b * np.linalg.solve(information, task.arms[arm]) for arm in pulled[:4]]
    drift = np.zeros((d, d))
    for arm, size in zip(pulled[4:], sizes[4:], strict=True):
        information += size * np.outer(task.arms[arm], task.arms[arm])
        b += size
        g = (b * np.eye(d) - drift).T @ np.linalg.solve(information, task.arms[arm])
        drift += size * (np.outer(task.arms[arm], g) - np.eye(d))
        weights.append(g)
    g, test = np.array(weights), run.stopping.test
    assert test.drift == pytest.approx(drift, abs=1e-8)
    assert test.total == pytest.approx(values @ g)
    assert test.spread.reshape(4, d, d).sum(axis=0) == pytest.approx((g.T * sizes) @ g)
    # One by one and together: the guard is about as narrow, though predictions come late.
    arms = np.repeat(pulled, sizes)
    ones: Array = np.concatenate([np.arange(n) < s for s, n in zip(values, sizes, strict=True)])
    single = fed(problem, np.r_[0, 1, 2, 3, arms], np.r_[0, 0, 0, 0, ones.astype(float)])
    radii = [float(refreshed(problem, each).guard[0, 0]) for each in (run, single)]
    assert 0 < radii[0] < radii[1] + 10


def test_predictions_are_probabilities() -> None:
    """Of all orders of n outcomes together 1; and no parameter beats them by more on average."""
    test = start(factorial(2, 0.05).task, [DELTA])
    for q, spread, n in ((0.03, 1e-4, 1), (0.2, 0.01, 7), (0.5, 0.5, 30), (0.9, 1e-9, 12)):
        test.shares[Share.MEAN], test.shares[Share.SPREAD] = q, spread
        chances = [
            comb(n, s) * math.exp(log_prediction(test, 2, float(s), float(n))) for s in range(n + 1)
        ]
        assert sum(chances) == pytest.approx(1, rel=1e-6)


def test_the_components_are_supermartingales() -> None:
    """All 2⁸ logs of an adaptive rule, each with its probability: the averages are at most 1."""
    problem = Problem([[1, 0], [1, 1], [1, 3]], eps=0.1, noise="bernoulli")
    task, nu = problem.task, problem.whiten([0.2, 0.15]) / 2
    p = task.arms @ nu
    averages, total = np.zeros(4), 0.0
    for values in product((0.0, 1.0), repeat=8):
        pulled = [0, 1, 2]
        while len(pulled) < len(values):  # what was good is measured again
            pulled.append((pulled[-1] + (values[len(pulled) - 1] < 0.5)) % 3)
        arms, seen = np.array(pulled), np.array(values)
        chance = float(np.prod(np.where(seen > 0, p[arms], 1 - p[arms])))
        oracle = oracle_of(problem, arms, seen)
        predicted = fed(problem, arms, seen).stopping.test.numbers[Number.PREDICTED]
        g = oracle.weights()
        logs = [
            predicted - oracle.log_likelihood(nu),
            oracle.log_e(g, 0, 2, nu),
            oracle.log_e(g, 1, 2, nu),
            np.logaddexp.reduce([oracle.log_against(a, p[a]) - math.log(3) for a in range(3)]),
        ]
        averages += chance * np.exp(logs)
        total += chance
    assert total == pytest.approx(1)
    assert averages[0] == pytest.approx(1)
    assert (averages <= 1 + 1e-9).all()
    assert (averages > 0.5).all()


def test_rewards_that_are_not_0_or_1_do_no_harm() -> None:
    """One more result multiplies each component by at most 1 on average, whatever is in [0, 1]."""
    rng = default_rng(2)
    for _ in range(300):
        values = rng.random(4) ** rng.choice([0.1, 1, 5])
        shares = rng.dirichlet(np.ones(4) * 0.5)
        mean, q, theta = float(shares @ values), rng.random(), rng.normal() * 2
        assert shares @ (q**values * (1 - q) ** (1 - values)) / 1 > 0
        ratio = (q / mean) ** values * ((1 - q) / (1 - mean)) ** (1 - values)
        assert shares @ ratio <= 1 + 1e-12
        # Bennett's and Hoeffding's bounds on what is paid for a tilt
        paid = math.log1p(mean * math.expm1(theta)) - mean * theta
        assert paid <= price(abs(theta), 1.0) * mean * (1 - mean) + 1e-12
        assert paid <= theta**2 / 8 + 1e-12
        reach = 1 + rng.random()
        assert price(abs(theta), 1.0) <= price(abs(theta), reach) * (1 + 1e-12)


def test_the_curvature_of_the_likelihood() -> None:
    rng = default_rng(4)
    for _ in range(500):
        start_at, end = rng.random() ** 3, rng.random() ** 3
        if rng.random() < 0.3:
            end = start_at * (1 + rng.normal() * 1e-3)
        p = end * rng.random() ** 0.2
        tangent = -math.log(start_at) - (p - start_at) / start_at
        bound = tangent + 0.5 * curvature(end / start_at) * ((p - start_at) / start_at) ** 2
        assert -math.log(p) >= bound - 1e-12 * (1 + abs(bound))
    assert curvature(1.0) == pytest.approx(1)


NEAR_NULL: dict[str, tuple[Problem, list[float]]] = {
    "rare": (factorial(2, 0.03), [0.005, 0.0302, 0.0302]),
    "even": (factorial(2, 0.1), [0.3, 0.101, 0.101]),
    "often": (factorial(2, 0.05, bounds=(0, 1)), [0.86, 0.051, 0.051]),
    "share": (factorial(2, 1 / 3, "multiplicative"), [0.1, 0.101, 0.101]),
    "answers": (
        Problem([[1, 0], [1, 1], [1, 2]], [[1, 0], [1, 1.3], [1, 2.6]], eps=0.1, noise="bernoulli"),
        [0.2, 0.0775],
    ),
}


def errors(
    name: str, strategy: ft.Strategy, runs: int, max_rounds: int = 2500
) -> tuple[int, ft.Results]:
    """Wrong answers at DELTA."""
    problem, mu = NEAR_NULL[name]
    found = ft.simulate(problem, mu, strategy, DELTA, runs, 5, max_rounds=max_rounds, quiet=True)
    return int((found.stopped & ~found.correct).sum()), found


@pytest.mark.parametrize("sampling", ["uniform", "softmin"])
@pytest.mark.parametrize("name", NEAR_NULL)
def test_near_null_errors(name: str, sampling: str) -> None:
    runs = 200 * LONGER
    wrong, found = errors(name, ft.Strategy(sampling), runs)
    assert not is_scandal(wrong, runs, DELTA)
    assert found.stopped.any()


def weakened(*arguments: Any, **options: Any) -> BoundedLinear:
    """A test for which less evidence is enough, and whose guard is too narrow."""
    state = start(*arguments, **options)
    state.required[:] -= 4.0
    return state


def test_a_test_that_spends_too_much_is_caught() -> None:
    bad = replace(ranked.TESTS[None], bounded_linear=replace(BOUNDED_LINEAR, start=weakened))
    runs = 200
    wrong, _ = errors("even", ft.Strategy("uniform", stopping=bad), runs)
    assert is_scandal(wrong, runs, DELTA)


def test_any_bounds_are_the_same_as_zero_and_one() -> None:
    """Rewards and ε moved and stretched together."""
    rng = default_rng(4)
    one = factorial(2, 0.05)
    other = factorial(2, 0.05 * 20, noise="bernoulli", bounds=(-7.0, 13.0))
    pulled = np.r_[0, 1, 2, 3, rng.integers(4, size=700)]
    values = (rng.random(704) < np.array([0.2, 0.25, 0.3, 0.35])[pulled]).astype(float)
    found = []
    for problem, shown in ((one, values), (other, -7 + 20 * values)):
        run = fed(problem, pulled, shown)
        z = int(run.evidence.values.argmax())
        test = run.stopping.test
        found.append(score(test, problem.task, run.evidence, Nominee(z, 0.0, 0), None))
        assert accepts(test, problem.task, z, 0) == (found[-1].statistic >= found[-1].threshold)
    assert found[0].statistic == pytest.approx(found[1].statistic, rel=1e-6)
    assert found[0].threshold == pytest.approx(math.log(1 / DELTA))


def test_a_model_that_does_not_fit_proves_nothing() -> None:
    """Each factor alone does harm, both together do not: no parameter is left."""
    problem = factorial(2, 0.05)
    pulled = np.arange(8000) % 4
    values = (default_rng(0).random(8000) < np.array([0.9, 0.1, 0.1, 0.9])[pulled]).astype(float)
    run = fed(problem, pulled, values)
    test = refreshed(problem, run)
    assert test.guard[Guard.SQUARED_RADIUS, 0] < 0
    for z in range(4):
        assert not accepts(test, problem.task, z, 0)
        assert not excludes(test, problem.task, run.evidence, z)


@pytest.mark.parametrize("mu", [[0, 0, 0], [1, 0, 0], [0, 1, 0], [0, 0.5, 0.5]])
def test_outcomes_that_are_certain(mu: list[float]) -> None:
    """Means of 0 and 1: every answer is right, and there is one."""
    found = ft.simulate(factorial(2, 0.1), mu, delta=DELTA, runs=3, max_rounds=20_000, quiet=True)
    assert found.stopped.all()
    assert found.correct.all()


def test_what_is_ruled_out_is_beyond_the_guard() -> None:
    problem = factorial(2, 0.05)
    pulled = np.arange(6000) % 4
    values = (np.arange(6000) // 4 % 10 < np.array([1, 3, 6, 8])[pulled]).astype(float)
    run = fed(problem, pulled, values)
    out = [excludes(run.stopping.test, problem.task, run.evidence, z) for z in range(4)]
    assert out == [True, True, True, False]


def test_who_gets_it() -> None:
    """Bounds and features; σ where no parameter has all means between them."""
    assert factorial(2, 0.1).noise_code == Noise.BOUNDED_LINEAR
    assert factorial(2, 0.1, noise="sub-Gaussian", bounds=(0, 1)).noise_code == Noise.SUB_GAUSSIAN
    nothing = Problem([[1, 0], [0, 1], [1, 1], [0, 0]], eps=0.1, noise="bernoulli")
    assert nothing.noise_code == Noise.SUB_GAUSSIAN
    assert ft.Strategy().guarantee_for(factorial(2, 0.1)).noise == "bounded"
    assert ft.Strategy(stopping="top-wrong").noise_for(factorial(2, 0.1)) == Noise.SUB_GAUSSIAN
    with pytest.raises(StrategyError, match="share of δ"):
        start(factorial(2, 0.1).task, [DELTA], guard=0.0)
    with pytest.raises(StrategyError, match="within the bounds"):
        start(nothing.task, [DELTA])
    with pytest.raises(ft.ParameterError, match="outside the bounds"):
        ft.simulate(factorial(2, 0.1), [0.5, 0.4, 0.2])


def test_yes_and_no_are_drawn_wherever_they_are_announced() -> None:
    """With certain outcomes all runs are the same, though the test goes by σ."""
    nothing = Problem([[1, 0], [0, 1], [1, 1], [0, 0]], eps=0.4, noise="bernoulli")
    found = ft.simulate(nothing, [1, 0], ft.Strategy("uniform"), DELTA, 5, quiet=True)
    assert len(set(found.stopping_times.tolist())) == 1
    with pytest.raises(ft.InputError, match="no other noise"):
        ft.simulate(nothing, [1, 0], noise=0.1)
    bounded = replace(nothing, noise=None)  # as ever: normal noise
    found = ft.simulate(bounded, [1, 0], ft.Strategy("uniform"), DELTA, 5, quiet=True)
    assert len(set(found.stopping_times.tolist())) > 1


def test_a_study_of_counts(tmp_path: Any) -> None:
    """Daily counts of a factorial design, up to its certificate."""
    problem, rng = factorial(2, 0.05), default_rng(3)
    means = problem.arms @ np.array([0.2, 0.1, 0.2])
    study = ft.Study.create("days", problem, DELTA, f"sqlite:///{tmp_path}/days.db")
    for _ in range(60):
        if study.status().state == "stopped":
            break
        trial = study.ask()
        study.tell(trial, successes=int(rng.binomial(100, means[trial.arm])), n=100)
    certificate = study.certificate()
    assert certificate.answer == 3
    assert certificate.answer in certificate.contenders
    assert certificate.proven
    assert "is linear in the features" in certificate.guarantee
    needs = {each.name: each.needs for each in certificate.conditions}
    assert "did not depend on what they were" in needs["means"]
    assert "linear" in needs["linear"]
    assert verify("days", study.events()).certificate == certificate


def test_progress_is_kept() -> None:
    """Reaching a level takes no other path than accepting its answer."""
    problem, rng = factorial(2, 0.1), default_rng(9)
    ready = prepare(ft.Strategy("uniform"), problem.task, [0.3, 0.05])
    run = ready.start()
    arms = np.arange(4000) % 4
    values = (rng.random(4000) < (problem.arms @ np.array([0.2, 0.2, 0.3]))[arms]).astype(float)
    source = told(arms, values / problem.unit)
    ready.advance(problem.task, run, source, rng, rng, 4000, True)
    assert run.stopping.progress[Progress.REACHED] == 2
    first, second = run.milestones.times.tolist()
    assert 0 < first <= second
    assert run.stopping.test.vectors.shape[0] == len(Scratch)
    assert (run.stopping.test.required[Price.LEVEL] > 0).all()
