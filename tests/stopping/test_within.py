"""How near to the best an answer certainly is, against the theorem in docs/theory/budget.md."""

import math
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pytest
from numpy.random import Generator

import furthest as ft
from furthest.codes import Noise
from furthest.kernels.contrasts import Price, TopWrong
from furthest.kernels.evidence import Clock, Evidence, no_evidence, take_in
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Vector
from furthest.kernels.pairs import Pairs, accepts
from furthest.kernels.pairs import Price as PairsPrice
from furthest.kernels.topwrong import met_within, observe
from furthest.problem import Notion, Problem
from furthest.stopping import pairs, ranked
from furthest.stopping.contrasts import glr_statistic
from furthest.stopping.nomination import Nominee
from furthest.stopping.within import certified_eps, smallest
from furthest.task import Task
from oracles.loop import Loop
from oracles.near_null import LONGER, NOTIONS, is_scandal
from oracles.pairs import PairsOracle
from oracles.ranked import RankedOracle
from oracles.topwrong import Array, Null

DELTA = 0.1


def test_the_smallest_number_that_is_accepted():
    for edge in (0.0, 1e-12, 0.3, 7.0, 1e9):
        found = smallest(edge.__le__, 0.0, 1.0)
        assert found >= edge
        assert found == pytest.approx(edge, rel=1e-8)
    assert smallest(lambda number: number > 0.7, 0.2, 0.5, 0.6) == math.inf
    assert smallest(lambda number: number > 0.55, 0.2, 0.5, 0.6) == pytest.approx(0.55)
    assert smallest(lambda _: False, 0.0, 1.0) == math.inf
    assert smallest(lambda _: True, 0.2, 1.0) == 0.2


class Uniform(RankedOracle):
    """The ranked test in which of one answer less is asked: c' and e' in place of c and e."""

    def accepts(self, z: int, c: float, e: float, delta: float) -> bool:  # noqa: C901
        Z, n = self.answers, len(self.answers) - 2
        first = 1 - self.pi0 - (self.summed + self.fallback) * (n > 0)
        for x in range(len(Z)):
            if x == z:
                continue
            own = self.strength(Z[z] - self.c * Z[x], delta, Null(Z[z] - c * Z[x], e))
            if own == math.inf:
                continue
            if first * math.exp(own) < 1 / delta:
                return False
            alone, both = {}, {}
            for j in range(len(Z)):
                if j in (z, x) or self.is_beyond(z, x, j, delta):
                    continue
                across = Z[z] - c * Z[x] + self.lean * (Z[z] - Z[j])
                against = self.strength(Z[j] - self.c * Z[x], delta)
                beside = self.strength(self.beside(z, x, j), delta, Null(across, e))
                if max(against, beside) < math.inf:
                    alone[j], both[j] = math.exp(against), math.exp(beside)
            for k in range(1, len(alone) + 1):
                f, m = self.of_rank(k)
                for above in combinations(alone, k):
                    total = f * math.exp(own) + m * sum(both[j] for j in above)
                    if min(first * alone[j] for j in above) + total < 1 / delta:
                        return False
        return True

    def is_beyond(self, z: int, x: int, j: int, delta: float) -> bool:
        return any(
            self.distance(z, x, j, e) > self.squared_radius(e, delta)
            for e in range(len(self.kappas))
        )


