import sys

import numpy as np
import pytest

from furthest import columns
from furthest.errors import MissingExtraError

TABLE = {
    "run": np.arange(4),
    "delta": np.array([0.1, 1e-100, 1 / 3, 0.01]),
    "stopped": np.array([True, False, True, True]),
}
FORMATS = {
    "csv": (columns.write_csv, columns.read_csv),
    "parquet": (columns.write_parquet, columns.read_parquet),
}


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_is_written_is_read_back(suffix, tmp_path):
    if suffix == "parquet":
        pytest.importorskip("pyarrow")
    write, read = FORMATS[suffix]
    write(TABLE, tmp_path / "table")
    found = read(tmp_path / "table")
    assert list(found) == list(TABLE)
    for name, column in TABLE.items():
        np.testing.assert_array_equal(found[name], column)
        assert found[name].dtype.kind == column.dtype.kind


def test_a_table_without_rows(tmp_path):
    columns.write_csv({"run": np.zeros(0, int), "delta": np.zeros(0)}, tmp_path / "t.csv")
    assert {name: len(c) for name, c in columns.read_csv(tmp_path / "t.csv").items()} == {
        "run": 0,
        "delta": 0,
    }


def test_without_pyarrow(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    assert not columns.has_parquet()
    with pytest.raises(MissingExtraError, match="parquet"):
        columns.write_parquet(TABLE, tmp_path / "t.parquet")


def test_a_matrix_is_a_column_of_lists(tmp_path):
    pytest.importorskip("pyarrow")
    rows = {"run": np.arange(3), "pulls": np.arange(6).reshape(3, 2)}
    columns.write_parquet(rows, tmp_path / "rows.parquet")
    for name, column in columns.read_parquet(tmp_path / "rows.parquet").items():
        np.testing.assert_array_equal(column, rows[name])
