"""AdaHedge: the online learner over arms (de Rooij, van Erven, Grünwald & Koolen 2014)."""

import math
from typing import NamedTuple

import numpy as np

from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Vector

# A mixability gap this small is zero: the learning rate ln K/Δ would overflow.
NO_GAP = 1e-300


class Learner(NamedTuple):
    """Exponential weights whose learning rate ln K/Δ adapts to the mixability gap Δ."""

    losses: Vector  # (K,) cumulative losses L, shifted so that their minimum is 0
    gap: Vector  # (1,) cumulative mixability gap Δ


def adahedge(arms: int) -> Learner:
    """A fresh learner."""
    return Learner(np.zeros(arms), np.zeros(1))


@kernel
def learner_weights(learner: Learner, out: Vector) -> None:
    """Weights ∝ exp(−ηL); while Δ = 0, uniform over the arms of least loss."""
    losses = learner.losses
    arms = losses.shape[0]
    gap = learner.gap[0]
    total = 0.0
    if gap > NO_GAP:
        rate = math.log(arms) / gap
        for a in range(arms):
            out[a] = math.exp(-rate * losses[a])
            total += out[a]
    else:
        for a in range(arms):
            out[a] = 1.0 if losses[a] <= 0.0 else 0.0
            total += out[a]
    inverse = 1.0 / total
    for a in range(arms):
        out[a] *= inverse


@kernel
def learn(learner: Learner, weights: Vector, gains: Vector) -> None:
    """Take in the gains (losses are −gains) that the weights of this round met.

    Paper: Lemma E.14.
    """
    losses = learner.losses
    arms = losses.shape[0]
    mean, largest = 0.0, -math.inf
    for a in range(arms):
        mean += weights[a] * gains[a]
        largest = max(largest, gains[a] - losses[a])
    learner.gap[0] += max(0.0, _mix_gain(learner, weights, gains, largest) - mean)
    for a in range(arms):
        losses[a] = largest - (gains[a] - losses[a])


@kernel
def _mix_gain(learner: Learner, weights: Vector, gains: Vector, largest: float) -> float:
    """(1/η) ln Σ w e^{η·gain}, `largest` being the largest gain − loss; for η = ∞ it is that.

    In terms of the losses, since a weight may underflow while its arm still matters: w is
    e^{−ηL}/S, and S is 1 over the largest weight, whose loss is 0.
    """
    gap = learner.gap[0]
    if gap <= NO_GAP:
        return largest
    losses = learner.losses
    arms = losses.shape[0]
    rate = math.log(arms) / gap
    total, heaviest = 0.0, 0.0
    for a in range(arms):
        total += math.exp(rate * (gains[a] - losses[a] - largest))
        heaviest = max(heaviest, weights[a])
    return largest + math.log(total * heaviest) / rate
