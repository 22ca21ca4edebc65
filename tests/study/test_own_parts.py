"""A researcher's own stopping test: in plain NumPy, compiled, and in a live study."""

import json
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import furthest as ft
from furthest.testing import check_errors, check_stops
from oracles import own_parts
from study.problems import HARD, Lab, run

FOLDER = str(Path(__file__).parent.parent)
TESTS = {"plain": own_parts.PLAIN, "compiled": own_parts.COMPILED}


def simulated(stopping, sampling="uniform", **options):
    strategy = ft.Strategy(sampling, stopping=stopping, stopping_options=options)
    return ft.simulate(HARD.problem, HARD.truth, strategy, (0.2, 0.05), 6, seed=3, max_rounds=5000)


def test_plain_and_compiled_decide_the_same():
    plain, compiled = (simulated(test) for test in TESTS.values())
    assert plain.stopped.all()
    np.testing.assert_array_equal(plain.stopping_times, compiled.stopping_times)
    np.testing.assert_array_equal(plain.answers, compiled.answers)
    np.testing.assert_array_equal(plain.pulls, compiled.pulls)
    assert (plain.stopping_times[0] <= plain.stopping_times[1]).all()


def test_it_stops_where_it_says():
    results = simulated(own_parts.PLAIN)
    again = simulated(own_parts.PLAIN, factor=4.0)
    assert again.stopping_times.mean() > results.stopping_times.mean()
    # In between, the package's own tests are what they were.
    uniform = ft.Strategy("uniform", threshold="paper")
    heuristic = ft.simulate(HARD.problem, HARD.truth, uniform, (0.2, 0.05), 6, seed=3)
    assert heuristic.stopping_times.mean() > results.stopping_times.mean()


def test_what_it_says_of_itself_is_shown():
    strategy = ft.Strategy(stopping=own_parts.PLAIN)
    assert strategy.describe()["stopping"] == "classic"
    assert not strategy.guarantee.proven
    assert "user's own" in strategy.describe()["guarantee"]
    assert "not proven" in repr(simulated(own_parts.PLAIN))


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"stopping_options": {"facter": 3.0}}, "did you mean 'factor'"),
        ({"threshold": "paper"}, "no threshold to choose"),
    ],
)
def test_what_it_has_not_is_refused(parts, words):
    with pytest.raises(ft.StrategyError, match=words):
        ft.Strategy(stopping=own_parts.PLAIN, **parts)
    problem = ft.Problem(np.eye(2), sigma=None)
    with pytest.raises(ft.StrategyError, match="classic has no version for unknown σ"):
        ft.simulate(problem, [1, 0], ft.Strategy(stopping=own_parts.PLAIN), runs=1)


def test_the_conformance_suite_checks_it():
    check_stops("uniform", stopping=own_parts.PLAIN)
    with pytest.raises(AssertionError, match="errors in"):
        reckless = replace(
            own_parts.PLAIN, start=lambda *_: own_parts.Seen(np.full(1, -99.0), np.zeros(2))
        )
        check_errors("uniform", runs=100, stopping=reckless)


@pytest.mark.parametrize("verdict", [(0, 2), (0, -1), (9, 1), (-1, 1)])
def test_a_verdict_that_cannot_be_is_named(verdict):
    test = replace(own_parts.PLAIN, judge=lambda *_: verdict)
    with pytest.raises(ft.StrategyError, match="'classic' says that answer"):
        ft.simulate(HARD.problem, HARD.truth, ft.Strategy("uniform", stopping=test), runs=1)


class Anything(NamedTuple):
    """A state that no compiler understands."""

    notes: dict[str, list[object]]


def test_plain_states_may_hold_anything():
    def choose(state, task, evidence, stopping):
        state.notes["arms"].append(object())
        return len(state.notes["arms"]) % len(task.arms)

    def judge(state, task, evidence, nominee, rule):
        state.notes["arms"].append(nominee)
        return nominee.answer, int(nominee.glr > 30)

    rule = ft.Rule("notes", lambda _: Anything({"arms": []}), choose, compiled=False)
    test = ft.StoppingTest("notes", lambda *_: Anything({"arms": []}), judge, compiled=False)
    for strategy in (
        ft.Strategy(rule),
        ft.Strategy("uniform", stopping=test),
        ft.Strategy("lingape", stopping=test),  # asks the test for a width
        ft.Strategy(rule, stopping=test),
    ):
        results = ft.simulate(HARD.problem, HARD.truth, strategy, 0.1, runs=2, max_rounds=5000)
        assert results.stopped.all()


