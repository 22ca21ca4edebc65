"""The experiment of another paper: its settings, its threshold and how its numbers are judged."""

import math
import pickle

import numpy as np
import pytest

from furthest.paper import elsewhere, stylised
from furthest.paper.cells import Runs
from furthest.paper.outcomes import Outcome
from furthest.paper.shapes import Number, TableBlock
from furthest.simulation import simulate
from furthest.stopping.thresholds import required
from furthest.strategy import Strategy
from furthest.sweeps.cells import key

CELL = elsewhere.on_soare("lingape", math.pi / 6, 0.1, 178)


def outcomes_of(*times):
    """Every cell with these stopping times, all pulls on the second arm."""
    pulls = {f"pulls_{arm}": np.array(times) * (arm == 1) for arm in range(3)}
    columns = {"run": np.arange(len(times)), "stopping_time": np.array(times)} | pulls

    class Same:
        def __getitem__(self, cell):
            return Outcome(columns)

    return Same()


@pytest.mark.parametrize("rounds", [20, 21, 100, 10**6])
@pytest.mark.parametrize("delta", [0.3, 1e-4])
def test_the_threshold_is_that_of_the_authors(rounds, delta):
    """Paper: older threshold."""
    # They stop where GLR/2 > ln((1 + ln t)/δ); round 20 is the last one that is held.
    found = required(stylised.stylised([0.5, delta]), rounds, 1)
    assert found / 2 == pytest.approx(math.log((1 + math.log(rounds)) / delta), rel=1e-3)


def test_before_round_twenty_more_is_asked_for():
    threshold = stylised.stylised([0.1])
    for rounds in range(1, 20):
        exact = 2 * math.log((1 + math.log(rounds)) / 0.1)
        assert exact < required(threshold, rounds, 0) <= exact + 2 * math.log(4) + 1e-9


def test_the_instance_is_that_of_the_text():
    instance = CELL.question.at(0)
    problem = instance.problem
    assert (problem.eps, problem.notion, problem.sigma) == (0.0, "additive", 1.0)
    third = [math.sqrt(3) / 2, 0.5]
    np.testing.assert_allclose(problem.arms, [[1, 0], [0, 1], third], atol=1e-15)
    assert instance.truth.tolist() == [1, 0]
    assert problem.task.initial.tolist() == [0, 1, 2]


def test_cells_reach_other_processes():
    cells = [cell for shape in elsewhere.SHAPES for cell in shape.cells()]
    assert len(cells) == 2 + 7 * 3
    assert pickle.loads(pickle.dumps(cells)) == cells
    assert CELL.strategy.test is stylised.GLR


def test_the_totals_of_the_print_are_the_sums_of_its_pulls():
    for *arms, total in elsewhere.PULLS.values():
        assert sum(arms) == total


def test_its_cells_are_not_those_of_another_threshold():
    other = Strategy("lingape", "greedy", "glr", "paper")
    again = Runs(CELL.question, other, CELL.deltas)
    assert key(again, 0) != key(CELL, 0)


def test_a_mean_of_a_hundred_runs_has_the_deviation_of_a_run_over_ten():
    # Deviation of a run 20, ours from 400 runs: 20/√400 = 1; the print's: 20/√100 = 2.
    half = [180] * 200 + [220] * 200
    number = elsewhere.Average(CELL, 190.0).beside(outcomes_of(*half))
    assert number.ours.value == 200
    assert number.deviations == pytest.approx(10 / math.hypot(1, 2, 1 / math.sqrt(12)), rel=2e-3)
    assert number.verdict == "differs"
    assert elsewhere.Average(CELL, 194.0).beside(outcomes_of(*half)).verdict == "confirmed"


def test_pulls_are_those_of_the_arm(tmp_path):
    table = elsewhere.SHAPES[0].block(outcomes_of(7000, 7200), tmp_path, "elsewhere")
    assert isinstance(table, TableBlock)
    label, *items = table.rows[0]
    numbers = [item for item in items if isinstance(item, Number)]
    assert label == "LinGame"
    assert [number.ours.value for number in numbers] == [0, 7100, 0, 7100]
    assert [number.printed for number in numbers] == [1912, 5119, 104, 7135]


@pytest.mark.parametrize("sampling", ["uniform", "lingape", "xy-adaptive"])
def test_a_few_runs_come_near_the_print(sampling):
    cell = elsewhere.on_soare(sampling, math.pi / 6, 0.1, 300)
    instance = cell.question.at(0)
    results = simulate(instance.problem, instance.truth, cell.strategy, 0.1, 60, seed=4)
    times = results.stopping_times.ravel()
    # Deviations of both means, theirs from 100 runs: more than five would be a scandal.
    error = times.std() * math.hypot(1 / math.sqrt(60), 1 / 10)
    assert abs(times.mean() - elsewhere.MEANS[sampling][0]) < 5 * error
