"""Runs that never stop, so that the evidence can be looked at after any number of rounds."""

from numpy.random import PCG64, Generator
from numpy.typing import ArrayLike

from furthest.kernels.evidence import Evidence
from furthest.problem import Problem
from furthest.strategy import Strategy
from oracles.loop import Loop

# No run reaches this confidence within the rounds of a test.
UNREACHABLE = 1e-300


def evidence_after(
    problem: Problem, mu: ArrayLike, strategy: Strategy, rounds: int, seed: int
) -> Evidence:
    """What is known after so many rounds of the strategy's sampling rule."""
    noise, rng = (Generator(PCG64([seed, stream])) for stream in range(2))
    loop = Loop(strategy, problem, mu, [UNREACHABLE], noise, rng)
    loop.advance(rounds)
    assert loop.rounds == rounds
    return loop.run.evidence
