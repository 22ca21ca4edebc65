"""How near to the best an answer is for certain: the smallest ε' at which a test accepts it.

A study that has spent its budget without an answer says this instead. When that is true for all ε'
at once, although ε' is chosen by the data, and for which tests: docs/theory/budget.md.
"""

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from furthest.kernels.evidence import Clock, Evidence
from furthest.stopping.contrasts import is_singular
from furthest.task import Task

if TYPE_CHECKING:
    from furthest.problem import Problem
    from furthest.stopping.test import StoppingTest

Accepts = Callable[[float], bool]

# How closely the smallest one is looked for, relative to itself; what is returned is accepted.
PRECISION = 1e-9
# Of the first guess: beyond that nothing will ever be accepted.
DOUBLINGS = 60


def certified_eps(
    test: "StoppingTest", problem: "Problem", state: Any, evidence: Evidence, z: int
) -> float | None:
    """The smallest ε' for which z is proven to be within ε' of the best, at least ε; None for none.

    `state` is that of the test; like the evidence it may be written to.
    """
    if test.within is None:
        return None
    relative = problem.notion != "additive"
    found = test.within(state, problem.task, evidence, z, relative=relative)
    found *= 1.0 if relative else problem.unit
    return max(found, problem.eps) if math.isfinite(found) else None


def smallest(accepts: Accepts, least: float, guess: float, most: float = math.inf) -> float:
    """The smallest number from `least` on that is accepted; infinite if none is below `most`.

    Acceptance is monotone. Where rounding says otherwise, the number is still one that is accepted.
    """
    if accepts(least):
        return least
    below, above = least, min(least + guess, most)
    for _ in range(DOUBLINGS):
        if accepts(above):
            break
        if above >= most:
            return math.inf
        below, above = above, min(least + 2 * (above - least), most)
    else:
        return math.inf
    while above - below > PRECISION * above:
        middle = 0.5 * (below + above)
        if not below < middle < above:
            break
        below, above = (below, middle) if accepts(middle) else (middle, above)
    return above


def guess_of(evidence: Evidence) -> float:
    """A first guess: as much as the values seem to differ."""
    return float(np.ptp(evidence.values)) or 1.0


def of_question(
    task: Task, evidence: Evidence, accepts: Callable[[Task], bool], *, relative: bool
) -> float:
    """The smallest ε' ≥ ε for which the question is answered.

    `accepts` gets the question with another ε; `relative` where ε is a share of the best value.
    """
    if is_singular(evidence) or not evidence.clock[Clock.READY]:
        return math.inf
    if not relative:
        return smallest(lambda e: accepts(task._replace(e=e)), task.e, guess_of(evidence))
    below_one = math.nextafter(1.0, 0.0)
    return smallest(
        lambda eps: accepts(task._replace(c=1.0 - eps)), 1.0 - task.c, 2.0**-5, below_one
    )
