"""furthest study, as the shell sees it."""

import json
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest

from furthest.cli import THREADS, main

MEASURE = "import sys, random; print((2.0, 0.0)[int(sys.argv[1])] + random.gauss(0, 1))"

TWO = """
eps = 0.5
arms = [[1, 0], [0, 1]]
arm_names = ["A", "B"]
"""


@pytest.fixture
def folder(tmp_path):
    """A folder with a problem file and something to measure."""
    (tmp_path / "two.toml").write_text(TWO)
    (tmp_path / "measure.py").write_text(MEASURE)
    return tmp_path


@pytest.fixture
def study(folder, monkeypatch, capfd):
    """furthest study …, in this process: compiled code is loaded once."""
    monkeypatch.chdir(folder)

    def call(*arguments, **environment):
        capfd.readouterr()
        with monkeypatch.context() as patch:
            patch.setattr(sys, "argv", ["furthest", "study", *map(str, arguments)])
            for name, value in environment.items():
                patch.setenv(name, value)
            with pytest.raises(SystemExit) as end:
                main()
        out, err = capfd.readouterr()
        return SimpleNamespace(returncode=end.value.code or 0, stdout=out, stderr=err)

    return call


def data(process, code=0):
    """The one JSON value on standard output, and nothing else."""
    assert process.returncode == code, process.stderr
    return json.loads(process.stdout)


def refused(process, code=2):
    """One clear sentence on standard error."""
    assert process.returncode == code, process.stderr
    assert process.stdout == ""
    assert process.stderr.startswith("furthest: ")
    assert len(process.stderr.strip().splitlines()) == 1
    assert "Traceback" not in process.stderr
    return process.stderr


def test_a_whole_study(study, folder):
    created = data(study("create", "paint", "two.toml", "--delta", "0.1", "--json"))
    assert created["name"] == "paint"
    trials = data(study("ask", "paint", "-n", "2", "--json"))
    assert [(trial["arm"], trial["name"]) for trial in trials] == [(0, "A"), (1, "B")]
    assert set(trials[0]) == {"id", "arm", "name", "size"}
    told = data(study("tell", "paint", trials[0]["id"], "-0.25", "--json"))
    assert told == {"id": trials[0]["id"], "value": -0.25}
    assert study("tell", "paint", trials[0]["id"], "-0.25").returncode == 0
    data(study("fail", "paint", trials[1]["id"], "--reason", "spilled", "--json"))
    added = data(study("add", "paint", "B", "-1e-3", "--id", "mine", "--json"))
    assert added["id"] == "mine"
    listed = data(study("list", "--json"))["studies"]
    assert [(row["name"], row["measurements"]) for row in listed] == [("paint", 2)]
    shown = data(study("show", "paint", "--foresight", "--json"))
    assert {
        "name",
        "state",
        "answer",
        "statistic",
        "threshold",
        "measurements",
        "pending",
        "failed",
        "guarantee",
        "certificate",
    } <= set(shown)
    assert (shown["state"], shown["measurements"], shown["failed"]) == ("running", 2, 1)
    assert shown["foresight"]["median"] > 0

    command = f"'{sys.executable}' measure.py"
    run = study("run", "paint", "--exec", command, "--jobs", "2", "--json")
    done = data(run)
    assert done["state"] == "stopped"
    assert done["certificate"]["answer_name"] in ("A", "B")
    assert "the answer is" in refused(study("ask", "paint"), 1)

    exported = data(study("export", "paint", "--json"))
    assert exported["name"] == "paint"
    assert exported["problem"]["arm_names"] == ["A", "B"]
    first = exported["measurements"][0]
    assert (first["id"], first["arm"], first["value"]) == (trials[0]["id"], 0, -0.25)
    assert exported["certificate"] == done["certificate"]
    (folder / "paint.json").write_text(json.dumps(exported))
    # One measurement failed and one was added: proven under conditions that are in doubt.
    verified = data(study("verify", "paint.json", "--json"), 3)
    assert verified["certificate"] == done["certificate"]
    assert verified["standing"] == done["standing"] == "proven if"
    assert data(study("verify", "paint", "--certificate", "paint.json", "--json"), 3)["verified"]
    said = study("verify", "paint")
    assert (said.returncode, said.stdout[:12]) == (3, "verified: if")
    assert said.stderr.count("warning: ") == len(done["warnings"])
    exported["certificate"]["statistic"] += 1
    (folder / "paint.json").write_text(json.dumps(exported))
    assert "the certificate says statistic" in refused(study("verify", "paint.json"), 1)

    assert study("export", "paint", "--out", "paint.html").returncode == 0
    assert done["certificate"]["log_digest"] in (folder / "paint.html").read_text()
    rows = study("export", "paint").stdout.splitlines()
    assert rows[0].startswith("id,arm,name,value")
    assert len(rows) == done["measurements"] + done["surplus"] + 1

    assert "--yes" in refused(study("delete", "paint"))
    assert data(study("delete", "paint", "--yes", "--json")) == {"deleted": "paint"}
    assert "there is none" in refused(study("show", "paint"))


