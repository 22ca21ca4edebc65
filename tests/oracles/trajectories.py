"""One run, decision by decision; as a script, the runs that standard input asks for, as JSON.

The test process runs these compiled; a process with NUMBA_DISABLE_JIT=1 runs the very same
sources step by step in the interpreter.
"""

import json
import sys
from typing import Any

from numpy.random import PCG64, Generator, SeedSequence

from furthest import files
from furthest.strategy import Strategy
from oracles.loop import Loop

Case = dict[str, Any]


def begin(case: Case) -> Loop:
    """The run before its first round, with random streams as `simulate` makes them."""
    instance = files.find_instance(case["instance"], **case.get("question", {}))
    streams = (
        Generator(PCG64(SeedSequence(case["seed"], spawn_key=(0, stream)))) for stream in (0, 1)
    )
    strategy = Strategy(**case["strategy"])
    return Loop(strategy, instance.problem, instance.truth, case["deltas"], *streams)


def decisions(case: Case) -> dict[str, Any]:
    """Every arm, and when which answer was given."""
    loop, arms = begin(case), []
    while loop.rounds < case["rounds"] and loop.next_arm >= 0:
        arms.append(loop.next_arm)
        loop.advance(loop.rounds + 1)
    times, answers, _ = loop.run.milestones
    return {"arms": arms, "times": times.tolist(), "answers": answers.tolist()}


if __name__ == "__main__":
    json.dump([decisions(case) for case in json.load(sys.stdin)], sys.stdout)
