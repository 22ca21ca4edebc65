"""What the evidence says by now: statistic against threshold, and a verdict on every answer.

All of it holds at once and at all times with the one probability 1 − δ of the study: the verdicts
use the confidence set that the stopping test itself rests on. Everything works on copies.
"""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.kernels import normal_gamma, thresholds, topwrong
from furthest.kernels.alternatives import SAME
from furthest.kernels.evidence import ROUNDS, Evidence
from furthest.kernels.judging import ELIMINATION_TEST, GAP_TEST, SURVIVOR, ByThreshold, judge
from furthest.kernels.normal_gamma import NormalGamma
from furthest.kernels.task import Task
from furthest.kernels.topwrong import KAPPA, RADIUS, SQUARED_RADIUS, TopWrong
from furthest.strategy import Start
from furthest.study.fold import copied

PROVEN = "proven"  # within ε of the best
POSSIBLE = "possible"  # may be within ε of the best
RULED_OUT = "ruled out"  # worse than the best by more than ε

# The largest ln 1/δ that is looked for, and how closely.
MOST = 2.0**20
HALVINGS = 50


class Score(NamedTuple):
    """The test of an answer: it is accepted where the statistic reaches the threshold."""

    statistic: float
    threshold: float
    meaning: str


class Contrasts(NamedTuple):
    """How answer z compares with every other x, by least squares."""

    others: NDArray[np.int64]
    margins: NDArray[np.float64]  # n = ⟨μ_t, z − c·x⟩ + e
    norms: NDArray[np.float64]  # ‖z − c·x‖²_{V⁻¹}
    spreads: NDArray[np.float64]  # ‖V⁻¹(z − c·x)‖²


EVIDENCE = "ln 1/δ' of the least δ' that the evidence proves, against ln 1/δ"


def score(task: Task, state: Start, z: int, delta: float) -> Score:
    """How near answer z is to being accepted.

    For every proven rule the statistic is ln 1/δ', with δ' the least level at which z would be
    accepted by now: 0 says nothing, and the study stops when δ' falls to δ.
    """
    found = _score(task, state, z, delta)
    # Infinite where nothing can be confused; a number in every file all the same.
    return found._replace(statistic=min(found.statistic, MOST))


def _score(task: Task, state: Start, z: int, delta: float) -> Score:
    evidence, stopping, _ = copied(state)
    test, threshold, needed = stopping.test, stopping.threshold, math.log(1 / delta)
    rounds = int(evidence.clock[ROUNDS])
    if isinstance(test, TopWrong):
        return Score(_top_wrong_level(task, evidence, stopping, z, needed), needed, EVIDENCE)
    if isinstance(test, NormalGamma):
        found = normal_gamma.mixture_log_e_value(test, task, evidence, z)
        return Score(max(0.0, found), needed, EVIDENCE)
    if test.kind == ELIMINATION_TEST:
        survivor = stopping.state[SURVIVOR] >= 0
        return Score(float(survivor), 1.0, "1 once all answers but one are eliminated")
    if test.kind == GAP_TEST:
        width = thresholds.width(threshold, rounds, 0)
        contrast = contrasts(task._replace(c=1.0, e=0.0), evidence, z)
        gaps = np.sqrt(contrast.norms * width) - contrast.margins
        return Score(task.e - gaps.max(initial=-math.inf), 0.0, "ε minus the largest possible gap")
    if threshold.kind == thresholds.MIXTURE:
        found = thresholds.log_e_value(threshold, task, evidence, z)
        return Score(max(0.0, found), needed, EVIDENCE)
    return Score(_glr(task, evidence, z), thresholds.width(threshold, rounds, 0), "GLR statistic")


def _top_wrong_level(task: Task, evidence: Evidence, stopping: Any, z: int, needed: float) -> float:
    """The largest ln 1/δ' at which the test accepts z, by bisection.

    A greater δ' shrinks the ellipsoids and lowers what is required: acceptance is monotone.
    """
    test: TopWrong = stopping.test
    slopes = np.ones_like(test.required)
    slopes[RADIUS] = 2.0  # the squared radius contains 2 ln 1/δ

    def accepts(level: float) -> bool:
        moved = test._replace(required=test.required + (level - needed) * slopes)
        return _accepts(task, evidence, stopping._replace(test=moved), z)

    if accepts(needed):
        below, above = needed, 2 * needed + 1
        while accepts(above):
            below, above = above, 2 * above
            if above > MOST:
                return below
    elif accepts(0.0):
        below, above = 0.0, needed
    else:
        return 0.0
    for _ in range(HALVINGS):
        middle = 0.5 * (below + above)
        below, above = (middle, above) if accepts(middle) else (below, middle)
    return below


