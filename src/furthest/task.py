"""The question in the coordinates in which the kernels work.

`Problem` validates and translates once. Here every array is float64 and C-contiguous, rewards are
in units of σ where it is known, and the coordinates are *whitened*: one pull of each arm has
information AᵀA = K·I. Inner products ⟨μ,a⟩ and norms ‖y‖_{V⁻¹} do not depend on the coordinates, so
no rule notices; but rank deficiency, wide scales and the matrix V₀ of the mixture rule disappear.
A ridge, which does depend on the coordinates, is translated from the user's.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.codes import Noise

__compiled__ = True


class Task(NamedTuple):
    """What may be measured, what may be answered, and what "ε-best" means.

    Answer z is ε-best iff ⟨μ, z − c·x⟩ + e ≥ 0 for every answer x, with (c, e) = (1, ε/σ) for the
    additive notion and (1 − ε, 0) for the multiplicative one.
    """

    arms: NDArray[np.float64]  # (K, d)
    answers: NDArray[np.float64]  # (Z, d)
    arm_columns: NDArray[np.float64]  # (d, K): the arms again, for loops that run along arms
    answer_columns: NDArray[np.float64]  # (d, Z)
    # (K, d(d+1)/2): lower triangles of a aᵀ, so that V_w is one product; no rows if there are many
    outer: NDArray[np.float64]
    c: float
    e: float
    initial: NDArray[np.int64]  # (n₀,) arms pulled first, in this order, whatever is observed
    ridge: NDArray[np.float64]  # (d, d) what V starts with; 0 for least squares
    noise: int = Noise.SUB_GAUSSIAN  # if any other, rewards have a unit of their own, not σ
    low: float = 0.0  # lower bound of the rewards, where the noise is bounded: they span 2 units
    costs: NDArray[np.float64] = np.zeros(0)  # (K,) of a measurement of each arm; empty if unsaid


# More numbers than this would come from memory rather than from a cache, and are not kept.
MOST_OUTER = 2**18


def outer_products(arms: NDArray[np.float64]) -> NDArray[np.float64]:
    """`Task.outer`."""
    rows, columns = np.tril_indices(arms.shape[1])
    if len(arms) * len(rows) > MOST_OUTER:
        return np.zeros((0, len(rows)))
    return np.ascontiguousarray(arms[:, rows] * arms[:, columns])


def per_cost(task: Task) -> Task:
    """The arms as one unit of money buys them; as they are where nobody said what they cost."""
    if not len(task.costs):
        return task
    arms = np.ascontiguousarray(task.arms / np.sqrt(task.costs)[:, None])
    return task._replace(
        arms=arms,
        arm_columns=np.ascontiguousarray(arms.T),
        outer=np.ascontiguousarray(task.outer / task.costs[: len(task.outer), None]),
    )


def per_measurement(task: Task, shares: NDArray[np.float64]) -> NDArray[np.float64]:
    """From shares of the money to shares of the measurements (docs/theory/arms.md)."""
    if not len(task.costs):
        return shares
    bought = shares / task.costs
    return np.asarray(bought / bought.sum())


class Smoothness(NamedTuple):
    """What is known of μ beforehand, in the coordinates and units of the task: μᵀPμ ≤ R."""

    matrix: NDArray[np.float64]  # (d, d) P, positive semidefinite
    bound: float  # R
