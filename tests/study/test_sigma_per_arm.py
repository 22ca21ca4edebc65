"""A σ for each arm: everything is decided as if arms and results had been divided by hand."""

from dataclasses import replace

import numpy as np
import pytest

import furthest as ft
from furthest import files
from furthest.errors import InputError, ParameterError, ProblemError, SigmaError
from furthest.residuals import DOUBT, examine, sample_of, unseen
from furthest.residuals.bound import bound_log_e_value
from furthest.residuals.evalues import summarise
from furthest.study import documents, foresight
from furthest.study.certificate import verify
from furthest.study.page import page
from oracles.near_null import is_scandal
from study.problems import Lab, run

SIGMA = (0.75, 0.3, 1.5, 0.4, 0.9)
ARMS = np.array([[1.0, 0.2], [0.3, 1.0], [-0.5, 0.8], [0.9, -0.4], [0.6, 0.6]])
MU = np.array([1.0, 0.3])
LINEAR = ft.Problem(ARMS, eps=0.2, sigma=SIGMA)
PLAIN = ft.Problem.options(list("ABCDE"), eps=0.4, sigma=SIGMA)
VALUES = np.array([1.0, 0.2, 0.3, 0.4, 0.0])


def by_hand(problem):
    """The same question with the arms divided, of noise 1."""
    return ft.Problem(
        problem.arms / np.array(problem.sigma)[:, None],
        problem.answers,
        problem.eps,
        problem.notion,
        arm_names=problem.arm_names,
        answer_names=problem.answer_names,
    )


@pytest.mark.parametrize(
    ("problem", "mu"),
    [
        (LINEAR, MU),
        (PLAIN, VALUES),
        (replace(PLAIN, notion="multiplicative"), VALUES),
        (replace(LINEAR, sigma=1e3 * np.array(SIGMA), eps=200.0), 1e3 * MU),
    ],
    ids=["linear", "plain", "multiplicative", "large"],
)
def test_runs_are_those_of_the_divided_question(problem, mu):
    divided = by_hand(problem)
    assert problem.unit != 1  # else nothing about units would be tested
    for strategy in (ft.Strategy(), ft.Strategy("lebai", stopping="top-wrong")):
        ours, theirs = (
            ft.simulate(each, mu, strategy, 0.1, 30, quiet=True) for each in (problem, divided)
        )
        np.testing.assert_array_equal(ours.pulls, theirs.pulls)
        np.testing.assert_array_equal(ours.answers, theirs.answers)


def test_a_study_is_that_of_the_divided_question(sqlite_url):
    ours = ft.Study.create("ours", LINEAR, 0.1, sqlite_url)
    theirs = ft.Study.create("theirs", by_hand(LINEAR), 0.1, sqlite_url)
    lab = Lab(LINEAR, MU, seed=4, sigma=0.3)
    while ours.status().state == "running":
        trial, other = ours.ask(), theirs.ask()
        assert trial.arm == other.arm
        value = lab.measure(trial.arm)
        ours.tell(trial, value)
        theirs.tell(other, value / SIGMA[trial.arm])
    mine, yours = ours.certificate(), theirs.certificate()
    assert (mine.answer, mine.pulls) == (yours.answer, yours.pulls)
    assert mine.statistic == pytest.approx(yours.statistic, rel=1e-12)
    for our, their in zip(mine.verdicts, yours.verdicts, strict=True):
        assert our.estimate == pytest.approx(their.estimate, rel=1e-9)
        assert our.verdict == their.verdict
    assert verify("ours", ours.events(), mine.to_dict()).certificate == mine


