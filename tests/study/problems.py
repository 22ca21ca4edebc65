"""Small questions, simulated laboratories and older databases for the tests."""

import sqlite3
from contextlib import closing

import numpy as np

import furthest as ft
from furthest.errors import StoppedError
from furthest.study import chain
from furthest.study.sql import STEPS
from furthest.study.sqlite import SqliteStorage

HARD = ft.hard()
TWO = ft.Problem(np.eye(2), eps=0.5, arm_names=["A", "B"])
TWO_MU = np.array([2.0, 0.0])

# Nothing here stops: the answers are as good as equal and ε is tiny.
ENDLESS = ft.Problem(np.eye(3), eps=1e-6, arm_names=["A", "B", "C"])


def rechained(events):
    """The log as somebody would write it who knows how the chain is made."""
    return chain.chained(event._replace(chain="") for event in events)


def older_database(url, name, events, schema=2):
    """A file as an older furthest left it: no chains, no ends."""
    with closing(sqlite3.connect(url.removeprefix("sqlite:///"))) as database, database:
        for step in range(schema):
            for statement in STEPS[step]:
                database.execute(statement.format(**SqliteStorage.words))
        database.execute("UPDATE furthest_schema SET version = ?", (schema,))
        database.execute("INSERT INTO furthest_studies (key, name) VALUES (1, ?)", (name,))
        fields = 7 + (schema > 1)
        rows = [(1, *event[:fields]) for event in events]
        places = ", ".join("?" * (fields + 1))
        database.executemany(f"INSERT INTO furthest_events VALUES ({places})", rows)


class Lab:
    """Measures arms with Gaussian noise."""

    def __init__(self, problem, mu, seed=0, sigma=None):
        self._means = problem.arms @ np.asarray(mu, float)
        self._sigma = sigma or problem.sigma
        self._rng = np.random.default_rng(seed)

    def measure(self, arm):
        return float(self._means[arm] + self._sigma * self._rng.standard_normal())


def run(study, lab, workers=1, most=10_000):
    """Ask and tell, `workers` at a time and the last first, until the study stops."""
    while len(study.history()) < most:
        try:
            trials = study.ask(workers)
        except StoppedError:
            return
        for trial in reversed(trials):
            study.tell(trial.id, lab.measure(trial.arm))
