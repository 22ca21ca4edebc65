"""Counts and means: several results told at once, from Python, the shell, files and commands."""

import json
import math
import subprocess
import sys

import numpy as np
import pytest

import furthest as ft
from furthest import stopping
from furthest.errors import (
    ContradictionError,
    FileError,
    InputError,
    UnknownStudyError,
    ValueRefusedError,
    VerificationError,
)
from furthest.kernels.evidence import Clock
from furthest.study import documents, sheets
from furthest.study.certificate import verify
from furthest.study.conditions import base_of, conditions
from furthest.study.events import Event, Note, note_of
from furthest.study.ledger import MOST_OUTCOMES, Ledger
from furthest.study.runner import Runner
from oracles import own_parts
from study.problems import rechained

PAGES = ft.Problem.options(["A", "B", "C"], eps=0.05, noise="bernoulli")
RATES = {"A": 0.30, "B": 0.12, "C": 0.08}
LINE = ft.Problem([[1, 0], [1, 1], [1, 2]], eps=0.3, sigma=1.0, arm_names=["x", "y", "z"])
UNKNOWN = ft.Problem.options(["A", "B"], eps=0.5, sigma=None)
RATINGS = ft.Problem.options(["A", "B"], eps=0.5, bounds=(1, 5))


def pages(url, problem=PAGES, delta=0.05):
    return ft.Study.create("pages", problem, delta, url)


def drive(study, rng, batch=200):
    """Days of visitors, until the study stops."""
    while study.status().state == "running":
        for trial in study.ask(batch=batch):
            yes = int(rng.binomial(trial.size, RATES[trial.name]))
            study.tell(trial, successes=yes, n=trial.size)


def test_a_study_of_daily_counts(sqlite_url):
    study = pages(sqlite_url)
    drive(study, np.random.default_rng(1))
    proof = study.certificate()
    assert (proof.answer_name, proof.standing) == ("A", "proven")
    status = study.status()
    assert proof.measurements == sum(proof.pulls) <= sum(each.size for each in study.history())
    assert status.measurements == proof.measurements
    assert "rewards within [0, 1]" in proof.guarantee
    needs = {each.name: each.needs for each in proof.conditions}
    assert needs["means"] == "each mean is of all results that were measured for it"
    assert "never changes" in needs["constant means"]
    assert verify(study.name, study.events()).certificate.to_dict() == proof.to_dict()
    document = json.loads(json.dumps(documents.exported(study)))
    assert document["measurements"][0]["size"] == study.history()[0].size > 1


def test_counts_are_worth_what_the_outcomes_are(tmp_path):
    """One by one or all at once: the same evidence, to the last digit."""
    rng, studies = np.random.default_rng(2), []
    outcomes = {arm: (rng.random(60) < rate).astype(int).tolist() for arm, rate in RATES.items()}
    for name in ("counted", "one by one"):
        study = pages(f"sqlite:///{tmp_path / name}.db", delta=1e-9)
        for arm, results in outcomes.items():
            if name == "counted":
                study.add(arm, successes=sum(results), n=len(results))
            else:
                for result in results:
                    study.add(arm, result)
        studies.append(study)
    one, other = (study.status() for study in studies)
    assert one.measurements == other.measurements == 180
    assert one.pulls == other.pulls
    assert one.statistic == other.statistic
    first, second = (study._fold.state.evidence.estimate for study in studies)
    np.testing.assert_allclose(first, second, rtol=1e-9)


def test_means_of_known_sigma(tmp_path):
    """With features the mean of n is as good as n results for the estimate."""
    rng, folds = np.random.default_rng(3), []
    results = {arm: rng.normal(size=20) + 0.4 * arm for arm in range(3)}
    for name in ("mean", "one by one"):
        study = ft.Study.create(name, LINE, 1e-9, f"sqlite:///{tmp_path / name}.db")
        for arm, values in results.items():
            if name == "mean":
                study.add(arm, mean=values.mean(), n=20, sem=values.std(ddof=1) / math.sqrt(20))
            else:
                for value in values:
                    study.add(arm, value)
        folds.append(study._fold)
        assert study.status().measurements == 60
    one, other = (fold.state.evidence for fold in folds)
    np.testing.assert_allclose(one.estimate, other.estimate, rtol=1e-9)
    np.testing.assert_allclose(one.residual[0], other.residual[0], rtol=1e-9)


