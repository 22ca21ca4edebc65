"""Any sequence of calls, kills and reopenings, against a model in plain Python."""

import tempfile
from pathlib import Path

import hypothesis.strategies as st
import pytest
from hypothesis import settings
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

import furthest as ft
from furthest.errors import ContradictionError, StoppedError, StudyError, UnknownStudyError
from furthest.study.certificate import verify
from furthest.study.chain import chained
from furthest.study.events import Event
from study.problems import TWO

VALUES = st.floats(-3, 3).map(lambda value: round(value, 2))


class Machine(RuleBasedStateMachine):
    """Two processes at work on one study; either may be killed at any moment."""

    trials = Bundle("trials")
    url = ""  # set by the test

    def __init__(self):
        super().__init__()
        self.told, self.failed, self.asked = {}, set(), {}
        self.order = []
        self.certificate = None
        self.studies = []

    @initialize()
    def create(self):
        ft.Study.create("a", TWO, 0.2, self.url, lease=1e9).close()
        self.studies = [ft.Study.load("a", self.url) for _ in range(2)]

    def teardown(self):
        for study in self.studies:
            study.close()
        if self.studies:
            self.studies[0].delete()
            self.studies[0].close()

    @rule(target=trials, who=st.integers(0, 1))
    def ask(self, who):
        try:
            trial = self.studies[who].ask()
        except StoppedError:
            assert self.studies[who].status().state == "stopped"
            return ""
        assert trial.id not in self.asked
        self.asked[trial.id] = trial.arm
        return trial.id

    @rule(who=st.integers(0, 1), trial=trials, value=VALUES)
    def tell(self, who, trial, value):
        study = self.studies[who]
        if trial == "":
            with pytest.raises(UnknownStudyError):
                study.tell(trial, value)
        elif trial in self.failed or self.told.get(trial, value) != value:
            with pytest.raises(ContradictionError):
                study.tell(trial, value)
        else:
            study.tell(trial, value)
            if trial not in self.told:
                self.told[trial] = value
                self.order.append((trial, self.asked[trial], value))

    @rule(who=st.integers(0, 1), trial=trials)
    def tell_again(self, who, trial):
        if trial in self.told:
            self.studies[who].tell(trial, self.told[trial])

    @rule(who=st.integers(0, 1), trial=trials)
    def fail(self, who, trial):
        if trial in self.told or trial == "":
            with pytest.raises(StudyError):
                self.studies[who].fail(trial)
        else:
            self.studies[who].fail(trial)
            self.failed.add(trial)

    @rule(who=st.integers(0, 1), arm=st.integers(0, 1), value=VALUES)
    def add(self, who, arm, value):
        trial = self.studies[who].add(arm, value)
        assert trial not in self.asked
        self.told[trial] = value
        self.order.append((trial, arm, value))

    @rule(who=st.integers(0, 1))
    def bring_to_an_end(self, who):
        for _ in range(5):
            self.add(who, 0, 3.0)
            self.add(who, 1, -3.0)

    @rule(who=st.integers(0, 1))
    def reopen(self, who):
        self.studies[who].close()
        self.studies[who] = ft.Study.load("a", self.url)

    @precondition(lambda self: self.asked)
    @rule(who=st.integers(0, 1))
    def kill(self, who):
        """The process dies after it has written, but before the commit."""
        study = self.studies[who]
        last = study.events()[-1]
        lost = chained([Event(last.seq + 1, "added", 0.0, "lost", 0, 1.0)], last.chain)
        with pytest.raises(SystemExit), study._storage.writing(study._key) as log:
            log.append(lost)
            raise SystemExit
        self.studies[who] = ft.Study.load("a", self.url)

    @invariant()
    def the_log_is_what_was_acknowledged(self):
        for study in self.studies:
            found = [(each.id, each.arm, each.value) for each in study.history()]
            assert found == self.order
            assert {failure.id for failure in study.failures()} == self.failed
            pending = {trial.id for trial in study.pending()}
            assert pending == set(self.asked) - set(self.told) - self.failed

    @invariant()
    def everybody_comes_to_the_same(self):
        if not self.studies:
            return
        mine, other = (study.status() for study in self.studies)
        assert mine == other
        again = verify("a", self.studies[0].events())
        assert again.certificate == mine.certificate
        assert (again.answer, again.statistic) == (mine.answer, mine.statistic)
        if self.certificate is not None:
            assert mine.certificate == self.certificate
        self.certificate = mine.certificate


def play(url, examples, steps):
    machine = type("Machine", (Machine,), {"url": url})
    run_state_machine_as_test(
        machine, settings=settings(max_examples=examples, stateful_step_count=steps)
    )


def test_sqlite():
    with tempfile.TemporaryDirectory() as folder:
        play(f"sqlite:///{Path(folder)}/a.db", 8, 20)


def test_postgres(postgres_url):
    play(postgres_url, 4, 20)


@pytest.mark.slow
def test_long_sequences(url):
    play(url, 40, 50)
