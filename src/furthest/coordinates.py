"""Coordinates in which the rank of the arms can be judged, and names for what they do not see.

A feature may be counted in bytes, another be a flag. Their units must not decide which directions
exist, so the largest entry of every column is made 1 before the singular values of the arms are
looked at. Relative to the largest they mean:

- up to `ROUNDING`: rounding of the features themselves. The direction does not exist, is dropped
  and named (`relations`);
- up to `COLLINEAR`: in double precision nobody can tell. Refused;
- above: real.

docs/decisions/0012-scaling-and-rank.md has the reasons.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.errors import SpanError

ROUNDING = 1e-12
COLLINEAR = 1e-8

# Up to this, values are equal.
SAME_VALUE = 1e-9

# With less between a value and the ends of an interval, rounding would decide if it is within.
LEAST_ROOM = 1e-6

# Largest entry of a column, beyond which products of it leave the range of double precision.
LEAST_ENTRY, LARGEST_ENTRY = 1e-280, 1e280

# More rows than this are worked on in parts, unless they are few beside the columns.
MANY_ROWS = 2**12

# Of columns of one scale: coefficients that are not written down, and that are not divided by.
NEGLIGIBLE = 1e-8
LEAST_PIVOT = 1e-3


class Span(NamedTuple):
    """What the arms can see: arms/sizes = U·singular·rows, up to rounding."""

    sizes: NDArray[np.float64]  # (dimension,) the largest entry of each column
    singular: NDArray[np.float64]  # (d,) descending
    rows: NDArray[np.float64]  # (d, dimension), orthonormal


def span_of(arms: NDArray[np.float64], answers: NDArray[np.float64], names: Sequence[str]) -> Span:
    """The directions in which the arms vary; refused where rounding would decide."""
    sizes = _column_sizes(arms, answers, names)
    _, singular, rows = np.linalg.svd(_condensed(arms, sizes), full_matrices=False)
    kept = singular > ROUNDING * singular[0]
    weak = (kept & (singular < COLLINEAR * singular[0])).nonzero()[0]
    if len(weak):
        parts = np.abs(rows[weak[-1]])
        which = [name for name, part in zip(names, parts, strict=True) if part > parts.max() / 10]
        raise SpanError(
            f"the features {listed(which)} are nearly collinear: the arms differ by "
            f"{singular[weak[-1]] / singular[0]:.0e} of their size in one combination of them, and "
            "double precision cannot tell that from rounding; centre them (subtract the mean or a "
            "nearby zero), or drop one"
        )
    return Span(sizes, singular[kept], rows[kept])


def parts(rows: NDArray[np.float64]) -> list[slice]:
    """Of many rows some at a time, so that what is made of them takes little memory."""
    step = max(MANY_ROWS, 4 * rows.shape[1])
    return [slice(first, first + step) for first in range(0, len(rows), step)]


def _condensed(arms: NDArray[np.float64], scales: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scaled arms; of many the triangular factor, with the same singular values and directions."""
    first, *others = parts(arms)
    condensed = arms[first] / scales
    for part in others:
        stacked = np.vstack([condensed, arms[part] / scales])
        condensed = np.asarray(np.linalg.qr(stacked, mode="r"))
    return condensed


def _column_sizes(
    arms: NDArray[np.float64], answers: NDArray[np.float64], names: Sequence[str]
) -> NDArray[np.float64]:
    """The arms' largest entry in each column; where there is none the answers', or else 1."""
    sizes = _largest(arms)
    sizes = np.where(sizes > 0, sizes, _largest(answers))
    for name, size in zip(names, sizes.tolist(), strict=True):
        if size > 0 and not LEAST_ENTRY < size < LARGEST_ENTRY:
            raise SpanError(
                f"the largest entry of feature {name!r} is {size:g}, which double precision "
                "cannot work with: take another unit"
            )
    return np.where(sizes > 0, sizes, 1.0)