def test_a_mean_shows_noise_that_is_too_large(sqlite_url):
    """With its deviation at once, without it from how far means are apart."""
    study = ft.Study.create("a", LINE, 0.1, sqlite_url)
    study.add("x", mean=0.1, n=50, sd=3.0)
    assert any("noise is larger" in each for each in study.status().warnings)
    other = ft.Study.create("b", LINE, 1e-9, sqlite_url)
    for mean in (0.0, 2.0, -2.0):
        other.add("x", mean=mean, n=50)
    assert any("noise is larger" in each for each in other.status().warnings)
    fine = ft.Study.create("c", LINE, 1e-9, sqlite_url)
    for mean in (0.1, 0.0, -0.1):
        fine.add("x", mean=mean, n=50)
    assert not fine.ask().size > 1
    assert not [each for each in fine.status().warnings if "noise" in each]


def test_unknown_sigma_needs_the_deviation_and_says_what_nobody_could_see(sqlite_url):
    study = ft.Study.create("a", UNKNOWN, 0.1, sqlite_url)
    trials = study.ask(2)
    for bad in ({"mean": 1.0, "n": 5}, {"mean": 1.0, "n": 5, "sd": 0.0}):
        with pytest.raises(ValueRefusedError, match="σ is unknown"):
            study.tell(trials[0], **bad)
    study.tell(trials[0], mean=2.0, n=40, sd=0.9)
    study.tell(trials[1], mean=0.1, n=40, sd=1.1)
    proof = study.certificate()
    assert (proof.answer_name, proof.standing) == ("A", "proven if")
    assert proof.guarantee.startswith("if the results behind each mean are Gaussian")


def test_ratings_may_have_their_deviation(sqlite_url):
    study = ft.Study.create("a", RATINGS, 0.1, sqlite_url)
    with pytest.raises(ValueRefusedError, match="cannot have the standard deviation"):
        study.add("A", mean=3.0, n=50, sd=2.5)
    study.add("A", mean=4.0, n=50, sd=0.5)
    study.add("B", mean=3.0, n=50)
    told, guessed = study._fold.state.stopping.test.squares.tolist()
    assert told < guessed
    (noise,) = (each for each in conditions(base_of(study._ledger)) if each.name == "noise")
    assert (noise.standing, noise.needs) == ("assumed", "rewards are within [1, 5]")


REFUSED = [
    ({"successes": 3}, "give one value"),
    ({"n": 3}, "give one value"),
    ({"value": 1, "n": 3}, "give one value"),
    ({"successes": 1, "mean": 0.5, "n": 3}, "give one value"),
    ({"value": 1, "sd": 0.1}, "give one value"),
    ({"mean": 0.5, "n": 4, "sd": 0.1, "sem": 0.1}, "give one value"),
    ({"successes": 4, "n": 3}, "there cannot be 4 successes in 3"),
    ({"successes": 0, "n": 0}, "there cannot be"),
    ({"successes": -1, "n": 3}, "there cannot be"),
    ({"successes": 1.5, "n": 3}, "whole number"),
    ({"successes": 1, "n": "3"}, "whole number"),
    ({"successes": 1, "n": MOST_OUTCOMES + 1}, "n must be within"),
    ({"mean": 0.5, "n": 3}, "each of 3 results must be 0 or 1"),
    ({"mean": 2.0, "n": 3}, "outside the bounds"),
    ({"mean": "0.5", "n": 2}, "must be a number"),
    ({"mean": math.nan, "n": 2}, "must be finite"),
    ({"mean": 0.5, "n": 2, "sd": -1.0}, "cannot have"),
    ({"mean": 1.0, "n": 1, "sd": 0.5}, "cannot have"),
    ({"value": 0.5}, "must be 0 or 1"),
]


@pytest.mark.parametrize(("given", "said"), REFUSED, ids=[str(each) for each, _ in REFUSED])
def test_what_cannot_be_is_refused(given, said, sqlite_url):
    study = pages(sqlite_url)
    trial = study.ask()
    before = study.events()
    with pytest.raises(ValueRefusedError, match=said):
        study.tell(trial, **given)
    with pytest.raises(ValueRefusedError, match=said):
        study.add("A", **given)
    assert study.events() == before


def test_successes_are_for_yes_and_no(sqlite_url):
    study = ft.Study.create("a", LINE, 0.1, sqlite_url)
    with pytest.raises(ValueRefusedError, match="noise='bernoulli'"):
        study.tell(study.ask(), successes=3, n=5)


