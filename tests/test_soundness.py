"""Unsound and pointless combinations are refused with their reason; the others run."""

import numpy as np
import pytest

import furthest as ft
from furthest import errors
from furthest.problem import Problem


@pytest.mark.parametrize(
    ("parts", "notion", "words"),
    [
        ({"stopping": "gap", "threshold": "paper"}, "multiplicative", "additive notion"),
        ({"stopping": "gap", "threshold": "mixture"}, "additive", "theory or paper or paper-0.4"),
        ({"stopping": "elimination", "threshold": "paper"}, "additive", "rule xy-adaptive"),
        ({"stopping": "top-wrong", "threshold": "paper"}, "additive", "no threshold"),
        ({"stopping": "smooth"}, "additive", "needs a bound on the parameter: Problem.spectral"),
    ],
)
def test_refused(parts, notion, words):
    problem = Problem(np.eye(2), eps=0.1, notion=notion)
    with pytest.raises(errors.StrategyError, match=words):
        ft.simulate(problem, [1, 0], ft.Strategy(**parts), runs=1)


def test_several_levels_need_a_rule_that_does_not_depend_on_them():
    problem = Problem(np.eye(2), eps=0.1)
    with pytest.raises(errors.StrategyError, match="depends on δ"):
        ft.simulate(problem, [1, 0], ft.Strategy("lingape"), [0.1, 0.01], runs=1)


def test_the_gap_rule_is_the_glr_rule_of_the_greedy_answer():
    """Paper: gap rule."""
    instance = ft.hard(notion="additive")
    gap, glr = (
        ft.simulate(
            instance.problem,
            instance.truth,
            ft.Strategy("lingape", "greedy", stopping, "paper"),
            runs=50,
        )
        for stopping in ("gap", "glr")
    )
    np.testing.assert_array_equal(gap.stopping_times, glr.stopping_times)


def test_elimination_returns_the_survivor():
    problem = Problem(np.eye(3), eps=0.0)
    strategy = ft.Strategy("xy-adaptive", "greedy", "elimination", "paper")
    results = ft.simulate(problem, [1.0, 0.0, 0.3], strategy, runs=50)
    assert results.stopped.all()
    assert results.correct.all()