def random_run(seed: int, notion: Notion) -> tuple[Problem, Uniform, Evidence, TopWrong]:
    """A few measurements of a random question: the oracle and the kernels after them."""
    rng = np.random.default_rng(seed)
    d = 2 + seed % 3
    best = np.full(d, 2 / math.sqrt(d))
    answers = np.array([*(0.8 * best + 0.5 * rng.normal(size=(3, d))), best])
    mu = np.ones(d) + 0.2 * rng.normal(size=d)
    problem = Problem(answers, None, 0.1, notion)
    task = problem.task
    pulls = [*task.initial.tolist(), *rng.integers(4, size=30 + 40 * (seed % 4)).tolist()]
    rewards = [float(answers[a] @ mu + rng.normal()) for a in pulls]
    evidence, state = no_evidence(task), ranked.start(task, [DELTA])
    for arm, reward in zip(pulls, rewards, strict=True):
        take_in(task, evidence, arm, reward)
        observe(state, task, evidence, arm, reward)
    c, e = (1.0, 0.1) if notion == "additive" else (0.9, 0.0)
    oracle = Uniform(answers, answers, c, e, len(task.initial), pulls, rewards)
    return problem, oracle, evidence, state


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("seed", range(6))
def test_ranked_finds_the_smallest_that_the_theorem_allows(seed: int, notion: Notion) -> None:
    problem, oracle, evidence, state = random_run(seed, notion)
    found = certified_eps(ranked.KNOWN, problem, state, evidence, 3)
    if found is None:
        pytest.skip("nothing is proven here")

    def accepts(eps: float) -> bool:
        return oracle.accepts(3, *((1.0, eps) if notion == "additive" else (1 - eps, 0.0)), DELTA)

    assert accepts(found * (1 + 1e-4))
    if found > problem.eps:
        assert not accepts(max(problem.eps, found * (1 - 1e-4)))


def test_the_cases_are_of_every_kind() -> None:
    found = []
    for notion in NOTIONS:
        for seed in range(6):
            problem, _, evidence, state = random_run(seed, notion)
            found.append(certified_eps(ranked.KNOWN, problem, state, evidence, 3))
    assert sum(each is not None and each > 0.1 for each in found) >= 6
    assert any(each == 0.1 for each in found)


def looked_at(problem: Problem, mu: Array, strategy: ft.Strategy, rounds: int, seed: int) -> Loop:
    noise, rng = np.random.default_rng(seed), np.random.default_rng(seed + 1)
    loop = Loop(strategy, problem, mu, [DELTA], noise, rng)
    loop.advance(rounds)
    return loop


@pytest.mark.parametrize(
    ("stopping", "threshold"), [("glr", "theory"), ("glr", "mixture"), ("top-wrong", None)]
)
@pytest.mark.parametrize("notion", NOTIONS)
def test_it_is_where_the_test_of_another_question_begins_to_accept(
    stopping: str, threshold: str | None, notion: Notion
) -> None:
    """Of tests with one event for all ε: an ε' a little greater is accepted, a smaller one is not.

    Of top-wrong only the former, since its masses are for the ε that was asked.
    """
    arms = ft.hard().problem.arms
    strategy = ft.Strategy("uniform", stopping=stopping, threshold=threshold)
    problem = Problem(arms, eps=0.001, notion=notion)
    run = looked_at(problem, ft.hard().truth, strategy, 1500, 3).run
    z = int(run.evidence.values.argmax())
    test = strategy.test_for(Noise.SUB_GAUSSIAN)
    found = certified_eps(test, problem, run.stopping.test, run.evidence, z)
    assert found is not None
    assert found > 0.001
    outcomes = []
    for eps in (found * (1 + 1e-6), found * (1 - 1e-6)):
        other = Problem(arms, eps=eps, notion=notion)
        nominee = Nominee(z, glr_statistic(other.task, run.evidence, z), 0)
        _, reached = test.judge(run.stopping.test, other.task, run.evidence, nominee, None)
        outcomes.append(reached > 0)
    assert outcomes[0]
    assert stopping == "top-wrong" or not outcomes[1]


