"""The outline of a confidence set in the plane: no smaller than the set."""

import numpy as np
from numpy.typing import NDArray

from furthest.study.intervals import NO_GAUSSIAN, NO_SET, TOO_FEW
from furthest.study.verdict import Look

Points = NDArray[np.float64]

# Directions in half a turn; the outline has about twice as many corners.
DIRECTIONS = 36


def outline(look: Look) -> tuple[Points | None, str | None]:
    """Corners in the coordinates of the task, in order; or None, and why.

    What is left of the plane by the intervals of so many directions, spread evenly in the metric of
    the estimate, and of the arms, along which some sets have their edges.
    """
    if look.blocked:
        return None, NO_GAUSSIAN
    turns = np.pi / DIRECTIONS * np.arange(DIRECTIONS)
    try:
        factor = np.linalg.cholesky(look.evidence.matrix)
    except np.linalg.LinAlgError:
        return None, TOO_FEW
    rows = np.column_stack([np.cos(turns), np.sin(turns)]) @ factor.T
    found = look.intervals(np.vstack([rows, look.task.arms[:DIRECTIONS]]))
    if found is None:
        return None, NO_SET
    highs, lows = found.highs, found.lows
    if not np.isfinite([highs[:DIRECTIONS], lows[:DIRECTIONS]]).all():
        return None, TOO_FEW
    # With w = Lᵀλ, V = LLᵀ, the set is about as wide in all directions.
    normals = np.linalg.solve(factor, np.vstack([rows, look.task.arms[:DIRECTIONS]]).T).T
    corners = around(normals, lows, highs)
    if not len(corners):
        return None, TOO_FEW
    return np.linalg.solve(factor.T, corners.T).T, None


def around(normals: Points, lows: Points, highs: Points) -> Points:
    """The corners of {w : low ≤ ⟨w, n⟩ ≤ high for each normal n}; none if it is empty.

    The first normals have length 1, and are at least two.
    """
    middle = np.linalg.lstsq(normals, 0.5 * (lows + highs), rcond=None)[0]
    size = 4.0 * float((np.abs(normals @ middle) + np.abs([lows, highs]).max(axis=0)).max())
    corners = middle + size * np.array([[-1.0, -1.0], [1.0, -1.0], [1.0, 1.0], [-1.0, 1.0]])
    for normal, low, high in zip(normals, lows, highs, strict=True):
        corners = _cut(_cut(corners, normal, high), -normal, -low)
    return corners


def _cut(corners: Points, normal: Points, most: float) -> Points:
    """What a convex polygon has in {w : ⟨w, n⟩ ≤ most}."""
    kept: list[Points] = []
    room = most - corners @ normal
    for i in range(len(corners)):
        before, here = room[i - 1], room[i]
        if (before < 0) != (here < 0):
            kept.append(corners[i - 1] + before / (before - here) * (corners[i] - corners[i - 1]))
        if here >= 0:
            kept.append(corners[i])
    return np.array(kept).reshape(-1, 2)
