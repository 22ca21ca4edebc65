"""Bounded rewards with masses by rank, against the theorem."""

import math
from dataclasses import replace
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng

import furthest as ft
from furthest.codes import Noise
from furthest.errors import StrategyError
from furthest.kernels.pairs import Sample
from furthest.kernels.ranked_pairs import Price, RankedPairs, Trio, accepts, least_of_trio
from furthest.problem import Notion, Problem
from furthest.stopping.nomination import Nominee
from furthest.stopping.ranked_pairs import MASSES, RANKED_PAIRS, score, start
from furthest.stopping.within import certified_eps
from oracles.loop import Loop
from oracles.near_null import LONGER, NOTIONS, is_scandal
from oracles.pairs import EDGES, Array, RankedPairsOracle
from stopping.test_pairs import DELTA, NEAR_NULL, errors, fed, options, predicted_squares

STRATEGY = ft.Strategy("uniform", stopping="ranked-pairs")


def random_state(rng: Generator, arms: int, *, binary: bool) -> tuple[Array, Array]:
    """Arms, each at least once in order, and rewards; means that differ more or less."""
    scale = rng.choice([0.3, 0.5, 0.9])
    means = np.clip(scale * (1 - rng.choice([0.02, 0.2]) * np.arange(arms)), 0.005, 0.99)
    pulled = np.r_[np.arange(arms), rng.integers(arms, size=rng.integers(200, 6000))]
    if binary:
        return pulled, (rng.random(len(pulled)) < means[pulled]).astype(float)
    return pulled, rng.beta(10 * means[pulled], 10 * (1 - means[pulled]))


def known(rng: Generator, notion: Notion, noise: Noise) -> tuple[Problem, Any, RankedPairsOracle]:
    """A question, a run that has taken in some results, and the oracle of both."""
    arms, eps = int(rng.integers(2, 6)), float(rng.choice([0.02, 0.1]))
    binary = noise == Noise.BERNOULLI
    kind: dict[str, Any] = {"noise": "bernoulli"} if binary else {"bounds": (0, 1)}
    problem = options(arms, eps, notion, **kind)
    pulled, values = random_state(rng, arms, binary=binary)
    run = fed(problem, pulled, values, strategy=STRATEGY)
    counts = np.bincount(pulled, minlength=arms).astype(float)
    c, e = (1.0, eps) if notion == "additive" else (1 - eps, 0.0)
    oracle = RankedPairsOracle(counts, np.bincount(pulled, values, arms), c, e)
    if not binary:
        oracle.squares = predicted_squares(pulled, values, arms)
    return problem, run, oracle


