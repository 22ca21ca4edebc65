"""Smooth: the GLR, or the e-value `mixture`, against the alternatives within a bound on μ.

Kocák & Garivier (2020, 2021) for the Laplacian of a graph. Where μᵀPμ ≤ R is known, only such
alternatives count: the nearest of them is further away, and a test stops earlier. The estimate is
not projected: the proof needs the true μ within the bound, nothing else (docs/theory/spectral.md).
"""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from furthest.kernels.alternatives import SAME, contrast_norms
from furthest.kernels.ellipsoid import (
    Ellipsoid,
    ellipsoid,
    multiplier,
    nearest_within,
    set_contrast,
    step_to,
    take_metric,
)
from furthest.kernels.evidence import Clock, Evidence
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import (
    Counts,
    Matrix,
    Vector,
    cholesky,
    copy,
    solve_lower_many,
)
from furthest.stopping import glr, mixture
from furthest.stopping.contrasts import is_singular, signed_distance
from furthest.stopping.mixture import Mixture, levels_reached, update_volumes
from furthest.stopping.nomination import Nominee
from furthest.stopping.test import MOST, NATS, Guarantee, Misses, Score, StoppingTest
from furthest.stopping.thresholds import THRESHOLDS, Choice, Threshold, required, threshold_width
from furthest.stopping.within import of_question
from furthest.task import Smoothness, Task

WHAT = "the candidate's evidence against the alternatives within the bound exceeds the threshold"
SOURCE = "Kocák & Garivier (2020, 2021), for any ellipsoid; docs/theory/spectral.md"
MEANING = "GLR statistic within the bound; below 0 a rival is ahead by more than ε"


class Rival(NamedTuple):
    """The nearest alternative when last looked for: today it may be nearer, not further."""

    answer: Counts  # (1,) the answer that it is an alternative to; −1 for none
    point: Vector  # (d,) λ


def no_rival(task: Task) -> Rival:
    """Before anything was looked for."""
    return Rival(np.full(1, -1), np.zeros(task.arms.shape[1]))


class Smooth(NamedTuple):
    """Threshold, bound, and the nearest alternative."""

    threshold: Threshold
    within: Ellipsoid
    rival: Rival


class SmoothMixture(NamedTuple):
    """The e-value, bound, and the nearest alternative."""

    mixture: Mixture
    within: Ellipsoid
    rival: Rival
    metric: Matrix  # (d, d) scratch
    root: Matrix  # (d, d) scratch
    distances: Matrix  # (scales, Z) scratch
    terms: Vector  # (scales,) scratch
    line: Matrix  # (d, 1) scratch


@kernel
def distance_of(rival: Rival, evidence: Evidence, z: int) -> float:
    """‖μ_t − λ‖²_V: no less than the statistic; infinite where there is no λ for z."""
    if rival.answer[0] != z:
        return math.inf
    matrix, estimate, point = evidence.matrix, evidence.estimate, rival.point
    total = 0.0
    for i in range(point.shape[0]):
        along = 0.0
        for j in range(point.shape[0]):
            along += matrix[i, j] * (estimate[j] - point[j])
        total += along * (estimate[i] - point[i])
    return total


@kernel
def remember(
    rival: Rival, within: Ellipsoid, task: Task, evidence: Evidence, z: int, x: int, gamma: float
) -> None:
    """The nearest alternative to z, which belongs to x and γ."""
    rival.answer[0] = -1
    if x >= 0 and gamma < math.inf:
        step_to(within, z, x, task.c, task.e, gamma)
        rival.answer[0] = z
        for i in range(rival.point.shape[0]):
            rival.point[i] = evidence.estimate[i] - within.step[i]


@kernel
def statistic_within(
    within: Ellipsoid, rival: Rival, task: Task, evidence: Evidence, z: int
) -> float:
    """The squared distance of the nearest alternative to z within the bound, or a little less."""
    if not take_metric(within, task.answer_columns, evidence.matrix, evidence.estimate):
        return 0.0
    found, x, gamma = nearest_within(within, z, task.c, task.e)
    remember(rival, within, task, evidence, z, x, gamma)
    return found


@kernel
def levels_above(threshold: Threshold, rounds: int, reached: int, found: float) -> int:
    """How many levels the statistic has reached."""
    while reached < threshold.offsets.shape[0] and found > required(threshold, rounds, reached):
        reached += 1
    return reached


