"""Driving a measurement command."""

import os
import signal
import subprocess
import sys
import time

import pytest

import furthest as ft
from furthest.cli import main
from furthest.errors import FurthestError, InputError, StorageError
from furthest.study.records import Trial
from furthest.study.runner import GONE, Runner, _filled
from furthest.study.sheets import FORMS
from study.problems import ENDLESS, TWO

PYTHON = sys.executable

posix = pytest.mark.skipif(not hasattr(signal, "SIGHUP"), reason="signals are POSIX")


@pytest.fixture
def script(tmp_path):
    """A command that runs this Python code."""

    def write(code):
        path = tmp_path / "measure.py"
        path.write_text(code)
        return f"'{PYTHON}' '{path}'"

    return write


@pytest.fixture
def endless(sqlite_url):
    return ft.Study.create("a", ENDLESS, 0.1, sqlite_url)


def quiet():
    pass


def test_the_arm_is_on_the_command_line():
    trial = Trial("t-1", 3, "dark blue")
    assert _filled(["measure"], trial) == ["measure", "3"]
    assert _filled(["m", "--x={name}", "{id}"], trial) == ["m", "--x=dark blue", "t-1"]
    assert _filled(["m", "{arm}", "{literal}"], trial) == ["m", "3", "{literal}"]


def test_it_measures_until_the_study_stops(sqlite_url, script):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    command = script(
        "import sys; print('chatter'); print(3 if sys.argv[1] == '0' else -3); print()"
    )
    reported = []
    done = Runner(study, command, jobs=2).run(None, lambda: reported.append(1))
    status = study.status()
    assert (status.state, status.answer_name) == ("stopped", "A")
    assert done == len(reported) == len(study.history()) + len(study.failures())
    assert status.pending == 0
    assert {each.value for each in study.history()} == {3.0, -3.0}


def test_the_environment_tells_more(endless, script):
    command = script(
        "import os; e = os.environ\n"
        "assert e['FURTHEST_STUDY'] == 'a' and '-' in e['FURTHEST_TRIAL']\n"
        "print('ABC'.index(e['FURTHEST_ARM_NAME']) == int(e['FURTHEST_ARM']) and 1.5)"
    )
    Runner(endless, command).run(3, quiet)
    assert [each.value for each in endless.history()] == [1.5] * 3


@pytest.mark.parametrize(
    ("code", "reason"),
    [
        ("raise SystemExit(3)", "ended with code 3"),
        ("print('much')", f"printed 'much', not {FORMS}"),
        ("print(float('nan'))", "printed 'nan', not a finite number"),
        ("pass", f"printed '', not {FORMS}"),
        ("import sys; sys.stdout.buffer.write(b'\\xff\\xfe')", "printed no text"),
        ("import time; time.sleep(10**6)", "took longer than 0.3 s"),
    ],
)
def test_failures_are_failures(code, reason, endless, script):
    Runner(endless, script(code), timeout=0.3 if "sleep" in code else None).run(1, quiet)
    assert [failure.reason for failure in endless.failures()] == [reason]
    assert endless.history() == []


def test_a_command_that_does_not_exist(endless):
    with pytest.raises(
        FurthestError, match=r"10 measurements in a row failed.*could not be started"
    ):
        Runner(endless, "/nonexistent/command").run(None, quiet)
    assert endless.status().failed == 10
    with pytest.raises(InputError, match="empty"):
        Runner(endless, " ")


def test_it_tries_again(endless, script, tmp_path):
    code = (
        "from pathlib import Path\n"
        f"p = Path({str(tmp_path)!r}) / 'seen'\n"
        "p.write_text(p.read_text() + 'x' if p.exists() else 'x')\n"
        "print(1.0 if len(p.read_text()) == 3 else 'not yet')"
    )
    Runner(endless, script(code), retries=2).run(1, quiet)
    assert [each.value for each in endless.history()] == [1.0]
    assert endless.failures() == []


