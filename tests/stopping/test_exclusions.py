"""Answers that are out for certain: many at a glance as one by one."""

from typing import Any

import numpy as np
import pytest

from furthest.codes import Noise
from furthest.engine import told
from furthest.kernels.defeats import CLEARLY, NOBODY, find_defeats
from furthest.preparation import prepare
from furthest.problem import Notion, Problem
from furthest.stopping import exclusions
from furthest.stopping.contrasts import clearest_defeat
from furthest.stopping.exclusions import Exclusions, is_excluded
from furthest.strategy import Strategy
from oracles.near_null import NOTIONS

STRATEGIES = {
    "ranked": Strategy("uniform"),
    "mixture": Strategy("uniform", stopping="glr"),
    "theory": Strategy("uniform", stopping="glr", threshold="theory"),
}


def questions(notion: Notion, sigma: float | None, name: str) -> Any:
    """Thirty answers, some equal, after fewer and more measurements: evidence, and the set."""
    rng = np.random.default_rng(5)
    answers = rng.normal(size=(30, 4))
    answers[7], answers[8], answers[9] = answers[6], 0.9 * answers[0], answers[1]
    problem = Problem(answers, eps=0.1, notion=notion, sigma=sigma)
    mu = problem.whiten(2 * answers[0] / (answers[0] @ answers[0]))
    strategy = STRATEGIES[name]
    prepared = prepare(strategy, problem.task, [0.1, 1e-300])
    run, task = prepared.start(), problem.task
    test = strategy.test_for(Noise(task.noise))
    share = 0.6 ** np.arange(30)
    for more in (60, 100, 200, 400, 800):
        arms = np.r_[task.initial, rng.choice(30, more, p=share / share.sum())]
        rewards = task.arms[arms] @ mu + rng.normal(size=len(arms))
        prepared.advance(task, run, told(arms, rewards), rng, rng, 10**6, True)
        yield task, run.evidence, test.region(run.stopping.test, task, run.evidence)


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("sigma", [1.0, None])
@pytest.mark.parametrize("name", STRATEGIES)
def test_many_at_a_glance_are_as_one_by_one(
    name: str, sigma: float | None, notion: Notion, monkeypatch: pytest.MonkeyPatch
) -> None:
    if sigma is None and name == "theory":
        pytest.skip("theory is for known σ")
    ways: list[int] = []

    def watched(*arguments: Any) -> None:
        found(*arguments)
        ways.extend(arguments[-1].tolist())

    found = find_defeats
    monkeypatch.setattr(exclusions, "find_defeats", watched)
    out = []
    for task, evidence, misses in questions(notion, sigma, name):
        alone = [is_excluded(misses, task, evidence, z) for z in range(30)]
        many = Exclusions(misses, task, evidence)
        assert many.of(0, 30) == alone
        assert many.of(12, 3) == alone[12:15]
        out += alone
    assert 10 < sum(out) < len(out) - 10
    assert {CLEARLY, NOBODY} <= set(ways)
    assert name == "theory" or max(ways) > NOBODY  # some had to be looked at


@pytest.mark.parametrize("notion", NOTIONS)
def test_who_is_beaten_most_clearly_is_found(notion: Notion) -> None:
    """With nothing to go by but the sizes: every defeat is looked at."""
    for task, evidence, _ in questions(notion, 1.0, "ranked"):
        duals = np.ascontiguousarray(evidence.projected.T)
        size = float(evidence.estimate @ evidence.matrix @ evidence.estimate)
        found, order = np.zeros(30, np.int64), np.argsort(-evidence.values)
        find_defeats(
            *(task.answers, duals, evidence.values, order, task.c, task.e),
            *(size, 0.0, np.inf, 0, found),
        )
        for z, x in enumerate(found.tolist()):
            defeat = clearest_defeat(task, evidence, z)
            assert (defeat is None) == (x == NOBODY)
            if defeat is not None:
                n = evidence.values[z] - task.c * evidence.values[x] + task.e
                assert n * n == pytest.approx(defeat[0])
