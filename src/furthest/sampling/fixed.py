"""Fixed: track given proportions, for instance the optimal ones w_F(μ) of a known μ."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from furthest.errors import StrategyError
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Vector
from furthest.kernels.oracle import furthest_design, oracle_for
from furthest.kernels.tracking import most_behind
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task, per_cost, per_measurement

# Relative gap to which w_F is solved.
OPTIMAL = 1e-6


class Fixed(NamedTuple):
    """The proportions to track."""

    weights: Vector  # (K,) on the simplex


def start(
    task: Task, *, weights: Sequence[float] | None = None, truth: Vector | None = None
) -> Fixed:
    """The state before the first round; without weights, w_F of the true parameter."""
    if weights is None:
        return Fixed(_optimal_weights(task, truth))
    try:
        proportions = np.asarray(weights, float)
    except (TypeError, ValueError):
        raise StrategyError(f"fixed needs numbers as weights, not {weights!r}") from None
    arms = task.arms.shape[0]
    if proportions.shape != (arms,):
        raise StrategyError(f"fixed needs one weight per arm: {arms}, not {proportions.size}")
    if not (np.isfinite(proportions).all() and (proportions >= 0).all() and proportions.any()):
        raise StrategyError("fixed needs finite weights ≥ 0 that are not all zero")
    return Fixed(proportions / proportions.sum())


def _optimal_weights(task: Task, truth: Vector | None) -> Vector:
    """w_F(μ)."""
    if truth is None:
        raise StrategyError("fixed needs the option 'weights' where the true μ is not known")
    bought = per_cost(task)
    oracle = oracle_for(bought)
    answer = furthest_design(oracle, bought, task.answers @ truth, OPTIMAL)
    weights: Vector = per_measurement(task, oracle.weights[oracle.places[answer]].copy())
    return weights


@kernel
def choose(rule: Fixed, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """argmin over arms of N_a − t·w_a.

    Paper: Fixed.
    """
    return most_behind(evidence.counts, rule.weights, float(evidence.clock[Clock.ROUNDS]))


RULE = Rule(
    name="fixed",
    start=start,
    choose=choose,
    source="oracle baseline of the paper's experiments (Fixed)",
    optimality="asymptotically optimal with the weights w_F(μ) of the true μ",
)
