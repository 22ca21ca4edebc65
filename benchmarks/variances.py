"""Sampling rules and a stopping test to compare with, for bounded rewards of plain options.

Softmin and LεBAI with a variance per arm, p̃(1 − p̃), where the package has one for all; and KL-LUCB.
"""
# ruff: noqa: ARG001  (rules and tests are called with more than each of them needs)

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

import furthest as ft
from furthest.kernels.answers import greedy_answer, instantaneous_furthest
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.learners import Learner, adahedge, learn, learner_weights
from furthest.kernels.linalg import Counts, Vector
from furthest.kernels.pairs import interval
from furthest.kernels.tracking import explore, most_behind
from furthest.stopping.nomination import Nominee, Stopping
from furthest.task import Task


def places(task: Task) -> Counts:
    """Which arm each answer is."""
    return np.asarray((task.answers @ task.arm_columns).argmax(axis=1), np.int64)


@kernel
def deviation(task: Task, evidence: Evidence, arm: int) -> float:
    """√(p̃(1 − p̃)) in the task's unit, p̃ being the mean with half a success in one more result."""
    n = float(evidence.counts[arm])
    p = (0.5 + 0.5 * (evidence.sums[arm] - task.low * n)) / (1.0 + n)
    return 2.0 * math.sqrt(p * (1.0 - p))


class OwnVariances(NamedTuple):
    """Softmin's work arrays."""

    tau: float
    places: Counts  # (Z,)
    deviations: Vector  # (K,)
    evidence: Vector  # (Z,)
    steps: Vector  # (Z,)
    gains: Vector  # (K,)


def start(task: Task, *, tau: float = 1.0) -> OwnVariances:
    """Before the first round."""
    arms, answers = len(task.arms), len(task.answers)
    zeros = (np.zeros(size) for size in (arms, answers, answers, arms))
    return OwnVariances(float(tau), places(task), *zeros)


