"""The contract of a storage: on SQLite, on PostgreSQL, and on a server of ours with either."""

import sqlite3
import threading
from contextlib import closing, contextmanager
from typing import Any

import pytest

from furthest.errors import StorageError, StudyError, UnknownStudyError, VerificationError
from furthest.study.chain import chained
from furthest.study.events import Event
from furthest.study.sql import LONG_TEXT, SCHEMA_VERSION, STEPS
from furthest.study.storage import open_storage

(CREATED,) = chained([Event(1, "created", 1794784240.517105, data='{"σ": "1"}', worker="host:1")])
(OTHER,) = chained([CREATED._replace(data="other")])


@pytest.fixture(params=["sqlite", "postgres", "http", "http_postgres"])
def url(request):
    """An empty place of each kind."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def database(url, request):
    """The database at a place, or behind the server there."""
    kind = request.node.callspec.params["url"]
    services = {"http": "service", "http_postgres": "postgres_service"}
    return request.getfixturevalue(services[kind]).behind(url) if kind in services else url


@pytest.fixture
def storage(url):
    place = open_storage(url)
    yield place
    place.close()


def told(last, value=0.5):
    """The event after another one."""
    event = Event(last.seq + 1, "told", 1.0 * last.seq, f"t-{last.seq}", 0, value)
    return chained([event], last.chain)[0]


def asks(count):
    """A log of so many events after its creation."""
    events = [Event(seq, "asked", 1.0, f"t-{seq}", 0, worker="me") for seq in range(2, count + 2)]
    return chained(events, CREATED.chain)


SECOND = told(CREATED)


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
    news = [
        Event(2, "asked", 0.1 + 0.2, "t-2", 3, worker="lab 3"),
        Event(3, "told", 1e9 / 7, "t-2", 3, -1e-300),
        Event(4, "failed", 5.0, "t-3", 0, None, 'broke\n"quoted" ü ε 🙂 \'; DROP TABLE x; -- %s ?'),
        Event(5, "added", 6.0, "mine", 0, 2**-1074, worker="ω"),
    ]
    events = chained(news, CREATED.chain)
    with storage.writing(key) as log:
        assert log.read(0, "") == [CREATED]
        log.append(events)
        assert log.read(1, CREATED.chain) == events
    assert storage.read(key) == [CREATED, *events]
    assert storage.read(key, 3, events[1].chain) == events[2:]
    assert storage.read(key, 5, events[-1].chain) == []
    assert all(isinstance(event, Event) for event in storage.read(key))


def test_a_log_can_begin_with_many_events(storage):
    key = storage.create("a", CREATED, *asks(5))
    assert storage.read(key) == [CREATED, *asks(5)]
    storage.delete(key)
    with pytest.raises(UnknownStudyError, match="deleted"):
        storage.read(key)


def test_a_log_can_be_read_in_parts(storage):
    events = [CREATED, *asks(5)]
    key = storage.create("a", *events)
    assert storage.read(key, most=4) == events[:4]
    assert storage.read(key, 4, events[3].chain, most=4) == events[4:]
    assert storage.read(key, most=6) == events
    assert storage.read(key, 6, events[5].chain, most=4) == []
    with storage.writing(key) as log:
        assert log.read(1, CREATED.chain, most=2) == events[1:3]
    with pytest.raises(VerificationError, match="replaced by another"):
        storage.read(key, 6, "another", most=4)


def test_a_log_that_has_lost_its_end_is_noticed(storage):
    """A database was restored from yesterday under somebody who goes on working."""
    events = asks(4)
    key = storage.create("a", CREATED, *events[:3])
    assert storage.read(key, 4, events[2].chain) == []
    with pytest.raises(VerificationError, match="event 5 is not the end of the log, which has 4"):
        storage.read(key, 5, events[3].chain)
    with storage.writing(key) as log, pytest.raises(VerificationError, match="replaced by another"):
        log.read(5, events[3].chain)
    storage.delete(key)
    with pytest.raises(UnknownStudyError, match="deleted"):
        storage.read(key, 4, events[2].chain)


def test_a_log_that_goes_on_differently_is_noticed(storage):
    """As long as before, or longer, but others have written it."""
    key = storage.create("a", CREATED, SECOND)
    with pytest.raises(VerificationError, match="replaced by another"):
        storage.read(key, 2, told(CREATED, 0.75).chain)


def test_what_does_not_come_next_is_not_written(storage):
    key = storage.create("a", CREATED)
    refused = pytest.raises(StorageError, match="event 3 is not the next one; nothing was written")
    with refused, storage.writing(key) as log:
        log.append([told(SECOND)])
    assert storage.read(key) == [CREATED]


def test_another_connection_sees_what_is_committed_and_nothing_else(storage, url):
    key = storage.create("a", CREATED)
    other = open_storage(url)
    with storage.writing(key) as log:
        log.append([SECOND])
        assert other.read(key) == [CREATED]
    assert other.read(key) == [CREATED, SECOND]
    assert other.studies() == {"a": key}
    other.close()


def test_an_error_undoes_the_whole_block(storage):
    key = storage.create("a", CREATED)
    with pytest.raises(RuntimeError, match="midway"), storage.writing(key) as log:
        log.append([SECOND, told(SECOND)])
        raise RuntimeError("midway")
    assert storage.read(key) == [CREATED]
    with storage.writing(key) as log:
        log.append([told(CREATED, 0.7)])
    assert storage.read(key) == [CREATED, told(CREATED, 0.7)]


def test_two_events_cannot_have_one_number(storage):
    key = storage.create("a", CREATED)
    with pytest.raises(StorageError), storage.writing(key) as log:
        log.append([SECOND, told(CREATED, 0.1)])
    assert storage.read(key) == [CREATED]


def test_names_are_unique(storage, url):
    key = storage.create("a", CREATED)
    with pytest.raises(StudyError, match="'a' already"):
        storage.create("a", OTHER)
    other = open_storage(url)
    with pytest.raises(StudyError, match="'a' already"):
        other.create("a", OTHER)
    other.close()
    assert storage.read(key) == [CREATED]
    assert storage.create("b", CREATED) != key
    assert list(storage.studies()) == ["a", "b"]


def test_studies_do_not_mix(storage):
    one, other = storage.create("a", CREATED), storage.create("b", CREATED)
    with storage.writing(one) as log:
        log.append([SECOND])
    with storage.writing(other) as log:
        log.append([told(CREATED, 9.0)])
    assert storage.read(one, 1, CREATED.chain) == [SECOND]
    assert storage.read(other, 1, CREATED.chain) == [told(CREATED, 9.0)]


def test_deleted_is_gone_and_its_key_is_never_used_again(storage):
    key = storage.create("a", CREATED)
    storage.delete(key)
    assert storage.studies() == {}
    with pytest.raises(UnknownStudyError, match="deleted"):
        storage.read(key)
    with pytest.raises(UnknownStudyError, match="deleted"), storage.writing(key) as log:
        log.read(1, CREATED.chain)
    assert storage.create("a", CREATED) != key


def test_after_closing_the_next_call_opens_again(storage):
    key = storage.create("a", CREATED)
    storage.close()
    assert storage.read(key) == [CREATED]
    storage.close()
    with storage.writing(key) as log:
        log.append([SECOND])
    storage.close()
    storage.close()
    assert len(storage.read(key)) == 2


def test_writers_wait_for_each_other(storage, url):
    key = storage.create("a", CREATED)

    def write():
        own = patient(url)
        for _ in range(25):
            with own.writing(key) as log:
                next_one = told(log.read(0, "")[-1])
                log.append([next_one, told(next_one)])
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
                log.append([told(log.read(0, "")[-1])])

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
            log.append([SECOND])
        assert other.read(key) == [CREATED]  # readers do not wait
    with other.writing(key) as log:
        log.append([SECOND])
    assert storage.read(key) == [CREATED, SECOND]
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


def test_a_newer_schema_is_refused_whatever_is_done(storage, url, database):
    key = storage.create("a", CREATED)
    others = [open_storage(url), storage]  # one that opens it now, and one that has it open
    with without_furthest(database) as execute:
        execute(f"UPDATE furthest_schema SET version = {SCHEMA_VERSION + 1}")
    for other in others:
        with pytest.raises(StorageError, match=r"newer furthest .* upgrade"):
            other.studies()
        with pytest.raises(StorageError, match=r"newer furthest .* upgrade"):
            other.create("b", CREATED)
        with pytest.raises(StorageError, match=r"newer furthest .* upgrade"), other.writing(key):
            pass
        other.close()


def schema_of(database):
    place: Any = open_storage(database)
    with place.transaction(write=False) as now:
        schema = now.schema
    place.close()
    return schema


@contextmanager
def without_furthest(database):
    """How to execute SQL at the same place."""
    if database.startswith("sqlite"):
        with (
            closing(sqlite3.connect(database.removeprefix("sqlite:///"))) as connection,
            connection,
        ):
            yield connection.execute
    else:
        import psycopg

        with psycopg.connect(database) as own:
            yield lambda query, values=(): own.execute(query.replace("?", "%s").encode(), values)


def first_schema(database, *events):
    """A database as version 1 wrote it: no column for workers, none for chains."""
    place: Any = open_storage(database)
    with without_furthest(database) as execute:
        for statement in STEPS[0]:
            execute(statement.format(**place.words))
        execute("UPDATE furthest_schema SET version = 1")
        execute("INSERT INTO furthest_studies (name) VALUES ('old')")
        for event in events:
            execute(
                "INSERT INTO furthest_events (study, seq, kind, at, trial, arm, value, data) "
                "VALUES (1, ?, ?, ?, ?, ?, ?, ?)",
                event[:-2],
            )


def test_the_first_schema_is_read_as_it_is_and_brought_up_to_date_by_a_writer(storage, database):
    old = [event._replace(worker="", chain="") for event in (CREATED, SECOND)]
    first_schema(database, *old)
    assert storage.studies() == {"old": 1}
    assert storage.read(1) == old
    assert schema_of(database) == 1
    with storage.writing(1) as log:
        *before, seal = log.read(0, "")
        assert before == old
        assert (seal.seq, seal.kind) == (3, "sealed")
        log.append(chained([told(seal)._replace(worker="me")], seal.chain))
    assert schema_of(database) == SCHEMA_VERSION
    assert storage.read(1)[:3] == [*old, seal]
    assert storage.read(1)[-1].worker == "me"


def test_a_writer_that_fails_may_try_again_on_an_older_schema(storage, database):
    old = [event._replace(worker="", chain="") for event in (CREATED, SECOND)]
    first_schema(database, *old)
    with pytest.raises(RuntimeError, match="midway"), storage.writing(1):
        raise RuntimeError("midway")
    assert storage.read(1)[:2] == old
    with storage.writing(1) as log:
        log.append([told(log.read(0, "")[-1])])
    assert len(storage.read(1)) == 4


def test_looking_at_an_empty_place_leaves_it_empty(storage, database):
    assert storage.studies() == {}
    with pytest.raises(UnknownStudyError, match="deleted"):
        storage.read(1)
    assert schema_of(database) == 0


@pytest.mark.parametrize(
    "text", ["mysql://x/y", "furthest.db", "sqlite:///", "sqlite://", "", "postgresqlx://"]
)
def test_an_unknown_url_is_refused(text):
    with pytest.raises(StudyError, match="sqlite:///"):
        open_storage(text)


@pytest.mark.parametrize("length", [LONG_TEXT, LONG_TEXT + 1, 3 * LONG_TEXT + 5])
def test_a_text_of_any_length_comes_back(storage, length):
    """A long one is in parts, which nobody sees; two studies do not share them."""
    texts = [f'{{"{mark}": "{mark * (length - 9)}"}}' for mark in "ab"]
    keys = {}
    for name, text in zip("ab", texts, strict=True):
        (created,) = chained([CREATED._replace(data=text)])
        second = told(created)
        keys[name] = storage.create(name, created, second)
        third = told(second)
        with storage.writing(keys[name]) as log:
            assert log.read(2, second.chain) == []
            log.append([third])
        assert storage.read(keys[name]) == [created, second, third]
        assert storage.read(keys[name], most=1) == [created]
        assert storage.read(keys[name], 1, created.chain) == [second, third]
    storage.delete(keys["a"])
    assert storage.read(keys["b"])[0].data == texts[1]
