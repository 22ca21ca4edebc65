"""From the words of a strategy to runs: their fresh states, and the loop that drives them.

Compiled code finds a rule's or a test's functions by the type of its state, but Numba lets one
dispatcher serve two types of equal structure. So every pair of types has a loop of its own.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cache, wraps
from typing import Any, NamedTuple

import numpy as np

from furthest import axes, engine
from furthest.codes import Candidate, Noise
from furthest.engine import Milestones, Run
from furthest.errors import StrategyError
from furthest.kernels.evidence import Evidence, no_evidence
from furthest.kernels.jit import compiled_twin, unbroken
from furthest.kernels.linalg import Vector
from furthest.kernels.oracle import NoOracle, oracle_for
from furthest.kernels.schedules import schedule
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Nominee, Stopping, no_progress
from furthest.stopping.test import StoppingTest
from furthest.strategy import Strategy, parse_schedule
from furthest.task import Smoothness, Task
from furthest.verbs import register


class Prepared(NamedTuple):
    """A strategy ready to run on one question."""

    start: Callable[[], Run]  # a fresh run
    advance: Callable[..., int]  # `engine.advance` for such runs
    drive: Callable[..., int] | None  # `engine.drive`; none where `start` may do anything


def prepare(
    strategy: Strategy,
    task: Task,
    deltas: Sequence[float],
    truth: Vector | None = None,
    smoothness: Smoothness | None = None,
) -> Prepared:
    """A strategy's runs at these confidence levels, in descending order of δ.

    `truth` is the true parameter, for rules that are allowed to know it in a simulation;
    `smoothness` is what is known of it beforehand.
    """
    strategy.check_bound(known=smoothness is not None)
    test = _checked_test(strategy.test_for(Noise(task.noise)), len(deltas))
    if task.ridge.any():
        _check_ridge(test, sigma_known=task.noise == Noise.SUB_GAUSSIAN)
    rule = _checked_rule(strategy.rule)
    options = strategy.rule_options(truth, smoothness)
    test_options = strategy.test_options(smoothness)
    candidate = axes.CANDIDATES[strategy.candidate].code
    chosen = parse_schedule(strategy.schedule)
    mode, grid = axes.SCHEDULES[chosen.mode].code, axes.GRIDS[chosen.grid].code
    levels = np.array([math.log(1 / delta) for delta in deltas])

    def states() -> tuple[Any, Any]:
        return (
            test.start(task, deltas, **test_options),
            rule.start(task, **options),
        )

    judging, sampling = states()
    own_test = _own_type(judging, test, test.judge, test.observe, test.width)
    own_rule = _own_type(sampling, rule, rule.choose)
    register(own_rule, rule, own_test, test)

    def start() -> Run:
        judging, sampling = states()
        stopping = Stopping(
            candidate=int(candidate),
            levels=levels,
            test=own_test._make(judging),
            schedule=schedule(int(mode), int(grid), chosen.start, chosen.ratio),
            oracle=oracle_for(task) if candidate == Candidate.FURTHEST else NoOracle(),
            progress=no_progress(task),
        )
        return Run(no_evidence(task), stopping, own_rule._make(sampling), _milestones(task, deltas))

    if not (rule.compiled and test.compiled):
        return Prepared(start, engine.advance, None)
    drive = _loop(own_rule, own_test)

    def advance(*arguments: Any) -> int:
        return drive(*arguments, engine.ALONE)

    # A part from elsewhere may keep its states, or make no two alike: each run gets a new one.
    ours = (own_rule, own_test) == (type(sampling), type(judging))
    return Prepared(start, advance, drive if ours else None)


def _check_ridge(test: StoppingTest, *, sigma_known: bool) -> None:
    """No proof speaks of an estimate that is shrunk, and no bound or σ̂ of a V that has a ridge."""
    if test.guarantee.proven or test.needs_bound or not sigma_known:
        why = "is proven for least squares" if test.guarantee.proven else "needs least squares"
        raise StrategyError(
            f"the stopping rule {test.name} {why}: no ridge goes with it, only with a heuristic "
            "test for known σ, such as the GLR with the threshold paper"
        )


@cache
def _checked_rule(rule: Rule) -> Rule:
    """Plain Python can say what is wrong, before compiled code goes astray in memory."""
    if rule.compiled:
        return rule

    @wraps(rule.choose)
    def choose(state: Any, task: Task, evidence: Evidence, stopping: Stopping) -> int:
        arm = rule.choose(_as_made(state), task, evidence, stopping)
        if arm not in range(len(task.arms)):
            raise StrategyError(
                f"the sampling rule {rule.name!r} chose arm {arm!r}: there is no arm {arm}, they "
                f"are numbered 0 … {len(task.arms) - 1}"
            )
        return int(arm)

    return replace(rule, choose=choose)


@cache
def _checked_test(test: StoppingTest, levels: int) -> StoppingTest:
    """The same for a stopping test."""
    if test.compiled:
        return test

    @wraps(test.judge)
    def judge(
        state: Any, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
    ) -> tuple[int, int]:
        answer, reached = test.judge(_as_made(state), task, evidence, nominee, rule)
        answers = len(task.answers)
        if answer not in range(answers) or not nominee.reached <= reached <= levels:
            raise StrategyError(
                f"the stopping test {test.name!r} says that answer {answer!r} has reached "
                f"{reached!r} confidence levels: there are {answers} answers and {levels} levels, "
                f"{nominee.reached} of them reached before"
            )
        return int(answer), int(reached)

    return replace(test, judge=judge)


def _milestones(task: Task, deltas: Sequence[float]) -> Milestones:
    levels, arms = len(deltas), len(task.arms)
    return Milestones(
        times=np.full(levels, -1),
        answers=np.zeros(levels, np.int64),
        pulls=np.zeros((levels, arms), np.int64),
    )


@cache
def _loop(rule: Any, test: Any) -> Callable[..., int]:
    parts = engine.record, engine.decide, engine.advance
    return unbroken(compiled_twin(engine.drive, *parts))


def _own_type(state: Any, part: Any, *functions: Callable[..., Any] | None) -> Any:
    """The type of the state; one of its own for a part that may share or borrow its state.

    That is every part from outside the package, and the Python function behind a kernel of it.
    """
    if not hasattr(state, "_make"):
        raise StrategyError(f"the state of {part.name!r} must be a NamedTuple, not {state!r}")
    homes = [function.__module__ for function in functions if function is not None]
    foreign = [home for home in homes if not home.startswith("furthest.")]
    if part.compiled and not foreign:
        return type(state)
    kind: Any = type(state)
    return _subtype(kind, part, (foreign or homes)[0])


@cache
def _subtype(state: Any, part: Any, module: str) -> Any:
    return type(state.__name__, (state,), {"__module__": module})


def _as_made(state: Any) -> Any:
    """The state in the type of whoever made it, for which there may be machine code on disk."""
    made: Any = type(state).__base__
    return made._make(state)
