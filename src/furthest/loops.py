"""The engine's loops for one sampling rule.

Compiled code finds `choose` by the type of the rule's state, but Numba lets one dispatcher serve
two types of equal structure. So every type of state has dispatchers of its own.
"""

from collections.abc import Callable
from functools import cache
from typing import Any

from furthest import engine
from furthest.errors import StrategyError
from furthest.kernels.jit import kernel
from furthest.sampling.rule import Rule
from furthest.strategy import Start

Loop = Callable[..., bool]
Replay = Callable[..., tuple[int, int]]


def loop_for(rule: Rule, start: Callable[[], Start]) -> tuple[Callable[[], Start], Loop]:
    """How to start a run, and `engine.run` for this rule."""
    if not rule.compiled:
        return start, engine.interpreted(rule.choose)
    begin, state = _registered(rule, start)
    return begin, _loop(state)


def replay_for(rule: Rule, start: Callable[[], Start]) -> tuple[Callable[[], Start], Replay]:
    """How to start a study, and `engine.replay` for this rule."""
    if not rule.compiled:
        raise StrategyError(
            f"the sampling rule {rule.name!r} is not compiled: it can only simulate"
        )
    begin, state = _registered(rule, start)
    return begin, _replay(state)


def _registered(rule: Rule, start: Callable[[], Start]) -> tuple[Callable[[], Start], Any]:
    """`start` with a type of state that belongs to this rule alone, and that type."""
    state: Any = type(start().rule)
    if rule.choose.__module__.startswith("furthest."):
        engine.register(state, rule.choose)
        return start, state
    own = _own_type(state, rule.choose)

    def start_own() -> Start:
        begun = start()
        return begun._replace(rule=own._make(begun.rule))

    engine.register(own, rule.choose)
    return start_own, own


@cache
def _loop(state: Any) -> Loop:
    return kernel(getattr(engine.run, "py_func", engine.run))


@cache
def _replay(state: Any) -> Replay:
    return kernel(getattr(engine.replay, "py_func", engine.replay))


@cache
def _own_type(state: Any, choose: Callable[..., int]) -> Any:
    """A type of its own for a rule from outside the package, which may share or borrow a state."""
    return type(state.__name__, (state,), {"__module__": choose.__module__})
