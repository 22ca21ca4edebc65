"""Many calls of one function, here, on several processes, or on somebody's executor."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import (
    BrokenExecutor,
    CancelledError,
    Executor,
    Future,
    ProcessPoolExecutor,
    ThreadPoolExecutor,
    as_completed,
)
from contextlib import contextmanager
from functools import lru_cache, partial
from typing import Any, TypeVar

from furthest import __version__
from furthest.errors import InputError, MissingExtraError, WorkersError
from furthest.kernels import cache

T = TypeVar("T")

# Of an executor that does not say how many workers it has.
MANY = 16

# Seconds within which a scheduler answers.
PATIENCE = 10

OWN_RULES = (
    "own rules and tests must be in a module that can be imported there, and are named by their "
    "place, as in Strategy('my_lab.rules:TOP_TWO')"
)


def _nobody(_: int) -> None:
    pass


def spread(
    function: Callable[..., T],
    calls: Sequence[tuple[Any, ...]],
    keep: Callable[[int, T], None],
    *,
    jobs: int = 1,
    executor: Executor | None = None,
    told: Callable[[int], None] = _nobody,
) -> None:
    """function(*call) for every call: each result is kept under the call's number, then told.

    Whatever ends it early, what is finished by then is kept first, some of it perhaps twice. Calls
    on processes of our own whose worker dies are made again, as long as others get finished;
    an executor is its owner's, who looks after its workers and shuts it down.
    """
    left = dict(enumerate(calls))
    if executor is not None:
        try:
            _make(_sender(executor, function), left, keep, told, lent=True)
        except BrokenExecutor as error:
            raise _lost(error, left) from error
    elif jobs > 1:
        _make_on_own(function, left, keep, told, jobs)
    else:
        for number, call in left.items():
            keep(number, function(*call))
            told(number)


def spans(numbers: range, size: int) -> list[tuple[int, int]]:
    """(first, last + 1) of chunks of that size."""
    return [(first, min(first + size, numbers.stop)) for first in numbers[::size]]


def fair(calls: int, jobs: int, executor: Executor | None) -> int:
    """The size of chunks of which every worker gets a few, so that none idles for long."""
    if executor is None and jobs == 1:
        return 1
    return max(1, calls // (8 * width(jobs, executor)))


def width(jobs: int, executor: Executor | None) -> int:
    """How many calls are made side by side; a guess where an executor does not say."""
    if executor is None:
        return jobs
    client: Any = getattr(executor, "_client", None)  # of Dask
    if hasattr(client, "ncores"):
        return max(1, int(sum(client.ncores().values())))
    return int(getattr(executor, "_max_workers", MANY))


def check_workers(jobs: int, executor: Executor | None) -> None:
    """Either so many processes, or an executor."""
    if jobs < 1:
        raise InputError(f"jobs must be at least 1, not {jobs}")
    if executor is not None and jobs > 1:
        raise InputError("an executor has workers of its own: leave out jobs")


@contextmanager
def cluster(address: str) -> Iterator[Executor]:
    """The workers of a Dask cluster, by the address of its scheduler (extra: dask)."""
    try:
        from distributed import Client
    except ImportError:
        raise MissingExtraError("distributed", "dask") from None
    try:
        client = Client(address, timeout=PATIENCE, set_as_default=False)
    except ValueError as error:
        raise InputError(f"{address!r} is no address of a Dask scheduler: {error}") from None
    except OSError as error:
        raise WorkersError(f"no Dask scheduler answers at {address}: {error}") from None
    with client:
        yield client.get_executor()


def _make(
    submit: Callable[..., Future[T]],
    left: dict[int, tuple[Any, ...]],
    keep: Callable[[int, T], None],
    told: Callable[[int], None],
    *,
    lent: bool = False,
) -> None:
    """All calls of `left`, from which those that are finished are removed.

    Where workers are `lent`, what was not made is taken back. Our own end with their pool, and
    Python 3.11 stumbles over a call that was taken back while it notices that they are gone.
    """
    futures: dict[Future[T], int] = {}

    def take(future: Future[T]) -> int:
        number = futures[future]
        keep(number, _result(future))
        left.pop(number, None)
        del futures[future]
        return number

    try:
        for number, call in left.items():
            futures[submit(*call)] = number
        for future in as_completed(list(futures)):
            told(take(future))
    except BaseException as error:
        for future in [each for each in futures if _has_result(each)]:
            number = take(future)
            if isinstance(error, BrokenExecutor):  # it may go on elsewhere
                told(number)
        raise
    finally:
        for future in futures if lent else ():
            future.cancel()


def _has_result(future: Future[Any]) -> bool:
    return future.done() and not future.cancelled() and future.exception() is None


def _result(future: Future[T]) -> T:
    """What the call has returned, or raised; a cluster has errors of its own."""
    try:
        return future.result()
    except CancelledError:
        raise WorkersError("the executor has given up its calls: is it still there?") from None
    except Exception as error:
        if type(error).__module__.partition(".")[0] == "distributed":
            raise WorkersError(f"the cluster has given up: {error}") from error
        raise


def _lost(error: BrokenExecutor, left: dict[int, Any]) -> WorkersError:
    return WorkersError(
        f"a worker process has died, killed or out of memory, with {len(left)} chunks of work left "
        f"to do ({error})"
    )


# Calls on an executor of somebody else's.


def _sender(executor: Executor, function: Callable[..., T]) -> Callable[..., Future[T]]:
    """What makes a call there. The function goes along with each, as the same bytes."""
    if isinstance(executor, ThreadPoolExecutor):
        return partial(executor.submit, function)
    return partial(executor.submit, _answer, __version__, _packed(function))


def _packed(function: Callable[..., Any]) -> bytes:
    """A function and what it holds; what is defined in a script or notebook goes by its code."""
    packed, reason = _pickled(pickle, function)
    if packed is None or b"__main__" in packed:
        try:
            import cloudpickle
        except ImportError:
            pass
        else:
            packed, reason = _pickled(cloudpickle, function)
    if packed is None:
        raise InputError(f"this cannot be sent to workers ({reason}): {OWN_RULES}")
    return packed


def _pickled(how: Any, function: Callable[..., Any]) -> tuple[bytes | None, Exception | None]:
    """The bytes, or what is in their way."""
    try:
        return how.dumps(function), None
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        return None, error


def _answer(version: str, packed: bytes, *call: Any) -> Any:
    """Make a call, over there."""
    if version != __version__:
        raise WorkersError(
            f"a worker has furthest {__version__}, but was sent work by furthest {version}: "
            "results are the same only if everybody has the same"
        )
    return _unpacked(packed)(*call)


@lru_cache(maxsize=4)  # what is compiled for own rules serves all chunks
def _unpacked(packed: bytes) -> Callable[..., Any]:
    try:
        return pickle.loads(packed)  # type: ignore[no-any-return]  # noqa: S301  # it is our own
    except (ImportError, AttributeError) as error:
        raise WorkersError(f"a worker cannot find all it needs ({error}): {OWN_RULES}") from None


# Calls on processes of our own.


def _make_on_own(
    function: Callable[..., T],
    left: dict[int, tuple[Any, ...]],
    keep: Callable[[int, T], None],
    told: Callable[[int], None],
    jobs: int,
) -> None:
    """As long as something gets finished, a pool that has lost a worker is replaced."""
    while left:
        before = len(left)
        try:
            with _pool(function, min(jobs, before)) as submit:
                _make(submit, left, keep, told)
        except BrokenExecutor as error:
            if len(left) == before:
                raise _lost(error, left) from error


@contextmanager
def _pool(function: Callable[..., T], jobs: int) -> Iterator[Callable[..., Future[T]]]:
    # A forked worker inherits the compiled code, the function and all that it holds.
    method = "fork" if sys.platform == "linux" else "spawn"
    pool = ProcessPoolExecutor(
        jobs,
        multiprocessing.get_context(method),
        initializer=_begin,
        initargs=(os.getpid(), function),
    )

    def submit(*call: Any) -> Future[T]:
        with warnings.catch_warnings():
            # Python warns of any thread, even those of BLAS; ours hold no locks when we fork.
            warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
            return pool.submit(_call, *call)

    try:
        yield submit
    except BaseException:  # interrupted, or a call has failed: nobody waits for the others
        _stop(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _stop(pool: ProcessPoolExecutor) -> None:
    """A worker may be hours from the end of its call; the pool has no public way to stop it."""
    for process in list(pool._processes.values()):
        process.terminate()


_inherited: Callable[..., Any]


def _call(*call: Any) -> Any:
    return _inherited(*call)


def _begin(parent: int, function: Callable[..., Any]) -> None:
    """Ctrl-C reaches all processes of a terminal: the parent alone handles it.

    The parent says who it is: a worker that asks may already have another one. What cannot be
    stored on disk, it has told before.
    """
    global _inherited  # noqa: PLW0603  # a worker has one function for all of its life
    _inherited = function
    warnings.simplefilter("ignore", cache.CacheWarning)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    """The pool's workers would wait for ever for a parent that was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
