"""Tracking against its deviation bounds, and ties."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from furthest.codes import Tracking
from furthest.kernels.tracking import explore, most_behind, track


def follow(mode, weights, counts):
    """Track a sequence of weights from given counts; yields counts and cumulative weights."""
    counts = np.array(counts, np.int64)
    cumulative, initial = counts.astype(float), int(counts.sum())
    for t, w in enumerate(weights, initial + 1):
        cumulative += w
        arm = track(mode, counts, cumulative, w, t, initial)
        counts[arm] += 1
        yield counts, cumulative


def sequences(rng, rounds, arms):
    yield np.full((rounds, arms), 1 / arms)
    yield rng.dirichlet(np.full(arms, 0.1), rounds)
    yield rng.dirichlet(np.ones(arms), rounds)
    yield np.eye(arms)[rng.integers(0, arms, rounds)]
    yield np.tile(rng.dirichlet(np.ones(arms)), (rounds, 1))


@pytest.mark.parametrize("arms", [1, 2, 4, 20])
def test_c_tracking_stays_within_its_bound(arms):
    """Paper: C-tracking, Lemma E.9."""
    # Degenne, Shao & Koolen (2020), theorem 6: −Σ_{j=2}^K 1/j ≤ N − W ≤ 1.
    harmonic = sum(1 / j for j in range(2, arms + 1))
    rng = np.random.default_rng(arms)
    for weights in sequences(rng, 300, arms):
        for counts, cumulative in follow(Tracking.C, weights, np.ones(arms)):
            lead = counts - cumulative
            assert lead.max() <= 1 + 1e-6
            assert lead.min() >= -harmonic - 1e-6


def test_the_lower_bound_of_c_tracking_is_reached():
    """Paper: Lemma E.9."""
    # Weight is spread over the arms that are behind already: the last gathers 1/2 + 1/3 + 1/4.
    arms = 4
    counts, cumulative = np.zeros(arms, np.int64), np.zeros(arms)
    alive = list(range(arms))
    while len(alive) > 1:
        w = np.zeros(arms)
        w[alive] = 1 / len(alive)
        cumulative += w
        arm = track(Tracking.C, counts, cumulative, w, 1, 0)
        counts[arm] += 1
        alive.remove(arm)
    assert (counts - cumulative)[alive[0]] == pytest.approx(-(1 / 2 + 1 / 3 + 1 / 4))


@pytest.mark.parametrize("arms", [2, 4, 20])
def test_d_tracking_reaches_fixed_proportions(arms):
    rng = np.random.default_rng(arms)
    w = rng.dirichlet(np.ones(arms))
    rounds = 2000
    *_, (counts, _) = follow(Tracking.D, np.tile(w, (rounds, 1)), np.ones(arms))
    # The initial pull of every arm comes on top of (t − n₀)·w; what is too much is never undone.
    assert np.abs(counts - rounds * w).max() <= arms


def test_d_tracking_looks_at_this_round_alone():
    """Paper: D-tracking."""
    counts = np.array([10, 1], np.int64)
    w = np.array([0.9, 0.1])
    for t, initial in ((13, 2), (30, 2)):
        lead = counts - (t - initial) * w
        expected = int(lead.argmin())
        # What was played before, here all on the other arm, does not count.
        cumulative = np.where(np.arange(2) == expected, 0.0, 1e6)
        assert track(Tracking.D, counts, cumulative, w, t, initial) == expected
        assert track(Tracking.C, counts, cumulative, w, t, initial) != expected


@given(
    st.lists(st.integers(0, 50), min_size=1, max_size=8),
    st.lists(st.integers(0, 200).map(lambda n: n / 4), min_size=8, max_size=8),
    st.sampled_from([0.0, 0.5, 1.0, 3.0]),
)
def test_most_behind_is_the_first_minimum(counts, target, scale):
    counts, target = np.array(counts, np.int64), np.array(target[: len(counts)])
    assert most_behind(counts, target, scale) == int((counts - scale * target).argmin())


def test_rounding_does_not_decide_between_equals():
    counts = np.array([1, 1, 1], np.int64)
    assert most_behind(counts, np.array([0.3, 0.1 + 0.2, 0.3]), 1.0) == 0
    assert most_behind(counts, np.array([0.3, 0.1 + 0.2, 0.3]), 1e4) == 0
    assert most_behind(counts, np.array([0.3, 0.3 + 1e-6, 0.3]), 1.0) == 1


@given(st.integers(1, 10), st.floats(0, 1), st.integers(0, 1000))
def test_forced_exploration(arms, share, seed):
    """Paper: forced exploration."""
    w, out = np.random.default_rng(seed).dirichlet(np.ones(arms)), np.zeros(arms)
    explore(w, share, out)
    np.testing.assert_allclose(out, share / arms + (1 - share) * w, rtol=1e-15, atol=1e-16)
    assert out.sum() == pytest.approx(1)
    assert out.min() >= share / arms * (1 - 1e-12)
