"""What the evidence says by now: statistic against threshold, and a verdict on every answer.

All of it holds at once and at all times with the one probability 1 − δ of the study: the verdicts
use the confidence set that the stopping test itself rests on. Everything works on copies.
"""

from typing import Any

from furthest.engine import Run
from furthest.kernels.evidence import Evidence
from furthest.stopping.contrasts import glr_statistic
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import Score
from furthest.study.fold import Fold, copied
from furthest.study.records import ACCEPTED, POSSIBLE, RULED_OUT
from furthest.task import Task
from furthest.verbs import judge

# Infinite where nothing can be confused; a number in every file all the same.
MOST = 2.0**20


def score(fold: Fold, z: int) -> Score:
    """How near answer z is to being accepted.

    For an e-value the statistic is ln 1/δ', with δ' the least level at which z would be accepted by
    now: below 0 it would be at none, and the study stops when δ' falls to δ.
    """
    question = _asked(fold, copied(fold.state), z)
    if fold.test.score is None:
        return Score(float(_accepts(*question)), 1.0, "1 once the test accepts the answer")
    found = fold.test.score(*question)
    return found._replace(statistic=min(found.statistic, MOST))


def verdicts(fold: Fold) -> list[str]:
    """A verdict on every answer."""
    task, state = fold.task, copied(fold.state)
    values = state.evidence.values
    near_best = values - task.c * values.max() + task.e >= 0
    return [_verdict(fold, state, z, near_best=bool(near_best[z])) for z in range(len(values))]


def _verdict(fold: Fold, state: Run, z: int, *, near_best: bool) -> str:
    question = _asked(fold, state, z)
    if near_best and _accepts(*question):
        return ACCEPTED
    excludes = fold.test.excludes
    return RULED_OUT if excludes is not None and excludes(*question[:3], z) else POSSIBLE


def _accepts(test: Any, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> bool:
    answer, reached = judge(test, task, evidence, nominee, rule)
    return reached > 0 and answer == nominee.answer


def _asked(fold: Fold, state: Run, z: int) -> tuple[Any, Task, Evidence, Nominee, Any]:
    """What the test is asked about z, as if it were the candidate and nothing were known before."""
    nominee = Nominee(z, glr_statistic(fold.task, state.evidence, z), 0)
    return state.stopping.test, fold.task, state.evidence, nominee, state.rule
