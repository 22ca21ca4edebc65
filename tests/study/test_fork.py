"""Forks while threads are at work: a child never hangs, and nobody loses anything."""

import multiprocessing
import os
import signal
import threading
import traceback
from contextlib import contextmanager
from functools import partial

import pytest

import furthest as ft
from furthest.errors import StorageError
from furthest.study import turns
from study.problems import ENDLESS

pytestmark = [
    pytest.mark.skipif(not hasattr(os, "fork"), reason="there are no forks here"),
    pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning"),  # beside other threads
]

# For a child that hangs: far more seconds than it needs.
HANGS = 100


def fork(action):
    """Begin a child that does this."""
    child = os.fork()
    if not child:
        in_child(action)
    return child


def in_child(action):
    """Do this and end; a child must not go on with the tests."""
    signal.alarm(HANGS)
    code = 1
    try:
        action()
        code = 0
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
    finally:
        os._exit(code)


def ended_well(child):
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@contextmanager
def another_thread(work):
    """Does something again and again."""
    done = threading.Event()
    failures = []

    def go_on():
        try:
            while not done.is_set():
                work()
        except Exception as error:  # noqa: BLE001
            failures.append(error)

    thread = threading.Thread(target=go_on)
    thread.start()
    yield
    done.set()
    thread.join()
    assert failures == []


@pytest.fixture(params=["sqlite", "postgres", "http"])
def url(request):
    """An empty place of each kind."""
    return request.getfixturevalue(f"{request.param}_url")


@pytest.fixture
def study(url):
    made = ft.Study.create("a", ENDLESS, storage=url)
    made.ask()
    made.status()
    yield made
    made.close()


@pytest.mark.parametrize("work", [lambda study: study.add(0, 0.5), lambda study: study.status()])
def test_children_of_a_process_whose_threads_are_at_work(study, url, work):
    def ask_and_tell():
        for _ in range(3):
            study.tell(study.ask(), 0.25)

    with another_thread(lambda: work(study)):
        children = [fork(ask_and_tell) for _ in range(15)]
        study.add(1, 0.75)
        assert [ended_well(child) for child in children] == [True] * 15
    again = ft.Study.load("a", url)
    values = [each.value for each in again.history()]
    assert values.count(0.25) == 45
    assert values.count(0.75) == 1
    assert study.history() == again.history()
    again.close()


def test_what_a_child_writes_stays_when_its_parent_lets_go(study, url):
    """The last connection that is closed clears away SQLite's log: a child's must be known."""
    written, go_on = os.pipe(), os.pipe()

    def write():
        study.add(0, 0.25)
        os.write(written[1], b".")
        os.read(go_on[0], 1)
        study.add(0, 0.75)  # the child ends without closing anything

    study.add(0, 0.5)
    child = fork(write)
    os.read(written[0], 1)
    study.add(1, 0.5)
    study.close()
    os.write(go_on[1], b".")
    assert ended_well(child)
    assert [each.value for each in ft.Study.load("a", url).history()] == [0.5, 0.25, 0.5, 0.75]
    for end in (*written, *go_on):
        os.close(end)


def test_a_process_of_multiprocessing(study):
    own = multiprocessing.get_context("fork").Process(target=study.add, args=(0, 0.25))
    with another_thread(lambda: study.add(1, 0.5)):
        own.start()
        own.join(HANGS)
        own.kill()
        own.join()
    assert own.exitcode == 0
    assert [each.value for each in study.history()].count(0.25) == 1


def test_a_fork_within_a_transaction(study, url):
    """It stays the parent's: the child neither ends it nor takes part in it."""
    child = -1
    try:
        with study._writing() as new:
            new.append(study._event("added", "x", 0, 0.25))
            child = os.fork()
    except StorageError as error:
        if child:
            raise
        in_child(partial(check_refused, str(error), study, url))
    if not child:
        os._exit(1)
    assert ended_well(child)
    study.add(0, 0.5)
    assert [each.value for each in ft.Study.load("a", url).history()] == [0.25, 0.5]


def check_refused(message, study, url):
    middle = "forked in the middle of"
    assert middle in message
    with pytest.raises(StorageError, match=middle):
        study.add(0, 0.75)
    study.close()
    if url.startswith("sqlite"):
        # SQLite takes the locks of the parent for the child's own.
        with pytest.raises(StorageError, match=middle):
            ft.Study.load("a", url)
    else:
        ft.Study.load("a", url).history()


def test_a_fork_does_not_wait_for_ever(study, url, monkeypatch):
    """A thread that does not come to an end, and a child that cannot use its study."""
    monkeypatch.setattr(turns, "FORK_SECONDS", 0.1)
    begun, go_on = threading.Event(), threading.Event()

    def take_long():
        with study._writing() as new:
            new.append(study._event("added", "x", 0, 0.25))
            begun.set()
            go_on.wait()

    thread = threading.Thread(target=take_long)
    thread.start()
    begun.wait()

    def use():
        with pytest.raises(StorageError, match="forked in the middle of its parent's work: load"):
            study.add(0, 0.75)
        study.close()

    assert ended_well(fork(use))
    go_on.set()
    thread.join()
    study.add(0, 0.5)
    assert [each.value for each in ft.Study.load("a", url).history()] == [0.25, 0.5]
