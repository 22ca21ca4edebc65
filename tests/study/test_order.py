"""The order in which results count, and the end of a study as an event of its log."""

import json

import numpy as np
import pytest

import furthest as ft
from furthest.errors import ChangeError, InputError, StoppedError, StorageError, VerificationError
from furthest.study import certificate
from furthest.study.certificate import verify
from furthest.study.chain import chained
from furthest.study.events import STOPPED, Due, Event, Settings, single
from furthest.study.fold import Fold
from furthest.study.ledger import PATIENCE, Ledger
from furthest.study.sqlite import SqliteStorage
from study.problems import ENDLESS, TWO, TWO_MU, Lab, older_database, run
from study.test_fold import arrays


def conditions(study):
    return {each.name: each for each in study.certificate().conditions}


def told_in(study, order):
    """Ask for 40 at once; the k-th asked has the k-th value, whatever the order of telling."""
    values = np.random.default_rng(3).standard_normal(40)
    trials = study.ask(40)
    for i in order(values, [trial.arm for trial in trials]):
        study.tell(trials[i], float(values[i]))
    return [trial.arm for trial in trials]


def best_news_first(values, arms):
    """One arm ascending, the others descending: the order that made every answer wrong."""
    return sorted(range(40), key=lambda i: values[i] if arms[i] == 0 else -values[i])


def test_what_is_told_first_does_not_matter(tmp_path):
    found = []
    for i, order in enumerate((lambda values, _: range(40), best_news_first)):
        study = ft.Study.create("a", ENDLESS, 0.1, f"sqlite:///{tmp_path}/{i}.db")
        assert told_in(study, order) == [0, 1, 2] * 13 + [0]
        found.append(arrays(study._fold.state))
        assert study.status().waiting == 0
    assert found[0] == found[1]


def test_as_told_it_does(tmp_path):
    found = []
    for i, order in enumerate((lambda values, _: range(40), best_news_first)):
        place = f"sqlite:///{tmp_path}/{i}.db"
        study = ft.Study.create("a", ENDLESS, 0.1, place, order="told")
        told_in(study, order)
        found.append(arrays(study._fold.state))
    assert found[0] != found[1]


def test_a_result_waits_for_what_was_asked_earlier(sqlite_url):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url)
    for arm in range(3):
        study.add(arm, 0.1 * arm)
    first, second, third = study.ask(3)
    study.tell(third, 1.0)
    study.tell(second, 2.0)
    assert (study.status().measurements, study.status().waiting) == (5, 2)
    assert study._fold.told == 3
    study.tell(first, 3.0)
    assert study.status().waiting == 0
    assert [event.value for event in study._ledger.counting(3).events] == [3.0, 2.0, 1.0]
    assert [each.value for each in study.history()[3:]] == [1.0, 2.0, 3.0]


def test_one_that_failed_is_not_waited_for(sqlite_url):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url)
    first, second = study.ask(2)
    study.tell(second, 2.0)
    study.fail(first)
    assert [event.value for event in study._ledger.counting().events] == [2.0]


def test_what_waits_is_known_to_the_next_ask(sqlite_url):
    """A surprising result changes what is measured next, even before it counts."""
    study = ft.Study.create("a", TWO, 1e-9, sqlite_url)
    for arm, value in enumerate((0.0, 0.0)):
        study.add(arm, value)
    out = study.ask()
    fold = study._fold
    quiet = fold.suggest([Due(out.arm)], 30)
    loud = fold.suggest([Due(out.arm)], 30, single(np.array([1] * 20), np.full(20, 50.0)))
    assert quiet != loud


def test_a_dead_worker_is_given_up(sqlite_url):
    """Nobody measures for nothing until a lease of a day is over."""
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    dead = study.ask()
    counted = []
    patience = 2 * PATIENCE  # two were out at once
    for _ in range(patience + 1):
        trial = study.ask()
        study.tell(trial, TWO_MU[trial.arm])
        counted.append(len(study._ledger.counting()))
    assert counted == [0] * patience + [patience + 1]
    assert list(study._ledger.given_up) == [dead.id]
    run(study, Lab(TWO, TWO_MU))
    failures = conditions(study)["failures"]
    assert failures.standing == "in doubt"
    assert "1 result never came" in failures.evidence


def test_workers_that_died_long_ago_try_nobodys_patience(sqlite_url):
    """However many there were, each costs the study as much as the first."""
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url)
    for dead in range(1, 4):
        study.ask()
        for _ in range(2 * PATIENCE + 1):
            study.tell(study.ask(), 0.5)
        assert len(study._ledger.given_up) == dead
        assert len(study._ledger.counting()) == dead * (2 * PATIENCE + 1)
    assert study._ledger._lost == 3
    for trial in list(study._ledger.given_up):
        study.fail(trial)
    assert study._ledger._lost == 0


def test_a_late_result_counts_when_told_and_is_disclosed(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url, lease=1e-6)
    late = study.ask()
    prompt = study.ask()
    study.tell(prompt, 0.0)
    assert late.id in study._ledger.given_up
    study.tell(late, 2.0)
    assert [event.trial for event in study._ledger.counting().events] == [prompt.id, late.id]
    run(study, Lab(TWO, TWO_MU))
    order = conditions(study)["order"]
    assert order.standing == "in doubt"
    assert "no longer waited for" in order.evidence
    assert study.certificate().standing == "proven if"
    assert study.certificate().guarantee.startswith(
        "if the order in which results count has nothing"
    )


