"""What pages show beside the status."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import furthest as ft
from furthest.study import intervals, picture
from furthest.study.study import Study
from study.problems import HARD, TWO, TWO_MU, Lab, run

FACTORS = ft.Problem.factorial({"oven": ["gas", "wood"], "dough": ["thin", "thick"]}, eps=0.4)
FACTORS_MU = np.array([1.0, 0.5, -0.2])
PLANE = ft.Problem(
    [[1.0, 0.0], [0.2, 1.0], [0.9, 0.3]], eps=0.05, sigma=0.5, feature_names=["sweet", "sour"]
)


def told(problem, mu, url, results=60, delta=0.1, name="a", plus=0.0):
    """A study of a fixed design that has so many results."""
    study = Study.create(name, problem, delta, url)
    rng, names = np.random.default_rng(4), len(problem.arms)
    arms = np.r_[problem.initial, rng.integers(0, names, results)]
    units, values = problem.units[arms], (problem.arms @ mu)[arms]
    noise = rng.standard_normal(len(arms))
    given = [
        {"arm": int(arm), "value": float(value)}
        for arm, value in zip(arms, plus + values + units * noise, strict=True)
    ]
    study.tell_many(given)
    return study


def documents(look):
    made = (picture.answers, picture.arms, picture.optimum, picture.effects, picture.plane)
    return [make(look) for make in made]


@pytest.mark.parametrize("problem", [FACTORS, PLANE, HARD.problem, TWO])
def test_documents_are_plain_data(problem, sqlite_url):
    study = Study.create("a", problem, 0.1, sqlite_url)
    before = documents(study.look())
    assert picture.evidence(study.look()) is None
    study = told(problem, np.ones(problem.arms.shape[1]), sqlite_url, 20, name="b")
    later = documents(study.look())
    for document in (*before, *later, picture.evidence(study.look())):
        assert json.loads(json.dumps(document, allow_nan=False)) == document
    assert before[0]["answers"] == []
    assert before[0]["reason"] == picture.NOT_YET
    assert later[0]["reason"] is None


def test_what_is_shown_of_answers_is_what_the_status_says(sqlite_url):
    study = told(PLANE, np.array([1.0, 0.5]), sqlite_url)
    status, document = study.status(), picture.answers(study.look())
    shown = {each["answer"]: each for each in document["answers"]}
    assert document["candidate"] == status.answer
    for verdict in status.verdicts:
        each = shown[verdict.answer]
        assert each["low"] < each["estimate"] == verdict.estimate < each["high"]
        assert each["within_eps"] == verdict.within_eps == (each["estimate"] >= document["cut"])
        assert (each["name"], each["verdict"]) == (verdict.name, verdict.verdict)
        assert each["candidate"] == (verdict.answer == status.answer)
    estimates = [each["estimate"] for each in document["answers"]]
    assert estimates == sorted(estimates, reverse=True)
    assert document["intervals"].startswith("With probability at least 90 %")


def test_the_candidate_is_among_few_answers(sqlite_url):
    study = told(HARD.problem, HARD.truth, sqlite_url, 10)
    look = study.look()
    for most in (1, 2):
        document = picture.answers(look, most)
        assert len(document["answers"]) == most
        assert look.answer in [each["answer"] for each in document["answers"]]
        assert document["total"] == len(HARD.problem.answers)
    assert len(picture.arms(look, 1)["arms"]) == 1


def ends(study):
    shown = sorted(picture.answers(study.look())["answers"], key=lambda each: each["answer"])
    return np.array([[each["low"], each["high"]] for each in shown], float)


def test_intervals_are_in_the_users_units(sqlite_url):
    """The same noise in other units, with a constant, and with a σ for each arm."""
    plain = ft.Problem.options(["A", "B", "C"], eps=0.25, sigma=1.0)
    mu = np.array([1.0, 0.5, 0.0])
    once = ends(told(plain, mu, sqlite_url))
    eighth = ft.Problem.options(["A", "B", "C"], eps=0.25 / 8, sigma=1 / 8)
    np.testing.assert_allclose(ends(told(eighth, mu / 8, sqlite_url, name="b")), once / 8)
    for plus in (2.0**10, 2.0**30):  # the latter is taken away from all results
        study = told(plain, mu, sqlite_url, name=f"plus {plus}", plus=plus)
        assert (study.look().shift != 0) == (plus > 2.0**20)
        np.testing.assert_allclose(ends(study) - plus, once, atol=1e-5)


def test_effects_are_differences_of_cells(sqlite_url):
    """By least squares of NumPy, and by intervals of what is told of the cells."""
    study = told(FACTORS, FACTORS_MU, sqlite_url, plus=2.0**30)
    document, look = picture.effects(study.look()), study.look()
    assert look.shift != 0
    results = study.history()
    rows = FACTORS.arms[[each.arm for each in results]]
    values = np.array([each.value for each in results]) - 2.0**30
    fitted = np.linalg.lstsq(rows, values, rcond=None)[0] + [2.0**30, 0, 0]
    found = document["effects"]
    assert [each["feature"] for each in found] == ["intercept", "oven=wood", "dough=thick"]
    np.testing.assert_allclose([each["estimate"] for each in found], fitted, atol=1e-5)
    cells = FACTORS.arms
    differences = np.array([cells[0], cells[2] - cells[0], cells[1] - cells[0]])
    same = intervals.of_rows(look, differences)
    assert same.lows == pytest.approx([each["low"] for each in found])
    assert same.highs == pytest.approx([each["high"] for each in found])
    assert picture.effects(told(PLANE, np.ones(2), sqlite_url, name="b").look()) is not None
    assert picture.effects(told(TWO, TWO_MU, sqlite_url, name="c").look()) is None


def test_values_of_which_only_differences_are_known_have_no_interval(sqlite_url):
    arms = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    problem = ft.Problem(arms, [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]], eps=0.1)
    document = picture.answers(told(problem, np.ones(3), sqlite_url).look())
    assert [each["low"] for each in document["answers"]] == [None, None]
    assert (document["intervals"], document["reason"]) == (None, intervals.DIFFERENCES)


def test_a_test_without_a_confidence_set_has_no_intervals(sqlite_url):
    look = told(PLANE, np.ones(2), sqlite_url).look()
    look._test = replace(look.test, region=None)
    document = picture.answers(look)
    assert document["intervals"] is None
    assert document["reason"] == intervals.NO_SET
    assert picture.plane(look)["outline"] is None
    assert picture.plane(look)["reason"] == intervals.NO_SET


def test_a_heuristic_is_called_one(sqlite_url):
    strategy = ft.Strategy(stopping="glr", threshold="paper")
    study = Study.create("a", TWO, 0.1, sqlite_url, strategy=strategy)
    run(study, Lab(TWO, TWO_MU), most=4)
    document = picture.answers(study.look())
    assert document["answers"][0]["high"] is not None
    assert "Nothing is proven" in document["intervals"]


@pytest.mark.parametrize("noise", [{"sigma": 0.5}, {"noise": "bernoulli"}])
def test_the_outline_is_around_the_set(noise, sqlite_url):
    """Of every answer and both features it has the extremes that the intervals have."""
    problem = ft.Problem([[1.0, 0.0], [0.2, 1.0], [0.6, 0.3]], eps=0.05, **noise)
    study = Study.create("a", problem, 0.1, sqlite_url)
    rng = np.random.default_rng(2)
    arms = np.r_[0, 1, 2, rng.integers(0, 3, 300)]
    means = (problem.arms @ [0.5, 0.3])[arms]
    values = rng.binomial(1, means) if problem.bounds else means + rng.standard_normal(303)
    study.tell_many([{"arm": int(a), "value": float(v)} for a, v in zip(arms, values, strict=True)])
    look = study.look()
    document = picture.plane(look)
    corners = np.array(document["outline"])
    assert 60 < len(corners) <= 150 or problem.bounds
    rows = np.vstack([problem.answers, np.eye(2)])
    found = intervals.of_rows(look, rows)
    tops, bottoms = (rows @ corners.T).max(axis=1), (rows @ corners.T).min(axis=1)
    room = 0.01 * (tops - bottoms)
    assert (tops <= found.highs + room).all()
    assert (bottoms >= found.lows - room).all()
    if not problem.bounds:  # else arms have intervals of their own beside the ellipsoid
        assert (tops >= found.highs - room).all()
        assert (bottoms <= found.lows + room).all()


def test_the_alternative_is_the_nearest_parameter_that_says_otherwise(sqlite_url):
    look = told(PLANE, np.array([1.0, 0.5]), sqlite_url).look()
    document = picture.plane(look)
    z, x = document["alternative"]["answer"], look.answer
    y = PLANE.answers[x] - PLANE.answers[z]
    point, estimate = np.array(document["alternative"]["point"]), np.array(document["estimate"])
    assert point @ y + PLANE.eps == pytest.approx(0)
    counts = look.evidence.counts
    metric = (PLANE.arms.T * counts) @ PLANE.arms
    others = [other for other in range(3) if other != x]
    least = min(
        minimize(
            lambda mu: (mu - estimate) @ metric @ (mu - estimate),
            estimate,
            constraints={
                "type": "ineq",
                "fun": lambda mu, other=other: (
                    (PLANE.answers[other] - PLANE.answers[x]) @ mu - PLANE.eps
                ),
            },
        ).fun
        for other in others
    )
    assert (point - estimate) @ metric @ (point - estimate) == pytest.approx(least, rel=1e-4)


def test_where_to_measure_at_best(sqlite_url):
    look = told(PLANE, np.array([1.0, 0.5]), sqlite_url).look()
    document = picture.optimum(look)
    found = ft.complexity(PLANE, picture.plane(look)["estimate"])
    np.testing.assert_allclose(document["weights"], found.weights, atol=1e-2)
    assert document["answer"] == found.furthest
    assert document["measurements"] == pytest.approx(found.measurements(0.1), rel=1e-3)
    unknown = replace(PLANE, sigma=None)
    again = picture.optimum(told(unknown, np.array([1.0, 0.5]), sqlite_url, name="b").look())
    assert sum(again["weights"]) == pytest.approx(1)
    assert again["measurements"] is None


def test_no_optimum_where_there_is_none(sqlite_url, monkeypatch):
    share = ft.Problem.options(["A", "B"], eps=0.1, notion="multiplicative")
    look = told(share, np.array([-9.0, -8.0]), sqlite_url).look()
    document = picture.optimum(look)
    assert document["weights"] is None
    assert "positive" in document["reason"]
    monkeypatch.setattr(picture, "MOST_WORK", 1)
    look = told(PLANE, np.array([1.0, 0.5]), sqlite_url, name="b").look()
    assert picture.optimum(look)["reason"] == picture.TOO_LARGE


def point_of(status):
    return {
        "measurements": status.measurements,
        "statistic": status.statistic,
        "threshold": status.threshold,
        "candidate": status.answer,
    }


@pytest.mark.parametrize(
    "problem", [HARD.problem, ft.Problem.options(["A", "B"], noise="bernoulli")]
)
def test_every_point_of_the_evidence_is_the_status_of_that_time(problem, sqlite_url, monkeypatch):
    monkeypatch.setattr(picture, "POINTS_SECONDS", np.inf)  # however slow the machine is
    study, rng = Study.create("a", problem, 0.1, sqlite_url), np.random.default_rng(0)
    trace, seen = picture.Trace(study, most=16), {}
    for count in range(1, 60):
        value = rng.integers(2) if problem.bounds else rng.standard_normal()
        study.add(int(rng.integers(len(problem.arms))), float(value))
        status = study.status()
        found = trace.update()
        assert found["complete"]
        assert len(found["points"]) <= 16
        if status.statistic is None:
            assert found["last"] is None
            continue
        seen[count] = point_of(status)
        assert found["last"] == picture.evidence(study.look()) == seen[count]
        assert found["points"] == [seen[each["measurements"]] for each in found["points"]]
    assert len(found["points"]) > 8
    late = picture.Trace(study, most=16).update()
    assert late == found
    assert picture.Trace(study).update()["points"] == list(seen.values())


def test_points_that_take_long_are_few(sqlite_url, monkeypatch):
    monkeypatch.setattr(picture, "POINTS_SECONDS", 0.0)
    study = told(PLANE, np.array([1.0, 0.5]), sqlite_url, 100)
    found = picture.Trace(study).update(seconds=np.inf)
    assert found["complete"]
    assert 1 <= len(found["points"]) <= picture.LEAST_POINTS
    assert found["last"] == picture.evidence(study.look())


def test_the_evidence_comes_in_parts_and_ends_with_the_study(sqlite_url):
    study = Study.create("a", TWO, 0.1, sqlite_url)
    run(study, Lab(TWO, TWO_MU))
    status = study.status()
    assert status.state == "stopped"
    study.add(0, 1.0)  # too late
    trace, parts = picture.Trace(study), 1
    while not trace.update(seconds=0.0)["complete"]:
        parts += 1
    assert parts > 1
    found = trace.update()
    assert found["last"] == point_of(status)
    assert found["last"]["statistic"] >= found["last"]["threshold"]
    assert all(each["statistic"] < each["threshold"] for each in found["points"])
    assert {each["candidate"] for each in found["points"]} <= {0, 1}
    assert picture.Trace(Study.load("a", sqlite_url)).update() == found


def test_the_evidence_of_an_ended_study_is_what_it_was_at_the_time(sqlite_url, monkeypatch):
    """Seen by somebody who was there all the time, or comes when all is over."""
    monkeypatch.setattr(picture, "POINTS_SECONDS", np.inf)
    study, lab = Study.create("a", HARD.problem, 0.1, sqlite_url), Lab(HARD.problem, HARD.truth)
    trace, seen = picture.Trace(study), []
    while study.status().state == "running":
        trial = study.ask()
        study.tell(trial, lab.measure(trial.arm))
        if study.status().statistic is not None:
            seen.append(point_of(study.status()))
        trace.update()
    late = picture.Trace(Study.load("a", sqlite_url)).update(seconds=np.inf)
    assert late == trace.update()
    assert len(late["points"]) > 20
    assert [*late["points"], late["last"]] == [
        each for each in seen if each in (*late["points"], late["last"])
    ]


def test_a_crossing_is_counted_from_the_beginning(sqlite_url):
    study = Study.create("a", TWO, 0.1, sqlite_url)
    assert picture.foresight(study)["crossing"] is None
    study.add("A", 1.0)
    study.add("B", 0.9)
    document = picture.foresight(study)
    future = study.foresight()
    assert document["foresight"] == future.to_dict()
    assert document["crossing"]["median"] == 2 + future.median


def test_intervals_promise_nothing_where_a_condition_is_refuted(sqlite_url):
    """Also while the study runs; and where one is in doubt they say so."""
    line = np.column_stack([np.ones(5), np.linspace(-1, 1, 5)])
    problem = ft.Problem(line, eps=0.001, sigma=0.2)
    study = ft.Study.create("a", problem, 0.05, sqlite_url)
    rng = np.random.default_rng(3)
    for trial in study.ask(12):
        study.tell(trial, 0.2 * rng.standard_normal())
    words = picture.answers(study.look())["intervals"]
    assert words.startswith("With probability at least 95 %")
    assert words.endswith("hold at once, if what the guarantee rests on does.")
    study.fail(study.ask(), "broke")
    words = picture.answers(study.look())["intervals"]
    doubt = "if whether a measurement fails has nothing to do with its value, and if what else"
    assert doubt in words
    bent = ft.Study.create("b", problem, 0.05, sqlite_url)
    for arm in range(5):
        for _ in range(40):
            bent.add(arm, 1 - line[arm, 1] ** 2 + 0.2 * rng.standard_normal())
    for document in (picture.answers(bent.look()), picture.plane(bent.look())):
        assert document["intervals"].startswith("Nothing is proven about these intervals: ")
        assert "the features do not explain the values" in document["intervals"]
