"""DKM: the game of best-answer identification without regard to the arms' linear structure.

Degenne, Koolen & Ménard (2019), "Non-Asymptotic Pure Exploration by Solving Games", algorithm 1:
as LinGame, but the uncertainty about an arm counts its own pulls only.
"""

from typing import NamedTuple

import numpy as np

from furthest.kernels.evidence import Evidence
from furthest.kernels.game import GreedyGame, play
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Vector
from furthest.sampling.lingame import capped_game
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class Dkm(NamedTuple):
    """The state of the game."""

    game: GreedyGame
    widths: Vector  # (K,) 1/max(N_a, 1)


def start(task: Task, *, cap: float = 1.0) -> Dkm:
    """The state before the first round; gains are capped at cap · ln t."""
    return Dkm(capped_game("dkm", task, cap), np.zeros(task.arms.shape[0]))


@kernel
def choose(rule: Dkm, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One round of the game, with slack 2 ln t / N_a; an arm without a pull counts as with one.

    Paper: DKM.
    """
    for a in range(rule.widths.shape[0]):
        rule.widths[a] = 1.0 / max(evidence.counts[a], 1)
    return play(rule.game, task, evidence, rule.widths)


RULE = Rule(
    name="dkm",
    start=start,
    choose=choose,
    source="Degenne, Koolen & Ménard (2019), algorithm 1 (DKM)",
    optimality="asymptotically optimal for unstructured arms and ε = 0; slow for linear ones",
)
