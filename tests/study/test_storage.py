"""The contract of a storage, on SQLite and on a real PostgreSQL server."""

import threading
from typing import Any

import pytest

from furthest.errors import StorageError, StudyError, UnknownStudyError
from furthest.study.events import Event
from furthest.study.sql import SCHEMA_VERSION
from furthest.study.storage import open_storage

CREATED = Event(1, "created", 1794784240.517105, data='{"σ": "1"}', worker="host:1")


@pytest.fixture
def storage(url):
    place = open_storage(url)
    yield place
    place.close()


def told(seq, value=0.5, trial=None):
    return Event(seq, "told", 1.0 * seq, trial or f"t-{seq}", 0, value)


def impatient(url):
    place: Any = open_storage(url)
    place._patience = 0.2
    return place


def patient(url):
    """Waits for other writers as long as a busy machine needs."""
    place: Any = open_storage(url)
    place._patience = 3600.0
    return place


def test_what_is_written_is_read_back_exactly(storage):
    key = storage.create("a", CREATED)
    events = [
        Event(2, "asked", 0.1 + 0.2, "t-2", 3, worker="lab 3"),
        Event(3, "told", 1e9 / 7, "t-2", 3, -1e-300),
        Event(4, "failed", 5.0, "t-3", 0, None, 'broke\n"quoted" ü ε 🙂 \'; DROP TABLE x; -- %s ?'),
        Event(5, "added", 6.0, "mine", 0, 2**-1074, worker="ω"),
    ]
    with storage.writing(key) as log:
        assert log.read(0) == [CREATED]
        log.append(events)
        assert log.read(1) == events
    assert storage.read(key) == [CREATED, *events]
    assert storage.read(key, 3) == events[2:]
    assert storage.read(key, 5) == []
    assert all(isinstance(event, Event) for event in storage.read(key))


def test_a_log_can_begin_with_many_events(storage):
    asks = [Event(seq, "asked", 1.0, f"t-{seq}", 0, worker="me") for seq in range(2, 7)]
    key = storage.create("a", CREATED, *asks)
    assert storage.read(key) == [CREATED, *asks]
    storage.delete(key)
    with pytest.raises(UnknownStudyError, match="deleted"):
        storage.read(key)


def test_a_log_that_has_lost_its_end_is_noticed(storage):
    """A database was restored from yesterday under somebody who goes on working."""
    asks = [Event(seq, "asked", 1.0, f"t-{seq}", 0) for seq in range(2, 5)]
    key = storage.create("a", CREATED, *asks)
    assert storage.read(key, 4) == []
    with pytest.raises(StorageError, match="ends at event 4, but 5 were read before"):
        storage.read(key, 5)
    with storage.writing(key) as log, pytest.raises(StorageError, match="restored or replaced"):
        log.read(7)
    storage.delete(key)
    with pytest.raises(UnknownStudyError, match="deleted"):
        storage.read(key, 4)


def test_another_connection_sees_what_is_committed_and_nothing_else(storage, url):
    key = storage.create("a", CREATED)
    other = open_storage(url)
    with storage.writing(key) as log:
        log.append([told(2)])
        assert other.read(key) == [CREATED]
    assert other.read(key) == [CREATED, told(2)]
    assert other.studies() == {"a": key}
    other.close()


def test_an_error_undoes_the_whole_block(storage):
    key = storage.create("a", CREATED)
    with pytest.raises(RuntimeError, match="midway"), storage.writing(key) as log:
        log.append([told(2), told(3)])
        raise RuntimeError("midway")
    assert storage.read(key) == [CREATED]
    with storage.writing(key) as log:
        log.append([told(2, 0.7)])
    assert storage.read(key) == [CREATED, told(2, 0.7)]


def test_two_events_cannot_have_one_number(storage):
    key = storage.create("a", CREATED)
    with pytest.raises(StorageError), storage.writing(key) as log:
        log.append([told(2), told(2, 0.1)])
    assert storage.read(key) == [CREATED]


def test_names_are_unique(storage, url):
    key = storage.create("a", CREATED)
    with pytest.raises(StudyError, match="'a' already"):
        storage.create("a", CREATED._replace(data="other"))
    other = open_storage(url)
    with pytest.raises(StudyError, match="'a' already"):
        other.create("a", CREATED._replace(data="other"))
    other.close()
    assert storage.read(key) == [CREATED]
    assert storage.create("b", CREATED) != key
    assert list(storage.studies()) == ["a", "b"]


