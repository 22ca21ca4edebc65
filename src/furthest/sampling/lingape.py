"""LinGapE: tell the greedy answer from the one that may still beat it by most.

Xu, Honda & Sugiyama (2018), "A Fully Adaptive Algorithm for Pure Exploration in Linear Bandits",
algorithm 1, in its greedy version: the arm after which the difference of the two is known best.

Only differences of answers are learnt: enough for the additive notion, but with the multiplicative
one a run may never stop where the differences do not show how large the answers themselves are.
"""

from typing import NamedTuple

from furthest.kernels.answers import greedy_answer
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.greedy_design import (
    GreedyDesign,
    best_arm,
    consider_difference,
    greedy_design,
)
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import fill
from furthest.kernels.rivals import rival
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task
from furthest.verbs import width


class Lingape(NamedTuple):
    """Work arrays only: every round starts from the evidence."""

    plan: GreedyDesign


def start(task: Task) -> Lingape:
    """The state before the first round."""
    return Lingape(greedy_design(task))


@kernel
def choose(rule: Lingape, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """argmin over arms of ‖z − x‖_{(V + aaᵀ)⁻¹}, z greedy and x its rival.

    Paper: LinGapE.
    """
    rounds = evidence.clock[Clock.ROUNDS]
    z = greedy_answer(evidence.values)
    x, _ = rival(task, evidence, z, width(stopping, task, rounds))
    fill(rule.plan.worst, 0.0)
    if x >= 0:
        consider_difference(rule.plan, task, evidence, z, x)
    return best_arm(rule.plan.worst, evidence.counts)


RULE = Rule(
    name="lingape",
    start=start,
    choose=choose,
    source="Xu, Honda & Sugiyama (2018), algorithm 1 (LinGapE), greedy version",
    optimality="none proven for the greedy version; often the best in practice",
    depends_on_delta=True,
)