def _accepts(task: Task, evidence: Evidence, stopping: Any, z: int) -> bool:
    """Whether the stopping test itself accepts z."""
    state = stopping.state.copy()
    state[:2] = z, 0
    glr = _glr(task, evidence, z)
    reached = judge(stopping.test, stopping.threshold, task, evidence, glr, state)
    return reached > 0 and state[0] == z


def _glr(task: Task, evidence: Evidence, z: int) -> float:
    """Squared distance of the nearest alternative to z."""
    _, margins, norms, _ = contrasts(task, evidence, z)
    return float((np.maximum(margins, 0.0) ** 2 / norms).min(initial=math.inf))


def contrasts(task: Task, evidence: Evidence, z: int) -> Contrasts:
    """The answers x that differ from z, and how."""
    differences = task.answers[z] - task.c * task.answers
    duals = (evidence.projected[:, [z]] - task.c * evidence.projected).T
    norms = np.einsum("xi,xi->x", differences, duals)
    own = float(task.answers[z] @ evidence.projected[:, z])
    others = np.flatnonzero((norms > SAME * own) & (np.arange(len(norms)) != z))
    margins = evidence.values[z] - task.c * evidence.values[others] + task.e
    return Contrasts(others, margins, norms[others], np.einsum("xi,xi->x", duals, duals)[others])


def verdicts(task: Task, state: Start) -> list[str]:
    """A verdict on every answer."""
    evidence, stopping, _ = copied(state)
    excludes = _excluder(task, evidence, stopping)
    top = evidence.values.max()
    found = []
    for z, value in enumerate(evidence.values):
        near_best = value - task.c * top + task.e >= 0
        if near_best and _accepts(task, evidence, stopping, z):
            found.append(PROVEN)
        else:
            found.append(RULED_OUT if _ruled_out(task, evidence, z, excludes) else POSSIBLE)
    return found


def _ruled_out(task: Task, evidence: Evidence, z: int, excludes: Any) -> bool:
    """Whether the confidence set has no parameter under which z is ε-best.

    It is enough to look at the x that beats z most clearly: {λ : ⟨λ, z − c·x⟩ + e ≥ 0} is missed.
    """
    _, margins, norms, spreads = contrasts(task, evidence, z)
    distances = np.minimum(margins, 0.0) ** 2 / norms
    if not distances.size or not distances.max() > 0:
        return False
    x = int(distances.argmax())
    return bool(excludes(margins[x] ** 2, norms[x], spreads[x]))


def _excluder(task: Task, evidence: Evidence, stopping: Any) -> Any:
    """(n², ‖y‖²_{V⁻¹}, ‖V⁻¹y‖²) ↦ whether the confidence set misses a half-space at margin n."""
    test, threshold = stopping.test, stopping.threshold
    rounds = float(evidence.clock[ROUNDS])
    if isinstance(test, TopWrong):
        topwrong.update_ellipsoids(test, topwrong.case(task, evidence), evidence.matrix, 0)
        kappas, radii = test.ellipsoids[KAPPA], test.ellipsoids[SQUARED_RADIUS]
        return lambda square, norm, spread: np.any(square / (norm + kappas * spread) > radii)
    if isinstance(test, NormalGamma):
        normal_gamma.update_volumes(test, evidence.matrix)
        largest = normal_gamma.largest_eigenvalue(evidence.inverse, test.factor, test.work)
        return lambda square, norm, spread: (
            normal_gamma._log_average(test, square, norm, spread, rounds, largest) > test.offsets[0]
        )
    assert isinstance(test, ByThreshold)
    if threshold.kind == thresholds.MIXTURE:
        thresholds.update_volumes(threshold, evidence.matrix)
        return lambda square, norm, spread: (
            thresholds._log_average(threshold, square, norm, spread) > threshold.offsets[0]
        )
    width = thresholds.width(threshold, int(rounds), 0)
    return lambda square, norm, _: square / norm > width
