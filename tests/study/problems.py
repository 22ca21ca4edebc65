"""Small questions and simulated laboratories for the tests."""

import numpy as np

import furthest as ft
from furthest.errors import StoppedError

HARD = ft.hard()
TWO = ft.Problem(np.eye(2), eps=0.5, arm_names=["A", "B"])
TWO_MU = np.array([2.0, 0.0])

# Nothing here stops: the answers are as good as equal and ε is tiny.
ENDLESS = ft.Problem(np.eye(3), eps=1e-6, arm_names=["A", "B", "C"])


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
