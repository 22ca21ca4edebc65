"""The exact furthest answer as an optional part of a state.

Its solver takes seconds to compile, so strategies that do without carry `NoOracle` instead of an
`Oracle`: another type, for which compiled code contains no solver.
"""

from typing import Any, NamedTuple

from numba.extending import overload

from furthest.kernels.furthest import Oracle, furthest_answer, oracle
from furthest.kernels.linalg import Vector
from furthest.task import Task


class NoOracle(NamedTuple):
    """Nothing; a NamedTuple must have a field."""

    nothing: int = 0


def oracle_for(task: Task) -> Oracle:
    """A fresh oracle for one run."""
    arms, d = task.arms.shape
    return oracle(arms, task.answers.shape[0], d)


def exact_furthest(held: Any, task: Task, values: Vector) -> int:
    """z_F(μ) for values = answers·μ; −1 without an oracle."""
    if isinstance(held, NoOracle):
        return -1
    return furthest_answer(held, task.arms, task.answers, values, task.c, task.e)


@overload(exact_furthest, inline="always")
def _exact_furthest_compiled(held: Any, task: Any, values: Any) -> Any:
    if held.instance_class is NoOracle:

        def absent(held: Any, task: Any, values: Any) -> int:
            return -1

        return absent

    def present(held: Any, task: Any, values: Any) -> int:
        return furthest_answer(held, task.arms, task.answers, values, task.c, task.e)

    return present
