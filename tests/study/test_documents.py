"""The JSON documents: the command line prints what the library makes, and nothing of its own."""

import json
import sys

import pytest

import furthest as ft
from furthest.cli import main
from furthest.study import documents
from furthest.study.certificate import verify
from furthest.study.storage import open_storage
from study.problems import TWO, TWO_MU, Lab, run

TRIAL = {"id", "arm", "at", "worker"}
KEYS = {
    "shown": {
        *("name", "state", "answer", "answer_name", "statistic", "threshold", "measurements"),
        *("waiting", "surplus", "pending", "failed", "pulls", "guarantee", "promise", "standing"),
        *("verdicts", "warnings", "certificate", "chained_from", "trials", "foresight"),
        *("budget", "conclusion", "cost"),
    },
    "listed": {
        *("name", "state", "answer", "answer_name", "eps", "notion", "delta", "arms"),
        *("measurements", "pending", "error", "budget", "created_at", "changed_at"),
    },
    "verified": {
        *("verified", "state", "standing", "warnings", "measurements", "chained_from"),
        *("signed_by", "certificate", "conclusion"),
    },
    "exported": {
        *("name", "version", "problem", "delta", "strategy", "seed", "lease", "order", "state"),
        *("answer", "measurements", "failed", "open", "certificate", "log", "log_digest"),
        *("budget", "conclusion"),
    },
    "verdict": {"answer", "name", "estimate", "within_eps", "verdict"},
    "certificate": {
        *("study", "answer", "answer_name", "statistic", "threshold", "meaning", "delta"),
        *("guarantee", "standing", "proven", "conditions", "contenders", "verdicts"),
        *(
            "measurements",
            "pulls",
            "added",
            "failed",
            "order",
            "warnings",
            "strategy",
            "problem",
            "created_at",
            "stopped_at",
            "log_events",
        ),
        *("log_digest", "chained_from", "cost", "version"),
    },
}


@pytest.fixture(params=["running", "stopped"])
def study(request, sqlite_url):
    """One of each state, with results, failures and pending trials."""
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    first, second, _ = study.ask(3, worker="lab 2")
    study.tell(first, 2.0)
    study.fail(second, "spilled")
    study.add("B", 0.5, id="old")
    if request.param == "stopped":
        run(study, Lab(TWO, TWO_MU))
    return study


@pytest.fixture
def printed(sqlite_url, monkeypatch, capfd):
    """What `furthest study … --json` prints."""

    def call(*words, code=0):
        capfd.readouterr()
        arguments = ["furthest", "study", *words, "--storage", sqlite_url, "--json"]
        monkeypatch.setattr(sys, "argv", arguments)
        with pytest.raises(SystemExit) as end:
            main()
        assert (end.value.code or 0) == code
        return json.loads(capfd.readouterr().out)

    return call


def test_show(study, printed):
    found = documents.shown(study)
    assert printed("show", "a") == found
    assert set(found) == KEYS["shown"]
    assert [set(each) for each in found["trials"]] == [TRIAL]
    assert found["trials"][0]["worker"] == "lab 2"
    assert all(set(each) == KEYS["verdict"] for each in found["verdicts"])
    del found["foresight"]
    assert printed("show", "a", "--no-foresight") == found
    assert found == documents.shown(study, foresight=False)


def test_list(study, printed, sqlite_url):
    found = documents.listed(open_storage(sqlite_url))
    assert printed("list") == found
    assert [set(row) for row in found["studies"]] == [KEYS["listed"]]
    row = found["studies"][0]
    assert row["measurements"] == len(study.history())
    # Somebody has seen it stop: the last `ask` of a loop does.
    stopped = study.status().state == "stopped"
    assert (row["state"], row["answer_name"]) == (
        ("stopped", "A") if stopped else ("running", None)
    )


def test_list_while_somebody_deletes(study, sqlite_url, monkeypatch):
    """A study that is gone by the time it is looked at is left out."""
    place = open_storage(sqlite_url)
    names, other = place.studies, ft.Study.create("b", TWO, 0.1, place)

    def then_deleted():
        found = names()
        if "b" in found:
            other.delete()
        return found

    monkeypatch.setattr(place, "studies", then_deleted)
    assert [row["name"] for row in documents.listed(place)["studies"]] == ["a"]


def test_verify(study, printed):
    found = documents.verified(verify("a", study.events()))
    # One failed, one was added: proven if that has nothing to do with the values.
    assert printed("verify", "a", code=3 if study.certificate() else 0) == found
    assert set(found) == KEYS["verified"]
    if study.certificate():
        assert set(found["certificate"]) == KEYS["certificate"]


def test_export(study, printed):
    found = documents.exported(study)
    assert printed("export", "a") == found
    assert set(found) == KEYS["exported"]
    assert [set(each) for each in found["failed"]] == [TRIAL | {"reason"}]
    assert [set(each) for each in found["open"]] == [TRIAL]
    assert [ft.Event(*row) for row in found["log"]] == study.events()


def test_documents_survive_json(sqlite_url):
    """JSON has no tuples; neither have they, whatever the question was made from."""
    problem = ft.Problem(TWO.arms, eps=0.5, bounds=(-4, 4), initial=(1, 0))
    strategy = ft.Strategy("fixed", options={"weights": (0.5, 0.5)})
    study = ft.Study.create("a", problem, 0.1, sqlite_url, strategy=strategy)
    run(study, Lab(problem, TWO_MU, sigma=0.5))
    for found in (
        documents.exported(study),
        documents.shown(study),
        documents.listed(open_storage(sqlite_url)),
    ):
        assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_ask(printed, sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    found = printed("ask", "a", "-n", "2")
    assert found == documents.asked(
        [ft.Trial(each.id, each.arm, each.name) for each in study.pending()]
    )
