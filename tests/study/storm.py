"""A storm of kill −9 over several processes on one study; prints what came of it as JSON.

    python storm.py workers|runners URL FOLDER KILLS PROCESSES

Workers ask and tell; runners drive a command that has a child of its own, three at a time. They are
forked from this process, which has loaded the compiled code, so that a new one is at work within
milliseconds. Each acknowledged result is written to the process's file by one system call after
`tell` or `add` has returned. Between two kills at least one result is acknowledged, however slow
the machine is. What a killed runner has started is looked for in /proc, by a mark in its
environment.
"""

import json
import os
import random
import secrets
import signal
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

import numpy as np

import furthest as ft
from furthest.errors import StorageError
from furthest.study.certificate import verify
from furthest.study.records import Trial
from furthest.study.runner import Runner

ENDLESS = ft.Problem(np.eye(3), eps=1e-6)

MARK = "FURTHEST_STORM"

# Seconds after which what a killed runner has started will not end any more.
PATIENCE = 20.0

# What `value_of` says. Its child ends only if whoever measures is there to read the value: else the
# pipe is broken, and the command gone without it.
MEASURE = r"""sh -c '
sleep 600 &
sleep 0.0$((${FURTHEST_TRIAL##*-} % 10))
echo $((${FURTHEST_TRIAL##*-} * 7919 % 10007))e-4
kill $!
'"""

# What must not happen.
HARMS = ("lost", "doubled", "wrong", "gaps", "unverified", "orphans")


class Found(NamedTuple):
    """What came of a storm.

    Caught are the processes that a runner had started and that ran when it was killed; those that
    stayed are orphans.
    """

    kills: int
    acknowledged: int
    results: int
    lost: int
    doubled: int
    wrong: int
    gaps: int
    unverified: int
    caught: int
    orphans: int
    seconds: float


def value_of(trial: str) -> float:
    """Every trial has one value, whoever measures it."""
    return float(f"{int(trial.rpartition('-')[2]) * 7919 % 10007}e-4")


def work(url: str, number: int, acknowledge: Callable[[str], None]) -> None:
    """Ask, tell, acknowledge, for ever."""
    study = patiently_loaded(url)
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
        acknowledge(trial)


def patiently_loaded(url: str) -> ft.Study:
    """The server may be down just now."""
    while True:
        try:
            return ft.Study.load("storm", url)
        except StorageError:
            time.sleep(0.01)


def run(url: str, _: int, acknowledge: Callable[[str], None]) -> None:
    """Drive a command as `furthest study run` does; acknowledge what it has told."""
    study = patiently_loaded(url)
    tell = study.tell

    def told(trial: Trial, value: float) -> None:
        tell(trial, value)
        acknowledge(trial.id)

    study.tell = told  # type: ignore[method-assign, assignment]
    Runner(study, MEASURE, jobs=3).run(None, lambda: None)


Job = Callable[[str, int, Callable[[str], None]], None]
JOBS: dict[str, Job] = {"workers": work, "runners": run}


class Storm:
    """Processes that do a job, are killed, and are replaced."""

    def __init__(self, job: Job, url: str, folder: Path) -> None:
        self._job = job
        self._url = url
        self._folder = folder
        self._mark = secrets.token_hex(8)
        self._alive: list[tuple[int, int]] = []
        self._heard, self._progress = os.pipe()
        self._number = 0
        self.caught = 0
        self.orphans = 0

    def fork(self) -> None:
        self._number += 1
        pid = os.fork()
        if pid == 0:
            try:
                os.environ[MARK] = f"{self._mark}-{self._number}"
                self._job(self._url, self._number, self._acknowledge())
            finally:
                os._exit(1)
        self._alive.append((pid, self._number))

    def _acknowledge(self) -> Callable[[str], None]:
        """Write it down; each is a byte of progress, too."""
        path = self._folder / f"acknowledged-{self._number}"
        file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT)

        def acknowledge(trial: str) -> None:
            os.write(file, f"{trial}\n".encode())
            os.write(self._progress, b".")

        return acknowledge

    def wait_for_progress(self) -> None:
        os.read(self._heard, 1 << 16)

    def kill(self, index: int) -> None:
        pid, number = self._alive.pop(index)
        mark = f"{MARK}={self._mark}-{number}"
        self.caught += len(marked(mark))
        os.kill(pid, signal.SIGKILL)
        _, status = os.waitpid(pid, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL, "a process ended on its own"
        self.orphans += bury(mark)

    def acknowledged(self) -> set[str]:
        paths = self._folder.glob("acknowledged-*")
        return {line for path in paths for line in path.read_text().split("\n")[:-1]}


def bury(mark: str) -> int:
    """How many processes with the mark do not end by themselves; they are killed."""
    patience = time.monotonic() + PATIENCE
    while found := marked(mark):
        if time.monotonic() > patience:
            for pid in found:
                os.kill(pid, signal.SIGKILL)
            break
        time.sleep(0.002)
    return len(found)


def marked(mark: str) -> list[int]:
    """Processes with this in their environment."""
    found = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            variables = path.read_bytes().split(b"\0")
        except OSError:  # it has ended, or is somebody else's
            continue
        if mark.encode() in variables:
            found.append(int(path.parent.name))
    return found


def storm(
    job: Job,
    url: str,
    folder: Path,
    kills: int,
    processes: int,
    before: Callable[[int], None] = lambda _: None,
) -> Found:
    """Kill so many; `before` is called with the number of each kill."""
    warnings.simplefilter("ignore", DeprecationWarning)  # of forks beside BLAS's idle threads
    study = ft.Study.create("storm", ENDLESS, 0.01, url, lease=1.0)
    study.ask()
    study.status()
    study.close()
    rng, started = random.Random(1), time.perf_counter()
    over = Storm(job, url, folder)
    for _ in range(processes):
        over.fork()
    for number in range(kills):
        over.wait_for_progress()
        time.sleep(rng.uniform(0.002, 0.06))
        before(number)
        over.kill(rng.randrange(processes))
        over.fork()
    over.wait_for_progress()
    for _ in range(processes):
        over.kill(0)
    study = ft.Study.load("storm", url)
    events = study.events()
    study.close()
    results = [event for event in events if event.kind in ("told", "added")]
    ids = {event.trial for event in results}
    acknowledged = over.acknowledged()
    return Found(
        kills=kills + processes,
        acknowledged=len(acknowledged),
        results=len(results),
        lost=len(acknowledged - ids),
        doubled=len(results) - len(ids),
        wrong=sum(event.value != value_of(event.trial) for event in results),
        gaps=sum(event.seq != number for number, event in enumerate(events, 1)),
        unverified=len(results) - verify("storm", events).measurements,
        caught=over.caught,
        orphans=over.orphans,
        seconds=time.perf_counter() - started,
    )


if __name__ == "__main__":
    kind, place, where, count, at_a_time = sys.argv[1:]
    found = storm(JOBS[kind], place, Path(where), int(count), int(at_a_time))
    print(json.dumps(found._asdict()))
