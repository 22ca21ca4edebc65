"""The test for bounded rewards against its theorem."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.random import Generator, default_rng

import furthest as ft
from furthest.codes import Noise
from furthest.engine import Run, told
from furthest.errors import StrategyError
from furthest.kernels.pairs import Pairs, Price, Tilt, accepts, interval, log_against
from furthest.preparation import prepare
from furthest.problem import Notion, Problem
from furthest.stopping import ranked
from furthest.stopping.nomination import Nominee, Progress
from furthest.stopping.pairs import PAIRS, excludes, score, start
from furthest.study.events import Columns, Settings
from furthest.study.fold import Fold
from oracles.near_null import LONGER, NOTIONS, is_scandal
from oracles.pairs import Array, PairsOracle

DELTA = 0.1


def options(arms: int, eps: float, notion: Notion = "additive", **noise: Any) -> Problem:
    """Plain options."""
    names = [f"option {i}" for i in range(arms)]
    return Problem.options(names, eps=eps, notion=notion, **(noise or {"noise": "bernoulli"}))


UNIFORM = ft.Strategy("uniform")


def fed(
    problem: Problem,
    arms: Array,
    values: Array,
    delta: float = DELTA,
    strategy: ft.Strategy = UNIFORM,
) -> Run:
    """A run that has taken in these results and proven nothing."""
    ready = prepare(strategy, problem.task, [delta])
    run, rng = ready.start(), default_rng(0)
    source = told(np.asarray(arms, np.int64), values / problem.unit)
    ready.advance(problem.task, run, source, rng, rng, len(arms), False)
    return run


def random_state(rng: Generator, arms: int, *, binary: bool) -> tuple[Array, Array]:
    """Arms, each at least once in order, and rewards within [0, 1]."""
    means = rng.choice([0.01, 0.05, 0.3, 0.5, 0.9, 0.99]) * rng.uniform(0.7, 1.0, arms)
    pulled = np.r_[np.arange(arms), rng.integers(arms, size=rng.integers(5, 3000))]
    if binary:
        return pulled, (rng.random(len(pulled)) < means[pulled]).astype(float)
    return pulled, rng.beta(10 * means[pulled], 10 * (1 - means[pulled]))


@pytest.mark.parametrize("noise", [Noise.BERNOULLI, Noise.BOUNDED], ids=["yes-no", "bounded"])
@pytest.mark.parametrize("notion", NOTIONS)
def test_evidence_and_decisions_are_the_oracle_s(notion: Notion, noise: Noise) -> None:
    rng = default_rng(17)
    decisions = set()
    for _ in range(12):
        arms, eps = int(rng.integers(2, 5)), float(rng.choice([0.02, 0.1]))
        binary = noise == Noise.BERNOULLI
        kind: dict[str, Any] = {"noise": "bernoulli"} if binary else {"bounds": (0, 1)}
        problem = options(arms, eps, notion, **kind)
        pulled, values = random_state(rng, arms, binary=binary)
        run = fed(problem, pulled, values)
        counts = np.bincount(pulled, minlength=arms).astype(float)
        c, e = (1.0, eps) if notion == "additive" else (1 - eps, 0.0)
        oracle = PairsOracle(counts, np.bincount(pulled, values, arms), c, e)
        if not binary:
            oracle.squares = predicted_squares(pulled, values, arms)
        test: Pairs = run.stopping.test
        assert test.squares.tolist() == pytest.approx(
            [] if oracle.squares is None else oracle.squares.tolist()
        )
        z = int(run.evidence.values.argmax())
        price = math.log((arms - 1) / 0.95)
        expected = min(oracle.evidence(z, x, DELTA) for x in range(arms) if x != z) - price
        found = score(test, problem.task, run.evidence, Nominee(z, 0.0, 0), None)
        assert found.threshold == pytest.approx(math.log(1 / DELTA))
        assert expected - 0.02 <= found.statistic <= expected + 1e-8 or expected > 2**20
        decision = bool(accepts(test, run.evidence, z, 0))
        assert decision == (found.statistic >= found.threshold)
        if abs(expected - found.threshold) > 0.02:
            assert decision == oracle.accepts(z, DELTA)
        decisions.add(decision)
        # What failed is tried first, and fails again.
        assert bool(accepts(test, run.evidence, z, 0)) == decision
    assert decisions == {False, True}


def predicted_squares(pulled: Array, values: Array, arms: int) -> Array:
    """Σ (X − m)², m the mean of the arm's own past and one result of ½."""
    found, seen = np.zeros(arms), [[0.5] for _ in range(arms)]
    for arm, value in zip(pulled.tolist(), values.tolist(), strict=True):
        found[arm] += (value - np.mean(seen[arm])) ** 2
        seen[arm].append(value)
    return found


