import concurrent.futures
import multiprocessing
import os
import pickle
import signal
import threading
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from functools import partial
from types import SimpleNamespace

import pytest

from furthest import __version__, errors, workers

WORKER = SimpleNamespace(address="tcp://somewhere")  # the last that was lost
FORK = multiprocessing.get_context("fork")
CALLS = [(number, 2) for number in range(9)]
SQUARES = {number: number**2 for number in range(9)}


def processes():
    return ProcessPoolExecutor(2, FORK)


@pytest.fixture(params=["alone", "own", "threads", "processes"])
def means(request):
    """What makes the calls."""
    if request.param in {"alone", "own"}:
        yield {"jobs": 1 + (request.param == "own")}
        return
    with ThreadPoolExecutor(2) if request.param == "threads" else processes() as pool:
        yield {"executor": pool}


def test_every_call_is_answered(means):
    found, told = {}, []
    workers.spread(pow, CALLS, found.__setitem__, told=told.append, **means)
    assert found == SQUARES
    assert sorted(told) == list(range(9))


@pytest.mark.parametrize("means", ["own", "threads", "processes"], indirect=True)
def test_an_interruption_keeps_what_was_finished(means, monkeypatch):
    """Ctrl-C comes when all is done but nothing has been handed over."""

    def interrupted(futures):
        concurrent.futures.wait(futures)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "as_completed", interrupted)
    found, told = {}, []
    with pytest.raises(KeyboardInterrupt):
        workers.spread(pow, CALLS, found.__setitem__, told=told.append, **means)
    assert found == SQUARES
    assert told == []


@pytest.mark.parametrize("where", ["keep", "told"])
def test_wherever_it_comes_nothing_is_lost(means, where):
    """Ctrl-C comes while a result is being put away, or somebody hears of it."""
    found, heard = {}, []

    def interrupt():
        if len(heard) == 1:
            raise KeyboardInterrupt

    def keep(number, result):
        if where == "keep":
            heard.append(number)
            interrupt()
        found[number] = result

    def told(number):
        if where == "told":
            heard.append(number)
            interrupt()

    with pytest.raises(KeyboardInterrupt):
        workers.spread(pow, CALLS, keep, told=told, **means)
    assert found.items() <= SQUARES.items()
    alone = means == {"jobs": 1}
    assert heard[0] in found or (alone and where == "keep")
    if "executor" in means:  # it is not ours to shut down
        assert means["executor"].submit(pow, 3, 2).result() == 9


def waiting(pool, count):
    """As `as_completed`, but Ctrl-C comes when so many calls are finished."""

    def interrupted(futures):
        while sum(future.done() for future in futures) < count:
            concurrent.futures.wait(futures, timeout=0.01)
        raise KeyboardInterrupt

    return interrupted


def test_an_interruption_does_not_wait_for_the_rest(monkeypatch):
    """One call fails and one never ends: neither is kept, nobody waits."""
    never, _ = os.pipe()
    monkeypatch.setattr(workers, "as_completed", waiting(None, 4))
    found = {}
    calls = [(1,), (0,), (2,), (4,), (None, never)]
    with pytest.raises(KeyboardInterrupt):
        workers.spread(inverse, calls, found.__setitem__, jobs=2)
    assert found == {0: 1.0, 2: 0.5, 3: 0.25}


def test_an_executor_is_given_up_without_waiting_either(monkeypatch):
    """What it has begun goes on, what it has not is cancelled."""
    monkeypatch.setattr(workers, "as_completed", waiting(None, 1))
    found, begun, free = {}, [], threading.Event()

    def wait(number):
        begun.append(number)
        return number if number == 0 else free.wait()

    with ThreadPoolExecutor(1) as pool:
        with pytest.raises(KeyboardInterrupt):
            workers.spread(wait, [(0,), (1,), (2,), (3,)], found.__setitem__, executor=pool)
        free.set()
    assert found == {0: 0}
    assert begun in ([0], [0, 1])


def test_a_failure_does_not_wait_for_the_rest():
    """One call fails and one never ends."""
    never, _ = os.pipe()
    with pytest.raises(ZeroDivisionError):
        workers.spread(inverse, [(None, never), (0,)], {}.__setitem__, jobs=2)


def inverse(number, never=None):
    return os.read(never, 1) if number is None else 1 / number


