"""LinGame: the game of best-answer identification, with ε = 0 and one learner per greedy answer.

Degenne, Ménard, Shang & Valko (2020), "Gamification of Pure Exploration for Linear Bandits",
algorithm LinGame; with its ridge of 1 where a simulation is given one, else with least squares.
"""

from typing import NamedTuple

from furthest.errors import StrategyError
from furthest.kernels.evidence import Evidence
from furthest.kernels.game import GreedyGame, greedy_game, play
from furthest.kernels.jit import kernel
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class Lingame(NamedTuple):
    """The state of the game."""

    game: GreedyGame


def start(task: Task, *, cap: float = 1.0) -> Lingame:
    """The state before the first round; gains are capped at cap · ln t."""
    return Lingame(capped_game("lingame", task, cap))


def capped_game(name: str, task: Task, cap: float) -> GreedyGame:
    """The game of a rule of this name, if the cap makes sense."""
    if isinstance(cap, bool) or not isinstance(cap, int | float) or not cap > 0:
        raise StrategyError(f"cap of {name} must be a positive number of ln t, not {cap!r}")
    return greedy_game(task, float(cap))


@kernel
def choose(rule: Lingame, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One round of the game, with slack 2 ln t · ‖a‖²_{V⁻¹}.

    Paper: LinGame.
    """
    return play(rule.game, task, evidence, evidence.widths)


RULE = Rule(
    name="lingame",
    start=start,
    choose=choose,
    source="Degenne, Ménard, Shang & Valko (2020), algorithm LinGame",
    optimality="asymptotically optimal for ε = 0; for ε > 0 it samples as if ε were 0",
)