def test_a_mean_of_several_counts_as_if_they_were_extreme() -> None:
    """So what a study is not told of single rewards can only make the evidence smaller."""
    rng, problem = default_rng(6), options(2, 0.1, bounds=(-1, 3))
    question = Settings(problem, ft.Strategy("uniform"), 1e-9, 0, 60.0, "tag")
    for _ in range(20):
        sizes = np.r_[1, 1, rng.integers(1, 9, 30)]
        arms = np.r_[0, 1, rng.integers(2, size=30)]
        a, b = rng.choice([0.2, 1.0, 9.0], 2).tolist()
        groups = [rng.beta(a, b, size) for size in sizes.tolist()]
        means = np.array([-1 + 4 * group.mean() for group in groups])
        fold = Fold(question)
        fold.take(Columns(arms, means, sizes, np.full(len(arms), np.nan)))
        known, most = np.zeros(2), np.zeros(2)
        for arm in range(2):
            seen = [0.5]
            for group in (groups[i] for i in np.flatnonzero(arms == arm)):
                predicted, mean = np.mean(seen), group.mean()
                known[arm] += ((group - predicted) ** 2).sum()
                within = mean * (1 - mean) if len(group) > 1 else 0.0
                most[arm] += len(group) * (within + (mean - predicted) ** 2)
                seen += group.tolist()
        found = fold.state.stopping.test.squares
        assert (found >= known - 1e-9).all()
        assert found.tolist() == pytest.approx(most.tolist())


def test_answers_are_some_of_the_arms_in_any_order() -> None:
    rng = default_rng(3)
    problem = Problem(np.eye(4), np.eye(4)[[2, 0, 3]], 0.05, noise="bernoulli")
    pulled, values = random_state(rng, 4, binary=True)
    run = fed(problem, pulled, values)
    own = [2, 0, 3]
    counts, sums = np.bincount(pulled, minlength=4)[own], np.bincount(pulled, values, 4)[own]
    oracle = PairsOracle(counts.astype(float), sums, 1.0, 0.05)
    for z in range(3):
        expected = min(oracle.evidence(z, x, DELTA) for x in range(3) if x != z)
        found = score(run.stopping.test, problem.task, run.evidence, Nominee(z, 0.0, 0), None)
        assert found.statistic == pytest.approx(expected - math.log(2 / 0.95), abs=0.02)


def test_intervals() -> None:
    """From outside, to 9 digits."""
    for n, s in ((1, 0), (1, 1), (7, 3), (50, 0.5), (1000, 1), (1e6, 5e5), (1e6, 1e6), (1e9, 12)):
        oracle = PairsOracle(np.array([n]), np.array([s]), 1.0, 0.1)
        low, high = interval(float(n), float(s), math.log(1 / (0.05 * DELTA)))
        expected = oracle.interval(0, DELTA)
        assert low == pytest.approx(expected[0], rel=1e-6, abs=1e-250)
        assert 1 - high == pytest.approx(1 - expected[1], rel=1e-6, abs=2e-12)
        assert low <= expected[0] * (1 + 1e-9)
        assert high >= expected[1] * (1 - 1e-9)
    assert log_against(5.0, 2.0, 0.0) == math.inf