@kernel
def choose(rule: OwnVariances, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """Softmin of arms a/σ_a: for plain options all is in closed form."""
    counts, deviations, gains = evidence.counts, rule.deviations, rule.gains
    widest = greedy_answer(evidence.widths)
    rounds = float(evidence.clock[Clock.ROUNDS])
    if evidence.widths[widest] > gains.shape[0] / math.sqrt(rounds):
        return widest
    for a in range(gains.shape[0]):
        deviations[a] = deviation(task, evidence, a)
        gains[a] = 0.0
    z, _ = instantaneous_furthest(task, evidence)
    own, least = rule.places[z], math.inf
    for x in range(rule.places.shape[0]):
        other = rule.places[x]
        rule.evidence[x] = math.inf
        if x == z:
            continue
        gap = max(evidence.values[z] - task.c * evidence.values[x] + task.e, 0.0)
        spread = deviations[own] ** 2 / counts[own]
        spread += (task.c * deviations[other]) ** 2 / counts[other]
        rule.steps[x] = gap / spread
        rule.evidence[x] = 0.5 * gap * rule.steps[x]
        least = min(least, rule.evidence[x])
    for x in range(rule.places.shape[0]):
        weight = math.exp(-rule.tau * (rule.evidence[x] - least))
        if x == z or not weight > 1e-6:
            continue
        for a in range(gains.shape[0]):
            step = 0.0
            if a in (own, rule.places[x]):
                step = rule.steps[x] * deviations[a] / counts[a] * (1.0 if a == own else task.c)
            optimistic = step + 1.0 / math.sqrt(counts[a])
            gains[a] += weight * optimistic**2 / (1.0 + 1.0 / counts[a])
    return greedy_answer(gains)


SOFTMIN = ft.Rule("softmin, own variances", start, choose)


class OwnGame(NamedTuple):
    """LεBAI's learner and work arrays."""

    places: Counts  # (Z,)
    learner: Learner
    cumulative: Vector  # (K,)
    played: Vector  # (K,)
    weights: Vector  # (K,)
    gains: Vector  # (K,)


def start_game(task: Task) -> OwnGame:
    """Before the first round."""
    arms = len(task.arms)
    zeros = (np.zeros(arms) for _ in range(3))
    return OwnGame(places(task), adahedge(arms), np.ones(arms), *zeros)


@kernel
def play(rule: OwnGame, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """LεBAI with its cap and its slack 2 ln t/N_a, of arms a/σ_a."""
    this_round = evidence.clock[Clock.ROUNDS] + 1
    z, _ = instantaneous_furthest(task, evidence)
    own, weights, gains = rule.places[z], rule.weights, rule.gains
    learner_weights(rule.learner, rule.played)
    share, log_round = 1.0 / this_round, math.log(this_round)
    explore(rule.played, share, weights)
    closest, rival, scale = math.inf, -1, 0.0
    for x in range(rule.places.shape[0]):
        other = rule.places[x]
        if x == z:
            continue
        gap = max(evidence.values[z] - task.c * evidence.values[x] + task.e, 0.0)
        spread = deviation(task, evidence, own) ** 2 / weights[own]
        spread += (task.c * deviation(task, evidence, other)) ** 2 / weights[other]
        if gap * gap / spread < closest:
            closest, rival, scale = gap * gap / spread, other, gap / spread
    for a in range(gains.shape[0]):
        step = 0.0
        if a in (own, rival):
            step = scale * deviation(task, evidence, a) / weights[a]
            step *= 1.0 if a == own else task.c
        slack = math.sqrt(2.0 * log_round / evidence.counts[a])
        gains[a] = (1.0 - share) * min((step + slack) ** 2, log_round)
        rule.cumulative[a] += weights[a]
    learn(rule.learner, rule.played, gains)
    return most_behind(evidence.counts, rule.cumulative, 1.0)


LEBAI = ft.Rule("lebai, own variances", start_game, play)


class Intervals(NamedTuple):
    """One interval per arm, all of which hold the means at all times but with probability δ."""

    places: Counts  # (Z,)
    required: Vector  # (levels,) ln(Z/δ)
    ends: np.ndarray[tuple[int, int], np.dtype[np.float64]]  # (2, K) in the task's unit


def start_intervals(task: Task, deltas: Sequence[float]) -> Intervals:
    """Before the first measurement; only the first level is ever looked at."""
    required = np.log(len(task.answers) / np.asarray(deltas))
    return Intervals(places(task), required, np.zeros((2, len(task.arms))))


@kernel
def renew(test: Intervals, task: Task, evidence: Evidence, arm: int, reward: float) -> None:
    """The interval of an arm depends on its own results alone."""
    n = float(evidence.counts[arm])
    s = min(max(0.5 * (evidence.sums[arm] - task.low * n), 0.0), n)
    low, high = interval(n, s, test.required[0])
    test.ends[0, arm], test.ends[1, arm] = task.low + 2.0 * low, task.low + 2.0 * high


@kernel
def judge_intervals(
    test: Intervals, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """No upper end is better than the candidate's lower end by too much."""
    own = test.places[nominee.answer]
    for x in range(test.places.shape[0]):
        other = test.places[x]
        if other != own and test.ends[0, own] < task.c * test.ends[1, other] - task.e:
            return nominee.answer, nominee.reached
    return nominee.answer, 1


# The intervals of docs/theory/pairs.md with all of δ spent on them, δ/Z each: n·kl(p̂, p) is at most
# about ln(Z/δ) + ½ ln(πn/2), by Ville's inequality for Jeffreys' mixture (Kaufmann & Koolen 2021,
# "Mixture martingales revisited"); tighter than the threshold that KL-LUCB was published with.
_KL = ft.StoppingTest(
    "KL intervals",
    start_intervals,
    judge_intervals,
    observe=renew,
    guarantee=ft.Guarantee(proven=True, noise="bounded", words="union of KL intervals"),
)
KL = replace(_KL, bounded=_KL)


class Lucb(NamedTuple):
    """Leader and challenger are pulled in turn."""

    other: Counts  # (1,) the one that is due next; −1 if none is


def start_lucb(task: Task) -> Lucb:
    """Before the first round."""
    return Lucb(np.full(1, -1))


@kernel
def choose_lucb(rule: Lucb, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """The arm of largest mean, and of the others that of the largest upper end."""
    if rule.other[0] >= 0:
        due, rule.other[0] = rule.other[0], -1
        return int(due)
    test = stopping.test
    leader, rival = greedy_answer(evidence.values), -1
    for x in range(test.places.shape[0]):
        arm = test.places[x]
        if x != leader and (rival < 0 or test.ends[1, arm] > test.ends[1, rival]):
            rival = arm
    rule.other[0] = rival
    return int(test.places[leader])


# Its sampling is that of Kaufmann & Kalyanakrishnan (2013), "Information complexity in bandit
# subset selection", for one arm; the intervals are those above.
LUCB = ft.Rule("KL-LUCB", start_lucb, choose_lucb, depends_on_delta=True)
