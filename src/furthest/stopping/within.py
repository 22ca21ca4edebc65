"""How near to the best an answer is for certain: the smallest ε' at which a test accepts it.

A study that has spent its budget without an answer says this instead. When that is true for all ε'
at once, although ε' is chosen by the data, and for which tests: docs/theory/budget.md.
"""

import math
from collections.abc import Callable

import numpy as np

from furthest.kernels.evidence import Evidence
from furthest.stopping.contrasts import is_singular
from furthest.task import Task

Accepts = Callable[[float], bool]

# How closely the smallest one is looked for, relative to itself; what is returned is accepted.
PRECISION = 1e-9
# Of the first guess: beyond that nothing will ever be accepted.
DOUBLINGS = 60


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
    """The smallest ε' of a test whose proof is about one event that no ε has a part in.

    `accepts` gets the question with another ε; `relative` where ε is a share of the best value.
    """
    if is_singular(evidence):
        return math.inf
    if not relative:
        return smallest(lambda e: accepts(task._replace(e=e)), task.e, guess_of(evidence))
    below_one = math.nextafter(1.0, 0.0)
    return smallest(
        lambda eps: accepts(task._replace(c=1.0 - eps)), 1.0 - task.c, 2.0**-5, below_one
    )


def of_slack(
    task: Task,
    evidence: Evidence,
    accepts: Accepts,
    floor: Callable[[], float],
    *,
    relative: bool,
) -> float:
    """The smallest ε' of a test whose e-processes are for contrasts z − c·x with the study's own c.

    `accepts` gets the slack s, by which more than e the answer may fall short. Where ε is a share
    of the best value, and that is at least `floor`, ε + s/floor is such a share too.
    """
    if is_singular(evidence):
        return math.inf
    slack = smallest(accepts, 0.0, guess_of(evidence))
    if not relative:
        return task.e + slack
    if slack == 0.0:
        return 1.0 - task.c
    found, best = math.inf, floor()
    if best > 0.0 and slack < math.inf:
        found = 1.0 - task.c + slack / best
    return found if found < 1.0 else math.inf
