"""Gap and elimination against brute force, and the gap against the GLR it is equivalent to."""

import math

import numpy as np
import pytest

from furthest.kernels.alternatives import statistic
from furthest.kernels.evidence import Evidence, no_evidence, take_in
from furthest.kernels.rivals import eliminate, rival
from furthest.problem import Problem


def measured(problem: Problem, seed: int) -> Evidence:
    """Each arm once, then arms at random."""
    rng = np.random.default_rng(seed)
    task = problem.task
    evidence = no_evidence(task)
    arms = len(task.arms)
    mu = rng.normal(size=task.arms.shape[1])
    for arm in [*range(arms), *rng.integers(0, arms, int(rng.integers(5, 60)))]:
        take_in(task, evidence, int(arm), float(task.arms[arm] @ mu + rng.normal()))
    return evidence


def random_problem(seed: int, eps: float) -> Problem:
    rng = np.random.default_rng(seed)
    d = int(rng.integers(1, 5))
    return Problem(rng.normal(size=(d + 3, d)), rng.normal(size=(6, d)), eps)


def differences(problem: Problem, evidence: Evidence) -> tuple[np.ndarray, np.ndarray]:
    """⟨μ_t, j − i⟩ and ‖j − i‖²_{V⁻¹} for all pairs, in the problem's own coordinates."""
    inverse = np.linalg.inv((problem.arms.T * evidence.counts) @ problem.arms)
    mu = inverse @ problem.arms.T @ evidence.sums
    y = problem.answers[None, :] - problem.answers[:, None]
    return y @ mu, np.einsum("ijk,kl,ijl->ij", y, inverse, y)


@pytest.mark.parametrize("seed", range(30))
def test_gap_is_the_glr_of_the_greedy_answer(seed: int) -> None:
    """gap(√width) = ε exactly where GLR = width: stopping at gap ≤ ε is stopping at GLR ≥ width.

    Paper: gap rule.
    """
    problem = random_problem(seed, eps=0.3)
    evidence = measured(problem, seed)
    z = int(evidence.values.argmax())
    glr, _ = statistic(problem.task, evidence, z, -math.inf)
    assert rival(problem.task, evidence, z, glr)[1] == pytest.approx(0.3)
    assert rival(problem.task, evidence, z, 0.9 * glr)[1] < 0.3


@pytest.mark.parametrize("seed", range(30))
def test_rival_and_elimination_by_brute_force(seed: int) -> None:
    problem = random_problem(seed, eps=0.3)
    evidence = measured(problem, seed)
    gaps, norms = differences(problem, evidence)
    width = np.random.default_rng(seed).uniform(0.1, 20)
    for z in range(6):
        optimism = gaps[z] + np.sqrt(norms[z] * width)
        optimism[z] = -np.inf
        x, gap = rival(problem.task, evidence, z, width)
        assert x == optimism.argmax()
        assert gap == pytest.approx(optimism.max(), abs=1e-9)
    off_diagonal = ~np.eye(6, dtype=bool)
    beaten = ((gaps >= np.sqrt(norms * width)) & off_diagonal).any(axis=1)
    active = np.zeros(6, bool)
    assert eliminate(problem.task, evidence, width, active) == (~beaten).sum()
    assert (active == ~beaten).all()


def test_equal_answers() -> None:
    """A copy is no rival, and only the first of two copies stays active."""
    problem = Problem(np.eye(2), [[1, 0], [1, 0], [0, 1]])
    evidence = measured(problem, 0)
    assert rival(problem.task, evidence, 0, 1.0)[0] == 2
    active = np.zeros(3, bool)
    eliminate(problem.task, evidence, 1e9, active)
    assert active.tolist() == [True, False, True]


def test_no_rival() -> None:
    problem = Problem(np.eye(2), [[1, 0], [1, 0]])
    assert rival(problem.task, measured(problem, 0), 0, 1.0)[0] == -1
