"""The ranked test straight from its theorem: every set of answers that may outrank another."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from oracles.topwrong import Array, TopWrongOracle


@dataclass
class RankedOracle(TopWrongOracle):
    """The test after the measurements `pulls`, `rewards`; the first `initial` of them are fixed."""

    summed: float = 0.28
    fallback: float = 0.10
    summed_power: float = 2.2
    fallback_power: float = 0.8
    eta: float = 1.5
    alpha: float = 0.1
    lean: float = 0.7

    def _predictable_weights(self, arms: Sequence[Array]) -> list[Array]:
        """g of every measurement, with the full matrix B and b = n₀ + Σβ."""
        n, d = self.initial, self.arms.shape[1]
        V = sum((np.outer(a, a) for a in arms[:n]), np.zeros((d, d)))
        weights = [np.asarray(n * np.linalg.solve(V, a), float) for a in arms[:n]]
        B = sum((np.outer(a, g) for a, g in zip(arms[:n], weights, strict=True)), np.zeros((d, d)))
        for t in range(n + 1, len(arms) + 1):
            a, beta = arms[t - 1], (t / n) ** self.alpha
            b = n + sum((s / n) ** self.alpha for s in range(n + 1, t))
            V = V + np.outer(a, a)
            bent = beta * t * np.eye(d) - self.eta * (B - b * np.eye(d))
            weights.append(bent.T @ np.linalg.solve(V, a))
            B = B + np.outer(a, weights[-1])
        return weights

    def priors(self, size: float) -> list[tuple[float, float]]:
        """Known ε (additive, σ = 1): also gaps of a few ε; else scales for long runs."""
        if self.e > 0:
            long = [(15 + share * size / self.e**2, 0.15) for share in (0.01, 0.1)]
            scales = [(15.0, 0.7), *long]
        else:
            scales = [(15.0, 0.85), (400.0, 0.1), (10_000.0, 0.05)]
        return [(ell * size, weight) for ell, weight in scales]

    def of_rank(self, k: int) -> tuple[float, float]:
        """(f_k, m_k)."""
        n = len(self.answers) - 2
        f = sum(j**-self.fallback_power for j in range(1, n + 1))
        m = sum(j * j**-self.summed_power for j in range(1, n + 1))
        return (
            self.fallback * k**-self.fallback_power / f,
            self.summed * k**-self.summed_power / m,
        )

    def beside(self, z: int, x: int, j: int) -> Array:
        Z = self.answers
        return np.asarray((Z[j] - self.c * Z[x]) + (1 + self.lean) * (Z[z] - Z[j]))

    def excluded(self, z: int, x: int, j: int, delta: float) -> bool:
        Z = self.answers
        return (
            any(
                self.distance(z, x, j, e) > self.squared_radius(e, delta)
                for e in range(len(self.kappas))
            )
            or self.strength(Z[j] - self.c * Z[x], delta) == math.inf
            or self.strength(self.beside(z, x, j), delta) == math.inf
        )

    def stops(self, z: int, delta: float) -> bool:
        """For every x: the pair, and every set that may outrank z with every one of it on top."""
        Z, n = self.answers, len(self.answers) - 2
        first = 1 - self.pi0 - (self.summed + self.fallback) * (n > 0)
        for x in range(len(Z)):
            own = math.inf if x == z else self.strength(Z[z] - self.c * Z[x], delta)
            if own == math.inf:
                continue
            if first * math.exp(own) < 1 / delta:
                return False
            doubtful = [
                j for j in range(len(Z)) if j not in (z, x) and not self.excluded(z, x, j, delta)
            ]
            alone = {j: math.exp(self.strength(Z[j] - self.c * Z[x], delta)) for j in doubtful}
            both = {j: math.exp(self.strength(self.beside(z, x, j), delta)) for j in doubtful}
            for k in range(1, len(doubtful) + 1):
                f, m = self.of_rank(k)
                for above in combinations(doubtful, k):
                    total = f * math.exp(own) + m * sum(both[j] for j in above)
                    if min(first * alone[j] for j in above) + total < 1 / delta:
                        return False
        return True
