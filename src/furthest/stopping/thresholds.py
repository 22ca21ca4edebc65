"""Thresholds of the GLR statistic that grow with t: slope·ln(4 + ln(t/scale)) + offset(δ).

`theory` is proven, `paper` is the published experiments' heuristic. `gap` and `elimination` use
them as widths.
"""

import math
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy as np

from furthest.axes import PAPER
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Vector
from furthest.stopping.nomination import Stopping
from furthest.stopping.test import Guarantee, StoppingTest
from furthest.task import Task


class Threshold(NamedTuple):
    """slope·ln(4 + ln(t/scale)) + offset."""

    slope: float
    scale: float
    offsets: Vector  # (levels,) one per confidence level, ascending


class About(NamedTuple):
    """A threshold as users know it."""

    what: str
    source: str
    guarantee: Guarantee


class Choice(NamedTuple):
    """A threshold that users may choose."""

    make: Callable[[Task, Sequence[float]], Threshold]
    about: About


@kernel
def required(rule: Threshold, rounds: int, level: int) -> float:
    """What the statistic must exceed after `rounds` measurements.

    Fewer rounds than arms: n·ln(4 + ln(t/n)) over the n ≤ t arms pulled is at most K·ln 4.
    """
    per_arm = max(rounds / rule.scale, 1.0)
    return rule.slope * math.log(4.0 + math.log(per_arm)) + rule.offsets[level]


@kernel
def threshold_width(stopping: Stopping, task: Task, rounds: int) -> float:
    """The threshold of the smallest δ, of a test whose state has one."""
    rule: Threshold = stopping.test.threshold
    return required(rule, rounds, rule.offsets.shape[0] - 1)


def concentration(x: float) -> float:
    """C_G(x) = min over λ in (½, 1) of (g_G(λ) + x)/λ, from Kaufmann & Koolen (2021).

    g_G(λ) = 2λ − 2λ ln(4λ) + ln ζ(2λ) − ½ ln(1 − λ). The paper prints a maximum, which would be
    infinite; its source has the minimum.

    Paper: Equation 9.
    """
    from scipy.optimize import minimize_scalar
    from scipy.special import zeta

    def objective(lam: float) -> float:
        g = 2 * lam - 2 * lam * math.log(4 * lam) + math.log(zeta(2 * lam))
        return float((g - 0.5 * math.log1p(-lam) + x) / lam)

    found = minimize_scalar(
        objective, bounds=(0.5 + 1e-12, 1 - 1e-12), method="bounded", options={"xatol": 1e-12}
    )
    return float(found.fun)


def theory(task: Task, deltas: Sequence[float]) -> Threshold:
    """2β(t,δ), β = 2K ln(4 + ln(t/K)) + K·C_G(ln(1/δ)/K).

    Paper: Equation 6, Lemma 3.1.
    """
    arms = len(task.arms)
    offsets = [2 * arms * concentration(math.log(1 / delta) / arms) for delta in deltas]
    return Threshold(4.0 * arms, float(arms), np.array(offsets))


def paper(task: Task, deltas: Sequence[float]) -> Threshold:
    """2β(t,δ), β = 2d ln(4 + ln(t/d)) + ln(1/δ): the theory's main term with d in place of K.

    The paper says so, and prints β = 4 ln((4 + ln(t/2))/δ) for d = 2, where ln(1/δ) is within the
    bracket and counts fourfold.

    Paper: experiments' threshold.
    """
    d = task.arms.shape[1]
    return Threshold(4.0 * d, float(d), np.array([2 * math.log(1 / delta) for delta in deltas]))


def paper_before(task: Task, deltas: Sequence[float]) -> Threshold:
    """4 ln((4 + ln(t/2))/δ): what `paper` meant before version 0.5, for studies begun with it."""
    return Threshold(4.0, 2.0, np.array([4 * math.log(1 / delta) for delta in deltas]))


def by_threshold(state: Callable[[Threshold], Any], **test: Any) -> dict[str, StoppingTest]:
    """The versions of a test whose state is made of a threshold, which is also its width."""
    return {name: _version(choice, state, test) for name, choice in THRESHOLDS.items()}


def _version(choice: Choice, state: Callable[[Threshold], Any], test: Any) -> StoppingTest:
    def start(task: Task, deltas: Sequence[float]) -> Any:
        return state(choice.make(task, deltas))

    guarantee = choice.about.guarantee
    return StoppingTest(start=start, width=threshold_width, guarantee=guarantee, **test)


THRESHOLDS = {
    "theory": Choice(
        theory,
        About(
            "GLR > 2β, β(t,δ) = 2K ln(4 + ln(t/K)) + K·C_G(ln(1/δ)/K)",
            f"{PAPER}, lemma 3.1, from Kaufmann & Koolen (2021)",
            Guarantee(
                proven=True,
                noise="Gaussian",
                words="proven (ε,δ)-PAC for Gaussian noise, any sampling rule, any checking times",
            ),
        ),
    ),
    "paper": Choice(
        paper,
        About(
            "GLR > 2β, β(t,δ) = 2d ln(4 + ln(t/d)) + ln(1/δ)",
            f"{PAPER}, appendix on implementation: the threshold of the printed tables",
            Guarantee(
                proven=False,
                noise="any",
                words="heuristic: no proof; the authors' experiments use it",
            ),
        ),
    ),
    "paper-0.4": Choice(
        paper_before,
        About(
            "GLR > 4 ln((4 + ln(t/2))/δ)",
            "what `paper` meant up to version 0.4; kept for studies that were begun with it",
            Guarantee(proven=False, noise="any", words="heuristic: no proof"),
        ),
    ),
}
