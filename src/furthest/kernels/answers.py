"""Candidate answers: greedy and instantaneous furthest."""

import math

from furthest.kernels.alternatives import distance_from, statistic
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import inlined, kernel
from furthest.kernels.linalg import Vector
from furthest.task import Task

# Relative differences below this are rounding: the lower index wins.
TIE = 1e-12


@kernel
def greedy_answer(values: Vector) -> int:
    """z*(μ): the answer of largest value.

    Paper: greedy answers.
    """
    best = 0
    for z in range(1, values.shape[0]):
        if values[z] > values[best] + TIE * abs(values[best]):
            best = z
    return best


@kernel
def is_near_best(task: Task, values: Vector, z: int, top: float) -> bool:
    """Whether z is ε-best when the best value is `top`.

    Paper: additive notion, multiplicative notion.
    """
    return values[z] - task.c * top + task.e >= 0.0


@inlined
def instantaneous_furthest(task: Task, evidence: Evidence) -> tuple[int, float]:
    """z_F(μ_t, N_t) and its GLR statistic: the ε-best answer that is easiest to verify by now.

    Remembered until the next measurement, since candidate and sampling rule both ask for it.

    Paper: instantaneous furthest answers.
    """
    clock = evidence.clock
    if clock[Clock.MEMO_ROUND] == clock[Clock.ROUNDS]:
        return clock[Clock.MEMO_ANSWER], evidence.memo[0]
    values = evidence.values
    # Where no answer is ε-best (multiplicative notion, best value not positive), the greedy one.
    greedy = greedy_answer(values)
    answer = greedy
    furthest, rival = statistic(task, evidence, greedy, -math.inf)
    for z in range(values.shape[0]):
        if z == greedy or not is_near_best(task, values, z, values[greedy]):
            continue
        # What refuted others mostly refutes this one as well: no need to look at all answers.
        if distance_from(task, evidence, z, greedy) < furthest:
            continue
        if rival not in (-1, z) and distance_from(task, evidence, z, rival) < furthest:
            continue
        distance, rival = statistic(task, evidence, z, furthest)
        if distance > furthest * (1.0 + TIE):
            answer, furthest = z, distance
    clock[Clock.MEMO_ROUND] = clock[Clock.ROUNDS]
    clock[Clock.MEMO_ANSWER] = answer
    evidence.memo[0] = furthest
    return answer, furthest
