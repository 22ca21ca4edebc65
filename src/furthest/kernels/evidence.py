"""Evidence: everything that the measurements so far say. Only `take_in` writes to it.

Except for its memo and its scratch, which belong to whoever computes something from it.

Ordinary least squares, unless the task has a ridge. Each measurement is a rank-one update of
O(d² + dZ) (Sherman–Morrison). Updates drift, so every `REFRESH` rounds all is recomputed from the
counts, which are exact, and from the sums of rewards per arm.
"""

import math
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from furthest.codes import Noise
from furthest.kernels.jit import inlined, kernel
from furthest.kernels.linalg import (
    BLOCK,
    Counts,
    Matrix,
    Vector,
    add_scaled,
    cholesky,
    combine,
    combine_block,
    copy,
    dot,
    fill,
    information,
    matvec,
    solve_lower_many,
    solve_lower_transposed_many,
)
from furthest.kernels.states import by_reference
from furthest.task import Task

REFRESH = 256


class Clock(IntEnum):
    """Positions in Evidence.clock."""

    ROUNDS = 0  # measurements taken in
    READY = 1  # 1 once the initial design is complete and the estimate exists
    MEMO_ROUND = 2  # round of the memorised instantaneous furthest answer
    MEMO_ANSWER = 3
    SINGULAR = 4  # 1 while V has no Cholesky factor: nothing can be proven
    SIZE = 5  # of how many measurements the last result is the sum


class Squares(IntEnum):
    """Positions in Evidence.residual."""

    TOTAL = 0  # residual sum of squares at the estimate
    WITHIN = 1  # of the last result, the sum of squares around its own mean


@by_reference
class Evidence(NamedTuple):
    """The state of knowledge after t measurements."""

    clock: Counts  # (6,) see Clock
    counts: Counts  # (K,) pulls of each arm, N
    sums: Vector  # (K,) sum of the rewards of each arm
    matrix: Matrix  # (d, d) V = Σ N_a a aᵀ, plus the task's ridge
    inverse: Matrix  # (d, d) V⁻¹
    estimate: Vector  # (d,) μ_t = V⁻¹ Σ rewards · arms: least squares
    values: Vector  # (Z,) ⟨μ_t, z⟩
    projected: Matrix  # (d, Z) V⁻¹z for every answer: the Gram matrix ZV⁻¹Zᵀ in factored form
    widths: Vector  # (K,) ‖a‖²_{V⁻¹}
    residual: Vector  # (2,) see Squares
    precision: Vector  # (1,) 1/σ in the unit of the rewards; estimated where σ is unknown
    memo: Vector  # (1,) statistic of the memorised answer
    norms: Vector  # (Z,) scratch
    step: Vector  # (d,) scratch
    along_answers: Vector  # (Z,) scratch
    along_arms: Vector  # (K,) scratch
    factor: Matrix  # (d, d) scratch


def no_evidence(task: Task) -> Evidence:
    """The state before any measurement."""
    arms, d = task.arms.shape
    answers = task.answers.shape[0]
    clock = np.zeros(len(Clock), np.int64)
    clock[Clock.MEMO_ROUND] = -1
    return Evidence(
        clock=clock,
        counts=np.zeros(arms, np.int64),
        sums=np.zeros(arms),
        matrix=np.zeros((d, d)),
        inverse=np.zeros((d, d)),
        estimate=np.zeros(d),
        values=np.zeros(answers),
        projected=np.zeros((d, answers)),
        widths=np.zeros(arms),
        residual=np.zeros(len(Squares)),
        precision=np.full(1, float(task.noise == Noise.SUB_GAUSSIAN)),
        memo=np.zeros(1),
        norms=np.zeros(answers),
        step=np.zeros(d),
        along_answers=np.zeros(answers),
        along_arms=np.zeros(arms),
        factor=np.zeros((d, d)),
    )


@kernel
def take_in(
    task: Task, evidence: Evidence, arm: int, reward: float, size: int = 1, within: float = 0.0
) -> None:
    """Take in one measurement, or the sum of `size` of one arm with the squares `within` them.

    Paper: least squares.
    """
    clock, share = evidence.clock, float(size)
    before = clock[Clock.ROUNDS]
    clock[Clock.ROUNDS] += size
    clock[Clock.SIZE] = size
    evidence.counts[arm] += size
    evidence.sums[arm] += reward
    evidence.residual[Squares.WITHIN] = within
    evidence.residual[Squares.TOTAL] += within
    if clock[Clock.READY] == 0:
        if design_arm(task, evidence) < 0:
            clock[Clock.READY] = 1
            recompute(task, evidence)
            evidence.residual[Squares.TOTAL] += _residual_of_design(task, evidence)
    else:
        surprise = reward / share - dot(task.arms[arm], evidence.estimate)
        evidence.residual[Squares.TOTAL] += (
            share * surprise * surprise / (1.0 + share * evidence.widths[arm])
        )
        _update(task, evidence, arm, surprise, share)
        if clock[Clock.ROUNDS] // REFRESH > before // REFRESH:
            recompute(task, evidence)
    if task.noise != Noise.SUB_GAUSSIAN:
        evidence.precision[0] = _estimated_precision(
            evidence.residual[Squares.TOTAL], clock[Clock.ROUNDS] - task.arms.shape[1]
        )


