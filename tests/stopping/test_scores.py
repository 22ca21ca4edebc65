"""How near an answer is to being accepted: a figure that moves, and agrees with the test."""

import math
from dataclasses import replace

import numpy as np
import pytest

from furthest.codes import Noise
from furthest.engine import simulated, told
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.stopping.contrasts import contrasts, glr_statistic
from furthest.stopping.nomination import Nominee, Progress
from furthest.stopping.test import Score
from furthest.strategy import Strategy
from furthest.study.fold import copied
from furthest.task import Task
from furthest.verbs import judge
from oracles.plain import Plain

E_VALUES = {
    "ranked": Strategy("uniform"),
    "top-wrong": Strategy("uniform", stopping="top-wrong"),
    "mixture": Strategy("uniform", stopping="glr"),
}
SIGMAS = pytest.mark.parametrize("sigma", [1.0, None], ids=["σ known", "σ unknown"])
NEAR_TIE = np.array([1.0, 1.0, 0.99, 0.9])


def scored(strategy: Strategy, task: Task, run, z: int) -> tuple[Score, bool]:
    """The score of answer z, and whether the test accepts it."""
    evidence, stopping, rule, _ = copied(run)
    nominee = Nominee(z, glr_statistic(task, evidence, z), 0)
    question = (stopping.test, task, evidence, nominee, rule)
    score = strategy.test_for(Noise(task.noise)).score(*question)
    return score, judge(*question) == (z, 1)


@SIGMAS
@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
@pytest.mark.parametrize("name", E_VALUES)
def test_the_statistic_moves_and_agrees_with_the_test(name, notion, sigma):
    """With a near-tie it was 0.00 for thousands of measurements; at δ = .5 a far one is decided."""
    strategy = E_VALUES[name]
    for truth, delta in ((NEAR_TIE, 0.05), (np.array([3.0, 1.0, 0.0, 0.0]), 0.5)):
        problem = Problem(np.eye(4), eps=0.05, notion=notion, sigma=sigma)
        task, rng = problem.task, np.random.default_rng(0)
        # A smaller δ that is not reached: the run goes on after the first.
        prepared = prepare(strategy, task, [delta, 1e-200])
        run, found, accepted = prepared.start(), [], []
        source = simulated(task.arms @ problem.whiten(truth))
        for t in range(1, 121):
            prepared.advance(task, run, source, rng, rng, t, True)
            if t < 4:
                continue
            for z in {0, int(run.stopping.progress[Progress.ANSWER])}:
                score, accepts = scored(strategy, task, run, z)
                assert math.isfinite(score.statistic)
                assert (score.statistic >= score.threshold) == accepts
                accepted.append(accepts)
            found.append(score.statistic)
        assert np.mean(np.diff(found) != 0) > 0.95
        assert any(accepted) == (delta == 0.5)
        assert min(found) < 0


def shifted(name, sigma, shift):
    """Score and least margin of the first of three answers, its results raised by `shift`."""
    strategy, problem = E_VALUES[name], Problem(np.eye(3), eps=0.1, sigma=sigma)
    task, rng = problem.task, np.random.default_rng(2)
    arms = np.arange(60) % 3
    rewards = rng.standard_normal(60) + np.where(arms == 0, shift, 0.0)
    prepared = prepare(strategy, task, [1e-9])
    run = prepared.start()
    prepared.advance(task, run, told(arms, rewards), rng, rng, 60, True)
    score, _ = scored(strategy, task, run, 0)
    return score.statistic, contrasts(task, run.evidence, 0).margins.min()


@SIGMAS
@pytest.mark.parametrize("name", E_VALUES)
def test_it_rises_with_the_evidence_and_does_not_jump(name, sigma):
    """From far behind a rival to far ahead, little by little."""
    found, margins = np.array([shifted(name, sigma, shift) for shift in np.linspace(-2.5, 2.5)]).T
    assert 10 < (margins < 0).sum() < 40
    assert found[0] < -8 < 3 < found[-1]
    # Top-wrong has steps of its own, where a bystander stops being ε-best: below ln 1/δ' = 0.
    largest_fall = 0.0 if name == "mixture" else 0.8
    assert np.diff(found).min() > -largest_fall
    assert found[::10] == pytest.approx(sorted(found[::10]))
    # The margin grows as the shift does: where it vanishes, both sides agree.
    even = -shifted(name, sigma, 0.0)[1]
    before, after = (shifted(name, sigma, even + step) for step in (-1e-7, 1e-7))
    assert before[1] < 0 < after[1]
    assert before[0] == pytest.approx(after[0], abs=1e-3)


def test_of_a_mixture_it_is_the_e_value():
    """Where the answer is ε-best; where it is not, as far below the volume's as it would be above.

    At ε' = ε + 2·|margin| the same half-space is as far on the other side.
    """
    rng = np.random.default_rng(3)
    problem = Problem(np.eye(2), eps=0.1)
    rewards = [(int(arm), float(rng.normal(arm))) for arm in np.arange(30) % 2]
    run = prepare(E_VALUES["mixture"], problem.task, [0.1]).start()
    arms, values = (np.array(column) for column in zip(*rewards, strict=True))
    prepared = prepare(E_VALUES["mixture"], problem.task, [1e-9])
    prepared.advance(problem.task, run, told(arms, values), rng, rng, 30, True)
    plain = Plain(problem, rewards)
    winner, loser = (scored(E_VALUES["mixture"], problem.task, run, z)[0].statistic for z in (1, 0))
    assert winner == pytest.approx(plain.log_e_value(1))
    margin = plain.values[0] - plain.values[1] + 0.1
    assert margin < 0
    at_boundary, mirrored = (
        Plain(replace(problem, eps=0.1 - times * margin), rewards).log_e_value(0)
        for times in (1 + 1e-9, 2)
    )
    assert loser == pytest.approx(2 * at_boundary - mirrored)


@pytest.mark.parametrize("threshold", ["paper", "theory"])
def test_a_glr_is_negative_where_a_rival_is_ahead(threshold):
    strategy = Strategy("uniform", stopping="glr", threshold=threshold)
    problem = Problem(np.eye(2), eps=0.1)
    task, rng = problem.task, np.random.default_rng(0)
    prepared = prepare(strategy, task, [0.1])
    run = prepared.start()
    arms = np.arange(6) % 2
    prepared.advance(task, run, told(arms, 1.0 * arms), rng, rng, 6, True)
    # ‖z − x‖²_{V⁻¹} = 1/3 + 1/3; the loser is .9 behind, the winner 1.1 ahead.
    assert scored(strategy, task, run, 0)[0].statistic == pytest.approx(-(0.9**2) * 3 / 2)
    assert scored(strategy, task, run, 1)[0].statistic == pytest.approx(1.1**2 * 3 / 2)
