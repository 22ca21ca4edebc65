"""T_ε where a bound on the parameter is known: cutting planes, with a certificate.

2/T = max over w of F(w), F(w) = min over alternatives λ within the bound of Σ_a w_a ⟨μ − λ, a⟩², is
a linear programme with one row for each λ. Rows are generated (Kelley 1960): the programme of some
of them bounds F from above, the dual of the closest alternative (kernels/ellipsoid.py) from below.
Rows are looked for between the programme's solution and the best w so far (in-out separation): that
is within the simplex, where V_w has a factor, and takes a tenth of the rounds.
"""

import math

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import linprog

from furthest.kernels.alternatives import SAME, contrast_norms
from furthest.kernels.design import Allocation
from furthest.kernels.ellipsoid import (
    Ellipsoid,
    ellipsoid,
    multiplier,
    set_contrast,
    step_to,
    take_metric,
)
from furthest.task import Smoothness, Task

# Programmes solved before the bracket is taken as it is.
MOST_ROUNDS = 200

# How far from the best w so far towards the programme's solution the next rows are looked for.
OUTWARDS = 0.7

# The finest that HiGHS takes; with its own the bracket would not get below 10⁻⁶.
PRECISION = 1e-10
TOLERANCES = ("primal_feasibility_tolerance", "dual_feasibility_tolerance")

# By so much, relative to the bound, an alternative may be outside: the search ends within it.
ROUNDING = 1e-12

Vector = NDArray[np.float64]


class Rows:
    """The alternatives found so far, as the gains of every arm."""

    def __init__(self, arms: int) -> None:
        self.gains: list[Vector] = []
        self.owners: list[int] = []
        self.shares: Vector = np.zeros(0)
        self._arms = arms

    def add(self, gains: Vector, owner: int) -> None:
        """The alternative at which arm a has gained gains[a], and the answer x that it favours."""
        self.gains.append(gains)
        self.owners.append(owner)

    def best(self) -> tuple[Vector, float]:
        """Proportions w that maximise the least Σ_a w_a gains_a, and a bound on that maximum.

        The bound is that of the dual: a mixture of the rows, at most its largest entry whatever w.
        """
        rows = np.array(self.gains)
        scale = rows.max()
        found = linprog(
            np.append(np.zeros(self._arms), -1.0),
            A_ub=np.column_stack([-rows / scale, np.ones(len(rows))]),
            b_ub=np.zeros(len(rows)),
            A_eq=np.append(np.ones(self._arms), 0.0)[None],
            b_eq=[1.0],
            bounds=[(0, None)] * self._arms + [(None, None)],
            method="highs-ds",
            options=dict.fromkeys(TOLERANCES, PRECISION),
        )
        weights = np.maximum(found.x[: self._arms], 0.0)
        shares = np.maximum(-found.ineqlin.marginals, 0.0)
        self.shares = shares / shares.sum()
        return weights / weights.sum(), float((self.shares @ rows).max())

    def multipliers(self, answers: int) -> Vector:
        """How much every x takes part in that mixture."""
        owners = np.array(self.owners[: len(self.shares)], np.int64)
        return np.asarray(np.bincount(owners, self.shares, answers), float)


def solve(
    task: Task, known: Smoothness, mu: Vector, z: int, c: float, e: float, gap: float
) -> Allocation:
    """The allocation for answer z, certified; its bracket is as wide as `gap` if all goes well."""
    arms = len(task.arms)
    work, rows = ellipsoid(task, known), Rows(arms)
    middle = np.full(arms, 1 / arms)
    lower, upper = add_rows(work, task, mu, middle, (z, c, e), rows, math.inf), math.inf
    best, steps = middle, 0
    while rows.gains and lower > 0 and steps < MOST_ROUNDS:
        steps += 1
        ahead, bound = rows.best()
        upper = min(upper, bound)
        if upper <= (1 + gap) * lower:
            break
        middle = OUTWARDS * ahead + (1 - OUTWARDS) * best
        found = add_rows(work, task, mu, middle, (z, c, e), rows, upper)
        if found > lower:
            best, lower = middle, found
    if not lower > 0:
        upper = 0.0
    return Allocation(lower, max(lower, upper), best, rows.multipliers(len(task.answers)), steps)


def add_rows(
    work: Ellipsoid,
    task: Task,
    mu: Vector,
    weights: Vector,
    question: tuple[int, float, float],
    rows: Rows,
    upper: float,
) -> float:
    """A lower bound on F(w), and a row for the closest alternative of each x that is below `upper`.

    0 where V_w is singular: that is a lower bound, too.
    """
    z, c, e = question
    information = task.arms.T @ (weights[:, None] * task.arms)
    if not take_metric(work, task.answer_columns, information, mu):
        return 0.0
    own = contrast_norms(work.answers, work.answers, z, c, work.norms)
    others = [x for x in np.flatnonzero(work.norms > SAME * own).tolist() if x != z]
    lowest = math.inf
    for x in others:
        set_contrast(work, z, x, c)
        found, gamma = multiplier(work, e, math.inf)
        lowest = min(lowest, found)
        if found < upper:
            step_to(work, z, x, c, e, gamma)
            point = mu - work.step
            if point @ work.matrix @ point <= work.bound * (1 + ROUNDING):
                rows.add((task.arms @ work.step) ** 2, x)
    return max(lowest, 0.0)
