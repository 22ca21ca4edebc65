"""Uniform: every arm in turn."""

from typing import NamedTuple

from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.sampling.rule import Rule
from furthest.stopping.nomination import Stopping
from furthest.task import Task


class Uniform(NamedTuple):
    """Nothing to remember."""

    arms: int


def start(task: Task) -> Uniform:
    """The state before the first round."""
    return Uniform(task.arms.shape[0])


@kernel
def choose(rule: Uniform, task: Task, evidence: Evidence, stopping: Stopping) -> int:
    """Round robin.

    Paper: Uniform.
    """
    return int(evidence.clock[Clock.ROUNDS] % rule.arms)


RULE = Rule(
    name="uniform",
    start=start,
    choose=choose,
    source="round robin; baseline of the paper's experiments",
    optimality="none: its stopping time can exceed T_ε ln(1/δ) by any factor",
)
