"""The comparisons of docs/validation.md: their instances, and what can be checked exactly."""

import importlib.util
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import furthest as ft
from oracles.conic import by_clarabel
from oracles.designs import Case

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "validation.py"


@pytest.fixture(scope="module")
def validation():
    """The script as a module: its kernels must be found again."""
    spec = importlib.util.spec_from_file_location("validation", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["validation"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["validation"]


def test_random_numbers_are_those_of_julia(validation):
    """As printed in the documents of many Julia packages after `Random.seed!(123)`."""
    printed = [0.7684476751965699, 0.940515000715187, 0.6739586945680673, 0.3954531123351086]
    draws = validation.julia(123)
    assert [next(draws) for _ in printed] == printed
    # Beyond the 382 numbers of one turn of the state, too.
    rest = np.array([next(draws) for _ in range(10_000)])
    assert ((rest >= 0) & (rest < 1)).all()
    assert rest.mean() == pytest.approx(0.5, abs=0.01)
    assert abs(np.corrcoef(rest[:-382], rest[382:])[0, 1]) < 0.05


def test_arms_are_those_of_the_result_files(validation):
    """features_gaussian_classic_K=3_N=2.csv and scores_… of linear-top-m; one column per arm."""
    three = validation.usual(2, 1.0, 0.5)
    features = np.array([[1, 0], [0, 1], [9.950041652780258206e-01, 9.983341664682815475e-02]])
    assert (three.problem.arms == features).all()
    assert (features @ three.mu).tolist() == [1.0, 0.0, 0.9950041652780258]
    # features_gaussian_classic_K=4_N=3.csv, ω = π/6.
    four = validation.top_two(math.pi / 6)
    columns = [[0, 0, 1], [8.660254037844387076e-01, 0, 5e-01], [1, 0, 0], [1, 1, 0]]
    assert four.problem.arms == pytest.approx(np.array(columns), abs=1e-15)
    assert four.problem.arms @ four.mu == pytest.approx([0, 0.8660254037844387, 1, 1])


def test_the_best_sum_is_that_of_the_two_best(validation):
    question = validation.top_two(math.pi / 3)
    best = question.problem.answers[np.argmax(question.problem.answers @ question.mu)]
    assert (best == question.problem.arms[2] + question.problem.arms[3]).all()


def test_fifty_arms_are_as_their_script_makes_them(validation):
    problem, mu = validation.fifty()
    means = problem.arms @ mu
    assert problem.arms.shape == (50, 20)
    assert np.linalg.norm(problem.arms, axis=1) == pytest.approx(np.ones(50))
    assert means[:10].tolist() == [1.0, *[0.9] * 4, *[0.8] * 5]
    assert means[10:].max() <= 0.5
    # μ begins with the first ten numbers, less one.
    draws = validation.julia(123)
    assert mu[10:].tolist() == [next(draws) - 1 for _ in range(10)]


def conic_time(question):
    """T_ε of the best answer by a conic solver; σ = 1."""
    problem, mu = question
    values = problem.answers @ mu
    best = int(np.argmax(values))
    return 2 / by_clarabel(Case(problem.arms, problem.answers, values, best, 1.0, 0.0)).value


def test_characteristic_times(validation):
    for question in (validation.usual(6, 2.0, 1.0), validation.top_two(math.pi / 6)):
        found = ft.complexity(question.problem, question.mu)
        assert pytest.approx(conic_time(question) * question.problem.sigma**2, rel=1e-6) == found.T


def test_the_printed_bound_is_below_what_one_rival_asks_for(validation):
    """To tell e₁ from the rival alone takes 2(Σ|c|)²/Δ², Σ c_a a = e₁ − rival (Elfving)."""
    question = validation.usual(6, 2.0, 1.0)
    gap, shift = 1 - math.cos(0.1), math.sin(0.1)
    alone = 2 * (gap + shift) ** 2 / (2 * gap) ** 2
    assert ft.complexity(question.problem, question.mu).T > alone > 220
    printed = validation.supposed_time(question)
    assert printed < 205
    # Rounded as their helper does it, these are the four numbers of the table.
    levels = zip(validation.LEVELS, validation.BOUNDS, strict=True)
    for delta, bound in levels:
        assert printed * (1 - 2 * delta) * math.log(1 / delta - 1) == pytest.approx(bound, abs=0.6)


@pytest.mark.slow  # rules of its own are compiled anew each time
def test_the_game_without_changes_is_the_rule_of_the_package(validation):
    question = validation.usual(2, 1.0, 1.0)
    ours, copy = (
        ft.simulate(
            *(question.problem, question.mu),
            validation.strategy(rule, validation.STYLISED, cap=2.0),
            *(0.1, 5, 1),
            ridge=1.0,
        )
        for rule in ("lingame", validation.GAME)
    )
    assert (ours.pulls == copy.pulls).all()
    assert (ours.stopping_times == copy.stopping_times).all()


@pytest.mark.slow  # rules of its own are compiled anew each time
def test_without_a_ridge_the_counted_statistic_is_the_glr(validation):
    """Both ask for 2 ln((1 + ln t)/δ), from round 20 on."""
    question = validation.usual(6, 2.0, 1.0)
    glr, counted = (
        ft.simulate(
            *(question.problem, question.mu, validation.strategy("uniform", test), 1e-4, 5, 2)
        )
        for test in (validation.STYLISED, validation.COUNTED)
    )
    assert (glr.stopping_times == counted.stopping_times).all()
    assert (glr.stopping_times > 20).all()


@pytest.mark.slow  # rules of its own are compiled anew each time
def test_a_stop_by_the_last_pair_is_sometimes_far_too_early(validation):
    """A hundred of their 500 runs; ours have no such runs once every rival is asked about."""
    early, whole = (
        validation.measured(replace(line, part=1.0), 200) for line in validation.reda()[:2]
    )
    assert early["quick"] > 0.08
    assert early["wrong"] > 0
    assert whole["quick"] == 0
    assert whole["wrong"] == 0
    assert early["ours"] < whole["ours"]
    assert sum(whole["shares"]) == pytest.approx(1)
