"""How things show themselves: short in a terminal, safe and self-contained in a notebook."""

import math
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

import furthest as ft
from furthest import display

NASTY = "<script>alert('&')</script>"


class Reader(HTMLParser):
    """Collects text and the rows of tables; complains of tags that are not closed."""

    def __init__(self):
        super().__init__()
        self.open, self.text, self.rows = [], [], []

    def handle_starttag(self, tag, attributes):
        assert tag in {"div", "strong", "span", "table", "thead", "tbody", "tr", "th", "td"}
        assert {name for name, _ in attributes} <= {"style"}
        assert not any("url(" in value for _, value in attributes)
        self.open.append(tag)
        if tag == "tr":
            self.rows.append([])
        if tag in ("td", "th"):
            self.rows[-1].append("")

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)
        if "td" in self.open or "th" in self.open:
            self.rows[-1][-1] += data


def read(thing):
    """Text and table rows of what a notebook shows."""
    reader = Reader()
    reader.feed(thing if isinstance(thing, str) else thing._repr_html_())
    assert reader.open == []
    return " ".join(reader.text), reader.rows


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (7, "7"),
        (0.123456, "0.1235"),
        (999.94, "999.9"),
        (1000, "1,000"),
        (-12345.6, "-12,346"),
        (1e20, "1e+20"),
        (math.inf, "∞"),
        (-math.inf, "−∞"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_figures(value, text):
    assert display.figure(value) == text


def test_cells_are_escaped_and_numbers_stand_on_the_right():
    html = display.card(
        NASTY,
        display.line(NASTY, "warning"),
        display.table((NASTY, "n"), [[NASTY, 3], [display.Toned(NASTY, "good"), None]]),
    )
    text, rows = read(html)
    assert text.count(NASTY) == 5
    assert rows == [[NASTY, "n"], [NASTY, "3"], [NASTY, "–"]]
    assert html.count("text-align:right") == 3
    assert display.table(("a",), []) == ""


def test_long_tables_are_cut():
    text, rows = read(display.card("t", display.table(("n",), [[i] for i in range(100)])))
    assert len(rows) == display.ROWS + 1
    assert f"and {100 - display.ROWS} more" in text
    text, _ = read(display.card("t", display.table(("n",), [[1]], total=1234)))
    assert "and 1,233 more" in text


def test_bars_stay_within_their_cell():
    for share, width in ((0.5, "4.50em"), (-1, "0.00em"), (7, "9.00em")):
        assert f"width:{width}" in display.table(("",), [[display.Bar(share)]])


QUESTIONS = [
    (ft.hard(eps=0.05).problem, ft.hard(eps=0.05).problem.in_words),
    (
        ft.Problem(np.eye(4)[:, :4], eps=0.05, notion="multiplicative"),
        "4 arms, 4 answers, d = 4, multiplicative ε = 0.05, σ = 1",
    ),
    (ft.Problem(np.eye(2), sigma=None), "2 arms, 2 answers, d = 2, additive ε = 0.05, σ unknown"),
    (
        ft.Problem.options(["A", "B"], eps=0.01, bounds=(0, 1)),
        "2 arms, 2 answers, d = 2, additive ε = 0.01, rewards in [0, 1]",
    ),
    (
        ft.Problem([[1.0]], [[1.0], [2.0]]),
        "1 arm, 2 answers, d = 1, additive ε = 0.05, σ = 1",
    ),
]


@pytest.mark.parametrize(("problem", "words"), QUESTIONS)
def test_problems(problem, words):
    assert repr(problem) == f"Problem({words})"
    text, rows = read(problem)
    assert words in text
    assert rows[1][0] == problem.arm_names[0]


def test_problems_with_names_of_their_own_and_many_features():
    wide = np.hstack([np.eye(3), np.zeros((3, 20))])
    problem = ft.Problem(wide, wide[:2], arm_names=[NASTY, "b", "c"], answer_names=["x", "y"])
    text, rows = read(problem)
    assert NASTY in text
    assert [row[0] for row in rows] == ["arm", NASTY, "b", "c", "answer", "x", "y"]
    assert rows[0][-1] == rows[1][-1] == "…"
    assert len(rows[0]) == display.COLUMNS + 2
    names = {"arm_names": "ab", "answer_names": "ab"}
    same = ft.Problem(np.eye(2), np.eye(2), **{what: list(own) for what, own in names.items()})
    assert len(read(same)[1]) == 3  # shown once
    text, rows = read(ft.Problem(np.eye(50)))
    assert len(rows) == display.ROWS + 1
    assert "and 38 more" in text


def test_complexities():
    instance = ft.hard()
    found = ft.complexity(instance.problem, instance.mu)
    assert repr(found) == (
        f"Complexity(T = {display.figure(found.T)}, furthest answer {found.furthest}; "
        f"T_greedy = {display.figure(found.T_greedy)}, greedy answer {found.greedy}; "
        f"T_bai = {display.figure(found.T_bai)})"
    )
    text, rows = read(found)
    assert display.figure(found.T) in text
    # Shares in descending order, of the arms that have any.
    shares = [row[:2] for row in rows[5:]]
    assert shares[0] == [f"arm {found.weights.argmax()}", display.figure(found.weights.max())]
    assert len(shares) == (found.weights > 1e-6).sum()
    never = replace(found, T=math.inf, T_bai=math.inf)
    assert repr(never).startswith("Complexity(T = ∞,")
    assert "∞" in read(never)[0]


def results(strategy, runs=5, stopped=True):
    times = np.arange(100, 100 + runs)
    return ft.Results(
        problem=ft.Problem(np.eye(2)),
        strategy=strategy,
        delta=(0.1, 0.01),
        seed=0,
        numbers=np.arange(runs),
        stopping_times=np.stack([times, 20 * times]),
        answers=np.zeros((2, runs), int),
        pulls=np.ones((2, runs, 2), int),
        stopped=np.full((2, runs), stopped),
        correct=np.arange(2 * runs).reshape(2, runs) > 0,
        steps=1,
        seconds=1.0,
        interrupted=not stopped,
    )


def test_results():
    found = results(ft.Strategy())
    assert repr(found).splitlines() == [
        "Results(5 runs of softmin, ranked",
        "  δ = 0.1: 102 ± 0.71 measurements, 1 error",
        "  δ = 0.01: 2,040 ± 14 measurements, 0 errors)",
    ]
    text, rows = read(found)
    assert "proven" in text
    assert rows[1] == ["0.1", "102", "0.71", "102", "100.2", "103.8", "1", "0"]
    assert len(rows) == 3


def test_results_say_what_is_a_heuristic_and_what_is_missing():
    found = results(ft.Strategy("uniform", threshold="paper"), stopped=False)
    assert repr(found).startswith("Results(5 runs of uniform, glr, paper (not proven)\n")
    assert "5 not stopped" in repr(found)
    text, _ = read(found)
    assert "no proof" in text
    assert "interrupted" in text
    nothing = results(ft.Strategy(), runs=0)
    assert "0 runs" in repr(nothing)
    assert "–" in read(nothing)[0]


@pytest.fixture
def study(tmp_path):
    problem = ft.Problem(np.eye(2), eps=0.5, arm_names=[NASTY, "B"])
    return ft.Study.create("a & b", problem, 0.1, f"sqlite:///{tmp_path}/studies.db")


def test_statuses_and_certificates(study):
    status = study.status()
    assert repr(status) == (
        "Status('a & b', running, initial design; 0 measured, 0 pending, 0 failed)"
    )
    assert "When it stops: with probability" in read(status)[0]
    assert "not complete yet" in read(status)[0]
    study.fail(study.ask(), "spilled")
    while study.status().state == "running":
        for trial in study.ask(2):
            study.tell(trial, (3.0, 0.0)[trial.arm])
        if study.status().measurements == 2:
            assert f"running, leading is {NASTY!r}, " in repr(study.status())
            assert "When it stops" in read(study.status())[0]
    status, proof = study.status(), study.certificate()
    assert repr(status) == (
        f"Status('a & b', stopped, the answer is {NASTY!r} (proven if), {status.statistic:.2f} of "
        f"{status.threshold:.2f}; {status.measurements} measured, 0 pending, 1 failed)"
    )
    assert repr(proof) == (
        f"Certificate('a & b', answer {NASTY!r}, proven if, {proof.measurements} measurements, "
        f"δ = 0.1)\n  guarantee: {proof.guarantee}"
    )
    for thing in (status, proof):
        text, rows = read(thing)
        assert proof.guarantee[1:] in text
        assert "Warning: 1 measurement failed" in text
        assert [NASTY, "3", "proven if"] in rows
    _, rows = read(status)
    figures = map(display.figure, (status.statistic, status.threshold))
    assert rows[:2] == [["answer", "statistic", "threshold", ""], [NASTY, *figures, ""]]
    assert proof.log_digest[:16] in read(proof)[0]
    no = "not proven"
    unproven = replace(proof, guarantee=f"{no}: heuristic", standing=no, proven=False)
    assert "guarantee: not proven: heuristic" in repr(unproven)
    for thing in (unproven, replace(status, certificate=unproven, standing=no)):
        assert [NASTY, "3", "accepted, not proven"] in read(thing)[1]
    text, rows = read(study)
    assert "the answer is" in text
    assert rows[1][0] == NASTY
