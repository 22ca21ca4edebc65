import math
from typing import get_args

import numpy as np
import pytest

from furthest import axes, codes, errors, instances, sampling, stopping
from furthest.kernels.contrasts import Price
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.sampling.rule import Rule
from furthest.simulation import simulate
from furthest.strategy import Strategy, parse_schedule


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"sampling": "lebia"}, "unknown sampling rule 'lebia'; did you mean 'lebai'"),
        ({"sampling": "qqq"}, "choose from softmin"),
        ({"candidate": "gredy"}, "unknown candidate answer 'gredy'; did you mean 'greedy'"),
        ({"stopping": "glrt"}, "unknown stopping rule 'glrt'; did you mean 'glr'"),
        ({"threshold": "papper"}, "unknown threshold 'papper'; did you mean 'paper'"),
        ({"tracking": "c"}, "unknown tracking 'c'"),
        ({"schedule": "evry"}, "unknown schedule 'evry'; did you mean 'every'"),
        ({"schedule": "every:constant"}, "'every' has no grid"),
        ({"schedule": "sticky"}, "sticky needs a grid: sticky:constant or geometric"),
        ({"schedule": "lazy:"}, "lazy needs a grid"),
        ({"schedule": "lazy:geometrical"}, "unknown grid 'geometrical'; did you mean 'geometric'"),
        ({"schedule": "lazy:constant,start=0"}, "whole number ≥ 1, not 0"),
        ({"schedule": "lazy:constant,start=1.5"}, "whole number ≥ 1, not 1.5"),
        ({"schedule": "lazy:constant,start=nan"}, "whole number"),
        ({"schedule": "lazy:constant,start=inf"}, "start"),
        ({"schedule": "lazy:constant,start=1e30"}, "start"),
        ({"schedule": "lazy:constant,start=ten"}, "must be a number, not 'ten'"),
        ({"schedule": "lazy:constant,start"}, "must be a number, not ''"),
        ({"schedule": "lazy:constant,"}, "setting of the constant grid"),
        ({"schedule": "lazy:constant,strat=3"}, "did you mean 'start'"),
        ({"schedule": "lazy:constant,ratio=3"}, "setting of the constant grid"),
        ({"schedule": "lazy:geometric,ratio=-1"}, "cannot have the setting -1"),
        ({"schedule": "lazy:geometric,ratio=inf"}, "cannot have the setting inf"),
        ({"schedule": "lazy:geometric,ratio=nan"}, "cannot have the setting nan"),
        ({"schedule": "lazy:bernoulli,p=0"}, "cannot have the setting 0"),
        ({"schedule": "lazy:bernoulli,p=1.1"}, "cannot have the setting 1.1"),
    ],
)
def test_every_wrong_word_is_explained(choices, words):
    with pytest.raises(errors.StrategyError, match=words):
        Strategy(**choices)


@pytest.mark.parametrize("name", ["", 1.0, ["paper"]])
def test_a_name_that_is_no_string(name):
    with pytest.raises(errors.StrategyError, match="unknown threshold"):
        Strategy(threshold=name)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("every", ("every", "constant", 1, 0.0)),
        ("sticky:constant", ("sticky", "constant", 10, 0.0)),
        ("lazy:constant,start=3", ("lazy", "constant", 3, 0.0)),
        ("lazy:geometric", ("lazy", "geometric", 10, 0.2)),
        ("sticky:geometric,ratio=1,start=7", ("sticky", "geometric", 7, 1.0)),
        ("sticky:decreasing,ratio=0.5", ("sticky", "decreasing", 10, 0.5)),
        ("lazy:bernoulli", ("lazy", "bernoulli", 1, 0.1)),
        ("lazy:bernoulli,p=0.25", ("lazy", "bernoulli", 1, 0.25)),
    ],
)
def test_schedules(text, expected):
    choice = parse_schedule(text)
    assert (choice.mode, choice.grid, choice.start, choice.ratio) == expected
    assert isinstance(choice.start, int)


