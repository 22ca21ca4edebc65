"""Many calls of one function on several processes."""

import multiprocessing
import os
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from typing import Any, TypeVar

from furthest.kernels import cache

T = TypeVar("T")


def spread(function: Callable[..., T], calls: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[T]:
    """function(*call) for every call, as they are finished; stopped at once when abandoned.

    After Ctrl-C what has been finished still comes, then the exception.
    """
    # A forked worker inherits the compiled code and a researcher's own rule from this process.
    method = "fork" if sys.platform == "linux" else "spawn"
    pool = ProcessPoolExecutor(
        min(jobs, len(calls)),
        multiprocessing.get_context(method),
        initializer=_begin,
        initargs=(os.getpid(),),
    )
    waiting: set[Future[T]] = set()
    try:
        with warnings.catch_warnings():
            # Python warns of any thread, even those of BLAS; ours hold no locks when we fork.
            warnings.filterwarnings("ignore", message=".*fork", category=DeprecationWarning)
            waiting.update(pool.submit(function, *call) for call in calls)
        while waiting:
            for future in wait(waiting, return_when=FIRST_COMPLETED).done:
                waiting.remove(future)
                yield future.result()
    except KeyboardInterrupt:
        finished = [each for each in waiting if each.done() and each.exception() is None]
        _stop(pool)
        yield from (future.result() for future in finished)
        raise
    except BaseException:  # abandoned, or a call has failed: nobody waits for the others
        _stop(pool)
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _stop(pool: ProcessPoolExecutor) -> None:
    """A worker may be hours from the end of its call; the pool has no public way to stop it."""
    for process in list(pool._processes.values()):
        process.terminate()


def _begin(parent: int) -> None:
    """Ctrl-C reaches all processes of a terminal: the parent alone handles it.

    The parent says who it is: a worker that asks may already have another one. What cannot be
    stored on disk, it has told before.
    """
    warnings.simplefilter("ignore", cache.CacheWarning)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    threading.Thread(target=_leave_with, args=(parent,), daemon=True).start()


def _leave_with(parent: int) -> None:
    """The pool's workers would wait for ever for a parent that was killed."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(1)
