"""Drive a study with a measurement command: ask, run it, tell what it prints, until it ends.

The command gets the arm on its command line and prints its result, as `sheets` reads it, on the
last line of its output.
"""

import csv
import math
import os
import shlex
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NamedTuple, TypeVar

from furthest.display import count
from furthest.errors import (
    BudgetError,
    FurthestError,
    InputError,
    StoppedError,
    StorageError,
    UnknownStudyError,
    ValueRefusedError,
    VerificationError,
)
from furthest.study import sheets
from furthest.study.records import Trial
from furthest.study.study import Study
from furthest.study.warden import Warden

# So many failures in a row are no accident.
FAILURES_IN_A_ROW = 10

# Seconds before a result that could not be written is tried again.
PAUSES = (0.1, 0.5, 2.0, 10.0)

NOT_NEEDED = "no longer needed: the study had stopped"
NOT_MEASURED = "the run ended before it was measured"
INTERRUPTED = "interrupted by the user"


# Bytes at the end of a command's output that are looked at.
MOST_OUTPUT = 65_536

# Seconds between two looks at whether a command is no longer wanted, and to wait for the rest of
# its output when it has ended.
GLANCE = 0.05
GRACE = 1.0

SIGNALS = ("SIGTERM", "SIGHUP")

# The study cannot be reached, was deleted, or is no longer what it was.
GONE = (StorageError, UnknownStudyError, VerificationError)

T = TypeVar("T")


class Reading(NamedTuple):
    """What one run of the command came to: a result in words, or why there is none."""

    word: str | None
    reason: str = ""


