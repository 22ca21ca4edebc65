"""A design without a Cholesky factor proves nothing, and what is kept of it stays honest."""

import math

import numpy as np
import pytest

from furthest.codes import Noise
from furthest.engine import simulated
from furthest.kernels.evidence import REFRESH, Clock, Evidence, no_evidence, take_in
from furthest.kernels.game import closest_alternative, nature
from furthest.kernels.rivals import eliminate
from furthest.kernels.scales import volumes
from furthest.kernels.topwrong import observe, top_wrong
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.stopping import mixture
from furthest.stopping.contrasts import glr_statistic
from furthest.stopping.exclusions import is_excluded
from furthest.stopping.nomination import Nominee, Progress
from furthest.strategy import Strategy
from furthest.task import Task
from furthest.verbs import judge

MU = np.array([3.0, -2.0])
STRATEGIES = {
    "top-wrong": Strategy("uniform"),
    "mixture": Strategy("uniform", stopping="glr"),
    "theory": Strategy("uniform", stopping="glr", threshold="theory"),
    "gap": Strategy("uniform", stopping="gap", threshold="paper"),
    "elimination": Strategy("xy-adaptive", stopping="elimination", threshold="paper"),
}


def task_of(arms: np.ndarray, initial: int, noise: Noise = Noise.SUB_GAUSSIAN) -> Task:
    """Arms and answers as they stand, which no `Problem` would let through."""
    d = arms.shape[1]
    rows, columns = np.tril_indices(d)
    return Problem(np.eye(d), eps=0.1).task._replace(
        arms=arms,
        arm_columns=np.ascontiguousarray(arms.T),
        outer=np.ascontiguousarray(arms[:, rows] * arms[:, columns]),
        initial=np.arange(initial),
        noise=noise,
    )


def nearly_equal(angle: float, *more: list[float]) -> np.ndarray:
    return np.array([[1.0, 1.0], [1.0, 1.0 + angle], *more])


@pytest.mark.parametrize(
    ("name", "noise"),
    [
        *((name, Noise.SUB_GAUSSIAN) for name in STRATEGIES),
        ("top-wrong", Noise.GAUSSIAN),
        ("mixture", Noise.GAUSSIAN),
    ],
)
def test_a_singular_design_never_stops(name: str, noise: Noise) -> None:
    task = task_of(nearly_equal(1e-9), 2, noise)
    prepared = prepare(STRATEGIES[name], task, [0.5])
    run, rng = prepared.start(), np.random.default_rng(0)
    prepared.advance(task, run, simulated(task.arms @ MU), rng, rng, 3 * REFRESH, True)
    evidence, progress = run.evidence, run.stopping.progress
    assert evidence.clock[Clock.ROUNDS] == 3 * REFRESH
    assert evidence.clock[Clock.SINGULAR] == 1
    assert progress[Progress.REACHED] == 0
    assert evidence.counts.min() > REFRESH
    for z in range(2):
        # Whoever asks the test outside the loop hears the same.
        nominee = Nominee(z, math.inf, 0)
        assert judge(run.stopping.test, task, evidence, nominee, run.rule) == (z, 0)
        assert glr_statistic(task, evidence, z) == 0
        test = STRATEGIES[name].test_for(noise)
        found = test.score(run.stopping.test, task, evidence, nominee, run.rule)
        assert math.isfinite(found.statistic)
        assert found.statistic < found.threshold
        misses = test.region(run.stopping.test, task, evidence)
        assert not is_excluded(misses, task, evidence, z)


def test_nothing_is_eliminated_meanwhile() -> None:
    """Without an estimate all answers look equal, which is no reason to keep only the first."""
    task = task_of(nearly_equal(1e-9), 2)
    evidence, _ = measured(task, [0, 1, 0, 1], 1.0)
    active = np.zeros(2, bool)
    assert eliminate(task, evidence, 1.0, active) == 2
    assert active.all()


