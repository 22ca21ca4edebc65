"""Driving a measurement command."""

import sys

import pytest

import furthest as ft
from furthest.errors import FurthestError, InputError, StorageError
from furthest.study.records import Trial
from furthest.study.runner import Runner, _filled
from study.problems import ENDLESS, TWO

PYTHON = sys.executable


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
        ("print('much')", "printed 'much', not a number"),
        ("print(float('nan'))", "printed 'nan', not a finite number"),
        ("pass", "printed '', not a number"),
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

    with pytest.raises(KeyboardInterrupt):
        Runner(endless, script("print(1.0)"), jobs=3).run(None, interrupt)
    assert endless.pending() == []
    assert len(endless.history()) == 1


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
