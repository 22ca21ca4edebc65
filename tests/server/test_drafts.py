"""What is typed into the form of a new study, and the question it makes."""

import csv
import io

import numpy as np
import pytest

import furthest as ft
from furthest.errors import FileError, InputError
from furthest.planning import plan
from furthest.server.drafts import CATEGORY, COST, FEATURE, NAME, UNUSED, Draft, read_table
from furthest.server.plans import drawn, planned
from furthest.server.words import question
from furthest.strategy import Strategy

WOODS = (
    "wood,density,finish,price\noak,0.7,oil,3\nash,0.65,wax,2\nelm,0.55,oil,2\npine,0.45,wax,1\n"
)

FORM = {
    "table": "A\nB\nC",
    "eps": "0.1",
    "delta": "5",
    "noise": "known",
    "sigma": "0.5",
    "name": "x",
}


def columns(text: str) -> dict[str, list[str]]:
    rows = list(csv.DictReader(io.StringIO(text)))
    return {key: [row[key] for row in rows] for key in rows[0]}


@pytest.mark.parametrize("separator", [",", ";", "\t"])
def test_any_separator(separator):
    table = read_table(WOODS.replace(",", separator))
    assert [table.column(i) for i in range(4)] == list(columns(WOODS).values())
    assert [table.role(i) for i in range(4)] == [NAME, FEATURE, CATEGORY, FEATURE]


def test_decimal_commas_where_they_separate_nothing():
    assert read_table("wood;density\noak;0,7\nash;0,65").column(1) == ["0.7", "0.65"]


@pytest.mark.parametrize("heading", ["", "Name\n", "options\n", "\ufeff"])
def test_a_list_of_names(heading):
    assert read_table(f"{heading}oak\n\n ash \nelm\n").column(0) == ["oak", "ash", "elm"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("oak", "at least two"),
        ("a,b\n1,2\n3", "row 2 has 1 cell, but there are 2 columns"),
        ("a,a\n1,2\n3,4", "two columns 'a'"),
        ("1,2\n3,4\n5,6", "must name the columns, not '1'"),
        ("x" * 1_000_001, "1,000,001 characters"),
        ("\n".join(map(str, range(10_001))), "10,001 rows"),
        (",".join(f"c{i}" for i in range(201)) + "\n1\n2", "201 columns"),
    ],
)
def test_what_is_no_table(text, words):
    with pytest.raises(FileError, match=words):
        read_table(text)
    assert words in Draft.of(FORM | {"table": text}).errors["table"]


def test_plain_options_are_those_of_python():
    draft = Draft.of(FORM)
    assert draft.is_ready
    assert draft.delta == 0.05
    theirs = ft.Problem.options(["A", "B", "C"], eps=0.1, sigma=0.5)
    assert draft.problem.in_words == theirs.in_words
    assert draft.problem.arm_names == theirs.arm_names


def test_features_are_those_of_a_table_in_python():
    roles = dict(zip(("role-0", "role-1", "role-2", "role-3"), (NAME, FEATURE, CATEGORY, COST)))  # noqa: B905
    header = "\t".join(columns(WOODS))
    form = FORM | {"table": WOODS, "model": "features", "header": header} | roles
    found = Draft.of(form).problem
    table = columns(WOODS)
    table = {
        key: list(map(float, table[key])) if key in ("density", "price") else table[key]
        for key in table
    }
    theirs = ft.Problem.from_table(table, name="wood", eps=0.1, sigma=0.5, costs="price")
    np.testing.assert_array_equal(found.arms, theirs.arms)
    assert found.feature_names == theirs.feature_names
    assert found.arm_names == theirs.arm_names
    assert found.costs == theirs.costs


def test_choices_about_other_columns_do_not_count():
    form = FORM | {"table": WOODS, "header": "other\tcolumns", "role-0": UNUSED}
    assert Draft.of(form).problem.arm_names == ("oak", "ash", "elm", "pine")


