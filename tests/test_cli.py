"""The command line: as real processes, and for many bad inputs inside this one."""

import contextlib
import csv
import io
import json
import math
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from furthest import cli, complexity, instances, sampling, simulate, simulation
from furthest.cli import compare, rules
from furthest.files import write_problem
from furthest.problem import Problem
from furthest.strategy import Strategy

# DESIGN: relied on by others; may be extended, not renamed.
KEYS = {"instance", "strategy", "runs", "steps", "seconds", "results"}
RESULT_KEYS = {
    "delta", "mean", "std", "sem", "median", "q05", "q95", "errors", "error_rate", "unstopped",
    "pulls",
}  # fmt: skip
QUICK = ("--sampling", "uniform", "--threshold", "paper", "--runs", "5")


def test_help_is_quick_to_load(python):
    process = python("-X", "importtime", "-m", "furthest", "--help")
    assert process.returncode == 0
    assert "simulate" in process.stdout
    loaded = {line.rsplit("|", 1)[-1].strip() for line in process.stderr.splitlines()}
    assert "furthest.cli" in loaded
    assert not loaded.intersection({"numba", "numpy", "scipy", "matplotlib"})


@pytest.mark.parametrize("command", ["simulate", "rules", "demo"])
def test_every_command_has_help(furthest, command):
    process = furthest(command, "--help")
    assert process.returncode == 0
    assert not process.stderr
    assert len(process.stdout.splitlines()) > 5


def test_no_command_shows_the_help(furthest):
    process = furthest()
    assert process.returncode == 0
    assert "simulate" in process.stdout


def test_simulate_as_json(furthest):
    process = furthest("simulate", "hard", "--delta", "0.1", "--delta", "0.01", "--json", *QUICK)
    assert process.returncode == 0, process.stderr
    data = json.loads(process.stdout)
    assert set(data) >= KEYS
    assert data["instance"] == "hard"
    assert data["runs"] == 5
    assert data["strategy"]["sampling"] == "uniform"
    assert "heuristic" in data["strategy"]["guarantee"]
    assert data["seconds"] > 0
    assert [set(row) >= RESULT_KEYS for row in data["results"]] == [True, True]
    assert [row["delta"] for row in data["results"]] == [0.1, 0.01]
    instance = instances.hard()
    expected = simulate(
        instance.problem,
        instance.truth,
        Strategy("uniform", threshold="paper"),
        [0.1, 0.01],
        runs=5,
    )
    for row, summary in zip(data["results"], expected.summary(), strict=True):
        assert row["mean"] == summary.mean
        assert row["pulls"] == summary.pulls
    assert data["steps"] == expected.steps


def test_json_is_the_only_thing_on_standard_output(furthest):
    process = furthest("simulate", "hard", "--json", *QUICK)
    assert process.stdout.count("\n") == 1
    assert json.loads(process.stdout)["results"][0]["delta"] == 0.01


def test_simulate_as_a_table(furthest):
    process = furthest("simulate", "hard", *QUICK)
    assert process.returncode == 0, process.stderr
    for words in (
        "multiplicative ε = 0.05",
        "uniform",
        "heuristic",
        "mean ± s.e.",
        "e1",
        "outside",
    ):
        assert words in process.stdout


def test_workers_and_seeds(furthest):
    process = furthest("simulate", "hard", "--json", *QUICK, "--jobs", "2", "--seed", "1")
    instance, strategy = instances.hard(), Strategy("uniform", threshold="paper")
    one, other = (
        simulate(instance.problem, instance.truth, strategy, runs=5, seed=seed).summary()[0].mean
        for seed in (1, 0)
    )
    assert json.loads(process.stdout)["results"][0]["mean"] == one != other


def test_problem_files(furthest, tmp_path):
    problem = Problem([[1, 0], [0, 1]], eps=0.4, arm_names=["A", "B"])
    write_problem(problem, tmp_path / "mine.toml")
    arguments = ("simulate", "mine.toml", "--mu", "1,0.25", "--json", *QUICK)
    process = furthest(*arguments)
    assert process.returncode == 0, process.stderr
    found = json.loads(process.stdout)
    assert found["instance"] == "mine.toml"
    strategy = Strategy("uniform", threshold="paper")
    expected = simulate(problem, [1, 0.25], strategy, runs=5).summary()[0]
    assert found["results"][0]["mean"] == expected.mean
    # μ from the file; ε and notion from the command line.
    write_problem(problem, tmp_path / "mine.csv", [1, 0.25])
    process = furthest(
        "simulate", "mine.csv", "--eps", "0.8", "--notion", "multiplicative", "--json", *QUICK
    )
    other = Problem([[1, 0], [0, 1]], eps=0.8, notion="multiplicative")
    expected = simulate(other, [1, 0.25], strategy, runs=5).summary()[0]
    assert json.loads(process.stdout)["results"][0]["mean"] == expected.mean