def test_studies_do_not_mix(storage):
    one, other = storage.create("a", CREATED), storage.create("b", CREATED)
    with storage.writing(one) as log:
        log.append([told(2)])
    with storage.writing(other) as log:
        log.append([told(2, 9.0)])
    assert storage.read(one, 1) == [told(2)]
    assert storage.read(other, 1) == [told(2, 9.0)]


def test_deleted_is_gone_and_its_key_is_never_used_again(storage):
    key = storage.create("a", CREATED)
    storage.delete(key)
    assert storage.studies() == {}
    with pytest.raises(UnknownStudyError, match="deleted"):
        storage.read(key)
    with pytest.raises(UnknownStudyError, match="deleted"), storage.writing(key):
        pass
    assert storage.create("a", CREATED) != key


def test_after_closing_the_next_call_opens_again(storage):
    key = storage.create("a", CREATED)
    storage.close()
    assert storage.read(key) == [CREATED]
    storage.close()
    with storage.writing(key) as log:
        log.append([told(2)])
    storage.close()
    storage.close()
    assert len(storage.read(key)) == 2


def test_writers_wait_for_each_other(storage, url):
    key = storage.create("a", CREATED)

    def write():
        own = patient(url)
        for _ in range(25):
            with own.writing(key) as log:
                last = log.read(0)[-1].seq
                log.append([told(last + 1), told(last + 2)])
        own.close()

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in storage.read(key)] == list(range(1, 202))


def test_threads_may_share_a_storage(storage):
    key = storage.create("a", CREATED)

    def write():
        for _ in range(25):
            with storage.writing(key) as log:
                log.append([told(log.read(0)[-1].seq + 1)])

    threads = [threading.Thread(target=write) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [event.seq for event in storage.read(key)] == list(range(1, 102))


def test_locked_for_too_long_is_an_error_and_a_retry_succeeds(storage, url):
    key = storage.create("a", CREATED)
    other = impatient(url)
    with storage.writing(key):
        message = r"lock.*try again.*nothing was written"
        with pytest.raises(StorageError, match=message), other.writing(key) as log:
            log.append([told(2)])
        assert other.read(key) == [CREATED]  # readers do not wait
    with other.writing(key) as log:
        log.append([told(2)])
    assert storage.read(key) == [CREATED, told(2)]
    other.close()


def test_many_open_an_empty_place_at_once(url):
    errors = []

    def create(number):
        try:
            place = patient(url)
            place.create(f"study {number}", CREATED)
            place.close()
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=create, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    place = open_storage(url)
    assert len(place.studies()) == 8
    place.close()


def test_a_newer_schema_is_refused(storage, url):
    storage.create("a", CREATED)
    with storage.transaction(write=True) as cursor:
        cursor.execute(f"UPDATE furthest_schema SET version = {SCHEMA_VERSION + 1}")
    other = open_storage(url)
    with pytest.raises(StorageError, match=r"newer furthest .* upgrade"):
        other.studies()


def test_the_first_schema_is_brought_up_to_date(storage, url, monkeypatch):
    """A database as version 1 wrote it: no column for workers."""
    from furthest.study import sql

    monkeypatch.setattr(sql, "SCHEMA_VERSION", 1)
    module = type(storage).__module__
    monkeypatch.setattr(f"{module}.SCHEMA_VERSION", 1)
    old: Any = open_storage(url)
    with old.transaction(write=True) as cursor:
        key = old.insert_study(cursor, "old")
        for event in (CREATED, told(2)):
            cursor.execute(
                "INSERT INTO furthest_events (study, seq, kind, at, trial, arm, value, data) "
                "VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (key, *event[:-1]),
            )
    old.close()
    monkeypatch.undo()
    assert storage.read(key) == [CREATED._replace(worker=""), told(2)]
    with storage.writing(key) as log:
        log.append([told(3)._replace(worker="me")])
    assert storage.read(key)[-1].worker == "me"
    with storage.transaction(write=False) as cursor:
        assert cursor.execute("SELECT version FROM furthest_schema").fetchall() == [
            (SCHEMA_VERSION,)
        ]


@pytest.mark.parametrize(
    "text", ["mysql://x/y", "furthest.db", "sqlite:///", "sqlite://", "", "postgresqlx://"]
)
def test_an_unknown_url_is_refused(text):
    with pytest.raises(StudyError, match="sqlite:///"):
        open_storage(text)
