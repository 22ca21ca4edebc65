import csv
import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import furthest as ft
from furthest.errors import MissingExtraError
from furthest.sweeps import runner, sweeping
from furthest.sweeps.spec import read_spec
from furthest.sweeps.sweeping import Job

pytest.importorskip("pyarrow")

EXAMPLE = Path(__file__).parents[2] / "examples" / "sweep.toml"
GRID = {
    "instances": ["hard", {"instance": "random:d=3,seed=1", "name": "dice"}],
    "strategies": ["uniform", {"sampling": "lingape", "stopping": "glr"}],
    "eps": [0.3, 0.5],
    "delta": [0.1, 0.01],
    "runs": 12,
    "seed": 4,
}


@pytest.fixture
def out(tmp_path):
    return tmp_path / "out"


def dataset(out):
    """All runs, as any reader of Parquet would read them."""
    from pyarrow.parquet import read_table

    table = read_table(out / "dataset")
    return {name: table[name].to_pylist() for name in table.column_names}


def test_every_cell_is_what_simulate_gives(out):
    done = ft.sweep(GRID, out)
    assert [(row.instance, row.eps, row.strategy, row.delta) for row in done.rows] == [
        (instance, eps, strategy, delta)
        for instance in ("hard", "dice")
        for eps in (0.3, 0.5)
        for strategy in ("uniform", "lingape, glr")
        for delta in (0.1, 0.01)
    ]
    row = done.rows[5]
    instance = ft.hard(eps=0.5)
    results = ft.simulate(
        *(instance.problem, instance.mu, ft.Strategy("uniform"), [0.1, 0.01], 12, 4)
    )
    assert row.summary == results.summary()[1]
    assert row.limit == ft.complexity(instance.problem, instance.mu).measurements(0.01)
    assert row.ratio == row.summary.mean / row.limit
    found = dataset(out)
    chosen = [
        place
        for place in range(len(found["run"]))
        if (found["instance"][place], found["eps"][place], found["strategy"][place])
        == ("hard", 0.5, "uniform")
        and found["delta"][place] == 0.01
    ]
    assert [found["run"][place] for place in chosen] == list(range(12))
    assert [found["stopping_time"][place] for place in chosen] == results.stopping_times[1].tolist()
    assert [found["pulls"][place] for place in chosen] == results.pulls[1].tolist()
    assert len(found["run"]) == 16 * 12
    # Instances have different numbers of arms.
    assert {len(pulls) for pulls in found["pulls"]} == {4, 20}
    with (out / "summary.csv").open(newline="") as file:
        table = list(csv.DictReader(file))
    assert [float(line["mean"]) for line in table] == [row.summary.mean for row in done.rows]
    assert {line["cost"] for line in table} == {"nan"}


def test_what_is_stored_is_not_made_again(out):
    first = ft.sweep(GRID, out)
    assert first.work.units == 12 * (4 + 8)
    again = ft.sweep(GRID, out)
    assert again.work.units == 0
    assert again.rows == first.rows
    more = ft.sweep(GRID | {"runs": 15}, out)
    assert more.work.units == 3 * (4 + 8)
    assert len(dataset(out)["run"]) == 16 * 15
    fewer = ft.sweep(GRID, out)
    assert fewer.work.units == 0
    assert fewer.rows == first.rows
    assert len(dataset(out)["run"]) == 16 * 12


def test_another_specification_is_not_mixed_in(out):
    first = ft.sweep(GRID, out)
    other = GRID | {"strategies": ["uniform"], "eps": 0.5}
    job = Job(read_spec(other), out)
    assert (len(job.finished), job.others) == (2, 10)
    # Before anything is made: only what belongs to it.
    assert len(list((out / "dataset").iterdir())) == 2
    done = ft.sweep(other, out)
    assert done.work.units == 0
    assert {row.strategy for row in done.rows} == {"uniform"}
    assert set(dataset(out)["eps"]) == {0.5}
    # The way back costs nothing either.
    assert ft.sweep(GRID, out).rows == first.rows
    assert Job(read_spec(GRID | {"seed": 5}), out).finished == []


def test_files_of_others_are_left_alone(out):
    (out / "dataset").mkdir(parents=True)
    (out / "dataset" / "mine.parquet").write_text("no cell of a sweep")
    Job(read_spec(GRID), out)
    assert (out / "dataset" / "mine.parquet").exists()


@pytest.mark.parametrize("jobs", [1, 2])
def test_an_interruption_keeps_the_finished_pieces(out, tmp_path, monkeypatch, jobs):
    monkeypatch.setattr(runner, "MOST", 5)
    told = []

    def progress(runs):
        told.append(runs)
        if len(told) == 7:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ft.sweep(GRID, out, jobs, progress=progress)
    job = Job(read_spec(GRID), out)
    left = sum(job.left.values())
    assert left <= 12 * 12 - sum(told)
    # One at a time they come in order: two whole cells of three pieces each.
    assert jobs > 1 or len(list((out / "dataset").iterdir())) == len(job.finished) == 2
    done = ft.sweep(GRID, out)
    assert done.work.units == left
    assert done.rows == ft.sweep(GRID, tmp_path / "whole").rows


