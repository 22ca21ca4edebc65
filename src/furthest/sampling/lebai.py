"""LεBAI: a game between a learner over arms and the closest alternative to the furthest answer.

Jourdan & Degenne (2022), "Choosing Answers in ε-Best-Answer Identification for Linear Bandits",
algorithm 1. Asymptotically optimal with the exact furthest answer as Z-oracle; the instantaneous
furthest answer is the authors' heuristic for it.

Paper: Algorithm 1, Theorem 4.1.
"""

import math
from functools import cache
from typing import NamedTuple

import numpy as np

from furthest import axes
from furthest.codes import Candidate
from furthest.errors import StrategyError, pick
from furthest.kernels.answers import greedy_answer, instantaneous_furthest
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.game import Nature, closest_alternative, nature, optimistic_gains
from furthest.kernels.jit import kernel
from furthest.kernels.learners import Learner, adahedge, learn, learner_weights
from furthest.kernels.linalg import Vector
from furthest.kernels.oracle import NoOracle, Oracle, exact_furthest, oracle_for
from furthest.kernels.tracking import explore, track
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.stopping.thresholds import concentration
from furthest.task import Task

SLACKS = ("log", "theory")

# The theory's bonus is tabulated in steps of ln t up to t = e³⁰.
STEP = 0.05
LARGEST_LOG = 30.0


class Lebai(NamedTuple):
    """Learner, cumulative weights and work arrays."""

    z_oracle: int
    oracle: Oracle | NoOracle
    tracking: int
    forced: bool  # forced exploration
    capped: bool  # gains capped at ln t
    bonus: Vector  # exploration bonus f at ln t = 0, STEP, 2·STEP, …
    most: float  # largest slack
    learner: Learner
    cumulative: Vector  # (K,) W, the sum of all weights
    played: Vector  # (K,) the learner's weights w^L
    weights: Vector  # (K,) w_t, the same after forced exploration
    gains: Vector  # (K,) optimistic gains U
    nature: Nature


def start(
    task: Task,
    *,
    z_oracle: str = "instantaneous-furthest",
    tracking: str = "C",
    forced: bool = True,
    capped: bool = True,
    slack: str = "log",
    bound: float | None = None,
) -> Lebai:
    """The state before the first round.

    slack="log" is c_a = 2 ln t ‖a‖²_{V⁻¹}, which the paper's experiments use; slack="theory" is
    c_a = min{f(t²)‖a‖²_{V⁻¹}, 4·bound²} of its theorem, for a known bound on |⟨μ, a⟩|/σ over arms.

    Paper: Z-oracle, Equation 20.
    """
    arms = task.arms.shape[0]
    for name, flag in (("forced", forced), ("capped", capped)):
        if not isinstance(flag, bool):
            raise StrategyError(f"{name} of lebai must be true or false, not {flag!r}")
    code = pick(z_oracle, axes.CANDIDATES, "Z-oracle").code
    pick(slack, dict.fromkeys(SLACKS), "slack")
    if (bound is not None) != (slack == "theory") or (bound is not None and not bound > 0):
        raise StrategyError("slack=theory needs a positive bound on |⟨μ, a⟩|/σ; slack=log has none")
    return Lebai(
        z_oracle=int(code),
        oracle=oracle_for(task) if code == Candidate.FURTHEST else NoOracle(),
        tracking=int(pick(tracking, axes.TRACKINGS, "tracking").code),
        forced=forced,
        capped=capped,
        bonus=_log_bonus() if slack == "log" else _theory_bonus(arms),
        most=math.inf if bound is None else 4.0 * bound**2,
        learner=adahedge(arms),
        cumulative=np.bincount(task.initial, minlength=arms).astype(float),
        played=np.zeros(arms),
        weights=np.zeros(arms),
        gains=np.zeros(arms),
        nature=nature(task),
    )


@cache
def _log_bonus() -> Vector:
    """f = 2 ln t."""
    return 2.0 * np.arange(0.0, LARGEST_LOG, STEP)


@cache
def _theory_bonus(arms: int) -> Vector:
    """f(t²) = 2β(t², t⁻⁶) with the theory's threshold β (paper's appendix, b = 1, α = 3).

    The paper prints β(t², t^{2/3}); its proofs use probabilities t^{−α}.

    Paper: exploration bonus.
    """
    return np.array(
        [
            4 * arms * math.log(4 + max(2 * log - math.log(arms), 0.0))
            + 2 * arms * concentration(6 * log / arms)
            for log in np.arange(0.0, LARGEST_LOG, STEP)
        ]
    )


@kernel
def choose(rule: Lebai, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One round of the game; returns the arm that is most behind its target.

    Paper: Algorithm 1.
    """
    this_round = evidence.clock[Clock.ROUNDS] + 1
    if rule.z_oracle == Candidate.INSTANTANEOUS:
        answer, _ = instantaneous_furthest(task, evidence)
    elif rule.z_oracle == Candidate.FURTHEST:
        answer = exact_furthest(rule.oracle, task, evidence.values)
    else:
        answer = greedy_answer(evidence.values)

    learner_weights(rule.learner, rule.played)
    share = 1.0 / this_round if rule.forced else 0.0
    explore(rule.played, share, rule.weights)
    scale = closest_alternative(rule.nature, task, evidence, answer, rule.weights)
    log_round = math.log(this_round)
    # The cap is not in the paper, but its tables come out with it (docs/decisions/0005).
    optimistic_gains(
        task.arm_columns,
        rule.nature.direction,
        scale,
        evidence.widths,
        _interpolate(rule.bonus, log_round / STEP),
        rule.most,
        log_round if rule.capped else math.inf,
        rule.gains,
    )
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


@kernel
def _interpolate(table: Vector, position: float) -> float:
    """The table between its entries."""
    below = min(int(position), table.shape[0] - 2)
    return table[below] + (position - below) * (table[below + 1] - table[below])


RULE = Rule(
    name="lebai",
    start=start,
    choose=choose,
    source="Jourdan & Degenne (2022), algorithm 1 (LεBAI)",
    optimality="asymptotically optimal with the exact furthest answer as Z-oracle and the theory's "
    "slack (theorem 4.1); the default is the authors' heuristic",
)