def test_every_tilt_is_a_supermartingale() -> None:
    """One more result multiplies each term by at most 1 on average, whatever is in [0, 1]."""
    rng = default_rng(2)
    state = start(options(3, 0.05, bounds=(0, 1)).task, [DELTA])
    sizes, losses = state.tilts[Tilt.SIZE], state.tilts[Tilt.LOSS]
    by_squares = losses > 0
    assert 0 < by_squares.sum() < len(sizes)
    for _ in range(200):
        values = rng.random(4) ** rng.choice([0.1, 1, 5])
        if rng.random() < 0.3:
            values = np.r_[0.0, 1.0]
        shares = rng.dirichlet(np.ones(len(values)) * 0.5)
        mean, predicted = float(shares @ values), rng.random()
        tilts = np.where(rng.random(len(sizes)) < 0.5, sizes, -sizes)
        usual = shares @ np.exp(np.outer(values, tilts)) / (1 + mean * np.expm1(tilts))
        assert (usual <= 1 + 1e-12).all()
        small = np.where(by_squares, tilts, 0.0)
        exponents = np.outer(values - mean, small) - np.outer((values - predicted) ** 2, losses)
        assert (shares @ np.exp(exponents) <= 1 + 1e-12).all()
    weights = np.exp(state.log_weights)
    cells = [weights[a:b].sum() for a, b in pairwise(state.first_terms.tolist())]
    assert max(cells) <= 1 + 1e-12


NEAR_NULL: dict[str, tuple[list[float], float, Notion]] = {
    "rare": ([0.06, 0.0298], 0.03, "additive"),
    "even": ([0.5, 0.399, 0.399], 0.1, "additive"),
    "often": ([0.97, 0.919, 0.919, 0.97], 0.05, "additive"),
    "share": ([0.3, 0.199, 0.3], 1 / 3, "multiplicative"),
}


def errors(
    name: str, strategy: ft.Strategy, runs: int, max_rounds: int = 2500
) -> tuple[int, ft.Results]:
    """Wrong answers at DELTA."""
    means, eps, notion = NEAR_NULL[name]
    found = ft.simulate(
        *(options(len(means), eps, notion), means, strategy, DELTA, runs, 5),
        max_rounds=max_rounds,
        quiet=True,
    )
    return int((found.stopped & ~found.correct).sum()), found


@pytest.mark.parametrize("sampling", ["uniform", "softmin"])
@pytest.mark.parametrize("name", NEAR_NULL)
def test_near_null_errors(name: str, sampling: str) -> None:
    runs = 250 * LONGER
    wrong, _ = errors(name, ft.Strategy(sampling), runs)
    assert not is_scandal(wrong, runs, DELTA)


def weakened(*arguments: Any, **options: Any) -> Pairs:
    """Pairs for which less evidence is enough, by two and a half."""
    state = start(*arguments, **options)
    state.required[Price.PAIR] -= 2.5
    return state


def test_a_test_that_spends_too_much_is_caught() -> None:
    bad = replace(ranked.TESTS[None], bounded=replace(PAIRS, start=weakened))
    runs = 250
    wrong, _ = errors("even", ft.Strategy("uniform", stopping=bad), runs)
    assert is_scandal(wrong, runs, DELTA)


KINDS: dict[str, Callable[[Generator, Array], Array]] = {
    "uniform": lambda rng, means: rng.random(len(means)) * 2 * means,
    "narrow": lambda rng, means: means + rng.uniform(-0.1, 0.1, len(means)),
    "two points": lambda rng, means: np.where(rng.random(len(means)) < 0.5, 0.5, 1.5) * means,
    "clipped": lambda rng, means: np.clip(means + 0.2 * rng.standard_normal(len(means)), 0, 1),
}