def test_the_same_again_and_another(sqlite_url):
    study = pages(sqlite_url)
    trial = study.ask()
    study.tell(trial, successes=37, n=1000)
    seq = len(study.events())
    study.tell(trial, successes=37, n=1000)
    study.tell(trial, mean=0.037, n=1000)
    assert len(study.events()) == seq
    for other in ({"successes": 38, "n": 1000}, {"successes": 37, "n": 1001}):
        with pytest.raises(ContradictionError, match="over 1,000 before"):
            study.tell(trial, **other)


def test_several_at_once_are_all_told_or_none(sqlite_url):
    study = pages(sqlite_url)
    first, second = study.ask(2)
    good = {"trial": first, "successes": 1, "n": 10}
    before = study.events()
    for bad, error, said in (
        ({"trial": "x", "value": 1}, UnknownStudyError, "result 2: unknown trial"),
        ({"trial": second, "value": 7}, ValueRefusedError, "result 2: a result of 7"),
        ({"trial": first, "value": 1}, ContradictionError, "result 2: trial"),
        ({"value": 1}, InputError, "result 2: each result needs the trial"),
        ({"trial": second, "arm": "A", "value": 1}, InputError, "result 2: each result needs"),
        ({"trial": second, "sucesses": 1, "n": 2}, InputError, "result 2: .*'successes'"),
    ):
        with pytest.raises(error, match=said):
            study.tell_many([good, bad])
        assert study.events() == before
    added = {"arm": "C", "successes": 0, "n": 5, "id": "monday/C"}
    assert study.tell_many([good, {"trial": second.id, "value": 0}, added, good]) == [
        *(first.id, second.id, "monday/C", first.id)
    ]
    assert [each.size for each in study.history()] == [10, 1, 5]
    study.tell_many([added])
    assert len(study.history()) == 3


FORGED = ["1", "0", "-5", "005", "٥", "5 ", " 5", "5 sd=nan", "5 sd=-1.0", "5 sd=0.5", "sd=0.5"]
FORGED += ["1 sd=0.5", "5 5", "5 sd=x", "9" * 5000, str(MOST_OUTCOMES + 1), "5 1.0"]


@pytest.mark.parametrize("note", FORGED)
def test_a_log_with_another_note_is_refused(note, sqlite_url):
    study = pages(sqlite_url)
    study.tell(study.ask(), successes=1, n=1)
    log = study.events()
    *before, told = log
    with pytest.raises(VerificationError):
        Ledger.of(rechained([*before, told._replace(data=note)]))


def test_a_log_cannot_claim_a_mean_that_nothing_has(sqlite_url):
    study = pages(sqlite_url)
    study.tell(study.ask(), successes=1, n=4)
    *before, told = study.events()
    assert Ledger.of(rechained([*before, told])).outcomes == 4
    for changes in ({"value": 0.3}, {"value": 0.25 + 1e-12}, {"data": "3"}, {"data": ""}):
        with pytest.raises(VerificationError):
            Ledger.of(rechained([*before, told._replace(**changes)]))


@pytest.mark.parametrize(
    "note", [Note(), Note(5), Note(5, 0.3), Note(1, None, "12.5"), Note(7, 1e-5, "1e+20")]
)
def test_notes_are_read_as_they_were_written(note):
    assert note_of(Event(1, "added", 0.0, "a", 0, 1.0, note.text)) == note


def test_an_own_test_that_takes_results_one_by_one_gets_no_sums(sqlite_url):
    own = ft.Strategy("uniform", stopping=own_parts.PLAIN)
    study = ft.Study.create("a", LINE, 0.1, sqlite_url, strategy=own)
    trial = study.ask()
    with pytest.raises(ValueRefusedError, match="classic takes in results one by one"):
        study.tell(trial, mean=0.5, n=20)
    study.tell(trial, 0.5)


def test_all_tests_of_the_package_take_sums():
    for name in stopping.MODULES:
        for version in stopping.versions(name).values():
            kinds = (version.unknown_sigma, version.bounded, version.bounded_linear)
            for test in filter(None, (version, *kinds)):
                assert test.observe is None or test.takes_sums


def test_a_batch_is_shared_out(sqlite_url):
    study = pages(sqlite_url, delta=1e-40)
    first = study.ask(batch=1000)
    assert [trial.name for trial in first] == ["A", "B", "C"]
    assert sum(trial.size for trial in first) == 1000
    assert max(trial.size for trial in first) - min(trial.size for trial in first) <= 1
    for trial in first:
        study.tell(trial, successes=round(RATES[trial.name] * trial.size), n=trial.size)
    second = study.ask(batch=10)
    assert sum(trial.size for trial in second) == 10
    pending = study.pending()
    assert [each.size for each in pending] == [trial.size for trial in second]
    assert study._fold.state.evidence.clock[Clock.ROUNDS] == 1000
    with pytest.raises(InputError, match="not for both"):
        study.ask(3, batch=5)
    for bad in (0, -1, 1.5, MOST_OUTCOMES + 1):
        with pytest.raises(InputError, match="ask for 1 to"):
            study.ask(batch=bad)


