"""Unknown variance: the closed forms against quadrature, the martingale, and the error rate."""

import math
from collections.abc import Sequence

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize, minimize_scalar
from scipy.special import gammaln, log_ndtr

from furthest.kernels import contrasts, normal_gamma
from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.contrasts import Case, Ellipsoid, Price, Residual, TopWrong
from furthest.kernels.evidence import Clock, Evidence, no_evidence, take_in
from furthest.kernels.normal_gamma import Shapes
from furthest.kernels.topwrong import Scales, met, observe, top_wrong
from furthest.problem import Problem
from furthest.stopping import mixture as mixtures
from furthest.task import Task
from oracles.near_null import (
    CHASE,
    LONGER,
    ROUND_ROBIN,
    Array,
    is_scandal,
    near_null,
    simulate,
    tied,
    wrong_answers,
)

SHAPES = (3.0, 50.0, 100.0)


# --------------------------------------------------------------------- one direction, by quadrature


def log_likelihood_ratio(
    share: float, rounds: float, shape: float, errors: float, *, one_sided: bool
) -> float:
    """ln of the mixture over ρ and h at one σ, without the factor (1 + I/ℓ)^−½.

    `errors` is W = RSS(λ)/σ², of which the direction explains `share`: T²/(I + ℓ) = share·W. The
    integral over h is Gaussian; that over ρ is a quadrature in ln ρ around its largest value.
    """
    explained = share * errors

    def exponent(log_rho: float) -> float:
        rho = math.exp(log_rho)
        prior = shape * math.log(shape) - gammaln(shape) + shape * log_rho - shape * rho
        ratio = 0.5 * (rounds * log_rho + errors - rho * (errors - explained))
        side = math.log(2) + log_ndtr(math.sqrt(rho * explained)) if one_sided else 0.0
        return float(prior + ratio + side)

    top = minimize_scalar(lambda v: -exponent(v), bounds=(-8, 8), method="bounded").x
    width = 12 / math.sqrt(shape + 0.5 * rounds)
    area = quad(
        lambda v: math.exp(exponent(v) - exponent(top)), top - width, top + width, epsrel=1e-9
    )[0]
    return exponent(top) + math.log(area)


def least_over_sigma(share: float, rounds: float, shape: float, *, one_sided: bool) -> float:
    """The same, minimised over σ on a grid and then locally."""
    grid = np.geomspace(1e-7, 20 * rounds, 80)
    values = [
        log_likelihood_ratio(share, rounds, shape, errors, one_sided=one_sided) for errors in grid
    ]
    best = int(np.argmin(values))
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    found = minimize_scalar(
        lambda errors: log_likelihood_ratio(share, rounds, shape, errors, one_sided=one_sided),
        bounds=(low, high),
        method="bounded",
        options={"xatol": 1e-8 * high},
    )
    return float(min(found.fun, *values))


GRID = [
    (share, rounds, shape)
    for share in (0.02, 0.1, 0.3)
    for rounds in (20.0, 200.0)
    for shape in SHAPES
]


@pytest.mark.parametrize(("share", "rounds", "shape"), GRID)
def test_closed_form_is_the_least_over_sigma(share: float, rounds: float, shape: float) -> None:
    found = normal_gamma.log_e_value(share, rounds, shape)
    assert found == pytest.approx(least_over_sigma(share, rounds, shape, one_sided=False), abs=1e-5)


@pytest.mark.parametrize(("share", "rounds", "shape"), GRID)
def test_one_sided_bonus_is_a_lower_bound(share: float, rounds: float, shape: float) -> None:
    bonus = normal_gamma.log_one_sided_bonus(share, rounds, shape)
    bound = normal_gamma.log_e_value(share, rounds, shape) + bonus
    exact = least_over_sigma(share, rounds, shape, one_sided=True)
    assert 0 <= bonus <= math.log(2)
    assert bound <= exact + 1e-6
    if share * rounds > 15 and rounds > 2 * shape:
        assert bound > exact - 0.05  # almost all of ln 2


