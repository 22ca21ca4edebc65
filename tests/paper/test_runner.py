import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from furthest.paper import runner
from furthest.paper.cells import Draws, Question, Runs
from furthest.paper.entries import on_hard, on_random
from furthest.paper.runner import plan, run
from furthest.paper.store import Store
from furthest.strategy import Strategy

UNIFORM = Strategy("uniform", stopping="glr", threshold="paper")
CELLS = {
    "one": [Runs(Question("hard"), UNIFORM), on_random("uniform", "additive", 6)],
    "two": [Draws(Question("circle:seed={run}", eps=0.1)), Runs(Question("hard"), UNIFORM)],
}


def make(folder, runs, jobs=1, cells=CELLS):
    store = Store(folder, seed=5)
    pieces = plan(cells, store, runs)
    heard = []
    work = runner.Work()
    run(pieces, store, jobs, heard.append, work)
    assert len(heard) == len(pieces)
    return store, work


def contents(store, runs, cells=CELLS):
    return [
        (name, column.tolist())
        for row in cells.values()
        for cell in row
        for name, column in store.read(cell, cell.units(runs)).items()
    ]


def test_neither_workers_nor_pieces_change_the_outcome(tmp_path, monkeypatch):
    alone, work = make(tmp_path / "alone", 12)
    # 12 runs of two cells and 60 draws: the cell that both entries show is made once.
    assert work.units == 12 + 12 + 60
    assert work.rounds > 12 * 100
    together, _ = make(tmp_path / "together", 12, jobs=2)
    assert contents(together, 12) == contents(alone, 12)
    monkeypatch.setattr(runner, "MOST", 5)
    pieces, again = make(tmp_path / "pieces", 12, jobs=2)
    assert contents(pieces, 12) == contents(alone, 12)
    assert again.rounds == work.rounds


def test_more_runs_later_make_only_the_missing_ones(tmp_path):
    store, _ = make(tmp_path / "grown", 4)
    before = contents(store, 4)
    _, work = make(tmp_path / "grown", 9)
    assert work.units == 5 + 5 + 25
    whole, _ = make(tmp_path / "whole", 9)
    assert contents(store, 9) == contents(whole, 9)
    assert contents(store, 4) == before
    _, work = make(tmp_path / "grown", 9)
    assert (work.units, work.rounds) == (0, 0)


def test_every_run_of_a_varying_question_has_its_own_instance():
    cell = on_random("uniform", "additive", 6)
    together = cell.make(3, 6, seed=1)
    for run_number in (3, 4, 5):
        alone = cell.make(run_number, run_number + 1, seed=1)
        row = together["run"] == run_number
        assert together["stopping_time"][row] == alone["stopping_time"]
    assert not np.array_equal(cell.question.at(3).problem.arms, cell.question.at(4).problem.arms)


SCRIPT = """
import sys
from pathlib import Path
from furthest.paper import runner
from furthest.paper.store import Store
from furthest.paper.entries import own_rule
runner.PIECE = 0.05
cells = {"table-4": [own_rule("lingape")]}
store = Store(Path(sys.argv[1]), 5)
runner.run(runner.plan(cells, store, 60), store, int(sys.argv[2]), lambda piece: None,
           runner.Work())
"""


@pytest.mark.parametrize("jobs", [1, 2])
def test_it_goes_on_where_it_was_killed(tmp_path, jobs):
    from furthest.paper.entries import own_rule

    folder = tmp_path / "killed"
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT, folder, str(jobs)], start_new_session=True
    )
    deadline = time.monotonic() + 120
    while len(list(folder.glob("runs/*/0*-*"))) < 3 and time.monotonic() < deadline:
        time.sleep(0.02)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    cell = own_rule("lingape")
    store = Store(folder, 5)
    stored = 12 - sum(last - first for first, last in store.missing(cell, 12))
    assert stored >= 3
    _, work = make(folder, 12, cells={"table-4": [cell]})
    assert work.units == 12 - stored
    whole, _ = make(tmp_path / "whole", 12, cells={"table-4": [cell]})
    cells = {"table-4": [cell]}
    assert contents(store, 12, cells) == contents(whole, 12, cells)


def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    process = subprocess.Popen([sys.executable, "-c", SCRIPT, tmp_path, "2"])
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    if not children.exists():
        process.kill()
        pytest.skip("no /proc")
    deadline = time.monotonic() + 120
    while len(workers := children.read_text().split()) < 2 and time.monotonic() < deadline:
        time.sleep(0.02)
    process.kill()
    process.wait()
    while any(Path(f"/proc/{pid}").exists() for pid in workers) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_hard_cells_are_what_the_command_line_simulates(furthest):

    from furthest.paper.cells import own_seed

    cell = on_hard("lebai", "additive")
    mine = cell.make(0, 5, own_seed(cell, 2022))
    process = furthest(
        *("simulate", "hard", "--notion", "additive", "--sampling", "lebai", "--stopping", "glr"),
        *("--threshold", "paper", "--runs", "5", "--seed", str(own_seed(cell, 2022)), "--json"),
    )
    theirs = json.loads(process.stdout)
    assert theirs["results"][0]["mean"] == mine["stopping_time"].mean()
