"""A storm of kill −9 over several workers; prints what came of it as JSON.

    python storm.py URL FOLDER KILLS WORKERS

The workers are forked from this process, which has loaded the compiled code, so that a new one is
at work within milliseconds. Each acknowledged result is written to the worker's file by one system
call after `tell` or `add` has returned. Between two kills at least one result is acknowledged,
however slow the machine is.
"""

import json
import os
import random
import signal
import sys
import time
import warnings
from pathlib import Path

import numpy as np

import furthest as ft
from furthest.errors import StorageError

ENDLESS = ft.Problem(np.eye(3), eps=1e-6)


def value_of(trial: str) -> float:
    """Every trial has one value, whoever measures it."""
    return random.Random(trial).gauss(0, 1)


def work(url: str, path: Path, number: int, progress: int) -> None:
    """Ask, tell, acknowledge, for ever; each acknowledgement is a byte of progress, too."""
    file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    study = ft.Study.load("storm", url)
    rng = random.Random(number)
    for count in range(10**9):
        try:
            if rng.random() < 0.2:
                trial = study.add(
                    rng.randrange(3), value_of(f"{number}-{count}"), f"{number}-{count}"
                )
            else:
                trials = study.ask(rng.choice((1, 1, 3)))
                for each in trials[1:]:
                    study.fail(each.id, "not needed")
                trial = trials[0].id
                study.tell(trial, value_of(trial))
                if rng.random() < 0.1:
                    study.tell(trial, value_of(trial))
        except StorageError:
            continue
        os.write(file, f"{trial}\n".encode())
        os.write(progress, b".")


def fork(url: str, folder: Path, number: int, progress: int) -> int:
    pid = os.fork()
    if pid == 0:
        try:
            work(url, folder / f"acknowledged-{number}", number, progress)
        finally:
            os._exit(1)
    return pid


def main(url: str, folder: Path, kills: int, workers: int) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside BLAS's idle threads
    study = ft.Study.create("storm", ENDLESS, 0.01, url, lease=1.0)
    study.ask()
    study.status()
    study.close()
    rng, started = random.Random(1), time.perf_counter()
    heard, progress = os.pipe()
    alive = [fork(url, folder, number, progress) for number in range(workers)]
    for number in range(workers, workers + kills):
        os.read(heard, 1 << 16)
        time.sleep(rng.uniform(0.002, 0.06))
        victim = alive.pop(rng.randrange(workers))
        os.kill(victim, signal.SIGKILL)
        _, status = os.waitpid(victim, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, "a worker ended on its own"
        alive.append(fork(url, folder, number, progress))
    os.read(heard, 1 << 16)
    for pid in alive:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
    acknowledged = [
        line for path in folder.glob("acknowledged-*") for line in path.read_text().split("\n")[:-1]
    ]
    study = ft.Study.load("storm", url)
    events = study.events()
    results = [event for event in events if event.kind in ("told", "added")]
    ids = [event.trial for event in results]
    wrong = [event.trial for event in results if event.value != value_of(event.trial)]
    print(
        json.dumps(
            {
                "kills": kills + workers,
                "acknowledged": len(acknowledged),
                "results": len(results),
                "lost": len(set(acknowledged) - set(ids)),
                "doubled": len(ids) - len(set(ids)),
                "wrong": len(wrong),
                "gaps": [event.seq for event in events] != list(range(1, len(events) + 1)),
                "pending": len([e for e in events if e.kind == "asked"])
                - len([e for e in events if e.kind in ("told", "failed")]),
                "seconds": time.perf_counter() - started,
            }
        )
    )
    study.close()


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
