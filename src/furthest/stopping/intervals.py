"""Between which numbers a value ⟨μ, y⟩ is: what the confidence set of a stopping test leaves open.

The event on which a test is right has the true μ in its confidence set, at all times. So whatever y
is, and however many are looked at, all intervals hold at once and together with all verdicts, with
the one probability 1 − δ of the study. Statement and proof: docs/theory/intervals.md.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.kernels.evidence import Clock, Evidence
from furthest.stopping.contrasts import is_singular
from furthest.stopping.test import Misses, StoppingTest
from furthest.stopping.within import smallest
from furthest.task import Task

Values = NDArray[np.float64]


class Intervals(NamedTuple):
    """The ends of some intervals, infinite where the data say nothing."""

    lows: Values
    highs: Values


def intervals(
    test: StoppingTest, state: Any, task: Task, evidence: Evidence, rows: Values
) -> Intervals | None:
    """Of ⟨μ, y⟩ for each row y, in the task's units; None for a test that has no confidence set.

    Like the evidence, the test's state may be written to.
    """
    if is_singular(evidence) or not evidence.clock[Clock.READY]:
        nowhere = np.full(len(rows), math.inf)
        return Intervals(-nowhere, nowhere)
    if test.extent is not None:
        return Intervals(*test.extent(state, task, evidence, rows))
    if test.region is not None:
        return around_estimate(test.region(state, task, evidence), evidence, rows)
    return None


def around_estimate(misses: Misses, evidence: Evidence, rows: Values) -> Intervals:
    """By half-spaces: the upper end is the least u for which {λ : ⟨λ, y⟩ ≥ u} is missed."""
    duals = rows @ evidence.inverse
    norms = np.maximum(np.einsum("yi,yi->y", rows, duals), 0.0)
    spreads = np.einsum("yi,yi->y", duals, duals)
    ratios = np.divide(spreads, norms, out=np.zeros_like(norms), where=norms > 0)
    middles = rows @ evidence.estimate
    reach = np.zeros_like(norms)
    far = norms > 0
    reach[far] = np.sqrt(squared_distances(misses, ratios[far]) * norms[far])
    return Intervals(middles - reach, middles + reach)


def squared_distances(misses: Misses, ratios: Values) -> Values:
    """The least n²/‖y‖²_{V⁻¹} that is missed, for each ‖V⁻¹y‖²/‖y‖²_{V⁻¹}.

    It grows with the quotient: what it is for the smallest one is where all searches begin.
    """
    if not len(ratios):
        return ratios

    def least(ratio: float, start: float, guess: float) -> float:
        return smallest(lambda square: misses(square, 1.0, ratio), start, guess)

    low = least(float(ratios.min()), 0.0, 1.0)
    if not math.isfinite(low):
        return np.full_like(ratios, math.inf)
    high = least(float(ratios.max()), low, max(low, 1.0))
    room = max(high - low, low * 1e-9) if math.isfinite(high) else max(low, 1.0)
    return np.array([least(ratio, low, room) for ratio in ratios.tolist()])