def test_several_run_at_a_time(endless, script, tmp_path):
    """Each waits for the others: none would end if they ran one after the other."""
    code = (
        "import os, time; from pathlib import Path\n"
        f"p = Path({str(tmp_path)!r})\n"
        "(p / ('at-' + os.environ['FURTHEST_TRIAL'])).touch()\n"
        "while len(list(p.glob('at-*'))) < 4: time.sleep(0.01)\n"
        "print(1.0)"
    )
    Runner(endless, script(code), jobs=4).run(4, quiet)
    assert len(endless.history()) == 4


def test_what_is_no_longer_needed_is_stopped(sqlite_url, script):
    """The measurement that still runs when the study stops would never end."""
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    for _ in range(20):
        study.add("A", 3.0)
    command = script("import sys, time\nif sys.argv[1] == '0': time.sleep(10**6)\nprint(-3.0)")
    Runner(study, command, jobs=3).run(None, quiet)
    assert study.status().state == "stopped"
    reasons = {failure.reason for failure in study.failures()}
    assert reasons <= {"no longer needed: the study had stopped"}


def test_an_interruption_leaves_nothing_pending(endless, script):
    def interrupt():
        raise KeyboardInterrupt

    # Only the first arm's measurement ever ends.
    code = "import sys, time\nif sys.argv[1] != '0': time.sleep(10**6)\nprint(1.0)"
    with pytest.raises(KeyboardInterrupt):
        Runner(endless, script(code), jobs=3).run(None, interrupt)
    assert endless.pending() == []
    assert len(endless.history()) == 1
    assert [each.reason for each in endless.failures()] == ["interrupted by the user"] * 2


def test_an_interruption_loses_no_reading(endless, script, monkeypatch):
    """Ctrl-C comes while a reading is being written down."""
    note, seen = Runner._note, []

    def interrupted(self, trial, reading):
        if not seen:
            seen.append(trial)
            raise KeyboardInterrupt
        note(self, trial, reading)

    monkeypatch.setattr(Runner, "_note", interrupted)
    with pytest.raises(KeyboardInterrupt):
        Runner(endless, script("print(1.5)")).run(None, quiet)
    assert [each.value for each in endless.history()] == [1.5]
    assert endless.pending() == []


def test_a_storage_in_trouble_is_given_time(endless, script, monkeypatch):
    """A result is too precious to be lost to a lock."""
    tell, troubles = endless.tell, iter([True, True, False])

    def sometimes(trial, value):
        if next(troubles):
            raise StorageError("locked")
        tell(trial, value)

    monkeypatch.setattr(endless, "tell", sometimes)
    monkeypatch.setattr("furthest.study.runner.PAUSES", (0.0, 0.0, 0.0))
    Runner(endless, script("print(2.0)")).run(1, quiet)
    assert [each.value for each in endless.history()] == [2.0]


def in_trouble(monkeypatch, study, verb, error=StorageError):
    """From now on the storage does not do it."""

    def never(*_, **__):
        raise error("gone")

    monkeypatch.setattr(study, verb, never)
    monkeypatch.setattr("furthest.study.runner.PAUSES", (0.0,))


@pytest.mark.parametrize("error", GONE)
def test_what_could_not_be_stored_is_rescued(
    error, endless, script, monkeypatch, tmp_path, sqlite_url
):
    """And told later from the file, by anybody."""
    rescue = tmp_path / "rescue.csv"
    with monkeypatch.context() as patch:
        in_trouble(patch, endless, "tell", error)
        runner = Runner(endless, script("import sys; print(0.1 + int(sys.argv[1]))"), rescue=rescue)
        with pytest.raises(StorageError, match=r"3 results could not be stored, only in .*--csv"):
            runner.run(3, quiet)
    assert endless.history() == []
    monkeypatch.setattr(
        sys,
        "argv",
        ["furthest", "study", "tell", "a", "--csv", str(rescue), "--storage", sqlite_url],
    )
    for _ in range(2):  # again changes nothing
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
    assert [each.value for each in endless.history()] == [0.1, 1.1, 2.1]


def test_an_interruption_says_what_was_rescued(endless, script, monkeypatch, tmp_path):
    rescue = tmp_path / "rescue.csv"
    in_trouble(monkeypatch, endless, "tell")

    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(StorageError, match="interrupted by the user; 1 result could not be"):
        Runner(endless, script("print(1.5)"), rescue=rescue).run(None, interrupted)
    assert rescue.read_text().endswith(",1.5\n")


