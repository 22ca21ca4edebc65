"""The stopping rule: candidate answer × test × schedule."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator

from furthest.kernels.alternatives import statistic
from furthest.kernels.answers import (
    FURTHEST,
    INSTANTANEOUS,
    greedy_answer,
    instantaneous_furthest,
    is_near_best,
)
from furthest.kernels.evidence import ROUNDS, Evidence
from furthest.kernels.jit import inlined
from furthest.kernels.judging import ANSWER, MET, judge
from furthest.kernels.linalg import Counts
from furthest.kernels.oracle import NoOracle, Oracle, exact_furthest
from furthest.kernels.schedules import LAZY, Schedule, on_grid
from furthest.kernels.task import Task
from furthest.kernels.thresholds import Threshold


class Stopping(NamedTuple):
    """All that decides when to stop and with which answer."""

    candidate: int
    threshold: Threshold
    test: Any  # ByThreshold, or a test with a state of its own
    schedule: Schedule
    oracle: Oracle | NoOracle  # for the exact furthest answer
    state: Counts  # (3,) positions in judging.py


def stopping(
    candidate: int, threshold: Threshold, test: Any, schedule: Schedule, oracle: Oracle | NoOracle
) -> Stopping:
    """A fresh stopping rule for one run."""
    state = np.array([-1, 0, -1], np.int64)
    return Stopping(candidate, threshold, test, schedule, oracle, state)


@inlined
def assess(task: Task, evidence: Evidence, rule: Stopping, rng: Generator) -> int:
    """Renew the candidate, make the test, as the schedule wants; returns the levels reached."""
    state = rule.state
    if state[MET] == rule.threshold.offsets.shape[0]:
        return state[MET]
    due = on_grid(rule.schedule, evidence.clock[ROUNDS] + 1, rng)
    if not due and rule.schedule.mode == LAZY:
        return state[MET]
    if due or _is_outdated(task, evidence, state[ANSWER]):
        state[ANSWER], glr = _candidate(task, evidence, rule)
    else:
        glr, _ = statistic(task, evidence, state[ANSWER], -math.inf)
    state[MET] = judge(rule.test, rule.threshold, task, evidence, glr, state)
    return state[MET]


@inlined
def _candidate(task: Task, evidence: Evidence, rule: Stopping) -> tuple[int, float]:
    """The candidate answer and its GLR statistic."""
    if rule.candidate == INSTANTANEOUS:
        return instantaneous_furthest(task, evidence)
    if rule.candidate == FURTHEST:
        answer = exact_furthest(rule.oracle, task, evidence.values)
    else:
        answer = greedy_answer(evidence.values)
    glr, _ = statistic(task, evidence, answer, -math.inf)
    return answer, glr


@inlined
def _is_outdated(task: Task, evidence: Evidence, answer: int) -> bool:
    """Whether the candidate is no longer ε-best for the estimate."""
    if answer < 0:
        return True
    values = evidence.values
    return not is_near_best(task, values, answer, values[greedy_answer(values)])