def measured(task: Task, arms: list[int], noise: float) -> tuple[Evidence, list[float]]:
    rng = np.random.default_rng(1)
    evidence, rewards = no_evidence(task), []
    for arm in arms:
        rewards.append(float(task.arms[arm] @ MU + noise * rng.standard_normal()))
        take_in(task, evidence, arm, rewards[-1])
    return evidence, rewards


def test_another_arm_makes_a_singular_design_regular() -> None:
    task = task_of(nearly_equal(1e-9, [0.0, 1.0]), 2)
    pulls = [0, 1] + [t % 3 for t in range(2 * REFRESH - 10)]
    evidence, _ = measured(task, pulls[: REFRESH - 1], 1.0)
    assert evidence.clock[Clock.SINGULAR] == 1
    assert not evidence.estimate.any()
    evidence, rewards = measured(task, pulls, 1.0)
    assert evidence.clock[Clock.SINGULAR] == 0
    arms = task.arms[pulls]
    estimate, (residual,), *_ = np.linalg.lstsq(arms, np.array(rewards), rcond=None)
    np.testing.assert_allclose(evidence.estimate, estimate, rtol=1e-9)
    # The sum of squares of the time before is no less than what it left over.
    assert evidence.residual[0] > residual


def test_the_sums_of_top_wrong_leave_a_singular_design_out() -> None:
    """Without noise τ = Bᵀμ, whatever the weights are; and none is given before V is regular."""
    task = task_of(nearly_equal(1e-9, [0.0, 1.0]), 2)
    evidence, test = no_evidence(task), top_wrong(task, [0.1])
    for t, arm in enumerate([0, 1] + [t % 3 for t in range(2 * REFRESH)], 1):
        reward = float(task.arms[arm] @ MU)
        take_in(task, evidence, arm, reward)
        observe(test, task, evidence, arm, reward)
        if t == 1:
            continue
        weighted = test.drift + t * np.eye(2)
        np.testing.assert_allclose(test.total, weighted.T @ MU, rtol=1e-9, atol=1e-9)
        assert (t < REFRESH) == (not test.total.any())


def test_a_failed_refresh_keeps_what_the_updates_made() -> None:
    """Regular at first, singular to rounding once one arm outweighs the other."""
    task = task_of(nearly_equal(1e-6), 2)
    pulls = [0, 1] + [0] * (REFRESH - 2)
    before, _ = measured(task, pulls[:-1], 0.0)
    after, _ = measured(task, pulls, 0.0)
    assert (before.clock[Clock.SINGULAR], after.clock[Clock.SINGULAR]) == (0, 1)
    inverse = before.inverse - (
        np.outer(before.inverse @ task.arms[0], task.arms[0] @ before.inverse)
        / (1 + task.arms[0] @ before.inverse @ task.arms[0])
    )
    np.testing.assert_allclose(after.inverse, inverse, rtol=1e-9)
    assert np.isfinite(after.estimate).all()
    balanced, _ = measured(task, [*pulls, *[1] * REFRESH], 0.0)
    assert balanced.clock[Clock.SINGULAR] == 0


def test_a_volume_without_a_factor_proves_nothing() -> None:
    """Only beyond 10¹³ measurements."""
    out = np.zeros(2)
    matrix = 1e18 * np.ones((2, 2))
    assert volumes(matrix, np.array([1.0, 1e12]), np.zeros((2, 2)), out) == out.min()
    assert out == pytest.approx([math.inf, math.log1p(2e18 / 1e12)])
    task = Problem(np.eye(2), eps=0.1).task
    test = mixture.start(task, [0.1])
    evidence, _ = measured(task, [0, 1] * 20, 1.0)
    mixture.update_volumes(test, evidence)
    test.logdets[:] = math.inf
    assert mixture.log_average(test, evidence, 1e9, 1.0, 1.0, 0.0) == -math.inf


def test_weights_without_a_factor_leave_slack_alone() -> None:
    task = task_of(1e10 * nearly_equal(0.0), 2)
    evidence = no_evidence(task)
    player = nature(task)
    assert closest_alternative(player, task, evidence, 0, np.array([0.5, 0.5])) == 0
    assert not player.direction.any()
