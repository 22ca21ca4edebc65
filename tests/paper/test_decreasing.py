import numpy as np
import pytest

from furthest.instances import random
from furthest.paper import decreasing
from furthest.problem import Problem
from furthest.simulation import simulate
from furthest.strategy import Strategy

INSTANCE = random(d=3, arms=8, seed=2)
BEST = Problem(INSTANCE.problem.arms, eps=0.0)


def pulls(problem, rule, **options):
    """Where the first 150 measurements of a few runs went; nobody stops at δ = 1e-90."""
    strategy = Strategy(rule, "greedy", "glr", "paper", options=options)
    return simulate(problem, INSTANCE.truth, strategy, 1e-90, 4, seed=8, max_rounds=150).pulls


def test_zero_is_lebai_for_the_best_answer():
    """Paper: conjecture."""
    plain = pulls(BEST, "lebai")
    np.testing.assert_array_equal(pulls(BEST, decreasing.RULE, scale=0.0, power=0.5), plain)


@pytest.mark.parametrize("eps", [0.3, 0.8])
def test_a_constant_is_lebai_for_that_eps(eps):
    """Paper: conjecture."""
    plain = pulls(Problem(BEST.arms, eps=eps), "lebai")
    np.testing.assert_array_equal(pulls(BEST, decreasing.RULE, scale=eps, power=0.0), plain)
    assert not np.array_equal(pulls(BEST, "lebai"), plain)


def test_a_sequence_is_something_of_its_own():
    falling = pulls(BEST, decreasing.RULE, scale=3.0, power=0.5)
    for scale in (0.0, 3.0):
        constant = pulls(BEST, decreasing.RULE, scale=scale, power=0.0)
        assert not np.array_equal(falling, constant)