def _largest(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Of each column, whatever its sign; no matrix of absolute values is made."""
    return np.asarray(np.maximum(rows.max(axis=0), -rows.min(axis=0)))


def scales_of(span: Span) -> NDArray[np.float64]:
    """Powers of 256 that bring the largest entries of the columns to 1/16 … 16.

    Powers of two, so that scaling is exact; and coarse, so that most problems stay as they are, and
    their whitened coordinates with them, to the last bit.
    """
    steps = np.rint(np.log2(span.sizes) / 8).astype(int)
    return np.asarray(np.ldexp(1.0, 8 * steps))


def whitening(arms: NDArray[np.float64], span: Span) -> NDArray[np.float64]:
    """(dimension, d) map to whitened coordinates of the arms' span: arms @ basis.

    With scaled arms A = U S Wᵀ of rank d, basis = √K · W S⁻¹ makes basisᵀ AᵀA basis = K·I; the
    scales are folded in. They move a singular value by a factor of 16 at most, so the d largest
    belong to the same directions as in the span.
    """
    scales, d = scales_of(span), len(span.rows)
    _, singular, rows = np.linalg.svd(_condensed(arms, scales), full_matrices=False)
    basis: NDArray[np.float64] = rows[:d].T * (np.sqrt(len(arms)) / singular[:d])
    return basis / scales[:, None]


def outside(
    answers: NDArray[np.float64], span: Span, *, shared: bool
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    """How large a part of each scaled answer the arms do not see, and where it is no rounding.

    Where only differences matter (`shared`), a part that all answers have does not count. An answer
    Σ c·a of the arms is known no better than they are: to ROUNDING·‖arms‖·‖c‖.
    """
    origin, doubt = _unseen(answers[:1], span) if shared else (0.0, 0.0)
    sizes, unseen = [], []
    for part in parts(answers):
        rest, trust = _unseen(answers[part], span)
        sizes.append(np.abs(rest - origin).max(axis=1))
        unseen.append(sizes[-1] > trust + doubt)
    return np.concatenate(sizes), np.concatenate(unseen)


def _unseen(
    answers: NDArray[np.float64], span: Span
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The scaled answers' parts that the arms do not see, and what of them may be rounding."""
    scaled = answers / span.sizes
    inside = scaled @ span.rows.T
    rest = scaled - inside @ span.rows
    combination = np.linalg.norm(inside / span.singular, axis=1)
    trust = ROUNDING * (span.singular[0] * (1 + combination) + np.linalg.norm(scaled, axis=1))
    return rest, trust


def relations(span: Span, names: Sequence[str]) -> tuple[str, ...]:
    """What holds for all arms, one text per direction that they do not see: `x2 = x0 + x1`."""
    rank, dimension = span.rows.shape
    if rank == dimension:
        return ()
    null = np.linalg.qr(span.rows.T, mode="complete")[0][:, rank:].T
    found = []
    for column, row in _echelon(null):
        row[np.abs(row) < NEGLIGIBLE * np.abs(row).max()] = 0.0
        others = -row * (span.sizes[column] / span.sizes)
        others[column] = 0.0
        found.append((column, f"{names[column]} = {_sum(others, names)}"))
    return tuple(text for _, text in sorted(found))


def _echelon(null: NDArray[np.float64]) -> list[tuple[int, NDArray[np.float64]]]:
    """Reduced echelon form, from the right: each row has a 1 in a column that no other row has."""
    rows, owners = null.copy(), list[int]()
    for column in reversed(range(rows.shape[1])):
        done = len(owners)
        if done == len(rows):
            break
        best = done + int(np.abs(rows[done:, column]).argmax())
        if abs(rows[best, column]) < LEAST_PIVOT:
            continue
        rows[[done, best]] = rows[[best, done]]
        rows[done] /= rows[done, column]
        others = np.arange(len(rows)) != done
        rows[others] -= np.outer(rows[others, column], rows[done])
        owners.append(column)
    return list(zip(owners, rows, strict=False))


def _sum(coefficients: NDArray[np.float64], names: Sequence[str]) -> str:
    """`x0 − 0.5 x1`; `0` of nothing."""
    text = ""
    for name, value in zip(names, coefficients.tolist(), strict=True):
        if value:
            sign = ("−" if value < 0 else "") if not text else " − " if value < 0 else " + "
            size = f"{abs(value):.4g}"
            text += sign + (name if size == "1" else f"{size} {name}")
    return text or "0"


def constant_direction(
    arms: NDArray[np.float64], target: NDArray[np.float64]
) -> NDArray[np.float64] | None:
    """The parameter that gives every arm, in whitened coordinates, its target; None if none does.

    AᵀA = K·I there, so that least squares is an average. Where all arms have the noise of one unit,
    every target is 1.
    """
    scaled = arms if (target == 1.0).all() else arms * target[:, None]
    direction: NDArray[np.float64] = scaled.mean(axis=0)
    apart = np.abs(arms @ direction / target - 1).max()
    return direction if apart <= SAME_VALUE else None


def inner_point(arms: NDArray[np.float64], low: float) -> NDArray[np.float64] | None:
    """A parameter that gives every arm a value well between `low` and `low + 2`; None if none does.

    The middle for all of them, or as far from both ends as can be.
    """
    direction = constant_direction(arms, np.ones(len(arms)))
    if direction is not None:
        return (low + 1.0) * direction
    from scipy.optimize import linprog

    count, d = arms.shape
    ends = np.ones((count, 1))
    found = linprog(
        np.append(np.zeros(d), -1.0),
        A_ub=np.block([[-arms, ends], [arms, ends]]),
        b_ub=np.repeat([-low, low + 2.0], count),
        bounds=[(None, None)] * d + [(0.0, 1.0)],
        method="highs",
    )
    if found.x is None or not found.x[d] > LEAST_ROOM:
        return None
    return np.asarray(found.x[:d])


def listed(texts: Sequence[str], most: int = 3) -> str:
    """`a, b and c`; of many the first."""
    if len(texts) > most:
        return f"{', '.join(texts[:most])} and {len(texts) - most} more"
    return " and ".join([", ".join(texts[:-1]), texts[-1]] if len(texts) > 1 else texts)
