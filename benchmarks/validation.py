"""Figures of other papers and of their public result files, beside ours: docs/validation.md.

    python benchmarks/validation.py [--runs 4000] [--only reda,wang,tirinzoni] [--json FILE]

Each line is one figure of theirs, with its error, and ours on the same instance with the same δ,
the same threshold, the same ridge. Where their program does something else than the algorithm that
it is named after, there is a line for what it does, with a rule or test that stands below, and one
for the algorithm. `--runs` are those of short runs; long ones have fewer, see `Line.part`.
"""

# ruff: noqa: ARG001  # every part has the signature of its protocol

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import furthest as ft
from furthest.kernels.alternatives import contrast_norms
from furthest.kernels.answers import greedy_answer
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.game import Nature, closest_alternative, nature, optimistic_gains
from furthest.kernels.jit import kernel
from furthest.kernels.learners import Learner, learn, learner_weights
from furthest.kernels.linalg import Counts, Matrix, Vector, dot, fill, matvec, scaled_copy
from furthest.kernels.rivals import rival
from furthest.kernels.tracking import most_behind
from furthest.sampling.fws import _equilibrium, _normalise
from furthest.stopping.nomination import Nominee, Stopping
from furthest.task import Task

SEED = 2021

# Thresholds of other codes. A curve says what the GLR statistic must exceed.


class Curve(NamedTuple):
    """(√(factor·(2 ln 1/δ + growth·ln(shift + rate·t) + constant)) + offset)².

    With `iterated` ln(1 + ln t) takes the place of ln(shift + rate·t).
    """

    logs: Vector  # (levels,) ln 1/δ, ascending
    growth: float
    shift: float = 1.0
    rate: float = 1.0
    factor: float = 1.0
    constant: float = 0.0
    offset: float = 0.0
    iterated: bool = False


@kernel
def at(curve: Curve, rounds: int, level: int) -> float:
    """The curve after so many measurements."""
    grown = curve.shift + curve.rate * rounds
    if curve.iterated:
        grown = 1.0 + math.log(rounds)
    slow = curve.growth * math.log(grown) + curve.constant
    return (math.sqrt(curve.factor * (2.0 * curve.logs[level] + slow)) + curve.offset) ** 2


class Curves(NamedTuple):
    """A test that stops by one curve, and has another as the width that LinGapE samples by."""

    stop: Curve
    sample: Curve


