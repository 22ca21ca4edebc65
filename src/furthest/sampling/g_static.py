"""G-Static: the greedy G-optimal design, which makes the least known arm known best.

Soare, Lazaric & Munos (2014), "Best-Arm Identification in Linear Bandits", static allocation G in
its greedy version. What is observed plays no part.
"""

from typing import NamedTuple

from furthest.kernels.evidence import Evidence
from furthest.kernels.greedy_design import GreedyDesign, best_arm, consider_arms, greedy_design
from furthest.kernels.jit import kernel
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class GStatic(NamedTuple):
    """Work arrays only: every round starts from the evidence."""

    plan: GreedyDesign


def start(task: Task) -> GStatic:
    """The state before the first round."""
    return GStatic(greedy_design(task))


@kernel
def choose(rule: GStatic, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """argmin over arms a of max over arms b of ‖b‖²_{(V + aaᵀ)⁻¹}.

    Paper: G-Static.
    """
    consider_arms(rule.plan, task, evidence)
    return best_arm(rule.plan.worst, evidence.counts)


RULE = Rule(
    name="g-static",
    start=start,
    choose=choose,
    source="Soare, Lazaric & Munos (2014), G-allocation, greedy version",
    optimality="none: a greedy worst-case design, blind to what is observed",
)