@pytest.mark.parametrize("noise", [Noise.BERNOULLI, Noise.BOUNDED], ids=["yes-no", "bounded"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_decisions_are_the_oracle_s(notion: Notion, noise: Noise) -> None:
    """At the score's own level, a little above and a little below: every set tried one by one."""
    rng, close = default_rng(37), 0
    for _ in range(8):
        problem, run, oracle = known(rng, notion, noise)
        test, z = run.stopping.test, int(run.evidence.values.argmax())
        found = score(test, problem.task, run.evidence, Nominee(z, 0.0, 0), None)
        decision = bool(accepts(test, run.evidence, z, 0))
        assert decision == (found.statistic >= found.threshold)
        # What failed is tried first, and fails again.
        assert bool(accepts(test, run.evidence, z, 0)) == decision
        if abs(found.statistic - found.threshold) > 0.05:
            assert decision == oracle.accepts_by_rank(z, DELTA)
        if 0.1 < found.statistic < 100:
            close += 1
            for off, expected in ((0.03, True), (-0.03, False)):
                level = math.exp(off - found.statistic)
                assert oracle.accepts_by_rank(z, level, intervals=DELTA) == expected
    assert close >= 3


@pytest.mark.parametrize("noise", [Noise.BERNOULLI, Noise.BOUNDED], ids=["yes-no", "bounded"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_no_point_of_the_null_has_less_evidence(notion: Notion, noise: Noise) -> None:
    """Any p_z ≤ p_j ≤ c·p_x − e of a cell: nothing is said of which of them is the worst."""
    rng, tried, loosest = default_rng(29), 0, []
    for _ in range(25):
        _, run, oracle = known(rng, notion, noise)
        test, arms = run.stopping.test, len(oracle.n)
        if arms < 3:
            continue
        z, x, j = rng.permutation(arms)[:3].tolist()
        cells = list(pairwise(EDGES))
        number = int(np.searchsorted(EDGES, oracle.s[x] / oracle.n[x] + 0.01, "right")) - 1
        number = min(max(number, 0), len(cells) - 1)
        first, last = cells[number]
        low, high = 0.0, oracle.c * last - oracle.e
        if high <= low:
            continue
        squares = np.zeros(arms) if oracle.squares is None else oracle.squares
        own, best, third = (
            Sample(float(oracle.n[a]), float(oracle.s[a]), float(squares[a])) for a in (z, x, j)
        )
        found = least_of_trio(test, number, low, high, Trio(own, best, third, first))
        p_x = rng.uniform(first, last, 500)
        p_j = rng.uniform(0, 1, 500) * (oracle.c * p_x - oracle.e)
        p_x, p_j = p_x[p_j >= 0], p_j[p_j >= 0]
        p_z = p_j * rng.uniform(0, 1, len(p_j)) ** rng.choice([0.01, 0.2, 1], len(p_j))
        values = oracle.log_e_trio((z, x, j), cells[number], (p_z, p_x, p_j))
        assert found.bound <= values.min() + 1e-9
        at, least = found.at, max((found.at + oracle.e) / oracle.c, first)
        exact = oracle.log_e_trio((z, x, j), cells[number], (at, least, at))
        assert found.value == pytest.approx(float(exact), abs=1e-8)
        loosest.append(found.value - found.bound)
        tried += 1
    assert tried >= 8
    assert max(loosest) < 1e-6


@pytest.mark.parametrize("bounds", [None, (0, 1)])
def test_masses_and_weights_are_a_supermartingale_s(bounds: Any) -> None:
    """Of each tilt tests/stopping/test_pairs.py; here that no more than 1 is given away."""
    noise = {"noise": "bernoulli"} if bounds is None else {"bounds": bounds}
    state = start(options(6, 0.05, **noise).task, [DELTA])
    first = math.exp(math.log(1 / DELTA) - state.required[Price.FIRST, 0])
    ranks = np.arange(1, 5)
    total = MASSES.ellipsoid + first + state.ranks[0].sum() + (ranks * state.ranks[1]).sum()
    assert total == pytest.approx(1.0)
    trios = state.trios
    weights = np.exp(trios.log_weights)
    for a, b in pairwise(trios.first_terms.tolist()):
        assert weights[a:b].sum() <= 1 + 1e-12
    # Terms use tilts of their own cell and kind, and one of each kind per arm.
    for cell, (a, b) in enumerate(pairwise(trios.first_terms.tolist())):
        low, high = trios.first_tilts[cell], trios.first_tilts[cell + 1]
        for uses in (trios.ups, trios.bests, trios.thirds):
            assert ((uses[a:b] >= low) & (uses[a:b] < high)).all()
        kinds = [trios.tilts[3, uses[a:b]] > 0 for uses in (trios.ups, trios.bests, trios.thirds)]
        np.testing.assert_array_equal(kinds[0], kinds[1])
        np.testing.assert_array_equal(kinds[0], kinds[2])


def test_every_trio_is_a_supermartingale() -> None:
    """One more result of any arm multiplies each term by at most 1 on average, at the true means.

    Whatever is in [0, 1], by brute force over distributions; terms from the state itself.
    """
    rng = default_rng(2)
    trios = start(options(3, 0.05, bounds=(0, 1)).task, [DELTA]).trios
    sizes, ups, downs, losses = trios.tilts
    for uses, sign in ((trios.ups, 1.0), (trios.bests, -1.0), (trios.thirds, -1.0)):
        theta, loss = sign * sizes[uses], losses[uses]
        factor = ups[uses] if sign > 0 else downs[uses]
        for _ in range(60):
            values = rng.random(4) ** rng.choice([0.1, 1, 5])
            values = np.r_[0.0, 1.0] if rng.random() < 0.3 else values
            shares = rng.dirichlet(np.ones(len(values)) * 0.5)
            mean, predicted = float(shares @ values), rng.random()
            usual = shares @ np.exp(np.outer(values, theta)) / (1 + mean * factor)
            exponents = np.outer(values - mean, theta)
            exponents -= np.outer((values - predicted) ** 2, loss)
            by_squares = shares @ np.exp(exponents)
            assert (np.where(loss > 0, by_squares, usual) <= 1 + 1e-12).all()


def test_two_options_are_a_pair() -> None:
    problem = options(2, 0.05)
    times = [
        ft.simulate(problem, [0.5, 0.4], ft.Strategy(stopping=name), runs=20).stopping_times
        for name in ("pairs", "ranked-pairs")
    ]
    np.testing.assert_array_equal(*times)


def test_what_is_remembered_changes_no_decision() -> None:
    problem = options(7, 0.05)
    loop = Loop(
        ft.Strategy(stopping="ranked-pairs"),
        problem,
        np.array([0.6, *[0.5] * 6]),
        [DELTA],
        default_rng(1),
    )
    sizes = set()
    loop.advance(7)
    while not loop.advance(loop.rounds + 5):
        test, evidence = loop.run.stopping.test, loop.run.evidence
        for z in range(7):
            fresh = test._replace(obstacles=np.full_like(test.obstacles, -1))
            assert bool(accepts(test, evidence, z, 0)) == bool(accepts(fresh, evidence, z, 0))
            sizes.add(int(test.obstacles[z, 2]))
    assert {0, 1, 2, 3} <= sizes


@pytest.mark.parametrize("sampling", ["uniform", "softmin"])
@pytest.mark.parametrize("name", NEAR_NULL)
def test_near_null_errors(name: str, sampling: str) -> None:
    runs = 250 * LONGER
    wrong, _ = errors(name, ft.Strategy(sampling, stopping="ranked-pairs"), runs)
    assert not is_scandal(wrong, runs, DELTA)


def weakened(*arguments: Any, **options: Any) -> RankedPairs:
    """Less evidence is enough, by two and a half."""
    state = start(*arguments, **options)
    state.required[Price.FIRST :] -= 2.5
    return state


def test_a_test_that_spends_too_much_is_caught() -> None:
    own = replace(RANKED_PAIRS, start=weakened)
    bad = replace(own, bounded=own)
    wrong, _ = errors("even", ft.Strategy("uniform", stopping=bad), 250)
    assert is_scandal(wrong, 250, DELTA)


@pytest.mark.parametrize("notion", NOTIONS)
def test_of_a_spent_budget_only_z_itself_is_asked_less(notion: Notion) -> None:
    problem = options(3, 0.05, notion)
    rng = default_rng(5)
    pulled = np.arange(900) % 3
    values = (rng.random(900) < np.array([0.6, 0.5, 0.3])[pulled]).astype(float)
    run = fed(problem, pulled, values, strategy=STRATEGY)
    z = int(run.evidence.values.argmax())
    found = certified_eps(RANKED_PAIRS, problem, run.stopping.test, run.evidence, z)
    assert found is not None
    assert found > 0.05
    counts = np.bincount(pulled, minlength=3).astype(float)
    c, e = (1.0, 0.05) if notion == "additive" else (0.95, 0.0)
    oracle = RankedPairsOracle(counts, np.bincount(pulled, values, 3), c, e)
    for eps, accepted in ((found * 1.005, True), (found * 0.995, False)):
        null = (1.0, eps) if notion == "additive" else (1 - eps, 0.0)
        assert oracle.accepts_by_rank(z, DELTA, null) == accepted


def test_only_for_bounded_rewards_of_plain_options() -> None:
    for problem in (options(2, 0.1, sigma=1.0), Problem([[1, 0], [1, 1], [1, 2]], bounds=(0, 1))):
        for name in ("pairs", "ranked-pairs"):
            with pytest.raises(
                StrategyError, match="within bounds, such as yes and no, of options"
            ):
                ft.simulate(problem, problem.arms[0], ft.Strategy(stopping=name), runs=1)
