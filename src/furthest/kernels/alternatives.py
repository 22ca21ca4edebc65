"""The closest alternative to an answer, and how far it is. Both notions, any metric.

An alternative to z is a parameter under which some x beats z by more than ε: with y = z − c·x and
margin n = ⟨μ, y⟩ + e, the half-space {λ : ⟨λ, y⟩ + e ≤ 0}. In the metric V it is at squared
distance n²₊/‖y‖²_{V⁻¹}, reached at λ = μ − n/‖y‖²_{V⁻¹} · V⁻¹y (the paper's lemma on
closest alternatives).
"""

import math

from furthest.kernels.evidence import Evidence
from furthest.kernels.jit import inlined, kernel
from furthest.kernels.linalg import BLOCK, Matrix, Vector, fill
from furthest.task import Task

# ‖y‖² below this share of ‖z‖² is rounding: z = c·x, which no parameter can tell apart.
SAME = 1e-24


@inlined
def margin(task: Task, values: Vector, z: int, x: int) -> float:
    """n = ⟨μ, z − c·x⟩ + e.

    Paper: alternatives.
    """
    return values[z] - task.c * values[x] + task.e


@inlined
def contrast_norms(columns: Matrix, duals: Matrix, z: int, c: float, out: Vector) -> float:
    """out_x = ⟨columns_z − c·columns_x, duals_z − c·duals_x⟩ for every x; returns that of z alone.

    With the answers as columns and V⁻¹·answers as duals this is ‖z − c·x‖²_{V⁻¹}.
    """
    m = out.shape[0]
    if m > BLOCK:
        return _wide_norms(columns, duals, z, c, out)
    own = 0.0
    for x in range(m):
        out[x] = 0.0
    for i in range(columns.shape[0]):
        column, dual = columns[i], duals[i]
        zi, pi = column[z], dual[z]
        own += zi * pi
        for x in range(m):
            out[x] += (zi - c * column[x]) * (pi - c * dual[x])
    return own


@kernel
def _wide_norms(columns: Matrix, duals: Matrix, z: int, c: float, out: Vector) -> float:
    """`contrast_norms`, block by block."""
    own = 0.0
    for low in range(0, out.shape[0], BLOCK):
        part = out[low : low + BLOCK]
        high = low + part.shape[0]
        fill(part, 0.0)
        own = 0.0
        for i in range(columns.shape[0]):
            column, dual = columns[i, low:high], duals[i, low:high]
            zi, pi = columns[i, z], duals[i, z]
            own += zi * pi
            for x in range(part.shape[0]):
                part[x] += (zi - c * column[x]) * (pi - c * dual[x])
    return own


@inlined
def nearest(
    task: Task, values: Vector, z: int, norms: Vector, own: float, limit: float
) -> tuple[float, int]:
    """(squared distance, x) of the nearest alternative to z, given all ‖z − c·x‖².

    Gives up, with whatever it has, once the distance is below `limit`. Without any alternative
    the distance is infinite and x = −1.

    Paper: Lemma C.1, Lemma C.2.
    """
    floor = SAME * own
    best, where = math.inf, -1
    for x in range(norms.shape[0]):
        if x == z or not norms[x] > floor:
            continue
        n = margin(task, values, z, x)
        if n <= 0.0:
            return 0.0, x
        distance = n * n / norms[x]
        if distance < best:
            best, where = distance, x
            if best < limit:
                return best, where
    return best, where


@inlined
def statistic(task: Task, evidence: Evidence, z: int, limit: float) -> tuple[float, int]:
    """GLR statistic of answer z: squared distance of its nearest alternative in the metric V_N.

    Paper: Equation 5, likelihood ratio.
    """
    norms = evidence.norms
    own = contrast_norms(task.answer_columns, evidence.projected, z, task.c, norms)
    return nearest(task, evidence.values, z, norms, own, limit)


@kernel
def distance_from(task: Task, evidence: Evidence, z: int, x: int) -> float:
    """The squared distance that `statistic` takes the least of, of one x ≠ z alone: O(d)."""
    own, norm = 0.0, 0.0
    for i in range(evidence.projected.shape[0]):
        zi, pi = task.answers[z, i], evidence.projected[i, z]
        own += zi * pi
        norm += (zi - task.c * task.answers[x, i]) * (pi - task.c * evidence.projected[i, x])
    if not norm > SAME * own:
        return math.inf
    n = max(margin(task, evidence.values, z, x), 0.0)
    return n * n / norm
