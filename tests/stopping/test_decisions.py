"""The stopping rule, round by round, against the paper's definitions in plain NumPy."""

import math

import numpy as np
import pytest

from furthest import engine, instances
from furthest.preparation import prepare
from furthest.stopping.mixture import levels_reached
from furthest.stopping.nomination import Nominee, Progress
from furthest.strategy import Strategy, parse_schedule
from oracles.plain import Plain

ROUNDS = 150
DELTAS = [0.5, 0.1, 0.01]


def paper_threshold(rounds, delta, d=2):
    """2β, β = 2d ln(4 + ln(t/d)) + ln(1/δ)."""
    return 2 * (2 * d * math.log(4 + math.log(rounds / d)) + math.log(1 / delta))


class PlainStopping:
    """Candidate, test and schedule as the paper's appendix on relaxations defines them."""

    def __init__(self, problem, strategy):
        self.problem, self.strategy = problem, strategy
        self.schedule = parse_schedule(strategy.schedule)
        self.mode = self.schedule.mode
        self.answer, self.met, self.next = None, 0, 0

    def due(self, this_round):
        if self.mode == "every":
            return True
        if self.answer is None:
            return True
        start = self.schedule.start
        if self.schedule.grid == "constant":
            return this_round % start == 0
        grid = [start]
        while grid[-1] < this_round:
            grid.append(math.ceil(round((1 + self.schedule.ratio) * grid[-1], 9)))
        return this_round in grid

    def candidate(self, plain):
        if self.strategy.candidate == "greedy":
            return int(plain.values.argmax())
        near = plain.near_best().nonzero()[0]
        return max(near, key=plain.statistic, default=int(plain.values.argmax()))

    def score(self, plain):
        if self.strategy.threshold == "mixture":
            return plain.log_e_value(self.answer)
        return plain.statistic(self.answer)

    def required(self, plain, delta):
        if self.strategy.threshold == "mixture":
            return math.log(1 / delta)
        return paper_threshold(plain.rounds, delta)

    def assess(self, plain):
        due = self.due(plain.rounds + 1)
        if due or (self.mode == "sticky" and not plain.near_best()[self.answer]):
            self.answer = self.candidate(plain)
        elif self.mode == "lazy":
            return self.met, self.answer
        score = self.score(plain)
        while self.met < len(DELTAS) and score > self.required(plain, DELTAS[self.met]):
            self.met += 1
        return self.met, self.answer


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
@pytest.mark.parametrize("candidate", ["greedy", "instantaneous-furthest"])
@pytest.mark.parametrize(
    ("threshold", "schedule"),
    [
        ("paper", "every"),
        ("mixture", "every"),
        ("paper", "sticky:constant"),
        ("mixture", "sticky:geometric"),
        ("paper", "lazy:geometric"),
        ("mixture", "lazy:constant,start=7"),
    ],
)
def test_decisions(notion, candidate, threshold, schedule):
    """Paper: Equation 5, sticky and lazy updates."""
    instance = instances.circle(eps=0.3, notion=notion, seed=4)
    problem, task = instance.problem, instance.problem.task
    strategy = Strategy("uniform", candidate, threshold=threshold, schedule=schedule)
    for seed in range(2):
        run = prepare(strategy, task, DELTAS).start()
        progress, reference = run.stopping.progress, PlainStopping(problem, strategy)
        rng = np.random.default_rng(seed)
        measurements = []
        for t in range(ROUNDS):
            arm = engine.decide(task, run, rng, True)
            if t < len(problem.arms):
                assert (arm, *progress[:2]) == (t, -1, 0)
            else:
                found = (progress[Progress.REACHED], progress[Progress.ANSWER])
                assert found == reference.assess(Plain(problem, measurements))
            if arm < 0:
                break
            arm = t % len(problem.arms)
            reward = problem.arms[arm] @ instance.truth + rng.standard_normal()
            engine.record(task, run, arm, reward)
            measurements.append((arm, reward))
        assert reference.met > 0


def decisions(schedule, sampling="uniform"):
    """(stopping time, answer) of many runs on one instance."""
    from furthest.simulation import simulate

    instance = instances.hard()
    strategy = Strategy(sampling, threshold="paper", schedule=schedule)
    results = simulate(instance.problem, instance.truth, strategy, delta=0.05, runs=60, seed=1)
    return results.stopping_times


@pytest.mark.parametrize("grid", ["constant", "geometric", "decreasing", "bernoulli"])
def test_sticky_is_never_later_than_lazy(grid):
    """Paper: sticky and lazy updates."""
    # The tests of lazy are among those of sticky, on the same measurements: τ_sticky ≤ τ_lazy.
    sticky, lazy = decisions(f"sticky:{grid}"), decisions(f"lazy:{grid}")
    assert (sticky <= lazy).all()
    assert (sticky < lazy).any()


def test_lazy_stops_on_its_grid_only():
    """Paper: sticky and lazy updates."""
    # The test of round t uses the t − 1 measurements before it.
    assert ((decisions("lazy:constant,start=20") + 1) % 20 == 0).all()


def test_a_grid_of_every_round_is_every_round():
    every = decisions("every")
    for schedule in ("sticky:constant,start=1", "lazy:constant,start=1", "lazy:bernoulli,p=1"):
        np.testing.assert_array_equal(decisions(schedule), every)


def test_a_level_once_reached_stays_reached():
    instance = instances.hard()
    task = instance.problem.task
    fell = 0
    for seed in range(10):
        run = prepare(Strategy("uniform", threshold="paper"), task, [0.9, 1e-12]).start()
        rng, before = np.random.default_rng(seed), 0
        for t in range(400):
            engine.decide(task, run, rng, True)
            met = run.stopping.progress[Progress.REACHED]
            assert met >= before
            if met:
                fell += run.evidence.memo[0] < paper_threshold(t, 0.9)
            before = met
            engine.record(task, run, t % 4, task.arms[t % 4, 0] + rng.standard_normal())
    # The statistic did fall below its threshold again: something was tested.
    assert fell > 10


def test_after_all_levels_are_reached_further_questions_change_nothing():
    # Results may still come in after the answer.
    instance = instances.hard()
    task = instance.problem.task
    prepared = prepare(Strategy("uniform", threshold="mixture"), task, [0.9])
    run, rng, arms = prepared.start(), np.random.default_rng(0), np.arange(300) % 4
    source = engine.told(arms, instance.problem.arms[arms, 0])
    taken = prepared.advance(task, run, source, rng, rng, 10**6, True)
    assert 4 <= taken < 300
    counts, answer = run.evidence.counts.tolist(), run.stopping.progress[Progress.ANSWER]
    assert prepared.advance(task, run, source, rng, rng, 10**6, True) == 0
    assert run.evidence.counts.tolist() == counts
    assert run.milestones.times.tolist() == [taken]
    # Compiled code does not notice a look beyond the last level; Python does.
    looked_at = getattr(levels_reached, "py_func", levels_reached)
    nominee = Nominee(int(answer), 1e9, 1)
    assert looked_at(run.stopping.test, task, run.evidence, nominee) == 1
