"""One command line after another in processes of their own, forked from this warm one.

A fork costs milliseconds where a new Python with all its compiled code costs a second. What a real
shell would show is kept: bytes in arguments, standard streams in files, an exit code or a signal.
"""

import os
import re
import resource
import select
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

# A line that computes for so many seconds hangs; what has to be compiled first may take longer.
CPU_SECONDS = 20
COMPILING_SECONDS = 200

# The same for one that waits for something. A busy machine alone is never so slow.
WALL_SECONDS = 300

MEMORY = 8 * 2**30

# Documented in furthest.cli and in `furthest study verify`.
EXIT_CODES = {0, 1, 2}
VERIFY_CODES = {0, 1, 2, 3, 4}

# A disk without space.
FULL = Path("/dev/full")

# Control characters that no output needs, escape among them.
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")


class Line(NamedTuple):
    """A command line, and what surrounds it."""

    words: list[str]
    environment: dict[str, str] = {}  # noqa: RUF012
    follows: bool = False  # only where the one before it went well
    full: bool = False  # nothing can be written to standard output
    raw: bool = False  # prints a table of data, in which names are as they are


class Case(NamedTuple):
    """Command lines, and what must not come of them beside what goes for all: `kind: seen`."""

    lines: list[Line]
    judge: "Callable[[list[Outcome]], list[str]]" = lambda _: []


class Outcome(NamedTuple):
    """What became of a command line."""

    code: int
    signal: int
    seconds: float  # of processor time
    late: bool  # it had to be ended
    out: str
    err: str


def run(line: Line, folder: Path) -> Outcome:
    """Call the program as if from a shell in this folder."""
    from furthest.cli import main

    def call() -> None:
        sys.argv = ["furthest", *line.words]
        os.environ.update(line.environment)
        main()

    return run_function(call, folder, FULL if line.full else None)


def run_all(lines: list[Line], folder: Path) -> list[Outcome]:
    """One after the other; those that follow from one that failed are left out."""
    outcomes: list[Outcome] = []
    for line in lines:
        if line.follows and outcomes[-1].code:
            break
        outcomes.append(run(line, folder))
    return outcomes


def run_function(call: Callable[[], None], folder: Path, output: Path | None = None) -> Outcome:
    """The same for a function of ours."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        sys.stdout.flush()
        sys.stderr.flush()
        pid = os.fork()
        if pid == 0:
            place = out.fileno() if output is None else os.open(output, os.O_WRONLY)
            _be_the_child(call, folder, place, err.fileno())
        status, seconds, late = _wait(pid)
        texts = []
        for file in (out, err):
            file.seek(0)
            texts.append(file.read().decode("utf-8", "surrogateescape"))
    ended_by = os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -ended_by
    return Outcome(code, ended_by, seconds, late or ended_by == signal.SIGXCPU, *texts)


def _be_the_child(call: Callable[[], None], folder: Path, out: int, err: int) -> None:
    """Never returns."""
    code = 125
    try:
        os.setsid()
        os.chdir(folder)
        nothing = os.open(os.devnull, os.O_RDONLY)
        for source, target in ((nothing, 0), (out, 1), (err, 2)):
            os.dup2(source, target)
        sys.stdin = os.fdopen(0, encoding="utf-8", closefd=False)
        sys.stdout = os.fdopen(1, "w", encoding="utf-8", closefd=False)
        sys.stderr = os.fdopen(2, "w", encoding="utf-8", errors="backslashreplace", closefd=False)
        _limit()
        code = _exit_code(call)
    finally:
        os._exit(code)


def _limit() -> None:
    from numba.core import event

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    resource.setrlimit(resource.RLIMIT_CPU, (CPU_SECONDS, COMPILING_SECONDS))

    class Allowance(event.Listener):
        def on_start(self, _: object) -> None:
            resource.setrlimit(resource.RLIMIT_CPU, (COMPILING_SECONDS, COMPILING_SECONDS))

        def on_end(self, _: object) -> None:
            pass

    register: Any = event.register
    register("numba:compile", Allowance())


def _exit_code(call: Callable[[], None]) -> int:
    """As Python itself ends a program."""
    code = 0
    try:
        call()
    except SystemExit as end:
        if isinstance(end.code, int):
            code = end.code & 0xFF
        elif end.code is not None:
            print(end.code, file=sys.stderr)
            code = 1
    except BaseException:  # noqa: BLE001
        traceback.print_exc()
        code = 1
    try:
        sys.stdout.flush()
        sys.stderr.flush()
    except Exception:  # noqa: BLE001
        traceback.print_exc()
        code = 120
    return code


def _wait(pid: int) -> tuple[int, float, bool]:
    """Its status, its processor time, and whether it had to be ended with all that it started."""
    watch = os.pidfd_open(pid)
    late = False
    try:
        poll = select.poll()
        poll.register(watch, select.POLLIN)
        late = not poll.poll(1000 * WALL_SECONDS)
    finally:
        os.close(watch)
        if late:
            os.killpg(pid, signal.SIGKILL)
        _, status, usage = os.wait4(pid, 0)
    _end_group(pid)
    return status, usage.ru_utime + usage.ru_stime, late


def _end_group(pid: int) -> None:
    """What a line leaves running is ended, too."""
    try:
        os.killpg(pid, signal.SIGKILL)
        time.sleep(0.01)
    except ProcessLookupError:
        pass


def judge(line: Line, outcome: Outcome) -> list[str]:
    """What must never be, whatever the command line: one word for each, with what was seen."""
    found = []
    verifying = "verify" in line.words
    if outcome.late:
        found.append(f"hang: {outcome.seconds:.0f} s of processor time")
    elif outcome.signal:
        found.append(f"signal: {signal.Signals(outcome.signal).name}")
    elif outcome.code not in (VERIFY_CODES if verifying else EXIT_CODES):
        found.append(f"exit code: {outcome.code} is not documented")
    said = outcome.err.splitlines()
    if "Traceback" in outcome.err or "Exception ignored" in outcome.err:
        last = next((each for each in reversed(said) if each.strip()), "")
        found.append(f"traceback: {last}")
    elif re.search(r"^\S+:\d+: \w*Warning: ", outcome.err, re.MULTILINE):
        found.append(f"warning: {next(each for each in said if 'Warning: ' in each)}")
    elif outcome.code in (1, 2) and not any(each.startswith("furthest: ") for each in said):
        found.append(f"silence: exit code {outcome.code} without a sentence")
    texts = {"standard error": outcome.err} | ({} if line.raw else {"standard output": outcome.out})
    for where, text in texts.items():
        control = CONTROL.search(text)
        if control:
            around = text[max(0, control.start() - 30) : control.end() + 30]
            found.append(f"control: {control[0]!r} on {where}: {around!r}")
    return found
