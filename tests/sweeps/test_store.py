import json

import numpy as np
import pytest

from furthest import columns
from furthest.paper.cells import Question, Runs, own_seed
from furthest.paper.entries import NOTIONS
from furthest.strategy import Strategy
from furthest.sweeps.cells import distinct, key
from furthest.sweeps.store import Store

UNIFORM = Strategy("uniform", stopping="glr", threshold="paper")
CELL = Runs(Question("hard"), UNIFORM)


def rows(first, last):
    return {"run": np.arange(first, last), "stopping_time": 10 * np.arange(first, last)}


@pytest.fixture(params=[True, False], ids=["parquet", "csv"])
def store(request, tmp_path, monkeypatch):
    if request.param:
        pytest.importorskip("pyarrow")
    monkeypatch.setattr(columns, "has_parquet", lambda: request.param)
    return Store(tmp_path, seed=1)


def test_gaps(store):
    assert store.missing(CELL, 10) == [(0, 10)]
    for first, last in ((2, 4), (7, 9), (4, 5)):
        store.write(CELL, first, last, rows(first, last))
    assert store.missing(CELL, 12) == [(0, 2), (5, 7), (9, 12)]
    assert store.missing(CELL, 6) == [(0, 2), (5, 6)]
    assert store.missing(CELL, 4) == [(0, 2)]


def test_reading_goes_by_number(store):
    for first, last in ((5, 9), (0, 5)):
        store.write(CELL, first, last, rows(first, last))
    assert store.read(CELL, 7)["stopping_time"].tolist() == [0, 10, 20, 30, 40, 50, 60]


def test_merging_keeps_everything_even_when_it_was_interrupted(store, monkeypatch):
    for first, last in ((0, 3), (3, 8)):
        store.write(CELL, first, last, rows(first, last))
    with monkeypatch.context() as broken:
        broken.setattr("pathlib.Path.unlink", lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
        with pytest.raises(KeyboardInterrupt):
            store.merge(CELL)
    assert len(store._pieces(CELL)) == 3  # the merged piece and what it was made from
    assert store.read(CELL, 8)["run"].tolist() == list(range(8))
    store.merge(CELL)
    assert [(first, last) for first, last, _ in store._pieces(CELL)] == [(0, 8)]
    assert store.read(CELL, 8)["run"].tolist() == list(range(8))


def test_no_merger_across_a_gap(store):
    for first, last in ((0, 3), (4, 8)):
        store.write(CELL, first, last, rows(first, last))
    store.merge(CELL)
    assert store.missing(CELL, 8) == [(3, 4)]


def test_half_written_files_are_not_seen(store):
    store.write(CELL, 0, 3, rows(0, 3))
    (store._home(CELL) / f".000003-000005{store.suffix}.123").write_text("half")
    assert store.missing(CELL, 5) == [(3, 5)]


def test_the_settings_stand_beside_the_runs_and_lead_back_to_them(store):
    store.write(CELL, 0, 3, CELL.make(0, 3, own_seed(CELL, 1)))
    settings = json.loads((store._home(CELL) / "settings.json").read_text())
    assert settings["strategy"]["threshold"] == "paper"
    assert (settings["instance"], settings["eps"], settings["deltas"]) == ("hard", 0.05, [0.01])
    again = CELL.make(1, 3, settings["run_seed"])
    assert again["stopping_time"].tolist() == store.read(CELL, 3)["stopping_time"].tolist()[1:]


def test_other_settings_are_another_cell():
    cells = [
        CELL,
        Runs(Question("hard", "additive"), UNIFORM),
        Runs(Question("hard", eps=0.1), UNIFORM),
        Runs(Question("hard", best=True), UNIFORM),
        Runs(Question("hard"), UNIFORM, deltas=(0.1,)),
        Runs(Question("hard"), Strategy("uniform", stopping="glr", threshold="mixture")),
        Runs(Question("hard"), Strategy("lebai", options={"forced": False})),
        Runs(Question("hard"), UNIFORM, ridge=1.0),
    ]
    names = {key(cell, seed) for cell in cells for seed in (1, 2)}
    assert len(names) == 2 * len(cells)


def test_cells_of_one_instance_share_their_noise_and_no_others_do():
    same = [
        CELL,
        Runs(Question("hard", "additive", best=True), Strategy("lebai"), deltas=(0.1,)),
        Runs(Question("hard"), UNIFORM, ridge=1.0),
    ]
    assert len({own_seed(cell, 1) for cell in same}) == 1
    others = [Runs(Question(f"random:d={d},seed={{run}}", "additive"), UNIFORM) for d in (6, 8)]
    assert len({own_seed(cell, seed) for cell in (CELL, *others) for seed in (1, 2)}) == 6


def test_a_run_has_the_same_noise_for_both_notions():
    # Uniform sampling pulls the same arms whatever is asked: one path, stopped at two times.
    cells = [Runs(Question("hard", notion), UNIFORM) for notion in NOTIONS]
    times = [cell.make(0, 40, own_seed(cell, 3))["stopping_time"] for cell in cells]
    assert np.corrcoef(np.array(times))[0, 1] > 0.9


def test_cells_of_equal_settings_are_one():
    again = Runs(CELL.question, UNIFORM, rounds=7.0)
    assert list(distinct([CELL, again])) == [key(CELL, 0)]