@pytest.mark.parametrize("kind", KINDS)
def test_other_bounded_rewards(kind: str) -> None:
    """Wrong by a hair, and rewards that are not 0 or 1."""
    problem = options(3, 0.1, bounds=(0, 1))
    rng, rounds, runs, wrong = default_rng(8), 3000, 150 * LONGER, 0
    sample, middle = KINDS[kind], np.array([0.45, 0.345, 0.345])
    means = np.array([sample(rng, np.full(200_000, mean)).mean() for mean in middle])
    middle += np.array([0.0, *(means[0] - 0.101 - means[1:])])
    ready = prepare(ft.Strategy("uniform"), problem.task, [DELTA])
    arms = np.arange(rounds) % 3
    for _ in range(runs):
        run = ready.start()
        source = told(arms, sample(rng, middle[arms]) / problem.unit)
        ready.advance(problem.task, run, source, rng, rng, rounds, True)
        if run.stopping.progress[Progress.REACHED]:
            wrong += run.stopping.progress[Progress.ANSWER] != 0
    assert not is_scandal(wrong, runs, DELTA)


def test_narrow_rewards_cost_less_than_yes_and_no() -> None:
    """The share that goes by squares: measured .17 of the price of 0/1 rewards of the same mean."""
    problem, rng = options(2, 0.02, bounds=(0, 1)), default_rng(1)
    ready = prepare(ft.Strategy("uniform"), problem.task, [DELTA])
    arms, means = np.arange(40_000) % 2, np.array([0.5, 0.49])
    needed = {}
    for kind in ("narrow", "yes-no"):
        run = ready.start()
        values = (rng.random(len(arms)) < means[arms]).astype(float)
        if kind == "narrow":
            values = means[arms] + rng.uniform(-0.1, 0.1, len(arms))
        source = told(arms, values / problem.unit)
        needed[kind] = ready.advance(problem.task, run, source, rng, rng, len(arms), True)
    assert needed["narrow"] < 0.5 * needed["yes-no"] < 0.5 * len(arms)


@pytest.mark.parametrize("notion", NOTIONS)
def test_any_bounds_are_the_same_as_zero_and_one(notion: Notion) -> None:
    """Rewards and ε moved and stretched together; of a share of the best only stretched."""
    rng = default_rng(4)
    pulled, values = random_state(rng, 3, binary=True)
    low, width = (-7.0, 20.0) if notion == "additive" else (0.0, 20.0)
    eps = 0.1
    one = options(3, eps, notion)
    stretched = eps * width if notion == "additive" else eps
    other = options(3, stretched, notion, noise="bernoulli", bounds=(low, low + width))
    for problem, shown in ((one, values), (other, low + width * values)):
        run = fed(problem, pulled, shown)
        z = int(run.evidence.values.argmax())
        found = score(run.stopping.test, problem.task, run.evidence, Nominee(z, 0.0, 0), None)
        if problem is one:
            expected = found
    assert found.statistic == pytest.approx(expected.statistic, rel=1e-9)


def test_a_share_of_the_best_where_rewards_may_be_negative() -> None:
    """Values l + w·p: the null in units of the bounds, by the oracle."""
    rng = default_rng(4)
    pulled = np.arange(900) % 3
    values = (rng.random(900) < np.array([0.5, 0.45, 0.4])[pulled]).astype(float)
    low, width, eps = -0.5, 2.0, 0.3
    problem = options(3, eps, "multiplicative", noise="bernoulli", bounds=(low, low + width))
    run = fed(problem, pulled, low + width * values)
    z = int(run.evidence.values.argmax())
    counts = np.bincount(pulled, minlength=3).astype(float)
    sums = np.bincount(pulled, values, 3)
    oracle = PairsOracle(counts, sums, 1 - eps, eps * low / width, positive=-low / width)
    expected = min(oracle.evidence(z, x, DELTA) for x in range(3) if x != z)
    found = score(run.stopping.test, problem.task, run.evidence, Nominee(z, 0.0, 0), None)
    assert found.statistic == pytest.approx(expected - math.log(2 / 0.95), abs=0.02)


