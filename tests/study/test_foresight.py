"""Foresight: what the futures of a study need."""

import threading

import numpy as np
import pytest

import furthest as ft
from furthest.errors import InputError
from furthest.kernels.evidence import Clock, no_evidence, take_in
from furthest.study import foresight
from study.problems import ENDLESS, HARD, TWO, TWO_MU, Lab, run


def begun(url, problem, mu, results, **options):
    study = ft.Study.create("a", problem, 0.1, url, **options)
    run(study, Lab(problem, mu, seed=5, sigma=problem.sigma or 1.0), most=results)
    return study


def test_before_and_after(sqlite_url):
    study = ft.Study.create("a", TWO, 0.1, sqlite_url)
    assert study.foresight() is None
    study.add("A", 2.0)
    assert study.foresight() is None
    study.add("B", 0.0)
    found = study.foresight()
    assert 0 < found.low <= found.median <= found.high
    assert found.measurements == 2
    run(study, Lab(TWO, TWO_MU))
    after = study.foresight()
    assert (after.low, after.median, after.high) == (0, 0, 0)


def test_it_changes_nothing_and_repeats(sqlite_url):
    study = begun(sqlite_url, HARD.problem, HARD.truth, 40)
    before = study.status()
    found = study.foresight(draws=20, seed=1)
    assert study.foresight(draws=20, seed=1) == found
    assert study.foresight(draws=20, seed=2) != found
    assert study.status() == before
    with pytest.raises(InputError, match="at least 1"):
        study.foresight(draws=0)


SAMPLE = 4000


def by_quadrature(evidence, sigma_known, flat):
    """E and sd of the first coordinate and of ln σ: sums over a grid of spread, σ and μ itself.

    The prior of μ is the mixture of normals as written, with nothing integrated by hand.
    """
    d, rounds = len(evidence.estimate), int(evidence.clock[Clock.ROUNDS])
    contrasts = d - flat
    tilt = (contrasts + 1) / 2
    sigmas = np.array([1.0]) if sigma_known else np.geomspace(0.2, 12, 60)
    axis = np.linspace(-9, 9, 121)
    mu = np.stack(np.meshgrid(*[axis] * d, indexing="ij"), -1).reshape(-1, d)
    away = mu - evidence.estimate
    misfit = float(evidence.residual[0]) + ((away @ evidence.matrix) * away).sum(axis=1)
    length = (mu**2).sum(axis=1) if not flat else (mu[:, 0] - mu[:, 1]) ** 2 / 2
    mass, first, second, logs, squares = np.zeros(5)
    for sigma in sigmas:
        # Uniform in ln σ; the grid of spreads is in units of σ.
        likelihood = -rounds * np.log(sigma) - misfit / (2 * sigma**2)
        for spread in foresight.SPREADS:
            scale = sigma * spread / np.sqrt(d)
            prior = (
                tilt * np.log(sigma * spread) - contrasts * np.log(scale) - length / (2 * scale**2)
            )
            weight = np.exp(likelihood + prior)
            mass += weight.sum()
            first += (weight * mu[:, 0]).sum()
            second += (weight * mu[:, 0] ** 2).sum()
            logs += weight.sum() * np.log(sigma)
            squares += weight.sum() * np.log(sigma) ** 2
    return (
        *(first / mass, np.sqrt(second / mass - (first / mass) ** 2)),
        *(logs / mass, np.sqrt(max(squares / mass - (logs / mass) ** 2, 0.0))),
    )


