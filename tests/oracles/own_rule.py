"""A researcher's own rule outside the package: in plain NumPy, and the same one compiled."""

import json
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

import furthest as ft
from furthest.kernels.evidence import Clock
from furthest.kernels.jit import kernel
from furthest.sampling import uniform

TIE = 1e-9


class LeastCertain(NamedTuple):
    """Keeps a log of what it chose."""

    log: NDArray[np.int64]


states: list[LeastCertain] = []


def start(task):
    state = LeastCertain(np.full(5000, -1))
    states.append(state)
    return state


def choose_plainly(state, task, evidence, stopping):
    """The arm whose value is known least; among equals the first."""
    widths = evidence.widths
    arm = int(np.flatnonzero(widths > widths.max() * (1 - TIE))[0])
    state.log[evidence.clock[Clock.ROUNDS]] = arm
    return arm


@kernel
def choose(state, task, evidence, stopping):
    widths = evidence.widths
    arm = 0
    for a in range(1, widths.shape[0]):
        if widths[a] > widths[arm] * (1 + TIE):
            arm = a
    state.log[evidence.clock[Clock.ROUNDS]] = arm
    return arm


@kernel
def last_arm(state, task, evidence, stopping):
    """A variation of a rule of the package, with the state of that rule."""
    return state.arms - 1


@kernel
def first_arm(state, task, evidence, stopping):
    """Another variation with the same state."""
    return 0


def simulate(sampling, jobs=1):
    instance = ft.random(d=3, arms=6, eps=0.3)
    strategy = ft.Strategy(sampling, threshold="paper")
    results = ft.simulate(
        instance.problem, instance.mu, strategy, 0.1, runs=12, seed=4, jobs=jobs, max_rounds=4000
    )
    return {"times": results.stopping_times.tolist(), "pulls": results.pulls.tolist()}


def logged(sampling):
    """The outcome of a rule with its log of arms, run by run."""
    states.clear()
    outcome = simulate(sampling)
    # The first states belong to the warm-up and to finding out their type.
    return outcome | {"arms": [s.log[s.log >= 0].tolist() for s in states if (s.log >= 0).any()]}


if __name__ == "__main__":
    plain = ft.Rule("least-certain", start, choose_plainly, compiled=False)
    compiled = ft.Rule("least-certain", start, choose)
    variation = ft.Rule("last-arm", uniform.start, last_arm)
    another = ft.Rule("first-arm", uniform.start, first_arm)
    print(
        json.dumps(
            {
                "plain": logged(plain),
                "compiled": logged(compiled),
                "plain, two workers": simulate(plain, jobs=2),
                "compiled, two workers": simulate(compiled, jobs=2),
                "uniform": simulate("uniform"),
                "variation": simulate(variation),
                "another": simulate(another),
                "uniform again": simulate("uniform"),
            }
        )
    )