@pytest.mark.parametrize("notion", NOTIONS)
def test_pairs_keep_their_mixtures_and_widen_the_null(notion: Notion) -> None:
    """Against the oracle, whose tilts are those of the study's ε, on a grid of p."""
    problem = Problem(np.eye(3), eps=0.05, notion=notion, bounds=(0, 1), noise="bernoulli")
    strategy = ft.Strategy("uniform")
    run = looked_at(problem, np.array([0.6, 0.5, 0.3]), strategy, 400, 1).run
    counts, sums = run.evidence.counts.astype(float), run.evidence.sums
    successes = 0.5 * (sums - problem.task.low * counts)
    z = int((successes / counts).argmax())
    test = strategy.test_for(problem.noise_code)
    found = certified_eps(test, problem, run.stopping.test, run.evidence, z)
    assert found is not None
    assert found > 0.05

    oracle = PairsOracle(counts, successes, problem.task.c, 0.5 * problem.task.e)
    for eps, accepted in ((found * 1.002, True), (found * 0.998, False)):
        oracle.null = (1.0, eps) if notion == "additive" else (1 - eps, 0.0)
        assert oracle.accepts(z, DELTA) == accepted


# The claim "z is within ε' of the best", with ε' from the data: it is ever wrong of some z exactly
# if the test accepts that z, at some time, with an ε' a little less than what z falls short by.


@kernel
def claims_wrongly(
    task: Task,
    evidence: Evidence,
    state: TopWrong,
    means: Vector,
    tilts: Vector,
    slacks: Vector,
    noise: Generator,
    until: int,
) -> bool:
    """Whether a claim about any answer is wrong after any number of measurements.

    An answer of which the theorem would allow to ask less by `tilts` or `slacks` falls short.
    """
    while evidence.clock[Clock.ROUNDS] < until:
        rounds = evidence.clock[Clock.ROUNDS]
        arm = rounds % means.shape[0]
        if evidence.clock[Clock.READY] == 0:
            arm = task.initial[rounds]
        elif noise.random() < 0.5:  # what is pulled depends on the noise
            for a in range(means.shape[0]):
                if (
                    evidence.sums[a] * evidence.counts[arm]
                    > evidence.sums[arm] * evidence.counts[a]
                ):
                    arm = a
        reward = means[arm] + noise.standard_normal()
        take_in(task, evidence, arm, reward)
        observe(state, task, evidence, arm, reward)
        if evidence.clock[Clock.READY] == 0:
            continue
        for z in range(tilts.shape[0]):
            short = tilts[z] > 0.0 or slacks[z] > 0.0
            if short and met_within(state, task, evidence, z, tilts[z], slacks[z]):
                return True
    return False


class Claims(NamedTuple):
    """A question about plain options, and their values."""

    values: list[float]
    eps: float
    notion: Notion = "additive"

    def shortfalls(self) -> Array:
        """The ε' that each answer needs, where that is more than ε; else 0."""
        values = np.array(self.values)
        needed = values.max() - values
        if self.notion == "multiplicative":
            needed /= values.max()
        return np.where(needed > self.eps, needed, 0.0)


# Far below the ε that was asked for nobody would ask; values that fall short by all sorts of sizes;
# and some that are worse than ε by a hair.
FAR = [1.0, 0.75, 0.7, 0.4, 0.38, 0.0]
CLAIMS = {
    "far": Claims(FAR, 0.05),
    "far, a share": Claims(FAR, 0.05, "multiplicative"),
    "a hair": Claims([1.0, 0.498, 0.498], 0.5),
    "a hair, a share": Claims([1.0, 0.498, 0.498], 0.5, "multiplicative"),
}


def wrong_claims(claims: Claims, runs: int, lowered: float = 0.0, *, student: bool = False) -> int:
    """How many runs ever claim too much; `lowered` is taken off all required log evidence."""
    arms, sigma = len(claims.values), None if student else 1.0
    problem = Problem(np.eye(arms), None, claims.eps, claims.notion, sigma)
    task, wrong = problem.task, 0
    means, short = task.arms @ problem.whiten(claims.values), claims.shortfalls()
    extra = np.maximum(short - claims.eps, 0.0) * (1 - 1e-9)
    asked = (0.0 * extra, extra) if claims.notion == "additive" else (extra, 0.0 * extra)
    for run in range(runs):
        state = (ranked.start_student if student else ranked.start)(task, [DELTA])
        state.required[Price.RADIUS] -= 2 * lowered
        state.required[Price.FIRST :] -= lowered
        noise = np.random.default_rng([run, 11])
        wrong += claims_wrongly(task, no_evidence(task), state, means, *asked, noise, 400)
    return wrong