def test_means_of_several_results_are_divided_as_well(sqlite_url):
    """With their deviations: those of the noisy arm are no sign that σ is too small."""
    ours = ft.Study.create("ours", LINEAR, 0.1, sqlite_url)
    theirs = ft.Study.create("theirs", by_hand(LINEAR), 0.1, sqlite_url)
    rng = np.random.default_rng(3)
    for arm in [*range(5)] * 3:
        values = ARMS[arm] @ MU + SIGMA[arm] * rng.normal(size=8)
        mean, sd = float(values.mean()), float(values.std(ddof=1))
        ours.add(arm, mean=mean, n=8, sd=sd)
        theirs.add(arm, mean=mean / SIGMA[arm], n=8, sd=sd / SIGMA[arm])
    one, other = ours.status(), theirs.status()
    assert one.statistic == pytest.approx(other.statistic, rel=1e-9)
    assert not [text for text in one.warnings if "noise" in text]
    quiet, noisy = SIGMA.index(min(SIGMA)), SIGMA.index(max(SIGMA))
    ours.add(quiet, mean=0.6, n=100, sd=SIGMA[noisy])
    assert ours.outcome is not None or [text for text in ours.status().warnings if "noise" in text]


def test_estimates_are_weighted_least_squares_in_the_unit_of_the_results(sqlite_url):
    study = ft.Study.create("a", LINEAR, 1e-9, sqlite_url)
    rng = np.random.default_rng(0)
    rows = [(arm, float(ARMS[arm] @ MU + SIGMA[arm] * rng.normal())) for arm in [*range(5)] * 4]
    for arm, value in rows:
        study.add(arm, value)
    arms, values = (np.array(column) for column in zip(*rows, strict=True))
    weights = 1 / np.array(SIGMA)[arms]
    fit = np.linalg.lstsq(weights[:, None] * ARMS[arms], weights * values)[0]
    estimates = [each.estimate for each in study.status().verdicts]
    np.testing.assert_allclose(estimates, ARMS @ fit, rtol=1e-9)


@pytest.mark.parametrize("problem", [LINEAR, PLAIN], ids=["linear", "plain"])
def test_a_constant_that_all_results_share_changes_nothing(problem, sqlite_url):
    """It is taken away where it is large, in the unit of the results and not of their σ."""
    with_intercept = ft.Problem(
        np.column_stack([np.ones(5), problem.arms]),
        eps=0.4,
        sigma=SIGMA,
        initial=range(5),
    )
    assert with_intercept.offset == pytest.approx(1.0)
    mu = np.r_[0.0, MU if problem is LINEAR else VALUES]
    small, large = (
        ft.Study.create(name, with_intercept, 0.1, sqlite_url) for name in ("small", "large")
    )
    lab = Lab(with_intercept, mu, seed=2, sigma=0.3)
    shift = 2.0**22
    while small.status().state == "running":
        trial, other = small.ask(), large.ask()
        assert trial.arm == other.arm
        value = round(lab.measure(trial.arm) * 2**20) / 2**20  # so that the sum is exact
        small.tell(trial, value)
        large.tell(other, value + shift)
    low, high = small.certificate(), large.certificate()
    assert low.pulls == high.pulls
    assert high.statistic == pytest.approx(low.statistic, rel=1e-9)
    best = low.verdicts[low.answer].estimate
    assert high.verdicts[low.answer].estimate == pytest.approx(best + shift, rel=1e-12)
    assert high.proven == low.proven


def test_errors_stay_below_delta_where_the_noise_is_unequal():
    """Wrong by a hair, and the wrong one, the right one, or a bystander is the noisy one."""
    runs, delta, wrong = 400, 0.1, 0
    for sigma in ((5, 1, 1), (1, 5, 1), (1, 1, 5), (0.2, 1, 3)):
        problem = ft.Problem.options(list("ABC"), eps=2.0, sigma=sigma)
        for sampling in ("uniform", "softmin"):
            found = ft.simulate(
                *(problem, [2.01, 0, 0], ft.Strategy(sampling), delta, runs),
                max_rounds=3000,
                quiet=True,
            )
            errors = int((found.stopped & ~found.correct).sum())
            assert not is_scandal(errors, runs, delta), (sigma, sampling, errors)
            wrong += errors
    assert wrong > 0  # near the null, or the test would show nothing