@pytest.mark.parametrize("sigma", [1.0, None])
@pytest.mark.parametrize("flat", [True, False])
def test_draws_are_from_the_posterior(sigma, flat):
    """Two options have a direction that raises both; two crossed arms have none."""
    arms = np.eye(2) if flat else np.array([[1.0, 0.0], [0.3, 1.0], [1.0, -1.0]])
    problem = ft.Problem(arms, eps=0.1, sigma=sigma)
    task, evidence, rng = problem.task, no_evidence(problem.task), np.random.default_rng(5)
    for number in range(9):
        arm = number % len(arms)
        take_in(task, evidence, arm, 1.5 * (arm == 0) + rng.standard_normal())
    posterior = foresight.Posterior(problem, evidence)
    drawn = [posterior.draw(rng) for _ in range(SAMPLE)]
    mu = np.linalg.lstsq(task.arms, np.array([each.means for each in drawn]).T)[0][0]
    noise = np.log([each.noise for each in drawn])
    mean, deviation, log_noise, its_deviation = by_quadrature(evidence, sigma is not None, flat)
    assert mu.mean() == pytest.approx(mean, abs=5 * deviation / SAMPLE**0.5)
    assert mu.std() == pytest.approx(deviation, rel=0.08)
    assert noise.mean() == pytest.approx(log_noise, abs=5 * its_deviation / SAMPLE**0.5 + 1e-9)
    assert noise.std() == pytest.approx(its_deviation, rel=0.08, abs=1e-9)


def test_values_are_drawn_closer_together_than_estimated_and_not_lower():
    """Ten options that are all alike: the estimates differ by the noise alone."""
    problem = ft.Problem(np.eye(10), eps=0.1)
    task, evidence, rng = problem.task, no_evidence(problem.task), np.random.default_rng(2)
    for arm in range(10):
        take_in(task, evidence, arm, 1000 + rng.standard_normal())
    posterior = foresight.Posterior(problem, evidence)
    drawn = np.array([posterior.draw(rng).means for _ in range(500)])
    estimates = task.arms @ evidence.estimate
    # Under a flat prior the noise is added to them once more, in nine directions of ten.
    assert drawn.var(axis=1).mean() < 0.85 * (estimates.var() + 0.9)
    assert drawn.mean() == pytest.approx(estimates.mean(), abs=0.1)


def test_what_is_far_apart_stays_where_it_is():
    problem = ft.Problem(np.eye(3), eps=0.1, sigma=None)
    task, evidence, rng = problem.task, no_evidence(problem.task), np.random.default_rng(2)
    for number in range(12):
        take_in(task, evidence, number % 3, 10_000.0 * (number % 3) + rng.standard_normal())
    posterior = foresight.Posterior(problem, evidence)
    drawn = [posterior.draw(rng) for _ in range(500)]
    assert np.mean([each.means for each in drawn], axis=0) == pytest.approx(
        task.arms @ evidence.estimate, abs=0.3
    )
    assert np.median([each.noise for each in drawn]) == pytest.approx(
        np.sqrt(evidence.residual[0] / 9), rel=0.15
    )


def test_it_foresees_what_comes(sqlite_url):
    """If μ is drawn from the posterior itself, the range holds nine futures in ten."""
    study = begun(sqlite_url, HARD.problem, HARD.truth, 30)
    found = study.foresight(draws=200)
    needed, _ = foresight._futures(study._fold, 200, np.random.default_rng(11))
    inside = np.mean([found.low <= each <= found.high for each in needed])
    assert 0.8 < inside < 0.98
    assert found.low < np.median(needed) < found.high


def test_looks_and_budgets_decide_only_how_far(sqlite_url, monkeypatch):
    """Futures that are followed piece by piece end where they would have ended at once."""
    study = begun(sqlite_url, HARD.problem, HARD.truth, 30)
    monkeypatch.setattr(foresight, "FIRST_LOOK", 10**6)
    whole = study.foresight(draws=19)
    assert whole.unfinished == 0
    assert whole.horizon == foresight.HORIZON
    monkeypatch.setattr(foresight, "FIRST_LOOK", 20)
    monkeypatch.setattr(foresight, "BUDGET", 100)
    little = study.foresight(draws=19)
    assert little.horizon == 20
    assert little.high == 20
    assert little.unfinished > 0


