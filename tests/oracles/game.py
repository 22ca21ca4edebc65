"""LinGame and DKM in plain NumPy: AdaHedge, closest alternative and tracking by their formulas."""

from collections import defaultdict
from collections.abc import Callable

import numpy as np

from oracles.replay import Array, Data


class AdaHedge:
    """de Rooij, van Erven, Grünwald & Koolen (2014), figure 1."""

    def __init__(self, arms: int) -> None:
        self.losses = np.zeros(arms)
        self.gap = 0.0

    def weights(self) -> Array:
        excess = self.losses - self.losses.min()
        if self.gap == 0:
            weights = (excess == 0).astype(float)
        else:
            weights = np.exp(-np.log(len(excess)) / self.gap * excess)
        return weights / weights.sum()

    def learn(self, loss: Array) -> None:
        weights = self.weights()
        if self.gap == 0:
            mix = (self.losses + loss)[weights > 0].min() - self.losses.min()
        else:
            rate = np.log(len(loss)) / self.gap
            low = loss.min()
            mix = low - np.log(weights @ np.exp(-rate * (loss - low))) / rate
        self.gap += max(0.0, weights @ loss - mix)
        self.losses = self.losses + loss


def closest_alternative(data: Data, z: int, weights: Array) -> Array:
    """λ closest to the estimate in the metric V_w, under which some x is as good as z."""
    mu = data.estimate
    inverse = np.linalg.inv((data.arms.T * weights) @ data.arms)
    best, closest = np.inf, mu
    for x, answer in enumerate(data.answers):
        y = data.answers[z] - answer
        if x == z:
            continue
        gap, norm = y @ mu, y @ inverse @ y
        if gap**2 / norm < best:
            best, closest = gap**2 / norm, mu - gap / norm * inverse @ y
    return closest


class GreedyGame:
    """One learner per greedy answer; slack 2 ln s · widths, gains up to cap · ln s; C-tracking."""

    def __init__(self, arms: int, widths: Callable[[Data], Array], cap: float = 1.0) -> None:
        self.learners: dict[int, AdaHedge] = defaultdict(lambda: AdaHedge(arms))
        self.cumulative = np.ones(arms)
        self.widths = widths
        self.cap = cap

    def choose(self, data: Data) -> int:
        log_round = np.log(data.t + 1)
        z = int((data.answers @ data.estimate).argmax())
        weights = self.learners[z].weights()
        self.cumulative += weights
        shift = data.estimate - closest_alternative(data, z, weights)
        slack = np.sqrt(2 * log_round * self.widths(data))
        gains = np.minimum((np.abs(data.arms @ shift) + slack) ** 2, self.cap * log_round)
        self.learners[z].learn(-gains)
        lead = data.counts - self.cumulative
        return int(np.flatnonzero(lead < lead.min() + 1e-9)[0])