def test_the_largest_sigma_for_all_needs_more_measurements():
    means = []
    for sigma in ([1.0, 1.0, 1.0, 5.0], 5.0):
        problem = ft.Problem.options(list("ABCD"), eps=0.5, sigma=sigma)
        found = ft.simulate(problem, [2, 1, 0.5, 0], delta=0.05, runs=50, quiet=True)
        means.append(found.summary()[0].mean)
    assert means[0] < 0.6 * means[1]


def test_the_limit_is_that_of_the_divided_question():
    for problem, mu in ((LINEAR, MU), (PLAIN, VALUES)):
        one, other = ft.complexity(problem, mu), ft.complexity(by_hand(problem), mu)
        assert pytest.approx(other.T, rel=1e-7) == one.T
        np.testing.assert_allclose(one.weights, other.weights, atol=1e-5)
        assert one.noise == problem.sigma
        assert one.to_dict()["noise"] == list(problem.sigma)


def test_two_options_are_measured_in_proportion_to_their_noise():
    """The oldest result there is (Neyman): w_a ∝ σ_a, and 2/T = gap²/(σ₁ + σ₂)²."""
    problem = ft.Problem.options(["A", "B"], eps=0.5, sigma=[1.0, 3.0])
    found = ft.complexity(problem, [1.0, 0.0])
    np.testing.assert_allclose(found.weights, [0.25, 0.75], atol=1e-6)
    assert pytest.approx(2 * 16 / 1.5**2, rel=1e-6) == found.T


def test_equal_sigmas_are_one_sigma():
    problem = ft.Problem.options(["A", "B"], eps=0.5, sigma=[0.3, 0.3])
    assert problem.sigma == 0.3
    assert problem.sigma_words == "0.3"


@pytest.mark.parametrize(
    ("sigma", "words"),
    [
        ([1.0, 2.0], "one number for each of the 3 arms"),
        ([1.0, 2.0, 0.0], "σ of arm 2 must be positive"),
        ([1.0, -2.0, 1.0], "σ of arm 1 must be positive"),
        ([1.0, 2.0, float("nan")], "σ of arm 2 must be finite"),
        ([1.0, 2.0, None], "σ of arm 2 must be a number"),
        ([1.0, 2.0, "unknown"], "σ of arm 2 must be a number"),
        ([[1.0, 2.0, 3.0]], "one number for each"),
        ([1.0, 2.0, 1e-120], "another unit"),
        ([1.0, 2.0, 1e7], "tells nothing"),
    ],
)
def test_what_is_no_sigma_of_each_arm_is_refused(sigma, words):
    with pytest.raises(SigmaError, match=words):
        ft.Problem.options(list("ABC"), eps=0.1, sigma=sigma)


def test_bounds_and_a_list_of_sigmas_are_refused():
    with pytest.raises(SigmaError, match="give one of them"):
        ft.Problem.options(["A", "B"], eps=0.1, sigma=[1.0, 2.0], bounds=(0, 1))
    with pytest.raises(SigmaError, match="give one of them"):
        ft.Problem.options(["A", "B"], eps=0.1, sigma=[1.0, 2.0], noise="bernoulli")


def test_sigmas_under_which_a_direction_cannot_be_seen_are_refused():
    arms = [[1.0, 1.0], [1.0, 1.001], [2.0, 2.0]]
    assert ft.Problem(arms, eps=0.1, sigma=[1, 10, 1]).task.arms.shape == (3, 2)
    with pytest.raises(SigmaError, match="noisy arms alone"):
        ft.Problem(arms, eps=0.1, sigma=[1, 1e6, 1])


def test_no_other_noise_and_no_ridge_is_simulated():
    with pytest.raises(InputError, match="σ of its own"):
        ft.simulate(PLAIN, VALUES, runs=1, noise=2.0)
    with pytest.raises(InputError, match="ridge"):
        ft.simulate(PLAIN, VALUES, ft.Strategy(threshold="paper"), runs=1, ridge=1.0)
    with pytest.raises(ParameterError, match="is known"):
        ft.complexity(PLAIN, VALUES, noise=1.0)
    assert ft.simulate(PLAIN, VALUES, runs=2, quiet=True).to_dict()["noise"] == list(SIGMA)


