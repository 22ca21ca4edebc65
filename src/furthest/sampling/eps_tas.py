"""ε-Track-and-Stop: track the optimal proportions w_F(μ_t) of the estimate.

Garivier & Kaufmann (2016) for best arms; with the furthest answer for ε-best ones, Garivier &
Kaufmann (2021) and Degenne & Koolen (2019). The paper runs it on 500 random allocations; here w_F
is solved to a certified gap at every round.
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.evidence import ROUNDS, Evidence
from furthest.kernels.exact import oracle_for
from furthest.kernels.furthest import Oracle, furthest_design
from furthest.kernels.jit import inlined
from furthest.kernels.linalg import Vector
from furthest.kernels.stopping import Stopping
from furthest.kernels.task import Task
from furthest.kernels.tracking import most_behind
from furthest.sampling.rule import Rule


class EpsTas(NamedTuple):
    """Oracle and cumulative proportions."""

    oracle: Oracle
    gap: float  # relative gap to which w_F(μ_t) is solved
    cumulative: Vector  # (K,) W, the sum of all proportions


def start(task: Task, *, gap: float = 1e-3) -> EpsTas:
    """The state before the first round."""
    arms = task.arms.shape[0]
    cumulative = np.bincount(task.initial, minlength=arms).astype(float)
    return EpsTas(oracle_for(task), gap, cumulative)


@inlined
def choose(rule: EpsTas, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """C-tracking of w_F(μ_t); arms that fall behind √t − K/2 are explored first."""
    arms = evidence.counts.shape[0]
    least = math.sqrt(evidence.clock[ROUNDS]) - 0.5 * arms
    behind = 0
    for a in range(arms):
        if evidence.counts[a] <= least:
            behind += 1
    if behind > 0:
        for a in range(arms):
            if evidence.counts[a] <= least:
                rule.cumulative[a] += 1.0 / behind
    else:
        answer = furthest_design(
            rule.oracle, task.arms, task.answers, evidence.values, task.c, task.e, rule.gap
        )
        for a in range(arms):
            rule.cumulative[a] += rule.oracle.weights[answer, a]
    return most_behind(evidence.counts, rule.cumulative, 1.0)


RULE = Rule(
    name="eps-tas",
    start=start,
    choose=choose,
    source="Garivier & Kaufmann (2016, 2021), Degenne & Koolen (2019): ε-Track-and-Stop",
    optimality="asymptotically optimal where the furthest answer is unique",
)