def test_the_expensive_tail_is_not_followed_to_its_end(sqlite_url):
    """With 100 draws the range is known as soon as 96 have ended."""
    study = begun(sqlite_url, HARD.problem, HARD.truth, 4)
    found = study.foresight(draws=100)
    assert found.high < found.horizon
    assert found.unfinished <= 4


def test_unknown_sigma_waits_for_something_to_estimate_it_from(sqlite_url):
    """Four options, ε = .015, σ = .03: the limit was counted with σ = 1, 1,100 times too high."""
    problem = ft.Problem(np.eye(4), eps=0.015, sigma=None)
    mu = [0.10, 0.08, 0.05, 0.05]
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    lab = Lab(problem, mu, seed=3, sigma=0.03)
    run(study, lab, most=4)
    assert study.foresight() is None
    run(study, lab, most=16)
    found = study.foresight(draws=20)
    estimate = np.array([each.estimate for each in study.status().verdicts])
    rows = [(each.arm, each.value) for each in study.history()]
    misfit = sum((value - estimate[arm]) ** 2 for arm, value in rows)
    noise = np.sqrt(misfit / (len(rows) - 4))
    told = ft.complexity(problem, estimate, noise=noise).measurements(0.1)
    assert found.limit == pytest.approx(told, rel=1e-3)
    assert found.limit < 1000


def test_the_limit_stands_beside_it(sqlite_url):
    study = begun(sqlite_url, TWO, TWO_MU, 4)
    found = study.foresight(draws=10)
    estimate = [each.estimate for each in study.status().verdicts]
    assert found.limit == pytest.approx(ft.complexity(TWO, estimate).measurements(0.1), rel=1e-3)


def test_what_never_ends_is_given_up(sqlite_url, monkeypatch):
    monkeypatch.setattr(foresight, "HORIZON", 200)
    study = begun(sqlite_url, ENDLESS, [0, 0, 0], 60)
    found = study.foresight(draws=30)
    assert 0 < found.unfinished < 30
    assert found.high == found.horizon == 200
    assert found.low < 200


def test_unknown_sigma_has_no_unit(tmp_path):
    found = []
    for scale in (1.0, 100.0):
        problem = ft.Problem(np.eye(2), eps=0.5 * scale, sigma=None)
        url, strategy = f"sqlite:///{tmp_path}/{scale}.db", ft.Strategy("uniform")
        study = ft.Study.create("a", problem, 0.1, url, strategy=strategy)
        run(study, Lab(problem, scale * TWO_MU, seed=3, sigma=scale), most=12)
        assert study.status().state == "running"
        found.append(study.foresight(draws=30))
    assert found[0].median == found[1].median > 0
    assert found[0].limit == pytest.approx(found[1].limit)


def test_a_large_question_is_followed_less_far(sqlite_url, monkeypatch):
    study = begun(sqlite_url, HARD.problem, HARD.truth, 30)
    far = study.foresight(20)
    numbers = study.problem.task.arms.size + study.problem.task.answers.size
    monkeypatch.setattr(foresight, "WORK", 20 * 7 * numbers)
    near = study.foresight(20)
    assert near.horizon == 7
    assert near.median == min(far.median, 7)
    assert near.unfinished > 0


def test_others_measure_while_the_future_is_simulated(sqlite_url, monkeypatch):
    """What they tell does not change what is foreseen."""
    study = begun(sqlite_url, HARD.problem, HARD.truth, 30)
    expected = study.foresight(20)
    futures = foresight._futures

    def interrupted(*arguments):
        worker = threading.Thread(target=lambda: [study.add(0, 0.5) for _ in range(5)])
        worker.start()
        worker.join()
        return futures(*arguments)

    monkeypatch.setattr(foresight, "_futures", interrupted)
    assert study.foresight(20) == expected
    monkeypatch.undo()
    assert study.foresight(20).measurements == expected.measurements + 5
