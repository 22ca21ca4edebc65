"""What sampling rules and stopping tests do, found by the type of their state.

In compiled code that is settled by the compiler: it contains the rule and the test in use, and no
others. In plain Python it is looked up at every call. (An overload must return a Python function,
not a kernel: hence the lambdas.)
"""
# ruff: noqa: PLW0108

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, NamedTuple

from numba.extending import overload

from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import PART, kernel
from furthest.kernels.scales import FIRST_SCALE, SCALES
from furthest.stopping.nomination import Nominee, Stopping
from furthest.task import Task

if TYPE_CHECKING:
    from furthest.sampling.rule import Rule
    from furthest.stopping.test import StoppingTest

_rules: "dict[type, Rule]" = {}
_tests: "dict[type, StoppingTest]" = {}


def register(rule_state: type, rule: "Rule", test_state: type, test: "StoppingTest") -> None:
    """Say whose states these types are."""
    _rules[rule_state] = rule
    _tests[test_state] = test


class Hidden(NamedTuple):
    """What a kernel sees in place of a state in plain Python, which may hold anything."""

    nothing: int = 0


def choose(rule: Any, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """The arm to pull next, by the sampling rule."""
    own = _rules[type(rule)]
    if own.compiled and not _tests[type(stopping.test)].compiled:
        stopping = stopping._replace(test=Hidden())
    return own.choose(rule, task, evidence, stopping)


def judge(
    test: Any, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """(answer, confidence levels that it has reached), by the stopping test.

    While V is singular there is nothing that a test could go by: no more than before.
    """
    if evidence.clock[Clock.SINGULAR] == 1:
        return nominee.answer, nominee.reached
    own = _tests[type(test)]
    if own.compiled and not _rules[type(rule)].compiled:
        rule = Hidden()
    return own.judge(test, task, evidence, nominee, rule)


def observe(test: Any, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Let the test take in the measurement that `evidence` has just taken in."""
    own = _tests[type(test)].observe
    if own is not None:
        own(test, task, evidence, arm, reward)


def width(stopping: Stopping, task: Task, rounds: int) -> float:
    """A squared radius that goes with the smallest δ after so many rounds, by the test."""
    return _width_of(type(stopping.test))(stopping, task, rounds)


def _width_of(state: type) -> Callable[..., float]:
    own = _tests.get(state)  # none of a hidden state
    return own.width if own and own.width else _ellipsoid_width


@overload(choose, strict=False, jit_options=PART)
def _choose_compiled(rule: Any, task: Any, evidence: Any, stopping: Any) -> Any:
    chosen = _rules[rule.instance_class].choose
    return lambda rule, task, evidence, stopping: chosen(rule, task, evidence, stopping)


@overload(judge, strict=False, jit_options=PART)
def _judge_compiled(test: Any, task: Any, evidence: Any, nominee: Any, rule: Any) -> Any:
    chosen = _tests[test.instance_class].judge

    def judge(test: Any, task: Any, evidence: Any, nominee: Any, rule: Any) -> Any:
        if evidence.clock[Clock.SINGULAR] == 1:
            return nominee.answer, nominee.reached
        return chosen(test, task, evidence, nominee, rule)

    return judge


@overload(observe, strict=False, jit_options=PART)
def _observe_compiled(test: Any, task: Any, evidence: Any, arm: Any, reward: Any) -> Any:
    chosen = _tests[test.instance_class].observe or _ignore
    return lambda test, task, evidence, arm, reward: chosen(test, task, evidence, arm, reward)


@overload(width, strict=False, jit_options=PART)
def _width_compiled(stopping: Any, task: Any, rounds: Any) -> Any:
    chosen = _width_of(stopping.types[stopping.fields.index("test")].instance_class)
    return lambda stopping, task, rounds: chosen(stopping, task, rounds)


@kernel
def _ignore(test: Any, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Nothing to take in."""


@kernel
def _ellipsoid_width(stopping: Stopping, task: Task, rounds: int) -> float:
    """For tests that have no width of their own."""
    levels = stopping.levels
    return _squared_radius(task.arms.shape[1], rounds, levels[levels.shape[0] - 1])


@kernel
def _squared_radius(d: int, rounds: int, log_level: float) -> float:
    """Of the mixture's ellipsoid at its first scale, all directions known equally well: V = t·I."""
    kappa = FIRST_SCALE * d
    volume = d * math.log1p(rounds / kappa)
    return (1.0 + kappa / rounds) * (2.0 * (log_level + math.log(SCALES)) + volume)
