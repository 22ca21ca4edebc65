"""From proportions to pulls: C- and D-tracking, and forced exploration."""

import math

from furthest.codes import Tracking
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Vector

# Differences below this are rounding: the lower index wins, on every machine.
TIE = 1e-9


@kernel
def most_behind(counts: Counts, target: Vector, scale: float) -> int:
    """argmin over arms of N_a − scale·target_a."""
    best, where = math.inf, 0
    for a in range(counts.shape[0]):
        lead = counts[a] - scale * target[a]
        if lead < best - TIE:
            best, where = lead, a
    return where


@kernel
def track(
    mode: int, counts: Counts, cumulative: Vector, weights: Vector, this_round: int, initial: int
) -> int:
    """The arm to pull: C follows the sum of all weights so far, D the weights of this round.

    D-tracking as the paper's appendix has it, argmin N − (t − n₀)w.

    Paper: C-tracking, D-tracking, Lemma E.9.
    """
    if mode == Tracking.C:
        return most_behind(counts, cumulative, 1.0)
    return most_behind(counts, weights, float(this_round - initial))


@kernel
def catch_up(counts: Counts, cumulative: Vector, rounds: int) -> bool:
    """Let the arms that fall behind √t − K/2 share this round; whether there are any.

    Forced exploration of Garivier & Kaufmann (2016).
    """
    arms = counts.shape[0]
    least = math.sqrt(rounds) - 0.5 * arms
    behind = 0
    for a in range(arms):
        if counts[a] <= least:
            behind += 1
    if behind > 0:
        for a in range(arms):
            if counts[a] <= least:
                cumulative[a] += 1.0 / behind
    return behind > 0


@kernel
def explore(weights: Vector, share: float, out: Vector) -> None:
    """Forced exploration: out = share/K + (1 − share)·w.

    Paper: forced exploration.
    """
    arms = weights.shape[0]
    for a in range(arms):
        out[a] = share / arms + (1.0 - share) * weights[a]
