"""Snapshots save time and nothing else: what is certified follows from the log alone."""

import json
import sqlite3
from array import array
from collections import deque
from contextlib import closing

import numpy as np
import pytest

import furthest as ft
from furthest.errors import VerificationError
from furthest.study import fold, snapshot
from furthest.study import study as studies
from furthest.study.certificate import verify
from furthest.study.ledger import Ledger
from oracles import own_parts
from study.problems import ENDLESS, TWO

UNKNOWN = ft.Problem(np.eye(3), eps=1e-6, sigma=None)
YES_NO = ft.Problem.options(["A", "B", "C"], eps=1e-4, noise="bernoulli")


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """Logs of more than ten events are long ones."""
    monkeypatch.setattr(snapshot, "_folder", lambda: tmp_path / "snapshots")
    monkeypatch.setattr(snapshot, "LEAST_EVENTS", 10)
    monkeypatch.setattr(studies, "PAGE", 10)
    return tmp_path / "snapshots"


def filled(url, problem=ENDLESS, rounds=8, **options):
    """A study of many kinds of events; its handle has left a snapshot."""
    study = ft.Study.create("a", problem, 0.1, url, **options)
    rng = np.random.default_rng(3)

    def result():
        return float(rng.random() < 0.5) if problem is YES_NO else rng.standard_normal()

    study.add(0, result(), id="mine", measured_at=12.5)
    for _ in range(rounds):
        first, second, third = study.ask(n=3)
        study.tell(third, result())
        study.tell(first, result())
        study.fail(second, "spilt")
    study.ask(n=2)
    size = {"n": 20} | ({"sd": 0.5} if problem is UNKNOWN else {})
    study.add("B", mean=0.5, **size) if problem.arm_names[1] == "B" else study.add(1, 0.5)
    study.status()
    return study


def content(value):
    """All that something is made of, to be compared."""
    if isinstance(value, array | deque | set | tuple | list):
        return [content(each) for each in (sorted(value) if isinstance(value, set) else value)]
    if isinstance(value, np.ndarray):
        return value.tolist()
    if isinstance(value, dict):
        return {name: content(each) for name, each in value.items()}
    if type(value).__module__.startswith("furthest.study."):
        return {
            name: content(each)
            for name, each in vars(value).items()
            if name not in ("settings", "_add")
        }
    return value


def same(one, other):
    return json.dumps(content(one)) == json.dumps(content(other))  # NaN is NaN


CASES = {
    "known σ": (ENDLESS, {}),
    "unknown σ": (UNKNOWN, {}),
    "yes or no": (YES_NO, {}),
    "as told": (ENDLESS, {"order": "told"}),
    "given up": (ENDLESS, {"lease": 1e-6}),
    "budget": (ENDLESS, {"budget": 500}),
    "at random": (ENDLESS, {"strategy": ft.Strategy("lebai", schedule="sticky:bernoulli")}),
}


@pytest.mark.parametrize("case", CASES)
def test_the_next_process_goes_on_as_if_it_had_read_all(url, case):
    problem, options = CASES[case]
    before = filled(url, problem, **options)
    after = ft.Study.load("a", url)
    assert after._ledger.from_snapshot
    whole = Ledger.of(before.events())
    for name, value in vars(whole).items():
        if name not in ("settings", "from_snapshot", "_before_seal"):
            assert same(getattr(after._ledger, name), value), name
    restored = after._snapshot.fold
    assert restored is not None
    assert same(after._fold.parts(), before._fold.parts())
    assert after.status() == before.status()
    assert after.history() == before.history()
    assert after.failures() == before.failures()
    assert after.pending() == before.pending()
    for trial in after.pending():
        after.tell(trial, 1.0)
    assert after.status() == before.status()
    assert same(after._fold.parts(), before._fold.parts())
    assert after._fold.suggest([], 3) == before._fold.suggest([], 3)
    before.close()
    after.close()


def test_an_own_rule_has_no_state_that_could_be_kept(sqlite_url):
    filled(sqlite_url, strategy=ft.Strategy(own_parts.COIN))
    after = ft.Study.load("a", sqlite_url)
    assert after._ledger.from_snapshot
    assert after._snapshot.fold is None
    assert after.status().state == "running"


def test_a_state_that_is_too_large_is_made_again(sqlite_url, monkeypatch):
    monkeypatch.setattr(fold, "MOST_BYTES", 1000)
    before = filled(sqlite_url)
    after = ft.Study.load("a", sqlite_url)
    assert after._ledger.from_snapshot
    assert after._snapshot.fold is None
    assert after.status() == before.status()


@pytest.fixture
def stored(folder):
    """What is in the snapshot, and how to put something else in its place."""

    def change(edit):
        (path,) = folder.glob("*.npz")
        with np.load(path) as file:
            arrays = dict(file)
        data = json.loads(arrays["rest"].tobytes())
        edit(arrays, data)
        arrays["rest"] = np.frombuffer(json.dumps(data).encode(), np.uint8)
        np.savez(path, **arrays)

    return change


def believe_the_values(arrays, data):
    """Somebody wants A to be the best, and lets all be folded again."""
    arms = arrays["ledger.arms"]
    arrays["ledger.values"] = np.where(arms == 0, 1e3, -1e3)
    data["fold."] = {}


def believe_the_state(arrays, data):
    """… or writes down that the test has been passed."""
    del data
    name = "fold.state..stopping.progress"
    arrays[name] = np.array([0, 1, -1])


