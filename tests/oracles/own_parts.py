"""A researcher's own sampling rule and stopping test, each plain and compiled, to be imported."""

import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

import furthest as ft
from furthest.kernels.jit import kernel
from furthest.task import Task


class Seen(NamedTuple):
    """ln 1/δ, and what the test has seen."""

    logs: np.ndarray
    seen: np.ndarray  # (2,) measurements, and the sum of their rewards


def start_test(task: Task, deltas: Sequence[float], *, factor: float = 2.0) -> Seen:
    return Seen(factor * np.log(1 / np.asarray(deltas)), np.zeros(2))


def observe_plainly(state: Seen, task: Task, evidence: Any, arm: int, reward: float) -> None:
    state.seen[:] += (1, reward)


def judge_plainly(
    state: Seen, task: Task, evidence: Any, nominee: Any, rule: Any
) -> tuple[int, int]:
    """The GLR exceeds 2 ln(t/δ)."""
    needed = state.logs + 2 * math.log(state.seen[0])
    return nominee.answer, max(nominee.reached, int((nominee.glr > needed).sum()))


@kernel
def observe(state, task, evidence, arm, reward):
    state.seen[0] += 1
    state.seen[1] += reward


@kernel
def judge(state, task, evidence, nominee, rule):
    reached = nominee.reached
    while reached < state.logs.shape[0]:
        if not nominee.glr > state.logs[reached] + 2 * math.log(state.seen[0]):
            break
        reached += 1
    return nominee.answer, reached


def score(state: Seen, task: Task, evidence: Any, nominee: Any, rule: Any) -> ft.Score:
    needed = float(state.logs[0] + 2 * math.log(state.seen[0]))
    return ft.Score(nominee.glr, needed, "GLR statistic")


PLAIN = ft.StoppingTest(
    "classic", start_test, judge_plainly, observe_plainly, score, compiled=False
)
SCORELESS = ft.StoppingTest("scoreless", start_test, judge_plainly, observe_plainly, compiled=False)
COMPILED = ft.StoppingTest("classic", start_test, judge, observe, score)


class Coin(NamedTuple):
    """A generator: an object that only plain Python can have in a state."""

    rng: np.random.Generator


def start_rule(task: Task) -> Coin:
    return Coin(np.random.default_rng(0))


def choose(state: Coin, task: Task, evidence: Any, stopping: Any) -> int:
    """Any arm, at random."""
    return int(state.rng.integers(len(task.arms)))


COIN = ft.Rule("coin", start_rule, choose, compiled=False)