def test_a_shell_loop(furthest, folder):
    """Every call a process of its own, as in the documentation's loop."""

    def study(*arguments):
        return furthest("study", *arguments)

    assert "fixed design" in study("create", "loop", "two.toml").stdout
    trial, arm, name = study("ask", "loop").stdout.strip().split("\t")
    assert name == "AB"[int(arm)]
    assert study("tell", "loop", trial, "1.5").stdout.strip() == f"{trial}: 1.5"
    shown = study("show", "loop").stdout
    assert "running" in shown
    assert "1 measured" in shown


def test_bad_input(study):
    study("create", "a", "two.toml")
    trial = study("ask", "a").stdout.split("\t")[0]
    study("tell", "a", trial, "0.5")
    assert "0.5 before, now 0.75" in refused(study("tell", "a", trial, "0.75"))
    assert "finite" in refused(study("tell", "a", trial, "nan"))
    assert "finite" in refused(study("tell", "a", trial, "-inf"))
    assert "not 'much'" in refused(study("tell", "a", trial, "much"))
    assert f"did you mean '{trial}'" in refused(study("tell", "a", trial + "x", "1"))
    assert "did you mean 'a'" in refused(study("show", "aa"))
    assert "already" in refused(study("create", "a", "two.toml"))
    assert "unknown storage" in refused(study("list", "--storage", "nowhere"))
    assert "unknown storage" in refused(study("list", FURTHEST_STORAGE="nowhere"))
    assert ".json, .csv or .html" in refused(study("export", "a", "--out", "a.txt"))
    assert "neither a file" in refused(study("create", "b", "three.toml"))
    assert "δ must be" in refused(study("create", "b", "two.toml", "--delta", "2"))
    refused(study("tell", "a", trial))


def test_telling_needs_no_compiler(study, python):
    """A shell loop should not wait for it."""
    study("create", "a", "two.toml")
    script = (
        "import sys; sys.argv = ['furthest', 'study', *sys.argv[1:]]\n"
        "from furthest.cli import main\n"
        "try: main()\n"
        "finally: print('numba' in sys.modules, file=sys.stderr)"
    )
    for arguments in (("add", "a", "A", "1"), ("list",), ("export", "a")):
        done = python("-c", script, *arguments)
        assert done.returncode == 0
        assert done.stderr.strip() == "False", arguments


def test_the_run_that_cannot_measure(study):
    study("create", "a", "two.toml")
    assert "10 measurements in a row failed" in refused(study("run", "a", "--exec", "false"), 1)
    assert data(study("run", "a", "--exec", "echo 1.0 #", "--limit", "2", "--json"))["state"] == (
        "running"
    )


@pytest.mark.parametrize("own", [None, "3"])
def test_a_command_may_have_threads_of_its_own(study, furthest, folder, monkeypatch, own):
    """How many furthest keeps to is no business of what it runs."""
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    environment = {} if own is None else {THREADS[0]: own}
    seen = f"import os; print(os.environ.get('{THREADS[0]}', 0))"
    (folder / "seen.py").write_text(seen)
    study("create", "a", "two.toml")
    command = ("run", "a", "--limit", "1", "--exec", f"'{sys.executable}' seen.py")
    assert furthest("study", *command, **environment).returncode == 0
    (measured,) = data(study("export", "a", "--json"))["measurements"]
    assert measured["value"] == float(own or 0)


@pytest.mark.skipif(not Path("/proc/self/task").exists(), reason="threads are counted in /proc")
def test_a_command_line_has_one_thread(python, study, monkeypatch):
    for name in THREADS:
        monkeypatch.delenv(name, raising=False)
    study("create", "a", "two.toml")
    script = (
        "import os, sys; from furthest.cli import main; sys.argv[:1] = ['furthest', 'study']\n"
        "try: main()\n"
        "finally: print(len(os.listdir('/proc/self/task')), file=sys.stderr)"
    )
    assert python("-c", script, "ask", "a").stderr.strip() == "1"