def test_the_calls_of_a_lost_worker_are_made_again(tmp_path):
    """Each of two calls kills its worker the first time that it is made."""
    found, told = {}, []
    calls = [(tmp_path / f"{number}", number in {3, 6}) for number in range(9)]
    workers.spread(mortal, calls, found.__setitem__, jobs=2, told=told.append)
    assert found == {number: f"{number}" for number in range(9)}
    assert sorted(told) == list(range(9))


def mortal(path, dies):
    if dies and not path.exists():
        path.touch()
        os.kill(os.getpid(), signal.SIGKILL)
    return path.name


def test_a_call_that_kills_every_worker_is_an_error_in_the_end():
    found = {}
    with pytest.raises(errors.WorkersError, match="a worker process has died"):
        workers.spread(deadly, [(number,) for number in range(6)], found.__setitem__, jobs=2)
    assert found.items() <= {(number, number) for number in range(6) if number != 4}


def test_a_broken_pool_of_the_callers_keeps_what_is_finished():
    found = {}
    with processes() as pool:
        with pytest.raises(errors.WorkersError, match="a worker process has died, killed or out"):
            workers.spread(deadly, [(4,)], found.__setitem__, executor=pool)
        with pytest.raises(errors.WorkersError, match="9 chunks of work left"):
            workers.spread(pow, CALLS, found.__setitem__, executor=pool)
    assert found == {}


def deadly(number):
    if number == 4:
        os.kill(os.getpid(), signal.SIGKILL)
    return number


def test_so_does_a_cluster_that_gives_up():
    scheduler = pytest.importorskip("distributed.scheduler")

    class Cluster(concurrent.futures.Executor):
        def submit(self, function, /, *call, **named):
            future = concurrent.futures.Future()
            future.set_exception(scheduler.KilledWorker("chunk", WORKER, 3))
            return future

    with pytest.raises(errors.WorkersError, match="given up: Attempted to run task 'chunk' on 4"):
        workers.spread(pow, CALLS, {}.__setitem__, executor=Cluster())


def test_what_cannot_be_sent_is_refused_at_once():
    def locked(number, lock):
        return number

    with (
        processes() as pool,
        pytest.raises(errors.InputError, match=r"cannot be sent .* as in Strategy\('my_lab"),
    ):
        workers.spread(
            partial(locked, lock=threading.Lock()), [(1,)], {}.__setitem__, executor=pool
        )
    # Processes of our own inherit it.
    found = {}
    workers.spread(partial(locked, lock=threading.Lock()), [(1,)], found.__setitem__, jobs=2)
    assert found == {0: 1}


def test_what_a_script_defines_goes_by_its_code():
    pytest.importorskip("cloudpickle")
    names = {"__name__": "__main__"}
    exec("def twice(number): return 2 * number", names)
    found = {}
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        workers.spread(names["twice"], [(4,)], found.__setitem__, executor=pool)
    assert found == {0: 8}


def test_a_worker_says_what_it_cannot_find():
    missing = pickle.dumps(mortal).replace(b"mortal", b"absent")
    with pytest.raises(errors.WorkersError, match=r"cannot find .*absent.*: own rules"):
        workers._answer(__version__, missing, 1)


def test_a_worker_with_another_version_refuses():
    with pytest.raises(errors.WorkersError, match=r"was sent work by furthest 0\.0\.1"):
        workers._answer("0.0.1", pickle.dumps(pow), 2, 3)


def test_chunks_are_a_few_for_every_worker():
    assert workers.spans(range(3, 10), 3) == [(3, 6), (6, 9), (9, 10)]
    assert workers.fair(1000, 1, None) == 1
    assert workers.fair(1000, 4, None) == 31
    with ThreadPoolExecutor(5) as pool:
        assert workers.width(1, pool) == 5
    assert workers.width(1, concurrent.futures.Executor()) == workers.MANY
    with pytest.raises(errors.InputError, match="leave out jobs"):
        workers.check_workers(2, concurrent.futures.Executor())


def test_an_address_of_nobody_is_one_sentence(monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(workers, "PATIENCE", 0.1)
    with pytest.raises(errors.WorkersError, match="no Dask scheduler answers at tcp://127"):
        workers.cluster("tcp://127.0.0.1:1").__enter__()
    with pytest.raises(errors.InputError, match="no address of a Dask scheduler"):
        workers.cluster("nonsense://x").__enter__()