def test_what_runs_is_waited_for_when_nothing_can_be_asked(endless, script, monkeypatch, tmp_path):
    ask, asked = endless.ask, []

    def once(n):
        if asked:
            raise StorageError("gone")
        asked.append(n)
        return ask(n)

    monkeypatch.setattr(endless, "ask", once)
    monkeypatch.setattr("furthest.study.runner.PAUSES", (0.0,))
    with pytest.raises(StorageError, match="no more trials could be asked for: gone"):
        Runner(endless, script("print(1.0)"), jobs=3).run(None, quiet)
    assert asked == [3]
    assert len(endless.history()) == 3
    assert endless.failures() == []


def test_a_value_that_is_refused_is_the_failure_of_its_trial_alone(sqlite_url, script):
    problem = ft.Problem(ENDLESS.arms, eps=1e-6, bounds=(0, 1))
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    code = "import sys; print(7 if sys.argv[1] == '1' else 0.5)"
    Runner(study, script(code), jobs=3).run(3, quiet)
    assert len(study.history()) == 2
    (failure,) = study.failures()
    assert "outside the bounds" in failure.reason


def test_output_without_end_and_pipes_without_end(endless, script):
    """A child of the command keeps its pipe open; the command itself prints 50 MB before."""
    code = (
        "import subprocess, sys\n"
        "subprocess.Popen([sys.executable, '-c', 'import time; time.sleep(30)'])\n"
        "for _ in range(50): sys.stdout.write('x' * 10**6)\n"
        "print(); print(2.5)"
    )
    Runner(endless, script(code)).run(1, quiet)
    assert [each.value for each in endless.history()] == [2.5]


@posix
@pytest.mark.parametrize("name", ["SIGTERM", "SIGHUP", "SIGINT"])
def test_a_signal_leaves_nothing_behind(name, sqlite_url, script, tmp_path):
    """No trial stays pending and no command alive."""
    ft.Study.create("a", ENDLESS, 0.1, sqlite_url).close()
    measure = script(
        "import os, time; from pathlib import Path\n"
        f"(Path({str(tmp_path)!r}) / f'pid-{{os.getpid()}}').touch()\n"
        "time.sleep(10**6)"
    )
    words = [PYTHON, "-m", "furthest", "study", "run", "a", "--exec", measure, "--jobs", "2"]
    child = subprocess.Popen([*words, "--storage", sqlite_url], stderr=subprocess.PIPE, text=True)
    while len(list(tmp_path.glob("pid-*"))) < 2:
        assert child.poll() is None, child.stderr.read()
        time.sleep(0.05)
    child.send_signal(getattr(signal, name))
    _, said = child.communicate()
    assert child.returncode == 130
    assert "Traceback" not in said
    study = ft.Study.load("a", sqlite_url)
    assert study.pending() == []
    expected = "interrupted by the user" if name == "SIGINT" else f"stopped by {name}"
    assert [failure.reason for failure in study.failures()] == [expected] * 2
    for path in tmp_path.glob("pid-*"):
        with pytest.raises(ProcessLookupError):
            os.kill(int(path.name.removeprefix("pid-")), 0)


# A child that would outlive everybody: it says so, to whoever reads its standard error. That ends
# when the last process that has it has ended.
LASTING = """
import os, subprocess, sys
os.write(2, b"ready\\n")  # in one piece, where two of them write at once
subprocess.run([sys.executable, "-c", "import sys, time; time.sleep(30); sys.exit('outlived')"])
"""


@posix
def test_no_command_outlives_a_run_that_is_killed(sqlite_url, script):
    """Even if all processes of its group are."""
    ft.Study.create("a", ENDLESS, 0.1, sqlite_url).close()
    words = [PYTHON, "-m", "furthest", "study", "run", "a", "--exec", script(LASTING)]
    with subprocess.Popen(
        [*words, "--jobs", "2", "--storage", sqlite_url],
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    ) as child:
        for _ in range(2):
            assert "ready\n" in iter(child.stderr.readline, "")
        os.killpg(child.pid, signal.SIGKILL)
        assert child.stderr.read() == ""


