import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest

from furthest.instances import hard
from furthest.paper.cells import Draws, Question, Runs, own_seed
from furthest.paper.elsewhere import RIDGE
from furthest.paper.entries import ENTRIES, on_hard, on_random
from furthest.simulation import simulate
from furthest.strategy import Strategy
from furthest.sweeps import runner
from furthest.sweeps.runner import plan, run
from furthest.sweeps.store import Store

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
import sys, time
from pathlib import Path
from furthest.sweeps import runner
from furthest.sweeps.store import Store
from furthest.paper.entries import own_rule
runner.PIECE = 0.05
cells = {"table-4": [own_rule("lingape")]}
store = Store(Path(sys.argv[1]), 5)

def progress(piece):
    print(piece.last, flush=True)
    if len(sys.argv) > 3:
        time.sleep(10**6)

runner.run(runner.plan(cells, store, 10**4), store, int(sys.argv[2]), progress, runner.Work())
"""


def started(*arguments, **options):
    """The script at work: one line of its output per piece that is stored."""
    return subprocess.Popen(
        [sys.executable, "-c", SCRIPT, *map(str, arguments)],
        stdout=subprocess.PIPE,
        text=True,
        **options,
    )


@pytest.mark.parametrize("jobs", [1, 2])
def test_it_goes_on_where_it_was_killed(tmp_path, jobs):
    from furthest.paper.entries import own_rule

    folder = tmp_path / "killed"
    with started(folder, jobs, start_new_session=True) as process:
        for _ in range(3):
            process.stdout.readline()
        os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == -signal.SIGKILL
    cell = own_rule("lingape")
    store = Store(folder, 5)

    def stored(units):
        return units - sum(last - first for first, last in store.missing(cell, units))

    # What is finished at the same time is stored in any order: not always the first ones first.
    assert stored(10**4) >= 3
    left = 12 - stored(12)
    _, work = make(folder, 12, cells={"table-4": [cell]})
    assert work.units == left
    whole, _ = make(tmp_path / "whole", 12, cells={"table-4": [cell]})
    cells = {"table-4": [cell]}
    assert contents(store, 12, cells) == contents(whole, 12, cells)


def test_workers_do_not_outlive_a_killed_parent(tmp_path):
    # The workers inherit the end of a pipe; it is closed when the last of them is gone.
    watched, held = os.pipe()
    with started(tmp_path, 2, "and wait after the first piece", pass_fds=[held]) as process:
        os.close(held)
        assert process.stdout.readline()
        process.kill()
        process.stdout.close()
    assert process.returncode == -signal.SIGKILL
    assert os.read(watched, 1) == b""
    os.close(watched)


def test_a_worker_whose_parent_was_killed_before_it_began_leaves(python):
    script = "import os, time; from furthest import workers\n"
    nobody = "workers._begin(os.getpid()); time.sleep(10**6)"  # its parent is surely another one
    assert python("-c", script + nobody).returncode == 1


def test_hard_cells_are_what_the_command_line_simulates(furthest):
    cell = on_hard("lebai", "additive", threshold="mixture")
    mine = cell.make(0, 5, own_seed(cell, 2022))
    process = furthest(
        *("simulate", "hard", "--notion", "additive", "--sampling", "lebai", "--stopping", "glr"),
        *("--threshold", "mixture", "--runs", "5", "--seed", str(own_seed(cell, 2022)), "--json"),
    )
    theirs = json.loads(process.stdout)
    assert theirs["results"][0]["mean"] == mine["stopping_time"].mean()


def test_with_the_threshold_of_the_experiments_they_have_a_ridge():
    cell = on_hard("lebai", "additive")
    mine = cell.make(0, 5, 7)["stopping_time"]
    instance, strategy = hard(notion="additive"), Strategy("lebai", threshold="paper")
    shrunk, plain = (
        simulate(instance.problem, instance.truth, strategy, 0.01, 5, 7, ridge=ridge)
        for ridge in (RIDGE, 0.0)
    )
    assert mine.tolist() == shrunk.stopping_times.tolist() != plain.stopping_times.tolist()


def test_proven_tests_have_no_ridge_and_no_caps_of_the_experiments():
    cells = [cell for entry in ENTRIES.values() for cell in entry.cells()]
    kinds = {
        (cell.strategy.guarantee.proven, cell.ridge) for cell in cells if isinstance(cell, Runs)
    }
    assert kinds == {(True, 0.0), (False, 1.0)}
    for threshold, cap in (("paper", {"cap": 2.0}), ("mixture", {})):
        assert on_hard("lingame", "additive", threshold=threshold).strategy.options == cap
