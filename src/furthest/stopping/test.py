"""The protocol of a stopping test, documented once.

A test is a `start` and a `judge`, and as much of the rest as it needs:

    state = start(task, deltas, **options)         # plain Python; a NamedTuple of arrays; δ descending
    observe(state, task, evidence, arm, reward)    # each measurement, once `evidence` has taken it in
    answer, reached = judge(state, task, evidence, nominee, rule)
    score(state, task, evidence, nominee, rule)    # → Score: how near the nominee is, for a status
    excludes(state, task, evidence, z)             # → bool: whether z is certainly not ε-best
    width(stopping, task, rounds)                  # a squared radius, for sampling rules that use one

`judge` is asked whenever the schedule wants a test: how many confidence levels are reached by now,
never fewer than `nominee.reached`, and with which answer, mostly `nominee.answer`. `rule` is the
state of the sampling rule, to be read by a test that belongs to one. All of them may write to the
test's own state and to scratch, to nothing else.

`score` and `excludes` are plain Python and get a copy of the state. With `compiled=False` so are
`observe` and `judge`; otherwise they are kernels, found in compiled code by the type of the state.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from numba.extending import overload

from furthest.kernels.evidence import Evidence
from furthest.kernels.jit import kernel, spliced
from furthest.kernels.scales import FIRST_SCALE, SCALES
from furthest.stopping.nomination import Nominee, Stopping
from furthest.task import Task

Noise = Literal["sub-Gaussian", "Gaussian", "any"]

# ln 1/δ' of the least level δ' that the evidence proves: what all proven tests have as their score.
NATS = "ln 1/δ' of the least δ' that the evidence proves, against ln 1/δ"


@dataclass(frozen=True)
class Guarantee:
    """What a test promises."""

    proven: bool  # P(the answer is not ε-best) ≤ δ is a theorem …
    noise: Noise  # … for this kind of noise
    words: str


class Score(NamedTuple):
    """An answer is accepted where its statistic reaches the threshold."""

    statistic: float
    threshold: float
    meaning: str


@spliced
def _ignore(state: Any, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Nothing to take in."""


@spliced
def ellipsoid_width(stopping: Stopping, task: Task, rounds: int) -> float:
    """For tests that have no width of their own."""
    levels = stopping.levels
    return _squared_radius(task.arms.shape[1], rounds, levels[levels.shape[0] - 1])


@kernel
def _squared_radius(d: int, rounds: int, log_level: float) -> float:
    """Of the mixture's ellipsoid at its first scale, all directions known equally well: V = t·I."""
    kappa = FIRST_SCALE * d
    volume = d * math.log1p(rounds / kappa)
    return (1.0 + kappa / rounds) * (2.0 * (log_level + math.log(SCALES)) + volume)


def _undecided(state: Any, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    return Score(float(nominee.reached > 0), 1.0, "1 once the test accepts the answer")


def _never(state: Any, task: Task, evidence: Evidence, z: int) -> bool:
    return False


@dataclass(frozen=True)
class StoppingTest:
    """A stopping test and what is known about it."""

    name: str
    start: Callable[..., Any]
    judge: Callable[..., tuple[int, int]]
    observe: Callable[..., None] = _ignore
    score: Callable[..., Score] = _undecided
    excludes: Callable[..., bool] = _never
    width: Callable[..., float] = ellipsoid_width
    guarantee: Guarantee = Guarantee(False, "any", "unknown: the user's own")
    what: str = ""
    source: str = "the user's own"
    unknown_sigma: "StoppingTest | None" = None  # its version for Gaussian noise of unknown σ
    notions: tuple[str, ...] = ("additive", "multiplicative")
    sampling: str | None = None  # the only sampling rule that it goes with
    check: Callable[..., None] | None = None  # refuses bad options, before there is a task
    compiled: bool = True


_tests: dict[type, StoppingTest] = {}


def register(state: type, test: StoppingTest) -> None:
    """Make this the test of states of this type."""
    _tests[state] = test


def judge(
    test: Any, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """(answer, confidence levels that it has reached), by the test that the state belongs to."""
    return _tests[type(test)].judge(test, task, evidence, nominee, rule)


def observe(test: Any, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """Let the test take in the measurement that `evidence` has just taken in."""
    _tests[type(test)].observe(test, task, evidence, arm, reward)


def width(stopping: Stopping, task: Task, rounds: int) -> float:
    """A squared radius that goes with the smallest δ, after so many rounds."""
    return _tests[type(stopping.test)].width(stopping, task, rounds)


@overload(judge, inline="always", strict=False)
def _judge_compiled(test: Any, task: Any, evidence: Any, nominee: Any, rule: Any) -> Any:
    chosen = _tests[test.instance_class].judge
    return lambda test, task, evidence, nominee, rule: chosen(test, task, evidence, nominee, rule)


@overload(observe, inline="always", strict=False)
def _observe_compiled(test: Any, task: Any, evidence: Any, arm: Any, reward: Any) -> Any:
    chosen = _tests[test.instance_class].observe
    return lambda test, task, evidence, arm, reward: chosen(test, task, evidence, arm, reward)


@overload(width, inline="always", strict=False)
def _width_compiled(stopping: Any, task: Any, rounds: Any) -> Any:
    state = stopping.types[stopping.fields.index("test")]
    chosen = _tests[state.instance_class].width
    return lambda stopping, task, rounds: chosen(stopping, task, rounds)
