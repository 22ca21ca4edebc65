"""Thresholds against the formulas written out, the mixture against a direct evaluation."""

import math

import mpmath
import numpy as np
import pytest
from hypothesis import given

from furthest import instances
from furthest.kernels.evidence import Clock
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.stopping import thresholds
from furthest.stopping.mixture import levels_reached, log_e_value, start
from furthest.stopping.nomination import Nominee, Progress
from furthest.stopping.thresholds import concentration, required
from furthest.strategy import Strategy
from furthest.verbs import width
from oracles.loop import Loop
from oracles.plain import Plain, compiled, halfspace_distance
from oracles.runs import evidence_after
from strategies import observed

NOTIONS = pytest.mark.parametrize("notion", ["additive", "multiplicative"])


def objective(lam, x):
    """(g_G(λ) + x)/λ, Kaufmann & Koolen (2021)."""
    g = 2 * lam - 2 * lam * mpmath.log(4 * lam) + mpmath.log(mpmath.zeta(2 * lam))
    return (g - mpmath.log(1 - lam) / 2 + x) / lam


@pytest.mark.parametrize("x", [0.0, 0.01, 0.5, 1.0, 2.302585, 4.60517, 13.8, 50.0, 700.0])
def test_concentration_function(x):
    """Paper: Equation 9."""
    found = concentration(x)
    with mpmath.workdps(30):
        grid = [mpmath.mpf(1) / 2 + mpmath.mpf(i) / 600 for i in range(1, 300)]
        values = [objective(lam, x) for lam in grid]
        best = min(range(len(grid)), key=lambda i: values[i])
        assert found <= float(values[best]) + 1e-12 * found
        # Golden section in 30 digits between the neighbours of the best grid point.
        low = grid[best - 1] if best else mpmath.mpf("0.5000000001")
        high = grid[best + 1] if best + 1 < len(grid) else 1 - mpmath.mpf(10) ** -12
        ratio = (mpmath.sqrt(5) - 1) / 2
        for _ in range(80):
            left, right = high - ratio * (high - low), low + ratio * (high - low)
            if objective(left, x) < objective(right, x):
                high = right
            else:
                low = left
        assert found == pytest.approx(float(objective((low + high) / 2, x)), rel=1e-13)


@pytest.mark.parametrize("x", [1e3, 1e5])
def test_concentration_function_far_out(x):
    # For large x the minimum is at 1 − λ ≈ 1/(2x): x + ½ ln(2x) + ½ + 2 − 2 ln 4 + ln ζ(2).
    expansion = x + 0.5 * math.log(2 * x) + 2.5 - 2 * math.log(4) + math.log(math.pi**2 / 6)
    assert concentration(x) == pytest.approx(expansion, abs=10 * math.log(x) / x)


@pytest.mark.parametrize("rounds", [4, 7, 100, 10**6])
def test_formulas_of_the_thresholds(rounds):
    """Paper: Equation 6, experiments' threshold."""
    problem = instances.random(d=3, arms=7).problem
    deltas = [0.3, 0.1, 1e-6]
    makes = (thresholds.paper, thresholds.paper_before, thresholds.theory)
    paper, before, theory = (make(problem.task, deltas) for make in makes)
    arms, d = 7, 3
    for level, delta in enumerate(deltas):
        heuristic = 2 * d * math.log(4 + math.log(rounds / d)) + math.log(1 / delta)
        assert required(paper, rounds, level) == pytest.approx(2 * heuristic)
        former = 4 * math.log((4 + math.log(rounds / 2)) / delta)
        assert required(before, rounds, level) == pytest.approx(former)
        if rounds < arms:
            continue
        beta = 2 * arms * math.log(4 + math.log(rounds / arms))
        beta += arms * concentration(math.log(1 / delta) / arms)
        assert required(theory, rounds, level) == pytest.approx(2 * beta)


@pytest.mark.parametrize("threshold", ["paper", "theory", "mixture", None])
def test_every_test_has_a_width_for_rules_that_want_one(threshold):
    problem = instances.random(d=3, arms=7).problem
    strategy = Strategy("uniform", threshold=threshold)
    stopping = prepare(strategy, problem.task, [0.3, 1e-3]).start().stopping
    for rounds in (7, 100, 10**6):
        found = width(stopping, problem.task, rounds)
        if threshold == "paper":
            beta = 6 * math.log(4 + math.log(rounds / 3)) + math.log(1e3)
            assert found == pytest.approx(2 * beta)
        elif threshold == "theory":
            assert found == required(thresholds.theory(problem.task, [1e-3]), rounds, 0)
        else:
            # ½x/(1 + κ/t) − ½d ln(1 + t/κ) = ln 3/δ, κ = 4d: the first scale alone, V = t·I.
            log_e = 0.5 * found / (1 + 12 / rounds) - 1.5 * math.log1p(rounds / 12)
            assert log_e == pytest.approx(math.log(3 / 1e-3))


@given(observed())
def test_mixture_is_the_infimum_over_the_alternatives(case):
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    rule = start(problem.task, [0.1])
    for z in range(len(problem.answers)):
        found = log_e_value(rule, problem.task, evidence, z)
        expected = plain.log_e_value(z, halfspace_distance)
        margins = [plain.contrast(z, x)[1] for x in range(len(problem.answers)) if x != z]
        if min(abs(n) for n in margins) < 1e-9 * (1 + np.abs(plain.values).max()):
            continue  # on the edge of a half-space rounding decides between 0 and −∞
        assert found == pytest.approx(expected, rel=1e-7, abs=1e-7)