@pytest.mark.parametrize("suffix", ["toml", "csv", "npz"])
@pytest.mark.parametrize("own_answers", [False, True])
def test_files_keep_the_sigma_of_each_arm(tmp_path, suffix, own_answers):
    problem = ft.Problem(
        ARMS, [[1.0, 0.0], [0.0, 1.0]] if own_answers else None, eps=0.2, sigma=SIGMA
    )
    path = tmp_path / f"a.{suffix}"
    files.write_problem(problem, path)
    again = files.read_problem(path)
    assert again.sigma == SIGMA
    np.testing.assert_array_equal(again.arms, problem.arms)
    np.testing.assert_array_equal(again.answers, problem.answers)


def test_a_column_of_a_csv_is_the_noise_and_no_feature(tmp_path):
    path = tmp_path / "a.csv"
    path.write_text("name,sigma,x,role\nA,0.5,1,both\nB,2,0,both\nC,,0.5,answer\n")
    problem = files.read_problem(path)
    assert problem.sigma == (0.5, 2.0)
    assert problem.feature_names == ("intercept", "x")
    path.write_text("name,sigma,x\nA,0.5,1\nB,,0\n")
    with pytest.raises(InputError, match="row 2, column 'sigma'"):
        files.read_problem(path)
    path.write_text("# sigma = 1.0\nname,sigma,x\nA,0.5,1\nB,1,0\n")
    with pytest.raises(InputError, match="at the top and as the column"):
        files.read_problem(path)
    path.write_text("# bounds = [0, 1]\nname,sigma,x\nA,0.5,1\nB,1,0\n")
    with pytest.raises(InputError, match="give one of them"):
        files.read_problem(path)


def test_a_feature_called_sigma_survives_a_csv(tmp_path):
    problem = ft.Problem(ARMS, eps=0.2, feature_names=["sigma", "x"])
    files.write_problem(problem, tmp_path / "a.csv")
    again = files.read_problem(tmp_path / "a.csv")
    assert again.feature_names == ("sigma", "x")
    assert again.sigma == 1.0


def test_tables_factors_and_options_take_one_sigma_for_each_arm():
    table = {"x": [1.0, 2.0, 3.0], "sd": [0.1, 0.2, 0.4]}
    named = ft.Problem.from_table(table, sigma="sd", eps=0.1)
    assert (named.sigma, named.feature_names) == ((0.1, 0.2, 0.4), ("intercept", "x"))
    given = ft.Problem.from_table(table, ["x"], sigma=np.array([0.1, 0.2, 0.4]), eps=0.1)
    assert given.sigma == named.sigma
    factorial = ft.Problem.factorial({"a": [0, 1], "b": [0, 1]}, sigma=[1, 2, 3, 4], eps=0.1)
    assert factorial.sigma == (1, 2, 3, 4)
    with pytest.raises(ProblemError, match="each of the 4 arms"):
        ft.Problem.factorial({"a": [0, 1], "b": [0, 1]}, sigma=[1, 2, 3], eps=0.1)


def told(problem, mu, sigma, counts, seed=0):
    """Arms and values with this true noise."""
    rng = np.random.default_rng(seed)
    arms = np.repeat(np.arange(len(problem.arms)), counts)
    return arms, problem.arms[arms] @ mu + np.asarray(sigma)[arms] * rng.normal(size=len(arms))


def test_a_sigma_that_is_too_small_for_one_arm_shows():
    """Also where the others are so much quieter than they may be that the sum looks fine."""
    claimed = ft.Problem.options(list("ABCDE"), eps=0.4, sigma=[1, 1, 1, 1, 0.1])
    arms, values = told(claimed, VALUES, [0.2, 0.2, 0.2, 0.2, 0.3], 30)
    (found,) = examine(claimed, arms, values)
    assert found.condition == "noise level"
    assert "that of 'E' is about 0.296 instead of 0.1" in found.words
    assert not examine(claimed, *told(claimed, VALUES, [1, 1, 1, 1, 0.1], 30))


