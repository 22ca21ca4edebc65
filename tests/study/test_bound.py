"""Live studies of problems with a bound on the parameter: stored, certified, and doubted."""

import json

import numpy as np
import pytest

import furthest as ft
from furthest.errors import StrategyError
from furthest.study.certificate import verify
from furthest.study.events import Settings
from study.problems import Lab, run

PROBLEM = ft.Problem.spectral([("A", "B"), ("B", "C")], 0.5, eps=0.3, sigma=0.5)
MU = np.array([0.0, 0.5, 1.0])
SMOOTH = ft.Strategy("spectral-tas", stopping="smooth")


def bound(study):
    return [each for each in study.certificate().conditions if each.name == "bound"]


def test_the_certificate_rests_on_the_bound(sqlite_url):
    study = ft.Study.create("a", PROBLEM, 0.1, sqlite_url, strategy=SMOOTH)
    run(study, Lab(PROBLEM, MU, seed=2), workers=2)
    proof = study.certificate()
    (condition,) = bound(study)
    assert condition.standing == "assumed"
    assert condition.needs == "the parameter is within the bound, μᵀPμ ≤ 0.5"
    assert "and a parameter with μᵀPμ ≤ 0.5" in proof.guarantee
    assert proof.standing == "proven"
    assert proof.problem["radius"] == 0.5
    events = study.events()
    assert verify("a", events).certificate == proof
    again = Settings.decode(events[0].data).problem
    np.testing.assert_array_equal(again.roughness, PROBLEM.roughness)


def test_another_test_rests_on_no_bound(sqlite_url):
    study = ft.Study.create("a", PROBLEM, 0.1, sqlite_url)
    run(study, Lab(PROBLEM, MU, seed=2))
    assert not bound(study)
    assert "μᵀPμ" not in study.certificate().guarantee


def test_measurements_can_refute_the_bound(sqlite_url):
    """The true roughness is a hundred times what was said: the test stops, and proves nothing."""
    study = ft.Study.create("a", PROBLEM, 1e-6, sqlite_url, strategy=SMOOTH)
    run(study, Lab(PROBLEM, 10 * MU, seed=2))
    (condition,) = bound(study)
    assert condition.standing == "refuted"
    assert "no parameter with μᵀPμ ≤ 0.5 explains the values" in condition.evidence
    assert study.certificate().standing == "not proven"
    assert study.certificate().guarantee.startswith("not proven: no parameter")


def test_a_problem_without_bound_is_refused(sqlite_url):
    plain = ft.Problem.options(["A", "B"], eps=0.5)
    with pytest.raises(StrategyError, match="needs a bound on the parameter"):
        ft.Study.create("a", plain, 0.1, sqlite_url, strategy=SMOOTH)


def test_another_bound_is_another_question(sqlite_url):
    ft.Study.create("a", PROBLEM, 0.1, sqlite_url)
    wider = ft.Problem.spectral([("A", "B"), ("B", "C")], 0.6, eps=0.3, sigma=0.5)
    settings = [Settings(each, ft.Strategy(), 0.1, 0, 60.0, "t") for each in (PROBLEM, wider)]
    assert settings[0].differences(settings[1]) == ["the bound on the parameter is another"]
    data = json.loads(settings[0].encode())["problem"]
    assert data["radius"] == 0.5
