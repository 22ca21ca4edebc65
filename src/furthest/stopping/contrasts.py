"""How one answer compares with the others: for scores and verdicts."""

import math
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.kernels.alternatives import SAME
from furthest.kernels.beside import measure
from furthest.kernels.evidence import Clock, Evidence
from furthest.task import Task


class Contrasts(NamedTuple):
    """How answer z compares with every other x, by least squares."""

    margins: NDArray[np.float64]  # n = ⟨μ_t, z − c·x⟩ + e
    norms: NDArray[np.float64]  # ‖z − c·x‖²_{V⁻¹}
    spreads: NDArray[np.float64]  # ‖V⁻¹(z − c·x)‖²


def contrasts(task: Task, evidence: Evidence, z: int) -> Contrasts:
    """With the answers x that differ from z."""
    norms, spreads = np.empty_like(evidence.values), np.empty_like(evidence.values)
    measure(task.answer_columns, evidence.projected, z, task.c, norms, spreads)
    own = float(task.answers[z] @ evidence.projected[:, z])
    others = np.flatnonzero((norms > SAME * own) & (np.arange(len(norms)) != z))
    margins = evidence.values[z] - task.c * evidence.values[others] + task.e
    return Contrasts(margins, norms[others], spreads[others])


def is_singular(evidence: Evidence) -> bool:
    """Whether V is singular to rounding, so that nothing can be said of any answer."""
    return bool(evidence.clock[Clock.SINGULAR])


def signed_distance(task: Task, evidence: Evidence, z: int) -> float:
    """Squared distance of the nearest alternative to z; negative how far z is from being ε-best.

    That is min over x of n|n|/‖z − c·x‖²_{V⁻¹}.
    """
    if is_singular(evidence):
        return 0.0
    margins, norms, _ = contrasts(task, evidence, z)
    return float((margins * np.abs(margins) / norms).min(initial=math.inf))


def glr_statistic(task: Task, evidence: Evidence, z: int) -> float:
    """Squared distance of the nearest alternative to z."""
    return max(0.0, signed_distance(task, evidence, z))


def clearest_defeat(task: Task, evidence: Evidence, z: int) -> tuple[float, float, float] | None:
    """(n², ‖y‖²_{V⁻¹}, ‖V⁻¹y‖²), y = z − c·x, for the x that beats z most clearly; or None.

    A confidence set that misses {λ : ⟨λ, y⟩ + e ≥ 0} has no parameter under which z is ε-best.
    """
    margins, norms, spreads = contrasts(task, evidence, z)
    distances = np.minimum(margins, 0.0) ** 2 / norms
    if not distances.size or not distances.max() > 0:
        return None
    x = int(distances.argmax())
    return float(margins[x] ** 2), float(norms[x]), float(spreads[x])
