"""LεBAI with a decreasing ε_t, for best-answer tasks: the conjecture of the paper's conclusion.

Jourdan & Degenne (2022), section 7: an ε-method does not commit to the greedy answer, so with a
well-tuned decreasing sequence ε_t it might beat the methods made for ε = 0. Here
ε_t = scale · t^(−power), additive; the stopping rule keeps the task's own ε = 0. The candidate
answer of the stopping rule must be greedy: both would share the memo of the furthest answer.
"""

from typing import NamedTuple

from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.sampling import lebai
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class Decreasing(NamedTuple):
    """LεBAI and the sequence of its ε_t."""

    game: lebai.Lebai
    scale: float
    power: float


def start(task: Task, *, scale: float, power: float) -> Decreasing:
    """The state before the first round."""
    return Decreasing(lebai.start(task), float(scale), float(power))


@kernel
def choose(rule: Decreasing, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """One round of LεBAI's game about the question with ε_t.

    Paper: conjecture.
    """
    eps = rule.scale * (evidence.clock[Clock.ROUNDS] + 1.0) ** -rule.power
    question = Task(
        task.arms,
        task.answers,
        task.arm_columns,
        task.answer_columns,
        task.outer,
        task.c,
        eps,
        task.initial,
        task.ridge,
        task.noise,
        task.low,
        task.costs,
    )
    return lebai.choose(rule.game, question, evidence, stopping)


RULE = Rule(
    name="decreasing",
    start=start,
    choose=choose,
    source="Jourdan & Degenne (2022), conjecture of the conclusion",
)