def test_results_in_a_wrong_unit_show(sqlite_url):
    """Told in feet instead of metres: the noise is larger than said, and the study says so."""
    problem = replace(PLAIN, eps=0.05, sigma=[0.1, 0.1, 0.1, 0.1, 0.5])
    study = ft.Study.create("a", problem, 1e-6, sqlite_url)
    lab = Lab(problem, np.zeros(5), sigma=0.1)
    for arm in [*range(5)] * 6:
        study.add(arm, 3.281 * lab.measure(arm))
    assert any("the noise is larger" in text for text in study.status().warnings)


def test_checks_of_the_features_are_those_of_the_divided_question():
    """A model that fits is not doubted where a noisy arm is far off; one that does not is."""
    arms, values = told(LINEAR, MU, SIGMA, 20)
    assert not examine(LINEAR, arms, values)
    off = values + 1.5 * (arms == 1)
    (found,) = examine(LINEAR, arms, off)
    assert found.condition == "linear"
    one = {each.condition: each.log_e for each in examine(LINEAR, arms, off)}
    scaled = off / np.array(SIGMA)[arms]
    other = {each.condition: each.log_e for each in examine(by_hand(LINEAR), arms, scaled)}
    assert one["linear"] == pytest.approx(other["linear"], rel=1e-9)
    assert one["linear"] > DOUBT


def test_the_distance_from_the_prediction_is_in_the_unit_of_the_results():
    exact = LINEAR.arms @ MU
    counts = np.full(5, 400)
    arms = np.repeat(np.arange(5), counts)
    rng = np.random.default_rng(1)
    noise = np.array(SIGMA)[arms] * rng.normal(size=len(arms))
    (found,) = examine(LINEAR, arms, exact[arms] + noise + 0.9 * (arms == 1))
    weights = np.array(SIGMA) ** -2.0
    means = exact + 0.9 * (np.arange(5) == 1)
    fit = np.linalg.solve(ARMS.T @ (weights[:, None] * ARMS), ARMS.T @ (weights * means))
    worst = int((np.abs(means - ARMS @ fit) / SIGMA).argmax())
    distance = float(found.words.rpartition("measured ")[2].split()[0])
    assert distance == pytest.approx(abs((means - ARMS @ fit)[worst]), abs=0.1)
    assert repr(LINEAR.arm_names[worst]) in found.words


def test_what_could_not_show_is_in_the_unit_of_the_results():
    arms, values = told(LINEAR, MU, SIGMA, 10)
    found = unseen(LINEAR, sample_of(LINEAR, arms, values))
    rows = ARMS / np.array(SIGMA)[:, None]
    leverage = np.diag(rows @ np.linalg.solve(rows.T @ rows, rows.T))
    expected = (2 * np.array(SIGMA) / np.sqrt(10 * (1 - leverage))).max()
    assert found.deviation == pytest.approx(expected, rel=1e-9)
    weights = 1 / np.array(SIGMA)[arms]
    fit = np.linalg.lstsq(weights[:, None] * ARMS[arms], weights * values)[0]
    assert found.differences == pytest.approx(np.ptp(ARMS @ fit), rel=1e-9)


def test_a_missing_intercept_is_recognised():
    """The columns to try have the noise of the arms, too."""
    line = ft.Problem([[0.5], [1.0], [2.0], [3.0], [4.0]], eps=0.2, sigma=SIGMA)
    arms, values = told(line, [1.0], SIGMA, 40)
    (found,) = examine(line, arms, values + 3.0)
    assert "an intercept, a feature that is 1 for every arm" in found.advice