@given(observed())
def test_mixture_is_below_its_martingale_at_every_alternative(case):
    # The proof in one line: at any λ under which z is not ε-best, e-value ≤ M(λ).
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    rule = start(problem.task, [0.1])
    rng = np.random.default_rng(0)
    d = problem.arms.shape[1]
    root = np.linalg.cholesky(plain.inverse)
    points = plain.estimate + 3 * rng.standard_normal((100, d)) @ root.T
    totals = np.bincount(plain.arms, plain.rewards, len(problem.arms))
    martingales = np.array([log_martingale(problem, plain.counts, totals, mu) for mu in points])
    values = points @ problem.answers.T
    for z in range(len(problem.answers)):
        found = log_e_value(rule, problem.task, evidence, z)
        top = values.max(axis=1)
        wrong = values[:, z] < plain.c * top - plain.e - 1e-9
        if problem.notion == "multiplicative":
            wrong &= top > 0
        assert (martingales[wrong] >= found - 1e-9).all()


def log_martingale(problem, counts, totals, mu):
    """ln M_t(μ) of the mixture, in the user's coordinates and units."""
    arms, variance = problem.arms, problem.sigma**2
    score = arms.T @ (totals - counts * (arms @ mu)) / variance
    matrix = arms.T @ (arms * counts[:, None]) / variance
    base = arms.T @ arms / len(arms) / variance
    logs = []
    for kappa in 4 * arms.shape[1] * 16.0 ** np.arange(3):
        both = matrix + kappa * base
        logdet = np.linalg.slogdet(both)[1] - np.linalg.slogdet(kappa * base)[1]
        logs.append(0.5 * (score @ np.linalg.solve(both, score) - logdet))
    return np.logaddexp.reduce(logs) - np.log(3)


@NOTIONS
@pytest.mark.parametrize("name", ["hard", "random"])
def test_the_gate_never_changes_a_decision(name, notion):
    # levels_reached skips the e-value in most rounds; a test without the gate decides the same.
    instance = instances.GENERATORS[name](notion=notion, eps=0.2)
    problem, task = instance.problem, instance.problem.task
    deltas = [0.5, 0.1, 0.01, 1e-4]
    strategy = Strategy("lebai", threshold="mixture")
    decided = skipped = 0
    for seed in range(3):
        loop = Loop(strategy, problem, instance.truth, deltas, np.random.default_rng(seed))
        evidence, stopping, *_ = loop.run
        ungated = start(task, deltas)
        met = 0
        while met < len(deltas):
            floor = stopping.test.floor[0]
            loop.advance(loop.rounds + 1)
            if evidence.clock[Clock.READY]:
                score = log_e_value(ungated, task, evidence, stopping.progress[Progress.ANSWER])
                while met < len(deltas) and score > math.log(1 / deltas[met]):
                    met += 1
                decided += 1
                skipped += stopping.test.floor[0] == floor
            assert stopping.progress[Progress.REACHED] == met
    # Otherwise nothing was tested.
    assert decided > skipped > 30


def test_the_gate_is_open_to_the_first_level_not_yet_met():
    problem = Problem(np.eye(2), eps=0.5)
    evidence = compiled(problem, [(0, 1.0), (1, 0.0)] * 40)
    glr = Plain(problem, [(0, 1.0), (1, 0.0)] * 40).statistic(0)
    test = start(problem.task, [0.9, 0.5, 1e-300])
    score = log_e_value(test, problem.task, evidence, 0)
    assert score > math.log(2)
    for done in (0, 1, 2):
        assert levels_reached(test, problem.task, evidence, Nominee(0, glr, done)) == 2


BOUNDARY = Problem([[1.0, 0.0], [0.0, 1.0], [0.8, 0.6]], eps=0.3, sigma=2.0)


@pytest.mark.parametrize("sampling", ["uniform", "lebai"])
def test_the_mixture_is_a_supermartingale(sampling):
    # Values 0.6, 0.45, 0.75: answer 1 is on the edge of the ε-band, as little wrong as can be.
    mu = np.array([0.6, 0.45])
    strategy = Strategy(sampling, threshold="paper")
    rule = start(BOUNDARY.task, [0.1])
    for rounds, runs in ((9, 1500), (60, 500), (400, 200)):
        martingale, e_value = np.zeros(runs), np.zeros(runs)
        for seed in range(runs):
            evidence = evidence_after(BOUNDARY, mu, strategy, rounds, seed)
            totals = evidence.sums * BOUNDARY.sigma
            log = log_martingale(BOUNDARY, evidence.counts, totals, mu)
            martingale[seed] = math.exp(log)
            e_value[seed] = math.exp(log_e_value(rule, BOUNDARY.task, evidence, 1))
        assert (e_value <= martingale * (1 + 1e-9)).all()
        error = martingale.std() / math.sqrt(runs)
        assert martingale.mean() <= 1 + 4 * error
        assert e_value.mean() <= 1 + 4 * e_value.std() / math.sqrt(runs)
        if rounds == 9:
            # While the variance is finite the mean is not only bounded by 1, it is 1.
            assert martingale.mean() >= 1 - 4 * error
            assert error < 0.1