def test_the_clock_of_the_log_decides_not_that_of_the_reader():
    """Every process comes to the same order, whenever it looks."""
    settings = Settings(TWO, ft.Strategy(), 0.1, 0, 60.0, "t")
    log = chained(
        [
            Event(1, "created", 0.0, data=settings.encode()),
            Event(2, "asked", 1.0, "t-2", 0),
            Event(3, "asked", 2.0, "t-3", 1),
            Event(4, "told", 50.0, "t-3", 1, 0.5),
            Event(5, "asked", 62.0, "t-5", 0),
            Event(6, "told", 3.0, "t-5", 0, 0.25),
        ]
    )
    ledger = Ledger.of(log[:4])
    assert not len(ledger.counting())
    ledger.apply(log[4:5])
    assert [event.trial for event in ledger.counting().events] == ["t-3"]
    assert ledger.counted_by(0) == 5
    # Clocks that go backwards change nothing that has counted.
    ledger.apply(log[5:])
    assert [event.trial for event in ledger.counting().events] == ["t-3", "t-5"]


def test_the_order_is_part_of_the_question(sqlite_url):
    with pytest.raises(InputError, match="unknown order 'tod'; did you mean 'told'"):
        ft.Study.create("a", TWO, 0.1, sqlite_url, order="tod")
    ft.Study.create("a", TWO, 0.1, sqlite_url, order="told")
    assert ft.Study.create("a", TWO, 0.1, sqlite_url, exist_ok=True).settings.order == "told"
    with pytest.raises(ChangeError, match="the order of results is told, not asked"):
        ft.Study.create("a", TWO, 0.1, sqlite_url, exist_ok=True, order="asked")


def test_as_told_overtaking_is_disclosed(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url, order="told")
    run(study, Lab(TWO, TWO_MU), workers=3)  # the last first
    order = conditions(study)["order"]
    assert order.standing == "in doubt"
    assert "before one that was asked earlier" in order.evidence


def test_a_log_of_the_first_version_counts_as_told(sqlite_url, tmp_path):
    """Its certificate stays what it was, and nothing is written to it that it could not hold."""
    study = ft.Study.create("a", TWO, 0.1, sqlite_url, order="told")
    run(study, Lab(TWO, TWO_MU), workers=2)
    created, *events = [event for event in study.events() if event.kind != STOPPED]
    later = ("order", "origin", "name")
    data = {key: value for key, value in json.loads(created.data).items() if key not in later}
    old = json.dumps(data | {"version": 1})
    url = f"sqlite:///{tmp_path}/old.db"
    older_database(url, "old", [created._replace(data=old), *events], schema=1)
    again = ft.Study.load("old", url)
    assert again.settings.order == "told"
    assert [*again._ledger.counting().events] == [*again._ledger.measured.events]
    assert again.status().state == "stopped"
    assert [event[1:7] for event in again.events()[1:]] == [event[1:7] for event in events]
    assert verify("old", again.events(), again.certificate().to_dict()).standing == "proven if"


def test_the_end_is_written_once_and_read_by_all(sqlite_url):
    study, other = (ft.Study.create("a", TWO, 0.1, sqlite_url, exist_ok=True) for _ in range(2))
    assert study.outcome is None
    run(study, Lab(TWO, TWO_MU))
    for each in (study, other, study, other):
        assert each.status().state == "stopped"
        with pytest.raises(StoppedError):
            each.ask()
    (end,) = [event for event in study.events() if event.kind == STOPPED]
    assert (end.arm, end.data) == (study.status().answer, str(study.certificate().measurements))
    assert study.certificate() == other.certificate()
    assert ft.Study.load("a", sqlite_url).outcome == end.arm


def test_a_storage_that_cannot_be_written_to_can_be_looked_at(sqlite_url, monkeypatch):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    for arm in (0, 1) * 20:
        study.add(arm, TWO_MU[arm])
    with monkeypatch.context() as patch:

        def refuse(self, key):
            raise StorageError("read-only")

        patch.setattr(SqliteStorage, "writing", refuse)
        assert study.status().state == "stopped"
    assert study.events()[-1].kind != STOPPED


def ended(study, answer, measurements):
    """The log of a study that somebody says has ended."""
    events = [event for event in study.events() if event.kind != STOPPED]
    last = events[-1]
    end = Event(last.seq + 1, STOPPED, last.at, "", answer, data=str(measurements))
    return [*events, *chained([end], last.chain)]


def test_an_end_that_the_results_do_not_lead_to_is_found_out(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    run(study, Lab(TWO, TWO_MU))
    answer, count = study.status().answer, study.certificate().measurements
    assert verify("a", ended(study, answer, count)).certificate == study.certificate()
    for wrong in ((1 - answer, count), (answer, 3), (answer, count + 100)):
        with pytest.raises(VerificationError, match="do not lead to that"):
            verify("a", ended(study, *wrong))
    for nonsense in ((7, count), (answer, "soon")):
        with pytest.raises(VerificationError, match="does not follow"):
            verify("a", ended(study, *nonsense))


def test_an_end_within_rounding_is_the_end_everywhere(sqlite_url, monkeypatch):
    """Another processor may see the statistic pass the threshold a result later."""
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    run(study, Lab(TWO, TWO_MU, seed=2))
    proof, log = study.certificate(), study.events()

    class Stubborn(Fold):
        """A fold whose own arithmetic never quite gets there."""

        @property
        def _ended(self):
            return self.outcome is not None and super()._ended

    monkeypatch.setattr(certificate, "Fold", Stubborn)
    found = verify("a", log, proof.to_dict())
    assert found.certificate == proof
    again = ft.Study.load("a", sqlite_url)
    assert again.status().state == "stopped"
    assert again.certificate() == proof
