"""The game of LεBAI, LinGame and DKM: arms against the closest alternative to an answer.

A learner over arms plays weights w; nature answers with the alternative λ that is closest in the
metric V_w; arm a then gains (⟨μ − λ, a⟩/σ)², made optimistic since μ is only estimated.
Degenne, Koolen & Ménard (2019); Degenne, Ménard, Shang & Valko (2020); Jourdan & Degenne (2022).
"""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.alternatives import contrast_norms, margin, nearest
from furthest.kernels.answers import greedy_answer
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.learners import Learner, learn, learner_weights
from furthest.kernels.linalg import (
    Counts,
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
from furthest.kernels.slots import claim, slots
from furthest.kernels.tracking import most_behind
from furthest.task import Task

# Added to V_w where it is singular: in whitened coordinates, this share of uniform exploration.
RIDGE = 1e-6


class Nature(NamedTuple):
    """Work arrays of the player who picks the closest alternative."""

    packed: Vector  # (d(d+1)/2,) scratch
    factor: Matrix  # (d, d) Cholesky factor of V_w
    columns: Matrix  # (d, Z) L⁻¹ · answers
    direction: Vector  # (d,) V_w⁻¹y, the direction of μ − λ


def nature(task: Task) -> Nature:
    """Fresh work arrays."""
    d = task.arms.shape[1]
    return Nature(
        packed=np.zeros(task.outer.shape[1]),
        factor=np.zeros((d, d)),
        columns=np.zeros((d, task.answers.shape[0])),
        direction=np.zeros(d),
    )


@kernel
def closest_alternative(
    player: Nature, task: Task, evidence: Evidence, answer: int, weights: Vector
) -> float:
    """(μ − λ)/σ as scale · direction, for λ the closest alternative to the answer at V_w.

    0 while σ cannot be estimated, or V_w has no factor: then slack alone decides what is gained.

    Paper: closest alternative.
    """
    factor, columns, direction = player.factor, player.columns, player.direction
    weighted_information(task.arms, task.outer, weights, player.packed, factor)
    if not cholesky(factor):
        # Without forced exploration the learner may forget whole directions.
        weighted_information(task.arms, task.outer, weights, player.packed, factor)
        for i in range(factor.shape[0]):
            factor[i, i] += RIDGE
        if not cholesky(factor):
            fill(direction, 0.0)
            return 0.0
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
    return margin(task, evidence.values, answer, x) / evidence.norms[x] * evidence.precision[0]


@kernel
def optimistic_gains(
    arm_columns: Matrix,
    direction: Vector,
    scale: float,
    widths: Vector,
    bonus: float,
    most: float,
    cap: float,
    out: Vector,
) -> None:
    """U_a = min{(|⟨μ − λ, a⟩|/σ + √c_a)², cap}, (μ − λ)/σ = scale · direction.

    The slack is c_a = min{bonus · width_a, most}.

    Paper: Equation 21, Lemma E.17.
    """
    combine(direction, arm_columns, out)
    for a in range(out.shape[0]):
        slack = math.sqrt(min(bonus * widths[a], most))
        out[a] = min((scale * abs(out[a]) + slack) ** 2, cap)


class GreedyGame(NamedTuple):
    """The game with ε = 0 about the greedy answer, one learner per answer: LinGame and DKM.

    Of very many answers only those that were greedy last have a learner; another begins anew.
    """

    question: Task  # the task with ε = 0
    places: Counts  # (Z,) see `slots`
    used: Counts  # (2, rows)
    losses: Matrix  # (rows, K) cumulative losses of an answer's learner
    gaps: Matrix  # (rows, 1) and its mixability gap
    cumulative: Vector  # (K,) W, the sum of all weights
    weights: Vector  # (K,) w_t
    gains: Vector  # (K,) optimistic gains U
    nature: Nature
    cap: float  # of the gains, in units of ln t


def greedy_game(task: Task, cap: float) -> GreedyGame:
    """The game before the first round."""
    arms, answers = task.arms.shape[0], task.answers.shape[0]
    places, used = slots(answers, arms)
    return GreedyGame(
        question=task._replace(c=1.0, e=0.0),
        places=places,
        used=used,
        losses=np.zeros((used.shape[1], arms)),
        gaps=np.zeros((used.shape[1], 1)),
        cumulative=np.bincount(task.initial, minlength=arms).astype(float),
        weights=np.zeros(arms),
        gains=np.zeros(arms),
        nature=nature(task),
        cap=cap,
    )


@kernel
def play(game: GreedyGame, task: Task, evidence: Evidence, widths: Vector) -> int:
    """One round: weights, closest alternative, gains; returns the arm most behind its target.

    Gains are optimistic by 2 ln t · widths and capped at cap · ln t. The cap is not in the papers;
    public code that goes with them has one (docs/decisions/0019).
    """
    answer = greedy_answer(evidence.values)
    new = claim(game.places, game.used, answer)
    row = game.places[answer]
    learner = Learner(game.losses[row], game.gaps[row])
    if new:
        fill(learner.losses, 0.0)
        fill(game.gaps[row], 0.0)
    learner_weights(learner, game.weights)
    for a in range(game.weights.shape[0]):
        game.cumulative[a] += game.weights[a]

    scale = closest_alternative(game.nature, game.question, evidence, answer, game.weights)
    direction = game.nature.direction
    log_round = math.log(evidence.clock[Clock.ROUNDS] + 1)
    bonus, cap = 2.0 * log_round, game.cap * log_round
    optimistic_gains(task.arm_columns, direction, scale, widths, bonus, math.inf, cap, game.gains)
    learn(learner, game.weights, game.gains)
    return most_behind(evidence.counts, game.cumulative, 1.0)
