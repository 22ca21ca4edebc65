"""Features from the columns of a table: numbers as they are, texts as categories, an intercept."""

from collections.abc import Mapping, Sequence
from numbers import Number
from typing import Any

import numpy as np
from numpy.typing import NDArray

from furthest.coordinates import COLLINEAR, ROUNDING
from furthest.errors import NotFiniteError, ShapeError

INTERCEPT = "intercept"

# How the types of categorical columns are called in pandas and in polars.
CATEGORICAL = ("category", "categorical", "enum")


def coded(
    columns: Mapping[str, Any], rows: Sequence[str], measured: Sequence[int], *, intercept: bool
) -> tuple[NDArray[np.float64], list[str]]:
    """One row of features per row of the table, and the features' names.

    `rows` are what the rows are called in messages, `measured` those that are arms. A category has
    one feature per level but the first, its reference, which is in the intercept; without one, the
    first category has a feature for every level. The intercept is left out where some combination
    of features is the same for all arms anyway.
    """
    if not columns or not rows:
        raise ShapeError(f"the table has no {'rows' if columns else 'feature columns'}")
    read = {name: _column(name, values, rows) for name, values in columns.items()}
    constant = intercept or any(_is_constant(column) for column in read.values())
    features: dict[str, NDArray[np.float64]] = {}
    for name, column in read.items():
        if isinstance(column, np.ndarray):
            features[name] = column
            continue
        for level in _levels(column)[constant:]:
            features[f"{name}={level}"] = np.array([float(cell == level) for cell in column])
        constant = True
    if intercept and not _has_constant([column[measured] for column in features.values()]):
        features = {INTERCEPT: np.ones(len(rows))} | features
    return np.column_stack(list(features.values())), list(features)


def _column(name: str, values: Any, rows: Sequence[str]) -> NDArray[np.float64] | list[Any]:
    """Numbers as an array, categories as a list; everything else is named and refused."""
    kind = getattr(values, "dtype", None)
    cells = np.asarray(values).tolist() if hasattr(values, "__array__") else list(values)
    cells = [cell.item() if isinstance(cell, np.generic) else cell for cell in cells]
    if len(cells) != len(rows):
        raise ShapeError(f"column {name!r} has {len(cells)} entries, not {len(rows)}")
    if getattr(kind, "kind", "") in ("m", "M"):
        raise ShapeError(f"column {name!r} holds dates or times: give numbers, as days since one")
    for row, cell in zip(rows, cells, strict=True):
        if _is_missing(cell):
            raise NotFiniteError(f"{row}, column {name!r}: there is no value")
    if str(kind).lower().startswith(CATEGORICAL):
        return [str(cell) for cell in cells]
    if all(isinstance(cell, str | bool) for cell in cells):
        return cells
    return np.array([_number(cell, name, row) for row, cell in zip(rows, cells, strict=True)])


def _number(cell: Any, name: str, row: str) -> float:
    if not isinstance(cell, Number) or isinstance(cell, bool | complex):
        raise ShapeError(f"{row}, column {name!r}: {cell!r} is not a number, as others there")
    number = float(cell)  # type: ignore[arg-type]
    if not np.isfinite(number):
        raise NotFiniteError(f"{row}, column {name!r}: {number} is not finite")
    return number


def _is_missing(cell: Any) -> bool:
    """None, NaN, and what neither is nor is not equal to itself, as the NA of pandas."""
    try:
        return cell is None or bool(cell != cell)  # noqa: PLR0124
    except TypeError:
        return True


def _is_constant(column: NDArray[np.float64] | list[Any]) -> bool:
    return isinstance(column, np.ndarray) and bool(column[0] != 0 and (column == column[0]).all())


def _levels(column: list[Any]) -> list[Any]:
    """Different entries in the order seen; False before True."""
    if all(isinstance(cell, bool) for cell in column):
        return sorted(set(column))
    return list(dict.fromkeys(column))


def _has_constant(columns: list[NDArray[np.float64]]) -> bool:
    """Whether some combination of the columns is 1 everywhere, up to rounding."""
    if not columns:
        return False
    scaled = [column / (np.abs(column).max() or 1.0) for column in columns]
    matrix, ones = np.column_stack(scaled), np.ones(len(scaled[0]))
    fit = np.linalg.lstsq(matrix, ones, rcond=COLLINEAR)[0]
    return bool(np.abs(matrix @ fit - ones).max() < 10 * ROUNDING)