def test_a_strategy_describes_itself():
    strategy = Strategy("fixed", threshold="paper", options={"weights": [1, 2]})
    assert strategy.describe() == {
        "sampling": "fixed",
        "candidate": "instantaneous-furthest",
        "stopping": "glr",
        "threshold": "paper",
        "schedule": "every",
        "tracking": "C",
        "options": {"weights": [1, 2]},
        "guarantee": strategy.guarantee.words,
    }
    assert not strategy.guarantee.proven
    assert "heuristic" in strategy.guarantee.words
    for threshold in ("mixture", "theory", None):
        assert Strategy(threshold=threshold).guarantee.proven
    assert Strategy(threshold="theory").guarantee.noise == "Gaussian"
    assert Strategy().guarantee.noise == "sub-Gaussian"
    assert Strategy().guarantee_for(Problem([[1], [2]], sigma=None)).noise == "Gaussian"


def test_every_part_has_words_and_a_source():
    tables = {
        codes.Candidate: axes.CANDIDATES,
        codes.Mode: axes.SCHEDULES,
        codes.Grid: axes.GRIDS,
        codes.Tracking: axes.TRACKINGS,
    }
    for axis, table in tables.items():
        assert {part.code for part in table.values()} == set(axis)
        for name, part in table.items():
            assert part.name == name
            assert part.what
            assert part.source
    # What the type checker knows are the same words.
    assert set(get_args(axes.CandidateWord)) == set(axes.CANDIDATES)
    assert set(get_args(axes.TrackingWord)) == set(axes.TRACKINGS)
    assert set(get_args(axes.ThresholdWord)) == set(stopping.versions("glr"))


def test_every_stopping_test_can_be_found():
    for name in stopping.MODULES:
        for threshold, test in stopping.versions(name).items():
            sampling_rule = test.sampling or "uniform"
            strategy = Strategy(sampling_rule, stopping=name, threshold=threshold)
            assert strategy.test is test
            assert test.name == name
            assert test.what
            assert test.source
            for version in (test, test.unknown_sigma):
                if version is not None:
                    promise = version.guarantee
                    assert promise.proven == promise.words.startswith("proven")
                    kind = "rewards" if version.bounded_only else "noise"
                    assert promise.noise == "any" or f"{promise.noise} {kind}" in promise.words


def test_strategies_can_be_compared_and_hashed():
    one = Strategy("fixed", options={"weights": [1, 2]})
    assert one == Strategy("fixed", options={"weights": (1, 2)})
    assert hash(one) == hash(Strategy("fixed", options={"weights": np.array([1, 2])}))
    assert one != Strategy("fixed", options={"weights": [2, 1]})
    assert one != "fixed"
    assert len({Strategy(), Strategy("softmin"), Strategy(stopping="ranked")}) == 1
    assert len({Strategy(threshold="paper"), Strategy(threshold="theory")}) == 2


def test_every_sampling_rule_can_be_found():
    """Paper: identification strategy."""
    for name in sampling.MODULES:
        rule = Strategy(name).rule
        assert rule.name == name
        assert rule.source
        assert rule.optimality
        assert Strategy(name).name == name


def test_own_rules_are_accepted_as_they_are():
    rule = Rule("mine", lambda _: None, lambda *_: 0, compiled=False)
    strategy = Strategy(rule)
    assert strategy.rule is rule
    assert strategy.name == "mine"
    assert strategy.describe()["sampling"] == "mine"


def test_options_reach_the_rule():
    task = instances.hard().problem.task
    chosen = Strategy("lebai", tracking="D", options={"forced": False, "z_oracle": "greedy"})
    state, plain = (prepare(own, task, [0.1]).start().rule for own in (chosen, Strategy("lebai")))
    assert (state.forced, plain.forced) == (False, True)
    assert state.tracking != plain.tracking
    assert state.z_oracle != plain.z_oracle
    # An option takes precedence over the axis of the same name.
    other = Strategy("lebai", options={"tracking": "D"})
    assert prepare(other, task, [0.1]).start().rule.tracking == 1
    fixed = Strategy("fixed", options={"weights": [1, 1, 2, 0]})
    weights = prepare(fixed, task, [0.1]).start().rule.weights
    np.testing.assert_allclose(weights, [0.25, 0.25, 0.5, 0.0])


