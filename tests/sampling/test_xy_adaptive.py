"""𝒳𝒴-Adaptive against plain NumPy, and its phases."""

from itertools import combinations

import numpy as np
import pytest

import furthest as ft
from furthest.engine import Run
from furthest.instances import Instance
from furthest.kernels.evidence import take_in
from furthest.preparation import prepare
from furthest.sampling.xy_adaptive import choose
from oracles.replay import Data, compiled, independent, instances, least, paper_threshold

ROUNDS = 200


class XYAdaptive:
    """The algorithm with α = 0.1, data kept between phases."""

    def __init__(self, arms: int, answers: int) -> None:
        self.active = self.all = list(range(answers))
        self.old = 1 / arms  # ρ/t when the last phase ended
        self.now = np.inf  # ρ, after the last pull
        self.sizes = [answers]  # of the active set, phase by phase

    def choose(self, data: Data) -> int:
        if self.now / data.t < 0.1 * self.old:
            self.old = self.now / data.t
            self.active = self.remaining(data)
            self.sizes.append(len(self.active))
            if len(self.active) < 2:
                self.active = self.all
        matrix = np.linalg.inv(data.inverse)
        differences = [data.answers[i] - data.answers[j] for i, j in combinations(self.active, 2)]
        worst = []
        for a in data.arms:
            inverse = np.linalg.inv(matrix + np.outer(a, a))
            worst.append(max(y @ inverse @ y for y in differences))
        arm = least(worst, data.counts)
        self.now = worst[arm]
        return arm

    def remaining(self, data: Data) -> list[int]:
        width = paper_threshold(data, 0.01)
        mu, inverse = data.estimate, data.inverse

        def beats(j: int, i: int) -> bool:
            y = data.answers[j] - data.answers[i]
            return bool(y @ mu >= np.sqrt(y @ inverse @ y * width))

        return [i for i in self.all if not any(beats(j, i) for j in self.all if j != i)]


@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_pulls_what_the_formulas_say(instance: Instance) -> None:
    """Paper: XY-Adaptive."""
    problem = instance.problem
    rule = XYAdaptive(len(problem.arms), len(problem.answers))
    ran = compiled("xy-adaptive", instance, ROUNDS, seed=3)
    assert ran.arms == independent(rule.choose, instance, ROUNDS, seed=3)
    assert len(rule.sizes) > 2, "no phase has ended: nothing was compared"
    assert ran.rule.active.tolist() == [i in rule.active for i in rule.all]


def test_answers_are_eliminated_in_the_comparison() -> None:
    """At least one of the instances above must take the rule through a smaller active set."""
    actives = [compiled("xy-adaptive", i, ROUNDS, seed=3).rule.active for i in instances()]
    assert any(1 < active.sum() < len(active) for active in actives)


def after_200_rounds(problem: ft.Problem, mu: list[float]) -> Run:
    """200 rounds without noise or any stopping test."""
    task = problem.task
    means = task.arms @ problem.whiten(mu)
    run = prepare(ft.Strategy("xy-adaptive", stopping="glr"), task, [0.01]).start()
    assert run.rule.survivor[0] == -1
    for t in range(200):
        arm = t if t < len(means) else choose(run.rule, task, run.evidence, run.stopping)
        take_in(task, run.evidence, arm, means[arm])
    return run


def test_lone_survivor_is_told_and_sampling_goes_on() -> None:
    """One answer left at the end of a phase, but nobody stops: all answers are active again."""
    run = after_200_rounds(ft.Problem(np.eye(2), eps=1e-4, sigma=0.1), [1.0, -1.0])
    assert run.rule.survivor[0] == 0
    assert run.rule.active.all()
    assert run.evidence.counts.tolist() == [100, 100]


def test_equal_answers_count_once() -> None:
    """Two copies of the best: one survivor, not a pair that nothing can tell apart."""
    problem = ft.Problem(np.eye(2), [[1, 0], [1, 0], [0, 1]], eps=0.01, sigma=0.1)
    assert after_200_rounds(problem, [1.0, -1.0]).rule.survivor[0] == 0


def test_elimination_stops_at_the_end_of_a_phase() -> None:
    """With its own stopping rule: later than with the GLR of ε = 0, since phases are long."""
    hard = ft.hard(eps=0.3)
    problem = ft.Problem(hard.problem.arms, eps=0)
    own, glr = (
        ft.simulate(
            problem,
            hard.truth,
            ft.Strategy("xy-adaptive", "greedy", stopping, "paper"),
            runs=20,
            max_rounds=200_000,
        )
        for stopping in ("elimination", "glr")
    )
    assert own.stopped.all()
    assert own.correct.all()
    assert (own.stopping_times > glr.stopping_times).mean() > 0.5


@pytest.mark.parametrize("alpha", [0, 1, -0.5])
def test_alpha_is_checked(alpha: float) -> None:
    strategy = ft.Strategy("xy-adaptive", options={"alpha": alpha})
    with pytest.raises(ft.errors.StrategyError, match="alpha"):
        prepare(strategy, ft.hard().problem.task, [0.01])