PARTS = {
    "own test": {"stopping": own_parts.PLAIN},
    "own compiled test": {"sampling": "uniform", "stopping": own_parts.COMPILED},
    "own rule": {"sampling": own_parts.COIN},
    "both": {"sampling": own_parts.COIN, "stopping": own_parts.PLAIN},
    "by its place": {"stopping": "oracles.own_parts:PLAIN"},
}


@pytest.mark.parametrize("parts", PARTS.values(), ids=PARTS)
def test_a_live_study_finds_it_again(parts, sqlite_url):
    strategy = ft.Strategy(**parts)
    study = ft.Study.create("a", HARD.problem, 0.2, sqlite_url, strategy=strategy)
    run(study, Lab(HARD.problem, HARD.truth, seed=1))
    found = study.status()
    assert found.state == "stopped"
    again = ft.Study.load("a", sqlite_url)
    assert again.strategy.rule == strategy.rule
    assert again.strategy.test == strategy.test
    assert again.status() == found
    proof = again.certificate()
    assert proof.proven == strategy.guarantee.proven
    if not proof.proven:
        assert proof.guarantee.startswith("not proven: ")


def test_a_test_without_a_score_says_when_it_accepts(sqlite_url):
    strategy = ft.Strategy("uniform", stopping="oracles.own_parts:SCORELESS")
    study = ft.Study.create("a", HARD.problem, 0.2, sqlite_url, strategy=strategy)
    run(study, Lab(HARD.problem, HARD.truth, seed=1), most=10)
    status = study.status()
    assert (status.state, status.statistic, status.threshold) == ("running", 0.0, 1.0)
    run(study, Lab(HARD.problem, HARD.truth, seed=1))
    status = study.status()
    assert (status.state, status.statistic, status.threshold) == ("stopped", 1.0, 1.0)
    assert "ruled out" not in [each.verdict for each in status.verdicts]


def test_asking_for_many_changes_no_decision(sqlite_url):
    # A suggestion imagines rounds on a copy of the state, a generator in it included.
    arms = {}
    for count in (1, 3):
        strategy = ft.Strategy(own_parts.COIN)
        study = ft.Study.create(f"{count}", HARD.problem, 0.2, sqlite_url, strategy=strategy)
        for arm in range(4):
            study.add(arm, 0.0)
        trials = study.ask(count)
        study.tell(trials[0], 0.3)
        for trial in trials[1:]:
            study.fail(trial)
        arms[count] = [trials[0].arm, study.ask().arm]
    assert arms[1] == arms[3]


def test_a_part_that_is_gone_is_named(python, sqlite_url, tmp_path):
    lines = "import furthest as ft\nfrom oracles.own_parts import start_rule\n"
    (tmp_path / "mine.py").write_text(
        lines + "choose = lambda *_: 0\n"
        "choose.__module__ = __name__\n"
        "RULE = ft.Rule('mine', start_rule, choose, compiled=False)\n"
    )
    create = (
        "import furthest as ft, mine\n"
        f"study = ft.Study.create('a', ft.hard().problem, 0.1, {sqlite_url!r}, "
        "strategy=ft.Strategy(mine.RULE))\n"
        "print(study.ask().id)\n"
    )
    (tmp_path / "create.py").write_text(create)
    process = python("create.py", PYTHONPATH=FOLDER)
    assert process.returncode == 0, process.stderr
    trial = process.stdout.strip()
    study = ft.Study.load("a", sqlite_url)
    assert json.loads(study.events()[0].data)["strategy"]["sampling"] == "mine:RULE"
    # Results are safe all the same; only what decides is missing.
    study.tell(trial, 1.0)
    with pytest.raises(
        ft.StrategyError, match="'mine:RULE' cannot be found: No module named 'mine'"
    ):
        study.ask()


def test_a_rule_of_the_package_is_stored_by_its_name(sqlite_url):
    strategy = ft.Strategy(ft.Strategy("uniform").rule)
    study = ft.Study.create("a", HARD.problem, 0.1, sqlite_url, strategy=strategy)
    assert json.loads(study.events()[0].data)["strategy"]["sampling"] == "uniform"


def test_a_part_that_could_not_be_found_again_is_refused(sqlite_url):
    nowhere = ft.Rule("nowhere", own_parts.start_rule, lambda *_: 0, compiled=False)
    with pytest.raises(ft.StrategyError, match="'nowhere' cannot be found again"):
        ft.Study.create("a", HARD.problem, 0.1, sqlite_url, strategy=ft.Strategy(nowhere))
    with pytest.raises(ft.StrategyError, match="no sampling rule"):
        _ = ft.Strategy("oracles.own_parts:start_rule").rule
    with pytest.raises(ft.StrategyError, match="cannot be found"):
        _ = ft.Strategy("oracles.own_parts:NOTHING").rule