@posix
@pytest.mark.parametrize(
    "start",
    [
        "socket.send_fds(warden._requests, [b'        1000'], [line.fileno(), 1]); end()",
        "warden._answers = Killed(); warden.start(command, dict(os.environ))",
    ],
    ids=["before the request is complete", "before the answer is read"],
)
def test_no_command_is_left_of_who_was_killed_while_starting_it(start, script, python):
    code = (
        "import os, shlex, signal, socket, sys\n"
        "from furthest.study.warden import Warden\n"
        "def end(): os.kill(os.getpid(), signal.SIGKILL)\n"
        "class Killed:\n"
        "    def readline(self): warden._requests.recv(1, socket.MSG_PEEK); end()\n"
        "warden, (line, theirs) = Warden(), socket.socketpair()\n"
        "command = shlex.split(sys.argv[1])\n"
    )
    done = python("-c", code + start, script(LASTING))
    assert done.returncode == -signal.SIGKILL
    assert done.stderr in ("", "ready\n")


@posix
def test_a_command_that_fails_leaves_nothing_behind(endless, script, tmp_path):
    """Its child would write into the pipe, much later."""
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    code = (
        f"import subprocess; pipe = open({str(tmp_path / 'pipe')!r}, 'w')\n"
        "subprocess.Popen(['sh', '-c', 'sleep 30; echo outlived'], stdout=pipe)\n"
        "raise SystemExit(3)"
    )
    Runner(endless, script(code)).run(1, quiet)
    os.set_blocking(pipe, True)
    assert os.read(pipe, 100) == b""
    os.close(pipe)
    assert [each.reason for each in endless.failures()] == ["ended with code 3"]


@posix
def test_a_command_is_started_as_by_anybody(endless, script, monkeypatch):
    """Its signals are the usual ones; its environment is handed on to the byte."""
    monkeypatch.setenv("ODD", "\udcff")
    code = (
        "import os, signal\n"
        "usual = [signal.getsignal(getattr(signal, 'SIG' + s)) for s in ('CHLD', 'HUP', 'TERM')]\n"
        "assert usual == [signal.SIG_DFL] * 3 and os.environb[b'ODD'] == b'\\xff'\n"
        "assert os.getsid(0) == os.getpid() and not os.read(0, 1)\n"
        "print(1.0)"
    )
    Runner(endless, script(code)).run(1, quiet)
    assert [each.value for each in endless.history()] == [1.0]


def test_a_command_that_cannot_be(endless):
    Runner(endless, "a\0b").run(1, quiet)
    assert [each.reason for each in endless.failures()] == [
        "could not be started: embedded null byte"
    ]


@posix
def test_what_starts_commands_does_not_hear_signals(endless, script):
    code = (
        "import os, signal\n"
        "for s in ('INT', 'TERM', 'HUP'): os.kill(os.getppid(), getattr(signal, 'SIG' + s))\n"
        "print(1.0)"
    )
    Runner(endless, script(code), jobs=2).run(4, quiet)
    assert [each.value for each in endless.history()] == [1.0] * 4


@posix
def test_it_ends_if_what_starts_commands_is_killed(endless, script, tmp_path):
    """And the command ends with it: nobody holds its end of the pipe any more."""
    os.mkfifo(tmp_path / "pipe")
    pipe = os.open(tmp_path / "pipe", os.O_RDONLY | os.O_NONBLOCK)
    code = (
        f"import os, signal, time; pipe = open({str(tmp_path / 'pipe')!r}, 'w')\n"
        "os.kill(os.getppid(), signal.SIGKILL); time.sleep(30); pipe.write('outlived')"
    )
    with pytest.raises(FurthestError, match="the process that starts commands has been killed"):
        Runner(endless, script(code)).run(None, quiet)
    assert endless.failures()[0].reason == "ended with code -9"
    os.set_blocking(pipe, True)
    assert os.read(pipe, 100) == b""
    os.close(pipe)


def test_where_no_command_can_be_watched_none_is_started(endless, monkeypatch):
    monkeypatch.delattr("socket.send_fds")
    with pytest.raises(OSError, match="Linux"):
        Runner(endless, "echo").run(1, quiet)
    assert endless.pending() == []
