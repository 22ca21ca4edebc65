import csv
import json
from dataclasses import replace

import numpy as np
import pytest

from furthest.errors import MissingExtraError
from furthest.problem import Problem
from furthest.results import Results
from furthest.strategy import Strategy

RUNS, ARMS = 50, 3


def results(levels=None, runs=RUNS):
    rng = np.random.default_rng(7)
    shape = (runs,) if levels is None else (levels, runs)
    pulls = rng.integers(1, 100, (*shape, ARMS))
    return Results(
        problem=Problem(np.eye(ARMS)),
        strategy=Strategy("uniform"),
        delta=0.1 if levels is None else tuple(0.1**level for level in range(1, levels + 1)),
        seed=3,
        numbers=np.arange(runs),
        stopping_times=pulls.sum(axis=-1),
        answers=rng.integers(0, ARMS, shape),
        pulls=pulls,
        stopped=rng.random(shape) < 0.8,
        correct=rng.random(shape) < 0.7,
        steps=int(pulls.sum()),
        seconds=1.5,
    )


def test_summary_is_what_numpy_says():
    found = results(levels=3)
    assert found.runs == RUNS
    for level, row in enumerate(found.summary()):
        times = found.stopping_times[level]
        wrong = (found.stopped[level] & ~found.correct[level]).sum()
        assert row.delta == pytest.approx(0.1 ** (level + 1))
        assert row.mean == pytest.approx(np.mean(times))
        assert row.std == pytest.approx(np.std(times, ddof=1))
        assert row.sem == pytest.approx(np.std(times, ddof=1) / np.sqrt(RUNS))
        assert row.median == pytest.approx(np.median(times))
        assert (row.q05, row.q95) == pytest.approx(tuple(np.quantile(times, [0.05, 0.95])))
        assert row.errors == wrong > 0
        assert row.error_rate == pytest.approx(wrong / RUNS)
        assert row.unstopped == (~found.stopped[level]).sum() > 0
        assert row.pulls == pytest.approx(found.pulls[level].mean(axis=0).tolist())
        assert sum(row.pulls) == pytest.approx(row.mean)


def test_a_single_level_is_the_same_without_the_axis():
    one, many = results(), results(levels=1)
    assert len(one.summary()) == len(many.summary()) == 1
    for name, column in one.columns().items():
        np.testing.assert_array_equal(column, many.columns()[name])


def test_one_run_and_no_run():
    row = results(runs=1).summary()[0]
    assert (row.std, row.sem) == (0.0, 0.0)
    # An interruption may come before the first run is finished.
    nothing = results(runs=0)
    assert nothing.runs == 0
    row = nothing.summary()[0]
    assert np.isnan(row.mean)
    assert (row.errors, row.unstopped, row.error_rate) == (0, 0, 0.0)
    assert all(len(column) == 0 for column in nothing.columns().values())


def test_columns():
    found = results(levels=2)
    columns = found.columns()
    assert list(columns) == [
        "run", "delta", "stopping_time", "answer", "stopped", "correct",
        "pulls_0", "pulls_1", "pulls_2",
    ]  # fmt: skip
    assert {len(column) for column in columns.values()} == {2 * RUNS}
    np.testing.assert_array_equal(columns["run"], [*range(RUNS), *range(RUNS)])
    np.testing.assert_array_equal(columns["stopping_time"], found.stopping_times.ravel())
    np.testing.assert_array_equal(columns["pulls_1"], found.pulls[..., 1].ravel())
    np.testing.assert_allclose(columns["delta"], np.repeat([0.1, 0.01], RUNS))
    numbers = 3 * np.arange(RUNS) + 5
    columns = replace(found, numbers=numbers).columns()
    np.testing.assert_array_equal(columns["run"], [*numbers, *numbers])


def test_runs_that_did_not_stop_say_which_arms_they_starved():
    assert replace(results(), stopped=np.full(RUNS, True)).unstopped_words is None
    stopped = np.arange(RUNS) > 2
    pulls = np.full((RUNS, ARMS), 50)
    pulls[:, 1] = np.where(stopped, 40, 1)
    found = replace(results(), stopped=stopped, pulls=pulls, stopping_times=pulls.sum(axis=1))
    assert found.unstopped_words == (
        "3 of 50 runs did not stop within 101 measurements at δ = 0.1; "
        "measured only in the initial design: 'arm 1'"
    )
    assert found.to_dict()["warnings"] == [found.unstopped_words]
    # No arm is left alone, but one is measured least.
    pulls[:3] = [60, 37, 3]
    found = replace(found, pulls=pulls, stopping_times=pulls.sum(axis=1))
    assert found.unstopped_words.endswith("least measured: 'arm 2', 0.03 of all measurements")
    assert found.unstopped_words in found._repr_html_().replace("&#x27;", "'")


def test_the_level_that_fewest_runs_reach_is_named():
    found = results(levels=2)
    stopped = np.full((2, RUNS), True)
    stopped[1, :7] = False
    assert "7 of 50 runs" in replace(found, stopped=stopped).unstopped_words
    assert "δ = 0.01" in replace(found, stopped=stopped).unstopped_words


def test_csv(tmp_path):
    found = results(levels=2)
    path = tmp_path / "runs.csv"
    found.to_csv(path)
    with path.open(newline="") as file:
        rows = list(csv.DictReader(file))
    columns = found.columns()
    assert list(rows[0]) == list(columns)
    assert len(rows) == 2 * RUNS
    for name in ("run", "stopping_time", "answer", "pulls_2"):
        assert [int(row[name]) for row in rows] == columns[name].tolist()
    assert [float(row["delta"]) for row in rows] == columns["delta"].tolist()
    assert [row["correct"] == "True" for row in rows] == columns["correct"].tolist()
    assert b"\r" not in path.read_bytes()


def test_parquet(tmp_path):
    parquet = pytest.importorskip("pyarrow.parquet")
    found = results(levels=2)
    found.to_parquet(tmp_path / "runs.parquet")
    table = parquet.read_table(tmp_path / "runs.parquet")
    assert table.column_names == list(found.columns())
    for name, column in found.columns().items():
        np.testing.assert_array_equal(table[name].to_numpy(), column)


def test_parquet_without_the_extra(tmp_path, monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingExtraError, match=r"pip install 'furthest\[parquet\]'"):
        results().to_parquet(tmp_path / "runs.parquet")


@pytest.mark.parametrize("runs", [RUNS, 1, 0])
def test_as_plain_data(runs):
    data = results(levels=2, runs=runs).to_dict()
    assert data["runs"] == runs
    assert [row["delta"] for row in data["results"]] == pytest.approx([0.1, 0.01])
    # JSON knows no NaN: readers in other languages would choke on it.
    assert json.loads(json.dumps(data, allow_nan=False)) == data