@pytest.mark.parametrize("student", [False, True], ids=["known", "unknown"])
@pytest.mark.parametrize("name", CLAIMS)
def test_claims_with_an_eps_from_the_data_are_right(name: str, *, student: bool) -> None:
    runs = 250 * LONGER
    wrong = wrong_claims(CLAIMS[name], runs, student=student)
    print(f"{wrong} of {runs} runs claim too much at δ = {DELTA}")
    assert not is_scandal(wrong, runs, DELTA)


@pytest.mark.parametrize("name", ["far", "a hair, a share"])
def test_claims_of_a_test_that_asks_for_too_little_are_found_out(name: str) -> None:
    assert is_scandal(wrong_claims(CLAIMS[name], 300, lowered=4.0), 300, DELTA)


# The same of yes/no outcomes, by `pairs`.


@kernel
def pairs_claim_wrongly(
    task: Task,
    evidence: Evidence,
    states: tuple[Pairs, ...],
    answers: Counts,
    rates: Vector,
    noise: Generator,
    until: int,
) -> bool:
    """Whether a claim about any answer, each with a state for what it needs, is ever wrong."""
    while evidence.clock[Clock.ROUNDS] < until:
        arm = evidence.clock[Clock.ROUNDS] % rates.shape[0]
        yes = 1.0 if noise.random() < rates[arm] else 0.0
        take_in(task, evidence, arm, task.low + 2.0 * yes)
        for i in range(len(states)):
            ready = evidence.clock[Clock.READY] == 1
            if ready and accepts(states[i], evidence, answers[i], 0):
                return True
    return False


YES_NO = {
    "a hair": Claims([0.5, 0.398, 0.398], 0.1),
    "a hair, a share": Claims([0.5, 0.2495, 0.2495], 0.5, "multiplicative"),
    "far, a share": Claims([0.6, 0.45, 0.3], 0.05, "multiplicative"),
}


def wrong_claims_of_pairs(claims: Claims, runs: int, lowered: float = 0.0) -> int:
    """How many runs ever claim too much."""
    arms, short, wrong = len(claims.values), claims.shortfalls(), 0
    problem = Problem(np.eye(arms), None, claims.eps, claims.notion, noise="bernoulli")
    task, answers, rates = problem.task, np.flatnonzero(short), np.array(claims.values)
    for run in range(runs):
        state = pairs.start(task, [DELTA])
        state.required[PairsPrice.PAIR] -= lowered
        asked = [
            task._replace(e=2 * each) if claims.notion == "additive" else task._replace(c=1 - each)
            for each in (short[answers] * (1 - 1e-9)).tolist()
        ]
        states = tuple(pairs.asked_otherwise(state, each) for each in asked)
        noise = np.random.default_rng([run, 12])
        wrong += pairs_claim_wrongly(task, no_evidence(task), states, answers, rates, noise, 1000)
    return wrong


@pytest.mark.parametrize("name", YES_NO)
def test_claims_of_pairs_are_right(name: str) -> None:
    runs = 250 * LONGER
    wrong = wrong_claims_of_pairs(YES_NO[name], runs)
    print(f"{wrong} of {runs} runs claim too much at δ = {DELTA}")
    assert not is_scandal(wrong, runs, DELTA)


def test_claims_of_pairs_that_ask_for_too_little_are_found_out() -> None:
    wrong = wrong_claims_of_pairs(YES_NO["a hair, a share"], 300, lowered=3.0)
    assert is_scandal(wrong, 300, DELTA)


def test_a_test_that_cannot_say_says_nothing() -> None:
    problem, _, evidence, state = random_run(0, "additive")
    unable = ft.StoppingTest("unable", lambda *_: None, lambda *_: (0, 0))
    assert certified_eps(unable, problem, state, evidence, 3) is None
    blank = no_evidence(problem.task)
    assert certified_eps(ranked.KNOWN, problem, state, blank, 3) is None
