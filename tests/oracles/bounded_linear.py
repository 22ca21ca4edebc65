"""The test for bounded rewards with features again: from its statement, result by result.

Nothing is shared with the kernels. The whole log is kept; the e-process of a pair is the product
over all results of e^{hγX}/(1 + p(e^{hγ} − 1)), exactly, without Bennett's inequality, and so is
the likelihood of the guard. What the kernels call F must never be above ln E at any parameter that
is possible and makes the answer wrong.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln

Array = NDArray[np.float64]

LEAST_TILT, TILTS, CELLS, CENTRE = 2.0**-10, 25, 11, 2


@dataclass
class LinearOracle:
    """Arms, answers and the log: rewards within [0, 1] with means ⟨ν, a⟩ − shift."""

    arms: Array
    answers: Array
    design: list[int]  # arms of the initial design, each measured once, first
    pulled: NDArray[np.int64]
    values: Array
    c: float
    e: float
    shift: float = 0.0

    def weights(self) -> Array:
        """g of every result, from arms alone."""
        d, first = self.arms.shape[1], len(self.design)
        start = self.arms[self.pulled[:first]]
        information = start.T @ start
        found = [first * np.linalg.solve(information, a) for a in start]
        product = sum(np.outer(a, g) for a, g in zip(start, found, strict=True))
        for t in range(first + 1, len(self.pulled) + 1):
            a = self.arms[self.pulled[t - 1]]
            information = information + np.outer(a, a)
            drift = product - (t - 1) * np.eye(d)
            g = (t * np.eye(d) - drift).T @ np.linalg.solve(information, a)
            product = product + np.outer(a, g)
            found.append(g)
        return np.array(found)

    def means(self, nu: Array) -> Array:
        """p of every arm."""
        return np.asarray(self.arms @ nu - self.shift)

    def cell(self, nu: Array, x: int) -> int:
        """Where (e + (1 − c)·⟨ν, x⟩)/v̄ lies among the powers of 2."""
        own = self.means(nu)[self.design]
        gap = self.e + (1 - self.c) * max(float(self.answers[x] @ nu), 0.0)
        variance = float((own * (1 - own)).mean())
        tilt = gap / variance if variance > 0 else math.inf
        if tilt <= LEAST_TILT:
            return 0
        return min(math.floor(math.log2(tilt / LEAST_TILT)), CELLS - 1) if tilt < 1e9 else CELLS - 1

    def log_e(self, g: Array, z: int, x: int, nu: Array) -> float:
        """ln E_zx(ν), result by result."""
        y = self.answers[z] - self.c * self.answers[x]
        gamma, p = g @ y, self.means(nu)[self.pulled]
        cell = self.cell(nu, x)
        masses, logs = [], []
        for k in range(2 * cell, TILTS):
            theta = LEAST_TILT * 2 ** (k / 2) / float(y @ y) * gamma
            masses.append(1.0 if cell == 0 else (1 + abs(k - 2 * cell - CENTRE) / 2) ** -2)
            logs.append(float((theta * self.values - np.log1p(p * np.expm1(theta))).sum()))
        shares = np.array(masses) / sum(masses)
        return float(np.logaddexp.reduce(np.log(shares) + np.array(logs)))

    def log_likelihood(self, nu: Array) -> float:
        """l(ν)."""
        p = self.means(nu)[self.pulled]
        with np.errstate(divide="ignore", invalid="ignore"):
            ups = np.where(self.values > 0, self.values * np.log(p), 0.0)
            downs = np.where(self.values < 1, (1 - self.values) * np.log1p(-p), 0.0)
        return float((ups + downs).sum())

    def log_against(self, arm: int, p: float) -> float:
        """ln M_a(p)."""
        own = self.values[self.pulled == arm]
        n, s = len(own), float(own.sum())
        if (p <= 0 and s > 0) or (p >= 1 and s < n):
            return math.inf
        ups = s * math.log(p) if s else 0.0
        downs = (n - s) * math.log1p(-p) if n > s else 0.0
        return float(betaln(s + 0.5, n - s + 0.5)) - math.log(math.pi) - ups - downs

    def possible(self, nu: Array, predicted: float, delta: float, guard: float = 0.05) -> bool:
        """Whether neither an arm's own results nor the likelihood ratio rule ν out."""
        p = self.means(nu)
        seen = np.unique(self.pulled)
        if (p[seen] < 0).any() or (p[seen] > 1).any():
            return False
        limit = math.log(2 * len(self.arms) / (guard * delta))
        if any(self.log_against(int(a), float(p[a])) >= limit for a in seen):
            return False
        return predicted - self.log_likelihood(nu) < math.log(2 / (guard * delta))
