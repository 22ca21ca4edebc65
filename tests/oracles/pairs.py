"""The tests for bounded rewards again: from their statements, over a fine grid of the null.

Nothing is shared with the kernels: intervals by SciPy's root finder, the evidence as a plain sum
over tilts, its least value by trying many p in every cell; with masses by rank every set of answers
that may outrank another.
"""

import math
from itertools import combinations, pairwise
from typing import Any

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
        first, weights = self.tilts(cell)
        sizes = list(weights)
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

    def tilts(self, cell: tuple[float, float]) -> tuple[float, dict[int, float]]:
        """θ_C, and w_i of every size i."""
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
        return first, {i: (1 + abs(i - 2) / 2) ** -2 for i in sizes}

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


class RankedPairsOracle(PairsOracle):
    """The same with masses by rank."""

    summed, fallback, summed_power, fallback_power = 0.3, 0.25, 1.2, 0.8

    def of_rank(self, k: int) -> tuple[float, float]:
        """(f_k, m_k)."""
        n = len(self.n) - 2
        f = sum(j**-self.fallback_power for j in range(1, n + 1))
        m = sum(j * j**-self.summed_power for j in range(1, n + 1))
        return (
            self.fallback * k**-self.fallback_power / f,
            self.summed * k**-self.summed_power / m,
        )

    def first(self) -> float:
        """π₁."""
        bystanders = len(self.n) > 2
        return 1 - SPENT_ON_INTERVALS - bystanders * (self.summed + self.fallback)

    def log_e_trio(
        self, trio: tuple[int, int, int], cell: tuple[float, float], means: tuple[Any, Any, Any]
    ) -> Any:
        """ln E against the trio (z, x, j) at (p_z, p_x, p_j), which may be arrays."""
        first, weights = self.tilts(cell)
        usual, few = [], []
        for i, weight in weights.items():
            for k, share in SHAPES.items():
                tilts = [first * 2 ** (s / 2) for s in (i + k + 1, i - k, i - k - 1)]
                signs, mass = (1, -1, -1), weight * share
                by_counts, by_squares = 0.0, 0.0
                for arm, p, size, sign in zip(trio, means, tilts, signs, strict=True):
                    th, n, s = sign * size, self.n[arm], self.s[arm]
                    by_counts = by_counts + th * s - n * np.log(1 + p * (math.exp(th) - 1))
                    if self.squares is not None and max(tilts) < 0.95:
                        loss = (math.log(1 - size) + size) * self.squares[arm]
                        by_squares = by_squares + th * (s - n * p) + loss
                usual.append((mass, by_counts))
                if self.squares is not None and max(tilts) < 0.95:
                    few.append((mass, by_squares))
        shares = [(1.0, usual)] if self.squares is None else [(0.8, usual), (0.2, few)]
        parts = []
        for share, terms in shares:
            total = sum(mass for mass, _ in terms)
            parts += [math.log(share * mass / total) + log for mass, log in terms]
        return np.logaddexp.reduce(np.array(parts))

    def least_of_pair(
        self, z: int, x: int, cell: tuple[float, float], delta: float, null: tuple[float, float]
    ) -> float:
        """The least ln E with p_x in the cell and p_z = c·p_x − e; infinite without any."""
        low, high = self.interval(x, delta)
        least, _ = self.interval(z, delta)
        c, e = null
        begin = max(low, cell[0], self.positive, (max(least, 0.0) + e) / c)
        end = min(high, cell[1])
        if begin > end:
            return math.inf
        self.null = null
        found = min(self.log_e(z, x, cell, float(p)) for p in np.linspace(begin, end, 200))
        self.null = self.c, self.e
        return found

    def least_of_trio(
        self, trio: tuple[int, int, int], cell: tuple[float, float], delta: float
    ) -> float:
        """The least ln E over p_z ≤ p_j ≤ c·p_x − e: p_z and p_j as in the proof, p_x on a grid."""
        (least, _), (low, high), (lowest, highest) = (self.interval(a, delta) for a in trio)
        q = np.linspace(max(least, lowest), highest, 400)[:, None]
        p = np.linspace(max(low, cell[0], self.positive), min(high, cell[1]), 60)[None, :]
        p = np.concatenate([p + 0 * q, (q + self.e) / self.c], axis=1)  # and on the edge of it
        inside = (p >= max(low, cell[0], self.positive)) & (p <= min(high, cell[1]))
        inside &= q <= self.c * p - self.e + 1e-15
        q = (q + 0 * p)[inside]
        if not len(q) or least > highest:
            return math.inf
        return float(self.log_e_trio(trio, cell, (q, p[inside], q)).min())

    def accepts_by_rank(
        self,
        z: int,
        delta: float,
        null: tuple[float, float] | None = None,
        intervals: float | None = None,
    ) -> bool:
        """Whether no x, cell and set leave room; of z itself `null` is asked.

        Intervals may be those of another δ.
        """
        arms, own, first = range(len(self.n)), (self.c, self.e), self.first()
        wide = delta if intervals is None else intervals
        for x in arms:
            low, high = self.interval(x, wide)
            for cell in pairwise(EDGES):
                if x == z or max(low, cell[0], self.positive) > min(high, cell[1]):
                    continue
                against = self.least_of_pair(z, x, cell, wide, null or own)
                if against == math.inf:
                    continue
                if first * math.exp(min(against, 300)) < 1 / delta:
                    return False
                alone, both = {}, {}
                for j in set(arms) - {x, z}:
                    top = self.least_of_pair(j, x, cell, wide, own)
                    beside = self.least_of_trio((z, x, j), cell, wide)
                    if max(top, beside) < math.inf:
                        alone[j], both[j] = (math.exp(min(e, 300)) for e in (top, beside))
                if self.leaves_room(math.exp(min(against, 300)), alone, both, delta):
                    return False
        return True

    def leaves_room(
        self, own: float, alone: dict[int, float], both: dict[int, float], delta: float
    ) -> bool:
        """Whether some set with some top one may outrank z."""
        for k in range(1, len(alone) + 1):
            f, m = self.of_rank(k)
            for above in combinations(alone, k):
                total = f * own + m * sum(both[j] for j in above)
                if self.first() * min(alone[j] for j in above) + total < 1 / delta:
                    return True
        return False


def _log_mean(logs: list[float], masses: list[float]) -> float:
    weights = np.array(masses) / sum(masses)
    return float(np.logaddexp.reduce(np.log(weights) + np.array(logs)))
