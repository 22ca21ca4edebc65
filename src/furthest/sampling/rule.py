"""The protocol of a sampling rule, documented once.

A rule is a `start` and a `choose`:

    state = start(task, **options)                       # plain Python; a NamedTuple of arrays
    arm = choose(state, task, evidence, stopping)        # each round; may change the state's arrays

`choose` sees the question (`Task`), what is known (`Evidence`) and the stopping rule (`Stopping`),
writes to its own state and to scratch only, and returns the arm to pull. With `compiled=False` it
is any Python function; otherwise it is a kernel, found in compiled code by the type of the state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from numba.extending import overload

from furthest.kernels.evidence import Evidence
from furthest.stopping.nomination import Stopping
from furthest.task import Task

__compiled__ = True


@dataclass(frozen=True)
class Rule:
    """A sampling rule and what is known about it."""

    name: str
    start: Callable[..., Any]
    choose: Callable[..., int]
    source: str = "the user's own"
    optimality: str = "unknown"
    depends_on_delta: bool = False
    compiled: bool = True


_rules: dict[type, Rule] = {}


def register(state: type, rule: Rule) -> None:
    """Make this the rule of states of this type."""
    _rules[state] = rule


def choose(rule: Any, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """The arm to pull next, by the rule that the state belongs to."""
    return _rules[type(rule)].choose(rule, task, evidence, stopping)


@overload(choose, inline="always", strict=False)
def _choose_compiled(rule: Any, task: Any, evidence: Any, stopping: Any) -> Any:
    chosen = _rules[rule.instance_class].choose
    return lambda rule, task, evidence, stopping: chosen(rule, task, evidence, stopping)
