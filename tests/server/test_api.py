"""The API over HTTP: the same study as in Python, and errors that say what to do."""

import json
import math
import threading
from itertools import count

import numpy as np
import pytest

from furthest import Problem, Study
from furthest.study import documents

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")

OPTIONS = {"options": ["A", "B", "C"], "eps": 0.3, "sigma": 0.5}
VALUES = {"A": 0.0, "B": 0.2, "C": 1.0}

_numbers = count()


@pytest.fixture
def path(service):
    """Of a study of its own."""
    name = f"study {next(_numbers)}"
    assert service.post("/api/v1/studies", {"name": name, "problem": OPTIONS}).status == 201
    return service.study(name)


@pytest.fixture
def storage(service, tmp_path_factory):
    """What the service keeps its studies in, seen from outside."""
    return service.storage


def measured(name, rng):
    return VALUES[name] + 0.5 * rng.standard_normal()


def finish(service, path, seed=0):
    """Measure until there is an answer; returns what the last ask said."""
    rng = np.random.default_rng(seed)
    while (answer := service.post(f"{path}/ask", {"n": 2})).status == 200:
        for trial in answer.data["trials"]:
            value = measured(trial["name"], rng)
            told = service.post(f"{path}/tell", {"trial": trial["id"], "value": value})
            assert told.data == {"ids": [trial["id"]]}
    return answer


def test_a_study_over_http_is_the_study_in_python(service, path, storage):
    end = finish(service, path)
    assert (end.status, end.kind) == (409, "stopped")
    assert "the answer is 'C'" in end.data["detail"]
    name = service.get(path).data["name"]
    local = Study.load(name, storage)
    assert service.get(path).data == documents.shown(local, foresight=False)
    assert service.get(f"{path}/certificate").data == local.certificate().to_dict()
    assert service.get(f"{path}/verify").data["certificate"] == local.certificate().to_dict()
    assert service.get(f"{path}/export").data == json.loads(json.dumps(documents.exported(local)))
    assert service.get(f"{path}/foresight").data["foresight"]["median"] == 0
    assert service.get(f"{path}/conclusion").kind == "unknown"


def test_what_is_asked_over_http_is_what_is_asked_in_python(service, tmp_path):
    """Two studies of one question, with the same results: every arm is the same."""
    problem = Problem.options(list(VALUES), eps=0.3, sigma=0.5)
    local = Study.create("twin", problem, 0.01, f"sqlite:///{tmp_path}/twin.db", seed=7)
    service.post("/api/v1/studies", {"name": "twin", "problem": OPTIONS, "seed": 7})
    path, rng = service.study("twin"), np.random.default_rng(1)
    for _ in range(5):
        there = service.post(f"{path}/ask", {"n": 3}).data["trials"]
        here = local.ask(3)
        assert [each["arm"] for each in there] == [each.arm for each in here]
        for over_http, trial in zip(there, here, strict=True):
            value = measured(trial.name, rng)
            service.post(f"{path}/tell", {"trial": over_http["id"], "value": value})
            local.tell(trial, value)
    mine, theirs = local.status().to_dict(), service.get(path).data
    assert theirs | {"trials": None, "name": ""} == mine | {"trials": None, "name": ""}


def test_a_result_told_twice_changes_nothing_and_another_one_is_refused(service, path):
    trial = service.post(f"{path}/ask").data["trials"][0]["id"]
    for _ in range(2):
        assert service.post(f"{path}/tell", {"trial": trial, "value": 0.25}).status == 200
    assert service.get(path).data["measurements"] == 1
    refused = service.post(f"{path}/tell", {"trial": trial, "value": 0.5})
    assert (refused.status, refused.kind) == (409, "contradiction")
    assert "0.25 before, now 0.5" in refused.data["detail"]


def test_numbers_arrive_to_the_last_digit(service, path):
    values = [0.1 + 0.2, -1e-300, 2.0**-1074, 12345.678901234567]
    for number, value in enumerate(values):
        service.post(f"{path}/add", {"arm": "A", "value": value, "id": f"own {number}"})
    found = service.get(f"{path}/history").data["measurements"]
    assert [each["value"] for each in found] == values


def test_an_added_result_with_an_id_counts_once(service, path):
    for _ in range(3):
        added = service.post(f"{path}/add", {"arm": 1, "value": 0.5, "id": "mine"})
        assert added.data == {"ids": ["mine"]}
    assert service.get(path).data["pulls"] == [0, 1, 0]


def test_of_many_results_all_are_written_or_none(service, path):
    trials = service.post(f"{path}/ask", {"n": 3}).data["trials"]
    results = [{"trial": each["id"], "value": 0.5} for each in trials]
    refused = service.post(f"{path}/results", {"results": [*results, {"arm": "Z", "value": 1.0}]})
    assert (refused.status, refused.kind) == (404, "unknown")
    assert "result 4" in refused.data["detail"]
    assert service.get(path).data["measurements"] == 0
    extra = {"arm": "A", "mean": 0.25, "n": 4}
    done = service.post(f"{path}/results", {"results": [*results, extra]})
    assert len(done.data["ids"]) == 4
    assert service.get(path).data["measurements"] == 7


