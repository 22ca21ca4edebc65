"""LinGame: the game of best-answer identification, with ε = 0 and one learner per greedy answer.

Degenne, Ménard, Shang & Valko (2020), "Gamification of Pure Exploration for Linear Bandits",
algorithm LinGame; here with ordinary least squares, as in Jourdan & Degenne (2022).
"""

from typing import NamedTuple

from furthest.kernels.evidence import Evidence
from furthest.kernels.game import GreedyGame, greedy_game, play
from furthest.kernels.jit import kernel
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class Lingame(NamedTuple):
    """The state of the game."""

    game: GreedyGame


def start(task: Task) -> Lingame:
    """The state before the first round."""
    return Lingame(greedy_game(task))


@kernel
def choose(rule: Lingame, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One round of the game, with slack 2 ln t · ‖a‖²_{V⁻¹}."""
    return play(rule.game, task, evidence, evidence.widths)


RULE = Rule(
    name="lingame",
    start=start,
    choose=choose,
    source="Degenne, Ménard, Shang & Valko (2020), algorithm LinGame",
    optimality="asymptotically optimal for ε = 0; for ε > 0 it samples as if ε were 0",
)
