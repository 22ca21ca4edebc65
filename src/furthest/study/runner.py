"""Drive a study with a measurement command: ask, run it, tell what it prints, until it stops.

The command gets the arm on its command line and prints a number, on the last line of its output.
"""

import math
import os
import shlex
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass

from furthest.errors import FurthestError, InputError, StoppedError, StorageError
from furthest.numerals import number
from furthest.study.records import Trial
from furthest.study.study import Study

# So many failures in a row are no accident.
FAILURES_IN_A_ROW = 10

# Seconds before a result that could not be written is tried again.
PAUSES = (0.1, 0.5, 2.0, 10.0)

NOT_NEEDED = "no longer needed: the study had stopped"
INTERRUPTED = "interrupted by the user"


@dataclass(frozen=True)
class Reading:
    """What one run of the command came to: a number, or why there is none."""

    value: float | None
    reason: str = ""


class Runner:
    """Runs a command for every trial, several at a time."""

    def __init__(
        self,
        study: Study,
        command: str,
        jobs: int = 1,
        retries: int = 0,
        timeout: float | None = None,
    ) -> None:
        self._study = study
        try:
            self._words = shlex.split(command)
        except ValueError as error:
            raise InputError(f"the measurement command {command!r}: {error}") from None
        if not self._words:
            raise InputError("the measurement command is empty")
        self._jobs = jobs
        self._retries = retries
        self._timeout = timeout
        self._children: set[subprocess.Popen[str]] = set()
        self._halted = threading.Event()
        self._in_a_row = 0

    def run(self, limit: int | None, report: Callable[[], None]) -> int:
        """Measure until the study stops or `limit` trials are done; returns how many were.

        `report` is called after every trial.
        """
        done, running = 0, dict[Future[Reading], Trial]()
        with ThreadPoolExecutor(self._jobs) as pool:
            try:
                wanted = math.inf if limit is None else limit
                while True:
                    free = min(self._jobs, wanted - done) - len(running)
                    for trial in self._ask(int(free)):
                        running[pool.submit(self._measure, trial)] = trial
                    if not running:
                        return done
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        self._note(running.pop(future), future.result())
                        done += 1
                        report()
            except BaseException:
                self._halt()
                for trial in running.values():
                    with suppress(FurthestError):
                        self._study.fail(trial, INTERRUPTED)
                raise

    def _ask(self, count: int) -> list[Trial]:
        if count < 1 or self._halted.is_set():
            return []
        try:
            return self._study.ask(count)
        except StoppedError:
            self._halt()
            return []

    def _note(self, trial: Trial, reading: Reading) -> None:
        """Write the reading down; a storage in trouble is given time."""
        for pause in (*PAUSES, None):
            try:
                if reading.value is None:
                    self._study.fail(trial, reading.reason)
                else:
                    self._study.tell(trial, reading.value)
                break
            except StorageError:
                if pause is None:
                    raise
                time.sleep(pause)
        failed = reading.value is None and not self._halted.is_set()
        self._in_a_row = self._in_a_row + 1 if failed else 0
        if self._in_a_row == FAILURES_IN_A_ROW:
            raise FurthestError(
                f"{FAILURES_IN_A_ROW} measurements in a row failed, the last ({trial.name}) "
                f"because it {reading.reason}"
            )

    def _measure(self, trial: Trial) -> Reading:
        """Run the command, again if it fails."""
        reading = Reading(None, NOT_NEEDED)
        for _ in range(self._retries + 1):
            if self._halted.is_set():
                break
            reading = self._run_command(trial)
            if reading.value is not None:
                break
        return Reading(None, NOT_NEEDED) if self._halted.is_set() else reading

    def _run_command(self, trial: Trial) -> Reading:
        try:
            child = subprocess.Popen(  # noqa: S603
                _filled(self._words, trial),
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | _environment(self._study.name, trial),
                start_new_session=True,  # so that its children can be stopped with it
            )
        except OSError as error:
            return Reading(None, f"could not be started: {error}")
        self._children.add(child)
        try:
            out, _ = child.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            _kill(child)
            return Reading(None, f"took longer than {self._timeout:g} s")
        except UnicodeDecodeError:
            _kill(child)
            return Reading(None, "printed no text")
        finally:
            self._children.discard(child)
        if child.returncode != 0:
            return Reading(None, f"ended with code {child.returncode}")
        return _number(out)

    def _halt(self) -> None:
        self._halted.set()
        for child in list(self._children):
            _kill(child)


def _filled(words: list[str], trial: Trial) -> list[str]:
    """{arm}, {name} and {id} filled in; without any of them the arm's number comes last."""
    values = {"{arm}": str(trial.arm), "{name}": trial.name, "{id}": trial.id}
    filled = []
    for word in words:
        changed = word
        for mark, value in values.items():
            changed = changed.replace(mark, value)
        filled.append(changed)
    return filled if filled != words else [*words, str(trial.arm)]


def _environment(study: str, trial: Trial) -> Mapping[str, str]:
    return {
        "FURTHEST_STUDY": study,
        "FURTHEST_TRIAL": trial.id,
        "FURTHEST_ARM": str(trial.arm),
        "FURTHEST_ARM_NAME": trial.name,
    }


def _number(out: str) -> Reading:
    lines = out.split("\n")
    last = next((line.strip() for line in reversed(lines) if line.strip()), "")
    try:
        value = number(last)
    except ValueError:
        return Reading(None, f"printed {last[:60]!r}, not a number")
    if not math.isfinite(value):
        return Reading(None, f"printed {last!r}, not a finite number")
    return Reading(value)


def _kill(child: subprocess.Popen[str]) -> None:
    with suppress(ProcessLookupError):
        os.killpg(child.pid, signal.SIGKILL)
    child.wait()
    if child.stdout is not None:
        child.stdout.close()