def test_the_bound_is_doubted_as_in_the_divided_question():
    problem = ft.Problem.spectral(
        [("A", "B"), ("B", "C"), ("C", "D")], 0.5, eps=0.1, sigma=[0.1, 0.2, 0.4, 0.1]
    )
    divided = ft.Problem(
        problem.arms / np.array(problem.sigma)[:, None],
        problem.answers,
        problem.eps,
        roughness=problem.roughness,
        radius=problem.radius,
    )
    arms = np.repeat(np.arange(4), 20)
    values = np.array([3.0, 0.0, 3.0, 0.0])[arms] + 7.0
    values += np.array(problem.sigma)[arms] * np.random.default_rng(0).normal(size=80)
    one = bound_log_e_value(problem, summarise(arms, values / problem.ratios[arms]))
    other = bound_log_e_value(divided, summarise(arms, values / np.array(problem.sigma)[arms]))
    assert one == pytest.approx(other, rel=1e-6)
    assert one > DOUBT
    assert problem.offset is not None


def test_futures_draw_every_arm_with_its_own_noise(sqlite_url):
    """And values of one spread, whatever the noise: those of arms that are alike stay together."""
    problem = ft.Problem.options(list("ABCDEF"), eps=0.5, sigma=[0.1] * 5 + [1.0])
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    rng = np.random.default_rng(0)
    for arm in [*range(6)] * 2:
        study.add(arm, float(0.05 * arm + problem.units[arm] * rng.normal()))
    study.status()
    posterior = foresight.Posterior(problem, study._fold.state.evidence)
    drawn = np.array([posterior.draw(rng).means for _ in range(400)]) * problem.sigma
    assert drawn[:, :5].std(axis=0).max() < 0.15
    assert drawn[:, 5].std() < 0.5  # one of two results with σ = 1 alone would leave 0.7
    future = study.foresight(draws=20)
    assert 0 < future.median < 10_000


def test_what_a_study_shows_of_sigma(sqlite_url):
    study = ft.Study.create("a", PLAIN, 0.1, sqlite_url)
    run(study, Lab(PLAIN, VALUES, sigma=0.3))
    proof = study.certificate()
    assert "σ = 0.3 … 1.5 by arm" in proof.guarantee
    assert proof.problem["sigma"] == list(SIGMA)
    assert "σ = 0.3 … 1.5 by arm" in page(study)
    assert documents.exported(study)["problem"]["sigma"] == list(SIGMA)
    assert "σ = 0.3 … 1.5 by arm" in repr(PLAIN)
    assert ft.Study.load("a", sqlite_url).problem.sigma == SIGMA
    options = study.as_options("b")
    assert options.problem.sigma == SIGMA


def test_another_sigma_of_one_arm_is_another_question(sqlite_url):
    ft.Study.create("a", PLAIN, 0.1, sqlite_url)
    ft.Study.create("a", replace(PLAIN), 0.1, sqlite_url, exist_ok=True)
    other = replace(PLAIN, sigma=[*SIGMA[:4], 0.8])
    with pytest.raises(ft.ChangeError, match=r"σ is 0\.75, 0\.3, 1\.5, 0\.4, 0\.9, not 0\.75"):
        ft.Study.create("a", other, 0.1, sqlite_url, exist_ok=True)


def test_values_are_limited_by_the_smallest_sigma(sqlite_url):
    study = ft.Study.create("a", LINEAR, 0.1, sqlite_url)
    study.add(2, 2e8)
    with pytest.raises(ft.ValueRefusedError, match="too large"):
        study.add(2, 4e8)


def test_the_command_line_takes_a_list(furthest, tmp_path):
    path = tmp_path / "a.toml"
    path.write_text('eps = 0.5\noptions = ["A", "B"]\nmu = [1.0, 0.0]\n')
    found = furthest("complexity", str(path), "--sigma", "1,3")
    assert found.returncode == 0, found.stderr
    assert "σ = 1 … 3 by arm" in found.stdout
    assert furthest("complexity", str(path), "--sigma", "1,x").returncode == 2
    assert furthest("complexity", str(path), "--sigma", "1,2,3").returncode == 2
