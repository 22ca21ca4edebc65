"""The dashboard's pages as the service sends them; in a browser: test_browser."""

import sqlite3
import urllib.parse
from typing import Any

import pytest

import furthest as ft
from furthest.study.archive import to_csv

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")

from services import Service, serving

NAME = "<b>a/b</b> & 'c' \"d\" %2F ?#"


@pytest.fixture(scope="module")
def study(service: Service) -> ft.Study:
    problem = ft.Problem.options(["<i>left</i>", "right"], eps=0.1, sigma=0.5)
    found = ft.Study.create(NAME, problem, 0.05, service.storage)
    for arm, value in [(0, 0.5), (1, 0.1), (0, 0.75)]:
        found.add(arm, value)
    found.fail(found.ask(worker="<u>me</u>").id, "<script>alert(1)</script>")
    found.ask(worker="<u>me</u>")
    return found


def place(name: str, piece: str = "") -> str:
    return f"/studies/{urllib.parse.quote(name, '')}{piece}"


def send(service: Service, path: str, **fields: str) -> Any:
    data = urllib.parse.urlencode(fields).encode()
    return service.call("POST", path, data, content_type="application/x-www-form-urlencoded")


PIECES = ("", "/verdict", "/outlook", "/answers", "/arms", "/shape", "/trials", "/log", "/glance")


@pytest.mark.parametrize("piece", PIECES)
def test_texts_of_others_are_texts(service, study, piece):
    answer = service.get(place(NAME, piece))
    assert answer.status == 200
    for text in ("<b>a/b", "<i>left", "<u>me", "<script>alert"):
        assert text not in answer.data
    assert "script-src 'self'" in answer.headers["content-security-policy"]
    assert " style=" not in answer.data
    assert "onclick" not in answer.data


def test_what_a_page_loads_is_there_and_from_here(service, study):
    page = service.get(place(NAME)).data
    loaded = [part.partition('"')[0] for part in page.replace('href="', 'src="').split('src="')[1:]]
    assert not [each for each in loaded if not each.startswith(("/", "#"))]
    own = [each for each in loaded if each.startswith("/static/")]
    assert len(own) >= 7
    assert {service.get(each).status for each in own} == {200}


def test_an_unknown_study(service):
    assert service.get(place("nobody")).status == 404
    answer = service.get(place("nobody", "/verdict"), HX_Request="true")
    assert answer.status == 404
    assert "Unknown study" in answer.data
    assert "<html" not in answer.data
    assert service.get("/nothing/here").status == 404


def test_a_running_study_promises_nothing(service, study):
    said = service.get(place(NAME, "/verdict")).data
    assert "No guarantee yet" in said
    assert study.status().promise in said
    assert "proven" not in said.partition("<details")[0]


def test_the_log_newest_first_page_by_page(service, study):
    last = study.end.seq
    assert f"1–{last} of {last}" in service.get(place(NAME, "/log")).data
    part = service.get(place(NAME, "/log?before=4")).data
    assert f"1–3 of {last}" in part
    rows = [row.partition("</td>")[0].rpartition(">")[2] for row in part.split("<tr>")[2:]]
    assert rows == ["3", "2", "1"]
    assert service.get(place(NAME, "/log?before=-5")).status == 200
    assert service.get(place(NAME, "/answers?first=99999")).status == 200


def test_who_leads_is_no_answer_before_there_is_one(service):
    problem = ft.Problem.options(["left", "right"], eps=0.1, sigma=0.5)
    study = ft.Study.create("spent", problem, 0.05, service.storage, budget=2)
    for arm in range(2):
        study.add(arm, 0.1 * arm)
    assert study.status().state == "inconclusive"
    assert 'class="tag">leads<' in service.get(place("spent", "/answers")).data
    assert "no answer within the budget" in service.get(place("spent", "/glance")).data
    said = service.get(place("spent", "/verdict")).data
    assert study.conclusion().guarantee[1:] in said
    assert "the answer</p>" not in said


def test_downloads(service, study):
    assert service.get(place(NAME, "/results.csv")).data == to_csv(study)
    assert service.get(place(NAME, "/study.json")).data["log_digest"]


