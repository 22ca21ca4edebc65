"""The e-values are e-values, see what they should, and are silent about what they should not."""

import numpy as np
import pytest

import furthest as ft
from furthest import residuals

LINE = np.column_stack([np.ones(5), np.linspace(-1, 1, 5)])


def measured(problem, means, rounds, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    arms = rng.integers(len(means), size=rounds)
    return arms, np.asarray(means)[arms] + noise * rng.standard_normal(rounds)


def warnings(problem, means, rounds=400, noise=1.0, seed=0):
    return residuals.check(problem, *measured(problem, means, rounds, noise, seed))


@pytest.mark.parametrize("sigma", [1.0, None])
def test_a_line_is_a_line_and_a_parabola_is_not(sigma):
    problem = ft.Problem(LINE, sigma=sigma)
    straight, bent = LINE @ [0.3, 1.0], LINE[:, 1] ** 2
    assert not warnings(problem, straight)
    (said,) = warnings(problem, bent, rounds=800)
    assert "features" in said
    assert "'arm 2'" in said or "'arm 0'" in said or "'arm 4'" in said


def test_noise_above_sigma_is_noticed_and_noise_below_is_not():
    problem = ft.Problem(LINE, sigma=1.0)
    (said,) = warnings(problem, LINE @ [0, 1], noise=1.5)
    assert "noise" in said
    assert "1.4" in said or "1.5" in said
    assert not warnings(problem, LINE @ [0, 1], noise=0.5)


def test_misfit_does_not_look_like_noise():
    problem = ft.Problem(LINE, sigma=1.0)
    (said,) = warnings(problem, 3 * LINE[:, 1] ** 2)
    assert "features" in said


def test_nothing_can_be_said_without_repeats_or_spare_arms():
    square = ft.Problem(np.eye(3))
    assert not residuals.check(square, np.array([0, 1, 2]), np.array([5.0, -9.0, 100.0]))
    assert not residuals.check(square, np.array([], int), np.array([]))
    unknown = ft.Problem(LINE, sigma=None)
    assert not residuals.check(unknown, np.arange(5), LINE[:, 1] ** 2)


def test_units_do_not_matter():
    arms, values = measured(None, LINE[:, 1] ** 2, 800)
    for unit in (1e-6, 1e6):
        assert residuals.check(ft.Problem(LINE, sigma=unit), arms, unit * values)


def test_e_values_have_mean_at_most_one():
    """At a fixed time, with the adaptive sampling that would hurt a test that is no e-value."""
    rng = np.random.default_rng(5)
    runs, rounds = 4000, 30
    e_values = np.zeros((2, runs))
    problem = ft.Problem(LINE)
    for run in range(runs):
        counts, sums, squares = np.zeros(5), np.zeros(5), np.zeros(5)
        for t in range(rounds):
            arm = t if t < 5 else int(np.argmax(sums / counts))  # chase the largest mean
            value = rng.standard_normal()
            counts[arm] += 1
            sums[arm] += value
            squares[arm] += value**2
        within = (squares - sums**2 / counts).sum()
        e_values[0, run] = np.exp(residuals.noise_log_e_value(within, rounds))
        e_values[1, run] = np.exp(residuals.misfit_log_e_value(problem, counts, sums / counts)[0])
    error = e_values.std(axis=1) / np.sqrt(runs)
    assert (e_values.mean(axis=1) <= 1 + 4 * error).all()
    assert (e_values.mean(axis=1) > 0.005).all()


KINDS = {
    "doubles": (lambda rng, arm: arm + rng.standard_normal(), False),
    "rounded to σ/10": (lambda rng, arm: round(arm + rng.standard_normal(), 1), False),
    "rounded to σ/1000": (lambda rng, arm: round(arm + rng.standard_normal(), 3), False),
    "three digits": (lambda rng, arm: float(f"{1 + 0.1 * rng.standard_normal():.3g}"), False),
    "counts of a hundred": (lambda rng, arm: float(rng.poisson(100)), False),
    "no last places": (lambda rng, arm: 0.1 * round(10 * (arm + rng.standard_normal())), False),
    "yes or no": (lambda rng, arm: float(rng.random() < 0.3), True),
    "rare yes": (lambda rng, arm: float(rng.random() < 0.01), True),
    "ratings": (lambda rng, arm: float(rng.integers(1, 6)), True),
    "counts of a few": (lambda rng, arm: float(rng.poisson(2)), True),
    "revenue": (lambda rng, arm: rng.lognormal(3, 1) * (rng.random() < 0.2), True),
    "one dead arm": (lambda rng, arm: rng.standard_normal() * (arm > 0), True),
    "constants": (lambda rng, arm: float(arm), True),
}


def taken(kind, results, seed=0, unit=1.0):
    rng, counting, seen = np.random.default_rng(seed), residuals.Repeats(), []
    for t in range(results):
        arm = t % 4
        seen.append(counting.take(arm, unit * float(KINDS[kind][0](rng, arm))))
    return seen


@pytest.mark.parametrize("kind", KINDS)
def test_discrete_data_block_and_rounded_ones_do_not(kind):
    discrete = KINDS[kind][1]
    assert sum(taken(kind, 60, seed)[-1] for seed in range(40)) == (40 if discrete else 0)
    assert taken(kind, 60, 1) == taken(kind, 60, 1, unit=2.0**40)


def test_two_equal_values_among_few_wait_and_go_on():
    counting = residuals.Repeats()
    assert not counting.take(0, 5.3)
    assert counting.take(0, 5.3), "nothing shows that they are only rounded"
    rng = np.random.default_rng(0)
    later = [counting.take(t % 2, round(5 + rng.standard_normal(), 2)) for t in range(40)]
    assert not any(later[20:])


def test_equal_values_of_different_arms_are_repeats_too():
    counting = residuals.Repeats()
    assert [counting.take(arm, 0.0) for arm in range(34)] == [False, *[True] * 33]


def test_taking_one_by_one_is_counting_all_at_once():
    rng = np.random.default_rng(3)
    arms, values = rng.integers(3, size=200), np.round(rng.standard_normal(200), 1)
    counting = residuals.Repeats()
    for arm, value in zip(arms, values, strict=True):
        counting.take(int(arm), float(value))
    distinct, counts = np.unique(values, return_counts=True)
    within = sum(((values[arms == a] - values[arms == a].mean()) ** 2).sum() for a in range(3))
    assert counting.times == counts.max() == (values == counting.commonest).sum()
    assert counting.repeating == (counts > 1).sum()
    assert counting.step == pytest.approx(np.diff(distinct).min())
    assert counting.spread == pytest.approx(np.sqrt(within / 197))


def test_rounding_is_named_only_where_the_theorem_needs_it():
    arms, rng = np.arange(200) % 2, np.random.default_rng(1)
    values = np.round(rng.standard_normal(200), 2)
    unknown = ft.Problem(np.eye(2), sigma=None)
    assert residuals.rounding(unknown, arms, values) == pytest.approx(0.01)
    assert residuals.rounding(ft.Problem(np.eye(2)), arms, values) is None
    assert residuals.rounding(unknown, arms, rng.standard_normal(200)) is None
    assert residuals.rounding(unknown, arms, np.zeros(200)) is None
