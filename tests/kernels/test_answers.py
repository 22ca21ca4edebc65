"""Greedy and instantaneous furthest answers by brute force."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from furthest.kernels.alternatives import statistic
from furthest.kernels.answers import greedy_answer, instantaneous_furthest, is_near_best
from furthest.kernels.evidence import take_in
from furthest.problem import Problem
from oracles.plain import Plain, compiled
from strategies import observed, quarters


@given(arrays(float, st.integers(1, 8), elements=st.floats(-1e6, 1e6) | quarters))
def test_greedy_answer(values):
    """Paper: greedy answers."""
    best = greedy_answer(values)
    assert values[best] >= values.max() - 1e-11 * abs(values.max())
    # Among equals the first.
    assert best <= int(values.argmax())


def test_rounding_does_not_decide_between_equals():
    assert greedy_answer(np.array([0.3, 0.1 + 0.2])) == 0
    assert greedy_answer(np.array([0.1 + 0.2, 0.3])) == 0
    assert greedy_answer(np.array([-0.3, -0.1 - 0.2])) == 0
    assert greedy_answer(np.array([0.3, 0.3 + 1e-9])) == 1


@given(observed())
def test_near_best(case):
    """Paper: additive notion, multiplicative notion."""
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    slack = plain.values - plain.c * plain.values.max() + plain.e
    for z, expected in enumerate(plain.near_best()):
        if abs(slack[z]) > 1e-9 * (1 + np.abs(plain.values).max()):
            top = evidence.values.max()
            assert is_near_best(problem.task, evidence.values, z, top) == expected


def test_the_edge_of_the_band_belongs_to_it():
    exact = Problem(np.eye(2), eps=0.0)
    assert is_near_best(exact.task, np.array([1.0, 1.0]), 1, 1.0)
    half = Problem(np.eye(2), eps=0.5, notion="multiplicative")
    assert is_near_best(half.task, np.array([2.0, 1.0]), 1, 2.0)
    assert not is_near_best(half.task, np.array([2.0, 1.0 - 1e-12]), 1, 2.0)


@given(observed())
def test_instantaneous_furthest(case):
    """Paper: instantaneous furthest answers."""
    problem, measurements = case
    plain, evidence = Plain(problem, measurements), compiled(problem, measurements)
    answer, found = instantaneous_furthest(problem.task, evidence)
    assert found == pytest.approx(plain.statistic(answer), rel=1e-7, abs=1e-9)
    # What is remembered is what would be computed.
    assert instantaneous_furthest(problem.task, evidence) == (answer, found)
    assert statistic(problem.task, evidence, answer, -math.inf)[0] == found

    rounding = 1e-9 * (1 + np.abs(plain.values).max())
    slack = plain.values - plain.c * plain.values.max() + plain.e
    surely = [z for z in range(len(slack)) if slack[z] > rounding]
    perhaps = [z for z in range(len(slack)) if slack[z] > -rounding]
    if perhaps:
        # It is ε-best, and no other ε-best answer is further.
        assert answer in perhaps
        furthest = max((plain.statistic(z) for z in surely), default=0.0)
        assert found >= furthest * (1 - 1e-7) - 1e-9
    else:
        # Multiplicative notion, best value not positive: no answer is ε-best for the estimate.
        assert plain.values[answer] == pytest.approx(plain.values.max(), abs=rounding)


def test_a_new_measurement_makes_it_forget():
    problem = Problem(np.eye(2), eps=0.1)
    evidence = compiled(problem, [(0, 1.0), (1, 0.0)])
    assert instantaneous_furthest(problem.task, evidence)[0] == 0
    take_in(problem.task, evidence, 1, 9.0)
    plain = Plain(problem, [(0, 1.0), (1, 0.0), (1, 9.0)])
    answer, found = instantaneous_furthest(problem.task, evidence)
    assert answer == 1
    assert found == pytest.approx(plain.statistic(1))


def test_furthest_and_greedy_differ_on_the_hard_instance():
    # PAPER: with many pulls of e2 the answer inside the band is easier to verify than e1.
    angle = np.arccos(0.95)
    answers = [[1, 0], [0, 1], [np.cos(0.1 * angle), np.sin(0.1 * angle)]]
    answers.append([np.cos(1.1 * angle), np.sin(1.1 * angle)])
    problem = Problem(np.eye(2), answers, 0.05, "multiplicative")
    measurements = [(0, 1.0)] * 27 + [(1, 0.0)] * 73
    evidence = compiled(problem, measurements)
    assert greedy_answer(evidence.values) == 0
    assert instantaneous_furthest(problem.task, evidence)[0] == 2
    # T_ε = 28.05509: the statistic is 2t/T_ε at the optimal proportions (.267, .733).
    assert instantaneous_furthest(problem.task, evidence)[1] == pytest.approx(
        2 * 100 / 28.05509, rel=1e-4
    )
