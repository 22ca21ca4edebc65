"""The state of a study: the engine's `record` and `decide`, folded over the results as told.

The proofs need the first pulls to be a design that was fixed beforehand. So results wait until
every arm of the initial design has one; then the design is taken in, in its own order, and after it
all others in the order told. What is pending changes nothing here, only what `suggest` says.
"""

from typing import Any

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from furthest.kernels.judging import ANSWER
from furthest.loops import replay_for
from furthest.strategy import Start
from furthest.study.events import Settings

Arms = NDArray[np.int64]
Rewards = NDArray[np.float64]


class Fold:
    """All that follows from the results told so far."""

    def __init__(self, settings: Settings, unit: float | None = None) -> None:
        problem, strategy = settings.problem, settings.strategy
        self.unit = problem.unit if unit is None else unit
        task = problem.task
        self.task = task._replace(e=task.e * (problem.unit / self.unit))
        self.start = strategy.prepare(
            self.task, (settings.delta,), sigma_known=problem.sigma is not None
        )
        begin, self._replay = replay_for(strategy.rule, self.start)
        # Compile, or load from disk, at once: later somebody may wait for the study's lock.
        nothing = np.zeros(0, np.int64), np.zeros(0)
        self._replay(self.task, *begin(), np.random.default_rng(0), *nothing, False)
        self.state: Start = begin()
        # The stream that run 0 of a simulation with this seed has for itself.
        self._rng = Generator(PCG64(SeedSequence(settings.seed, spawn_key=(0, 1))))
        self._design: dict[int, float] = {}  # first reward of each arm of the initial design
        self._waiting: list[tuple[int, float]] = []
        self._next = -1
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
        return int(self.state.stopping.state[ANSWER])

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
        taken, self._next = self._replay(self.task, *self.state, self._rng, arms, rewards, False)
        if self._next < 0:
            self.stopped_at = self.told + (taken if one_by_one else 0)

    def suggest(self, pending: list[int], count: int) -> list[int]:
        """The next arms to measure, if the pending ones turn out as predicted.

        With nothing pending the first is what a simulation would pull.
        """
        if not self.ready:
            return self._suggest_design(pending, count)
        suggested, queue = [], pending
        if not pending:
            suggested, queue = [self._next], [self._next]
        if len(suggested) < count:
            state, means = copied(self.state), self.task.arms @ self.state.evidence.estimate
        while len(suggested) < count:
            arms = np.array(queue, np.int64)
            _, arm = self._replay(self.task, *state, self._rng, arms, means[arms], True)
            suggested.append(arm)
            queue = [arm]
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


def copied(state: Any) -> Any:
    """A copy of a state, to be spoiled."""
    if isinstance(state, np.ndarray):
        return state.copy()
    if isinstance(state, tuple):
        return type(state)._make(map(copied, state))  # type: ignore[attr-defined]
    return state
