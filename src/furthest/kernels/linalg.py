"""Dense linear algebra for small matrices, as explicit loops.

A call into LAPACK costs about 2 µs, more than a whole round on small problems. Loops over columns
of right-hand sides run along contiguous memory, so that they vectorise without a reduction.
Outputs are passed in and modified in place.
"""

import math

import numpy as np
from numpy.typing import NDArray

from furthest.kernels.jit import inlined, kernel

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]
Counts = NDArray[np.int64]

# A pivot below this share of its diagonal entry counts as zero.
SINGULAR = 1e-13

# Columns that are worked on together where there are more, so that each comes from memory once.
# (Views, and loops from 0: Numba cannot vectorise a loop from a number that may be negative.)
BLOCK = 512


@inlined
def dot(x: Vector, y: Vector) -> float:
    """⟨x, y⟩, as far as x goes."""
    total = 0.0
    for i in range(x.shape[0]):
        total += x[i] * y[i]
    return total


@kernel
def fill(out: Vector, value: float) -> None:
    """out = value, entry by entry."""
    for i in range(out.shape[0]):
        out[i] = value


@kernel
def copy(source: Matrix, out: Matrix) -> None:
    """out = source."""
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = source[i, j]


@kernel
def scaled_copy(scale: float, source: Vector, out: Vector) -> None:
    """out = scale·source; they may be the same."""
    for i in range(source.shape[0]):
        out[i] = scale * source[i]


@kernel
def total(x: Vector) -> float:
    """Σ_i x_i."""
    result = 0.0
    for i in range(x.shape[0]):
        result += x[i]
    return result


@kernel
def lowest(x: Vector) -> float:
    """min_i x_i, infinite for an empty vector."""
    result = math.inf
    for i in range(x.shape[0]):
        result = min(result, x[i])
    return result


@kernel
def highest(x: Vector) -> float:
    """max_i x_i of a vector ≥ 0, zero for an empty one."""
    result = 0.0
    for i in range(x.shape[0]):
        result = max(result, x[i])
    return result