NOISES = {
    "yes-no": ({}, {"noise": "bernoulli"}),
    "bounded": ({"low": "-1", "high": "3,5"}, {"bounds": (-1.0, 3.5)}),
    "unknown": ({}, {"sigma": None}),
}


@pytest.mark.parametrize("noise", NOISES)
def test_kinds_of_results(noise):
    typed, given = NOISES[noise]
    found = Draft.of(FORM | {"noise": noise} | typed).problem
    assert found.in_words == ft.Problem.options(["A", "B", "C"], eps=0.1, **given).in_words


@pytest.mark.parametrize(
    ("field", "typed"),
    [
        ("eps", "-1"),
        ("eps", "much"),
        ("delta", "0"),
        ("delta", "100"),
        ("sigma", "0"),
        ("budget", "2.5"),
        ("budget", "-3"),
        ("name", "a\nb"),
    ],
)
def test_an_error_stands_at_its_field(field, typed):
    draft = Draft.of(FORM | {field: typed})
    assert list(draft.errors) == [field]
    assert not draft.is_ready


def test_features_that_cannot_tell_the_options_apart():
    form = FORM | {"table": "name,dose\nA,1\nB,1\nC,2", "model": "features", "eps": "0"}
    assert "equal" in Draft.of(form).errors["eps"]


def test_what_is_missing_is_no_error():
    draft = Draft.of({"delta": "5"})
    assert not draft.errors
    assert {"table", "eps", "noise", "name"} <= set(draft.missing)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"eps": 0.1}, "One that is at most 0.1 below the best is good enough."),
        ({"eps": 0.1, "notion": "multiplicative"}, "at least 90 % of the best value"),
        ({"eps": 0.0}, "Only the very best one is good enough."),
    ],
)
def test_the_question_in_words(given, words):
    said = question(ft.Problem.options(["A", "B"], **given), 0.02)
    assert words in said
    assert "2 options" in said
    assert "chance of a wrong answer is 2 %" in said


def test_options_are_drawn_as_different_as_it_was_said():
    rng = np.random.default_rng(0)
    features = ft.Problem(np.column_stack([np.ones(30), rng.normal(size=(30, 2)) * [1, 1000]]))
    for problem in (ft.Problem.options([str(i) for i in range(30)]), features):
        values = drawn(problem, 7.0, 0.3) @ problem.arms.T
        assert values.std(axis=1, ddof=1).mean() == pytest.approx(0.3, rel=0.15)
        assert values.mean() == pytest.approx(7.0, abs=0.3)


def test_options_that_cannot_be():
    with pytest.raises(InputError, match="smaller spread"):
        drawn(ft.Problem.options(["A", "B"], noise="bernoulli"), 0.5, 1e6)


def test_a_plan_is_that_of_the_planner():
    draft = Draft.of(FORM | {"spread": "0.4", "budget": "60"})
    found = planned(draft, lambda: False)
    parameters = drawn(draft.problem, 0.0, 0.4)
    theirs = [
        plan(draft.problem, mu[None], Strategy(), [0.05], seed, max_rounds=100_000, quiet=True)[0]
        for seed, mu in enumerate(parameters)
    ]
    times = [int(each.stopping_times.ravel()[0]) for each in theirs]
    assert found.studies == len(times)
    assert found.low <= found.median <= found.high
    assert abs(sum(time < found.median for time in times) - len(times) / 2) <= 1
    assert found.within_budget == np.mean(np.array(times) <= 60)


def test_a_plan_ends_when_time_is_over():
    draft = Draft.of(FORM | {"spread": "0.4"})
    assert planned(draft, lambda: True).studies == 1


def test_a_question_that_would_fill_the_memory_is_refused():
    names = "\n".join(f"option {number}" for number in range(4_000))
    assert "16,000,000 numbers" in Draft.of(FORM | {"table": names}).errors["table"]
    rows = "\n".join(f"o{number},level {number % 3999}" for number in range(4_000))
    form = FORM | {"table": f"name,level\n{rows}", "model": "features"}
    assert "numbers" in Draft.of(form).errors["table"]
