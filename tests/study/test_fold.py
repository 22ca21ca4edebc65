"""The fold: what runs live is what was simulated."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import furthest as ft
from furthest.study import archive
from furthest.study.events import LOG_VERSION, Due, Event, Settings, columns, single
from furthest.study.fold import Fold
from oracles.loop import Loop
from study.problems import ENDLESS, HARD, Lab, run

DEFAULT = ft.Strategy()


def settings(problem, strategy=DEFAULT, delta=0.1, seed=0):
    return Settings(problem, strategy, delta, seed, 60.0, "tag")


def simulated(question, mu, rounds):
    """Arms and rewards of one simulated run, and whether it stopped, by the engine alone."""
    internal = np.random.Generator(
        np.random.PCG64(np.random.SeedSequence(question.seed, spawn_key=(0, 1)))
    )
    noise = np.random.default_rng(7)
    loop = Loop(question.strategy, question.problem, mu, (question.delta,), noise, internal)
    arms, rewards, sums = [], [], loop.run.evidence.sums
    for until in range(1, rounds + 1):
        arm = loop.next_arm
        before = sums[arm]
        stopped = loop.advance(until)
        arms.append(arm)
        rewards.append(float(sums[arm] - before))
        if stopped:
            return arms, rewards, int(loop.run.milestones.answers[0])
    return arms, rewards, None


@pytest.mark.parametrize(
    ("instance", "strategy"),
    [
        (HARD, DEFAULT),
        (ft.hard(notion="additive"), DEFAULT),
        (HARD, ft.Strategy(schedule="sticky:bernoulli,p=0.3")),
        (HARD, ft.Strategy("lebai", schedule="lazy:geometric", tracking="D")),
        (ft.random(d=3, arms=6, seed=2), DEFAULT),
    ],
    ids=["default", "additive", "bernoulli", "lazy, D-tracking", "random"],
)
def test_every_arm_is_the_one_that_a_simulation_pulls(instance, strategy, sqlite_url):
    question = settings(instance.problem, strategy, seed=3)
    arms, rewards, answer = simulated(question, instance.truth, 3000)
    assert answer is not None
    study = ft.Study.create("a", instance.problem, 0.1, sqlite_url, strategy=strategy, seed=3)
    asked = []
    # The sums of rewards lose a bit or two of each; the arms must not notice.
    for reward in rewards:
        trial = study.ask()
        asked.append(trial.arm)
        study.tell(trial.id, reward * instance.problem.unit)
    assert asked == arms
    assert study.status().state == "stopped"
    assert study.status().answer == answer


def fed(question, arms, values, sizes=(1,)):
    """A fold that has taken in the results in pieces of these sizes."""
    fold, first = Fold(question), 0
    arms, values = np.array(arms, np.int64), np.array(values, float)
    while first < len(arms):
        for size in sizes:
            fold.take(single(arms[first : first + size], values[first : first + size]))
            first += size
    return fold


def arrays(state):
    if isinstance(state, np.ndarray):
        return [state.tobytes()]
    return [each for part in state for each in arrays(part)] if isinstance(state, tuple) else []


def test_how_results_are_batched_changes_not_a_bit():
    question = settings(ENDLESS)
    rng = np.random.default_rng(1)
    arms, values = rng.integers(3, size=700), rng.standard_normal(700)
    one_by_one = fed(question, arms, values)
    for sizes in ((700,), (3, 1, 50), (256, 7)):
        other = fed(question, arms, values, sizes)
        assert arrays(other.state) == arrays(one_by_one.state)
        assert other.suggest([], 4) == one_by_one.suggest([], 4)


def test_results_wait_for_the_design():
    """Taken in: the first result of each arm of the design, in its order; then all others."""
    question = settings(ft.Problem(np.eye(3), eps=1e-6, initial=[2, 0, 1]))
    fold = fed(question, [1, 1, 0, 1], [10.0, 11.0, 5.0, 12.0])
    assert not fold.ready
    assert fold.waiting == 4
    assert fold.missing() == [2]
    assert fold.state.evidence.counts.sum() == 0
    assert fold.answer == -1
    fold.take(single(np.array([2]), np.array([7.0])))
    assert fold.ready
    in_order = fed(question, [2, 0, 1, 1, 1], [7.0, 5.0, 10.0, 11.0, 12.0])
    assert arrays(fold.state) == arrays(in_order.state)
    assert fold.waiting == 0


def test_the_design_need_not_hold_every_arm():
    """K ≫ d: a small spanning set is measured first."""
    instance = ft.random(d=2, arms=30, seed=1)
    question = settings(ft.Problem(instance.problem.arms, initial=[4, 17]))
    fold = Fold(question)
    assert fold.suggest([], 2) == [Due(4), Due(17)]
    assert sorted(fold.suggest([Due(4)], 3)) == [Due(4), Due(17), Due(17)]
    fold.take(single(np.array([8, 17, 4]), np.array([0.1, 0.2, 0.3])))
    assert fold.ready
    assert fold.state.evidence.counts.sum() == 3
    assert 0 <= fold.suggest([], 1)[0].arm < 30


def test_a_failed_design_pull_is_asked_again(sqlite_url):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url)
    trials = study.ask(3)
    assert [trial.arm for trial in trials] == [0, 1, 2]
    study.fail(trials[1].id)
    assert study.ask().arm == 1


def test_surplus_workers_share_the_design_evenly(sqlite_url):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url)
    assert np.bincount([trial.arm for trial in study.ask(9)]).tolist() == [3, 3, 3]


def test_asking_changes_no_state():
    fold = fed(settings(ENDLESS), [0, 1, 2, 0], [1.0, 0.5, 0.2, 0.9])
    before = arrays(fold.state)
    first = fold.suggest([Due(1), Due(2)], 5)
    assert arrays(fold.state) == before
    assert fold.suggest([Due(1), Due(2)], 5) == first


def test_what_is_pending_counts():
    """Ten workers at once pull what one worker would have, if all turns out as predicted."""
    rng = np.random.default_rng(0)
    instance = ft.random(d=4, arms=8, seed=5)
    question = settings(instance.problem, delta=1e-9)
    arms = [*range(8), *rng.integers(8, size=60)]
    values = instance.problem.arms[arms] @ instance.truth + rng.standard_normal(68)
    fold = fed(question, arms, values)
    together = fold.suggest([], 40)
    assert len(set(together)) > 1
    one_by_one, alone = fed(question, arms, values), []
    for _ in range(40):
        means = one_by_one.task.arms @ fold.state.evidence.estimate
        alone += one_by_one.suggest([], 1)
        arm = alone[-1].arm
        one_by_one.take(single(np.array([arm]), means[[arm]]))
    assert together == alone
    # Asking in pieces, with the earlier ones pending, is the same.
    pieces = []
    for _ in range(8):
        pieces += fold.suggest(pieces, 5)
    assert pieces == together


def test_many_workers_still_find_the_answer(sqlite_url):
    study = ft.Study.create("a", HARD.problem, 0.1, sqlite_url)
    run(study, Lab(HARD.problem, HARD.truth, seed=4), workers=10)
    found = study.status()
    assert found.state == "stopped"
    assert HARD.problem.near_best(HARD.truth)[found.answer]


def test_after_the_end_nothing_is_taken_in():
    question = settings(HARD.problem)
    arms, rewards, answer = simulated(question, HARD.truth, 3000)
    fold = fed(question, [*arms, *arms], [*rewards, *rewards], (500,))
    assert fold.stopped_at == len(arms)
    assert fold.answer == answer
    assert fold.told == 2 * len(arms)
    assert fold.state.evidence.counts.sum() == len(arms)


def test_the_end_can_come_among_the_waiting_results():
    """Once the design is complete, results that waited may be enough at once."""
    question = settings(ft.Problem(np.eye(2), eps=0.5))
    fold = fed(question, [0] * 60 + [1] + [0] * 5, [40.0] * 60 + [0.0] + [40.0] * 5)
    assert fold.stopped_at == 61
    assert fold.answer == 0
    assert fold.state.evidence.counts.sum() <= 61


def test_a_study_begun_with_the_former_threshold_keeps_it():
    # A study of version 0.4, whose `paper` asked for less.
    path = Path(__file__).parents[1] / "data" / "study-paper-0.4.json"
    log = [Event(*row) for row in json.loads(path.read_text(encoding="utf-8"))["log"]]
    assert json.loads(log[0].data)["strategy"]["threshold"] == "paper"
    assert Settings.decode(log[0].data).strategy.threshold == "paper-0.4"
    assert archive.verify_file(path, words=False).state == "stopped"

    results = columns([event for event in log if event.kind == "told"])
    for version, stops in ((3, True), (LOG_VERSION, False)):
        fold = Fold(replace(Settings.decode(log[0].data), version=version))
        fold.take(results)
        assert fold.stopped == stops
