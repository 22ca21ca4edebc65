"""The hash chain: what was written stays as it was written, or it shows."""

import hashlib
import json
import sqlite3
from contextlib import closing

import pytest

import furthest as ft
from furthest.errors import FurthestError, StorageError, VerificationError
from furthest.study import documents
from furthest.study.certificate import verify
from furthest.study.events import STOPPED, Event
from study.problems import ENDLESS, TWO, TWO_MU, Lab, older_database, rechained, run


def execute(url, *statements):
    """Behind the study's back."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        for statement in statements:
            database.execute(statement)


def measured(url, results=6):
    study = ft.Study.create("a", ENDLESS, 0.1, url)
    for value in range(results):
        study.tell(study.ask(), value / 8)
    return study


def sha256(text):
    return hashlib.sha256(text.encode()).hexdigest()


def test_each_event_carries_a_digest_of_all_before_it(url):
    """Computed here by other means: what is digested is JSON."""
    study = measured(url, 2)
    study.fail(study.ask(), "Ünlucky\n")
    head = ""
    for event in study.events():
        *fields, chain = event
        head = sha256(head + json.dumps(fields))
        assert chain == head
    study.close()


def test_zero_has_no_sign(url):
    """One storage keeps it, the other does not."""
    study = ft.Study.create("a", ENDLESS, 0.1, url)
    study.tell(study.ask(), -0.0)
    study.tell(study.ask(), 0.0)
    assert [str(each.value) for each in ft.Study.load("a", url).history()] == ["0.0", "0.0"]


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE furthest_events SET value = value + 0.001 WHERE seq = 5",
        "UPDATE furthest_events SET at = at + 1 WHERE seq = 5",
        "UPDATE furthest_events SET worker = 'me' WHERE seq = 4",
        """UPDATE furthest_events SET data = replace(data, '"sigma": 1.0', '"sigma": 0.5')""",
        """UPDATE furthest_events SET data = replace(data, '"delta": 0.1', '"delta": 0.5')""",
        """UPDATE furthest_events SET seq = CASE seq WHEN 4 THEN -6 WHEN 6 THEN -4 ELSE seq END;
        UPDATE furthest_events SET seq = abs(seq)""",
        "DELETE FROM furthest_events WHERE seq = 13",
        "DELETE FROM furthest_events WHERE seq > 9",
        "DELETE FROM furthest_events WHERE seq = 4",
        "UPDATE furthest_events SET chain = ''",
        "UPDATE furthest_studies SET head = ''",
        "UPDATE furthest_studies SET last = last + 1",
        "UPDATE furthest_studies SET last = last - 1",
    ],
    ids=lambda change: change[:60],
)
def test_a_change_in_the_database_is_noticed_without_any_certificate(change, sqlite_url):
    study = measured(sqlite_url)
    before = study.events()
    execute(sqlite_url, *change.split(";\n"))
    with pytest.raises(
        (VerificationError, StorageError), match=r"digest|end of the log|not follow"
    ):
        ft.Study.load("a", sqlite_url).events()
    assert len(before) == 13
    study.close()


def test_a_damaged_study_does_not_hide_the_others(sqlite_url):
    study = measured(sqlite_url)
    ft.Study.create("b", TWO, 0.1, sqlite_url)
    execute(sqlite_url, "UPDATE furthest_events SET value = 9 WHERE study = 1 AND seq = 5")
    damaged, sound = documents.listed(study._storage)["studies"]
    assert (damaged["name"], damaged["state"], damaged["arms"]) == ("a", "damaged", None)
    assert "event 5 of the log, or one before it, is not as it was written" in damaged["error"]
    assert (sound["name"], sound["state"], sound["error"]) == ("b", "running", None)
    assert damaged.keys() == sound.keys()


def test_a_log_without_its_chain_is_no_older_log(sqlite_url):
    study = measured(sqlite_url)
    bare = [event._replace(chain="") for event in study.events()]
    with pytest.raises(VerificationError, match="event 1 of the log"):
        verify("a", bare)
    assert verify("a", study.events()).chained_from == 1


def test_a_log_that_was_rolled_back_is_noticed_by_those_who_saw_more(url):
    """It ends earlier, or goes on differently; to everybody else it looks sound."""
    study = measured(url, 2)
    early = study.events()
    study.tell(study.ask(), 0.5)
    later = rechained([*early, *(event._replace(at=event.at + 1) for event in study.events()[5:])])
    calls = (study.ask, study.status, study.history, study.pending, study.failures, study.events)
    for log in (early, later, [*later, *rechained_from(later)]):
        replace_log(study, log)
        assert len(ft.Study.load("a", url).history()) == len([e for e in log if e.kind == "told"])
        for call in calls:
            with pytest.raises((StorageError, VerificationError), match=r"of the log"):
                call()
                pytest.fail(f"{call} noticed nothing")
    study.close()


def rechained_from(events):
    last = events[-1]
    return rechained([*events, Event(last.seq + 1, "asked", last.at, "x", 0)])[-1:]


def replace_log(study, events):
    """As a database that was restored from a copy would be."""
    with study._storage.transaction(write=True) as now:
        now.execute("DELETE FROM furthest_events WHERE study = ?", (study._key,))
        now.execute("UPDATE furthest_studies SET last = 0, head = '' WHERE key = ?", (study._key,))
    with study._storage.writing(study._key) as log:
        log.append(events)


def older(url, problem=TWO, version=2):
    """A study as furthest 0.3 left it, and its log."""
    memory = ft.Study.create("a", problem, 0.1, url.replace("studies", "newer"))
    run(memory, Lab(problem, TWO_MU if problem is TWO else [0.1, 0.2, 0.3]), most=40)
    created, *events = memory.events()
    settings = json.dumps(json.loads(created.data) | {"version": version})
    log = [event._replace(chain="") for event in [created._replace(data=settings), *events]]
    older_database(url, "a", log)
    return log


def test_looking_at_an_older_log_does_not_seal_it(sqlite_url):
    log = older(sqlite_url)
    study = ft.Study.load("a", sqlite_url)
    assert study.status().state == "stopped"
    assert study.events() == log
    assert (study.status().chained_from, study.certificate().chained_from) == (None, None)
    assert verify("a", log, study.certificate().to_dict()).chained_from is None


@pytest.mark.parametrize("problem", [TWO, ENDLESS], ids=["stopped", "running"])
def test_an_older_log_is_sealed_when_it_is_first_written_to(problem, sqlite_url):
    log = older(sqlite_url, problem)
    study = ft.Study.load("a", sqlite_url)
    before = study.certificate()
    study.add(0, 0.25, id="later")
    events = study.events()
    *_, sealed, added = events
    assert events[: len(log)] == log
    assert (sealed.kind, sealed.data) == ("sealed", sha256("\n".join(map(text, log))))
    assert added.chain == sha256(sealed.chain + text(added))
    assert study.status().chained_from == sealed.seq == len(log) + 1
    assert study.certificate() == before
    assert verify("a", events).chained_from == sealed.seq
    assert ft.Study.load("a", sqlite_url).events() == events
    # What came before the seal cannot be changed any more, either.
    for change, back in (("value = -value", "value = -value"), ("worker = 'x'", "worker = ''")):
        execute(sqlite_url, f"UPDATE furthest_events SET {change} WHERE seq = 3")
        with pytest.raises(VerificationError, match=f"event {sealed.seq} of the log"):
            ft.Study.load("a", sqlite_url)
        execute(sqlite_url, f"UPDATE furthest_events SET {back} WHERE seq = 3")
        ft.Study.load("a", sqlite_url)


def text(event):
    return json.dumps(event[:8])


def test_there_is_one_seal_and_only_in_older_logs(sqlite_url):
    study = measured(sqlite_url)
    events = study.events()
    extra = Event(len(events) + 1, "sealed", 0.0, data="")
    with pytest.raises(VerificationError, match="does not follow"):
        verify("a", rechained([*events, extra]))


def test_a_process_of_an_older_version_cannot_write_on(url):
    """It would leave events without a chain, and not move the end."""
    study = measured(url)
    with pytest.raises(FurthestError), study._storage.transaction(write=True) as now:
        now.execute(
            "INSERT INTO furthest_events (study, seq, kind, at, trial, arm, value, data, worker) "
            "VALUES (?, 14, 'added', 0.0, 'x', 0, 1.0, '', '')",
            (study._key,),
        )
    assert len(study.history()) == 6
    study.close()


def test_plain_options_have_a_chain_of_their_own(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    run(study, Lab(TWO, TWO_MU))
    events = study.as_options("b").events()
    assert rechained(events) == events
    assert STOPPED not in {event.kind for event in events}
