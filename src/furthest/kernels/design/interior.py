"""A problem of the interior point, and its iterate."""

from enum import IntEnum
from typing import NamedTuple

import numpy as np

from furthest.kernels.design import settings
from furthest.kernels.linalg import Counts, Matrix


class Row(IntEnum):
    """Rows of Interior.point. Entries [:k] belong to the arms | [k : k + n] to the alternatives."""

    PRIMAL = 0  # weights w, not normalised | slacks c of F ≥ 1
    DUAL = 1  # slacks s of load ≤ 1 | multipliers q
    LEVEL = 2  # load_a = Σ_x q_x ⟨θ_x, a⟩² | distance F_x(w)
    RESIDUAL = 3  # 1 − load − s | F − 1 − c
    TARGET = 4  # right-hand side of w∘s | of q∘c
    STEP_PRIMAL = 5
    STEP_DUAL = 6
    OLD_PRIMAL = 7
    OLD_DUAL = 8
    CURVED = 9  # s/w | curvature of c that goes into the Newton matrix
    SQUARE = 10  # work | coefficient of G_xᵀG_x in the Newton matrix
    PIVOT = 11  # inverse diagonals of the factors of Newton matrix | Schur complement; 0 if frozen
    WORK = 12
    BEST = 13  # weights of the best lower bound | multipliers of the best upper bound
    BEST_AT = 14  # weights at which the θ of these multipliers were taken | unused
    CENTRED = 15  # weights | multipliers of the last centred iterate


class Interior(NamedTuple):
    """A problem of k arms and n alternatives, and the iterate of its interior point.

    Few arrays with many rows rather than many vectors, and hardly any literal as an argument of a
    kernel (each makes a specialisation of its own): both would multiply the time to compile.
    """

    arms: Matrix  # (d, k) arms as columns
    directions: Matrix  # (d, n) u_x as columns
    information: Matrix  # (d, d) V_w, then its Cholesky factor L
    white_arms: Matrix  # (d, k) L⁻¹a
    white_directions: Matrix  # (d, n) L⁻¹u
    residuals: Matrix  # (d, n) of the recheck
    gradient: Matrix  # (n, k) G_xa = ⟨θ_x, a⟩²
    spread: Matrix  # (d, d) Lᵀ(Σ_x q_x θ_x θ_xᵀ)L
    spread_arms: Matrix  # (d, k) and its product with L⁻¹a
    point: Matrix  # (len(Row), k + n)
    newton: Matrix  # (k, k) Newton matrix, then its upper Cholesky factor
    active: Counts  # (m) alternatives that go through the Schur complement, at most m
    coupling: Matrix  # (m, k) their gradients, solved against the factor
    schur: Matrix  # (m, m)


def interior_for(k: int, n: int, d: int, *, iterates: bool = True) -> Interior:
    """Room for `k` arms and `n` alternatives in dimension `d`.

    Without `iterates` for bounds only: no matrix grows with a product of k and n.
    """
    k_square = k if iterates else 0
    n_square = n if iterates else 0
    m = min(n_square, settings.ACTIVE_PER_ARM * k + settings.ACTIVE_SPARE)
    return Interior(
        arms=np.zeros((d, k)),
        directions=np.zeros((d, n)),
        information=np.zeros((d, d)),
        white_arms=np.zeros((d, k)),
        white_directions=np.zeros((d, n)),
        residuals=np.zeros((d, n)),
        gradient=np.zeros((n_square, k_square)),
        spread=np.zeros((d, d)),
        spread_arms=np.zeros((d, k)),
        point=np.zeros((len(Row), k + n)),
        newton=np.zeros((k_square, k_square)),
        active=np.zeros(m, dtype=np.int64),
        coupling=np.zeros((m, k_square)),
        schur=np.zeros((m, m)),
    )
