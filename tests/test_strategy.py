import math

import numpy as np
import pytest

from furthest import errors, instances, parts, sampling
from furthest.kernels import topwrong
from furthest.sampling.rule import Rule
from furthest.strategy import Strategy, parse_schedule


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ({"sampling": "lebia"}, "unknown sampling rule 'lebia'; did you mean 'lebai'"),
        ({"sampling": "qqq"}, "choose from lebai"),
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


@pytest.mark.parametrize("name", [None, 1.0, ["paper"]])
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
    fresh, again = choice.fresh(), choice.fresh()
    assert fresh.state.tolist() == [0, 0]
    assert fresh.state is not again.state


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
        "guarantee": strategy.guarantee,
    }
    assert "heuristic" in strategy.guarantee
    for threshold in ("mixture", "theory"):
        assert "proven" in Strategy(threshold=threshold).guarantee
    assert "proven" in Strategy().guarantee


def test_every_part_has_words_and_a_source():
    tables = (
        parts.CANDIDATES,
        parts.STOPPINGS,
        parts.THRESHOLDS,
        parts.SCHEDULES,
        parts.GRIDS,
        parts.TRACKINGS,
    )
    for table in tables:
        for name, part in table.items():
            assert part.name == name
            assert part.what
            assert part.source
    for part in parts.THRESHOLDS.values():
        assert part.guarantee
        assert part.proven == part.guarantee.startswith("proven")


def test_every_sampling_rule_can_be_found():
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
    state = (
        Strategy("lebai", tracking="D", options={"forced": False, "z_oracle": "greedy"})
        .prepare(task, [0.1])()
        .rule
    )
    plain = Strategy("lebai").prepare(task, [0.1])().rule
    assert (state.forced, plain.forced) == (False, True)
    assert state.tracking != plain.tracking
    assert state.z_oracle != plain.z_oracle
    # An option takes precedence over the axis of the same name.
    assert Strategy("lebai", options={"tracking": "D"}).prepare(task, [0.1])().rule.tracking == 1
    weights = Strategy("fixed", options={"weights": [1, 1, 2, 0]}).prepare(task, [0.1])().rule
    np.testing.assert_allclose(weights.weights, [0.25, 0.25, 0.5, 0.0])


def test_every_run_starts_afresh():
    start = Strategy("lebai").prepare(instances.hard().problem.task, [0.1])
    one, other = start(), start()
    one.evidence.counts[0] = 5
    one.rule.cumulative[0] = 5.0
    one.stopping.state[0] = 3
    one.stopping.threshold.floor[0] = 3.0
    assert other.evidence.counts[0] == 0
    assert other.rule.cumulative[0] == 1.0
    assert other.stopping.state[0] == -1
    assert other.stopping.threshold.floor[0] == 0.0


def test_levels():
    with pytest.raises(errors.InputError, match="between 0 and 1"):
        Strategy().check_levels([0.1, 1.5])
    with pytest.raises(errors.StrategyError, match="what lingape samples depends on δ"):
        Strategy("lingape", threshold="paper").check_levels([0.1, 0.01])


@pytest.mark.parametrize(
    ("choices", "notion", "sigma", "words"),
    [
        ({"stopping": "gap", "threshold": "paper"}, "multiplicative", "known", "additive"),
        ({"stopping": "gap"}, "additive", "known", "no width"),
        ({"stopping": "top-wrong", "threshold": "paper"}, "", "known", "no threshold"),
        ({"stopping": "elimination", "threshold": "paper"}, "", "known", "xy-adaptive"),
        ({"threshold": "paper"}, "additive", "unknown", "unknown σ"),
    ],
)
def test_combinations_that_make_no_sense(choices, notion, sigma, words):
    with pytest.raises(errors.StrategyError, match=words):
        Strategy(**choices).check_question(notion, sigma)


def test_options_of_top_wrong_reach_the_test():
    strategy = Strategy(
        stopping_options={"summed": 0.05, "directions": [30.0], "direction_weights": 1}
    )
    _, stopping, _ = strategy.prepare(instances.hard().problem.task, [0.01])()
    assert stopping.test.directions[0].tolist() == [30.0]
    assert stopping.test.required[topwrong.SUMMED, 0] == pytest.approx(
        math.log(2 / (0.05 * 2 / 3) / 0.01)
    )
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
        Strategy(stopping_options=options)
    with pytest.raises(errors.StrategyError, match="no options"):
        Strategy(stopping="glr", stopping_options=options)


def test_what_stops_by_default():
    assert (Strategy().stopping, Strategy().threshold) == ("top-wrong", "")
    assert Strategy().guarantee.startswith("proven")
    assert Strategy(threshold="paper").stopping == "glr"
    assert Strategy(stopping="glr").threshold == "mixture"
    with pytest.raises(errors.StrategyError, match="of its own"):
        Strategy(stopping="top-wrong", threshold="mixture")