def test_the_printed_page_may_run_nothing(service, study):
    policy = service.get(place(NAME, "/certificate")).headers["content-security-policy"]
    assert "default-src 'none'" in policy
    assert "script-src" not in policy


def test_a_damaged_study_is_listed_with_its_error(tmp_path):
    storage = f"sqlite:///{tmp_path / 'damaged.db'}"
    for name in ("sound", "broken"):
        ft.Study.create(name, ft.Problem.options(["A", "B"]), 0.05, storage).add(0, 1.0)
    with sqlite3.connect(tmp_path / "damaged.db") as base:
        key = base.execute("SELECT key FROM furthest_studies WHERE name = 'broken'").fetchone()
        base.execute("UPDATE furthest_events SET value = 2.0 WHERE study = ? AND seq = 2", key)
    base.close()
    with serving(storage) as service:
        listed = service.get("/list").data
        assert listed.count('<th scope="row">') == 2
        assert "damaged" in listed
        assert service.get(place("sound", "/verdict")).status == 200
        assert service.get(place("broken", "/verdict")).status == 500


def test_results_are_told_by_hand(service):
    problem = ft.Problem.options(["left", "right"], eps=0.1, noise="bernoulli")
    study = ft.Study.create("by hand", problem, 0.05, service.storage)
    assert "Measure left" in send(service, place("by hand", "/ask"), n="2").data
    first, second = study.pending()
    assert first.worker == "by hand"
    refused = send(service, place("by hand", "/tell"), trial=first.id, value="0.5")
    assert "error" in refused.data
    assert "HX-Trigger" not in refused.headers
    told = send(service, place("by hand", "/tell"), trial=first.id, value="1")
    assert told.headers["HX-Trigger"] == "fresh"
    send(service, place("by hand", "/tell"), trial=second.id, successes="3", n="10")
    send(service, place("by hand", "/add"), arm="right", mean="0,5", n="4")
    assert [(each.value, each.size) for each in study.history()] == [(1.0, 1), (0.3, 10), (0.5, 4)]
    assert "both" in send(service, place("by hand", "/add"), arm="left", value="1", n="4").data
    assert "no result yet" in send(service, place("by hand", "/add"), arm="left").data
    assert "which option" in send(service, place("by hand", "/add"), value="1").data
    assert "whole number" in send(service, place("by hand", "/ask"), n="many").data
    assert "has no budget" in send(service, place("by hand", "/extend"), budget="50").data
    third = study.ask()
    send(service, place("by hand", "/fail"), trial=third.id, reason="it rained")
    assert [each.reason for each in study.failures()] == ["it rained"]


def test_who_may_only_read_changes_nothing(tmp_path):
    storage = f"sqlite:///{tmp_path / 'read.db'}"
    study = ft.Study.create("seen", ft.Problem.options(["A", "B"]), 0.05, storage)
    study.ask()
    (tmp_path / "tokens").write_text("read a-token-to-read-with\n")
    with serving(storage, token_file=str(tmp_path / "tokens")) as service:
        reader = Service(service.url, "a-token-to-read-with")
        assert "<form" not in reader.get(place("seen", "/trials")).data
        assert "<form" not in reader.get(place("seen")).data.partition("<main")[2]
        for path in (place("seen", "/ask"), "/new", "/new/plan"):
            assert send(reader, path, n="1").status == 403
        assert reader.get("/new").status == 403
    assert len(study.pending()) == 1


def test_a_study_from_the_form(service):
    form = {"table": "A\nB", "eps": "0.1", "delta": "5", "noise": "yes-no", "name": "made / here"}
    assert "Which of 2 options" in send(service, "/new/check", **form).data
    assert "made / here" not in [
        row["name"] for row in service.get("/api/v1/studies").data["studies"]
    ]
    made = send(service, "/new", **form, budget="40")
    assert made.headers["HX-Redirect"] == place("made / here")
    study = ft.Study.load("made / here", service.storage)
    assert (
        study.problem.in_words
        == ft.Problem.options(["A", "B"], eps=0.1, noise="bernoulli").in_words
    )
    assert (study.delta, study.budget) == (0.05, 40)
    assert "already" in send(service, "/new", **form).data
    assert "still missing" in send(service, "/new/check", table="A\nB").data.lower()