SCRIPT = """
import sys, time
import furthest as ft
from furthest.sweeps import runner
runner.MOST = 5

def progress(runs):
    print(runs, flush=True)
    time.sleep(10**6 if len(sys.argv) > 3 else 0)

ft.sweep(eval(sys.argv[1]), "out", int(sys.argv[2]), progress=progress)
"""


@pytest.mark.skipif(os.name != "posix", reason="needs kill -9")
def test_so_does_a_sudden_death(out, tmp_path):
    command = [sys.executable, "-c", SCRIPT, repr(GRID), "2"]
    with subprocess.Popen(
        command, stdout=subprocess.PIPE, text=True, cwd=tmp_path, start_new_session=True
    ) as process:
        for _ in range(4):
            process.stdout.readline()
        os.killpg(process.pid, signal.SIGKILL)
    left = sum(Job(read_spec(GRID), out).left.values())
    assert left <= 12 * 12 - 4 * 2
    done = ft.sweep(GRID, out)
    assert done.work.units == left
    assert done.rows == ft.sweep(GRID, tmp_path / "whole").rows


def test_nearly_the_same_eps_are_two_questions(out):
    grid = GRID | {"strategies": ["uniform"], "eps": [0.3, 0.3000000001], "runs": 3}
    done = ft.sweep(grid, out)
    assert len(done.rows) == 8
    assert done.work.units == 4 * 3


def test_the_example(out):
    spec = read_spec(EXAMPLE)
    job = Job(replace(spec, runs=2), out)
    done = job.finish(1, lambda piece: None)
    assert len(done.rows) == 2 * 3 * 2 * 2
    assert {row.strategy for row in done.rows} == {"softmin", "uniform", "LinGapE, GLR"}


def test_costs_are_paid_and_limited_in_their_unit(out):
    problem = ft.Problem(np.eye(2), eps=0.2, costs=[1.0, 5.0])
    instance = ft.Instance("priced", problem, np.array([1.0, 0.0]))
    done = ft.sweep({"instances": [instance], "strategies": ["softmin"], "runs": 20}, out)
    (row,) = done.rows
    results = ft.simulate(problem, instance.mu, ft.Strategy(), 0.01, 20)
    assert row.summary == results.summary()[0]
    assert row.ratio == row.summary.cost / row.limit
    assert dataset(out)["cost"] == results.costs.tolist()


def test_the_picture_has_every_row(out, tmp_path):
    pytest.importorskip("matplotlib")
    done = ft.sweep(GRID | {"runs": 3}, out)
    done.draw(tmp_path / "figure.svg")
    text = (tmp_path / "figure.svg").read_text()
    for words in ("hard, ε = 0.3", "dice, ε = 0.5", "lingape, glr", "δ = 0.01"):
        assert f"<!-- {words} -->" in text


def test_without_pyarrow_nothing_is_begun(out, monkeypatch):
    def missing():
        raise MissingExtraError("pyarrow", "parquet")

    monkeypatch.setattr(sweeping, "arrow", missing)
    with pytest.raises(MissingExtraError, match=r"furthest\[parquet\]"):
        ft.sweep(GRID, out)
    assert not out.exists()


def test_on_the_command_line(furthest, tmp_path):
    (tmp_path / "grid.toml").write_text(
        'instances = ["hard"]\nstrategies = ["uniform", "lebai"]\neps = 0.5\nruns = 5\n'
    )
    shown = furthest("sweep", "grid.toml")
    assert shown.returncode == 0, shown.stderr
    assert "hard, ε = 0.5" in shown.stdout
    assert "already" not in shown.stderr
    again = furthest("sweep", "grid.toml", "--json", "--jobs", "2")
    data = json.loads(again.stdout)
    assert again.stderr == "2 of 2 cells there already\n"
    assert data["made"]["units"] == 0
    assert [row["strategy"] for row in data["rows"]] == ["uniform", "lebai"]
    assert (tmp_path / data["dataset"]).is_dir()
    assert (tmp_path / data["figure"]).stat().st_size
    (tmp_path / "grid.toml").write_text((tmp_path / "grid.toml").read_text() + "seed = 1\n")
    other = furthest("sweep", "grid.toml", "--json")
    assert "has changed: 2 stored cells" in other.stderr
    assert json.loads(other.stdout)["rows"] != data["rows"]
    both = furthest("sweep", "grid.toml", "--jobs", "2", "--dask", "tcp://127.0.0.1:1")
    assert (both.returncode, both.stdout) == (2, "")
    assert "take one of them" in both.stderr
