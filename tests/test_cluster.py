"""A real Dask cluster: a scheduler and workers in processes of their own, two threads each."""

import json
import signal

import numpy as np
import pytest

import furthest as ft
from clusters import Cluster
from furthest import simulation, workers
from furthest.columns import read_parquet
from furthest.sampling import uniform
from furthest.sweeps import runner

pytest.importorskip("distributed")

GRID = {
    "instances": ["hard", "random:d=3,seed=1"],
    "strategies": ["uniform", "lebai"],
    "eps": 0.3,
    "delta": [0.1, 0.01],
    "runs": 40,
}


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    with Cluster(tmp_path_factory.mktemp("cluster")) as cluster:
        cluster.worker(threads=2)
        yield cluster


@pytest.fixture
def executor(cluster, monkeypatch):
    monkeypatch.setattr(simulation, "LEAST", 1e-9)  # many chunks, however short the runs are
    with workers.cluster(cluster.address) as executor:
        yield executor


def same(one, other):
    for name in ("numbers", "stopping_times", "answers", "pulls", "stopped", "correct"):
        np.testing.assert_array_equal(getattr(one, name), getattr(other, name), name)


def test_results_are_the_same_to_the_bit(executor):
    instance = ft.hard(eps=0.3)
    arguments = (instance.problem, instance.mu, ft.Strategy("lebai"), [0.1, 0.01], 200)
    heard = []
    there = ft.simulate(*arguments, executor=executor, progress=heard.append)
    same(there, ft.simulate(*arguments))
    assert len(heard) > 4
    assert sum(heard) == 200


def test_so_are_plans(executor):
    problem = ft.Problem.options(["A", "B", "C"], eps=0.2)
    guesses = np.random.default_rng(1).normal(size=(12, 3))
    arguments = (problem, guesses, [50, 500], 0.1)
    assert ft.expected_eps(*arguments, executor=executor) == ft.expected_eps(*arguments)


def favourite(state, task, evidence, stopping):
    return int(np.argmax(evidence.widths))


def test_a_rule_from_nowhere_goes_by_its_code(executor):
    names = {"__name__": "__main__", "np": np}
    exec(
        "def choose(state, task, evidence, stopping): return int(np.argmax(evidence.widths))", names
    )
    mine = ft.Rule("mine", uniform.start, names["choose"], compiled=False)
    instance = ft.hard(eps=0.5)
    arguments = (instance.problem, instance.mu, ft.Strategy(mine), 0.1, 12)
    same(ft.simulate(*arguments, executor=executor), ft.simulate(*arguments))


def test_a_rule_that_only_this_process_can_import_says_so(executor):
    """This module is none that workers know."""
    mine = ft.Rule("mine", uniform.start, favourite, compiled=False)
    instance = ft.hard(eps=0.5)
    with pytest.raises(
        ft.WorkersError, match=r"cannot find all it needs \(No module named 'test_cl"
    ):
        ft.simulate(instance.problem, instance.mu, ft.Strategy(mine), 0.1, 12, executor=executor)


def test_on_the_command_line(cluster, furthest):
    words = ("simulate", "hard", "--eps", "0.3", "--sampling", "lebai", "--runs", "50", "--json")
    there, here = furthest(*words, "--dask", cluster.address), furthest(*words)
    assert there.returncode == 0, there.stderr
    assert not there.stderr
    assert json.loads(there.stdout) | {"seconds": 0} == json.loads(here.stdout) | {"seconds": 0}


def test_a_sweep_survives_the_loss_of_a_worker(cluster, executor, tmp_path, monkeypatch):
    """One of two is killed as soon as the first piece has arrived."""
    monkeypatch.setattr(runner, "MOST", 4)
    client = executor._client
    victim = cluster.worker(threads=2)
    client.wait_for_workers(2)
    told = []

    def progress(runs):
        if not told:
            victim.send_signal(signal.SIGKILL)
        told.append(runs)

    there = ft.sweep(GRID, tmp_path / "there", executor=executor, progress=progress)
    assert victim.wait() == -signal.SIGKILL
    client.sync(client.scheduler.identity)
    assert len(client.ncores()) == 1
    assert told == [4] * 40
    here = ft.sweep(GRID, tmp_path / "here")
    assert there.rows == here.rows
    files = sorted(path.name for path in here.dataset.iterdir())
    assert files == sorted(path.name for path in there.dataset.iterdir())
    for name in files:
        ours, theirs = (read_parquet(done.dataset / name) for done in (here, there))
        for column in ours:
            np.testing.assert_array_equal(ours[column], theirs[column])
