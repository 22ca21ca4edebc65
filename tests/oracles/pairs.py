"""The test for bounded rewards again: from its statement, over a fine grid of the null.

Nothing is shared with the kernels: intervals by SciPy's root finder, the evidence as a plain sum
over tilts, its least value by trying many p in every cell.
"""

import math
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import betaln

Array = NDArray[np.float64]

BELOW = [0, 0.00125, 0.0025, 0.005, 0.01, 0.02, 0.04, 0.08, 0.16, 0.32]
EDGES = BELOW + [1 - edge for edge in BELOW[::-1]]
SHAPES = {-4: 0.04, -3: 0.08, -2: 0.16, -1: 0.2, 0: 0.4, 1: 0.08, 2: 0.04}
SPENT_ON_INTERVALS = 0.05


class PairsOracle:
    """A state of knowledge: n results of each arm with the sum s, within [0, 1]; answers = arms."""

    def __init__(self, n: Array, s: Array, c: float, e: float, positive: float = 0.0) -> None:
        self.n, self.s, self.c, self.e, self.positive = n, s, c, e, positive
        self.squares: Array | None = None
        self.null = c, e  # at whose edge the evidence is taken; the tilts go by c and e

    def log_against(self, arm: int, p: float) -> float:
        """ln M_a(p)."""
        n, s = self.n[arm], self.s[arm]
        likelihood = (s * math.log(p) if s else 0.0) + ((n - s) * math.log(1 - p) if n > s else 0.0)
        return float(betaln(s + 0.5, n - s + 0.5)) - math.log(math.pi) - likelihood

    def interval(self, arm: int, delta: float) -> tuple[float, float]:
        """All p with M_a(p) < K/(π₀δ)."""
        limit = math.log(len(self.n) / (SPENT_ON_INTERVALS * delta))
        middle = self.s[arm] / self.n[arm]

        def excess(p: float) -> float:
            return self.log_against(arm, p) - limit

        low = brentq(excess, 1e-290, middle, xtol=1e-300, rtol=1e-14) if self.s[arm] else 0.0
        far = 1 - 1e-15
        high = brentq(excess, middle, far, rtol=1e-14) if self.s[arm] < self.n[arm] else 1.0
        return float(low), float(high)

    def log_e(self, z: int, x: int, cell: tuple[float, float], p: float) -> float:
        """ln E at p_x = p, p_z = c·p − e."""
        low, high = cell
        if low > 0 and high < 0.5:
            typical = math.sqrt(low * high)
        elif low > 0.5 and high < 1:
            typical = 1 - math.sqrt((1 - low) * (1 - high))
        else:
            typical = (low + high) / 2
        first = (self.e + (1 - self.c) * typical) / (2 * typical * (1 - typical))
        first = min(max(first, 1e-3), 0.5)
        sizes = [i for i in range(60) if first * 2 ** (i / 2) <= 3]
        weights = {i: (1 + abs(i - 2) / 2) ** -2 for i in sizes}
        q = self.null[0] * p - self.null[1]
        logs, masses, by_squares, square_masses = [], [], [], []
        for i in sizes:
            for k, share in SHAPES.items():
                up, down = first * 2 ** ((i + k) / 2), first * 2 ** ((i - k) / 2)
                masses.append(weights[i] * share)
                logs.append(
                    up * self.s[z]
                    - self.n[z] * math.log(1 + q * (math.exp(up) - 1))
                    - down * self.s[x]
                    - self.n[x] * math.log(1 + p * (math.exp(-down) - 1))
                )
                if self.squares is not None and max(up, down) < 0.95:
                    square_masses.append(weights[i] * share)
                    by_squares.append(
                        up * (self.s[z] - self.n[z] * q)
                        - down * (self.s[x] - self.n[x] * p)
                        + (math.log(1 - up) + up) * self.squares[z]
                        + (math.log(1 - down) + down) * self.squares[x]
                    )
        if not by_squares:
            share = 1.0 if self.squares is None else 0.8
            return _log_mean(logs, masses) + math.log(share)
        return float(
            np.logaddexp(
                math.log(0.8) + _log_mean(logs, masses),
                math.log(0.2) + _log_mean(by_squares, square_masses),
            )
        )

    def evidence(self, z: int, x: int, delta: float, points: int = 400) -> float:
        """F(z, x), or a little more: the least ln E over a grid of what is possible."""
        low, high = self.interval(x, delta)
        least_z, _ = self.interval(z, delta)
        low = max(low, self.positive, (max(least_z, 0.0) + self.null[1]) / self.null[0])
        found = math.inf
        for first, last in pairwise(EDGES):
            begin, end = max(first, low), min(last, high)
            if begin > end:
                continue
            for p in np.linspace(begin, end, points):
                found = min(found, self.log_e(z, x, (first, last), float(p)))
        return found

    def accepts(self, z: int, delta: float) -> bool:
        """Whether every rival is refuted."""
        arms = len(self.n)
        enough = math.log((arms - 1) / ((1 - SPENT_ON_INTERVALS) * delta))
        return all(self.evidence(z, x, delta) >= enough for x in range(arms) if x != z)


def _log_mean(logs: list[float], masses: list[float]) -> float:
    weights = np.array(masses) / sum(masses)
    return float(np.logaddexp.reduce(np.log(weights) + np.array(logs)))
