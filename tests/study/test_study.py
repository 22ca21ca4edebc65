"""Asking and telling: the contract under trouble, on both storages."""

import math
import threading
import time

import numpy as np
import pytest

import furthest as ft
from furthest.errors import (
    ChangeError,
    ContradictionError,
    InputError,
    StoppedError,
    StrategyError,
    StudyError,
    UnknownStudyError,
    ValueRefusedError,
)
from furthest.study.ledger import Ledger
from study.problems import ENDLESS, HARD, TWO, TWO_MU, Lab, run


@pytest.fixture
def study(url):
    study = ft.Study.create("a", TWO, 0.1, url)
    yield study
    study.close()


def log(study):
    return study.events()


def test_the_documented_lines(url):
    study = ft.Study.create("name", TWO, delta=0.1, storage=url)
    trial = study.ask()
    assert trial.name == TWO.arm_names[trial.arm]
    study.tell(trial.id, 0.73)
    five = study.ask(n=5)
    assert len({each.id for each in five}) == 5
    study.fail(five[0].id, reason="broke")
    status = study.status()
    assert (status.state, status.measurements, status.pending, status.failed) == (
        "running",
        1,
        4,
        1,
    )
    again = ft.Study.load("name", storage=url)
    assert again.status() == status
    study.close()
    again.close()


def test_it_stops_with_a_certificate(url):
    study = ft.Study.create("a", TWO, 0.1, url)
    run(study, Lab(TWO, TWO_MU))
    status = study.status()
    assert (status.state, status.answer, status.answer_name) == ("stopped", 0, "A")
    assert status.statistic >= status.threshold == math.log(10)
    assert status.certificate == study.certificate()
    with pytest.raises(StoppedError, match="the answer is 'A'"):
        study.ask()
    study.close()


def test_results_come_late_and_out_of_order(study):
    trials = study.ask(4)
    for value, trial in enumerate(reversed(trials)):
        study.tell(trial.id, value)
    assert [each.id for each in study.history()] == [trial.id for trial in reversed(trials)]
    assert [each.value for each in study.history()] == [0.0, 1.0, 2.0, 3.0]


def test_the_same_result_again_changes_nothing(study):
    trial = study.ask()
    study.tell(trial.id, 0.5)
    before = log(study)
    study.tell(trial.id, 0.5)
    assert log(study) == before
    with pytest.raises(ContradictionError, match=r"told 0\.5 before, now 0\.25"):
        study.tell(trial.id, 0.25)
    assert log(study) == before


def test_a_trial_serves_as_well_as_its_id(study):
    first, second, third = study.ask(3)
    study.tell(first, 0.5)
    study.tell(first.id, 0.5)
    study.fail(second, "spilled")
    (waiting,) = study.pending()
    study.tell(waiting, 0.25)
    assert [(each.id, each.value) for each in study.history()] == [
        (first.id, 0.5),
        (third.id, 0.25),
    ]
    with pytest.raises(StudyError, match=f"trial {first.id!r} has a result"):
        study.fail(first)
    elsewhere = ft.Study.create("b", TWO, 0.1, study._storage).ask()
    with pytest.raises(UnknownStudyError, match=f"unknown trial {elsewhere.id!r}"):
        study.tell(elsewhere, 1.0)
    for strange in ([first.id], 3, {}, (first.id, 0, "A")):
        with pytest.raises(UnknownStudyError, match="what `ask` returned"):
            study.tell(strange, 1.0)


def test_pending_trials_and_failures_have_names(study):
    first, second = study.ask(2, worker="lab 2")
    study.fail(second, "spilled")
    (waiting,), (failure,) = study.pending(), study.failures()
    asked, _, failed = log(study)[1:]
    assert waiting == ft.Pending(first.id, first.arm, "A", asked.at, "lab 2")
    assert failure[:-1] == (second.id, second.arm, "B", failed.at, "spilled")
    assert type(failure) is ft.Failure
    assert failure.worker == failed.worker != ""


