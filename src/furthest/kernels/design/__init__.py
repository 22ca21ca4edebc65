"""The optimal allocation for one answer, with its certificate.

For an answer z and y_x = z − c·x, n_x = ⟨μ, y_x⟩ + e the value of z is

    value(z) = max_w min_x n_x² / ‖y_x‖²_{V_w⁻¹},    w in the simplex,    V_w = Σ_a w_a a aᵀ,

and 2/T_ε(μ) = max_z value(z) (Jourdan & Degenne 2022, "Choosing answers in ε-best-answer
identification for linear bandits"). With u_x = y_x/n_x the distance

    F_x(w) = 1/(u_xᵀ V_w⁻¹ u_x) = min over ⟨θ, u_x⟩ = 1 of Σ_a w_a ⟨θ, a⟩²

is concave and 1-homogeneous in w, with gradient G_xa = ⟨θ_x, a⟩² at θ_x = F_x V_w⁻¹ u_x.
Homogeneity removes the simplex:

    1/value(z) = min 1ᵀw    subject to    F_x(w) ≥ 1,    w ≥ 0.

Any weights w and multipliers q, feasible or not, give the certificate

    min_x F_x(w) / 1ᵀw  ≤  value(z)  ≤  max_a Σ_x q_x ⟨θ_x, a⟩² / Σ_x q_x ⟨θ_x, u_x⟩².

Small problems are solved by a primal-dual interior point (Mehrotra 1992, "On the implementation
of a primal-dual interior point method") on the exact Hessian; large ones by the same method on a
growing selection of arms and alternatives (column and constraint generation), every bound being
computed over all arms and all alternatives.

    allocation    from arms, answers and values to a certified allocation: begin here
    goal          when a solve may stop
    interior      a problem and its iterate
    workspace     the whole problem, and room for a selection of its columns
    geometry      V_w, distances and loads at the iterate
    newton        the Newton matrix, its factors, one direction
    steps         the interior point: start, iteration, second and third attempt
    certificate   the bounds once more, safe against rounding
    generation    the selection of arms and alternatives
    settings      every constant, with its reason
"""

from furthest.kernels.design.allocation import (
    Allocation,
    best_design,
    load_directions,
    optimum,
    solve,
)
from furthest.kernels.design.goal import Goal, within
from furthest.kernels.design.interior import Row
from furthest.kernels.design.settings import AIM
from furthest.kernels.design.workspace import Workspace, workspace_for

__all__ = [
    "AIM",
    "Allocation",
    "Goal",
    "Row",
    "Workspace",
    "best_design",
    "load_directions",
    "optimum",
    "solve",
    "within",
    "workspace_for",
]
