"""Random problems of all shapes for the design solver, and paths of estimates for its oracle."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.instances import Instance
from furthest.task import Task

Array = NDArray[np.float64]


class Case(NamedTuple):
    """One answer of one problem, as `design.solve` takes it."""

    arms: Array
    answers: Array
    values: Array
    z: int
    c: float
    e: float


def epsilon_optimal(values: Array, c: float, e: float) -> list[int]:
    """{z : n_zx ≥ 0 for every x ≠ z}, from the definition."""
    margins = values[:, None] - c * values[None, :] + e
    np.fill_diagonal(margins, 0.0)
    return [z for z in range(len(values)) if margins[z].min() >= 0.0]


def random_arms(rng: np.random.Generator, k: int, d: int) -> Array:
    """Arms of one of six kinds, some of them ill-scaled or repeated; they span."""
    arms = rng.standard_normal((k, d))
    kind = rng.integers(6)
    if kind == 1:
        arms = rng.integers(-2, 3, (k, d)).astype(float)
    elif kind == 2:
        arms *= 10 ** rng.uniform(-2, 2, (k, 1))
    elif kind == 3:
        arms *= 10 ** rng.uniform(-2, 2, (1, d))
    elif kind == 4:
        arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    elif kind == 5:
        arms = arms[rng.integers(0, max(d, k // 2), k)]
    if np.linalg.matrix_rank(arms) < d:
        arms = np.vstack([arms, np.eye(d)])
    return arms


def random_answers(rng: np.random.Generator, arms: Array, count: int) -> Array:
    """Answers of one of five kinds: the arms, integers, close together, repeated, scaled."""
    kind = rng.integers(5)
    if kind == 0:
        return arms.copy()
    answers = rng.standard_normal((count, arms.shape[1]))
    if kind == 1:
        answers = np.rint(2 * answers)
    elif kind == 2:
        answers = answers[0] + 10 ** rng.uniform(-3, 0) * answers
    elif kind == 3:
        answers = answers[rng.integers(0, (count + 1) // 2, count)]
    else:
        answers *= 10 ** rng.uniform(-2, 2)
    return answers


def whitened(arms: Array, answers: Array) -> tuple[Array, Array]:
    """Coordinates in which the mean of aaᵀ is the identity."""
    _, singular, basis = np.linalg.svd(arms, full_matrices=False)
    transform = basis.T / singular * math.sqrt(len(arms))
    return np.ascontiguousarray(arms @ transform), np.ascontiguousarray(answers @ transform)


def random_case(rng: np.random.Generator, d_max: int = 8, size: int = 30) -> Case:
    """A random problem of random shape and notion, with one of its ε-optimal answers."""
    d = int(rng.integers(1, d_max + 1))
    arms = random_arms(rng, int(rng.integers(d, max(d + 3, size))), d)
    answers = random_answers(rng, arms, int(rng.integers(2, size)))
    mu = answers[0] if rng.random() < 0.2 else rng.standard_normal(d) * 10 ** rng.uniform(-1, 1)
    values = answers @ mu
    eps = 10 ** rng.uniform(-4, math.log10(0.3))
    if rng.random() < 0.5:
        c, e = 1.0, eps * (np.ptp(values) + 1e-3 if rng.random() < 0.5 else 1.0)
    else:
        c, e = 1.0 - eps, 0.0
        values *= np.sign(values[np.abs(values).argmax()]) or 1.0
    if rng.random() < 0.5:
        arms, answers = whitened(arms, answers)
    choices = epsilon_optimal(values, c, e) or [int(values.argmax())]
    return Case(arms, answers, values, int(rng.choice(choices)), c, e)


def case_of(instance: Instance) -> Case:
    """The greedy answer of an instance, in the coordinates of the kernels."""
    task = instance.problem.task
    values = instance.problem.answers @ instance.truth
    return Case(task.arms, task.answers, values, int(values.argmax()), task.c, task.e)


def task_of(case: Case) -> Task:
    """The question as the oracle takes it, in the coordinates of the case."""
    rows, columns = np.tril_indices(case.arms.shape[1])
    return Task(
        arms=case.arms,
        answers=case.answers,
        arm_columns=np.ascontiguousarray(case.arms.T),
        answer_columns=np.ascontiguousarray(case.answers.T),
        outer=np.ascontiguousarray(case.arms[:, rows] * case.arms[:, columns]),
        c=case.c,
        e=case.e,
        initial=np.arange(len(case.arms)),
        ridge=np.zeros((case.arms.shape[1], case.arms.shape[1])),
    )


def path(instance: Instance, weights: Array, rounds: int, seed: int) -> Array:
    """Values of the least-squares estimates, from one measurement of each arm on.

    The weights are tracked, mixed with uniform ones at rate 1/t as in LεBAI.
    """
    rng = np.random.default_rng(seed)
    arms, answers, mu = instance.problem.arms, instance.problem.answers, instance.truth
    k, d = arms.shape
    information, moments = np.zeros((d, d)), np.zeros(d)
    counts, target, values = np.zeros(k), np.zeros(k), []
    for t in range(1, rounds + 1):
        target += (1 - 1 / t) * weights + 1 / (t * k)
        arm = t - 1 if t <= k else int(np.argmin(counts - target - 1))
        counts[arm] += 1
        information += np.outer(arms[arm], arms[arm])
        moments += arms[arm] * (arms[arm] @ mu + rng.standard_normal())
        if t >= k:
            values.append(answers @ np.linalg.solve(information, moments))
    return np.array(values)