def test_one_sided_least_value_grows_with_the_share() -> None:
    """What makes a lower bound at the least share a bound for every larger one."""
    values = [
        least_over_sigma(share, 60.0, 50.0, one_sided=True) for share in np.linspace(0.01, 0.6, 12)
    ]
    assert np.all(np.diff(values) > -1e-6)


@pytest.mark.parametrize("shape", SHAPES)
def test_the_normaliser_is_made_of_gamma_functions(shape: float) -> None:
    for rounds in (1.0, 10.0, 1000.0):
        k = shape + rounds / 2
        exact = gammaln(k) - k * math.log(k) + k
        exact -= gammaln(shape) - shape * math.log(shape) + shape
        assert normal_gamma.log_normaliser(rounds, shape) == pytest.approx(exact, abs=1e-10)


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("rounds", [10.0, 100.0, 1e5])
def test_largest_share_inverts_the_closed_form(shape: float, rounds: float) -> None:
    ceiling = normal_gamma.log_e_value(1.0, rounds, shape)
    for target in (0.1, 3.0, 10.0, 30.0):
        share = normal_gamma.largest_share(target, rounds, shape)
        if target >= ceiling:
            assert share == math.inf
        else:
            reached = normal_gamma.log_e_value(share, rounds, shape)
            assert target <= reached <= target + 1e-6 * rounds


def test_bounds_on_the_largest_eigenvalue() -> None:
    rng = np.random.default_rng(0)
    for d in (1, 2, 5, 12):
        root = rng.normal(size=(d, d)) * np.exp(rng.normal(0, 2, size=d))
        matrix = root @ root.T
        work = np.zeros((2, d, d))
        exact = np.linalg.eigvalsh(matrix)[-1]
        upper = normal_gamma.largest_eigenvalue(matrix, work[0], work[1])
        assert exact <= upper <= exact * d ** (1 / 32) * (1 + 1e-9)
        assert normal_gamma.largest_diagonal(matrix) <= exact * (1 + 1e-12)


# ------------------------------------------------------------------------------- whole measurements


def history(
    seed: int, d: int, rounds: int, scale: float = 1.0
) -> tuple[Task, Evidence, TopWrong, mixtures.Mixture, Array, Array]:
    """Random measurements, and both tests for unknown σ after them; whitened arms and rewards."""
    rng = np.random.default_rng([seed, d])
    arms = rng.normal(size=(d + 3, d))
    task = Problem(arms, None, 0.2 * scale, "additive").task
    truth = rng.normal(size=d) * 1.5
    evidence = no_evidence(task)
    test, mixture = top_wrong(task, [0.1], shapes=Shapes()), mixtures.start_student(task, [0.1])
    pulls = [*range(d + 3), *rng.integers(d + 3, size=rounds - d - 3)]
    rewards = scale * (task.arms[pulls] @ truth + rng.normal(size=rounds))
    for arm, reward in zip(pulls, rewards, strict=True):
        take_in(task, evidence, int(arm), reward)
        observe(test, task, evidence, int(arm), reward)
    return task, evidence, test, mixture, task.arms[pulls], rewards


def case_of(task: Task, evidence: Evidence) -> Case:
    rounds = float(evidence.clock[Clock.ROUNDS])
    least_squares = (evidence.values, evidence.projected, evidence.inverse)
    return Case(task.answers, task.answer_columns, task.c, task.e, rounds, *least_squares)


@pytest.mark.parametrize("d", [1, 2, 5])
def test_residual_sum_of_squares_is_that_of_least_squares(d: int) -> None:
    _, evidence, test, _, arms, rewards = history(0, d, 300, scale=1e5)
    estimate = np.linalg.lstsq(arms, rewards, rcond=None)[0]
    expected = ((rewards - arms @ estimate) ** 2).sum()
    assert test.residual[Residual.SUM] == pytest.approx(expected, rel=1e-9)
    assert evidence.residual[0] == test.residual[Residual.SUM]


