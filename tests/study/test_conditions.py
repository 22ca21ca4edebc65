"""What a guarantee rests on: each condition in the certificate, and what speaks against it."""

import time

import numpy as np
import pytest

import furthest as ft
from furthest.errors import InputError, StudyError, ValueRefusedError, VerificationError
from furthest.study import page
from furthest.study.certificate import verify
from furthest.study.conditions import standing_of
from furthest.study.records import Condition
from study.problems import HARD, TWO, TWO_MU, Lab, run

RATES = np.array([0.01, 0.01, 0.01, 0.05])


def condition(study, name):
    return next(each for each in study.certificate().conditions if each.name == name)


def test_a_study_without_trouble_is_proven(sqlite_url):
    study = ft.Study.create("a", HARD.problem, 0.1, sqlite_url)
    run(study, Lab(HARD.problem, HARD.truth, seed=1), workers=3)
    proof = study.certificate()
    assert (proof.standing, proof.proven, proof.warnings) == ("proven", True, ())
    found = {each.name: each.standing for each in proof.conditions}
    assert found == {
        "linear": "assumed",
        "noise": "assumed",
        "arithmetic": "holds",
        "sign": "assumed",
        "independence": "assumed",
        "order": "holds",
        "failures": "holds",
        "added results": "holds",
    }
    assert "proven" in repr(proof)


@pytest.mark.parametrize(
    ("standings", "theorem", "worth"),
    [
        (("holds", "assumed"), True, "proven"),
        (("holds", "in doubt"), True, "proven if"),
        (("in doubt", "refuted"), True, "not proven"),
        (("holds",), False, "not proven"),
    ],
)
def test_the_worst_condition_decides(standings, theorem, worth):
    found = [Condition("c", "it is", standing, "why") for standing in standings]
    assert standing_of(found, theorem=theorem) == worth


