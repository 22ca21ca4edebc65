"""The top-wrong-answer test straight from its theorem, in plain NumPy and SciPy.

Nothing is updated and nothing is in closed form: every sum runs over the whole history, integrals
are quadratures, minima over ellipsoids come from a general solver. Any coordinates will do.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import quad
from scipy.optimize import minimize

Array = NDArray[np.float64]


class Null(NamedTuple):
    """{λ : ⟨λ, across⟩ + e ≤ 0}."""

    across: Array
    e: float


@dataclass
class TopWrongOracle:
    """The test after the measurements `pulls`, `rewards`; the first `initial` of them are fixed."""

    arms: Array
    answers: Array
    c: float
    e: float
    initial: int
    pulls: Sequence[int]
    rewards: Sequence[float]
    pi0: float = 0.05
    summed: float = 0.3
    fallback: float = 0.3
    ells: Sequence[float] = (10.0, 400.0)
    weights: Sequence[float] = (0.7, 0.3)
    kappas: Sequence[float] = (4.0, 100.0)
    eta: float = 1.0
    g: list[Array] = field(default_factory=list)

    def __post_init__(self) -> None:
        arms = [self.arms[a] for a in self.pulls]
        d = self.arms.shape[1]
        self.V0 = self.arms.T @ self.arms / len(self.arms)
        self.V = sum((np.outer(a, a) for a in arms), np.zeros((d, d)))
        self.m = np.linalg.solve(
            self.V, sum(x * a for x, a in zip(self.rewards, arms, strict=True))
        )
        self.g = self._predictable_weights(arms)
        self.A, self.X = np.array(arms), np.array(self.rewards)

    def _predictable_weights(self, arms: Sequence[Array]) -> list[Array]:
        """g of every measurement, with the full matrix B."""
        n, d = self.initial, self.arms.shape[1]
        design = sum((np.outer(a, a) for a in arms[:n]), np.zeros((d, d)))
        weights = [np.asarray(n * np.linalg.solve(design, a), float) for a in arms[:n]]
        V, B = design, np.zeros((d, d))
        for a, g in zip(arms[:n], weights, strict=True):
            B = B + np.outer(a, g)
        for t in range(n + 1, len(arms) + 1):
            a = arms[t - 1]
            V = V + np.outer(a, a)
            g = ((t + self.eta * (t - 1)) * np.eye(d) - self.eta * B.T) @ np.linalg.solve(V, a)
            B = B + np.outer(a, g)
            weights.append(g)
        return weights

    # The statistic of a contrast, and its e-value

    def statistic(self, y: Array, lam: Array) -> float:
        return float(
            sum(g @ y * (x - lam @ a) for g, x, a in zip(self.g, self.X, self.A, strict=True))
        )

    def variance(self, y: Array) -> float:
        return float(sum((g @ y) ** 2 for g in self.g))

    def priors(self, size: float) -> list[tuple[float, float]]:
        """Precision and weight of every prior along a contrast with yᵀV₀⁻¹y = size."""
        return [(ell * size, weight) for ell, weight in zip(self.ells, self.weights, strict=True)]

    def log_e(self, y: Array, t: float) -> float:
        """ln E1 at T = t by quadrature; the integrand is scaled by its maximum."""
        information, size = self.variance(y), float(y @ np.linalg.solve(self.V0, y))
        terms = []
        for precision, weight in self.priors(size):
            both = information + precision
            peak, width = max(t, 0.0) / both, 1 / math.sqrt(both)
            top = peak * t - 0.5 * peak**2 * both

            def integrand(h: float, both: float = both, top: float = top) -> float:
                return math.exp(h * t - 0.5 * h * h * both - top)

            low, high = max(0.0, peak - 12 * width), peak + 12 * width
            area = quad(integrand, low, high, points=[peak], epsabs=0, epsrel=1e-10)[0]
            terms.append(math.log(weight * 2 * math.sqrt(precision / (2 * math.pi)) * area) + top)
        return float(np.logaddexp.reduce(terms))

    # The ellipsoids

    def kappa(self, j: int) -> float:
        return float(self.kappas[j] * self.arms.shape[1])

    def metric(self, j: int) -> Array:
        return np.asarray(self.V @ np.linalg.solve(self.V + self.kappa(j) * self.V0, self.V))

    def squared_radius(self, j: int, delta: float) -> float:
        prior = self.kappa(j) * self.V0
        volume = np.linalg.slogdet(self.V + prior)[1] - np.linalg.slogdet(prior)[1]
        return 2 * math.log(len(self.kappas) / (self.pi0 * delta)) + float(volume)

    def _ball(self, j: int, delta: float) -> tuple[Array, float]:
        """λ = m − root·u with |u| ≤ radius parametrises the ellipsoid."""
        root = np.linalg.cholesky(np.linalg.inv(self.metric(j)))
        return root, math.sqrt(self.squared_radius(j, delta))

    def least_statistic(self, y: Array, j: int, delta: float, null: Null | None = None) -> float:
        """min of T_y over the ellipsoid j and ⟨λ, y⟩ + e ≤ 0; inf where they do not meet.

        Of another half-space where one is given.
        """
        root, radius = self._ball(j, delta)
        across, e = null or Null(y, self.e)
        gap = float(self.m @ across) + e
        normal = root.T @ across
        if gap > radius * np.linalg.norm(normal):
            return math.inf
        # T is affine in λ; unit scales for the solver
        d = len(y)
        at_m = self.statistic(y, self.m)
        slope = (
            np.array([self.statistic(y, self.m - root @ unit) - at_m for unit in np.eye(d)])
            * radius
        )
        scale = np.linalg.norm(slope)
        best = math.inf
        start = normal / np.linalg.norm(normal)
        for seed in range(4):
            wiggle = np.random.default_rng(seed).normal(size=d) * 0.1
            found = minimize(
                lambda u: float(slope @ u) / scale,
                (start + wiggle) / max(1.0, float(np.linalg.norm(start + wiggle))),
                jac=lambda _: slope / scale,
                method="SLSQP",
                constraints=[
                    {"type": "ineq", "fun": lambda u: 1 - u @ u, "jac": lambda u: -2 * u},
                    {
                        "type": "ineq",
                        "fun": lambda u: (
                            normal @ u / np.linalg.norm(normal)
                            - gap / radius / np.linalg.norm(normal)
                        ),
                        "jac": lambda _: normal / np.linalg.norm(normal),
                    },
                ],
                options={"ftol": 1e-14, "maxiter": 1000},
            )
            if found.x @ found.x <= 1 + 1e-8 and normal @ found.x * radius >= gap - 1e-8 * abs(gap):
                best = min(best, at_m + float(slope @ found.x))
        return best

    def strength(self, y: Array, delta: float, null: Null | None = None) -> float:
        """ln E1_y at the largest of the minima over the ellipsoids; asks for a positive gap."""
        across, e = null or Null(y, self.e)
        if self.m @ across + e <= 0:
            return -math.inf
        t = max(self.least_statistic(y, j, delta, null) for j in range(len(self.kappas)))
        return math.inf if t == math.inf else self.log_e(y, t)

    def distance(self, z: int, x: int, other: int, j: int) -> float:
        """Squared distance from m to {z' is wrong against x, ⟨λ, z'⟩ ≥ ⟨λ, z⟩} by a small QP."""
        Z = self.answers
        root = np.linalg.cholesky(np.linalg.inv(self.metric(j)))
        rows = np.array([Z[other] - self.c * Z[x], Z[z] - Z[other]]) @ root
        gaps = np.array([self.m @ (Z[other] - self.c * Z[x]) + self.e, self.m @ (Z[z] - Z[other])])
        if np.all(gaps <= 0):
            return 0.0
        # Unit rows, and gaps in units of their size, for the solver's tolerances
        sizes = np.linalg.norm(rows, axis=1)
        rows, gaps = rows / sizes[:, None], gaps / sizes
        unit = float(np.abs(gaps).max())
        gaps = gaps / unit
        start = np.linalg.lstsq(rows, gaps, rcond=None)[0]
        found = minimize(
            lambda u: float(u @ u),
            start,
            jac=lambda u: 2 * u,
            method="SLSQP",
            constraints=[{"type": "ineq", "fun": lambda u: rows @ u - gaps, "jac": lambda _: rows}],
            options={"ftol": 1e-15, "maxiter": 1000},
        )
        if np.any(rows @ found.x < gaps - 1e-7):
            return math.inf
        return float(found.x @ found.x) * unit**2

    # The test

    def masses(self) -> tuple[float, float, float]:
        n = len(self.answers) - 2
        pi2, pi3 = self.summed * n / (n + 1), self.fallback * n / (n + 1)
        return 1 - self.pi0 - pi2 - pi3, pi2, pi3

    def harmless(self, z: int, x: int, other: int, delta: float) -> bool:
        """Beyond an ellipsoid, or enough evidence in three terms of N together."""
        if any(
            self.distance(z, x, other, j) > self.squared_radius(j, delta)
            for j in range(len(self.kappas))
        ):
            return True
        Z, c = self.answers, self.c
        n = len(Z) - 2
        pi1, pi2, pi3 = self.masses()
        supermartingale = (
            pi1 * math.exp(self.strength(Z[other] - c * Z[x], delta))
            + pi2 / n * math.exp(self.strength(Z[z] - c * Z[x] + Z[z] - Z[other], delta))
            + pi3 / n * math.exp(self.strength(Z[z] - c * Z[x], delta))
        )
        return supermartingale >= 1 / delta

    def stops(self, z: int, delta: float) -> bool:
        """Every x passes (i) and, unless its evidence is infinite, every z' passes (ii)."""
        Z = self.answers
        for x in range(len(Z)):
            if x == z:
                continue
            strength = self.strength(Z[z] - self.c * Z[x], delta)
            if self.masses()[0] * math.exp(strength) < 1 / delta:
                return False
            if strength == math.inf:
                continue
            for other in range(len(Z)):
                if other not in (z, x) and not self.harmless(z, x, other, delta):
                    return False
        return True
