"""Columns of numbers as files: CSV always, Parquet with the extra `parquet`."""

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from furthest.errors import MissingExtraError

Columns = dict[str, NDArray[Any]]

LOGICAL = {"True": True, "False": False}


def write_csv(columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    """One line per row, names first."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


def read_csv(path: Path) -> Columns:
    """What `write_csv` wrote: whole numbers, numbers, or True and False."""
    with path.open(newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    texts = zip(*rows, strict=True) if rows else ([] for _ in names)
    return {name: _parse(list(column)) for name, column in zip(names, texts, strict=True)}


def _parse(texts: list[str]) -> NDArray[Any]:
    if all(text in LOGICAL for text in texts):
        return np.array([LOGICAL[text] for text in texts])
    try:
        return np.array([int(text) for text in texts])
    except ValueError:
        return np.array([float(text) for text in texts])


def write_parquet(columns: Mapping[str, NDArray[Any]], path: Path) -> None:
    """The same as Parquet."""
    pa = arrow()
    ready = {name: _lists(pa, each) if each.ndim > 1 else each for name, each in columns.items()}
    pa.parquet.write_table(pa.table(ready), path)


def read_parquet(path: Path) -> Columns:
    """What `write_parquet` wrote."""
    pa = arrow()
    table = pa.parquet.read_table(path)
    return {
        name: _rows(table[name]) if pa.types.is_list(table[name].type) else table[name].to_numpy()
        for name in table.column_names
    }


def _lists(pa: Any, rows: NDArray[Any]) -> Any:
    """A matrix as a column of lists: files of other widths have the same schema."""
    ends = np.arange(0, rows.size + 1, rows.shape[1], dtype=np.int32)
    return pa.ListArray.from_arrays(ends, rows.ravel())


def _rows(lists: Any) -> NDArray[Any]:
    """Lists of equal length as a matrix."""
    flat = lists.combine_chunks().flatten().to_numpy()
    return np.asarray(flat.reshape(len(lists), -1))


def has_parquet() -> bool:
    """Whether the extra `parquet` is installed."""
    try:
        arrow()
    except MissingExtraError:
        return False
    return True


def arrow() -> Any:
    """The library for Parquet, or an error that says how to get it."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError:
        raise MissingExtraError("pyarrow", "parquet") from None
    return pyarrow