@kernel
def judge(
    test: Smooth, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Level by level; the statistic without bound first, since it is at hand and no larger."""
    threshold, rounds, z = test.threshold, evidence.clock[Clock.ROUNDS], nominee.answer
    reached = levels_above(threshold, rounds, nominee.reached, nominee.glr)
    if reached < threshold.offsets.shape[0] and distance_of(test.rival, evidence, z) > required(
        threshold, rounds, reached
    ):
        found = statistic_within(test.within, test.rival, task, evidence, z)
        reached = levels_above(threshold, rounds, reached, found)
    return z, reached


def score(test: Smooth, task: Task, evidence: Evidence, nominee: Nominee, rule: Any) -> Score:
    """The statistic itself, and without bound how far a rival is ahead."""
    needed = float(required(test.threshold, int(evidence.clock[Clock.ROUNDS]), 0))
    found = signed_distance(task, evidence, nominee.answer)
    if not is_singular(evidence):
        within = statistic_within(test.within, test.rival, task, evidence, nominee.answer)
        found = within if within > 0 else found
    return Score(min(found, MOST), needed, MEANING)


@kernel
def shrunk_metric(matrix: Matrix, kappa: float, root: Matrix, out: Matrix) -> bool:
    """out = V(V + κ)⁻¹V, lower triangle: WᵀW for W = C⁻¹V and V + κ = CCᵀ; False if singular.

    `root` is scratch.
    """
    d = matrix.shape[0]
    copy(matrix, out)
    for i in range(d):
        out[i, i] += kappa
    if not cholesky(out):
        return False
    copy(matrix, root)
    solve_lower_many(out, root)
    for i in range(d):
        for j in range(i + 1):
            out[i, j] = 0.0
            for k in range(d):
                out[i, j] += root[k, i] * root[k, j]
    return True


@kernel
def distances_within(test: SmoothMixture, task: Task, evidence: Evidence, z: int) -> bool:
    """For every scale and x the squared distance in the metric G = V(V + κ)⁻¹V; −1 where x = z.

    False where some metric is singular.
    """
    within, kappas, distances = test.within, test.mixture.kappas, test.distances
    for j in range(kappas.shape[0]):
        found = shrunk_metric(evidence.matrix, kappas[j], test.root, test.metric)
        if not found or not take_metric(
            within, task.answer_columns, test.metric, evidence.estimate
        ):
            return False
        if j == 0:
            _, x, gamma = nearest_within(within, z, task.c, task.e)
            remember(test.rival, within, task, evidence, z, x, gamma)
        own = contrast_norms(within.answers, within.answers, z, task.c, within.norms)
        for x in range(within.norms.shape[0]):
            distances[j, x] = -1.0
            if x != z and within.norms[x] > SAME * own:
                set_contrast(within, z, x, task.c)
                distances[j, x], _ = multiplier(within, task.e, math.inf)
    return True


@kernel
def log_e_value_within(test: SmoothMixture, task: Task, evidence: Evidence, z: int) -> float:
    """Logarithm of the e-value against "z is not ε-best", minimised over the bound's alternatives.

    As mixture.log_e_value, which see: the average over the scales of the infima.
    """
    update_volumes(test.mixture, evidence)
    if not distances_within(test, task, evidence, z):
        return -math.inf
    lowest = math.inf
    for x in range(test.distances.shape[1]):
        if test.distances[0, x] >= 0.0:
            for j in range(test.terms.shape[0]):
                test.terms[j] = test.distances[j, x]
            lowest = min(lowest, _log_average(test.terms, test.mixture.logdets))
    return lowest


@kernel
def _log_average(distances: Vector, logdets: Vector) -> float:
    """ln of the average over scales of exp(½D_j − ½logdet_j)."""
    top, total = -math.inf, 0.0
    for j in range(logdets.shape[0]):
        if logdets[j] == math.inf:
            continue
        term = 0.5 * (distances[j] - logdets[j])
        if term == math.inf:
            return math.inf
        if term > top:
            total = total * math.exp(top - term) + 1.0
            top = term
        else:
            total += math.exp(term - top)
    return top + math.log(total / logdets.shape[0]) if total > 0.0 else -math.inf


@kernel
def log_e_value_at(test: SmoothMixture, evidence: Evidence, z: int) -> float:
    """ln M_t(λ) at the nearest alternative when last looked for: no less than the e-value for z."""
    if test.rival.answer[0] != z:
        return math.inf
    root, line, point = test.root, test.line, test.rival.point
    update_volumes(test.mixture, evidence)
    for j in range(test.terms.shape[0]):
        copy(evidence.matrix, root)
        for i in range(point.shape[0]):
            root[i, i] += test.mixture.kappas[j]
            line[i, 0] = 0.0
            for k in range(point.shape[0]):
                line[i, 0] += evidence.matrix[i, k] * (evidence.estimate[k] - point[k])
        if not cholesky(root):
            return math.inf
        solve_lower_many(root, line)
        test.terms[j] = 0.0
        for i in range(point.shape[0]):
            test.terms[j] += line[i, 0] * line[i, 0]
    return _log_average(test.terms, test.mixture.logdets)


@kernel
def judge_mixture(
    test: SmoothMixture, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> tuple[int, int]:
    """Level by level; the e-value without bound first."""
    plain, z = test.mixture, nominee.answer
    reached = levels_reached(plain, task, evidence, nominee)
    if (
        reached < plain.levels.shape[0]
        and log_e_value_at(test, evidence, z) > plain.levels[reached]
    ):
        found = log_e_value_within(test, task, evidence, z)
        while reached < plain.levels.shape[0] and found > plain.levels[reached]:
            reached += 1
    return z, reached


def score_mixture(
    test: SmoothMixture, task: Task, evidence: Evidence, nominee: Nominee, rule: Any
) -> Score:
    """The e-value's logarithm; where a rival is ahead that without bound."""
    plain = mixture.score(test.mixture, task, evidence, nominee, rule)
    if is_singular(evidence) or plain.statistic >= MOST:
        return plain
    found = log_e_value_within(test, task, evidence, nominee.answer)
    return plain._replace(statistic=max(plain.statistic, min(found, MOST)), meaning=NATS)


def region_mixture(test: SmoothMixture, task: Task, evidence: Evidence) -> Misses:
    """As without bound."""
    return mixture.region(test.mixture, task, evidence)


def within(test: Smooth, task: Task, evidence: Evidence, z: int, *, relative: bool) -> float:
    """As without bound, against the alternatives within it."""
    radius = required(test.threshold, int(evidence.clock[Clock.ROUNDS]), 0)

    def accepts(asked: Task) -> bool:
        if signed_distance(asked, evidence, z) > radius:
            return True
        return bool(statistic_within(test.within, test.rival, asked, evidence, z) > radius)

    return of_question(task, evidence, accepts, relative=relative)


def within_mixture(
    test: SmoothMixture, task: Task, evidence: Evidence, z: int, *, relative: bool
) -> float:
    """The same for the e-value."""
    plain = test.mixture

    def accepts(asked: Task) -> bool:
        if mixture.log_e_value(plain, asked, evidence, z) > plain.levels[0]:
            return True
        return bool(log_e_value_within(test, asked, evidence, z) > plain.levels[0])

    return of_question(task, evidence, accepts, relative=relative)


def start_mixture(task: Task, deltas: Sequence[float], *, smoothness: Smoothness) -> SmoothMixture:
    """The state before the first measurement."""
    plain, d = mixture.start(task, deltas), task.arms.shape[1]
    return SmoothMixture(
        mixture=plain,
        within=ellipsoid(task, smoothness),
        rival=no_rival(task),
        metric=np.zeros((d, d)),
        root=np.zeros((d, d)),
        distances=np.zeros((len(plain.kappas), len(task.answers))),
        terms=np.zeros(len(plain.kappas)),
        line=np.zeros((d, 1)),
    )


def _within(promise: Guarantee) -> Guarantee:
    """The same, for parameters within the bound."""
    words = promise.words.replace(" noise,", " noise and a parameter within the bound,")
    return replace(promise, words=words)


def _version(choice: Choice) -> StoppingTest:
    """The test with one of the thresholds that grow with t."""

    def start(task: Task, deltas: Sequence[float], *, smoothness: Smoothness) -> Smooth:
        return Smooth(choice.make(task, deltas), ellipsoid(task, smoothness), no_rival(task))

    return StoppingTest(
        name="smooth",
        start=start,
        judge=judge,
        score=score,
        region=glr.region,
        within=within,
        width=threshold_width,
        guarantee=_within(choice.about.guarantee),
        what=WHAT,
        source=SOURCE,
        needs_bound=True,
    )


TESTS = {
    "mixture": StoppingTest(
        name="smooth",
        start=start_mixture,
        judge=judge_mixture,
        score=score_mixture,
        region=region_mixture,
        within=within_mixture,
        guarantee=_within(mixture.KNOWN.guarantee),
        what=WHAT,
        source=SOURCE,
        needs_bound=True,
    )
} | {name: _version(THRESHOLDS[name]) for name in ("theory", "paper")}
