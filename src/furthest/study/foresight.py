"""How many more measurements? Asked of many simulated futures of the study.

Each future draws a parameter from N(μ_t, σ²V⁻¹), the posterior under a flat prior, and goes on from
the state in which the study is.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import Generator, default_rng

from furthest.characteristic import complexity
from furthest.engine import simulated
from furthest.errors import InputError, ParameterError
from furthest.kernels.evidence import Clock
from furthest.study.events import Event, Settings, columns
from furthest.study.fold import Fold, copied
from furthest.study.records import Foresight

# A future longer than this is given up.
HORIZON = 50_000

# Compiled code cannot be interrupted: return to Python this often.
SLICE = 10_000


def foresee(
    settings: Settings, fold: Fold, results: Sequence[Event], draws: int, seed: int
) -> Foresight | None:
    """The futures of a study; None before its initial design is complete."""
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    if not fold.ready:
        return None
    taken = int(fold.state.evidence.clock[Clock.ROUNDS])
    limit = _limit(settings, fold)
    if fold.stopped:
        return Foresight(0.0, 0.0, 0.0, draws, 0, HORIZON, taken, limit)
    if settings.problem.sigma is None:
        fold = _in_units_of_noise(settings, fold, results)
        if fold.stopped:  # rounding, at the very edge
            return Foresight(0.0, 0.0, 0.0, draws, 0, HORIZON, taken, limit)
    evidence, rng = fold.state.evidence, default_rng(seed)
    root = np.linalg.cholesky(evidence.inverse)
    needed = []
    for _ in range(draws):
        mu = evidence.estimate + root @ rng.standard_normal(len(root))
        needed.append(_continue(fold, fold.task.arms @ mu, rng))
    low, median, high = np.quantile(needed, (0.05, 0.5, 0.95)).tolist()
    unfinished = sum(each >= HORIZON for each in needed)
    return Foresight(median, low, high, draws, unfinished, HORIZON, taken, limit)


def _continue(fold: Fold, means: Any, rng: Generator) -> int:
    """Measurements until one future stops."""
    state, source = copied(fold.state), simulated(means)
    begun = int(state.evidence.clock[Clock.ROUNDS])
    for until in range(begun + SLICE, begun + HORIZON + 1, SLICE):
        if fold.advance(fold.task, state, source, rng, rng, until, True) < SLICE:
            break
    return int(state.evidence.clock[Clock.ROUNDS]) - begun


def _in_units_of_noise(settings: Settings, fold: Fold, results: Sequence[Event]) -> Fold:
    """The same study with rewards divided by the estimated σ: simulated noise has σ = 1."""
    arms, values = columns(results)
    residuals = values - fold.task.arms[arms] @ fold.state.evidence.estimate
    freedom = max(1, len(values) - fold.task.arms.shape[1])
    sigma = math.sqrt(float(residuals @ residuals) / freedom)
    again = Fold(settings, unit=sigma or 1.0)
    again.take(arms, values)
    return again


def _limit(settings: Settings, fold: Fold) -> float | None:
    """T_ε ln(1/δ) at the estimate, where it is finite."""
    problem = settings.problem
    estimate = problem.unwhiten(fold.state.evidence.estimate)
    try:
        found = complexity(problem, estimate, 1e-4).measurements(settings.delta)
    except ParameterError:
        return None
    return found if math.isfinite(found) else None
