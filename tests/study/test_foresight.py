"""Foresight: what the futures of a study need."""

import numpy as np
import pytest

import furthest as ft
from furthest.errors import InputError
from furthest.loops import loop_for
from furthest.study import foresight
from study.problems import ENDLESS, HARD, TWO, TWO_MU, Lab, run


def begun(url, problem, mu, results, **options):
    study = ft.Study.create("a", problem, 0.1, url, **options)
    run(study, Lab(problem, mu, seed=3, sigma=problem.sigma or 1.0), most=results)
    return study


def test_before_and_after(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    assert study.foresight() is None
    study.add("A", 2.0)
    assert study.foresight() is None
    study.add("B", 0.0)
    found = study.foresight()
    assert 0 < found.low <= found.median <= found.high
    assert found.measurements == 2
    run(study, Lab(TWO, TWO_MU))
    after = study.foresight()
    assert (after.low, after.median, after.high) == (0, 0, 0)


def test_it_changes_nothing_and_repeats(sqlite_url):
    study = begun(sqlite_url, HARD.problem, HARD.truth, 40)
    before = study.status()
    found = study.foresight(draws=20, seed=1)
    assert study.foresight(draws=20, seed=1) == found
    assert study.foresight(draws=20, seed=2) != found
    assert study.status() == before
    with pytest.raises(InputError, match="at least 1"):
        study.foresight(draws=0)


def test_it_foresees_what_comes(sqlite_url):
    """If μ is drawn from the posterior itself, the range holds nine futures in ten."""
    study = begun(sqlite_url, HARD.problem, HARD.truth, 30)
    found = study.foresight(draws=200)
    fold, rng = study._fold, np.random.default_rng(11)
    evidence = fold.state.evidence
    root = np.linalg.cholesky(evidence.inverse)
    _, loop = loop_for(study.strategy.rule, fold.start)
    needed = [
        foresight._continue(
            fold, loop, fold.task.arms @ (evidence.estimate + root @ rng.standard_normal(2)), rng
        )
        for _ in range(200)
    ]
    inside = np.mean([found.low <= each <= found.high for each in needed])
    assert 0.8 < inside < 0.98
    assert found.low < np.median(needed) < found.high


def test_the_limit_stands_beside_it(sqlite_url):
    study = begun(sqlite_url, TWO, TWO_MU, 4)
    found = study.foresight(draws=10)
    estimate = [each.estimate for each in study.status().verdicts]
    assert found.limit == pytest.approx(ft.complexity(TWO, estimate).measurements(0.1), rel=1e-3)


def test_what_never_ends_is_given_up(sqlite_url, monkeypatch):
    monkeypatch.setattr(foresight, "HORIZON", 200)
    monkeypatch.setattr(foresight, "SLICE", 50)
    study = begun(sqlite_url, ENDLESS, [0, 0, 0], 60)
    found = study.foresight(draws=30)
    assert 0 < found.unfinished < 30
    assert found.high == found.horizon == 200
    assert found.low < 200


def test_unknown_sigma_has_no_unit(tmp_path):
    found = []
    for scale in (1.0, 100.0):
        problem = ft.Problem(np.eye(2), eps=0.5 * scale, sigma=None)
        study = ft.Study.create("a", problem, 0.1, f"sqlite:///{tmp_path}/{scale}.db")
        run(study, Lab(problem, scale * TWO_MU, seed=3, sigma=scale), most=12)
        assert study.status().state == "running"
        found.append(study.foresight(draws=30))
    assert found[0].median == found[1].median > 0
