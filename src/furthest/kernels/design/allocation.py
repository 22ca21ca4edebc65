"""From arms, answers and values to the certified allocation of one answer."""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.design import settings
from furthest.kernels.design.certificate import certify_lower, certify_upper
from furthest.kernels.design.generation import generate
from furthest.kernels.design.goal import Goal, within
from furthest.kernels.design.interior import Row
from furthest.kernels.design.steps import optimise
from furthest.kernels.design.workspace import Workspace, workspace_for
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Matrix, Vector, fill, scaled_copy


@kernel
def optimum(work: Workspace, k: int, n: int, goal: Goal) -> tuple[float, float, int]:
    """Solve the problem in work.everything to `goal`; certified bounds and number of steps.

    BEST holds the normalised weights and multipliers, LEVEL the certified F for these weights.
    """
    if work.arms.shape[0] > 0:
        steps = generate(work, k, n, goal)
    else:
        steps = optimise(work.interior, k, n, goal)
    upper = certify_upper(work.everything, k, n) * (1.0 + settings.ROUNDING)
    lower = certify_lower(work.everything, k, n) * (1.0 - settings.ROUNDING)
    return lower, upper, steps


@kernel
def load_directions(
    arms: Matrix, answers: Matrix, values: Vector, z: int, c: float, e: float, work: Workspace
) -> int:
    """Load arms, and u_x = y_x/n_x of the alternatives that can be confused with z.

    Returns their number, or −1 if some n_x ≤ 0: then z is not ε-optimal and its value is 0.
    """
    p = work.everything
    d = answers.shape[1]
    count = 0
    for x in range(answers.shape[0]):
        if x == z:
            continue
        difference = 0.0
        length = 0.0
        for i in range(d):
            y = answers[z, i] - c * answers[x, i]
            difference += y * y
            length += answers[z, i] * answers[z, i] + answers[x, i] * answers[x, i]
        if difference <= settings.NEGLIGIBLE * length:
            continue
        margin = values[z] - c * values[x] + e
        if not margin > settings.SMALLEST_MARGIN:
            return -1
        for i in range(d):
            p.directions[i, count] = (answers[z, i] - c * answers[x, i]) / margin
        work.answer[count] = x
        count += 1
    for a in range(arms.shape[0]):
        for i in range(d):
            p.arms[i, a] = arms[a, i]
    return count


def best_design(
    arms: Matrix,
    answers: Matrix,
    values: Vector,
    z: int,
    c: float,
    e: float,
    gap: float,
    weights_out: Vector,
    multipliers_out: Vector,
    work: Workspace,
) -> tuple[float, float, int]:
    """Certified bracket of value(z), with its weights and multipliers, and the steps it took.

    A negative number of steps says that the bracket, though valid, is wider than `gap`. Plain
    Python, so that there is nothing to compile that other kernels do not share; but fit for it.

    Paper: Equation 1.
    """
    k = arms.shape[0]
    fill(weights_out, 1.0 / k)
    fill(multipliers_out, 0.0)
    n = load_directions(arms, answers, values, z, c, e, work)
    if n < 0:
        return 0.0, 0.0, 0
    if n == 0:
        return math.inf, math.inf, 0
    lower, upper, steps = optimum(work, k, n, within(settings.AIM * gap, False))
    best = work.everything.point[Row.BEST]
    scaled_copy(1.0, best[:k], weights_out)
    for i in range(n):
        multipliers_out[work.answer[i]] = best[k + i]
    if not lower <= upper <= (1.0 + gap) * lower:
        steps = -max(steps, 1)
    return lower, upper, steps


class Allocation(NamedTuple):
    """An allocation for one answer; value(z) lies in [lower, upper], T in [2/upper, 2/lower]."""

    lower: float
    upper: float
    weights: Vector
    multipliers: Vector
    iterations: int


def solve(
    arms: Matrix, answers: Matrix, values: Vector, z: int, c: float, e: float, gap: float = 1e-8
) -> Allocation:
    """`best_design` with its own workspace."""
    weights = np.zeros(arms.shape[0])
    multipliers = np.zeros(answers.shape[0])
    work = workspace_for(arms.shape[0], answers.shape[0], arms.shape[1])
    lower, upper, iterations = best_design(
        arms, answers, values, z, c, e, gap, weights, multipliers, work
    )
    return Allocation(lower, upper, weights, multipliers, iterations)
