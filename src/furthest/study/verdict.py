"""What the evidence says by now: statistic against threshold, and a verdict on every answer.

All of it holds at once and at all times with the one probability 1 − δ of the study: the verdicts
use the confidence set that the stopping test itself rests on. Everything works on copies.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property
from threading import RLock
from typing import Any, overload

import numpy as np

from furthest.kernels.alternatives import statistic
from furthest.kernels.evidence import Evidence
from furthest.kernels.linalg import Matrix
from furthest.stopping.contrasts import is_singular
from furthest.stopping.exclusions import Exclusions
from furthest.stopping.intervals import Intervals, intervals
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import Score, StoppingTest
from furthest.study.fold import Fold, copied
from furthest.study.records import ACCEPTED, POSSIBLE, RULED_OUT, AnswerVerdict, Condition
from furthest.task import Task
from furthest.verbs import judge

# Infinite where nothing can be confused; a number in every file all the same.
MOST = 2.0**20


class Look:
    """The evidence as it is now; what comes later does not change it.

    `conditions` are what all that it says rests on, as far as the log tells.
    """

    def __init__(self, fold: Fold, conditions: Sequence[Condition] = ()) -> None:
        self.conditions = conditions
        self._test, self._task = fold.test, fold.task
        state = fold.state
        # Only a test that belongs to a rule reads anything of it.
        rule = state.rule if fold.test.sampling is None else copied(state.rule)
        self._state = state._replace(
            evidence=copied(state.evidence), stopping=copied(state.stopping), rule=rule
        )
        self.settings, self.ready, self.blocked = fold.settings, fold.ready, fold.blocked
        self.values, self.shift = fold.values, fold.shift
        self.answer, self.stopped = fold.answer, fold.stopped

    @property
    def answers(self) -> int:
        """How many there are."""
        return len(self.values)

    @property
    def task(self) -> Task:
        """The question as the test sees it."""
        return self._task

    @property
    def evidence(self) -> Evidence:
        """All that was measured, in the coordinates and units of the task."""
        found: Evidence = self._state.evidence
        return found

    @property
    def test(self) -> StoppingTest:
        """What decides when the study stops."""
        return self._test

    def intervals(self, rows: Matrix) -> Intervals | None:
        """Of ⟨μ, y⟩ for each row y, all in coordinates and units of the task.

        They hold with the verdicts, at once and at all times. None where there are none.
        """
        if self.blocked:
            return None
        state = self._state
        return intervals(self._test, state.stopping.test, self._task, state.evidence, rows)

    @cached_property
    def near_best(self) -> np.ndarray[Any, np.dtype[np.bool_]]:
        """Which answers are within ε of the best, by the estimates."""
        values, task = self._state.evidence.values, self._task
        return np.asarray(values - task.c * values.max() + task.e >= 0)

    def score(self, z: int) -> Score:
        """How near answer z is to being accepted.

        For an e-value the statistic is ln 1/δ', with δ' the least level at which z would be
        accepted by now: below 0 it would be at none, and the study stops when δ' falls to δ.
        """
        question = self._asked(z)
        if self._test.score is None:
            return Score(float(_accepts(*question)), 1.0, "1 once the test accepts the answer")
        found = self._test.score(*question)
        return found._replace(statistic=min(found.statistic, MOST))

    def verdicts(self, first: int, count: int) -> list[str]:
        """A verdict on each of some answers in a row."""
        answers = range(first, first + count)
        accepted = [bool(self.near_best[z]) and _accepts(*self._asked(z)) for z in answers]
        excluded = self._excluded(first, count)
        return [
            ACCEPTED if here else RULED_OUT if out else POSSIBLE
            for here, out in zip(accepted, excluded, strict=True)
        ]

    def _excluded(self, first: int, count: int) -> list[bool]:
        if self._exclusions is not None:
            return self._exclusions.of(first, count)
        excludes, state = self._test.excludes, self._state
        asked = (state.stopping.test, self._task, state.evidence)
        return [excludes is not None and excludes(*asked, z) for z in range(first, first + count)]

    @cached_property
    def _exclusions(self) -> Exclusions | None:
        region, evidence = self._test.region, self._state.evidence
        if region is None:
            return None
        misses = region(self._state.stopping.test, self._task, evidence)
        return Exclusions(misses, self._task, evidence)

    def _asked(self, z: int) -> tuple[Any, Task, Evidence, Nominee, Any]:
        """What the test is asked about z, as if it were the candidate and nothing known before."""
        state, glr = self._state, 0.0
        if not is_singular(state.evidence):
            glr, _ = statistic(self._task, state.evidence, z, -np.inf)
        return state.stopping.test, self._task, state.evidence, Nominee(z, glr, 0), state.rule


def _accepts(test: Any, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> bool:
    answer, reached = judge(test, task, evidence, nominee, rule)
    return reached > 0 and answer == nominee.answer


class Verdicts(Sequence[AnswerVerdict]):
    """What is known about each answer; found out when somebody asks.

    One alone takes O(Zd), all of them little more where most are clear. As good as a tuple, and one
    where it is copied or pickled.
    """

    def __init__(self, look: Look, names: Sequence[str]) -> None:
        self._look, self._names, self._lock = look, names, RLock()
        self._known: dict[int, AnswerVerdict] = {}

    def __len__(self) -> int:
        return self._look.answers

    @overload
    def __getitem__(self, index: int) -> AnswerVerdict: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[AnswerVerdict, ...]: ...
    def __getitem__(self, index: int | slice) -> AnswerVerdict | tuple[AnswerVerdict, ...]:
        if isinstance(index, slice):
            return self._all[index]
        z = range(len(self))[index]
        with self._lock:
            if z not in self._known:
                self._known[z] = self._found(z, 1)[0]
            return self._known[z]

    def __iter__(self) -> Iterator[AnswerVerdict]:
        return iter(self._all)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, tuple | Verdicts) and self._all == tuple(other)

    def __hash__(self) -> int:
        return hash(self._all)

    def __reduce__(self) -> tuple[Any, ...]:
        return tuple, (list(self._all),)

    def __repr__(self) -> str:
        return repr(self._all)

    def best(self, most: int) -> list[AnswerVerdict]:
        """Those with the largest estimates, so many at most."""
        return [self[z] for z in np.argsort(-self._look.values, kind="stable")[:most].tolist()]

    @cached_property
    def _all(self) -> tuple[AnswerVerdict, ...]:
        with self._lock:
            return self._found(0, len(self))

    def _found(self, first: int, count: int) -> tuple[AnswerVerdict, ...]:
        look, names = self._look, self._names
        found = enumerate(look.verdicts(first, count), first)
        return tuple(
            AnswerVerdict(z, names[z], float(look.values[z]), bool(look.near_best[z]), verdict)
            for z, verdict in found
        )


def score(fold: Fold, z: int) -> Score:
    """How near answer z is to being accepted."""
    return Look(fold).score(z)