@kernel
def _residual_of_design(task: Task, evidence: Evidence) -> float:
    """RSS of the means of the complete initial design, in which every arm is measured."""
    total = 0.0
    for i in range(task.initial.shape[0]):
        arm = task.initial[i]
        count = float(evidence.counts[arm])
        mean = evidence.sums[arm] / count
        total += count * (mean - dot(task.arms[arm], evidence.estimate)) ** 2
    return total


@kernel
def _estimated_precision(residual: float, freedom: int) -> float:
    """From the mean of σ² under its posterior, RSS/χ²; 0 while that is infinite.

    It is for sampling, where any guess made from the past will do: no test rests on it.
    """
    if freedom <= 2 or not residual > 0.0:
        return 0.0
    return math.sqrt((freedom - 2) / residual)


@kernel
def design_arm(task: Task, evidence: Evidence) -> int:
    """The next arm of the initial design that has no measurement; −1 once it is complete."""
    for i in range(task.initial.shape[0]):
        if evidence.counts[task.initial[i]] == 0:
            return task.initial[i]
    return -1


@kernel
def _update(task: Task, evidence: Evidence, arm: int, surprise: float, size: float) -> None:
    """Sherman–Morrison for V⁻¹ and for everything derived from it; `size` times the same arm.

    Paper: Lemma E.23.
    """
    a = task.arms[arm]
    d = a.shape[0]
    step = evidence.step
    matvec(evidence.inverse, a, step)
    shrink = size / (1.0 + size * dot(a, step))
    surprise *= shrink

    inverse = evidence.inverse
    matrix = evidence.matrix
    for i in range(d):
        scale = shrink * step[i]
        evidence.estimate[i] += surprise * step[i]
        for j in range(d):
            inverse[i, j] -= scale * step[j]
            matrix[i, j] += size * a[i] * a[j]

    if evidence.values.shape[0] > BLOCK:
        _update_wide(task, evidence, surprise, shrink)
    else:
        _update_answers(task, evidence, surprise, shrink)

    across = evidence.along_arms
    combine(step, task.arm_columns, across)
    for b in range(across.shape[0]):
        evidence.widths[b] -= shrink * across[b] * across[b]


@inlined
def _update_answers(task: Task, evidence: Evidence, surprise: float, shrink: float) -> None:
    """Values and V⁻¹z of the answers, where `step` is V⁻¹a."""
    step, along, projected = evidence.step, evidence.along_answers, evidence.projected
    combine(step, task.answer_columns, along)
    for z in range(along.shape[0]):
        evidence.values[z] += surprise * along[z]
    for i in range(step.shape[0]):
        scale = shrink * step[i]
        for z in range(along.shape[0]):
            projected[i, z] -= scale * along[z]


@kernel
def _update_wide(task: Task, evidence: Evidence, surprise: float, shrink: float) -> None:
    """The same, block by block."""
    step, projected = evidence.step, evidence.projected
    for low in range(0, evidence.values.shape[0], BLOCK):
        along = evidence.along_answers[low : low + BLOCK]
        high = low + along.shape[0]
        combine_block(step, task.answer_columns, low, along)
        add_scaled(surprise, along, evidence.values[low:high])
        for i in range(step.shape[0]):
            add_scaled(-shrink * step[i], along, projected[i, low:high])


@kernel
def recompute(task: Task, evidence: Evidence) -> None:
    """Everything afresh from counts and sums of rewards: O(K d² + Z d² + d³).

    Where V is singular to rounding, what the updates have made of it stays: after a singular design
    V⁻¹ = 0 and μ_t = 0, which say nothing, and the residual is the sum of squares, never too small.

    Paper: design matrix, least squares.
    """
    d = task.arms.shape[1]
    pulls = evidence.along_arms
    for a in range(pulls.shape[0]):
        pulls[a] = float(evidence.counts[a])
    matrix, factor, inverse = evidence.matrix, evidence.factor, evidence.inverse
    information(task.arms, pulls, matrix)
    for i in range(d):
        for j in range(i + 1):
            matrix[i, j] += task.ridge[i, j]
            matrix[j, i] = matrix[i, j]
    copy(matrix, factor)
    evidence.clock[Clock.SINGULAR] = 0 if cholesky(factor) else 1
    if evidence.clock[Clock.SINGULAR] == 1:
        return

    for i in range(d):
        fill(inverse[i], 0.0)
        inverse[i, i] = 1.0
    solve_lower_many(factor, inverse)
    solve_lower_transposed_many(factor, inverse)

    copy(task.answer_columns, evidence.projected)
    solve_lower_many(factor, evidence.projected)
    solve_lower_transposed_many(factor, evidence.projected)

    step = evidence.step
    combine(evidence.sums, task.arms, step)
    matvec(inverse, step, evidence.estimate)
    matvec(task.answers, evidence.estimate, evidence.values)
    for a in range(pulls.shape[0]):
        matvec(inverse, task.arms[a], step)
        evidence.widths[a] = dot(task.arms[a], step)
