"""Softmin against plain NumPy; and no arm is forgotten, whatever it is fed."""

import math

import numpy as np
import pytest

import furthest as ft
from furthest.instances import Instance
from furthest.kernels.evidence import no_evidence, take_in
from furthest.problem import Problem
from furthest.sampling.softmin import choose as compiled_choose
from furthest.sampling.softmin import start
from oracles.replay import Data, compiled, independent, instances

ROUNDS = 200


def chooser(problem: Problem, tau: float = 0.5, kappa: float = 1.0, room: int | None = None):
    """The rule from its formulas, for rewards in units of σ; with room for so many answers."""
    additive = problem.notion == "additive"
    c, e = (1.0, problem.eps / problem.unit) if additive else (1 - problem.eps, 0.0)

    def pairs(data: Data, z: int):
        for x in range(len(data.answers)):
            y = data.answers[z] - c * data.answers[x]
            if x != z and y @ data.inverse @ y > 1e-20:
                gap, dual = max(y @ data.estimate + e, 0.0), data.inverse @ y
                yield gap**2 / (2 * y @ dual), gap * dual / (y @ dual)

    def choose(data: Data) -> int:
        widths = np.einsum("ai,ij,aj->a", data.arms, data.inverse, data.arms)
        if widths.max() > data.arms.shape[1] / math.sqrt(data.t):
            return int(widths.argmax())
        values = data.answers @ data.estimate
        good = np.flatnonzero(values - c * values.max() + e >= 0)
        z = max(good, key=lambda z: min(evidence for evidence, _ in pairs(data, z)))
        found = sorted(pairs(data, z), key=lambda pair: pair[0])
        least = found[0][0]
        weights = np.array([math.exp(-tau * (evidence - least)) for evidence, _ in found])
        along = np.abs(data.arms @ np.transpose([step for _, step in found]))
        optimism = kappa * np.sqrt(widths)[:, None]
        near = len(found) if room is None or (weights > 1e-6).sum() <= room else room
        gains = (along[:, :near] + optimism) ** 2 @ weights[:near]
        rest = np.sqrt(along[:, near:] ** 2 @ weights[near:])
        gains += (rest + optimism[:, 0] * np.sqrt(weights[near:].sum())) ** 2
        return int((gains / (1 + widths)).argmax())

    return choose


@pytest.mark.parametrize("options", [{}, {"tau": 2.0, "kappa": 0.2}, {"room": 0}, {"room": 3}])
@pytest.mark.parametrize("instance", instances(), ids=lambda instance: instance.name)
def test_pulls_what_the_formulas_say(instance: Instance, options: dict[str, float]) -> None:
    ran = compiled("softmin", instance, ROUNDS, seed=3, **options)
    own = chooser(instance.problem, **options)
    assert ran.arms == independent(own, instance, ROUNDS, seed=3)


@pytest.mark.parametrize("options", [{"tau": 0.0}, {"tau": math.inf}, {"kappa": -1.0}])
def test_options_that_make_no_sense(options: dict[str, float]) -> None:
    with pytest.raises(ft.errors.StrategyError, match="softmin needs"):
        start(Problem(np.eye(2)).task, **options)


@pytest.mark.parametrize("room", [-1, 1.5, True])
def test_room_is_for_a_number_of_answers(room: float) -> None:
    with pytest.raises(ft.errors.StrategyError, match="room of softmin"):
        start(Problem(np.eye(2)).task, room=room)


@pytest.mark.parametrize("kappa", [0.0, 1.0])
@pytest.mark.parametrize("seed", range(4))
def test_nothing_is_forgotten_whatever_the_rewards_are(seed: int, kappa: float) -> None:
    """Rewards that an adversary chooses: praise for whatever was pulled, one arm always bad."""
    rng = np.random.default_rng(seed)
    d, arms = 3, 7
    task = Problem(rng.normal(size=(arms, d)) * rng.uniform(0.1, 3, (arms, 1)), eps=0.1).task
    evidence, rule = no_evidence(task), start(task, kappa=kappa)
    for t in range(1, 3001):
        arm = task.initial[t - 1] if t <= len(task.initial) else -1
        if arm < 0:
            arm = compiled_choose(rule, task, evidence, None)
        take_in(task, evidence, arm, 5.0 if arm else -5.0)
        if t in (300, 1000, 3000):
            # By the theorem the bound is d/√t′ of a t′ not long before t.
            assert evidence.widths.max() <= 1.3 * d / math.sqrt(t)


ADVERSARIAL = {
    "equal options within ε": (np.eye(4), [1.0, 1.0, 1.0, 1.0], 0.3),
    "an arm that says nothing of the best": (
        [[1, 0], [0.99, 0.01], [0.0, 1.0]],
        [1.0, 0.0],
        0.05,
    ),
    "a direction that only one weak arm sees": (
        [[1, 0, 0], [0, 1, 0], [1, 1, 0.05]],
        [1.0, 0.9, 0.4],
        0.3,
    ),
    "far scales": (np.diag([0.05, 1.0, 20.0]), [20.0, 0.5, 0.04], 0.5),
    "many copies": (np.repeat(np.eye(3), 5, axis=0), [0.6, 0.3, 0.0], 0.2),
    "a rival at a small angle": ([[1, 0], [0, 1], [0.995, 0.0999]], [1.0, 0.0], 0.05),
}


@pytest.mark.parametrize("name", ADVERSARIAL)
@pytest.mark.parametrize("stopping", ["ranked", "top-wrong", "glr"])
def test_every_run_stops(name: str, stopping: str) -> None:
    arms, mu, eps = ADVERSARIAL[name]
    problem = Problem(arms, eps=eps, notion="additive", sigma=1.0)
    strategy = ft.Strategy("softmin", stopping=stopping)
    found = ft.simulate(problem, mu, strategy, 0.05, runs=40, max_rounds=1_000_000, quiet=True)
    assert found.stopped.all()
    assert found.correct.mean() > 0.85