def test_show_says_what_results_wait_for(study):
    data(study("create", "paint", "two.toml", "--delta", "1e-9", "--json"))
    for arm in ("A", "B"):
        study("add", "paint", arm, "0")
    lost, other = data(study("ask", "paint", "-n", "2", "--worker", "lab 3", "--json"))
    study("tell", "paint", other["id"], "1")
    shown = " ".join(study("show", "paint", "--no-foresight").stdout.split())
    assert f"1 result cannot count before trial {lost['id']} (A), asked 0 minutes ago" in shown
    assert "by lab 3: tell it, or fail it" in shown


def test_names_cannot_forge_what_is_printed(study, folder):
    """Markup, escape sequences and line breaks in names are shown as what they are."""
    names = ["[/foo]", "a\nt-9\t1\tB", "\x1b[31mred", "[bold]b"]
    entries = ", ".join(json.dumps(name) for name in names)
    text = f"eps = 0.5\narms = [[1,0,0,0],[0,1,0,0],[0,0,1,0],[0,0,0,1]]\narm_names = [{entries}]\n"
    (folder / "names.toml").write_text(text)
    created = study("create", "[/foo] [bold]", "names.toml", "--delta", "0.1")
    assert created.returncode == 0, created.stderr
    asked = study("ask", "[/foo] [bold]", "-n", "4").stdout
    assert len(asked.splitlines()) == 4
    assert all(len(line.split("\t")) == 3 for line in asked.splitlines())
    for number, line in enumerate(asked.splitlines()):
        study("tell", "[/foo] [bold]", line.split("\t")[0], str(9.0 * (number == 2)))
    for command in (("show", "[/foo] [bold]", "--no-foresight"), ("list",)):
        shown = study(*command)
        assert shown.returncode == 0, shown.stderr
        assert "[/foo]" in shown.stdout
        assert "\x1b" not in shown.stdout
    shown = study("show", "[/foo] [bold]", "--no-foresight").stdout
    assert r"\x1b[31mred" in shown
    assert "[bold]b" in shown


def test_a_password_is_never_printed(study):
    url = "postgresql://me:secret%21word@localhost:1/nowhere?connect_timeout=2"
    for command in (("list",), ("ask", "a"), ("create", "a", "two.toml", "--json")):
        done = study(*command, "--storage", url)
        assert done.returncode != 0
        assert "secret" not in done.stdout + done.stderr
    done = study("list", "--storage", "postgresql://me:sec@ret@localhost/nowhere")
    assert "'postgresql://me:***@localhost/nowhere': an @ in the name" in done.stderr


def test_a_budget_from_the_shell(study, folder):
    refused(study("create", "a", "two.toml", "--budget", 0))
    created = study("create", "a", "two.toml", "--delta", 1e-9, "--budget", 6)
    assert created.returncode == 0
    trials = data(study("ask", "a", "-n", 9, "--json"))
    assert len(trials) == 6
    assert "6 of its trials are still out" in study("ask", "a").stderr
    assert study("ask", "a").returncode == 1
    for trial in trials:
        study("tell", "a", trial["id"], trial["arm"])
    shown = study("show", "a")
    assert "inconclusive: the budget of 6 is spent, A, B remain, proven" in shown.stdout
    assert "no answer is better than B by more than" in shown.stdout.replace("\n", " ")
    assert "0 % of the futures end within the 0 that the" in shown.stdout.replace("\n", " ")
    asked = study("ask", "a")
    assert asked.returncode == 1
    assert "is spent, and it has no answer; by now: with probability" in asked.stderr
    found = data(study("show", "a", "--no-foresight", "--json"))
    assert found["state"] == "inconclusive"
    assert found["conclusion"]["certified_eps"] > 0.5
    rows = data(study("list", "--json"))["studies"]
    assert [row["state"] for row in rows] == ["inconclusive"]
    assert "inconclusive" in study("list").stdout
    verified = study("verify", "a")
    assert verified.returncode == 0
    assert verified.stdout.startswith("verified: inconclusive: with probability")
    (folder / "found.json").write_text(json.dumps(found))
    assert study("verify", "a", "--certificate", "found.json").returncode == 0
    study("export", "a", "--out", "a.json")
    assert data(study("verify", "a.json", "--json"))["conclusion"] == found["conclusion"]
    study("export", "a", "--out", "a.html")
    assert "furthest · conclusion" in (folder / "a.html").read_text(encoding="utf-8")
    refused(study("extend", "a", "--budget", 5))
    assert data(study("extend", "a", "--budget", 8, "--json")) == {"name": "a", "budget": 8}
    assert data(study("show", "a", "--no-foresight", "--json"))["state"] == "running"
    measure = f"{sys.executable} measure.py"
    ended = data(study("run", "a", "--exec", measure, "--json"))
    assert ended["state"] == "inconclusive"
    assert ended["measurements"] == 8
    assert study("verify", "a", "--certificate", "found.json").returncode == 0