def test_added_results_are_counted_and_aged(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    study.add("A", 2.1, measured_at=0.0)
    study.add("B", 0.1, measured_at=time.time() + 1)
    study.add("B", -0.1)
    run(study, Lab(TWO, TWO_MU))
    proof, added = study.certificate(), condition(study, "added results")
    assert proof.added == 3
    assert added.standing == "in doubt"
    assert f"3 of {proof.measurements} results were added" in added.evidence
    assert "1 older than the study, 1 of unknown age" in added.evidence
    assert proof.standing == "proven if"
    with pytest.raises(InputError, match="seconds since 1970"):
        study.add("A", 1.0, measured_at="yesterday")


def test_a_running_study_promises_nothing(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    status = study.status()
    assert status.guarantee == "none yet: the study is still running"
    assert status.promise.startswith("with probability at least 90 %")
    assert status.standing is None
    run(study, Lab(TWO, TWO_MU))
    assert study.status().guarantee == study.certificate().guarantee == study.status().promise


def test_yes_and_no_with_unknown_sigma_never_stops(sqlite_url):
    """The issue's case: after 34 identical zeros any answer looked proven."""
    problem = ft.Problem(np.eye(4), eps=0.02, sigma=None)
    study = ft.Study.create("a", problem, 0.01, sqlite_url)
    rng = np.random.default_rng(0)
    for _ in range(60):
        for trial in study.ask(4):
            study.tell(trial, float(rng.random() < RATES[trial.arm]))
    status = study.status()
    assert status.state == "running"
    (warning,) = status.warnings
    assert "bounds" in warning


def test_rounded_results_are_a_condition(sqlite_url):
    problem = ft.Problem(np.eye(2), eps=0.5, sigma=None)
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    lab = Lab(problem, 3 * TWO_MU, seed=5, sigma=1.0)
    while study.status().state == "running":
        trial = study.ask()
        study.tell(trial, round(lab.measure(trial.arm), 1))
    gaussian = condition(study, "Gaussian")
    values = [each.value for each in study.history()]
    assert gaussian.standing == ("assumed" if len(set(values)) == len(values) else "in doubt")
    assert len(set(values)) < len(values)
    assert "0.1" in gaussian.evidence


@pytest.mark.parametrize("sigma", [1.0, None], ids=["σ known", "σ unknown"])
def test_a_constant_in_all_values_does_not_matter(sigma, tmp_path):
    """10¹² σ: without its constant part nothing of the noise is lost; same arms, same end."""
    found = []
    for offset in (0.0, 2.0**40):
        problem = ft.Problem(np.eye(2), eps=0.5, sigma=sigma)
        study = ft.Study.create("a", problem, 0.05, f"sqlite:///{tmp_path}/{offset}.db")
        rng = np.random.default_rng(8)
        while study.status().state == "running":
            trial = study.ask()
            # Steps of 2⁻¹² are exact at either place.
            noise = np.round(rng.standard_normal() * 4096) / 4096
            study.tell(trial, float(TWO_MU[trial.arm] + noise + offset))
        found.append(study.certificate())
    assert found[0].pulls == found[1].pulls
    assert found[0].answer == found[1].answer
    assert found[0].statistic == pytest.approx(found[1].statistic, rel=1e-9)
    estimates = [np.array([each.estimate for each in proof.verdicts]) for proof in found]
    assert estimates[1] - 2.0**40 == pytest.approx(estimates[0], abs=1e-3)


def test_values_that_leave_the_noise_no_digits_are_refused(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    study.add("A", 1e12)
    with pytest.raises(ValueRefusedError, match="another unit"):
        study.add("A", 1e14)
    lines = ft.Study.create("b", ft.Problem([[1, 1], [1, 2], [3, 1]]), 0.1, sqlite_url)
    assert lines.problem.offset is None
    with pytest.raises(ValueRefusedError, match="another unit"):
        lines.add(0, 1e10)


@pytest.mark.parametrize(("size", "accepted"), [(1.0, False), (9e8, True)])
def test_verify_allows_for_the_digits_that_large_values_cost(size, accepted, sqlite_url):
    """Another processor was off by 10⁻⁷ of the statistic with values 9·10⁸ times their noise."""
    problem = ft.Problem([[1, 1], [1, 2], [3, 1]], answers=[[1, 1], [1, 2]], eps=0.3)
    study = ft.Study.create("a", problem, 0.05, sqlite_url)
    run(study, Lab(problem, [0.3 * size, 0.9], seed=1))
    claimed = study.certificate().to_dict()
    claimed["statistic"] *= 1 + 1e-7
    if accepted:
        assert verify("a", study.events(), claimed).standing == "proven"
    else:
        with pytest.raises(VerificationError, match="statistic"):
            verify("a", study.events(), claimed)


def test_at_unknown_sigma_digits_that_are_missing_are_noticed(sqlite_url):
    problem = ft.Problem([[1, 1], [1, 2], [3, 1]], eps=1e12, sigma=None)
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    run(study, Lab(problem, [0, 1e14], sigma=1.0), most=200)
    assert study.status().state == "stopped"
    assert condition(study, "arithmetic").standing == "refuted"
    assert study.certificate().standing == "not proven"


def bent(sqlite_url, name="a", **question):
    """A study of a line, where the values are a parabola."""
    line = np.column_stack([np.ones(5), np.linspace(-1, 1, 5)])
    problem = ft.Problem(line, eps=0.2, sigma=0.2, arm_names=list("ABCDE"), **question)
    study = ft.Study.create(name, problem, 0.05, sqlite_url)
    rng = np.random.default_rng(3)
    values = 1 - np.linspace(-1, 1, 5) ** 2
    return study, lambda arm: float(values[arm] + 0.2 * rng.standard_normal())


def measured(study, measure):
    for _ in range(2000):
        if study.status().state == "stopped":
            return
        for trial in study.ask(5):
            study.tell(trial, measure(trial.arm))


def test_a_refuted_condition_takes_the_proof_away(sqlite_url):
    study, measure = bent(sqlite_url)
    for arm in range(5):
        for _ in range(20):
            study.add(arm, measure(arm))
    measured(study, measure)
    proof = study.certificate()
    assert condition(study, "linear").standing == "refuted"
    assert proof.standing == "not proven"
    assert proof.guarantee.startswith("not proven: the features do not explain the values")
    assert "probability" not in proof.guarantee
    found = verify("a", study.events(), proof.to_dict())
    assert found.standing == "not proven"
    assert found.warnings == proof.warnings
    html = page.page(study)
    assert 'class="claim not"' in html
    assert "With probability at least" not in html
    assert "Nothing is proven about these intervals: the features do not explain" in html


def test_plain_options_take_over_the_log(sqlite_url):
    """Whatever the values are, each arm has its own: all that was measured counts, and soundly."""
    study, measure = bent(sqlite_url)
    measured(study, measure)
    out = ft.Study.load("a", sqlite_url)
    heir = out.as_options("b")
    assert [each.value for each in heir.history()] == [each.value for each in study.history()]
    assert [each.id for each in heir.pending()] == [each.id for each in study.pending()]
    measured(heir, measure)
    proof = heir.certificate()
    assert proof.answer_name == "C"
    assert proof.standing == "proven"
    assert condition(heir, "linear").standing == "holds"
    assert "continues the study a" in condition(heir, "added results").evidence
    assert heir.settings.tag != study.settings.tag
    assert study.settings.delta == heir.delta
    verify("b", heir.events(), proof.to_dict())
    with pytest.raises(StudyError, match="already"):
        out.as_options("b")


def test_answers_that_nobody_measures_need_their_features(sqlite_url):
    study, _ = bent(sqlite_url, answers=[[1, 0.3], [1, 0.6]])
    with pytest.raises(StudyError, match="'answer 0' is none of the arms"):
        study.as_options("b")