def test_every_run_to_a_file(furthest, tmp_path):
    process = furthest("simulate", "hard", "--out", "runs.csv", "--json", *QUICK)
    assert process.returncode == 0, process.stderr
    with (tmp_path / "runs.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 5
    mean = np.mean([int(row["stopping_time"]) for row in rows])
    assert json.loads(process.stdout)["results"][0]["mean"] == pytest.approx(mean)


def test_the_documented_catalogue_is_the_real_one():
    """Made by `furthest rules --markdown > docs/rules.md`."""
    page = Path(__file__).parent.parent / "docs" / "rules.md"
    assert page.read_text(encoding="utf-8") == rules.markdown()


def test_rules(furthest):
    process = furthest("rules", "--json")
    assert process.returncode == 0, process.stderr
    data = json.loads(process.stdout)
    names = {axis: {part["name"] for part in table} for axis, table in data.items()}
    assert names["sampling"] >= {"lebai", "fixed", "uniform"}
    assert names["threshold"] >= {"mixture", "theory", "paper"}
    assert names["schedule"] == {"every", "sticky", "lazy"}
    assert names["grid"] == {"constant", "geometric", "decreasing", "bernoulli"}
    proven = {part["name"]: part["proven"] for part in data["threshold"]}
    assert proven["mixture"]
    assert proven["theory"]
    assert not proven["paper"]
    table = furthest("rules")
    assert table.returncode == 0
    assert "mixture" in table.stdout


def test_demo(furthest, tmp_path):
    process = furthest("demo", "--runs", "20", "--out", "pictures/demo.png")
    assert process.returncode == 0, process.stderr
    picture = (tmp_path / "pictures" / "demo.png").read_bytes()
    assert picture.startswith(b"\x89PNG\r\n\x1a\n")
    assert len(picture) > 10_000
    for words in ("LεBAI", "uniform", "inside", "errors"):
        assert words in process.stdout
    assert len(process.stdout.splitlines()) <= 24


REAL_BAD_INPUTS = [
    (("simulate", "hrad"), "did you mean 'hard'"),
    (("simulate",), "INSTANCE"),
    (("simulat", "hard"), "simulat"),
    (("simulate", "hard", "--runs", "many"), "--runs"),
    (("simulate", "hard", "--sampling", "lebay"), "did you mean 'lebai'"),
    (("simulate", "bad.toml"), "not valid TOML"),
    (("simulate", "hard", "--sampling", "fixed", "--option", "weights=1,2"), "one weight per arm"),
]


@pytest.mark.parametrize(("arguments", "words"), REAL_BAD_INPUTS)
def test_bad_input_to_a_real_process(furthest, tmp_path, arguments, words):
    (tmp_path / "bad.toml").write_text("arms = [[1,")
    process = furthest(*arguments)
    assert process.returncode == 2
    assert not process.stdout
    lines = process.stderr.splitlines()
    assert len(lines) == 1
    assert lines[0].startswith("furthest: ")
    assert words in lines[0]


def with_file(name, content):
    return name, content if isinstance(content, bytes) else content.encode()


ARMS = "arms = [[1, 0], [0, 1]]\nmu = [1, 0]\n"
BAD_INPUTS = [
    ("hard --runs 0", "runs"),
    ("hard --jobs 0", "jobs"),
    ("hard --seed -1", "seed"),
    ("hard --max-rounds 0", "max-rounds"),
    ("hard --speed 3", "--speed"),
    ("hard --delta 0", "δ must be between 0 and 1"),
    ("hard --delta 1", "δ must be between 0 and 1"),
    ("hard --delta nan", "δ must be between 0 and 1"),
    ("hard --delta small", "--delta"),
    ("hard --eps 0", "ε"),
    ("hard --eps 2", "ε"),
    ("hard --eps nan", "ε"),
    ("random --eps -1", "ε"),
    ("circle --eps 3", "ε"),
    ("hard --sigma 0", "σ must be positive"),
    ("hard --sigma nan", "σ"),
    ("hard --notion aditive", "did you mean 'additive'"),
    ("hard --candidate best", "candidate"),
    ("hard --stopping never", "stopping"),
    ("hard --threshold high", "threshold"),
    ("hard --schedule weekly", "schedule"),
    ("hard --schedule lazy:constant,start=inf", "start"),
    ("hard --schedule lazy:constant,start=1e30", "start"),
    ("hard --tracking E", "tracking"),
    ("hard --sampling uniform --tracking D", "no choice of tracking"),
    ("hard --option forced", "name=value"),
    ("hard --sampling lebai --option force=true", "did you mean 'forced'"),
    ("hard --option forced=abc", "forced"),
    ("hard --option forced=3", "forced"),
    ("hard --sampling lebai --option z_oracle=1", "Z-oracle"),
    ("hard --sampling lebai --option z_oracle=best", "Z-oracle"),
    ("hard --sampling fixed --option weights=a,b", "weight"),
    ("hard --sampling fixed --option weights=0,0,0,0", "not all zero"),
    ("hard --sampling fixed --option weights=1,nan,1,1", "finite"),
    ("hard --mu 1", "2 entries"),
    ("hard --mu 1,x", "'x' is not a number"),
    ("hard --mu 1,nan", "NaN"),
    ("hard --mu 1,", "not a number"),
    ("hard --mu=-1,0", "positive"),
    ("hard:d=two", "d must be"),
    ("hard:d=1", "d ≥ 2"),
    ("random:seed=-1", "seed"),
    ("circle:seed=-1", "seed"),
    ("hard --out runs.txt", ".csv or .parquet"),
    (".", "neither a file nor a known instance"),
    ("missing.toml", "neither a file nor a known instance"),
    (with_file("p.toml", ARMS + "epsilon = 1"), "did you mean 'eps'"),
    (with_file("p.toml", ARMS + "eps = 'x'"), "ε must be a number"),
    (with_file("p.toml", "arms = [[1, 0], [0, 1]]"), "--mu"),
    (with_file("p.toml", "arms = [[1, 0], [0, 1]]\nmu = 'abc'"), "μ|mu"),
    (with_file("p.toml", ARMS + "arm_names = 3"), "names"),
    (with_file("p.toml", "arms = [[1, 0]]\nmu = [1, 0]"), "two answers"),
    (with_file("p.toml", "arms = [[1, 0], [nan, 1]]\nmu = [1, 0]"), "nan"),
    (with_file("p.toml", "arms = [[1, 0]]\nanswers = [[1, 0], [0, 1]]\nmu = [1, 0]"), "span"),
    (with_file("p.toml", "eps = 0\narms = [[1, 0], [1, 0]]\nmu = [1, 0]"), "equal"),
    (with_file("p.toml", b"\xff\xfe"), "p.toml"),
    (with_file("p.csv", "x,y\n1,0\n0\n"), "row 2"),
    (with_file("p.csv", "x,y\n1,0,3\n0,1\n"), "row 1"),
    (with_file("p.csv", "x,y\n1,0\n0,one\n"), "one"),
    (with_file("p.npz", b"PK\x03\x04 not an archive"), "NumPy"),
    (with_file("p.json", "{}"), "file format"),
]


@pytest.mark.parametrize(("what", "words"), BAD_INPUTS)
def test_bad_input(what, words, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    if isinstance(what, tuple):
        name, content = what
        (tmp_path / name).write_bytes(content)
        what = name
    arguments = ["furthest", "simulate", *what.split()]
    if "--runs" not in what:
        arguments += ["--runs", "1"]
    monkeypatch.setattr(sys, "argv", arguments)
    with pytest.raises(SystemExit) as left:
        cli.main()
    output = capsys.readouterr()
    assert left.value.code == 2
    assert not output.out
    assert output.err.startswith("furthest: ")
    assert output.err.count("\n") == 1
    assert any(word in output.err for word in words.split("|"))


def test_a_file_that_cannot_be_written_is_no_traceback_either(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "missing").write_text("a file where a folder is needed")
    monkeypatch.setattr(
        sys, "argv", ["furthest", "simulate", "hard", *QUICK, "--out", "missing/runs.csv"]
    )
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert left.value.code in (1, 2)
    complaint = capsys.readouterr().err
    assert complaint.count("\n") == 1
    assert "missing" in complaint


def test_an_interrupted_comparison_says_so(monkeypatch, capsys):
    def interrupted(function, calls, keep, **_):
        keep(0, function(*calls[0]))
        raise KeyboardInterrupt

    monkeypatch.setattr(simulation, "spread", interrupted)
    words = ["compare", "hard", "--sampling", "uniform,lebai", "--threshold", "paper"]
    monkeypatch.setattr(sys, "argv", ["furthest", *words, "--runs", "50", "--jobs", "2"])
    with pytest.raises(SystemExit) as left:
        cli.main()
    assert not left.value.code
    shown = capsys.readouterr().out
    assert "uniform: interrupted after" in shown
    assert "lebai" not in shown


def test_unstopped_runs_are_reported(furthest):
    process = furthest("simulate", "hard", "--max-rounds", "30", "--json", *QUICK)
    row = json.loads(process.stdout)["results"][0]
    assert (row["unstopped"], row["mean"], row["errors"]) == (5, 30.0, 0)
    assert not math.isnan(row["std"])


def test_cut_off_runs_are_told_on_standard_output_too(furthest):
    process = furthest("simulate", "hard", "--max-rounds", "30", *QUICK)
    assert "5 of 5 runs did not stop within 30 measurements" in process.stdout
    assert not process.stderr


FOUR = """
eps = 0.015
arms = [[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 0], [0, 0, 0, 1]]
mu = [0.10, 0.08, 0.05, 0.05]
"""


def test_unknown_sigma_asks_for_the_noise_to_expect(furthest, tmp_path):
    (tmp_path / "four.toml").write_text(FOUR)
    unknown = ("four.toml", "--sigma", "unknown")
    for command in ("plan", "complexity"):
        process = furthest(command, *unknown)
        assert process.returncode == 2
        assert "σ is unknown: say what noise to expect" in process.stderr
    told, expected = (
        json.loads(furthest("complexity", "four.toml", "--json", *more).stdout)
        for more in (("--sigma", "0.03"), ("--sigma", "unknown", "--noise", "0.03"))
    )
    assert expected["T"] == pytest.approx(told["T"], rel=1e-6)
    assert expected["noise"] == 0.03
    quick = ("--sampling", "uniform", "--runs", "20", "--delta", "0.1")
    process = furthest("plan", *unknown, "--noise", "0.03", "--json", *quick)
    data = json.loads(process.stdout)
    assert data["noise"] == data["complexity"]["noise"] == 0.03
    assert data["results"][0]["limit"] < data["results"][0]["mean"] < 1000
    process = furthest("plan", *unknown, "--noise", "0.03", *quick)
    assert "noise 0.03 assumed" in process.stdout


def test_the_noise_that_is_simulated_is_told(furthest):
    unknown, told, given, usual = (
        furthest("simulate", "hard", "--max-rounds", "40", *QUICK, *more).stdout
        for more in (
            ("--sigma", "unknown", "--threshold", "mixture"),
            ("--sigma", "unknown", "--threshold", "mixture", "--noise", "2"),
            ("--noise", "0.5"),
            (),
        )
    )
    assert "noise 1 assumed: say with --noise what to expect" in unknown
    assert "noise 2 assumed" in told
    assert "noise 0.5 simulated; the rules are told σ = 1" in given
    assert "noise" not in usual
    names = ("compare", "hard", "--sampling", "uniform", "--runs", "2", "--threshold", "mixture")
    process = furthest(*names, "--sigma", "unknown", "--max-rounds", "40")
    assert "noise 1 assumed" in process.stdout
    assert "uniform: 2 of 2 runs did not stop" in process.stdout


def rows(text):
    return [line.split("│")[1].strip() for line in text.splitlines() if line.startswith("│")]


def test_names_are_whole_on_a_narrow_terminal(furthest, monkeypatch):
    """All rules, without compiling them: what is shown is made of one simulation."""
    names = set(sampling.MODULES)
    shown = furthest("rules", COLUMNS="80").stdout
    assert names <= set(rows(shown))
    assert "…" not in shown
    monkeypatch.setenv("COLUMNS", "80")
    instance = instances.hard(d=6)
    result = simulate(
        instance.problem, instance.truth, Strategy("uniform", threshold="paper"), runs=3
    )
    long = replace(result, stopping_times=result.stopping_times + 1_000_000)
    price = complexity(instance.problem, instance.truth)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        compare._show(instance, price, dict.fromkeys(sorted(names), long), 0.1, None)
    found = rows(output.getvalue())
    assert names <= set(found)
    assert {len(line) for line in output.getvalue().splitlines()} <= set(range(81))
    # 5 % … 95 % is not cut either.
    assert output.getvalue().count("…") == len(names) + 1


def test_a_prior_obeys_its_cap_on_any_number_of_workers(furthest):
    plan = ("plan", "hard", "--spread", "0.3", "--runs", "6", "--sampling", "uniform")
    process = furthest(*plan, "--threshold", "mixture", "--max-rounds", "7", "--json")
    assert process.returncode == 0, process.stderr
    data = json.loads(process.stdout)
    assert data["prior"]["spread"] == 0.3
    assert [row["q95"] for row in data["results"]] == [7, 7]
    several = furthest(
        *plan, "--threshold", "mixture", "--max-rounds", "7", "--json", "--jobs", "2"
    )
    assert json.loads(several.stdout) | {"seconds": 0} == data | {"seconds": 0}