@pytest.mark.parametrize(
    "value",
    [
        math.nan,
        math.inf,
        -math.inf,
        "0.5",
        "text",
        b"1",
        None,
        [1.0, 2.0],
        {},
        1j,
        1e200,
        "",
        object(),
    ],
    ids=lambda value: type(value).__name__ if type(value) is object else repr(value),
)
def test_what_is_no_finite_number_is_refused(value, sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    trial = study.ask()
    before = log(study), study.status()
    with pytest.raises(ValueRefusedError, match="result"):
        study.tell(trial.id, value)
    with pytest.raises(ValueRefusedError, match="result"):
        study.add(0, value)
    assert (log(study), study.status()) == before


@pytest.mark.parametrize("value", [1, True, np.float32(0.5), np.int64(3), np.bool_(False), -0.0])
def test_every_kind_of_number_is_welcome(value, sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    study.tell(study.ask().id, value)
    assert [each.value for each in study.history()] == [float(value)]


def test_unknown_names_are_refused_with_the_nearest(study):
    trial = study.ask()
    with pytest.raises(UnknownStudyError, match=f"did you mean {trial.id!r}"):
        study.tell(trial.id + "0", 1)
    with pytest.raises(UnknownStudyError, match=f"did you mean {trial.id!r}"):
        study.fail(trial.id + "0")
    with pytest.raises(UnknownStudyError, match="unknown trial None"):
        study.tell(None, 1)
    with pytest.raises(UnknownStudyError, match="did you mean 'B'"):
        study.add("BB", 1)
    for arm in (2, -1, 0.5, True, None):
        with pytest.raises(UnknownStudyError, match=r"numbered 0 … 1"):
            study.add(arm, 1)
    with pytest.raises(UnknownStudyError, match="did you mean 'a'"):
        ft.Study.load("aa", study._storage)
    assert len(log(study)) == 2


def test_a_failed_trial(study):
    trial = study.ask()
    study.fail(trial.id, "broke")
    before = log(study)
    study.fail(trial.id, "again")
    assert log(study) == before
    with pytest.raises(ContradictionError, match=r"failed \(broke\).*add it"):
        study.tell(trial.id, 1.0)
    told = study.ask()
    study.tell(told.id, 1.0)
    with pytest.raises(StudyError, match="has a result already"):
        study.fail(told.id)
    with pytest.raises(StudyError, match="reason must be a text"):
        study.fail(trial.id, 3)
    assert any("depends" in warning for warning in study.status().warnings)


def test_a_measurement_that_was_never_asked_for(study):
    study.add("B", 0.25)
    study.add(1, 0.5, id="mine")
    study.add(1, 0.5, id="mine")
    assert [(each.arm, each.value, each.asked) for each in study.history()] == [
        (1, 0.25, False),
        (1, 0.5, False),
    ]
    with pytest.raises(ContradictionError, match=r"0\.5 before, now 0\.75"):
        study.add(1, 0.75, id="mine")
    with pytest.raises(StudyError, match="was of arm 'B'"):
        study.add(0, 0.5, id="mine")
    study.tell("mine", 0.5)
    with pytest.raises(StudyError, match="printable"):
        study.add(0, 0.5, id="\n")
    with pytest.raises(StudyError, match="this study's own"):
        study.add(0, 0.5, id=f"{study.settings.tag}-99")
    assert len(study.history()) == 2


def test_a_late_result_is_welcome(url, monkeypatch):
    now = time.time()
    monkeypatch.setattr("furthest.study.study.time.time", lambda: now)
    study = ft.Study.create("a", TWO, 0.1, url, lease=60)
    first, second = study.ask(2)
    assert study.status().pending == 2
    monkeypatch.setattr("furthest.study.study.time.time", lambda: now + 61)
    assert study.status().pending == 0
    again = study.ask(2)
    assert [trial.arm for trial in again] == [first.arm, second.arm]  # reclaimed
    study.tell(first.id, 0.5)
    study.tell(again[0].id, 0.25)
    assert [each.value for each in study.history()] == [0.5, 0.25]
    assert [trial.id for trial in study.pending()] == [again[1].id]
    study.close()


def test_after_the_end_results_go_to_the_log_and_nothing_changes(url):
    study = ft.Study.create("a", TWO, 0.1, url)
    late = study.ask(3)
    run(study, Lab(TWO, TWO_MU))
    before, surplus = study.certificate(), study.status().surplus
    for trial in late[:2]:
        study.tell(trial.id, -1000.0)
    study.add("B", 1000.0)
    study.fail(late[2].id, "too late")
    after = study.status()
    assert after.certificate == before
    assert after.answer == before.answer
    assert after.statistic == before.statistic
    assert (after.measurements, after.surplus) == (before.measurements, surplus + 3)
    assert ft.Study.load("a", url).certificate() == before
    study.close()


QUESTIONS = {
    "ε": ft.Problem(np.eye(2), eps=0.25, arm_names=["A", "B"]),
    "σ": ft.Problem(np.eye(2), eps=0.5, sigma=2.0, arm_names=["A", "B"]),
    "the notion": ft.Problem(np.eye(2), eps=0.5, notion="multiplicative", arm_names=["A", "B"]),
    "the arms": ft.Problem([[1, 0], [0, 2]], eps=0.5, arm_names=["A", "B"]),
    "the answers": ft.Problem(np.eye(2), np.eye(2)[::-1], eps=0.5, arm_names=["A", "B"]),
    "the bounds": ft.Problem(np.eye(2), eps=0.5, bounds=(0, 2), arm_names=["A", "B"]),
    "the first arms": ft.Problem(np.eye(2), eps=0.5, initial=[1, 0], arm_names=["A", "B"]),
    "the arm names": ft.Problem(np.eye(2), eps=0.5, arm_names=["A", "C"]),
}


@pytest.mark.parametrize("what", QUESTIONS)
def test_the_question_cannot_be_changed(what, study):
    before = log(study)
    with pytest.raises(ChangeError, match=rf"{what} .*would void the guarantee"):
        ft.Study.create("a", QUESTIONS[what], 0.1, study._storage, exist_ok=True)
    assert log(study) == before


def test_neither_can_delta_nor_the_strategy(study):
    with pytest.raises(ChangeError, match=r"δ is 0\.1, not 0\.05"):
        ft.Study.create("a", TWO, 0.05, study._storage, exist_ok=True)
    other = ft.Strategy("uniform")
    with pytest.raises(ChangeError, match="strategy is another"):
        ft.Study.create("a", TWO, 0.1, study._storage, strategy=other, exist_ok=True)
    for name in ("delta", "problem", "settings", "strategy", "name"):
        with pytest.raises(AttributeError):
            setattr(study, name, 0.5)
    with pytest.raises(StudyError, match="already"):
        ft.Study.create("a", TWO, 0.1, study._storage)
    same = ft.Study.create("a", TWO, 0.1, study._storage, exist_ok=True)
    assert same.settings.tag == study.settings.tag
    # JSON knows no tuples: still the same strategy.
    fixed = ft.Strategy("fixed", options={"weights": (0.5, 0.5)})
    for _ in range(2):
        ft.Study.create("b", TWO, 0.1, study._storage, strategy=fixed, exist_ok=True)


def test_only_deciding_makes_the_strategy(study, monkeypatch):
    """Its checks may load compiled code, for which nobody who tells a result should wait."""
    trial = study.ask()

    def refuse(self):
        raise AssertionError("made")

    monkeypatch.setattr(ft.Strategy, "__post_init__", refuse)
    again = ft.Study.load("a", study._storage)
    again.tell(trial, 0.5)
    again.add("B", 0.25)
    again.fail(study.ask())
    assert len(again.history()) == 2
    assert again.pending() == []
    assert "2 measured" in repr(again)
    with pytest.raises(AssertionError, match="made"):
        again.ask()
    monkeypatch.undo()
    assert again.strategy is again.strategy
    assert again.strategy == study.strategy


def test_a_study_shows_itself_without_its_storage(tmp_path):
    url = f"sqlite:///{tmp_path}/gone.db"
    study = ft.Study.create("a <b>", TWO, 0.1, url)
    study.add("A", 0.5)
    study.close()
    for file in tmp_path.iterdir():
        file.unlink()
    tmp_path.rmdir()
    with pytest.raises(ft.FurthestError, match="no folder"):
        study.history()
    assert repr(study) == (
        "Study('a <b>', 2 arms, 2 answers, d = 2, additive ε = 0.5, σ = 1, δ = 0.1; "
        "1 measured, 0 open, 0 failed)"
    )
    assert "a &lt;b&gt;" in study._repr_html_()
    assert "_compiled" not in vars(study)


def test_a_study_shows_what_it_knows(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    study.ask(2)
    study.add("A", 0.5)
    study.add("A", 1.0)
    assert "2 measured, 2 open, 0 failed" in repr(study)
    assert "0.75" in study._repr_html_()
    run(study, Lab(TWO, TWO_MU))
    assert "the answer is" not in repr(study)  # nobody has looked
    assert study.certificate().answer_name == "A"
    assert repr(study).endswith("; the answer is 'A')")


def test_bad_settings_are_refused_before_anything_is_written(url):
    for arguments, error in (
        ({"delta": 0}, InputError),
        ({"delta": "x"}, InputError),
        ({"delta": 1.5}, InputError),
        ({"seed": -1}, InputError),
        ({"lease": 0}, InputError),
        ({"lease": math.nan}, InputError),
        ({"strategy": ft.Strategy(options={"nothing": 1})}, StrategyError),
        ({"strategy": ft.Strategy(options={"bound": object()})}, StrategyError),
        ({"strategy": ft.Strategy(ft.Rule("mine", list, max, compiled=False))}, StrategyError),
        ({"strategy": ft.Strategy("fixed")}, StrategyError),
        ({"strategy": "lebai"}, StrategyError),
    ):
        with pytest.raises(error):
            ft.Study.create("a", TWO, storage=url, **arguments)
    with pytest.raises(InputError, match=r"furthest\.Problem, not \[\[1, 0\]"):
        ft.Study.create("a", [[1, 0], [0, 1]], storage=url)
    for name in ("", " ", "a\nb", None, 3, "x" * 201):
        with pytest.raises(StudyError, match="name"):
            ft.Study.create(name, TWO, storage=url)
    with pytest.raises(UnknownStudyError, match="there is none"):
        ft.Study.load("a", url)


@pytest.mark.parametrize("count", [0, -1, 1.5, 10**6, "3"])
def test_a_strange_number_of_trials_is_refused(count, sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    with pytest.raises(InputError, match="ask for 1 to"):
        study.ask(count)


def test_several_processes_share_one_order(url):
    """Each has its own view, and all come to the same."""
    first = ft.Study.create("a", ENDLESS, 0.1, url)
    second = ft.Study.load("a", url)
    for _ in range(5):
        one, other = first.ask(), second.ask()
        assert one.id != other.id
        second.tell(one.id, 0.25)
        first.tell(other.id, 0.5)
    assert first.history() == second.history()
    assert first.status() == second.status()
    assert [event.seq for event in first.events()] == list(range(1, 22))
    first.close()
    second.close()


def test_threads_may_share_a_study(url):
    study = ft.Study.create("a", ENDLESS, 0.1, url)
    ids = []

    def work():
        for _ in range(10):
            trial = study.ask()
            study.tell(trial.id, 0.5)
            ids.append(trial.id)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(each.id for each in study.history()) == sorted(ids)
    assert len(set(ids)) == 40
    study.close()


def test_deleted_studies_refuse_everything(url):
    study = ft.Study.create("a", TWO, 0.1, url)
    trial = study.ask()
    other = ft.Study.load("a", url)
    other.delete()
    again = ft.Study.create("a", TWO, 0.1, other._storage)
    for action in (
        study.ask,
        lambda: study.tell(trial.id, 1.0),
        lambda: study.add(0, 1.0),
        study.events,
    ):
        with pytest.raises(UnknownStudyError, match="deleted"):
            action()
    assert again.history() == []
    study.close()
    other.close()


def test_the_storage_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("FURTHEST_STORAGE", f"sqlite:///{tmp_path}/here.db")
    ft.Study.create("a", HARD.problem)
    assert (tmp_path / "here.db").exists()
    monkeypatch.delenv("FURTHEST_STORAGE")
    monkeypatch.chdir(tmp_path)
    ft.Study.create("a", HARD.problem)
    assert (tmp_path / "furthest.db").exists()


def test_values_outside_the_bounds_are_refused(sqlite_url):
    """σ was derived from them."""
    problem = ft.Problem(np.eye(2), bounds=(0, 1))
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    trial = study.ask()
    for value in (-0.01, 1.5):
        with pytest.raises(ValueRefusedError, match=r"outside the bounds \[0, 1\]"):
            study.tell(trial.id, value)
    study.tell(trial.id, 1)
    assert ft.Study.load("a", sqlite_url).problem.bounds == (0, 1)


def test_many_arms_begin_with_a_few(sqlite_url):
    """K ≫ d: three factors of nine levels are 729 combinations, but 25 parameters."""
    levels = list(range(9))
    problem = ft.Problem.factorial({"x": levels, "y": levels, "z": levels}, eps=0.5)
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    first = study.ask(25)
    assert len({trial.arm for trial in first}) == 25
    assert all(trial.name.startswith("x=") for trial in first)
    for trial in first:
        study.tell(trial.id, 0.5)
    status = study.status()
    assert status.waiting == 0
    assert status.statistic is not None


def test_a_model_that_does_not_fit_is_noticed(sqlite_url):
    """The value of the third arm is not the sum of the other two."""
    problem = ft.Problem([[1, 0], [0, 1], [1, 1]], eps=1e-3, sigma=0.1)
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    rng = np.random.default_rng(0)
    for arm in [0, 1, 2] * 10:
        study.add(arm, (1.0, 1.0, 0.0)[arm] + 0.1 * rng.standard_normal())
    assert any("features do not explain" in text for text in study.status().warnings)


VERBS = ("status", "history", "pending", "failures", "foresight", "certificate", "events", "ask")


@pytest.mark.parametrize("verb", VERBS)
def test_after_a_deletion_no_verb_shows_old_data(verb, sqlite_url):
    study, other = (ft.Study.create("a", TWO, 0.1, sqlite_url, exist_ok=True) for _ in range(2))
    study.add("A", 1.0)
    study.add("B", 0.0)
    assert study.status().measurements == 2
    other.delete()
    with pytest.raises(UnknownStudyError, match="deleted"):
        getattr(study, verb)()


@pytest.mark.parametrize("where", ["_note_result", "_count_in_turn"])
def test_an_interruption_in_the_middle_of_a_change_is_forgotten(where, sqlite_url, monkeypatch):
    """Ctrl-C while a result is being counted: it is in the log, and counts once."""
    study = ft.Study.create("a", ENDLESS, storage=sqlite_url)
    trials = study.ask(4)

    def interrupted(*_):
        monkeypatch.undo()
        raise KeyboardInterrupt

    monkeypatch.setattr(Ledger, where, interrupted)
    with pytest.raises(KeyboardInterrupt):
        study.tell(trials[0], 0.5)
    for trial in trials[1:]:
        study.tell(trial, 0.25)
    again = ft.Study.load("a", sqlite_url)
    assert study.history() == again.history()
    assert study.status() == again.status()
    assert [each.value for each in study.history()] == [0.5, 0.25, 0.25, 0.25]