@inlined
def matvec(matrix: Matrix, x: Vector, out: Vector) -> None:
    """out = matrix · x."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(x.shape[0]):
            total += matrix[i, j] * x[j]
        out[i] = total


@kernel
def _combine_wide(x: Vector, rows: Matrix, out: Vector) -> None:
    """`combine`, block by block."""
    for low in range(0, out.shape[0], BLOCK):
        combine_block(x, rows, low, out[low : low + BLOCK])


@kernel
def combine_block(x: Vector, rows: Matrix, low: int, out: Vector) -> None:
    """out_j = Σ_i x_i rows[i, low + j], four rows at a time: with other last digits."""
    high, d = low + out.shape[0], x.shape[0]
    fill(out, 0.0)
    whole = d - d % 4
    for i in range(0, whole, 4):
        s0, s1, s2, s3 = x[i], x[i + 1], x[i + 2], x[i + 3]
        r0, r1 = rows[i, low:high], rows[i + 1, low:high]
        r2, r3 = rows[i + 2, low:high], rows[i + 3, low:high]
        for j in range(out.shape[0]):
            out[j] += (s0 * r0[j] + s1 * r1[j]) + (s2 * r2[j] + s3 * r3[j])
    for i in range(whole, d):
        add_scaled(x[i], rows[i, low:high], out)


@inlined
def add_scaled(scale: float, source: Vector, out: Vector) -> None:
    """out += scale·source."""
    for j in range(out.shape[0]):
        out[j] += scale * source[j]


@inlined
def combine(x: Vector, rows: Matrix, out: Vector) -> None:
    """out = Σ_i x_i rows[i], streaming along the rows."""
    if out.shape[0] > BLOCK:
        _combine_wide(x, rows, out)
        return
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(x.shape[0]):
        scale = x[i]
        for j in range(out.shape[0]):
            out[j] += scale * rows[i, j]


@kernel
def column_products(
    left: Matrix, column: int, right: Matrix, low: int, high: int, out: Vector
) -> None:
    """out_j = Σ_i left[i, column]·right[i, j] for low ≤ j < high."""
    for j in range(low, high):
        out[j] = 0.0
    for i in range(left.shape[0]):
        scale = left[i, column]
        for j in range(low, high):
            out[j] += scale * right[i, j]


@kernel
def squared_lengths(columns: Matrix, out: Vector) -> None:
    """Squared lengths of the first columns, as many as `out` holds."""
    for j in range(out.shape[0]):
        out[j] = 0.0
    for i in range(columns.shape[0]):
        for j in range(out.shape[0]):
            out[j] += columns[i, j] * columns[i, j]


@kernel
def information(arms: Matrix, weights: Vector, out: Matrix) -> None:
    """out = V_w = Σ_a w_a a aᵀ, lower triangle only."""
    d = arms.shape[1]
    for i in range(d):
        for j in range(i + 1):
            out[i, j] = 0.0
    for a in range(arms.shape[0]):
        if weights[a] == 0.0:
            continue
        for i in range(d):
            scale = weights[a] * arms[a, i]
            for j in range(i + 1):
                out[i, j] += scale * arms[a, j]


@kernel
def weighted_information(
    rows: Matrix, outer: Matrix, weights: Vector, packed: Vector, out: Matrix
) -> None:
    """The same from packed outer products of the arms (`Task.outer`), if any: four times as fast.

    Four arms at a time, so that `packed` (scratch) is loaded and stored less often.
    """
    arms, size = outer.shape
    if arms == 0:
        information(rows, weights, out)
        return
    for p in range(size):
        packed[p] = 0.0
    whole = arms - arms % 4
    for a in range(0, whole, 4):
        w0, w1, w2, w3 = weights[a], weights[a + 1], weights[a + 2], weights[a + 3]
        o0, o1, o2, o3 = outer[a], outer[a + 1], outer[a + 2], outer[a + 3]
        for p in range(size):
            packed[p] += w0 * o0[p] + w1 * o1[p] + w2 * o2[p] + w3 * o3[p]
    for a in range(whole, arms):
        weight, products = weights[a], outer[a]
        for p in range(size):
            packed[p] += weight * products[p]
    p = 0
    for i in range(out.shape[0]):
        for j in range(i + 1):
            out[i, j] = packed[p]
            p += 1


@kernel
def add_products(rows: Matrix, count: int, out: Matrix) -> None:
    """out += rows · rowsᵀ over the first `count` columns, lower triangle only.

    Four products at a time, so that a row is loaded less often.
    """
    for i in range(rows.shape[0]):
        whole = (i + 1) - (i + 1) % 4
        for j in range(0, whole, 4):
            t0, t1, t2, t3 = 0.0, 0.0, 0.0, 0.0
            for x in range(count):
                t0 += rows[i, x] * rows[j, x]
                t1 += rows[i, x] * rows[j + 1, x]
                t2 += rows[i, x] * rows[j + 2, x]
                t3 += rows[i, x] * rows[j + 3, x]
            out[i, j] += t0
            out[i, j + 1] += t1
            out[i, j + 2] += t2
            out[i, j + 3] += t3
        for j in range(whole, i + 1):
            t0 = 0.0
            for x in range(count):
                t0 += rows[i, x] * rows[j, x]
            out[i, j] += t0


@kernel
def quadratic_forms(matrix: Matrix, columns: Matrix, low: int, work: Vector, out: Vector) -> None:
    """out_j = xᵀMx for column x = low + j, from the lower triangle of a symmetric M.

    That is Σ_i x_i (M_ii x_i + 2 Σ_{k<i} M_ik x_k), eight k at a time; `work` has the brackets.
    """
    high, count = low + out.shape[0], out.shape[0]
    fill(out, 0.0)
    for i in range(columns.shape[0]):
        m, row = matrix[i], columns[i, low:high]
        scaled_copy(0.5 * m[i], row, work)
        whole = i - i % 8
        for k in range(0, whole, 8):
            m0, m1, m2, m3 = m[k], m[k + 1], m[k + 2], m[k + 3]
            m4, m5, m6, m7 = m[k + 4], m[k + 5], m[k + 6], m[k + 7]
            r0, r1 = columns[k, low:high], columns[k + 1, low:high]
            r2, r3 = columns[k + 2, low:high], columns[k + 3, low:high]
            r4, r5 = columns[k + 4, low:high], columns[k + 5, low:high]
            r6, r7 = columns[k + 6, low:high], columns[k + 7, low:high]
            for j in range(count):
                work[j] += ((m0 * r0[j] + m1 * r1[j]) + (m2 * r2[j] + m3 * r3[j])) + (
                    (m4 * r4[j] + m5 * r5[j]) + (m6 * r6[j] + m7 * r7[j])
                )
        for k in range(whole, i):
            add_scaled(m[k], columns[k, low:high], work)
        for j in range(count):
            out[j] += 2.0 * row[j] * work[j]


@kernel
def cholesky(matrix: Matrix) -> bool:
    """Replace the lower triangle of a positive definite matrix by its factor L.

    Returns False, and leaves the factor unfinished, where the matrix is numerically singular.
    """
    d = matrix.shape[0]
    for j in range(d):
        pivot = matrix[j, j]
        floor = SINGULAR * pivot
        for k in range(j):
            pivot -= matrix[j, k] * matrix[j, k]
        if not pivot > floor:
            return False
        root = math.sqrt(pivot)
        matrix[j, j] = root
        inverse = 1.0 / root
        for i in range(j + 1, d):
            total = matrix[i, j]
            for k in range(j):
                total -= matrix[i, k] * matrix[j, k]
            matrix[i, j] = total * inverse
    return True


@kernel
def solve_lower_transposed(factor: Matrix, rhs: Vector) -> None:
    """rhs ← L⁻ᵀ rhs."""
    d = rhs.shape[0]
    for i in range(d - 1, -1, -1):
        total = rhs[i]
        for k in range(i + 1, d):
            total -= factor[k, i] * rhs[k]
        rhs[i] = total / factor[i, i]


@kernel
def solve_lower_many(factor: Matrix, columns: Matrix) -> None:
    """columns ← L⁻¹ columns, all columns at once."""
    d, m = columns.shape
    if m > BLOCK:
        solve_lower_wide(factor, columns, m)
        return
    for i in range(d):
        for k in range(i):
            scale = factor[i, k]
            for j in range(m):
                columns[i, j] -= scale * columns[k, j]
        inverse = 1.0 / factor[i, i]
        for j in range(m):
            columns[i, j] *= inverse


@kernel
def solve_lower_wide(factor: Matrix, columns: Matrix, count: int) -> None:
    """columns ← L⁻¹ columns, the first `count` columns, block by block."""
    for low in range(0, count, BLOCK):
        high = min(low + BLOCK, count)
        for i in range(columns.shape[0]):
            own = columns[i, low:high]
            for k in range(i):
                add_scaled(-factor[i, k], columns[k, low:high], own)
            scaled_copy(1.0 / factor[i, i], own, own)


@kernel
def solve_lower_into(factor: Matrix, columns: Matrix, count: int, out: Matrix) -> None:
    """out = L⁻¹ columns, for the first `count` columns; each row is copied while it is near."""
    if count > BLOCK:
        for i in range(columns.shape[0]):
            scaled_copy(1.0, columns[i, :count], out[i, :count])
        solve_lower_wide(factor, out, count)
        return
    for i in range(columns.shape[0]):
        inverse = 1.0 / factor[i, i]
        for j in range(count):
            out[i, j] = columns[i, j]
        for k in range(i):
            scale = factor[i, k]
            for j in range(count):
                out[i, j] -= scale * out[k, j]
        for j in range(count):
            out[i, j] *= inverse


@kernel
def solve_lower_transposed_first(factor: Matrix, columns: Matrix, count: int) -> None:
    """columns ← L⁻ᵀ columns, the first `count` columns at once."""
    d = columns.shape[0]
    if count > BLOCK:
        _solve_transposed_wide(factor, columns, count)
        return
    for i in range(d - 1, -1, -1):
        for k in range(i + 1, d):
            scale = factor[k, i]
            for j in range(count):
                columns[i, j] -= scale * columns[k, j]
        inverse = 1.0 / factor[i, i]
        for j in range(count):
            columns[i, j] *= inverse


@kernel
def _solve_transposed_wide(factor: Matrix, columns: Matrix, count: int) -> None:
    """`solve_lower_transposed_first`, block by block."""
    d = columns.shape[0]
    for low in range(0, count, BLOCK):
        high = min(low + BLOCK, count)
        for i in range(d - 1, -1, -1):
            own = columns[i, low:high]
            for k in range(i + 1, d):
                add_scaled(-factor[k, i], columns[k, low:high], own)
            scaled_copy(1.0 / factor[i, i], own, own)


@kernel
def solve_lower_transposed_many(factor: Matrix, columns: Matrix) -> None:
    """columns ← L⁻ᵀ columns, all columns at once."""
    solve_lower_transposed_first(factor, columns, columns.shape[1])


@kernel
def log_determinant(factor: Matrix) -> float:
    """ln|LLᵀ|."""
    total = 0.0
    for i in range(factor.shape[0]):
        total += math.log(factor[i, i])
    return 2.0 * total


@kernel
def sort_together(keys: Vector, values: Vector, numbers: Counts, count: int) -> None:
    """Sort the first `count` keys, smallest first, and what belongs to them, by Shell's method."""
    step = count // 2
    while step > 0:
        for end in range(step, count):
            key, value, number = keys[end], values[end], numbers[end]
            place = end
            while place >= step and keys[place - step] > key:
                keys[place] = keys[place - step]
                values[place] = values[place - step]
                numbers[place] = numbers[place - step]
                place -= step
            keys[place], values[place], numbers[place] = key, value, number
        step //= 2
