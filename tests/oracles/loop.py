"""A simulated run round by round, in the one loop that everything goes through."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator

from furthest.engine import simulated
from furthest.kernels.evidence import Clock
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.stopping.nomination import Progress
from furthest.strategy import Strategy


class Loop:
    """A run of a strategy, with noise of its own."""

    def __init__(
        self,
        strategy: Strategy,
        problem: Problem,
        mu: Any,
        deltas: Sequence[float],
        noise: Generator,
        rng: Generator | None = None,
        ridge: float = 0.0,
    ) -> None:
        self.task = problem.task_with(ridge) if ridge else problem.task
        truth = problem.whiten(mu)
        self.ready = prepare(strategy, self.task, deltas, truth, problem.smoothness)
        self.run = self.ready.start()
        self.source = simulated(self.task.arms @ truth)
        self.noise = noise
        self.rng = rng or np.random.default_rng(0)

    @property
    def rounds(self) -> int:
        """Measurements taken in."""
        return int(self.run.evidence.clock[Clock.ROUNDS])

    @property
    def next_arm(self) -> int:
        """The arm that was decided on; −1 once all levels are reached."""
        return int(self.run.stopping.progress[Progress.NEXT])

    def advance(self, until: int) -> bool:
        """Go on to so many measurements; whether the run is over."""
        self.ready.advance(self.task, self.run, self.source, self.noise, self.rng, until, True)
        return self.next_arm < 0