def test_failed_trials_and_budgets(service):
    body = {"name": "poor", "problem": OPTIONS, "budget": 4}
    service.post("/api/v1/studies", body)
    path = service.study("poor")
    trials = service.post(f"{path}/ask", {"n": 9}).data["trials"]
    assert len(trials) == 4
    assert service.post(f"{path}/ask").kind == "budget"
    assert service.post(f"{path}/fail", {"trial": trials[0]["id"], "reason": "broke"}).status == 200
    trials = trials[1:] + service.post(f"{path}/ask").data["trials"]
    for trial in trials:
        service.post(f"{path}/tell", {"trial": trial["id"], "value": 0.5})
    assert service.post(f"{path}/ask").kind == "inconclusive"
    assert service.get(f"{path}/conclusion").data["budget"] == 4
    assert service.get(f"{path}/certificate").status == 404
    assert service.post(f"{path}/extend", {"budget": 6}).data["state"] == "running"
    assert len(service.post(f"{path}/ask", {"n": 9}).data["trials"]) == 2


def test_batches_and_counts(service):
    problem = {"options": ["old", "new"], "eps": 0.05, "noise": "bernoulli"}
    service.post("/api/v1/studies", {"name": "visitors", "problem": problem})
    path = service.study("visitors")
    shares = service.post(f"{path}/ask", {"batch": 1000}).data["trials"]
    assert sum(each["size"] for each in shares) == 1000
    for each in shares:
        told = {"trial": each["id"], "successes": each["size"] // 10, "n": each["size"]}
        assert service.post(f"{path}/tell", told).status == 200
    assert service.get(path).data["measurements"] == 1000


def test_history_in_parts_and_as_a_table(service, path):
    for number in range(5):
        service.post(f"{path}/add", {"arm": "A", "value": float(number), "id": f"m{number}"})
    first = service.get(f"{path}/history?most=3").data
    rest = service.get(f"{path}/history?after={first['next']}&most=3").data
    found = first["measurements"] + rest["measurements"]
    assert [each["value"] for each in found] == [0.0, 1.0, 2.0, 3.0, 4.0]
    assert rest["next"] is None
    table = service.get(f"{path}/history.csv")
    assert table.headers["content-type"].startswith("text/csv")
    assert len(table.data.splitlines()) == 6


@pytest.mark.parametrize("name", ["a/b", "ü ε 🙂", "100 %", "a?b#c", "..", "%2F", "'\"<script>"])
def test_any_name_is_a_path(service, name):
    created = service.post("/api/v1/studies", {"name": name, "problem": OPTIONS})
    assert created.status == 201
    assert service.get(created.headers["location"]).data["name"] == name
    assert name in [row["name"] for row in service.get("/api/v1/studies").data["studies"]]
    assert service.call("DELETE", service.study(name)).status == 204
    assert service.get(service.study(name)).kind == "unknown"


def test_a_study_that_was_deleted_and_begun_anew_is_the_new_one(service, storage):
    body = {"name": "again", "problem": OPTIONS}
    service.post("/api/v1/studies", body)
    path = service.study("again")
    service.post(f"{path}/ask")
    Study.load("again", storage).delete()  # by somebody else
    assert service.get(path).kind == "unknown"
    Study.create("again", Problem.options(["X", "Y"], eps=0.1), 0.1, storage)
    assert service.get(path).data["pulls"] == [0, 0]
    rows = service.get("/api/v1/studies").data["studies"]
    assert [row["arms"] for row in rows if row["name"] == "again"] == [2]


def test_what_others_write_is_seen_at_once(service, path, storage):
    local = Study.load(service.get(path).data["name"], storage)
    local.add("A", 0.5)
    assert service.get(path).data["measurements"] == 1
    rows = {row["name"]: row for row in service.get("/api/v1/studies").data["studies"]}
    assert rows[local.name]["measurements"] == 1


def test_names_are_unique_and_the_same_question_is_opened_on_request(service):
    body = {"name": "one", "problem": OPTIONS}
    service.post("/api/v1/studies", body)
    assert service.post("/api/v1/studies", body).kind == "exists"
    assert service.post("/api/v1/studies", body | {"exist_ok": True}).status == 201
    other = body | {"exist_ok": True, "delta": 0.05}
    assert service.post("/api/v1/studies", other).kind == "change"


REFUSED = [
    ("ask", {"n": 0}, 422, "n"),
    ("ask", {"n": 1.5}, 422, "n"),
    ("ask", {"n": 1, "batch": 5}, 422, "not for both"),
    ("ask", {"many": 1}, 422, "many"),
    ("ask", [], 422, "body"),
    ("tell", {"trial": "nobody-1", "value": 1.0}, 404, "unknown trial"),
    ("tell", {"trial": "nobody-1"}, 422, "must be a number"),
    ("tell", {"trial": "nobody-1", "value": "1"}, 422, "value"),
    ("tell", {"trial": "nobody-1", "value": 1e99}, 422, "1e+99"),
    ("add", {"arm": "D", "value": 1.0}, 404, "unknown arm"),
    ("add", {"arm": 10**30, "value": 1.0}, 404, "arm"),
    ("fail", {"trial": "nobody-1"}, 404, "unknown trial"),
    ("extend", {"budget": 10}, 422, "no budget"),
]


@pytest.mark.parametrize(("verb", "body", "status", "words"), REFUSED)
def test_what_makes_no_sense_is_refused_with_a_sentence(service, path, verb, body, status, words):
    before = service.get(path).data
    answer = service.post(f"{path}/{verb}", body)
    assert answer.status == status
    assert answer.kind
    assert words in answer.data["detail"]
    assert service.get(path).data == before


@pytest.mark.parametrize(
    "text", [b"", b"{", b"\xff\xfe", b"[" * 100_000, b'{"n": 1e400}', b'{"n": NaN}', b"null"]
)
def test_what_is_no_json_is_refused(service, path, text):
    answer = service.call("POST", f"{path}/ask", text)
    assert answer.status in (400, 422)
    assert answer.kind in ("json", "input")


PROBLEMS = [
    ({}, "no arms, options, factors or graph"),
    ({"options": ["A"]}, "at least two"),
    ({"options": ["A", "B"], "eps": -1.0}, "eps"),
    ({"options": ["A", "B"], "epsilon": 0.1}, "did you mean 'eps'"),
    ({"options": ["A", "B"], "sigma": "much"}, "sigma"),
    ({"arms": [[1, 0], [0]]}, "arms"),
    ({"arms": "many"}, "arms"),
    ({"arms": [[1.0, None], [0.0, 1.0]]}, "arms"),
    ({"options": ["A", "B"], "mu": [0, 1]}, "mu"),
    ({"options": [str(number) for number in range(4000)]}, "16,000,000 numbers"),
    ({"factors": {name: list("0123456789") for name in "abcdef"}}, "61,000,000 numbers"),
    ({"factors": {"a": 3, "b": None}, "interactions": 7}, "must be a list"),
    ({"graph": [[str(k), str(k + 1)] for k in range(4000)], "radius": 1.0}, "numbers"),
]


@pytest.mark.parametrize(("problem", "words"), PROBLEMS)
def test_a_question_that_makes_no_sense_is_explained(service, problem, words):
    answer = service.post("/api/v1/studies", {"name": "none", "problem": problem})
    assert (answer.status, answer.kind) == (422, "input")
    assert words in answer.data["detail"].replace("ε", "eps").replace("σ", "sigma")
    assert service.get(service.study("none")).status == 404


@pytest.mark.parametrize(
    "strategy", [{"sampling": "best"}, {"colour": 1}, {"sampling": "os:system"}, {"options": 3}]
)
def test_a_strategy_that_makes_no_sense_is_explained(service, strategy):
    body = {"name": "none", "problem": OPTIONS, "strategy": strategy}
    answer = service.post("/api/v1/studies", body)
    assert (answer.status, answer.kind) == (422, "input")


def test_workers_at_once_get_what_one_would(service):
    """Sixteen threads: every trial is another one, and no result is lost or doubled."""
    service.post("/api/v1/studies", {"name": "crowd", "problem": OPTIONS | {"eps": 0.001}})
    path, trials, errors = service.study("crowd"), [], []

    def work(seed):
        rng = np.random.default_rng(seed)
        try:
            for _ in range(5):
                trial = service.post(f"{path}/ask").data["trials"][0]
                trials.append(trial["id"])
                told = {"trial": trial["id"], "value": 0.01 * rng.standard_normal()}
                assert service.post(f"{path}/tell", told).status == 200
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(seed,)) for seed in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert len(set(trials)) == 80
    found = service.get(f"{path}/history").data["measurements"]
    assert sorted(each["id"] for each in found) == sorted(trials)


def test_another_method_says_which_there_are(service, path):
    for place, methods in (("/api/v1/studies", "GET, POST"), (path, "DELETE, GET")):
        answer = service.call("PUT", place, {})
        assert (answer.status, answer.kind) == (405, "method")
        assert answer.headers["allow"] == methods


def test_the_document_of_the_api_names_every_path(service):
    document = service.get("/openapi.json").data
    verbs = {path.rpartition("}/")[2] for path in document["paths"] if "{name}/" in path}
    assert verbs == {
        *("ask", "tell", "add", "results", "fail", "extend", "history", "history.csv", "export"),
        *("certificate", "conclusion", "verify", "foresight", "events"),
    }
    assert math.isclose(float(document["openapi"][:3]), 3.1)
    assert "Problem" in document["components"]["schemas"]