@pytest.mark.parametrize("forge", [believe_the_values, believe_the_state])
def test_a_forged_snapshot_gives_no_certificate(url, stored, forge):
    study = filled(url)
    expected = study.status()
    stored(forge)
    after = ft.Study.load("a", url)
    assert after._ledger.from_snapshot
    found = after.status()
    assert found == expected
    assert found.certificate is None
    assert not after._ledger.from_snapshot  # it looked suspicious, so the log was read
    assert after.events() == study.events()
    assert after.ask().arm in range(3)
    study.close()
    after.close()


def otherwise(name):
    return lambda arrays, data: (arrays, data["ledger."].update({name: data["ledger."][name][:-1]}))


EDITS = {
    "another end": otherwise("head"),
    "another software": lambda _, data: data.update(software="0"),
    "columns of other lengths": lambda arrays, _: arrays.update(
        {"ledger.arms": arrays["ledger.arms"][:-1]}
    ),
    "no columns": lambda arrays, _: arrays.pop("ledger.values"),
    "objects": lambda arrays, _: arrays.update({"ledger.arms": np.array([{}], object)}),
}


@pytest.mark.parametrize("edit", EDITS)
def test_what_does_not_fit_is_done_without(sqlite_url, stored, edit):
    study = filled(sqlite_url)
    stored(EDITS[edit])
    after = ft.Study.load("a", sqlite_url)
    assert not after._ledger.from_snapshot
    assert after.status() == study.status()


@pytest.mark.parametrize(
    "edit",
    [
        lambda arrays, _: arrays.update({"fold.state..evidence.sums": np.zeros(2)}),
        lambda arrays, _: arrays.pop("fold.state..evidence.sums"),
        lambda _, data: data["fold."].pop("rng"),
        lambda _, data: data["fold."].update(machine="another"),
    ],
)
def test_a_state_of_another_form_is_made_again(sqlite_url, stored, edit):
    study = filled(sqlite_url)
    stored(edit)
    after = ft.Study.load("a", sqlite_url)
    assert after._ledger.from_snapshot
    assert after.status() == study.status()


@pytest.mark.parametrize("damage", [b"", b"PK", b"\x93NUMPY garbage"])
def test_a_damaged_file_is_done_without(sqlite_url, folder, damage):
    study = filled(sqlite_url)
    (path,) = folder.glob("*.npz")
    path.write_bytes(path.read_bytes()[:200] if damage == b"PK" else damage)
    after = ft.Study.load("a", sqlite_url)
    assert not after._ledger.from_snapshot
    assert after.status() == study.status()


def test_a_process_that_was_killed_while_it_wrote_leaves_nothing_that_counts(sqlite_url, folder):
    study = filled(sqlite_url)
    (path,) = folder.glob("*.npz")
    path.rename(folder / f".17.{path.name}").write_bytes(b"half")
    after = ft.Study.load("a", sqlite_url)
    assert not after._ledger.from_snapshot
    assert after.status() == study.status()
    assert ft.Study.load("a", sqlite_url)._ledger.from_snapshot  # the next one is whole


def test_where_nothing_can_be_kept_all_goes_on(sqlite_url, folder):
    folder.write_text("not a folder")
    study = filled(sqlite_url)
    assert ft.Study.load("a", sqlite_url).status() == study.status()


def test_nobody_waits_while_one_is_written(sqlite_url, folder):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url)
    other = ft.Study.load("a", sqlite_url)
    other.tell_many([{"arm": arm % 3, "value": 0.5} for arm in range(12)])
    study.ask()  # the log is locked while this decides
    assert not folder.exists()
    study.ask()  # and is not before that
    assert folder.exists()


def test_few_are_kept(sqlite_url, folder, monkeypatch):
    monkeypatch.setattr(snapshot, "MOST", 2)
    for name in "abc":
        study = ft.Study.create(name, ENDLESS, 0.1, sqlite_url)
        study.tell_many([{"arm": arm % 3, "value": 0.5} for arm in range(12)])
        study.status()
    assert len(list(folder.iterdir())) == 2


def edited(url, seq):
    """Behind the study's back."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        database.execute("UPDATE furthest_events SET value = 9 WHERE seq = ?", (seq,))


def test_an_edited_log_is_noticed_before_anything_is_certified(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url, order="told")
    study.tell_many([{"arm": arm % 2, "value": 0.0} for arm in range(20)])
    assert study.status().state == "running"
    edited(sqlite_url, 15)
    after = ft.Study.load("a", sqlite_url)
    assert after.status().state == "running"  # by the snapshot
    with pytest.raises(VerificationError, match="event 15"):
        verify("a", after.events())
    with pytest.raises(VerificationError, match="event 15"):
        ft.Study.load("a", sqlite_url).as_options("b")
    after.tell_many([{"arm": arm % 2, "value": 50.0 * (1 - arm % 2)} for arm in range(200)])
    for refused in (after.status, after.ask, ft.Study.load("a", sqlite_url).certificate):
        with pytest.raises(VerificationError, match="event 15"):
            refused()


def test_the_certificate_is_that_of_the_whole_log(url):
    study = ft.Study.create("a", TWO, 0.1, url)
    study.tell_many([{"arm": arm % 2, "value": 0.0} for arm in range(20)])
    study.status()
    after = ft.Study.load("a", url)
    assert after._ledger.from_snapshot
    after.tell_many([{"arm": arm % 2, "value": 50.0 * (1 - arm % 2)} for arm in range(200)])
    proof = after.certificate()
    assert proof is not None
    assert not after._ledger.from_snapshot
    assert verify("a", after.events(), proof.to_dict()).certificate == proof
    assert ft.Study.load("a", url).certificate() == proof
    study.close()
    after.close()
