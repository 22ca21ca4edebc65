"""The state of a study: the engine's `record` and `decide`, folded over the results as told.

The proofs need the first pulls to be a design that was fixed beforehand. So results wait until
every arm of the initial design has one; then the design is taken in, in its own order, and after it
all others in the order told. What is pending changes nothing here, only what `suggest` says.
"""

import copy
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from furthest.engine import Run, told
from furthest.preparation import prepare
from furthest.stopping.nomination import Progress
from furthest.study.events import Settings

Arms = NDArray[np.int64]
Rewards = NDArray[np.float64]

# No study has as many measurements.
ENDLESS = 2**62


class Fold:
    """All that follows from the results told so far."""

    def __init__(self, settings: Settings, unit: float | None = None) -> None:
        problem, strategy = settings.problem, settings.strategy
        self.unit = problem.unit if unit is None else unit
        task = problem.task
        self.task = task._replace(e=task.e * (problem.unit / self.unit))
        prepared = prepare(strategy, self.task, (settings.delta,))
        self.advance = prepared.advance
        self.test = strategy.test_for(sigma_known=task.sigma_known)
        self.state: Run = prepared.start()
        # The stream that run 0 of a simulation with this seed has for itself.
        self._rng = Generator(PCG64(SeedSequence(settings.seed, spawn_key=(0, 1))))
        # Compile, or load from disk, at once: later somebody may wait for the study's lock.
        self._take(self.state, [], [])
        self._design: dict[int, float] = {}  # first reward of each arm of the initial design
        self._waiting: list[tuple[int, float]] = []
        self.told = 0  # results seen, whether waiting, taken in, or too late
        self.stopped_at = 0  # how many results had been told when the study stopped; 0 before

    @property
    def ready(self) -> bool:
        """Whether the initial design is complete and there is an estimate."""
        return len(self._design) == len(self.task.initial)

    @property
    def stopped(self) -> bool:
        """Whether the study has its answer; then nothing changes any more."""
        return self.stopped_at > 0

    @property
    def waiting(self) -> int:
        """Results that wait for the initial design."""
        return 0 if self.ready else len(self._design) + len(self._waiting)

    @property
    def answer(self) -> int:
        """The answer, or the candidate so far; −1 before there is an estimate."""
        return int(self.state.stopping.progress[Progress.ANSWER])

    def missing(self) -> list[int]:
        """Arms of the initial design that have no result."""
        return [arm for arm in self.task.initial.tolist() if arm not in self._design]

    def take(self, arms: Arms, values: Rewards) -> None:
        """Take in the next results, in the order told."""
        rewards = values / self.unit
        first = 0
        while not self.ready and first < len(arms):
            self._take_design(int(arms[first]), float(rewards[first]))
            first += 1
        if first < len(arms) and not self.stopped:
            self._advance(arms[first:], rewards[first:], one_by_one=True)
        self.told += len(arms) - first

    def _take_design(self, arm: int, reward: float) -> None:
        self.told += 1
        if arm in self._design or arm not in self.task.initial:
            self._waiting.append((arm, reward))
        else:
            self._design[arm] = reward
        if self.ready:
            order = self.task.initial.tolist()
            first = [(own, self._design[own]) for own in order]
            together, rewards = zip(*first, *self._waiting, strict=True)
            self._advance(np.array(together, np.int64), np.array(rewards), one_by_one=False)

    def _advance(self, arms: Arms, rewards: Rewards, *, one_by_one: bool) -> None:
        taken = self._take(self.state, arms, rewards)
        if _next_arm(self.state) < 0:
            self.stopped_at = self.told + (taken if one_by_one else 0)

    def _take(self, state: Run, arms: Any, rewards: Any, *, proving: bool = True) -> int:
        """Take in results that were told or, without proving anything, imagined."""
        source = told(np.asarray(arms, np.int64), np.asarray(rewards, float))
        return self.advance(self.task, state, source, self._rng, self._rng, ENDLESS, proving)

    def suggest(self, pending: list[int], count: int) -> list[int]:
        """The next arms to measure, if the pending ones turn out as predicted.

        With nothing pending the first is what a simulation would pull.
        """
        if not self.ready:
            return self._suggest_design(pending, count)
        suggested, queue = [], pending
        if not pending:
            suggested = [_next_arm(self.state)]
            queue = suggested
        if len(suggested) < count:
            state, means = copied(self.state), self.task.arms @ self.state.evidence.estimate
        while len(suggested) < count:
            self._take(state, queue, means[queue], proving=False)
            queue = [_next_arm(state)]
            suggested += queue
        return suggested

    def _suggest_design(self, pending: list[int], count: int) -> list[int]:
        """What the initial design lacks; for surplus workers its arms again, evenly."""
        design = self.task.initial.tolist()
        have = dict.fromkeys(design, 0)
        for arm in [*self._design, *(arm for arm, _ in self._waiting), *pending]:
            if arm in have:
                have[arm] += 1
        suggested = []
        for _ in range(count):
            arm = min(design, key=have.__getitem__)
            have[arm] += 1
            suggested.append(arm)
        return suggested


def _next_arm(state: Run) -> int:
    return int(state.stopping.progress[Progress.NEXT])


def copied(state: Any) -> Any:
    """A copy of a state, to be spoiled; an own rule may keep any object in it."""
    if isinstance(state, tuple):
        return type(state)._make(map(copied, state))  # type: ignore[attr-defined]
    return copy.deepcopy(state)
