"""What is compiled is said once, remembered, and can be had beforehand."""

import builtins
import json
import os
import sys
import threading

import numba
import pytest

import furthest as ft
from furthest import beforehand, cli, compiling, sampling, simulation, stopping, watching
from furthest.compiling import announced, words
from furthest.preparation import prepare
from furthest.workers import spread

# The rule and the test that are compiled soonest.
SIMULATED = ("simulate", "hard", "--sampling", "uniform", "--stopping", "glr", "--runs", "2")
SIMULATE = """
import furthest as ft
instance, strategy = ft.hard(), ft.Strategy("uniform", stopping="glr")
ft.simulate(instance.problem, instance.mu, strategy, runs=2)
"""
# All that the rule is used for: how much of it has to be compiled.
WORK = """
import furthest as ft
from furthest.compiling import Counter

counter = Counter()
with counter.listening():
    for stopping in ("glr", None):
        strategy = ft.Strategy("uniform", stopping=stopping)
        for sigma in (1.0, None):
            problem = ft.Problem([[1, 0], [0, 1], [1, 2]], eps=0.2, sigma=sigma)
            ft.simulate(problem, [1, 2], strategy, [0.1, 0.01], runs=2, max_rounds=100, quiet=True)
            study = ft.Study.create(f"{stopping} {sigma}", problem, strategy=strategy)
            for value in (0.4, 1.1, 3.2, 0.5, 1.3, 2.9):
                study.tell(study.ask(), value)
                study.status()
            study.foresight(5)
print(counter.kernels)
"""
WHAT = "compiling uniform with glr mixture for this machine, once"

on_posix = pytest.mark.skipif(os.name != "posix", reason="needs a terminal, or forks")


def compile_something():
    """A function that nobody has compiled before."""
    assert numba.njit(lambda x: x + 1)(1) == 2


@pytest.fixture
def record(tmp_path, monkeypatch):
    """A folder for the record of this process, and how it is read."""
    monkeypatch.setattr(compiling, "folder", lambda: tmp_path)
    return lambda: json.loads((tmp_path / compiling.RECORD).read_text("utf-8"))


def empty(folder):
    """Forget the machine code, but not the record."""
    files = list(folder.rglob("*.nb[ci]"))
    assert files
    for file in files:
        file.unlink()


def said(capfd):
    out, err = capfd.readouterr()
    assert not out
    return err.splitlines()


def test_a_command_says_it_once_and_how_long_it_took(own_machine_code, furthest):
    first = furthest(*SIMULATED, "--json")
    assert first.stderr == f"{WHAT}: some seconds\n"
    assert json.loads(first.stdout)["runs"] == 2
    [file] = own_machine_code.rglob(compiling.RECORD)
    [(what, taken)] = json.loads(file.read_text("utf-8")).items()
    assert what == "uniform with glr mixture"
    assert taken["kernels"] > 10
    assert taken["seconds"] > 0
    assert not furthest(*SIMULATED, "--json").stderr
    empty(own_machine_code)
    again = furthest(*SIMULATED, "--json")
    assert again.stderr == f"{WHAT}; it took {max(1, round(taken['seconds']))} s here last time\n"
    assert again.stdout.count("\n") == 1


@on_posix
def test_python_says_it_where_somebody_watches(own_machine_code, python, on_a_terminal):
    alone = python("-c", SIMULATE)
    assert (alone.returncode, alone.stdout, alone.stderr) == (0, "", "")
    assert not on_a_terminal("-c", SIMULATE)
    empty(own_machine_code)
    shown = on_a_terminal("-c", SIMULATE)
    line, _, display = shown.partition("\r\n")
    assert line.startswith(f"{WHAT}; it took ")
    assert WHAT not in display
    assert "compiling uniform with glr mixture" in display
    assert display.endswith("\x1b[2K")  # nothing is left


