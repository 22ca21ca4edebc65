"""A pool of connections: nobody waits for one without need, and who comes first is served first."""

import threading

import pytest

import furthest as ft
from furthest.errors import StorageError
from furthest.study.pool import Pool
from furthest.study.storage import open_storage
from study.problems import ENDLESS
from study.test_storage import CREATED, SECOND, told


@pytest.fixture
def pool(url):
    made = Pool(url, 3)
    yield made
    made.close()


def test_a_lock_that_is_held_keeps_no_reader_waiting(pool):
    key = pool.create("a", CREATED)
    with pool.writing(key) as log:
        log.append([SECOND])
        assert pool.read(key) == [CREATED]
        assert pool.studies() == {"a": key}
    assert pool.read(key) == [CREATED, SECOND]


def test_writers_who_wait_leave_the_connections_to_others(pool):
    """Ten wait for three connections, and there is one to read with."""
    key = pool.create("a", CREATED)

    def write():
        with pool.writing(key) as log:
            log.append([told(log.read(0, "")[-1])])

    threads = [threading.Thread(target=write) for _ in range(10)]
    with pool.writing(key):
        for thread in threads:
            thread.start()
        wait_for(lambda: len(waiting(pool)) == 10)
        assert pool.read(key) == [CREATED]
    for thread in threads:
        thread.join()
    assert [event.seq for event in pool.read(key)] == list(range(1, 12))
    assert not pool._writers


def waiting(pool):
    (line,) = pool._writers.values()
    return line._waiting


def wait_for(condition):
    while not condition():
        threading.Event().wait(0.001)


def test_who_comes_first_is_served_first(pool):
    key = pool.create("a", CREATED)
    served, threads = [], []

    def write(number):
        with pool.writing(key):
            served.append(number)

    with pool.writing(key):
        for number in range(10):
            threads.append(threading.Thread(target=write, args=(number,)))
            threads[-1].start()
            wait_for(lambda number=number: len(waiting(pool)) == number + 1)
    for thread in threads:
        thread.join()
    assert served == list(range(10))


def test_who_waits_for_too_long_gives_up_and_nobody_else_does(pool):
    key = pool.create("a", CREATED)
    with pool.writing(key):
        message = "held the lock.*try again; nothing was written"
        with pytest.raises(StorageError, match=message), pool.writing(key, 0.01):
            pass
    with pool.writing(key, 0.01) as log:
        log.append([SECOND])
    assert pool.read(key) == [CREATED, SECOND]


def test_writers_of_another_study_wait_only_where_there_is_one_lock(pool, url):
    one, other = pool.create("a", CREATED), pool.create("b", CREATED)
    with pool.writing(one):
        if url.startswith("sqlite"):
            with pytest.raises(StorageError, match="held the lock"), pool.writing(other, 0.01):
                pass
        else:
            with pool.writing(other, 0.01) as log:
                log.append([SECOND])


def test_an_error_gives_the_connection_back(pool):
    key = pool.create("a", CREATED)
    for _ in range(5):
        with pytest.raises(RuntimeError, match="midway"), pool.writing(key):
            raise RuntimeError("midway")
        with pytest.raises(StorageError):
            pool.create("", CREATED, CREATED)
    assert len(pool._line._free) == 3


def test_it_is_a_storage_for_studies_of_many_threads(pool, url):
    ft.Study.create("a", ENDLESS, storage=pool)
    errors = []

    def work(number):
        try:
            study = ft.Study.load("a", pool)
            for _ in range(10):
                study.add(number % 3, 0.5)
        except Exception as error:  # noqa: BLE001
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    pool.close()
    alone = open_storage(url)
    assert len(ft.Study.load("a", alone).history()) == 60
    alone.close()
    assert len(ft.Study.load("a", pool).history()) == 60
