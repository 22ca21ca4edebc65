"""One run, decision by decision; as a script, the runs that standard input asks for, as JSON.

The test process runs these compiled; a process with NUMBA_DISABLE_JIT=1 runs the very same
sources step by step in the interpreter.
"""

import json
import sys
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from furthest import engine, files
from furthest.kernels.evidence import ROUNDS
from furthest.kernels.judging import MET
from furthest.strategy import Strategy

Case = dict[str, Any]


class Run:
    """The state of one run, and its random streams as `simulate` makes them."""

    def __init__(self, case: Case) -> None:
        instance = files.find_instance(case["instance"], **case.get("question", {}))
        self.task = instance.problem.task
        truth = instance.problem.whiten(instance.truth)
        self.means = self.task.arms @ truth
        strategy = Strategy(**case["strategy"])
        self.deltas = case["deltas"]
        start = strategy.prepare(self.task, self.deltas, truth)
        self.evidence, self.stopping, self.rule = start()
        self.choose = strategy.rule.choose
        engine.register(type(self.rule), self.choose)
        self.rounds = case["rounds"]
        self.noise, self.internal = (
            Generator(PCG64(SeedSequence(case["seed"], spawn_key=(0, stream)))) for stream in (0, 1)
        )
        levels = len(self.deltas)
        self.times = np.full(levels, -1)
        self.answers = np.zeros(levels, np.int64)
        self.pulls = np.zeros((levels, len(self.means)), np.int64)

    def advance(self, until: int) -> bool:
        """Go on to so many measurements in compiled code; whether the run is over."""
        return engine.run(
            self.task,
            self.evidence,
            self.stopping,
            self.rule,
            self.means,
            self.noise,
            self.internal,
            until,
            -1,
            self.times,
            self.answers,
            self.pulls,
        )

    def outcome(self, arms: list[int]) -> dict[str, Any]:
        """All decisions."""
        return {"arms": arms, "times": self.times.tolist(), "answers": self.answers.tolist()}


def compiled(case: Case) -> dict[str, Any]:
    """The arms from the counts, by calling the compiled loop for one measurement at a time."""
    run, arms = Run(case), []
    before = run.evidence.counts.copy()
    for until in range(1, run.rounds + 1):
        if run.advance(until):
            break
        arms.append(int((run.evidence.counts - before).argmax()))
        before = run.evidence.counts.copy()
    return run.outcome(arms)


def stepwise(case: Case) -> dict[str, Any]:
    """The same by `decide` and `record`."""
    run, arms = Run(case), []
    while run.evidence.clock[ROUNDS] < run.rounds:
        done = int(run.stopping.state[MET])
        met, answer, arm = engine.decide(
            run.task, run.evidence, run.stopping, run.rule, run.internal
        )
        run.times[done:met] = run.evidence.clock[ROUNDS]
        run.answers[done:met] = answer
        if met == len(run.deltas):
            break
        arms.append(int(arm))
        reward = run.means[arm] + run.noise.standard_normal()
        engine.record(run.task, run.evidence, run.stopping, arm, reward)
    return run.outcome(arms)


if __name__ == "__main__":
    json.dump([stepwise(case) for case in json.load(sys.stdin)], sys.stdout)
