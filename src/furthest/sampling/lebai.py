"""LεBAI: a game between a learner over arms and the closest alternative to the furthest answer.

Jourdan & Degenne (2022), "Choosing Answers in ε-Best-Answer Identification for Linear Bandits",
algorithm 1. Asymptotically optimal with the exact furthest answer as Z-oracle; the instantaneous
furthest answer is the authors' heuristic for it.
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.errors import StrategyError, pick
from furthest.kernels.alternatives import contrast_norms, margin, nearest
from furthest.kernels.answers import (
    CANDIDATES,
    FURTHEST,
    GREEDY,
    INSTANTANEOUS,
    greedy_answer,
    instantaneous_furthest,
)
from furthest.kernels.evidence import ROUNDS, Evidence
from furthest.kernels.exact import NoOracle, exact_furthest, oracle_for
from furthest.kernels.furthest import Oracle
from furthest.kernels.jit import inlined
from furthest.kernels.learners import Learner, adahedge, learn, learner_weights
from furthest.kernels.linalg import (
    Matrix,
    Vector,
    cholesky,
    combine,
    copy,
    fill,
    solve_lower_many,
    solve_lower_transposed,
    weighted_information,
)
from furthest.kernels.stopping import Stopping
from furthest.kernels.task import Task
from furthest.kernels.tracking import C_TRACKING, D_TRACKING, explore, track
from furthest.sampling.rule import Rule

Z_ORACLES = dict(zip(CANDIDATES, (GREEDY, INSTANTANEOUS, FURTHEST), strict=True))
TRACKINGS = {"C": C_TRACKING, "D": D_TRACKING}


# Added to V_w where it is singular: in whitened coordinates, this share of uniform exploration.
RIDGE = 1e-6


class Lebai(NamedTuple):
    """Learner, cumulative weights and work arrays."""

    z_oracle: int
    oracle: Oracle | NoOracle
    tracking: int
    forced: bool  # forced exploration
    capped: bool  # gains capped at ln t
    learner: Learner
    cumulative: Vector  # (K,) W, the sum of all weights
    played: Vector  # (K,) the learner's weights w^L
    weights: Vector  # (K,) w_t, the same after forced exploration
    gains: Vector  # (K,) optimistic gains U
    packed: Vector  # (d(d+1)/2,) scratch
    factor: Matrix  # (d, d) Cholesky factor of V_w
    columns: Matrix  # (d, Z) L⁻¹ · answers
    direction: Vector  # (d,) V_w⁻¹ y


def start(
    task: Task,
    *,
    z_oracle: str = "instantaneous-furthest",
    tracking: str = "C",
    forced: bool = True,
    capped: bool = True,
) -> Lebai:
    """The state before the first round."""
    arms, d = task.arms.shape
    code = pick(z_oracle, Z_ORACLES, "Z-oracle", StrategyError)
    return Lebai(
        z_oracle=code,
        oracle=oracle_for(task) if code == FURTHEST else NoOracle(),
        tracking=pick(tracking, TRACKINGS, "tracking", StrategyError),
        forced=forced,
        capped=capped,
        learner=adahedge(arms),
        cumulative=np.bincount(task.initial, minlength=arms).astype(float),
        played=np.zeros(arms),
        weights=np.zeros(arms),
        gains=np.zeros(arms),
        packed=np.zeros(task.outer.shape[1]),
        factor=np.zeros((d, d)),
        columns=np.zeros((d, task.answers.shape[0])),
        direction=np.zeros(d),
    )


@inlined
def choose(rule: Lebai, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One round of the game; returns the arm that is most behind its target."""
    this_round = evidence.clock[ROUNDS] + 1
    if rule.z_oracle == INSTANTANEOUS:
        answer, _ = instantaneous_furthest(task, evidence)
    elif rule.z_oracle == FURTHEST:
        answer = exact_furthest(rule.oracle, task, evidence.values)
    else:
        answer = greedy_answer(evidence.values)

    learner_weights(rule.learner, rule.played)
    share = 1.0 / this_round if rule.forced else 0.0
    explore(rule.played, share, rule.weights)
    _optimistic_gains(rule, task, evidence, answer, math.log(this_round))
    for a in range(rule.weights.shape[0]):
        rule.cumulative[a] += rule.weights[a]
        rule.gains[a] *= 1.0 - share
    learn(rule.learner, rule.played, rule.gains)

    return track(
        rule.tracking,
        evidence.counts,
        rule.cumulative,
        rule.weights,
        this_round,
        task.initial.shape[0],
    )


@inlined
def _optimistic_gains(
    rule: Lebai, task: Task, evidence: Evidence, answer: int, log_round: float
) -> None:
    """U_a = min{(|⟨μ − λ, a⟩| + √(2 ln t ‖a‖²_{V⁻¹}))², ln t}, λ the closest alternative at V_w.

    The cap is not in the paper, but its tables come out with it (docs/decisions).
    """
    gains = rule.gains
    reach = _closest_alternative(rule, task, evidence, answer)
    combine(rule.direction, task.arm_columns, gains)
    cap = log_round if rule.capped else math.inf
    for a in range(gains.shape[0]):
        slack = math.sqrt(2.0 * log_round * evidence.widths[a])
        gains[a] = min((reach * abs(gains[a]) + slack) ** 2, cap)


@inlined
def _closest_alternative(rule: Lebai, task: Task, evidence: Evidence, answer: int) -> float:
    """μ − λ as scale · direction, for λ the closest alternative to the answer at V_{w_t}."""
    factor, columns, direction = rule.factor, rule.columns, rule.direction
    weighted_information(task.outer, rule.weights, rule.packed, factor)
    if not cholesky(factor):
        # Without forced exploration the learner may forget whole directions.
        weighted_information(task.outer, rule.weights, rule.packed, factor)
        for i in range(factor.shape[0]):
            factor[i, i] += RIDGE
        cholesky(factor)
    copy(task.answer_columns, columns)
    solve_lower_many(factor, columns)
    own = contrast_norms(columns, columns, answer, task.c, evidence.norms)
    distance, x = nearest(task, evidence.values, answer, evidence.norms, own, -math.inf)
    if x < 0 or distance <= 0.0:
        fill(direction, 0.0)
        return 0.0
    for i in range(direction.shape[0]):
        direction[i] = columns[i, answer] - task.c * columns[i, x]
    solve_lower_transposed(factor, direction)
    return margin(task, evidence.values, answer, x) / evidence.norms[x]


RULE = Rule(
    name="lebai",
    start=start,
    choose=choose,
    source="Jourdan & Degenne (2022), algorithm 1 (LεBAI)",
    optimality="asymptotically optimal with the exact furthest answer as Z-oracle (theorem 1)",
)