class Runner:
    """Runs a command for every trial, several at a time.

    What was measured is kept: a storage in trouble is given time, and what it does not take in the
    end goes to the file `rescue`, which `furthest study tell NAME --csv FILE` reads. No command
    outlives the run, however that ends: see `warden`.
    """

    def __init__(
        self,
        study: Study,
        command: str,
        jobs: int = 1,
        retries: int = 0,
        timeout: float | None = None,
        rescue: Path | None = None,
        batch: int | None = None,
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
        self._batch = batch
        self._shares: list[Trial] = []  # of a batch, still to be measured
        self._rescue = rescue or Path(f"furthest-rescue-{os.getpid()}.csv")
        self._halted = ""  # why nothing is measured any more
        self._in_a_row = 0
        self._rescued = 0

    def run(self, limit: int | None, report: Callable[[], None]) -> int:
        """Measure until the study ends or `limit` trials are done; returns how many were.

        It ends with its answer, or when nothing is left of its budget to be asked for.

        `report` is called after every trial.
        """
        done, running = 0, dict[Future[Reading], Trial]()
        trouble: FurthestError | None = None
        with _signals_interrupt(), Warden() as warden, ThreadPoolExecutor(self._jobs) as pool:
            try:
                wanted = math.inf if limit is None else limit
                while True:
                    free = min(self._jobs, wanted - done) - len(running)
                    try:
                        trials = [] if trouble else self._ask(int(free), len(running))
                    except GONE as error:
                        # What runs is worth waiting for.
                        trials, trouble = [], error
                    for trial in trials:
                        running[pool.submit(self._measure, warden, trial)] = trial
                    if not running:
                        break
                    finished, _ = wait(running, return_when=FIRST_COMPLETED)
                    for future in finished:
                        self._note(running[future], future.result())
                        del running[future]
                        done += 1
                        report()
            except BaseException as error:
                self._halt(_reason(error))
                for future, trial in running.items():
                    self._leave(trial, future.result())
                self._leave_shares(self._halted)
                if self._rescued:
                    raise StorageError(f"{self._halted}; {self._rescue_words(None)}") from error
                raise
        self._leave_shares(NOT_MEASURED)
        if trouble or self._rescued:
            raise StorageError(self._rescue_words(trouble))
        return done

    def _leave_shares(self, reason: str) -> None:
        """What is left of a batch will not be measured by this run."""
        for trial in self._shares:
            with suppress(FurthestError):
                self._study.fail(trial, reason)
        self._shares = []

    def _leave(self, trial: Trial, reading: Reading) -> None:
        """At the end of an interrupted run: what was measured is kept, the rest has failed."""
        with suppress(FurthestError):
            if reading.word is None:
                self._study.fail(trial, self._halted)
            else:
                self._tell(trial, reading.word)

    def _ask(self, count: int, running: int) -> list[Trial]:
        if count < 1 or self._halted:
            return []
        try:
            if (batch := self._batch) is None:
                return _patiently(lambda: self._study.ask(count))
            if not self._shares and not running:
                self._shares = _patiently(lambda: self._study.ask(batch=batch))
        except BudgetError:
            return []  # what is out, here or elsewhere, may yet fail and be asked again
        except StoppedError:
            self._halt(NOT_NEEDED)
            return []
        now, self._shares = self._shares[:count], self._shares[count:]
        return now

    def _note(self, trial: Trial, reading: Reading) -> None:
        """Write the reading down: in the study, or else in the rescue file."""
        if reading.word is not None:
            reading = self._tell(trial, reading.word)
        if reading.word is None:
            # If even that cannot be stored, the lease ends the trial.
            with suppress(*GONE):
                _patiently(lambda: self._study.fail(trial, reading.reason))
        failed = reading.word is None and not self._halted
        self._in_a_row = self._in_a_row + 1 if failed else 0
        if self._in_a_row == FAILURES_IN_A_ROW:
            raise FurthestError(
                f"{FAILURES_IN_A_ROW} measurements in a row failed, the last ({trial.name}) "
                f"because it {reading.reason}"
            )

    def _tell(self, trial: Trial, word: str) -> Reading:
        """What has become of a result: one that the study refuses is this trial's failure alone."""
        try:
            _patiently(lambda: self._study.tell(trial, **sheets.result(word)))
        except ValueRefusedError as error:
            return Reading(None, f"was refused: {error}")
        except GONE:
            self._keep(trial, word)
        return Reading(word)

    def _keep(self, trial: Trial, word: str) -> None:
        """On disk, at once: the storage may be gone for good."""
        with self._rescue.open("a", newline="", encoding="utf-8") as file:
            csv.writer(file, lineterminator="\n").writerow([trial.id, word])
            file.flush()
            os.fsync(file.fileno())
        self._rescued += 1

    def _rescue_words(self, trouble: FurthestError | None) -> str:
        parts = [] if trouble is None else [f"no more trials could be asked for: {trouble}"]
        if self._rescued:
            parts.append(
                f"{count(self._rescued, 'result')} could not be stored, only in {self._rescue}: "
                f"tell with `furthest study tell {shlex.quote(self._study.name)} "
                f"--csv {self._rescue}`"
            )
        return "; ".join(parts)

    def _measure(self, warden: Warden, trial: Trial) -> Reading:
        """Run the command, again if it fails."""
        reading = Reading(None, NOT_NEEDED)
        for _ in range(self._retries + 1):
            if self._halted:
                break
            reading = self._run_command(warden, trial)
            if reading.word is not None:
                break
        return Reading(None, self._halted) if self._halted and reading.word is None else reading

    def _run_command(self, warden: Warden, trial: Trial) -> Reading:
        environment = os.environ | _environment(self._study.name, trial)
        try:
            command = warden.start(_filled(self._words, trial), environment)
        except OSError as error:
            return Reading(None, f"could not be started: {error}")
        tail = _Tail(command.output)
        deadline = math.inf if self._timeout is None else time.monotonic() + self._timeout
        while (code := command.wait(GLANCE)) is None:
            if self._halted or time.monotonic() > deadline:
                command.stop()
                return Reading(None, self._halted or f"took longer than {self._timeout:g} s")
        if code != 0:
            return Reading(None, f"ended with code {code}")
        return _result(tail.read())

    def _halt(self, reason: str) -> None:
        """Nothing more is measured; what runs is stopped by those who wait for it."""
        self._halted = self._halted or reason


class _Tail:
    """The end of what a command prints: all of it may be endless.

    A thread reads along, so that the command never waits. Its own children may keep the pipe open
    when it has ended: they are not waited for.
    """

    def __init__(self, output: int) -> None:
        self._output = output
        self._end = b""
        self._thread = threading.Thread(target=self._follow, daemon=True)
        self._thread.start()

    def _follow(self) -> None:
        while piece := os.read(self._output, MOST_OUTPUT):
            self._end = (self._end + piece)[-MOST_OUTPUT:]
        os.close(self._output)

    def read(self) -> bytes:
        """What has come by now."""
        self._thread.join(GRACE)
        return self._end


def _patiently(call: Callable[[], T]) -> T:
    """A storage in trouble is given time."""
    for pause in PAUSES:
        try:
            return call()
        except StorageError:
            time.sleep(pause)
    return call()


class _Signalled(KeyboardInterrupt):
    """The process was asked to end."""


@contextmanager
def _signals_interrupt() -> Iterator[None]:
    """SIGTERM and SIGHUP end a run as Ctrl-C does: nothing stays behind."""

    def interrupt(number: int, _: object) -> None:
        raise _Signalled(signal.Signals(number).name)

    if threading.current_thread() is not threading.main_thread():
        yield
        return
    numbers = [getattr(signal, name) for name in SIGNALS if hasattr(signal, name)]
    before = {number: signal.signal(number, interrupt) for number in numbers}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _reason(error: BaseException) -> str:
    """Why measurements were stopped."""
    if isinstance(error, _Signalled):
        return f"stopped by {error}"
    return INTERRUPTED if isinstance(error, KeyboardInterrupt) else f"the run ended: {error}"


def _filled(words: list[str], trial: Trial) -> list[str]:
    """{arm}, {name}, {id} and {n} filled in; without any of them the arm's number comes last."""
    values = {"{arm}": trial.arm, "{name}": trial.name, "{id}": trial.id, "{n}": trial.size}
    filled = []
    for word in words:
        changed = word
        for mark, value in values.items():
            changed = changed.replace(mark, str(value))
        filled.append(changed)
    return filled if filled != words else [*words, str(trial.arm)]


def _environment(study: str, trial: Trial) -> Mapping[str, str]:
    return {
        "FURTHEST_STUDY": study,
        "FURTHEST_TRIAL": trial.id,
        "FURTHEST_ARM": str(trial.arm),
        "FURTHEST_ARM_NAME": trial.name,
        "FURTHEST_N": str(trial.size),
    }


def _result(out: bytes) -> Reading:
    lines = out.split(b"\n")
    try:
        last = next((line.strip() for line in reversed(lines) if line.strip()), b"").decode()
    except UnicodeDecodeError:
        return Reading(None, "printed no text")
    try:
        fields = sheets.result(last)
    except ValueRefusedError:
        return Reading(None, f"printed {last[:60]!r}, not {sheets.FORMS}")
    if not all(map(math.isfinite, fields.values())):
        return Reading(None, f"printed {last!r}, not a finite number")
    return Reading(last)