@pytest.mark.parametrize("d", [1, 2, 5])
@pytest.mark.parametrize("seed", range(3))
def test_ellipsoids_hold_everything_that_is_not_rejected(seed: int, d: int) -> None:
    """Along random rays, the last λ whose e-value is below the limit is within R² and the bound."""
    task, evidence, test, _, _, _ = history(seed, d, 200)
    case = case_of(task, evidence)
    contrasts.update_ellipsoids(test, case, evidence.matrix, 0)
    rss, V = test.residual[Residual.SUM], evidence.matrix
    rng = np.random.default_rng(seed)
    for j, kappa in enumerate(test.ellipsoids[Ellipsoid.KAPPA]):
        squared_radius = test.ellipsoids[Ellipsoid.SQUARED_RADIUS, j]
        metric = V @ np.linalg.solve(V + kappa * np.eye(d), V)
        volume = np.linalg.slogdet(V / kappa + np.eye(d))[1]
        limit = test.required[Price.RADIUS, 0] / 2 + volume / 2
        if squared_radius == math.inf:
            continue
        for ray in rng.normal(size=(200, d)) @ np.linalg.inv(np.linalg.cholesky(V)):
            squares = np.geomspace(1e-3, 1e4, 2000)
            share = squares * (ray @ metric @ ray) / (rss + squares * (ray @ V @ ray))
            values = np.max(
                [
                    math.log(weight)
                    + np.array([normal_gamma.log_e_value(s, 200.0, shape) for s in share[::20]])
                    for shape, weight in zip(*Shapes(), strict=True)
                ],
                axis=0,
            )
            kept = squares[::20][values < limit]
            assert kept.max() * (ray @ metric @ ray) <= squared_radius * (1 + 1e-9)


@pytest.mark.parametrize("d", [1, 2, 4])
@pytest.mark.parametrize("seed", range(4))
def test_mixture_is_below_the_least_over_all_alternatives(seed: int, d: int) -> None:
    """Against a general minimiser over λ in the half-space; σ is minimised in closed form."""
    task, evidence, _, mixture, _, _ = history(seed, d, 150)
    z, _ = instantaneous_furthest(task, evidence)
    found = mixtures.log_e_value(mixture, task, evidence, z)
    rss, V = evidence.residual[0], evidence.matrix
    root = np.linalg.cholesky(np.linalg.inv(V))

    def log_e(u: Array) -> float:
        delta = root @ u
        terms = []
        for kappa in mixture.kappas:
            both = V + kappa * np.eye(d)
            explained = (V @ delta) @ np.linalg.solve(both, V @ delta)
            volume = np.linalg.slogdet(both / kappa)[1]
            share = explained / (rss + u @ u)
            terms += [
                normal_gamma.log_e_value(share, 150.0, shape) + math.log(weight / 3) - volume / 2
                for shape, weight in zip(*Shapes(), strict=True)
            ]
        return float(np.logaddexp.reduce(terms))

    least = math.inf
    for x in range(len(task.answers)):
        y = task.answers[z] - task.answers[x]
        gap = evidence.estimate @ y + task.e
        if x == z:
            continue
        normal = root.T @ y
        at = gap * normal / (normal @ normal)
        best = minimize(
            log_e,
            at,
            method="SLSQP",
            constraints={"type": "ineq", "fun": lambda u, n=normal, g=gap: n @ u - g},
        )
        least = min(least, best.fun, log_e(at))
    assert found <= least + 1e-6
    assert found > least - 1.0


def test_decisions_do_not_depend_on_the_unit() -> None:
    for scale in (1.0, 1e-4, 1e6):
        rng = np.random.default_rng(5)
        task = Problem(np.eye(3), None, 0.2 * scale, "additive").task
        evidence, test = no_evidence(task), top_wrong(task, [0.1], shapes=Shapes())
        decisions = []
        for t in range(240):
            reward = scale * ((1.0, 0.0, 0.3)[t % 3] + 0.7 * rng.normal())
            take_in(task, evidence, t % 3, reward)
            observe(test, task, evidence, t % 3, reward)
            if t >= 3:
                z, _ = instantaneous_furthest(task, evidence)
                decisions.append(met(test, task, evidence, z, 0))
        if scale == 1.0:
            expected = decisions
            assert 20 < sum(decisions) < 220
        assert decisions == expected