def test_what_is_ruled_out_is_beyond_its_interval() -> None:
    problem = options(3, 0.05)
    pulled = np.r_[0, 1, 2, np.arange(3000) % 3]
    values = (np.arange(len(pulled)) % 10 < np.array([9, 5, 1])[pulled]).astype(float)
    run = fed(problem, pulled, values)
    means = run.evidence.sums / run.evidence.counts
    out = [excludes(run.stopping.test, problem.task, run.evidence, z) for z in range(3)]
    assert not out[int(means.argmax())]
    assert out[int(means.argmin())]


def test_who_gets_it() -> None:
    """Bounds and no features; with features it is `bounded-linear`, or σ goes as before."""
    plain = options(2, 0.1, bounds=(0, 1))
    assert plain.noise_code == Noise.BOUNDED
    assert options(2, 0.1).noise_code == Noise.BERNOULLI
    assert options(2, 0.1).bounds == (0.0, 1.0)
    assert replace(plain, noise="sub-Gaussian").noise_code == Noise.SUB_GAUSSIAN
    features = Problem([[1, 0], [1, 1], [1, 2]], bounds=(0, 1))
    assert features.noise_code == Noise.BOUNDED_LINEAR
    others = Problem(np.eye(2), [[1, 0], [0.5, 0.5]], bounds=(0, 1))
    assert others.noise_code == Noise.BOUNDED_LINEAR
    assert Problem(np.eye(2), bounds=(1e9, 1e9 + 1)).noise_code == Noise.SUB_GAUSSIAN
    assert Problem(np.eye(2), bounds=None).noise_code == Noise.SUB_GAUSSIAN
    strategy = ft.Strategy()
    assert strategy.guarantee_for(plain).noise == "bounded"
    assert strategy.test_for(features.noise_code).name == "bounded-linear"
    assert strategy.guarantee_for(replace(features, noise="sub-Gaussian")).noise == "sub-Gaussian"
    # To a test that has nothing for bounds they are a σ, and outcomes are the same.
    other = ft.Strategy(stopping="top-wrong")
    assert other.noise_for(plain) == Noise.SUB_GAUSSIAN
    assert other.guarantee_for(plain).noise == "sub-Gaussian"
    blind = ft.simulate(plain, [0.9, 0.1], other, runs=5)
    told = ft.simulate(options(2, 0.1), [0.9, 0.1], other, runs=5)
    np.testing.assert_array_equal(blind.stopping_times, told.stopping_times)
    with pytest.raises(StrategyError, match="pairs has no options"):
        ft.Strategy(stopping_options={"masses": "lean"}).check_question(plain)
    with pytest.raises(ft.ParameterError, match="outside the bounds"):
        ft.simulate(plain, [0.5, 1.2])
    with pytest.raises(ft.InputError, match="no other noise"):
        ft.simulate(plain, [0.5, 0.2], noise=0.1)


def test_its_own_word_is_what_ranked_is_for_bounded_rewards(tmp_path: Path) -> None:
    """Simulated and live; only the word that the log keeps is another."""
    problem, means = options(3, 0.1), [0.8, 0.6, 0.5]
    times, proofs = [], []
    for word in (None, "ranked", "pairs"):
        strategy = ft.Strategy(stopping=word)
        times.append(ft.simulate(problem, means, strategy, DELTA, 20).stopping_times)
        storage = f"sqlite:///{tmp_path}/studies.db"
        study = ft.Study.create(str(word), problem, DELTA, storage, strategy=strategy)
        rng = default_rng(3)
        while (proof := study.certificate()) is None:
            trial = study.ask()
            study.tell(trial, float(rng.random() < means[trial.arm]))
        proofs.append(proof)
        study.close()
    np.testing.assert_array_equal(times[0], times[1])
    np.testing.assert_array_equal(times[0], times[2])
    assert len({(proof.measurements, proof.statistic, proof.guarantee) for proof in proofs}) == 1
    assert [proof.strategy["stopping"] for proof in proofs] == ["ranked", "ranked", "pairs"]
