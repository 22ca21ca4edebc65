"""value(z) from a conic solver, in two formulations that share nothing with the kernels.

Both minimise 1ᵀw subject to u_xᵀ V_w⁻¹ u_x ≤ 1 with u_x = y_x/n_x; the optimum is 1/value(z).
"""

import math
from typing import NamedTuple

import clarabel
import cvxpy as cp
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from oracles.designs import Case

Array = NDArray[np.float64]


class Conic(NamedTuple):
    """What the solver returned, and the seconds it spent."""

    value: float
    weights: Array
    seconds: float


def directions(case: Case) -> Array:
    """u_x = (z − c·x)/n_x for the x that can be confused with z."""
    _, answers, values, z, c, e = case
    y = np.delete(answers[z] - c * answers, z, axis=0)
    margins = np.delete(values[z] - c * values + e, z)
    distinct = np.linalg.norm(y, axis=1) > 1e-12 * (1.0 + np.linalg.norm(answers[z]))
    result: Array = y[distinct] / margins[distinct, None]
    return result


def scale_to_uniform(arms: Array, u: Array) -> tuple[Array, float]:
    """Directions scaled such that uniform weights have value 1, and that value."""
    information = arms.T @ arms / len(arms)
    uniform = 1.0 / float(np.max(np.sum(u * np.linalg.solve(information, u.T).T, axis=1)))
    return u * math.sqrt(uniform), uniform


def by_cvxpy(case: Case) -> Conic:
    """Through CVXPY's matrix fraction, a semidefinite programme."""
    arms = case.arms
    u, uniform = scale_to_uniform(arms, directions(case))
    w = cp.Variable(len(arms), nonneg=True)
    information = arms.T @ cp.diag(w) @ arms
    problem = cp.Problem(
        cp.Minimize(cp.sum(w)), [cp.matrix_frac(row, information) <= 1.0 for row in u]
    )
    problem.solve(solver=cp.CLARABEL)
    total = float(problem.value)
    return Conic(uniform / total, np.maximum(w.value, 0.0) / total, problem.solver_stats.solve_time)


def by_clarabel(case: Case, tolerance: float = 1e-9) -> Conic:
    """Through second-order cones, handed to Clarabel directly.

    u_x = Σ_a b_xa a with Σ_a b_xa²/w_a ≤ 1: variables w, b and t with b_xa² ≤ t_xa w_a.
    """
    arms = case.arms
    u, uniform = scale_to_uniform(arms, directions(case))
    (k, _), n = arms.shape, len(u)
    pairs = n * k
    one = sparse.identity(pairs, format="csc")
    spread = sparse.vstack([sparse.identity(k)] * n, format="csc")
    none = sparse.csc_matrix
    balance = sparse.hstack(
        [none((u.size, k)), sparse.kron(sparse.identity(n), arms.T), none((u.size, pairs))]
    )
    budget = sparse.hstack(
        [none((n, k)), none((n, pairs)), sparse.kron(sparse.identity(n), np.ones((1, k)))]
    )
    nonnegative = sparse.hstack([-sparse.identity(k), none((k, 2 * pairs))])
    # (t + w, t − w, 2b) in the second-order cone, one after the other for each pair.
    sums = sparse.hstack([-spread, none((pairs, pairs)), -one])
    differences = sparse.hstack([spread, none((pairs, pairs)), -one])
    doubles = sparse.hstack([none((pairs, k)), -2.0 * one, none((pairs, pairs))])
    order = np.arange(3 * pairs).reshape(3, pairs).T.ravel()
    cones = sparse.vstack([sums, differences, doubles]).tocsr()[order]
    constraints = sparse.vstack([balance, budget, nonnegative, cones]).tocsc()
    bounds = np.concatenate([u.ravel(), np.ones(n), np.zeros(k + 3 * pairs)])
    shape = [clarabel.ZeroConeT(u.size), clarabel.NonnegativeConeT(n + k)]
    shape += [clarabel.SecondOrderConeT(3)] * pairs
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_rel = settings.tol_gap_abs = settings.tol_feas = tolerance
    size = k + 2 * pairs
    objective = np.concatenate([np.ones(k), np.zeros(2 * pairs)])
    solver = clarabel.DefaultSolver(
        sparse.csc_matrix((size, size)), objective, constraints, bounds, shape, settings
    )
    solution = solver.solve()
    w = np.maximum(np.asarray(solution.x)[:k], 0.0)
    return Conic(uniform / solution.obj_val, w / w.sum(), solution.solve_time)
