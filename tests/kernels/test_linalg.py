"""The loops against LAPACK."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from furthest.kernels import linalg
from furthest.problem import Problem

sizes = st.integers(1, 7)
seeds = st.integers(0, 10_000)


def positive_definite(d, rng):
    root = rng.standard_normal((d, d + 1))
    return root @ root.T + 0.1 * np.eye(d)


@given(sizes, sizes, seeds)
def test_products(rows, columns, seed):
    rng = np.random.default_rng(seed)
    matrix, x, y = (rng.standard_normal(s) for s in ((rows, columns), columns, columns))
    left = rng.standard_normal(rows)
    assert linalg.dot(x, y) == pytest.approx(x @ y, abs=1e-13)
    out = np.full(rows, np.nan)
    linalg.matvec(matrix, x, out)
    np.testing.assert_allclose(out, matrix @ x, atol=1e-13)
    out = np.full(columns, np.nan)
    linalg.combine(left, matrix, out)
    np.testing.assert_allclose(out, left @ matrix, atol=1e-13)
    duplicate = np.full((rows, columns), np.nan)
    linalg.copy(matrix, duplicate)
    np.testing.assert_array_equal(duplicate, matrix)
    linalg.fill(out, 2.5)
    assert (out == 2.5).all()
    linalg.scaled_copy(-2.0, x, out)
    np.testing.assert_array_equal(out, -2.0 * x)


@given(sizes, sizes, seeds)
def test_sums_and_extremes(rows, columns, seed):
    rng = np.random.default_rng(seed)
    x, matrix = np.abs(rng.standard_normal(columns)), rng.standard_normal((rows, columns))
    assert linalg.total(x) == pytest.approx(x.sum())
    assert linalg.lowest(x) == x.min()
    assert linalg.highest(x) == x.max()
    assert (linalg.lowest(x[:0]), linalg.highest(x[:0])) == (np.inf, 0.0)
    out = np.full(columns, np.nan)
    linalg.squared_lengths(matrix, out)
    np.testing.assert_allclose(out, (matrix**2).sum(axis=0))


@given(sizes, sizes, seeds)
def test_what_concerns_some_columns_leaves_the_others_alone(rows, columns, seed):
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((rows, columns))
    count, column = rng.integers(0, columns + 1), int(rng.integers(columns))
    low = int(rng.integers(0, count + 1))
    products = np.full(columns, 7.0)
    linalg.column_products(matrix, column, matrix, low, count, products)
    expected = np.full(columns, 7.0)
    expected[low:count] = (matrix[:, column] @ matrix)[low:count]
    np.testing.assert_allclose(products, expected, atol=1e-13)


@given(st.integers(1, 13), sizes, seeds)
def test_information(arms, d, seed):
    rng = np.random.default_rng(seed)
    vectors = np.vstack([np.eye(d), rng.standard_normal((arms, d))])
    weights = rng.dirichlet(np.ones(len(vectors)))
    task = Problem(vectors, np.vstack([vectors, 2 * np.eye(d)])).task
    expected = np.tril(task.arms.T @ (task.arms * weights[:, None]))
    found = np.zeros((d, d))
    linalg.information(task.arms, weights, found)
    np.testing.assert_allclose(found, expected, atol=1e-12)
    packed = np.full(d * (d + 1) // 2, np.nan)
    for outer in (task.outer, task.outer[:0]):
        found[:] = 0.0
        linalg.weighted_information(task.arms, outer, weights, packed, found)
        np.testing.assert_allclose(found, expected, atol=1e-12)


@given(sizes, sizes, seeds)
def test_cholesky_and_what_is_solved_with_it(d, many, seed):
    rng = np.random.default_rng(seed)
    matrix = positive_definite(d, rng)
    factor = matrix.copy()
    assert linalg.cholesky(factor)
    lower = np.tril(factor)
    np.testing.assert_allclose(lower, np.linalg.cholesky(matrix), rtol=1e-10, atol=1e-12)
    assert linalg.log_determinant(factor) == pytest.approx(np.linalg.slogdet(matrix)[1], abs=1e-10)
    rhs = rng.standard_normal(d)
    one = rhs.copy()
    linalg.solve_lower_transposed(factor, one)
    np.testing.assert_allclose(lower.T @ one, rhs, atol=1e-10)
    for solve_many, triangle in (
        (linalg.solve_lower_many, lower),
        (linalg.solve_lower_transposed_many, lower.T),
    ):
        columns = rng.standard_normal((d, many))
        several = columns.copy()
        solve_many(factor, several)
        np.testing.assert_allclose(triangle @ several, columns, atol=1e-10)
    columns, count = rng.standard_normal((d, many)), many // 2
    into, place = np.full((d, many), 7.0), columns.copy()
    linalg.solve_lower_into(factor, columns, count, into)
    linalg.solve_lower_transposed_first(factor, place, count)
    np.testing.assert_allclose(lower @ into[:, :count], columns[:, :count], atol=1e-10)
    np.testing.assert_allclose(lower.T @ place[:, :count], columns[:, :count], atol=1e-10)
    assert (into[:, count:] == 7.0).all()
    np.testing.assert_array_equal(place[:, count:], columns[:, count:])


@pytest.mark.parametrize(
    "matrix",
    [
        [[0.0]],
        [[-1.0]],
        [[1.0, 1.0], [1.0, 1.0]],
        [[1.0, 2.0], [2.0, 1.0]],
        [[1.0, 0.0], [0.0, 0.0]],
        [[np.nan, 0.0], [0.0, 1.0]],
    ],
)
def test_singular_matrices_are_refused(matrix):
    assert not linalg.cholesky(np.array(matrix))


def test_badly_scaled_matrices_are_not_singular():
    assert linalg.cholesky(np.diag([1e-200, 1.0, 1e200]))


@pytest.mark.parametrize("many", [linalg.BLOCK, linalg.BLOCK + 1, 3 * linalg.BLOCK + 7])
@pytest.mark.parametrize("d", [1, 4, 11, 18])
def test_wide_matrices_go_block_by_block(d, many):
    rng = np.random.default_rng(d)
    rows, x = rng.standard_normal((d, many)), rng.standard_normal(d)
    out = np.full(many, np.nan)
    linalg.combine(x, rows, out)
    np.testing.assert_allclose(out, x @ rows, atol=1e-12)
    matrix = positive_definite(d, rng)
    factor = np.linalg.cholesky(matrix)
    lower, whole, first = rows.copy(), rows.copy(), np.full((d, many), np.nan)
    linalg.solve_lower_many(factor, lower)
    np.testing.assert_allclose(factor @ lower, rows, atol=1e-9)
    linalg.solve_lower_into(factor, rows, many - 1, first)
    np.testing.assert_allclose(first[:, :-1], lower[:, :-1], rtol=1e-12)
    assert np.isnan(first[:, -1]).all()
    linalg.solve_lower_many(factor, whole)
    linalg.solve_lower_transposed_many(factor, whole)
    np.testing.assert_allclose(matrix @ whole, rows, atol=1e-8)


@pytest.mark.parametrize("d", [1, 3, 8, 21])
def test_products_and_quadratic_forms(d):
    rng = np.random.default_rng(d)
    rows = rng.standard_normal((d, 60))
    products = np.tril(rng.standard_normal((d, d)))
    expected = products + np.tril(rows[:, :37] @ rows[:, :37].T)
    linalg.add_products(rows, 37, products)
    np.testing.assert_allclose(np.tril(products), np.tril(expected), atol=1e-12)
    form = products + np.tril(products, -1).T
    work, out = np.zeros(20), np.full(20, np.nan)
    linalg.quadratic_forms(products, rows, 13, work, out)
    part = rows[:, 13:33]
    np.testing.assert_allclose(out, np.einsum("ij,ik,kj->j", part, form, part), atol=1e-10)
