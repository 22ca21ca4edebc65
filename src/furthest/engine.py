"""Two verbs, `decide` (stop? which answer? else which arm?) and `record`; and their loops.

`run` simulates, `replay` takes in what was measured.

A sampling rule is a NamedTuple type with its own `choose`. Compiled code finds `choose` by the type
of the state, so `run` is compiled once per rule, and loaded from disk afterwards.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numba.extending import overload
from numpy.random import Generator
from numpy.typing import NDArray

from furthest.kernels.evidence import READY, ROUNDS, Evidence
from furthest.kernels.evidence import record as take_in
from furthest.kernels.jit import inlined, kernel
from furthest.kernels.judging import ANSWER, MET, witness
from furthest.kernels.linalg import Counts, Vector
from furthest.kernels.stopping import Stopping, assess
from furthest.kernels.task import Task

Chooser = Callable[[Any, Task, Evidence, Stopping], int]

_choosers: dict[type, Chooser] = {}


def register(state: type, choose: Chooser) -> None:
    """Make `choose` the compiled sampling rule of states of this type."""
    _choosers[state] = choose


def choose(rule: Any, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """The arm to pull next, by the rule that belongs to the type of its state."""
    return _choosers[type(rule)](rule, task, evidence, stopping)


@overload(choose, inline="always")
def _choose_compiled(rule: Any, task: Any, evidence: Any, stopping: Any) -> Chooser:
    chosen = _choosers[rule.instance_class]

    def implementation(rule: Any, task: Any, evidence: Any, stopping: Any) -> int:
        return chosen(rule, task, evidence, stopping)

    return implementation


@inlined
def preamble(
    task: Task, evidence: Evidence, stopping: Stopping, rng: Generator
) -> tuple[int, int, int]:
    """`decide` up to the sampling rule, whose turn it is where the arm is −1."""
    if evidence.clock[READY] == 0:
        for i in range(task.initial.shape[0]):
            if evidence.counts[task.initial[i]] == 0:
                return 0, -1, task.initial[i]
    met = assess(task, evidence, stopping, rng)
    return met, stopping.state[ANSWER], -1


@inlined
def decide(
    task: Task, evidence: Evidence, stopping: Stopping, rule: Any, rng: Generator
) -> tuple[int, int, int]:
    """(confidence levels reached, answer, arm to pull next).

    Before the initial design is complete the answer is −1 and the arm is the design's next; once
    all levels are reached the arm is −1.
    """
    met, answer, arm = preamble(task, evidence, stopping, rng)
    if arm >= 0 or met == stopping.threshold.offsets.shape[0]:
        return met, answer, arm
    return met, answer, choose(rule, task, evidence, stopping)


@inlined
def record(task: Task, evidence: Evidence, stopping: Stopping, arm: int, reward: float) -> None:
    """Take in one measurement (reward in units of σ)."""
    take_in(task, evidence, arm, reward)
    witness(stopping.test, task, evidence, arm, reward)


@inlined
def note(
    evidence: Evidence,
    answer: int,
    done: int,
    met: int,
    times: Counts,
    answers: Counts,
    pulls: NDArray[np.int64],
) -> None:
    """Write down time, answer and pulls of the levels that were just reached."""
    for level in range(done, met):
        times[level] = evidence.clock[ROUNDS]
        answers[level] = answer
        for a in range(evidence.counts.shape[0]):
            pulls[level, a] = evidence.counts[a]


@kernel
def run(
    task: Task,
    evidence: Evidence,
    stopping: Stopping,
    rule: Any,
    means: Vector,
    noise: Generator,
    rng: Generator,
    until: int,
    last: int,
    times: Counts,
    answers: Counts,
    pulls: NDArray[np.int64],
) -> bool:
    """Simulate until every confidence level is reached, or until `until` measurements.

    Writes stopping time, answer and pulls of each level when it is reached. Returns whether all
    are; the state is in the arguments, so a later call goes on where this one stopped. After the
    `last` measurement (−1: none is) there is one more test.
    """
    levels = times.shape[0]
    while evidence.clock[ROUNDS] < until or until == last:
        done = stopping.state[MET]
        met, answer, arm = decide(task, evidence, stopping, rule, rng)
        note(evidence, answer, done, met, times, answers, pulls)
        if met == levels:
            return True
        if evidence.clock[ROUNDS] == last:
            break
        record(task, evidence, stopping, arm, means[arm] + noise.standard_normal())
    return False


@kernel
def replay(
    task: Task,
    evidence: Evidence,
    stopping: Stopping,
    rule: Any,
    rng: Generator,
    arms: Counts,
    rewards: Vector,
    imagined: bool,
) -> tuple[int, int]:
    """Take in measurements, and decide after each: (how many were taken in, arm to pull next).

    Stops taking in, and returns the arm −1, once every confidence level is reached. Imagined
    measurements prove nothing: with them no test is made, only the sampling rule goes on.
    """
    arm = -1
    for i in range(arms.shape[0]):
        if not imagined and stopping.state[MET] == stopping.threshold.offsets.shape[0]:
            return i, -1
        record(task, evidence, stopping, arms[i], rewards[i])
        arm = -1
        if not imagined:
            met, _, arm = preamble(task, evidence, stopping, rng)
            if met == stopping.threshold.offsets.shape[0]:
                return i + 1, -1
        if arm < 0:
            arm = choose(rule, task, evidence, stopping)
    return arms.shape[0], arm


def interpreted(choose: Chooser) -> Callable[..., bool]:
    """`run` for a `choose` in plain Python: the same loop, with the same compiled kernels."""

    def run_interpreted(
        task: Task,
        evidence: Evidence,
        stopping: Stopping,
        rule: Any,
        means: Vector,
        noise: Generator,
        rng: Generator,
        until: int,
        last: int,
        times: Counts,
        answers: Counts,
        pulls: NDArray[np.int64],
    ) -> bool:
        levels = times.shape[0]
        while evidence.clock[ROUNDS] < until or until == last:
            done = stopping.state[MET]
            met, answer, arm = preamble(task, evidence, stopping, rng)
            note(evidence, answer, done, met, times, answers, pulls)
            if met == levels:
                return True
            if evidence.clock[ROUNDS] == last:
                break
            if arm < 0:
                arm = choose(rule, task, evidence, stopping)
            record(task, evidence, stopping, arm, means[arm] + noise.standard_normal())
        return False

    return run_interpreted
