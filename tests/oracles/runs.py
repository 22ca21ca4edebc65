"""Runs that never stop, so that the evidence can be looked at after any number of rounds."""

import numpy as np
from numpy.random import PCG64, Generator
from numpy.typing import ArrayLike

from furthest import engine
from furthest.kernels.evidence import ROUNDS, Evidence
from furthest.problem import Problem
from furthest.strategy import Strategy


def evidence_after(
    problem: Problem, mu: ArrayLike, strategy: Strategy, rounds: int, seed: int
) -> Evidence:
    """What is known after so many rounds of the strategy's sampling rule."""
    task = problem.task
    evidence, stopping, rule = strategy.prepare(task, [0.5])()
    engine.register(type(rule), strategy.rule.choose)
    stopping.threshold.offsets[:] = np.inf
    noise, rng = (Generator(PCG64([seed, stream])) for stream in range(2))
    means = task.arms @ problem.whiten(mu)
    outcome = np.full(1, -1), np.zeros(1, np.int64), np.zeros((1, len(means)), np.int64)
    engine.run(task, evidence, stopping, rule, means, noise, rng, rounds, -1, *outcome)
    assert evidence.clock[ROUNDS] == rounds
    return evidence