def test_machine_code_beforehand(own_machine_code, python, furthest):
    done = furthest("compile", "uniform", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    data = json.loads(done.stdout)
    assert data["folder"].startswith(str(own_machine_code))
    assert [row["kernels"] > 0 for row in data["compiled"]] == [True] * 3
    counted = python("-c", WORK)
    assert (counted.stdout, counted.stderr) == ("0\n", "")
    again = furthest("compile", "uniform")
    assert again.stdout.startswith("0 compiled (0 kernels, ")
    assert "3 there already" in again.stdout


def test_blocks_within_blocks_say_nothing(record, capfd):
    with announced("all", said=True):
        with announced("one", said=True):
            compile_something()
        with announced("two"):
            compile_something()
        compile_something()
    assert said(capfd) == ["compiling all for this process: some seconds"]
    taken = record()["all"]
    assert taken["kernels"] == 3
    with announced("all", said=True):
        pass
    assert not said(capfd)
    with announced("all", said=True):
        compile_something()
    seconds = max(1, round(taken["seconds"]))
    assert said(capfd) == [f"compiling all for this process; it took {seconds} s here last time"]
    assert record()["all"] == taken  # what was only a rest of it does not count as the whole


def test_nobody_is_told_who_does_not_watch(record, capfd):
    with announced("something"):
        compile_something()
    with announced("quiet", said=False), announced("nested", said=True):
        compile_something()
    assert not said(capfd)
    assert set(record()) == {"something", "quiet"}


def test_an_error_ends_the_call(record, capfd):
    with pytest.raises(ZeroDivisionError), announced("one", said=True):
        compile_something()
        _ = 1 // 0
    with announced("two", said=True):
        compile_something()
    assert [line.split()[1] for line in said(capfd)] == ["one", "two"]


def test_threads_share_a_call(record, capfd):
    inside, leave = threading.Event(), threading.Event()

    def work():
        with announced("theirs", said=True):
            inside.set()
            leave.wait()
            compile_something()

    thread = threading.Thread(target=work)
    with announced("mine", said=True):
        thread.start()
        inside.wait()
        compile_something()
    leave.set()
    thread.join()
    assert said(capfd) == ["compiling mine for this process: some seconds"]
    assert record()["mine"]["kernels"] == 2


@pytest.mark.parametrize("content", ["", "[", "[1]", '{"x": 1}', '{"x": {"seconds": "?"}}', "\0"])
def test_a_damaged_record_is_done_without(record, capfd, tmp_path, content):
    (tmp_path / compiling.RECORD).write_text(content, "utf-8")
    with announced("x", said=True):
        compile_something()
    assert said(capfd) == ["compiling x for this process: some seconds"]
    assert record()["x"]["kernels"] == 1


@pytest.mark.parametrize("place", ["nowhere", "file/folder", None])
def test_without_a_place_nothing_is_remembered(monkeypatch, tmp_path, capfd, place):
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(compiling, "folder", lambda: tmp_path / place if place else None)
    for _ in range(2):
        with announced("x", said=True):
            compile_something()
    assert said(capfd) == ["compiling x for this process: some seconds"] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["file"]


def test_only_the_latest_are_remembered(record, monkeypatch):
    monkeypatch.setattr(compiling, "MOST", 2)
    for what in "abca":
        with announced(what):
            compile_something()
    assert list(record()) == ["c", "a"]


def test_a_closed_standard_error_harms_nobody(record, monkeypatch, capfd):
    for stream in (None, open(os.devnull)):  # noqa: PTH123, SIM115
        monkeypatch.setattr(sys, "stderr", stream)
        with announced("x", said=True):
            compile_something()
    stream.close()
    with announced("x", said=True):
        compile_something()
    monkeypatch.undo()
    assert not said(capfd)


@on_posix
def test_a_forked_worker_says_nothing(record, capfd):
    with announced("x", said=True):
        found: dict[int, None] = {}
        spread(compile_something, [(), ()], found.__setitem__, jobs=2)
    assert found == {0: None, 1: None}
    assert not said(capfd)


DISPLAYS = """
import numba
from furthest import bars, compiling

def compile_something():
    numba.njit(lambda x: x)(1)

compiling.folder = lambda: None
"""


@on_posix
def test_the_display_goes_on_and_names_what_is_compiled(on_a_terminal):
    shown = on_a_terminal(
        "-c",
        DISPLAYS + "with compiling.announced('all'):\n"
        "    for what in ('one', 'two'):\n"
        "        with compiling.announced(what): compile_something()\n",
    )
    line, _, display = shown.partition("\r\n")
    assert line == "compiling all for this process: some seconds"
    assert "compiling all" not in display
    assert 0 < display.index("compiling one") < display.index("compiling two")
    assert display.endswith("\x1b[2K")


@on_posix
def test_a_display_that_is_there_takes_it_in(on_a_terminal):
    shown = on_a_terminal(
        "-c",
        DISPLAYS + "with bars.bar('runs', 3) as bar:\n"
        "    bar.update(done=2, text='of mine')\n"
        "    with compiling.announced('[b]'): compile_something()\n",
    )
    line, _, display = shown.partition("\r\n")
    assert line.endswith("compiling [b] for this process: some seconds")
    assert "compiling [b] " in display
    assert "2/3" in display
    assert "of mine" in display
    assert display.endswith("\x1b[2K")
    assert shown.count("\x1b[?25l") == 1  # one display hides the cursor


@on_posix
def test_a_later_bar_joins_the_display(on_a_terminal):
    shown = on_a_terminal(
        "-c",
        DISPLAYS + "with compiling.announced('x'):\n"
        "    compile_something()\n"
        "    with bars.bar('runs', 3): compile_something()\n"
        "    compile_something()\n"
        "assert bars._screen._display is None\n",
    )
    assert shown.index("compiling x") < shown.index("runs") < shown.rindex("compiling x")
    assert shown.count("\x1b[?25l") == 1
    assert shown.endswith("\x1b[2K")


class ZMQInteractiveShell:
    """What a notebook's kernel is called."""


@pytest.mark.filterwarnings("error")
def test_a_notebook_is_somebody_who_watches(record, monkeypatch, capfd):
    assert not watching.in_notebook()
    monkeypatch.setattr(builtins, "get_ipython", ZMQInteractiveShell, raising=False)
    assert watching.in_notebook()
    # Without widgets there is no display, and no complaint.
    monkeypatch.setattr("furthest.bars.find_spec", lambda _: None)
    with announced("x"):
        compile_something()
    assert said(capfd) == ["compiling x for this process: some seconds"]


def test_what_is_compiled_in_words():
    strategy = ft.Strategy("uniform", "furthest", threshold="paper")
    assert words(strategy) == "uniform with glr paper for the exact candidate"
    assert words(ft.Strategy()) == "softmin with ranked"
    assert words(ft.Strategy(stopping=stopping.find("gap", "theory"))) == "softmin with gap"


def test_with_quiet_nothing_is_said(record, monkeypatch, capfd):
    monkeypatch.setattr(compiling, "is_watched", lambda: True)
    warm_up = simulation.warm_up

    def compiles(job):
        compile_something()
        warm_up(job)

    monkeypatch.setattr(simulation, "warm_up", compiles)
    instance = ft.hard()
    question = (instance.problem, instance.mu, ft.Strategy("uniform", stopping="glr"))
    ft.simulate(*question, runs=1, quiet=True)
    assert not said(capfd)
    ft.simulate(*question, runs=1)
    [line] = said(capfd)
    assert line.startswith("compiling uniform with glr mixture ")


def run(capfd, monkeypatch, *arguments):
    """The command line, in this process: exit code, output and lines on standard error."""
    monkeypatch.setattr(sys, "argv", ["furthest", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    out, err = capfd.readouterr()
    return end.value.code or 0, out, err.splitlines()


@pytest.mark.parametrize(
    ("arguments", "what"),
    [
        (("demo", "--runs", "2"), "what the demo needs"),
        (
            ("compare", "hard", "--runs", "2", "--sampling", "lebai,uniform", "--json"),
            "the exact solver and lebai, uniform with ranked",
        ),
    ],
)
def test_one_line_for_a_command_with_many_strategies(
    record, monkeypatch, capfd, tmp_path, arguments, what
):
    monkeypatch.chdir(tmp_path)
    warm_up, seen = simulation.warm_up, []

    def compiles(job):
        seen.append(words(job.strategy))
        compile_something()
        warm_up(job)

    monkeypatch.setattr(simulation, "warm_up", compiles)
    code, out, lines = run(capfd, monkeypatch, *arguments)
    assert code == 0
    assert len(seen) > 1
    [line] = lines
    assert line.startswith(f"compiling {what} for this ")
    assert "compiling" not in out
    if "--json" in arguments:
        assert json.loads(out)["instance"] == "hard"


def state_types(strategy, problem):
    """What decides about machine code of its own: the types of all states."""
    return numba.typeof(prepare(strategy, problem.task, [0.1], None, problem.smoothness).start())


def test_everything_leaves_nothing_out():
    covered = {
        (state_types(piece.strategy, piece.problem), piece.strategy.stopping)
        for piece in beforehand.everything()
        if piece.strategy is not None
    }
    plain = [ft.Problem.options(["A", "B"], sigma=sigma) for sigma in (1.0, None)]
    plain.append(ft.hard().problem)
    bounded = ft.Problem.spectral([(0, 1), (1, 2), (2, 3)], 0.5, notion="multiplicative", eps=0.1)
    yes_no = ft.Problem.options(["A", "B"], noise="bernoulli")
    features = ft.Problem([[1, 0], [0, 1], [0.5, 0.5]], noise="bernoulli")
    default = ft.Strategy()
    seen = {(state_types(default, each), default.stopping) for each in (yes_no, features)}
    for rule in sampling.MODULES:
        for test in stopping.MODULES:
            for threshold, version in stopping.versions(test).items():
                if version.sampling not in (None, rule):
                    continue
                for candidate in ("instantaneous-furthest", "furthest", "greedy"):
                    questions = [bounded] if version.needs_bound else [*plain, bounded]
                    for problem in [yes_no] if version.bounded_only else questions:
                        if problem.sigma is None and version.unknown_sigma is None:
                            continue
                        weights = {"weights": [1] * len(problem.arms)} if rule == "fixed" else {}
                        strategy = ft.Strategy(rule, candidate, test, threshold, options=weights)
                        seen.add((state_types(strategy, problem), test))
    assert seen == covered
    names = [piece.what for piece in beforehand.everything()]
    assert len(names) == len(set(names)) == len(covered) + 2
    assert {"the exact solver", "the exact solver within a bound"} < set(names)
    assert {piece.what for piece in beforehand.default()} < set(names)
    assert {piece.what for piece in beforehand.of_rules(["uniform", "fws"])} < set(names)


def test_an_interrupted_command_keeps_what_is_done(monkeypatch, capfd):
    def compiled(piece):
        if piece.what != "uniform with ranked":
            raise KeyboardInterrupt
        return beforehand.Compiled(piece.what, 5, 1.5)

    monkeypatch.setattr(beforehand, "compiled", compiled)
    code, out, _ = run(capfd, monkeypatch, "compile", "uniform", "--json")
    assert code in {1, 130}  # some versions of typer have their own
    [row] = json.loads(out)["compiled"]
    assert row == {"what": "uniform with ranked", "kernels": 5, "seconds": 1.5}
    code, out, _ = run(capfd, monkeypatch, "compile", "uniform")
    assert code in {1, 130}
    assert "uniform with ranked" in out
    assert "1 compiled (5 kernels, " in out


def compiled_elsewhere(piece):
    return beforehand.Compiled(piece.what, os.getpid(), 0.0)


@on_posix
def test_several_processes_compile_at_once(monkeypatch, capfd):
    monkeypatch.setattr(beforehand, "compiled", compiled_elsewhere)
    code, out, lines = run(capfd, monkeypatch, "compile", "--all", "--jobs", "2", "--json")
    assert (code, lines) == (0, [])
    rows = json.loads(out)["compiled"]
    assert {row["what"] for row in rows} == {piece.what for piece in beforehand.everything()}
    assert os.getpid() not in {row["kernels"] for row in rows}


def test_what_cannot_be_compiled_beforehand(monkeypatch, capfd, tmp_path):
    for arguments, reason in (
        (("lebay",), "did you mean 'lebai'"),
        (("uniform", "--all"), "not both"),
        (("--jobs", "0"), "--jobs"),
    ):
        code, out, [line] = run(capfd, monkeypatch, "compile", *arguments)
        assert (code, out) == (2, "")
        assert reason in line
    for place in (None, tmp_path / "nowhere"):
        monkeypatch.setattr(compiling, "folder", lambda place=place: place)
        code, out, [line] = run(capfd, monkeypatch, "compile")
        assert (code, out) == (1, "")
        assert "set NUMBA_CACHE_DIR" in line
