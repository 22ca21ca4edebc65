"""AdaHedge against a plain version in 60 digits, and against its regret bound."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from furthest.kernels.learners import Learner, adahedge, learn, learner_weights

DIGITS = 60


class PlainAdaHedge:
    """de Rooij, van Erven, Grünwald & Koolen (2014), figure 1, with losses = −gains."""

    def __init__(self, arms):
        self.losses = [mpmath.mpf(0)] * arms
        self.gap = mpmath.mpf(0)

    def weights(self):
        least = min(self.losses)
        if self.gap == 0:
            raw = [mpmath.mpf(loss == least) for loss in self.losses]
        else:
            rate = mpmath.log(len(self.losses)) / self.gap
            raw = [mpmath.exp(-rate * (loss - least)) for loss in self.losses]
        total = mpmath.fsum(raw)
        return [w / total for w in raw]

    def learn(self, gains):
        weights = self.weights()
        losses = [-mpmath.mpf(float(gain)) for gain in gains]
        hedge = mpmath.fsum(w * loss for w, loss in zip(weights, losses, strict=True))
        after = [total + loss for total, loss in zip(self.losses, losses, strict=True)]
        if self.gap == 0:
            # The limit η = ∞ looks at the arms that have weight.
            mix = min(loss for w, loss in zip(weights, losses, strict=True) if w > 0)
        else:
            rate = mpmath.log(len(losses)) / self.gap
            total = mpmath.fsum(
                w * mpmath.exp(-rate * loss) for w, loss in zip(weights, losses, strict=True)
            )
            mix = -mpmath.log(total) / rate
        self.gap += max(mpmath.mpf(0), hedge - mix)
        self.losses = after


def assert_follows_the_plain_version(gains, tolerance=1e-9):
    """Weights and gap agree round by round; the compiled learner plays its own weights."""
    with mpmath.workdps(DIGITS):
        arms = gains.shape[1]
        plain, learner, weights = PlainAdaHedge(arms), adahedge(arms), np.zeros(arms)
        size = np.abs(gains).max()
        for round_gains in gains:
            learner_weights(learner, weights)
            assert weights.sum() == pytest.approx(1)
            expected = np.array([float(w) for w in plain.weights()])
            np.testing.assert_allclose(weights, expected, atol=tolerance)
            learn(learner, weights, round_gains)
            plain.learn(round_gains)
            least = min(plain.losses)
            losses = [float(loss - least) for loss in plain.losses]
            np.testing.assert_allclose(
                learner.losses, losses, rtol=1e-9, atol=1e-12 * size * len(gains)
            )
            assert learner.gap[0] == pytest.approx(float(plain.gap), rel=tolerance, abs=1e-300)


@pytest.mark.parametrize("arms", [1, 2, 3, 20])
@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
def test_random_gains(arms, scale):
    """Paper: Lemma E.14."""
    rng = np.random.default_rng(arms)
    assert_follows_the_plain_version(scale * rng.gamma(0.5, size=(60, arms)))


def test_gains_as_in_a_run():
    # Gains of LεBAI: capped at ln t, growing slowly, with one arm ahead.
    rng = np.random.default_rng(1)
    rounds = np.arange(5, 200)[:, None]
    raw = rng.gamma([2.0, 4.0, 0.5, 0.1], size=(len(rounds), 4))
    assert_follows_the_plain_version(np.minimum(raw, np.log(rounds)))


@given(
    arrays(
        float,
        st.tuples(st.integers(1, 12), st.integers(1, 5)),
        elements=st.integers(0, 16).map(lambda n: n / 4),
    )
)
def test_short_sequences(gains):
    assert_follows_the_plain_version(gains)


@pytest.mark.parametrize(
    "gains",
    [
        # The gap stays at zero as long as all arms agree.
        [[3.0, 3.0], [5.0, 5.0], [1.0, 2.0], [7.0, 7.0]],
        # The leader is overtaken at once.
        [[1.0, 0.0], [50.0, 0.0], [0.0, 80.0], [0.0, 0.0]],
        [[0.001, 0.0], [10.0, 0.0], [0.0, 20.0], [1.0, 0.0]],
        [[1e-3, 0.0, 0.0], [100.0, 0.0, 50.0], [0.0, 300.0, 0.0], [0.0, 0.0, 700.0]],
        [[1e-8, 0.0], [1.0, 0.0], [0.0, 2.0], [0.0, 1.0]],
        # Enormous and tiny gains.
        [[1e150, 0.0], [0.0, 1e150], [1e150, 1e150], [0.0, 0.0]],
        [[1e-150, 0.0], [0.0, 1e-150], [0.0, 0.0], [1e-150, 1e-150]],
        [[1e-12, 0.0], [1e12, 0.0], [0.0, 1e12], [0.0, 1e12]],
        [[0.0, 0.0], [0.0, 0.0]],
    ],
)
def test_extreme_gains(gains):
    assert_follows_the_plain_version(np.array(gains))


def test_an_arm_whose_weight_has_underflowed_may_come_back():
    # Small steps keep the gap small, until the second arm's weight is exp(−2800); then one jump.
    gains = np.zeros((2001, 2))
    gains[:2000, 0] = 1e-3
    gains[2000, 1] = 5.0
    assert_follows_the_plain_version(gains)


def play(gains):
    """Regret, cumulative variance of the losses, largest range, final gap."""
    arms = gains.shape[1]
    learner, weights = adahedge(arms), np.zeros(arms)
    earned = variance = 0.0
    for row in gains:
        learner_weights(learner, weights)
        earned += weights @ row
        variance += weights @ (row - weights @ row) ** 2
        learn(learner, weights, row)
    regret = gains.sum(axis=0).max() - earned
    return regret, variance, np.ptp(gains, axis=1).max(), learner.gap[0]


def adversary(kind, rounds, arms, rng):
    if kind == "iid":
        return rng.random((rounds, arms))
    if kind == "alternating":
        # The gains that ruin follow-the-leader.
        gains = np.zeros((rounds, arms))
        gains[np.arange(rounds), np.arange(rounds) % arms] = 1.0
        gains[0] /= 2
        return gains
    if kind == "switching":
        return (np.arange(rounds)[:, None] // (rounds // arms) == np.arange(arms)).astype(float)
    return 10.0 ** rng.uniform(-3, 3, (rounds, 1)) * rng.random((rounds, arms))


@pytest.mark.parametrize("kind", ["iid", "alternating", "switching", "scales"])
@pytest.mark.parametrize("arms", [2, 4, 20])
def test_regret_bound(kind, arms):
    """Paper: Lemma E.14."""
    # de Rooij et al. (2014): R ≤ 2Δ (lemma 3) and R ≤ 2√(V ln K) + S(4/3 ln K + 2) (theorem 6).
    gains = adversary(kind, 600, arms, np.random.default_rng(arms))
    regret, variance, size, gap = play(gains)
    log = np.log(arms)
    assert regret <= 2 * gap + 1e-9
    assert regret <= 2 * np.sqrt(variance * log) + size * (4 / 3 * log + 2)


def test_the_bound_would_catch_follow_the_leader():
    """Paper: Lemma E.14."""
    # The leader alone loses half a unit in every round of the alternating gains.
    gains = adversary("alternating", 600, 2, np.random.default_rng(0))
    totals = np.cumsum(gains, axis=0) - gains
    earned = gains[np.arange(600), totals.argmax(axis=1)].sum()
    assert gains.sum(axis=0).max() - earned > 2 * np.sqrt(600 / 4 * np.log(2)) + 4


def test_weights_are_uniform_over_the_leaders_while_the_gap_is_zero():
    learner = Learner(np.array([0.0, 2.0, 0.0, 1.0]), np.zeros(1))
    weights = np.zeros(4)
    learner_weights(learner, weights)
    assert weights.tolist() == [0.5, 0.0, 0.5, 0.0]
