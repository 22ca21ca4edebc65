"""The stopping test: which confidence levels the evidence for an answer has reached.

Tests that keep a state of their own are types, as sampling rules are: compiled code contains only
the one in use. `judge` makes the test; `witness` lets it take in a measurement.
"""

from typing import Any, NamedTuple

from numba.extending import overload

from furthest.kernels import normal_gamma
from furthest.kernels.evidence import ROUNDS, Evidence
from furthest.kernels.jit import spliced
from furthest.kernels.linalg import Counts
from furthest.kernels.normal_gamma import NormalGamma
from furthest.kernels.original import rival
from furthest.kernels.task import Task
from furthest.kernels.thresholds import Threshold, levels_met, width
from furthest.kernels.topwrong import TopWrong, met, observe

# Positions in Stopping.state.
ANSWER = 0  # the candidate answer; −1 before the first
MET = 1  # confidence levels reached so far
SURVIVOR = 2  # the one answer that the sampling rule has not eliminated, or −1; it writes this

# Kinds of ByThreshold.
GLR_TEST = 0
GAP_TEST = 1
ELIMINATION_TEST = 2


class ByThreshold(NamedTuple):
    """Compare a statistic with the threshold; nothing to remember."""

    kind: int


@spliced
def judge_by_threshold(
    test: ByThreshold,
    threshold: Threshold,
    task: Task,
    evidence: Evidence,
    glr: float,
    state: Counts,
) -> int:
    """GLR, the additive ε-gap of LinGapE, or a sampling rule's own elimination of all others."""
    done = state[MET]
    if test.kind == GLR_TEST:
        return levels_met(threshold, task, evidence, state[ANSWER], glr, done)
    levels = threshold.offsets.shape[0]
    if test.kind == ELIMINATION_TEST:
        if state[SURVIVOR] < 0:
            return done
        state[ANSWER] = state[SURVIVOR]
        return levels
    rounds = evidence.clock[ROUNDS]
    while done < levels:
        _, gap = rival(task, evidence, state[ANSWER], width(threshold, rounds, done))
        if gap > task.e:
            break
        done += 1
    return done


@spliced
def judge_top_wrong(
    test: TopWrong,
    threshold: Threshold,
    task: Task,
    evidence: Evidence,
    glr: float,
    state: Counts,
) -> int:
    """The top-wrong-answer test, level by level."""
    done = state[MET]
    levels = threshold.offsets.shape[0]
    while done < levels and met(test, task, evidence, state[ANSWER], done):
        done += 1
    return done


@spliced
def judge_normal_gamma(
    test: NormalGamma,
    threshold: Threshold,
    task: Task,
    evidence: Evidence,
    glr: float,
    state: Counts,
) -> int:
    """The mixture for unknown σ."""
    return normal_gamma.levels_met(test, task, evidence, state[ANSWER], glr, state[MET])


@spliced
def _forget(test: ByThreshold, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Nothing to take in."""


_JUDGES: dict[type, Any] = {
    ByThreshold: judge_by_threshold,
    TopWrong: judge_top_wrong,
    NormalGamma: judge_normal_gamma,
}
_WITNESSES: dict[type, Any] = {
    ByThreshold: _forget,
    TopWrong: observe,
    NormalGamma: normal_gamma.observe,
}


def judge(
    test: Any, threshold: Threshold, task: Task, evidence: Evidence, glr: float, state: Counts
) -> int:
    """How many confidence levels the answer in `state` has reached; never fewer than before."""
    reached: int = _JUDGES[type(test)](test, threshold, task, evidence, glr, state)
    return reached


def witness(test: Any, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Take in the measurement that `record` has just taken in."""
    _WITNESSES[type(test)](test, task, evidence, arm, reward)


@overload(judge, inline="always")
def _judge_compiled(
    test: Any, threshold: Any, task: Any, evidence: Any, glr: Any, state: Any
) -> Any:
    chosen = _JUDGES[test.instance_class]

    def implementation(
        test: Any, threshold: Any, task: Any, evidence: Any, glr: Any, state: Any
    ) -> Any:
        return chosen(test, threshold, task, evidence, glr, state)

    return implementation


@overload(witness, inline="always")
def _witness_compiled(test: Any, task: Any, evidence: Any, arm: Any, reward: Any) -> Any:
    chosen = _WITNESSES[test.instance_class]

    def implementation(test: Any, task: Any, evidence: Any, arm: Any, reward: Any) -> Any:
        chosen(test, task, evidence, arm, reward)

    return implementation
