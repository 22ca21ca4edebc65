"""Time per round of every sampling rule beside LεBAI's, stopping test and simulation included.

All figures come from one run on one machine, the rules measured in turn; compare the ratios.
"""

import argparse
import time
from typing import Any

import numpy as np

import furthest as ft
from furthest import sampling
from furthest.engine import simulated
from furthest.instances import Instance
from furthest.preparation import prepare
from furthest.strategy import Strategy

INSTANCES = {
    "hard d=2 K=4": ft.hard(),
    "random d=12 K=20": ft.random(d=12, seed=3),
}
YARDSTICK = "lebai"

# No rule reaches this confidence within the rounds measured, on either instance.
UNREACHABLE = 1e-300

# Rounds that load the code and leave the start of a run behind.
WARM_UP = 100

# Seconds that one repetition may take: slow rules are measured over fewer rounds.
MEASURED_SECONDS = 0.2


def strategy(name: str, instance: Instance) -> Strategy:
    """The rule with its defaults; Fixed gets uniform weights."""
    arms = len(instance.problem.arms)
    options: dict[str, Any] = {"weights": [1 / arms] * arms} if name == "fixed" else {}
    return Strategy(name, threshold="paper", options=options)


def microseconds(name: str, instance: Instance, rounds: int) -> float:
    """Time per round of a fresh run."""
    task = instance.problem.task
    ready = prepare(strategy(name, instance), task, [UNREACHABLE])
    source = simulated(task.arms @ instance.problem.whiten(instance.truth))
    run, rng = ready.start(), np.random.default_rng(1)

    def timed(until: int) -> float:
        started = time.perf_counter()
        ready.advance(task, run, source, rng, rng, until, True)
        if run.milestones.times[0] >= 0:
            rounds = run.milestones.times[0]
            raise RuntimeError(f"{name} stopped after {rounds} rounds: nothing was measured")
        return time.perf_counter() - started

    timed(WARM_UP)
    pilot = timed(2 * WARM_UP) / WARM_UP
    rounds = min(rounds, max(WARM_UP, int(MEASURED_SECONDS / pilot)))
    return timed(2 * WARM_UP + rounds) / rounds * 1e6


def main() -> None:
    """One table: the minimum over repetitions is the least disturbed."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("rules", nargs="*", default=list(sampling.MODULES), metavar="RULE")
    parser.add_argument("--rounds", type=int, default=10_000)
    parser.add_argument("--repeats", type=int, default=20)
    arguments = parser.parse_args()
    names = list(dict.fromkeys([YARDSTICK, *arguments.rules]))

    print(f"microseconds per round, best of {arguments.repeats}; ratio to {YARDSTICK}; one core")
    print(f"{'rule':<14}" + "".join(f"{label:>20}{'ratio':>8}" for label in INSTANCES))
    best = np.full((len(names), len(INSTANCES)), np.inf)
    for _ in range(arguments.repeats):
        for row, name in enumerate(names):
            for column, instance in enumerate(INSTANCES.values()):
                taken = microseconds(name, instance, arguments.rounds)
                best[row, column] = min(best[row, column], taken)
    for name, times in zip(names, best, strict=True):
        cells = zip(times, times / best[0], strict=True)
        print(f"{name:<14}" + "".join(f"{taken:>20.3f}{ratio:>8.2f}" for taken, ratio in cells))


if __name__ == "__main__":
    main()
