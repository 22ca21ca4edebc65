"""The paper's numbers on its hard instance, and what the proven rule promises.

Jourdan & Degenne (2022), ε = 0.05, δ = 0.01; means of 5,000 runs as printed there.
"""

import math
from dataclasses import replace

import numpy as np
import pytest

from furthest import instances, simulate
from furthest.problem import Problem
from furthest.stopping import glr
from furthest.stopping.thresholds import Threshold
from furthest.strategy import Strategy

RUNS = 2000
# w_F(μ) of the hard instance, from a conic solver.
OPTIMAL = {
    "multiplicative": [0.26700, 0.73300, 0.0, 0.0],
    "additive": [0.16169, 0.83831, 0.0, 0.0],
}


def run(sampling, notion, threshold="paper", candidate="instantaneous-furthest", arms="all"):
    instance = instances.hard(notion=notion, arms=arms)
    options = {"weights": OPTIMAL[notion]} if sampling == "fixed" else {}
    parts = Strategy(sampling, candidate, threshold=threshold, options=options)
    results = simulate(instance.problem, instance.truth, parts, 0.01, RUNS, seed=2022)
    (summary,) = results.summary()
    assert summary.unstopped == 0
    return summary


@pytest.mark.parametrize(
    ("sampling", "notion", "printed", "pulls"),
    [
        ("lebai", "multiplicative", 384, [115, 247, 19, 3]),
        ("lebai", "additive", 321, [77, 228, 13, 3]),
        ("fixed", "multiplicative", 370, [96, 271, 1, 1]),
        ("fixed", "additive", 300, [48, 251, 1, 1]),
        ("uniform", "multiplicative", 856, [214, 214, 214, 213]),
        ("uniform", "additive", 844, [211, 211, 211, 210]),
    ],
)
def test_stopping_times_and_pulls(sampling, notion, printed, pulls):
    """Paper: Algorithm 1, Table 5, Table 8, Fixed, Uniform."""
    summary = run(sampling, notion)
    assert summary.mean == pytest.approx(printed, rel=0.05)
    assert summary.pulls == pytest.approx(pulls, rel=0.1, abs=2)
    assert summary.error_rate < 0.01


@pytest.mark.parametrize(
    ("sampling", "greedy", "furthest"), [("lebai", 416, 381), ("uniform", 492, 449)]
)
def test_the_furthest_answer_is_verified_sooner_than_the_greedy_one(sampling, greedy, furthest):
    """Paper: Table 1."""
    # Arms e1, e2 alone, multiplicative notion: the paper's table of candidate answers.
    means = [
        run(sampling, "multiplicative", candidate=candidate, arms="basis").mean
        for candidate in ("greedy", "instantaneous-furthest")
    ]
    assert means == pytest.approx([greedy, furthest], rel=0.05)
    assert means[1] < 0.97 * means[0]


@pytest.mark.parametrize(("notion", "at_most"), [("multiplicative", 250), ("additive", 212)])
def test_the_proven_rule_is_sooner_than_the_heuristic(notion, at_most):
    """Paper: Theorem 2.1."""
    summary = run("lebai", notion, "mixture")
    assert summary.mean <= at_most
    assert summary.error_rate < 0.01
    # No rule can be much below T_ε ln(1/δ), with T_ε = 28.055 and 22.722.
    limit = {"multiplicative": 28.055, "additive": 22.722}[notion] * math.log(100)
    assert summary.mean > limit


def barely_wrong(notion):
    """The hard instance, but its last answer is worse than ε by 0.002 only."""
    eps, value = 0.05, 0.948
    inside = 0.1 * math.acos(1 - eps)
    answers = [
        [1.0, 0.0],
        [0.0, 1.0],
        [math.cos(inside), math.sin(inside)],
        [value, math.sqrt(1 - value**2)],
    ]
    return Problem(answers, eps=eps, notion=notion), np.array([1.0, 0.0])


def two_options(_):
    """Two arms, the second worse than ε by 0.002."""
    return Problem(np.eye(2), eps=0.5), np.array([0.502, 0.0])


NEAR_NULL = pytest.mark.parametrize(
    ("make", "notion", "sampling"),
    [
        (barely_wrong, "multiplicative", "lebai"),
        (two_options, "additive", "uniform"),
    ],
)
DELTA, MANY = 0.1, 20_000


def error_rate(make, notion, sampling, runs=MANY, stopping="glr"):
    problem, mu = make(notion)
    near_best = problem.near_best(mu)
    assert near_best.any()
    assert not near_best[-1]
    results = simulate(problem, mu, Strategy(sampling, stopping=stopping), DELTA, runs, seed=7)
    assert results.stopped.all()
    return results.summary()[0].error_rate


@NEAR_NULL
def test_errors_stay_below_delta_where_an_answer_is_barely_wrong(make, notion, sampling):
    """Paper: PAC."""
    rate = error_rate(make, notion, sampling)
    assert rate < DELTA
    # Errors do happen here: this is a test.
    assert rate > 0


@NEAR_NULL
@pytest.mark.parametrize("candidate", ["greedy", "furthest"])
def test_the_threshold_of_the_theorem_errs_far_less_than_it_may(make, notion, sampling, candidate):
    """Any sampling, any ε-best candidate, any rounds.

    Paper: Lemma 3.1.
    """
    problem, mu = make(notion)
    parts = Strategy(sampling, candidate, "glr", "theory", "lazy:geometric")
    results = simulate(problem, mu, parts, DELTA, 2000, seed=7)
    assert results.stopped.all()
    assert results.summary()[0].error_rate < DELTA / 10


@NEAR_NULL
def test_a_threshold_that_is_far_too_low_would_be_caught(make, notion, sampling):
    """Paper: PAC."""

    def too_low(task, deltas):
        return glr.Glr(Threshold(0.0, 1.0, np.array([0.5 * math.log(1 / d) for d in deltas])))

    lowered = replace(glr.TESTS["paper"], start=too_low)
    assert error_rate(make, notion, sampling, 2000, stopping=lowered) > DELTA