WORDS = {
    "0.73": {"value": 0.73},
    " -1e3 ": {"value": -1000.0},
    "37/1000": {"successes": 37, "n": 1000},
    "37 / 1000": {"successes": 37, "n": 1000},
    "mean=0.41,n=20": {"mean": 0.41, "n": 20},
    "mean=0.41 n=20 sd=0.3": {"mean": 0.41, "n": 20, "sd": 0.3},
    "successes=3,n=5": {"successes": 3, "n": 5},
}


@pytest.mark.parametrize("word", WORDS)
def test_results_in_words(word):
    assert sheets.result(word) == WORDS[word]


@pytest.mark.parametrize("word", ["", "x", "1_0", "3/", "-3/5", "mean=", "mean=1,mean=2", "n=1.5"])
def test_words_that_are_no_result(word):
    with pytest.raises(ValueRefusedError):
        sheets.result(word)


def test_a_table_of_results(sqlite_url, tmp_path):
    study = pages(sqlite_url)
    trials = study.ask(batch=900)
    table = tmp_path / "monday.csv"
    rows = [f"{trial.id},{trial.size // 5},{trial.size}" for trial in trials]
    table.write_text("\ufeffid,successes,n\n" + "\n".join(rows) + "\n\n", encoding="utf-8")
    told = subprocess.run(
        [
            *(sys.executable, "-m", "furthest", "study", "tell", "pages", "--csv", str(table)),
            *("--storage", sqlite_url, "--json"),
        ],
        capture_output=True,
        text=True,
        check=True,
    )
    assert json.loads(told.stdout) == {"told": 3}
    assert study.status().measurements == 900
    other = tmp_path / "before.csv"
    other.write_text("arm,id,successes,n,measured_at\nA,old/A,3,10,12.5\nB,old/B,,,\n")
    with pytest.raises(ValueRefusedError, match="result 2: a result must be a number"):
        study.tell_many(sheets.rows(other))
    other.write_text("arm,id,successes,n,measured_at\nA,old/A,3,10,12.5\nB,old/B,1,10,\n")
    study.tell_many(sheets.rows(other))
    assert [each.asked for each in study.history()] == [True, True, True, False, False]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("id,successes,n\na,1\n", "line 2: 3 fields are needed, not 2"),
        ("id,successes,n\na,x,3\n", "line 2: successes must be a whole number"),
        ("id,value,colour\na,1,red\n", "no column 'colour'"),
        ("id,value,value\na,1,1\n", "no column 'value', or no second one"),
        ("value,n\n1,1\n", "'id' or 'arm'"),
        ("a,1,2,3\n", "line 1: an id and a result are needed"),
        ("a,b\n", "line 1: a result must be a number, successes/n"),
    ],
)
def test_a_table_that_makes_no_sense(text, said, tmp_path):
    table = tmp_path / "table.csv"
    table.write_text(text)
    with pytest.raises(FileError, match=said):
        sheets.rows(table)


def test_a_command_that_counts(sqlite_url, tmp_path):
    """In batches: {n} of an arm at once, until the study stops."""
    study = pages(sqlite_url)
    script = tmp_path / "visitors.py"
    script.write_text(
        "import random, sys\n"
        f"rates, name, n = {RATES!r}, sys.argv[1], int(sys.argv[2])\n"
        "yes = sum(random.Random(f'{name} {n}').random() < rates[name] for _ in range(n))\n"
        "print(f'{yes}/{n}')\n"
    )
    runner = Runner(study, f"'{sys.executable}' '{script}' {{name}} {{n}}", jobs=2, batch=600)
    done = runner.run(40, lambda: None)
    assert study.status().state == "stopped"
    assert study.certificate().answer_name == "A"
    assert 3 <= done <= 40
    assert not study.pending()


def test_what_is_left_of_a_batch_is_given_back(sqlite_url, tmp_path):
    study = pages(sqlite_url)
    runner = Runner(study, f"'{sys.executable}' -c 'print(\"2/7\")' {{n}}", batch=90)
    assert runner.run(2, lambda: None) == 2
    assert not study.pending()
    assert [each.reason for each in study.failures()] == ["the run ended before it was measured"]
