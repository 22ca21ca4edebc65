"""The e-values are e-values, see what they should, and are silent about what they should not."""

from functools import cache

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import multivariate_t

import furthest as ft
from furthest import residuals
from furthest.residuals import evalues

LINE = np.column_stack([np.ones(5), np.linspace(-1, 1, 5)])


def measured(problem, means, rounds, noise=1.0, seed=0):
    rng = np.random.default_rng(seed)
    arms = rng.integers(len(means), size=rounds)
    return arms, np.asarray(means)[arms] + noise * rng.standard_normal(rounds)


def warnings(problem, means, rounds=400, noise=1.0, seed=0):
    found = residuals.examine(problem, *measured(problem, means, rounds, noise, seed))
    return [each.words for each in found if each.log_e >= residuals.REFUTED]


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
    assert not residuals.examine(square, np.array([0, 1, 2]), np.array([5.0, -9.0, 100.0]))
    assert not residuals.examine(square, np.array([], int), np.array([]))
    unknown = ft.Problem(LINE, sigma=None)
    assert not residuals.examine(unknown, np.arange(5), np.array([1.0, 0.3, 0.0, 0.2, 1.1]))


@pytest.mark.parametrize("sigma", [True, None])
def test_units_do_not_matter(sigma):
    arms, values = measured(None, LINE[:, 1] ** 2, 800)
    for unit in (1e-6, 1e6):
        problem = ft.Problem(LINE * [1.0, 1e9], sigma=sigma and unit)
        assert [found.condition for found in residuals.examine(problem, arms, unit * values)] == [
            "linear"
        ]


def test_noise_that_differs_between_arms_is_named():
    problem = ft.Problem.options(["A", "B", "C", "D"], sigma=None)
    rng = np.random.default_rng(2)
    arms = np.arange(48) % 4
    values = rng.standard_normal(48) * np.array([1.0, 1.0, 10.0, 1.0])[arms]
    (found,) = residuals.examine(problem, arms, values)
    assert found.condition == "equal noise"
    assert found.log_e > residuals.REFUTED
    assert "'C'" in found.words
    assert not residuals.examine(problem, arms, rng.standard_normal(48))
    bounded = ft.Problem.options(["A", "B", "C", "D"], sigma=20.0)
    assert not residuals.examine(bounded, arms, values), "σ is an upper bound for every arm"


def test_values_that_cannot_be_gaussian_are_named_only_if_sigma_is_unknown():
    arms = np.repeat([0, 1], [40, 5])
    values = np.r_[np.zeros(34), np.ones(6), 0.0, 1.0, 1.0, 0.0, 1.0]
    (found,) = residuals.examine(ft.Problem.options(["A", "B"], sigma=None), arms, values)
    assert found.condition == "Gaussian"
    assert found.log_e == np.inf
    assert "34 of 40 results of 'A' are exactly 0" in found.words
    assert "bounds=(0, 1)" in found.advice
    assert not residuals.examine(ft.Problem.options(["A", "B"], bounds=(0, 1)), arms, values)


GRID = np.array([[x, y] for x in (-1.0, 0.0, 1.0) for y in (-1.0, 0.5, 1.0)])


@pytest.mark.parametrize("sigma", [1.0, None])
@pytest.mark.parametrize(
    ("values", "advice"),
    [
        (3 + GRID @ [1, 2], "an intercept"),
        (GRID @ [1, 2] + 3 * GRID[:, 0] * GRID[:, 1], "the column dose·heat would"),
        (GRID @ [1, 2] + 4 * GRID[:, 0] ** 2, "the column dose² would"),
        (4 + GRID @ [1, 2] + 4 * GRID[:, 0] ** 2, "for every arm, and the column dose² would"),
        (5 * np.array([1, -1, 1, -1, 1, 1, -1, 1, -1]), "plain options"),
    ],
)
def test_the_column_that_is_missing_is_named(sigma, values, advice):
    problem = ft.Problem(GRID, sigma=sigma)
    object.__setattr__(problem, "feature_names", ("dose", "heat"))
    (found,) = residuals.examine(problem, *measured(problem, values, 300))
    assert found.condition == "linear"
    assert advice in found.advice


def test_an_intercept_that_is_there_is_not_missing():
    problem = ft.Problem(LINE, sigma=1.0)
    (found,) = residuals.examine(problem, *measured(problem, 3 * LINE[:, 1] ** 2, 400))
    assert "intercept" not in found.advice
    assert "x1²" in found.advice


@cache
def student(own, shape, precision):
    """u | ρ ~ N(h, 1/ρ) per arm, h | ρ ~ N(0, 1/κρ), ρ ~ Gamma(α, α), all integrated out."""
    arms = np.array(own)
    together = np.eye(len(arms)) + (arms[:, None] == arms) / precision
    return multivariate_t(np.zeros(len(arms)), together, df=2 * shape)


def gaussian_log_ratio(errors, own, shape, precision):
    """ln of the likelihood ratio of Student's multivariate t to the standard normal."""
    density = student(tuple(own.tolist()), shape, precision).logpdf(errors)
    return density + 0.5 * (errors @ errors + len(errors) * np.log(2 * np.pi))


def least(function, start, shifts=(0.0,)):
    """The least value by a search that needs no derivatives; shifts of the first parameter."""
    starts = [np.r_[start[0] + shift, start[1:]] for shift in shifts]
    return min(minimize(function, x, method="Nelder-Mead", options=SEARCH).fun for x in starts)