@kernel
def judge(
    test: Curves, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Level by level, as every GLR test."""
    rounds, reached = evidence.clock[Clock.ROUNDS], nominee.reached
    while reached < test.stop.logs.shape[0] and nominee.glr > at(test.stop, rounds, reached):
        reached += 1
    return nominee.answer, reached


@kernel
def width(stopping: Stopping, task: Task, rounds: int) -> float:
    """The sampling curve of the smallest δ."""
    curve = stopping.test.sample
    return at(curve, rounds, curve.logs.shape[0] - 1)


class Pair(NamedTuple):
    """A test that asks only about the pair before the last measurement."""

    stop: Curve
    sample: Curve
    pair: Counts  # (2,) leader and rival then; −1 before the first


@kernel
def judge_pair(
    test: Pair, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Stop when that rival can no longer beat that leader, whatever the others may."""
    needed = at(test.stop, evidence.clock[Clock.ROUNDS], 0)
    leader, challenger = test.pair[0], test.pair[1]
    if leader >= 0:
        contrast_norms(task.answer_columns, evidence.projected, leader, 1.0, evidence.norms)
        ahead = evidence.values[challenger] - evidence.values[leader]
        spread = math.sqrt(evidence.norms[challenger] * needed)
        if evidence.precision[0] * ahead + spread <= 0.0:
            return leader, nominee.reached + 1
    test.pair[0] = greedy_answer(evidence.values)
    test.pair[1], _ = rival(task, evidence, test.pair[0], needed)
    return test.pair[0], nominee.reached


class Counted(NamedTuple):
    """A test whose statistic has the ridge in the estimate and in the alternative alone."""

    stop: Curve
    direction: Vector  # (d,) scratch


@kernel
def judge_counted(
    test: Counted, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Least over the rivals of Σ N_a ⟨μ − λ, a⟩², which with a ridge is less than the GLR.

    `alt_min_linear_bai` of Wang et al., handed the counts as weights.
    """
    norms, direction, least = evidence.norms, test.direction, math.inf
    contrast_norms(task.answer_columns, evidence.projected, nominee.answer, 1.0, norms)
    for x in range(norms.shape[0]):
        if x == nominee.answer:
            continue
        for i in range(direction.shape[0]):
            direction[i] = evidence.projected[i, nominee.answer] - evidence.projected[i, x]
        scale = (evidence.values[nominee.answer] - evidence.values[x]) / norms[x]
        total = 0.0
        for a in range(task.arms.shape[0]):
            total += evidence.counts[a] * (scale * dot(task.arms[a], direction)) ** 2
        least = min(least, total)
    rounds, reached = evidence.clock[Clock.ROUNDS], nominee.reached
    while reached < test.stop.logs.shape[0] and least > at(test.stop, rounds, reached):
        reached += 1
    return nominee.answer, reached


def logs_of(deltas: Sequence[float]) -> Vector:
    """The confidence levels as curves have them."""
    return np.log(1 / np.asarray(deltas, float))


def curved(name: str, stop: Callable[..., Curve], sample: Callable[..., Curve]) -> ft.StoppingTest:
    """The test of two curves, each made of the task and the levels."""

    def start(task: Task, deltas: Sequence[float]) -> Curves:
        logs = logs_of(deltas)
        return Curves(stop(task, logs), sample(task, logs))

    return ft.StoppingTest(name, start, judge, width=width)


def self_normalised(task: Task, logs: Vector, longest: float = 1.0) -> Curve:
    """(√(2 ln 1/δ + d ln(1 + (t+1)L²/(λ²d))) + λS/σ)², λ = σ/20, S = 1, σ = ½, L the longest arm.

    `FrequentistBeta` of linear-top-m, Code/betas.py; Abbasi-Yadkori, Pál & Szepesvári (2011).
    """
    d, lam = task.arms.shape[1], 0.5 / 20
    rate = (longest / lam) ** 2 / d
    return Curve(logs, growth=float(d), shift=1 + rate, rate=rate, offset=lam / 0.5)


def longer(task: Task, logs: Vector) -> Curve:
    """The same where an arm is (1, 1, 0)."""
    return self_normalised(task, logs, math.sqrt(2))


def lazy_heuristic(task: Task, logs: Vector) -> Curve:
    """2·1.1·(ln 1/δ + ½ ln t + d ln √11): the modified threshold of Lazy TaS, its appendix A.1."""
    d = task.arms.shape[1]
    return Curve(logs, growth=1.0, shift=0.0, factor=1.1, constant=d * math.log(11))


def iterated(task: Task, logs: Vector) -> Curve:
    """2 ln((1 + ln t)/δ): Garivier & Kaufmann (2016), section 6."""
    return Curve(logs, growth=2.0, iterated=True)


def union(task: Task, logs: Vector) -> Curve:
    """2 ln((t+1)/δ): `HeuristicThreshold` of bandit-elimination, thresholds.jl."""
    return Curve(logs, growth=2.0)


def wide(task: Task, logs: Vector) -> Curve:
    """2 (ln 1/δ + 2 ln(t+1)): the width that LinGapE has there, sampling_rules.jl."""
    return Curve(logs, growth=4.0)


def counted(name: str, made: Callable[[Task, Vector], Curve]) -> ft.StoppingTest:
    """The test of Wang et al. with a curve."""

    def start(task: Task, deltas: Sequence[float]) -> Counted:
        return Counted(made(task, logs_of(deltas)), np.zeros(task.arms.shape[1]))

    return ft.StoppingTest(name, start, judge_counted)


def of_pair(name: str, made: Callable[[Task, Vector], Curve]) -> ft.StoppingTest:
    """The test that asks about the pair before the last measurement."""

    def start(task: Task, deltas: Sequence[float]) -> Pair:
        curve = made(task, logs_of(deltas))
        return Pair(curve, curve, np.array([-1, -1], np.int64))

    return ft.StoppingTest(name, start, judge_pair, width=width)


SELF_NORMALISED = curved("self-normalised", self_normalised, self_normalised)
LONGER = curved("self-normalised, longer", longer, longer)
OLD_PAIR = of_pair("old-pair", self_normalised)
LONGER_OLD_PAIR = of_pair("old-pair, longer", longer)
LAZY_HEURISTIC = counted("lazy-heuristic", lazy_heuristic)
COUNTED = counted("stylised, counted", iterated)
UNION = curved("union", union, wide)
STYLISED = "furthest.paper.stylised:GLR"  # 2 ln((1 + ln t)/δ)

# LinGame as other codes have it.


class Game(NamedTuple):
    """Its state, and in what it differs."""

    question: Task  # with ε = 0
    losses: Matrix  # (learners, K)
    gaps: Matrix  # (learners, 1)
    cumulative: Vector  # (K,) the sum of all weights
    weights: Vector  # (K,) of this round
    against: Vector  # (K,) what nature answers to
    slack: Vector  # (K,)
    gains: Vector  # (K,)
    nature: Nature
    cap: float  # of the gains, in units of ln t
    power: float  # of ‖a‖² in the slack
    optimistic: bool
    each: bool  # a learner for each answer
    to_counts: bool  # nature answers to the counts, not to the weights
    direct: bool  # D-tracking: t times this round's weights


def start_game(
    task: Task,
    *,
    cap: float = math.inf,
    power: float = 1.0,
    optimistic: bool = True,
    each: bool = True,
    to_counts: bool = False,
    direct: bool = False,
) -> Game:
    """The state before the first round."""
    arms = task.arms.shape[0]
    learners = task.answers.shape[0] if each else 1
    return Game(
        question=task._replace(c=1.0, e=0.0),
        losses=np.zeros((learners, arms)),
        gaps=np.zeros((learners, 1)),
        cumulative=np.bincount(task.initial, minlength=arms).astype(float),
        weights=np.zeros(arms),
        against=np.zeros(arms),
        slack=np.zeros(arms),
        gains=np.zeros(arms),
        nature=nature(task),
        cap=cap,
        power=power,
        optimistic=optimistic,
        each=each,
        to_counts=to_counts,
        direct=direct,
    )


@kernel
def choose(rule: Game, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One round: weights, closest alternative, gains, tracking."""
    rounds = evidence.clock[Clock.ROUNDS]
    answer = greedy_answer(evidence.values)
    row = answer if rule.each else 0
    learner = Learner(rule.losses[row], rule.gaps[row])
    learner_weights(learner, rule.weights)
    for a in range(rule.weights.shape[0]):
        rule.cumulative[a] += rule.weights[a]
        rule.against[a] = evidence.counts[a] if rule.to_counts else rule.weights[a]
        rule.slack[a] = evidence.widths[a] ** rule.power if rule.optimistic else 0.0
    scale = closest_alternative(rule.nature, rule.question, evidence, answer, rule.against)
    bonus, cap = 2.0 * math.log(rounds + 1), rule.cap * math.log(rounds + 1)
    direction = rule.nature.direction
    optimistic_gains(
        task.arm_columns, direction, scale, rule.slack, bonus, math.inf, cap, rule.gains
    )
    learn(learner, rule.weights, rule.gains)
    if rule.direct:
        return most_behind(evidence.counts, rule.weights, float(rounds))
    return most_behind(evidence.counts, rule.cumulative, 1.0)


GAME = ft.Rule("game", start_game, choose)

# FWS as its authors ran it: samplingrules.jl and envelope.jl of their repository.


class Uninverted(NamedTuple):
    """Its state. What should be the inverse of V_x begins as V_x and is updated wrongly."""

    x: Vector  # (K,) proportions
    z: Vector  # (K,) the step
    supposed: Matrix  # (d, d) used as V_x⁻¹
    gradients: Matrix  # (Z, K) of every half-space
    values: Vector  # (Z,) of the objective there
    difference: Vector  # (d,) scratch
    moved: Vector  # (d,) scratch
    payoffs: Matrix  # (Z + 1, K + 1)
    labels: Counts  # (Z + K,)


def start_uninverted(task: Task) -> Uninverted:
    """The state before the first round: equal proportions."""
    (arms, d), answers = task.arms.shape, len(task.answers)
    return Uninverted(
        x=np.full(arms, 1 / arms),
        z=np.zeros(arms),
        supposed=task.arms.T @ task.arms / arms,
        gradients=np.zeros((answers, arms)),
        values=np.zeros(answers),
        difference=np.zeros(d),
        moved=np.zeros(d),
        payoffs=np.zeros((answers + 1, arms + 1)),
        labels=np.zeros(answers + arms, np.int64),
    )


@kernel
def step_uninverted(rule: Uninverted, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """A step towards the arm of largest gradient, or the solution of a game; then tracking."""
    x, rounds = rule.x, evidence.clock[Clock.ROUNDS]
    arms = x.shape[0]
    turn, best = rounds // arms, 0
    root = int(math.sqrt(turn) + 0.5)
    if root * root == turn or not steer(rule, task, evidence, rounds):
        fill(rule.z, 1.0 / arms)
    for a in range(arms):
        x[a] = (x[a] * (rounds - 1) + rule.z[a]) / rounds
        if x[a] * evidence.counts[best] > x[best] * evidence.counts[a]:
            best = a
    renew(rule, task.arms, rounds)
    return best


@kernel
def renew(rule: Uninverted, arms: Matrix, t: int) -> None:
    """Sherman & Morrison's formula as it is called there: V⁻¹(t−1)/t, and the vectors z_a a/t.

    The inverse of V(t−1)/t is V⁻¹t/(t−1), and the vector that adds (z_a/t)·aaᵀ is a√(z_a/t).
    """
    supposed, moved = rule.supposed, rule.moved
    for i in range(moved.shape[0]):
        for j in range(moved.shape[0]):
            supposed[i, j] *= (t - 1.0) / t
    for a in range(arms.shape[0]):
        scale = rule.z[a] / t
        matvec(supposed, arms[a], moved)
        squared = 1.0 + scale * scale * dot(arms[a], moved)
        for i in range(moved.shape[0]):
            for j in range(moved.shape[0]):
                supposed[i, j] -= scale * scale * moved[i] * moved[j] / squared


@kernel
def steer(rule: Uninverted, task: Task, evidence: Evidence, rounds: int) -> bool:
    """Leave the step in rule.z. False where the leader is not alone."""
    leader, lowest, arms = greedy_answer(evidence.values), math.inf, rule.x.shape[0]
    for j in range(rule.values.shape[0]):
        rule.values[j] = math.inf
        lead = evidence.values[leader] - evidence.values[j]
        if j == leader:
            continue
        if lead <= 0.0:
            return False
        for i in range(rule.difference.shape[0]):
            rule.difference[i] = task.answers[leader, i] - task.answers[j, i]
        matvec(rule.supposed, rule.difference, rule.moved)
        scale = lead / dot(rule.difference, rule.moved)
        for a in range(arms):
            rule.gradients[j, a] = (scale * dot(task.arms[a], rule.moved)) ** 2 / 2.0
        rule.values[j] = dot(rule.x, rule.gradients[j])
        lowest = min(lowest, rule.values[j])
    rows, highest = 0, 0.0
    for j in range(rule.values.shape[0]):
        if rule.values[j] < lowest + rounds**-0.9 / arms:
            scaled_copy(1.0, rule.gradients[j], rule.payoffs[rows, :arms])
            rule.payoffs[rows, arms] = rule.values[j]
            highest = max(highest, rule.values[j])
            rows += 1
    if rows == 1:
        fill(rule.z, 0.0)
        rule.z[np.argmax(rule.payoffs[0, :arms])] = 1.0
        return True
    _normalise(rule.payoffs, rows, arms, highest)
    return _equilibrium(rule.payoffs, rows, arms, rule.labels, rule.z)


UNINVERTED = ft.Rule("fws-as-run", start_uninverted, step_uninverted)


# Instances.


def julia(seed: int) -> Iterator[float]:
    """What Julia's `rand(MersenneTwister(seed))` gives, one after the other.

    dSFMT-19937 of Saito & Matsumoto (2009), seeded by an array of one number.
    """
    low, high, blocks, ahead = 2**32 - 1, 2**64 - 1, 191, 117
    words = _seeded(seed, 4 * (blocks + 1))
    state = [words[i] | words[i + 1] << 32 for i in range(0, len(words), 2)]
    lung = state[-2:]
    state = [word & 2**52 - 1 | 0x3FF << 52 for word in state[:-2]]
    parity = (lung[0] ^ 0x90014964B32F4329) & 0x3D84E1AC0DC82880
    parity ^= (lung[1] ^ 0x3B8D12AC548A7C7A) & 1
    lung[1] ^= 1 - parity.bit_count() % 2
    while True:
        for i in range(0, 2 * blocks, 2):
            j = (i + 2 * ahead) % (2 * blocks)
            first, second = state[i : i + 2]
            lung = [
                first << 19 & high ^ lung[1] >> 32 ^ (lung[1] & low) << 32 ^ state[j],
                second << 19 & high ^ lung[0] >> 32 ^ (lung[0] & low) << 32 ^ state[j + 1],
            ]
            state[i] = lung[0] >> 12 ^ lung[0] & 0x000FFAFFFFFFFB3F ^ first
            state[i + 1] = lung[1] >> 12 ^ lung[1] & 0x000FFDFFFC90FFFD ^ second
        yield from (np.array(state, np.uint64).view(np.float64) - 1).tolist()


def _seeded(seed: int, size: int) -> list[int]:
    """The words of the state that a seed leads to."""
    low, mid, lag = 2**32 - 1, (size - 11) // 2, 11
    words = [0x8B8B8B8B] * size
    for i in range(size):
        near, far = (i + mid) % size, (i + mid + lag) % size
        mixed = words[i] ^ words[near] ^ words[i - 1]
        mixed = (mixed ^ mixed >> 27) * 1664525 & low
        words[near] = (words[near] + mixed) & low
        words[i] = (mixed + (i or 1) + (seed if i == 1 else 0)) & low
        words[far] = (words[far] + words[i]) & low
    for i in range(size):
        near, far = (i + mid) % size, (i + mid + lag) % size
        mixed = (words[i] + words[near] + words[i - 1]) & low
        mixed = (mixed ^ mixed >> 27) * 1566083941 & low
        words[near] ^= mixed
        words[i] = (mixed - i) & low
        words[far] ^= words[i]
    return words


class Question(NamedTuple):
    """What is asked, and the parameter."""

    problem: ft.Problem
    mu: Vector


@cache
def usual(d: int, scale: float, sigma: float) -> Question:
    """The usual hard instance with ω = 0.1."""
    found = ft.soare(0.0, "additive", sigma, d=d, omega=0.1, scale=scale)
    return Question(found.problem, found.truth)


@cache
def top_two(omega: float) -> Question:
    """K = 4, d = 3, σ = ½, the two best arms wanted: answers are the sums of two arms.

    A pair has the largest sum just where its arms are the two best.
    """
    arms = np.array([[0, 0, 1], [math.cos(omega), 0, math.sin(omega)], [1, 0, 0], [1, 1, 0]])
    sums = [arms[i] + arms[j] for i in range(4) for j in range(i)]
    return Question(ft.Problem(arms, np.array(sums), 0.0, "additive", 0.5), np.eye(3)[0])


@cache
def fifty() -> Question:
    """K = 50, d = 20: experiments/linear_bai.jl of bandit-elimination, with its seed 123."""
    draws, d, arms = julia(123), 20, 50
    some = d // 2

    def drawn(count: int) -> Vector:
        return np.array([next(draws) for _ in range(count)])

    mu = np.zeros(d)
    mu[0], mu[1 : some // 2], mu[some // 2 : some] = 1.0, 0.9, 0.8
    mu[some:] = drawn(d - some) - 1
    vectors = [*np.eye(d)[:some]]
    while len(vectors) < arms:
        vector = 2 * drawn(d) - 1
        vector /= np.linalg.norm(vector)
        if vector @ mu <= 0.5:
            vectors.append(vector)
    return Question(ft.Problem(np.array(vectors), eps=0.0, notion="additive"), mu)


# What is compared.


@dataclass(frozen=True)
class Line:
    """A figure of theirs, and how ours is made."""

    source: str
    name: str
    delta: float
    theirs: float  # mean number of measurements
    of: int  # runs of theirs
    question: Callable[[], Question]
    strategy: ft.Strategy
    deviation: float | None = None  # of theirs, between runs; ours where they print none
    ridge: float = 0.0
    noise: float | None = None
    wrong: float | None = None  # share of theirs
    part: float = 1.0  # of the runs asked for
    most: int = 10_000_000  # measurements of a run; one that has not stopped counts as so many


def strategy(sampling: str | ft.Rule, test: str | ft.StoppingTest, **options: Any) -> ft.Strategy:
    """A rule and a test, asked about the greedy answer as in all these codes."""
    return ft.Strategy(sampling, "greedy", test, options=options)


def reda() -> list[Line]:
    """Réda, Kaufmann & Delahaye-Duriez (2021): Results/classic_0.1_K3_… of linear-top-m."""

    def narrow() -> Question:
        return usual(2, 1.0, 0.5)

    def plain() -> Question:  # their LinGame has σ = 1 in its test, whatever the noise
        return usual(2, 1.0, 1.0)

    gap: dict[str, Any] = {"delta": 0.05, "of": 500, "question": narrow, "ridge": 1.0}
    all_of_it = {"theirs": 3263.374, "deviation": 2119.15, "wrong": 0.044}
    late = {"theirs": 4072.1025, "deviation": 1532.66446, "of": 400, "wrong": 0.0025}
    game: dict[str, Any] = {
        "delta": 0.05,
        "of": 500,
        "question": plain,
        "noise": 0.5,
        "ridge": 1 / 1600,
        "theirs": 7138.32,
        "deviation": 2459.993,
        "wrong": 0.0,
    }
    as_run = {"cap": 2.0, "power": 0.5, "to_counts": True, "direct": True}
    return [
        Line("reda", "LinGapE, as run", **gap | all_of_it, strategy=strategy("lingape", OLD_PAIR)),
        Line(
            *("reda", "LinGapE; theirs without the 100 early stops"),
            **gap | late,
            strategy=strategy("lingape", SELF_NORMALISED),
        ),
        Line("reda", "LinGame, as run", **game, strategy=strategy(GAME, STYLISED, **as_run)),
        Line("reda", "LinGame", **game, strategy=strategy("lingame", STYLISED, cap=2.0)),
        *(
            Line(
                *("reda", f"LinGapE, two best, ω = π/{part}{how}", 0.05, mean, 500),
                partial(top_two, math.pi / part),
                strategy("lingape", test),
                deviation=deviation,
                ridge=1.0,
                wrong=0.0,
            )
            for part, mean, deviation in ((3, 198.422, 61.263), (6, 2941.792, 819.63))
            for how, test in ((", as run", LONGER_OLD_PAIR), ("", LONGER))
        ),
    ]


LEVELS = (0.1, 0.01, 0.001, 0.0001)
# Wang, Tzeng & Proutière (2021), table 1 as submitted to NeurIPS, where FWS is called BC.
TIMES: dict[str, tuple[int, int, int, int]] = {
    "FWS": (1030, 1614, 2229, 2839),
    "LinGame": (2319, 3431, 4326, 5120),
    "Lazy TaS, modified threshold": (3319, 3907, 4527, 5120),
    "Uniform": (5451, 8814, 12101, 15314),
}
BOUNDS = (359, 920, 1408, 1881)  # T* kl(δ, 1 − δ)


def wang() -> list[Line]:
    """The usual instance in dimension 6 with μ = 2e₁, as their code has it."""

    def six() -> Question:
        return usual(6, 2.0, 1.0)

    made = {
        "FWS, as run": strategy(UNINVERTED, COUNTED),
        "FWS": strategy("fws", COUNTED),
        "LinGame": strategy("lingame", COUNTED, cap=2.0),
        "Lazy TaS, modified threshold": strategy("lazy-tas", LAZY_HEURISTIC, ratio=1.0),
        "Uniform": strategy("uniform", COUNTED),
    }
    return [
        Line("wang", name, delta, time, 1000, six, made[name], ridge=1.0, part=0.5)
        for name in made
        for delta, time in zip(LEVELS, TIMES[name.removesuffix(", as run")], strict=True)
    ]


def tirinzoni() -> list[Line]:
    """Tirinzoni & Degenne (2022), table 1, best arms, no elimination."""
    setting: dict[str, Any] = {
        "source": "tirinzoni",
        "delta": 0.01,
        "of": 100,
        "question": fifty,
        "ridge": 1.0,
        "most": 1_000_000,
    }
    one = {"optimistic": False, "each": False}
    return [
        Line(name=name, theirs=mean, deviation=deviation, strategy=made, part=part, **setting)
        for name, mean, deviation, made, part in (
            ("LinGapE", 33190, 8700, strategy("lingape", UNION), 1 / 10),
            ("LinGame, as run", 45340, 14200, strategy(GAME, UNION, **one), 1 / 20),
            ("LinGame", 45340, 14200, strategy("lingame", UNION), 1 / 40),
            ("FWS", 42260, 60100, strategy("fws", UNION), 1 / 20),
            ("Lazy TaS", 76330, 65800, strategy("lazy-tas", UNION, ratio=1.0), 1 / 40),
            ("Oracle", 56360, 9100, strategy("fixed", UNION), 1 / 20),
        )
    ]


SOURCES: dict[str, Callable[[], list[Line]]] = {
    "reda": reda,
    "wang": wang,
    "tirinzoni": tirinzoni,
}


def measured(line: Line, runs: int) -> dict[str, Any]:
    """Ours beside theirs, as plain data."""
    runs = max(2, round(runs * line.part))
    question = line.question()
    started = time.process_time()
    results = ft.simulate(
        *(question.problem, question.mu, line.strategy, line.delta, runs, SEED),
        noise=line.noise,
        ridge=line.ridge,
        max_rounds=line.most,
    )
    (row,) = results.summary()
    theirs = (row.std if line.deviation is None else line.deviation) / math.sqrt(line.of)
    apart = math.hypot(theirs, row.sem)
    return {
        "source": line.source,
        "name": line.name,
        "delta": line.delta,
        "theirs": line.theirs,
        "their_error": theirs,
        "their_wrong": line.wrong,
        "ours": row.mean,
        "our_error": row.sem,
        "our_deviation": row.std,
        "our_median": row.median,
        "runs": runs,
        "wrong": row.error_rate,
        "unstopped": row.unstopped,
        "ratio": row.mean / line.theirs,
        "apart": (row.mean - line.theirs) / apart,
        "quick": _quick(results),
        "shares": [pulls / row.mean for pulls in row.pulls],
        "seconds": time.process_time() - started,
    }


def _quick(results: ft.Results) -> float:
    """The share of runs that stop within 200 measurements."""
    return float((results.stopping_times < 200).mean())


def supposed_time(question: Question, rounds: int = 10_000) -> float:
    """T* as their `oracle_linear_bai` computes it, with the same update."""
    from scipy.optimize import linprog

    vectors, mu = question.problem.arms, question.mu
    arms, leader = len(vectors), int(np.argmax(vectors @ mu))
    x, supposed = np.full(arms, 1 / arms), vectors.T @ vectors / arms
    differences = np.delete(vectors[leader] - vectors, leader, axis=0)

    def gradients() -> Matrix:
        moved = differences @ supposed
        away = moved * ((differences @ mu) / (moved * differences).sum(axis=1))[:, None]
        found: Matrix = (away @ vectors.T) ** 2 / 2
        return found

    for t in range(1, rounds + 1):
        z, found = np.full(arms, 1 / arms), gradients()
        values = found @ x
        active = np.flatnonzero(values < values.min() + t**-0.9 / arms)
        if math.isqrt(t // arms) ** 2 != t // arms:
            if len(active) == 1:
                z = np.eye(arms)[np.argmax(found[active[0]])]
            else:
                z = linprog(
                    np.append(np.zeros(arms), -1),
                    A_ub=np.column_stack(
                        [values[active, None] - found[active], np.ones(len(active))]
                    ),
                    b_ub=np.zeros(len(active)),
                    A_eq=[np.append(np.ones(arms), 0)],
                    b_eq=[1],
                    bounds=[(0, None)] * arms + [(None, None)],
                ).x[:arms]
        x = x * t / (t + 1) + z / (t + 1)
        for a in range(arms):
            supposed = supposed * t / (t + 1)
            moved = supposed @ vectors[a] * (z[a] / (t + 1))
            supposed -= np.outer(moved, moved) / (1 + vectors[a] @ moved * (z[a] / (t + 1)))
    return 1 / float((gradients() @ x).min())


def bounds() -> list[dict[str, float]]:
    """T* kl(δ, 1 − δ) of Wang et al., as their code computes it, and by the exact solver."""
    question = usual(6, 2.0, 1.0)
    as_run, price = supposed_time(question), ft.complexity(question.problem, question.mu)
    return [
        {
            "delta": delta,
            "theirs": bound,
            "as_run": as_run * (1 - 2 * delta) * math.log(1 / delta - 1),
            "ours": price.T * (1 - 2 * delta) * math.log(1 / delta - 1),
        }
        for delta, bound in zip(LEVELS, BOUNDS, strict=True)
    ]


def time_of(question: Question) -> float:
    """T* by the exact solver."""
    return ft.complexity(question.problem, question.mu, quiet=True).T


def reached(price: float) -> float:
    """When optimal proportions bring the mean statistic to 2 ln((t + 1)/δ), δ = 0.01."""
    rounds = price
    for _ in range(50):
        rounds = price * math.log((rounds + 1) / 0.01)
    return rounds


def shown(found: dict[str, Any]) -> str:
    """One line of the table."""
    wrong = "" if found["their_wrong"] is None else f" / {found['their_wrong']:.1%}"
    few = len(found["shares"]) <= 4
    shares = f", pulls {' '.join(f'{share:.4f}' for share in found['shares'])}" if few else ""
    return (
        f"{found['source']:9s} {found['name']:44s} δ = {found['delta']:<6g}"
        f" theirs {found['theirs']:8,.0f} ± {found['their_error']:5.0f}"
        f"  ours {found['ours']:8,.0f} ± {found['our_error']:5.0f} ({found['runs']:,} runs)"
        f" {found['ratio'] - 1:+7.1%} {found['apart']:+6.1f} s.e."
        f"  median {found['our_median']:,.0f}, deviation {found['our_deviation']:,.0f},"
        f" wrong {found['wrong']:.1%}{wrong}, cut off {found['unstopped']},"
        f" before 200: {found['quick']:.1%}{shares}"
    )


def main() -> None:
    """All that there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=4000)
    parser.add_argument("--only", default=",".join(SOURCES))
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    lines = [line for source in arguments.only.split(",") for line in SOURCES[source]()]
    found = []
    for number, line in enumerate(lines, 1):
        print(f"[{number}/{len(lines)}] {line.name}", file=sys.stderr)
        found.append(measured(line, arguments.runs))
        print(shown(found[-1]), flush=True)
    prices = bounds() if "wang" in arguments.only else []
    for row in prices:
        print(
            "bound     δ = {delta:<6g} theirs {theirs:8,.0f}  as run {as_run:8,.1f}"
            "  ours {ours:8,.1f}".format(**row)
        )
    times = {"tirinzoni": time_of(fifty())} if "tirinzoni" in arguments.only else {}
    for source, price in times.items():
        print(f"{source:9s} T* = {price:,.1f}; T* ln((t + 1)/δ) = t at {reached(price):,.0f}")
    if arguments.json:
        every = {"lines": found, "bounds": prices, "times": times}
        text = json.dumps(every, indent=1, ensure_ascii=False)
        arguments.json.write_text(text + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
