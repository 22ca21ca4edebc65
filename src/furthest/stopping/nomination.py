"""What a stopping test works with: confidence levels, a candidate answer, and when to look."""

import math
from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np

from furthest.codes import Candidate, Mode
from furthest.kernels.alternatives import statistic
from furthest.kernels.answers import greedy_answer, instantaneous_furthest, is_near_best
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Vector
from furthest.kernels.oracle import NoOracle, Oracle, exact_furthest
from furthest.kernels.schedules import Schedule, on_grid
from furthest.kernels.states import by_reference
from furthest.task import Task


class Progress(IntEnum):
    """Positions in Stopping.progress."""

    ANSWER = 0  # the candidate answer, then the answer; −1 before the first
    REACHED = 1  # confidence levels reached so far
    NEXT = 2  # the arm to pull next; −1 once all levels are reached


@by_reference
class Stopping(NamedTuple):
    """All that decides when to stop and with which answer."""

    candidate: int
    levels: Vector  # (levels,) ln 1/δ, ascending
    test: Any  # the state of the stopping test
    schedule: Schedule
    oracle: Oracle | NoOracle  # for the exact furthest answer
    progress: Counts  # (3,) see Progress


class Nominee(NamedTuple):
    """The candidate answer of one round."""

    answer: int  # −1 where no test is due
    glr: float  # its GLR statistic
    reached: int  # confidence levels reached before


def no_progress(task: Task) -> Counts:
    """Before the first round."""
    return np.array([-1, 0, task.initial[0]], np.int64)


@kernel
def nominate(
    task: Task,
    evidence: Evidence,
    candidate: int,
    oracle: Any,
    schedule: Schedule,
    progress: Counts,
    luck: float,
) -> Nominee:
    """The candidate answer, renewed as the schedule wants.

    Takes parts of `Stopping` so that it is compiled once for all tests.

    Paper: sticky and lazy updates.
    """
    answer, reached = progress[Progress.ANSWER], progress[Progress.REACHED]
    due = on_grid(schedule, evidence.clock[Clock.ROUNDS] + 1, luck)
    if not due and schedule.mode == Mode.LAZY:
        return Nominee(-1, 0.0, reached)
    if due or _is_outdated(task, evidence, answer):
        answer, glr = _candidate(task, evidence, candidate, oracle)
        progress[Progress.ANSWER] = answer
    else:
        glr, _ = statistic(task, evidence, answer, -math.inf)
    return Nominee(answer, glr, reached)


@kernel
def _candidate(task: Task, evidence: Evidence, candidate: int, oracle: Any) -> tuple[int, float]:
    """The candidate answer and its GLR statistic."""
    if candidate == Candidate.INSTANTANEOUS:
        return instantaneous_furthest(task, evidence)
    if candidate == Candidate.FURTHEST:
        answer = exact_furthest(oracle, task, evidence.values)
    else:
        answer = greedy_answer(evidence.values)
    glr, _ = statistic(task, evidence, answer, -math.inf)
    return answer, glr


@kernel
def _is_outdated(task: Task, evidence: Evidence, answer: int) -> bool:
    """Whether the candidate is no longer ε-best for the estimate."""
    if answer < 0:
        return True
    values = evidence.values
    return not is_near_best(task, values, answer, values[greedy_answer(values)])