def test_every_run_starts_afresh():
    schedule = "lazy:constant"
    strategy = Strategy("lebai", threshold="mixture", schedule=schedule)
    start = prepare(strategy, instances.hard().problem.task, [0.1]).start
    one, other = start(), start()
    one.evidence.counts[0] = 5
    one.rule.cumulative[0] = 5.0
    one.stopping.progress[0] = 3
    one.stopping.test.floor[0] = 3.0
    one.stopping.schedule.state[0] = 3
    one.milestones.times[0] = 3
    assert other.evidence.counts[0] == 0
    assert other.rule.cumulative[0] == 1.0
    assert other.stopping.progress.tolist() == [-1, 0, 0]
    assert other.stopping.test.floor[0] == 0.0
    assert other.stopping.schedule.state.tolist() == [0, 0]
    assert other.milestones.times.tolist() == [-1]


def test_levels():
    with pytest.raises(errors.InputError, match="between 0 and 1"):
        Strategy().check_levels([0.1, 1.5])
    with pytest.raises(errors.StrategyError, match="what lingape samples depends on δ"):
        Strategy("lingape", threshold="paper").check_levels([0.1, 0.01])


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"stopping": "gap", "threshold": "mixture"}, "needs the threshold theory or paper"),
        ({"stopping": "top-wrong", "threshold": "paper"}, "no threshold"),
        ({"stopping": "elimination", "threshold": "paper"}, "xy-adaptive"),
    ],
)
def test_combinations_that_make_no_sense(choices, words):
    with pytest.raises(errors.StrategyError, match=words):
        Strategy(**choices)


@pytest.mark.parametrize(
    ("choices", "question", "words"),
    [
        ({"stopping": "gap", "threshold": "paper"}, {"notion": "multiplicative"}, "additive"),
        ({"threshold": "paper"}, {"sigma": None}, "glr with paper has no version for unknown σ"),
        ({"stopping": "gap"}, {"sigma": None}, "unknown σ"),
    ],
)
def test_questions_that_a_test_is_not_made_for(choices, question, words):
    strategy, problem = Strategy(**choices), Problem([[1.0], [2.0]], **question)
    with pytest.raises(errors.StrategyError, match=words):
        strategy.check_question(problem)
    with pytest.raises(errors.StrategyError, match=words):
        simulate(problem, [1.0], strategy, runs=1)


def test_options_of_top_wrong_reach_the_test():
    strategy = Strategy(
        stopping="top-wrong",
        stopping_options={"summed": 0.05, "directions": [30.0], "direction_weights": 1},
    )
    test = prepare(strategy, instances.hard().problem.task, [0.01]).start().stopping.test
    assert test.directions[0].tolist() == [30.0]
    assert test.required[Price.SUMMED, 0] == pytest.approx(math.log(2 / (0.05 * 2 / 3) / 0.01))
    assert strategy.describe()["stopping_options"]["summed"] == 0.05


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"sumed": 0.1}, "did you mean 'summed'"),
        ({"summed": 0.9, "fallback": 0.5}, "sum below 1"),
        ({"summed": "much"}, "positive"),
        ({"directions": [1.0, 2.0, 3.0]}, "one weight each"),
        ({"shape_weights": [1.0, 1.0]}, "at most 1"),
    ],
)
def test_options_that_would_break_the_proof(options, words):
    with pytest.raises(errors.StrategyError, match=words):
        Strategy(stopping="top-wrong", stopping_options=options)
    with pytest.raises(errors.StrategyError, match="no options"):
        Strategy(stopping="glr", stopping_options=options)


def test_what_stops_by_default():
    assert (Strategy().stopping, Strategy().threshold) == ("ranked", None)
    assert Strategy().guarantee.proven
    assert Strategy(threshold="paper").stopping == "glr"
    assert Strategy(stopping="glr").threshold == "mixture"
    assert Strategy(stopping="gap").threshold == "theory"
    with pytest.raises(errors.StrategyError, match="of its own"):
        Strategy(stopping="top-wrong", threshold="mixture")
