"""Near-null instances, and a loop that counts how often a test gives a wrong answer on them.

An instance is near null when some answer is worse than ε by a hair: a test that stops too early
gives it often. With the environment variable FURTHEST_RUNS=20 the tests that count errors make 20
times as many runs; benchmarks/near_null.py makes the large tables.
"""

import math
import os
from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from scipy.stats import binom

from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.contrasts import Price, TopWrong
from furthest.kernels.evidence import Clock, Evidence, no_evidence, take_in
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Vector
from furthest.kernels.topwrong import met, observe, top_wrong
from furthest.problem import Notion, Problem
from furthest.task import Task

Array = NDArray[np.float64]

LONGER = int(os.environ.get("FURTHEST_RUNS", "1"))
NOTIONS: tuple[Notion, ...] = ("additive", "multiplicative")

# How the loop below samples.
ROUND_ROBIN = 0
CHASE = 1  # half of the time the arm of largest mean so far: what is pulled depends on the noise


@kernel
def simulate(
    task: Task,
    evidence: Evidence,
    state: TopWrong,
    means: Vector,
    sampling: int,
    coins: bool,
    noise: Generator,
    until: int,
    every: int,
) -> int:
    """Sample until the test, made after every `every` measurements, accepts; its answer or −1."""
    while evidence.clock[Clock.ROUNDS] < until:
        rounds = evidence.clock[Clock.ROUNDS]
        arm = rounds % means.shape[0]
        if evidence.clock[Clock.READY] == 0:
            arm = task.initial[rounds]
        elif sampling == CHASE and noise.random() < 0.5:
            for a in range(means.shape[0]):
                if (
                    evidence.sums[a] * evidence.counts[arm]
                    > evidence.sums[arm] * evidence.counts[a]
                ):
                    arm = a
        error = noise.standard_normal()
        if coins:
            error = 1.0 if error > 0.0 else -1.0
        take_in(task, evidence, arm, means[arm] + error)
        observe(state, task, evidence, arm, means[arm] + error)
        if evidence.clock[Clock.READY] == 1 and evidence.clock[Clock.ROUNDS] % every == 0:
            z, _ = instantaneous_furthest(task, evidence)
            if met(state, task, evidence, z, 0):
                return z
    return -1


def near_null(d: int, notion: Notion, hair: float = 0.002) -> tuple[Problem, Array]:
    """The unit vectors, and one answer that is worse than ε by a hair; μ = e₁."""
    eps = 0.2
    value = 1 - eps - hair
    wrong = value * np.eye(d)[0] + math.sqrt(1 - value**2) * np.eye(d)[1]
    return Problem(np.vstack([np.eye(d), wrong]), None, eps, notion), np.eye(d)[0]


def tied(d: int, notion: Notion, hair: float = 0.002) -> tuple[Problem, Array]:
    """Unit vectors; all but the first are wrong by a hair, and tied."""
    eps = 0.3
    if notion == "additive":
        return Problem(np.eye(d), None, eps, notion), np.eye(d)[0] * (eps + hair)
    return Problem(np.eye(d), None, eps, notion), np.r_[1.0, np.full(d - 1, 1 - eps - hair)]


def wrong_answers(
    problem: Problem,
    mu: Array,
    delta: float,
    sampling: int,
    runs: int,
    *,
    make: Callable[..., TopWrong] = top_wrong,
    lowered: float = 0.0,
    every: int = 1,
    until: int = 20_000,
) -> int:
    """How many runs end with a wrong answer; `lowered` is taken off all required log evidence.

    `make` starts the test: top-wrong, or another one on its statistics.
    """
    task = problem.task
    right = problem.near_best(mu)
    means = task.arms @ problem.whiten(mu)
    wrong = 0
    for run in range(runs):
        state = make(task, [delta])
        state.required[Price.RADIUS] -= 2 * lowered
        state.required[Price.FIRST :] -= lowered
        noise = np.random.default_rng([run, sampling, every])
        evidence = no_evidence(task)
        answer = simulate(task, evidence, state, means, sampling, False, noise, until, every)
        wrong += answer >= 0 and not right[answer]
    return wrong


def is_scandal(wrong: int, runs: int, delta: float) -> bool:
    """Whether so many errors would be all but impossible at error rate δ."""
    return bool(binom.sf(wrong - 1, runs, delta) < 1e-4)