SEARCH = {"xatol": 1e-8, "fatol": 1e-10, "maxiter": 20_000, "maxfev": 20_000}


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("shape", "precision"), [(3.0, 1.0), (0.5, 16.0)])
def test_misfit_at_unknown_sigma_is_the_least_likelihood_ratio(seed, shape, precision):
    """Against the definition: Student's density, minimised over μ and σ by brute force."""
    rng = np.random.default_rng(seed)
    features = LINE[:, 1:] if seed % 2 else LINE
    arms = np.r_[np.arange(5), rng.integers(5, size=12)]
    values = 2 * LINE[arms, 1] ** 2 + 0.5 * rng.standard_normal(17)
    sample = evalues.summarise(arms, values)

    def log_ratio(parameters):
        errors = (values - features[arms] @ parameters[1:]) / np.exp(parameters[0])
        return gaussian_log_ratio(errors, arms, shape, precision)

    share = evalues.least_share(features, sample, precision)
    penalty = 0.5 * np.log1p(sample.counts / precision).sum()
    ours = evalues.log_student(share, 17, shape) - penalty
    fit = np.linalg.lstsq(features[arms], values, rcond=None)[0]
    assert ours == pytest.approx(least(log_ratio, np.r_[0.0, fit], (-1, 1, 9)), abs=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_unequal_noise_is_the_least_likelihood_ratio(seed, monkeypatch):
    """One κ, against the definition; the mixture's minimum is not attained arm by arm: a bound."""
    rng = np.random.default_rng(seed)
    precision = (0.3, 3.0)[seed % 2]
    monkeypatch.setattr(evalues, "FREE_PRECISIONS", np.array([[precision]]))
    arms = np.repeat([0, 1, 2], [4, 6, 3])
    values = np.array([0.0, 1.0, -1.0])[arms] + rng.standard_normal(13) * np.array([1, 9, 1])[arms]
    sample = evalues.summarise(arms, values)

    def ratio(errors, chosen, groups):
        return sum(
            gaussian_log_ratio(errors[part], arms[part], evalues.FREE_SHAPE, precision)
            for part in (np.isin(arms, group) & np.isin(arms, chosen) for group in groups)
        )

    def errors(parameters):
        return (values - parameters[1:][arms]) / np.exp(parameters[0])

    everyone, alone = [0, 1, 2], [[0], [1], [2]]
    pairs = [([0], [1, 2]), ([1], [0, 2]), ([2], [0, 1])]

    def log_average(parameters):
        own = [ratio(errors(parameters), one, [one]) for one in alone]
        two = [ratio(errors(parameters), everyone, pair) for pair in pairs]
        terms = [*(np.array(own) - np.log(3)), sum(own), *(np.array(two) - np.log(3))]
        return np.logaddexp.reduce(terms) - np.log(3)

    start = np.r_[1.0, sample.means]
    exact = least(log_average, start, (-1, 1))
    ours = evalues.unequal_log_e_value(sample)
    assert exact - 1.0 < ours <= exact + 1e-6
    alternatives = evalues._Alternatives(sample.counts)
    squares = sample.within / 4.0
    for one, bound in enumerate(alternatives._own.at(squares)[0]):
        found = least(lambda m, a=one: ratio((values - m[a]) / 2, [a], [[a]]), start[1:])
        assert bound == pytest.approx(found, abs=1e-5)
    for one, bound in enumerate(alternatives._others.at(squares.sum() - squares)[0]):
        rest = [a for a in everyone if a != one]
        found = least(lambda m, r=rest: ratio((values - m[arms]) / 2, r, [r]), start[1:])
        assert bound == pytest.approx(found, abs=1e-5)


def test_e_values_have_mean_at_most_one():
    """At a fixed time, with the adaptive sampling that would hurt a test that is no e-value."""
    rng = np.random.default_rng(5)
    runs, rounds = 1500, 25
    e_values = np.zeros((4, runs))
    for run in range(runs):
        counts, sums = np.zeros(5), np.zeros(5)
        arms, values = np.zeros(rounds, int), rng.standard_normal(rounds)
        for t in range(rounds):
            arms[t] = t if t < 5 else int(np.argmax(sums / counts))  # chase the largest mean
            counts[arms[t]] += 1
            sums[arms[t]] += values[t]
        sample = evalues.summarise(arms, values)
        e_values[:, run] = np.exp(
            [
                evalues.noise_log_e_value(sample.within.sum(), rounds),
                evalues.misfit_log_e_value(LINE, sample, 1.0),
                evalues.misfit_log_e_value(LINE, sample, None),
                evalues.unequal_log_e_value(sample),
            ]
        )
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


def test_what_would_not_show_is_two_standard_errors_of_least_squares():
    """Against the variances of residuals in a plain regression on all results."""
    problem = ft.Problem(LINE, sigma=0.5)
    arms = np.array([0, 0, 1, 2, 2, 2, 4])
    design = LINE[arms]
    rest = np.eye(len(arms)) - design @ np.linalg.pinv(design)
    sizes = []
    for arm in set(arms.tolist()):
        moved = (arms == arm).astype(float)  # a deviation of 1 in every result of this arm
        sizes.append(2 * 0.5 / np.linalg.norm(rest @ moved))
    found = residuals.unseen(problem, evalues.summarise(arms, 3 * LINE[arms, 1]))
    assert found == (1, pytest.approx(max(sizes)), pytest.approx(6.0))
    alone = residuals.unseen(problem, evalues.summarise(np.array([0, 1]), np.zeros(2)))
    assert alone == (3, np.inf, 0.0)
