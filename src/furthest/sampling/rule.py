"""The protocol of a sampling rule, documented once.

A rule is a `start` and a `choose`:

    state = start(task, **options)                       # plain Python; a NamedTuple of arrays
    arm = choose(state, task, evidence, stopping)        # each round; may change the state's arrays

`choose` sees the question (`Task`), what is known (`Evidence`) and the stopping rule (`Stopping`),
writes to its own state and to scratch only, and returns the arm to pull. With `compiled=False` it
is any Python function; otherwise it is a kernel, found in compiled code by the type of the state.

Options are keywords of `start`. Three of them are filled in: `tracking` with the strategy's word,
`smoothness` with the problem's bound on the parameter, or None, and `truth` with the parameter
itself, which only a simulation has.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Rule:
    """A sampling rule and what is known about it.

    Attributes:
        name: How it is called.
        start: Makes the state before the first measurement.
        choose: Tells which arm to measure.
        source: Where it comes from.
        optimality: What is proven of how many measurements it takes.
        depends_on_delta: Whether it samples differently for another δ.
        compiled: Whether `choose` is a kernel.
    """

    name: str
    start: Callable[..., Any]
    choose: Callable[..., int]
    source: str = "the user's own"
    optimality: str = "unknown"
    depends_on_delta: bool = False
    compiled: bool = True