def test_little_noise_needs_few_measurements() -> None:
    task = Problem(np.eye(3), None, 0.1, "additive").task
    evidence, test = no_evidence(task), top_wrong(task, [0.05], shapes=Shapes())
    rng = np.random.default_rng(0)
    for t in range(30):
        reward = (1.0, 0.0, 0.3)[t % 3] + 0.01 * rng.normal()
        take_in(task, evidence, t % 3, reward)
        observe(test, task, evidence, t % 3, reward)
    assert met(test, task, evidence, 0, 0)


# ------------------------------------------------------------------------ martingale and error rate


def e_values_at_the_truth(sampling: int, spread: float) -> Array:
    """The one-sided e-value of a contrast and the d-dimensional one at the true (μ, σ = 1)."""
    rounds, shape, runs = 40, 100.0, 1500 * LONGER
    problem, mu = near_null(2, "additive")
    task, truth = problem.task, problem.whiten(mu)
    y = task.answers[-1] - task.answers[0]
    precision, kappa = 200.0 * (y @ y), 200.0
    k = shape + rounds / 2

    def log_e(errors: float, explained: float, volume: float) -> float:
        rate = shape + (errors - explained) / 2
        constant = shape * math.log(shape) - gammaln(shape) + gammaln(k)
        return float(errors / 2 + constant - k * math.log(rate) - volume / 2)

    found = []
    for run in range(runs):
        evidence, test = no_evidence(task), top_wrong(task, [0.1], scales=Scales())
        noise = np.random.default_rng([run, sampling])
        means = task.arms @ truth / spread
        simulate(task, evidence, test, means, sampling, False, noise, rounds, rounds + 1)
        V, away = evidence.matrix, spread * evidence.estimate - truth
        errors = spread**2 * test.residual[Residual.SUM] + away @ V @ away
        t = y @ test.total * spread - ((test.drift + rounds * np.eye(2)) @ y) @ truth
        variance = y @ test.spread @ y
        one = log_e(errors, t * t / (variance + precision), math.log1p(variance / precision))
        both = V + kappa * np.eye(2)
        explained = float((V @ away) @ np.linalg.solve(both, V @ away))
        many = log_e(errors, explained, np.linalg.slogdet(both / kappa)[1])
        # Never below what the test uses, which does not know σ
        share = t * t / (variance + precision) / errors
        least = normal_gamma.log_e_value(share, rounds, shape)
        assert least - 0.5 * math.log1p(variance / precision) <= one + 1e-9
        found.append([one, many])
    return np.exp(found)


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
def test_e_values_are_martingales_at_the_truth(sampling: int) -> None:
    values = e_values_at_the_truth(sampling, 1.0)
    errors = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    assert np.all(np.abs(values.mean(axis=0) - 1) <= 4 * errors), (values.mean(axis=0), errors)


def test_another_sigma_is_seen_by_the_martingale_test() -> None:
    """Sabotage: at a σ that is not the true one the mean is far from 1."""
    values = e_values_at_the_truth(ROUND_ROBIN, 1.3)
    errors = values.std(axis=0, ddof=1) / math.sqrt(len(values))
    assert np.all(values.mean(axis=0) > 1 + 4 * errors)


def unknown(task: Task, deltas: Sequence[float]) -> TopWrong:
    """Top-wrong without knowing σ."""
    return top_wrong(task, deltas, shapes=Shapes())


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
@pytest.mark.parametrize(("shape", "d"), [(near_null, 2), (tied, 3)])
def test_wrong_answers_are_rarer_than_promised(shape: object, d: int, sampling: int) -> None:
    assert callable(shape)
    problem, mu = shape(d, "additive")
    runs, delta = 400 * LONGER, 0.2
    assert wrong_answers(problem, mu, delta, sampling, runs, make=unknown) <= delta * runs


@pytest.mark.parametrize("sampling", [ROUND_ROBIN, CHASE])
def test_a_lowered_threshold_is_found_out(sampling: int) -> None:
    """Sabotage: the same count on the same instance fails when the test asks for too little."""
    problem, mu = near_null(2, "additive")
    runs, delta = 400 * LONGER, 0.2
    wrong = wrong_answers(problem, mu, delta, sampling, runs, make=unknown, lowered=3.0)
    assert is_scandal(wrong, runs, delta)
