"""A cost for each arm: it says where to measure and what that costs, never when to stop."""

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import minimize

import furthest as ft
from furthest import files
from furthest.errors import InputError, ProblemError
from furthest.sampling import softmin
from furthest.study import documents
from furthest.study.certificate import verify
from furthest.study.page import page
from oracles.near_null import is_scandal
from study.problems import Lab, run

COSTS = (1.0, 4.0, 0.5, 2.0)
PLAIN = ft.Problem.options(list("ABCD"), eps=0.4, sigma=0.5, costs=COSTS)
VALUES = np.array([1.0, 0.2, 0.3, 0.0])
ARMS = np.array([[1.0, 0.2], [0.3, 1.0], [-0.5, 0.8], [0.9, -0.4]])
LINEAR = ft.Problem(ARMS, eps=0.2, costs=COSTS)
MU = np.array([1.0, 0.3])


def blind(problem):
    return replace(problem, costs=None)


def test_two_options_are_measured_by_the_root_of_what_they_cost():
    """Least c₁n₁ + c₂n₂ with 1/n₁ + 1/n₂ given: n ∝ 1/√c, T = 2(√c₁ + √c₂)²σ²/gap²."""
    problem = ft.Problem.options(["A", "B"], eps=0.5, sigma=0.7, costs=[1.0, 9.0])
    found = ft.complexity(problem, [1.0, 0.0])
    assert pytest.approx(2 * (1 + 3) ** 2 * 0.49 / 1.5**2, rel=1e-6) == found.T
    np.testing.assert_allclose(found.weights, [0.75, 0.25], atol=1e-6)
    np.testing.assert_allclose(found.cost_weights, [0.25, 0.75], atol=1e-6)
    assert found.in_cost


def test_noise_and_cost_of_two_options_together():
    """Neyman with prices: n ∝ σ/√c."""
    problem = ft.Problem.options(["A", "B"], eps=0.5, sigma=[1.0, 3.0], costs=[1.0, 9.0])
    found = ft.complexity(problem, [1.0, 0.0])
    assert pytest.approx(2 * (1 + 9) ** 2 / 1.5**2, rel=1e-6) == found.T
    np.testing.assert_allclose(found.weights, [0.5, 0.5], atol=1e-6)


def cheapest(problem, mu):
    """The least Σ c·n under which every alternative to the best answer has distance 1, by SciPy."""
    arms, answers, costs = problem.arms / problem.sigma, problem.answers, np.array(problem.costs)
    values = answers @ mu
    bought = []
    for z in np.flatnonzero(problem.near_best(mu)):
        others = [x for x in range(len(answers)) if x != z]
        gaps = values[z] - values[others] + problem.eps
        contrasts = answers[z] - answers[others]

        def spare(logs, contrasts=contrasts, gaps=gaps):
            metric = arms.T @ (np.exp(logs)[:, None] * arms)
            norms = (contrasts * np.linalg.solve(metric, contrasts.T).T).sum(axis=1)
            return gaps**2 / norms - 2.0

        start = np.full(len(arms), math.log(1e3))
        result = minimize(
            lambda logs: float(costs @ np.exp(logs)),
            start,
            constraints={"type": "ineq", "fun": spare},
            bounds=[(-12.0, 12.0)] * len(arms),
            method="SLSQP",
            options={"maxiter": 2000, "ftol": 1e-10},
        )
        least = spare(result.x).min()
        assert least > -1e-4  # how near SciPy comes depends on the processor
        enough = 2.0 / (2.0 + least)  # distances are proportional to the counts
        bought.append((enough * result.fun, enough * np.exp(result.x)))
    return min(bought, key=lambda each: each[0])


@pytest.mark.parametrize(
    ("problem", "mu"),
    [
        (ft.Problem.options(list("ABC"), eps=0.1, costs=[1, 5, 2]), np.array([0.9, 0.5, 0.0])),
        (ft.Problem.options(list("ABC"), eps=0.6, costs=[9, 1, 1]), np.array([0.5, 0.5, 0.0])),
        (LINEAR, MU),
        (replace(PLAIN, eps=0.1), VALUES),
    ],
    ids=["three", "the cheaper answer", "linear", "four"],
)
def test_the_limit_is_the_least_that_anybody_pays(problem, mu):
    found = ft.complexity(problem, mu)
    price, counts = cheapest(problem, mu)
    assert pytest.approx(price, rel=1e-4) == found.T
    np.testing.assert_allclose(found.weights, counts / counts.sum(), atol=5e-3)
    money = counts * problem.costs
    np.testing.assert_allclose(found.cost_weights, money / money.sum(), atol=5e-3)
    assert found.lower <= found.T <= found.upper


def test_of_two_good_answers_the_cheaper_is_the_furthest():
    for costs, answer in (([9, 1, 1], 1), ([1, 9, 1], 0)):
        problem = ft.Problem.options(list("ABC"), eps=0.6, costs=costs)
        found = ft.complexity(problem, [0.5, 0.5, 0.0])
        assert (found.furthest, found.ties) == (answer, (answer,))


def test_within_a_bound_it_costs_no_more():
    """And just as much where the bound says nothing."""
    problem = ft.Problem.spectral([("A", "B"), ("B", "C")], 1e6, eps=0.3, costs=[1.0, 9.0, 2.0])
    free = ft.complexity(replace(problem, roughness=None, radius=None), [1.0, 0.5, 0.0])
    wide, close = (
        ft.complexity(replace(problem, radius=radius), [1.0, 0.5, 0.0]) for radius in (1e6, 0.51)
    )
    assert pytest.approx(free.T, rel=1e-5) == wide.T
    np.testing.assert_allclose(wide.weights, free.weights, atol=1e-3)
    assert close.T < 0.99 * free.T


@pytest.mark.parametrize(("problem", "mu"), [(LINEAR, MU), (PLAIN, VALUES)])
def test_a_currency_changes_nothing_but_the_figures(problem, mu):
    cents = replace(problem, costs=[100 * cost for cost in COSTS])
    one, other = ft.complexity(problem, mu), ft.complexity(cents, mu)
    assert pytest.approx(100 * one.T, rel=1e-6) == other.T
    np.testing.assert_allclose(one.weights, other.weights, atol=1e-4)
    ours, theirs = (ft.simulate(each, mu, runs=20, quiet=True) for each in (problem, cents))
    np.testing.assert_array_equal(ours.pulls, theirs.pulls)


def test_equal_costs_are_as_good_as_none():
    even = replace(PLAIN, costs=[3.0] * 4)
    found, free = (ft.complexity(each, VALUES) for each in (even, blind(PLAIN)))
    assert pytest.approx(3 * free.T, rel=1e-6) == found.T
    assert not free.in_cost
    assert free.cost_weights is None
    ours, theirs = (ft.simulate(each, VALUES, runs=20, quiet=True) for each in (even, blind(PLAIN)))
    np.testing.assert_array_equal(ours.pulls, theirs.pulls)
    np.testing.assert_array_equal(ours.costs, 3.0 * theirs.stopping_times)
    assert theirs.costs is None


@pytest.mark.parametrize("delta", [0.1, (0.1, 0.01)])
def test_runs_have_costs(delta):
    found = ft.simulate(PLAIN, VALUES, delta=delta, runs=30, quiet=True)
    expected = (found.pulls * np.array(COSTS)).sum(axis=-1)
    np.testing.assert_allclose(found.costs, expected)
    rows, levels = found.summary(), np.atleast_2d(expected)
    for row, own in zip(rows, levels, strict=True):
        assert row.cost == pytest.approx(own.mean())
        assert row.cost_sem == pytest.approx(own.std(ddof=1) / 30**0.5)
    np.testing.assert_allclose(found.columns()["cost"], levels.ravel())
    assert "cost " in repr(found)
    assert "cost " in found._repr_html_()
    assert found.to_dict()["results"][0]["cost"] == rows[0].cost
    free = ft.simulate(blind(PLAIN), VALUES, runs=3, quiet=True)
    assert "cost" not in free.columns()
    assert free.summary()[0].cost is None
    assert "cost" not in repr(free)


def test_rules_that_know_nothing_of_costs_do_as_without():
    for rule in ("uniform", "lebai"):
        ours, theirs = (
            ft.simulate(each, VALUES, ft.Strategy(rule), runs=10, quiet=True)
            for each in (PLAIN, blind(PLAIN))
        )
        np.testing.assert_array_equal(ours.pulls, theirs.pulls)


def test_the_oracle_buys_where_the_limit_does():
    found = ft.simulate(
        PLAIN, VALUES, ft.Strategy("fixed"), delta=1e-9, runs=5, max_rounds=4000, quiet=True
    )
    shares = found.pulls.sum(axis=0) / found.pulls.sum()
    np.testing.assert_allclose(shares, ft.complexity(PLAIN, VALUES).weights, atol=0.03)


def test_softmin_saves_where_an_arm_is_dear():
    problem = ft.Problem.factorial({"a": [0, 1, 2], "b": [0, 1]}, eps=0.3, costs=[1, 6] * 3)
    mu = [0.0, 0.5, 0.2, 0.4]
    cost = {}
    for power in (0.0, None):
        options = {} if power is None else {"power": power}
        found = ft.simulate(
            problem, mu, ft.Strategy(options=options), delta=0.05, runs=60, quiet=True
        )
        cost[power] = found.summary()[0].cost
        assert (~found.correct).sum() <= 8
    assert cost[None] < 0.85 * cost[0.0]
    free = ft.simulate(blind(problem), mu, delta=0.05, runs=60, quiet=True)
    assert problem.spent(free.pulls).mean() == cost[0.0]


def test_errors_stay_below_delta_wherever_it_is_cheap():
    """Wrong by a hair, and the wrong one, the right one or a bystander is dear."""
    runs, delta, wrong = 400, 0.1, 0
    for costs in ((20, 1, 1), (1, 20, 1), (1, 1, 20)):
        problem = ft.Problem.options(list("ABC"), eps=2.0, costs=costs)
        found = ft.simulate(
            *(problem, [2.01, 0, 0], None, delta, runs), max_rounds=3000, quiet=True
        )
        errors = int((found.stopped & ~found.correct).sum())
        assert not is_scandal(errors, runs, delta), (costs, errors)
        wrong += errors
    assert wrong > 0  # near the null, or the test would show nothing


@pytest.mark.parametrize("power", [-0.5, math.inf, math.nan])
def test_no_power_of_costs(power):
    with pytest.raises(ft.StrategyError, match="power"):
        softmin.start(PLAIN.task, power=power)


@pytest.mark.parametrize("stopping", ["ranked", "top-wrong", "glr"])
def test_stopping_does_not_depend_on_costs(stopping, sqlite_url):
    """The same results, other costs or none: the same evidence, verdicts and end."""
    proofs = []
    for name, costs in (("cheap", COSTS), ("dear", [7.0, 1.0, 20.0, 3.0]), ("free", None)):
        problem = replace(PLAIN, costs=costs)
        study = ft.Study.create(
            name, problem, 0.1, sqlite_url, strategy=ft.Strategy(stopping=stopping)
        )
        rng = np.random.default_rng(3)
        for arm in [*range(4)] * 60:
            value = float(VALUES[arm] + 0.5 * rng.normal())
            if study.outcome is None:
                study.add(arm, value)
        proofs.append(study.certificate())
    first = proofs[0]
    for other in proofs[1:]:
        assert other.statistic == first.statistic
        assert other.threshold == first.threshold
        assert other.verdicts == first.verdicts
        assert (other.answer, other.pulls, other.standing) == (
            *(first.answer, first.pulls, first.standing),
        )
        assert other.guarantee == first.guarantee
    assert first.cost == sum(n * c for n, c in zip(first.pulls, COSTS, strict=True))
    assert proofs[2].cost is None


def test_a_study_says_what_was_spent(sqlite_url):
    study = ft.Study.create("a", PLAIN, 0.1, sqlite_url)
    assert study.status().cost == 0.0
    run(study, Lab(PLAIN, VALUES, sigma=0.3))
    proof, status = study.certificate(), study.status()
    spent = sum(n * c for n, c in zip(proof.pulls, COSTS, strict=True))
    assert proof.cost == status.cost == pytest.approx(spent)
    assert proof.problem["costs"] == list(COSTS)
    again = json.loads(json.dumps(proof.to_dict()))
    assert verify("a", study.events(), again).certificate == proof
    with pytest.raises(ft.VerificationError, match="cost"):
        verify("a", study.events(), again | {"cost": again["cost"] - 1.0})
    assert "cost" in page(study)
    assert "costs 0.5 … 4 by arm" in page(study)
    assert f"cost {spent:.4g}" in repr(status)
    assert f"cost {spent:.4g}" in proof._repr_html_()
    assert documents.exported(study)["problem"]["costs"] == list(COSTS)
    loaded = ft.Study.load("a", sqlite_url)
    assert loaded.problem.costs == COSTS
    assert study.as_options("b").problem.costs == COSTS


def test_a_conclusion_says_what_was_spent(sqlite_url):
    study = ft.Study.create("a", replace(PLAIN, eps=0.01), 0.01, sqlite_url, budget=8)
    run(study, Lab(PLAIN, VALUES, sigma=0.3))
    ending = study.status().conclusion
    assert ending is not None
    assert ending.cost == sum(n * c for n, c in zip(ending.pulls, COSTS, strict=True))
    verify("a", study.events(), json.loads(json.dumps(ending.to_dict())))


def test_without_costs_nothing_is_written_of_them(sqlite_url):
    study = ft.Study.create("a", blind(PLAIN), 0.1, sqlite_url)
    assert "costs" not in study.events()[0].data
    assert study.status().cost is None
    assert "cost" not in page(study)


def test_foresight_counts_measurements(sqlite_url):
    """Its limit is one of measurements, whatever they cost."""
    limits = []
    for name, problem in (("priced", PLAIN), ("free", blind(PLAIN))):
        study = ft.Study.create(name, problem, 0.1, sqlite_url)
        for arm in range(4):
            study.add(arm, float(VALUES[arm]))
            study.add(arm, float(VALUES[arm]) + 0.01)
        limits.append(study.foresight(draws=4).limit)
    assert limits[0] == limits[1]


def test_other_costs_are_another_question(sqlite_url):
    ft.Study.create("a", PLAIN, 0.1, sqlite_url)
    ft.Study.create("a", replace(PLAIN), 0.1, sqlite_url, exist_ok=True)
    for other in (blind(PLAIN), replace(PLAIN, costs=[*COSTS[:3], 3.0])):
        with pytest.raises(ft.ChangeError, match="the costs are others"):
            ft.Study.create("a", other, 0.1, sqlite_url, exist_ok=True)


@pytest.mark.parametrize(
    ("costs", "words"),
    [
        ([1.0, 2.0], "one number for each of the 3 arms"),
        ([1.0, 2.0, 0.0], "the cost of arm 2 must be positive"),
        ([1.0, -2.0, 1.0], "the cost of arm 1 must be positive"),
        ([1.0, 2.0, float("nan")], "the cost of arm 2 must be finite"),
        ([1.0, math.inf, 1.0], "the cost of arm 1 must be finite"),
        ([1.0, None, 1.0], "the cost of arm 1 must be a number"),
        (3.0, "one number for each"),
        ("abc", "one number for each"),
        ([[1.0, 2.0, 3.0]], "one number for each"),
        ([1.0, 2.0, 1e7], "is free"),
    ],
)
def test_what_is_no_cost_of_each_arm_is_refused(costs, words):
    with pytest.raises(ProblemError, match=words):
        ft.Problem.options(list("ABC"), eps=0.1, costs=costs)


@pytest.mark.parametrize("suffix", ["toml", "csv", "npz"])
@pytest.mark.parametrize("own_answers", [False, True])
def test_files_keep_the_costs(tmp_path, suffix, own_answers):
    problem = ft.Problem(
        *(ARMS, [[1.0, 0.0], [0.0, 1.0]] if own_answers else None),
        eps=0.2,
        costs=COSTS,
        feature_names=["cost", "x"],
    )
    path = tmp_path / f"a.{suffix}"
    files.write_problem(problem, path)
    again = files.read_problem(path)
    assert (again.costs, again.feature_names) == (COSTS, ("cost", "x"))
    np.testing.assert_array_equal(again.arms, problem.arms)
    files.write_problem(blind(problem), path)
    assert files.read_problem(path).costs is None


def test_a_column_is_a_cost_only_where_the_file_says_so(tmp_path):
    path = tmp_path / "a.csv"
    rows = "name,cost,x,role\nA,0.5,1,both\nB,2,0,both\nD,1,0.3,both\nC,,0.5,answer\n"
    path.write_text(rows.replace(",,", ",3,"))
    silent = files.read_problem(path)
    assert silent.costs is None
    assert silent.feature_names == ("intercept", "cost", "x")
    path.write_text('# costs = "cost"\n' + rows)
    said = files.read_problem(path)
    assert said.costs == (0.5, 2.0, 1.0)
    assert said.feature_names == ("intercept", "x")
    path.write_text("# costs = [3, 4, 5]\n" + rows.replace(",,", ",3,"))
    listed = files.read_problem(path)
    assert listed.costs == (3.0, 4.0, 5.0)
    assert listed.feature_names == ("intercept", "cost", "x")
    for top, words in (
        ('# costs = "prise"\n', "unknown column 'prise'"),
        ('# costs = "name"\n', "meaning of its own"),
        ('# costs = "role"\n', "meaning of its own"),
    ):
        path.write_text(top + rows)
        with pytest.raises(InputError, match=words):
            files.read_problem(path)
    path.write_text('# costs = "cost"\nname,cost,x\nA,1,1\nB,,0\n')
    with pytest.raises(InputError, match="row 2, column 'cost'"):
        files.read_problem(path)


def test_tables_factors_and_options_take_costs():
    table = {"x": [1.0, 2.0, 3.0], "price": [10, 20, 40]}
    named = ft.Problem.from_table(table, costs="price", eps=0.1)
    assert (named.costs, named.feature_names) == ((10.0, 20.0, 40.0), ("intercept", "x"))
    assert ft.Problem.from_table(table, eps=0.1).costs is None
    with pytest.raises(ProblemError, match="each of the 3 arms"):
        ft.Problem.from_table(table, costs="prise", eps=0.1)
    factorial = ft.Problem.factorial({"a": [0, 1], "b": [0, 1]}, costs=np.arange(1, 5), eps=0.1)
    assert factorial.costs == (1, 2, 3, 4)
    assert "costs 1 … 4 by arm" in repr(factorial)
    assert "costs 2" in repr(ft.Problem.options(["A", "B"], costs=[2, 2]))


def test_the_command_line_says_what_it_costs(furthest, tmp_path):
    path = tmp_path / "a.toml"
    path.write_text(
        'eps = 0.5\noptions = ["A", "B"]\nmu = [1.0, 0.0]\ncosts = [1, 9]\n', encoding="utf-8"
    )
    found = furthest("complexity", str(path))
    assert found.returncode == 0, found.stderr
    assert "costs 1 … 9 by arm" in found.stdout
    assert "Of the money: A 0.2500, B 0.7500" in found.stdout
    data = json.loads(furthest("complexity", str(path), "--json").stdout)
    assert data["in_cost"] is True
    assert data["cost_weights"] == pytest.approx([0.25, 0.75], abs=1e-6)
    for command in (["simulate"], ["plan"], ["plan", "--spread", "0.1"]):
        shown = furthest(*command, str(path), "--runs", "5", "--delta", "0.1")
        assert shown.returncode == 0, shown.stderr
        assert "cost ± s.e." in shown.stdout
    data = json.loads(furthest("plan", str(path), "--runs", "5", "--json").stdout)
    for row in data["results"]:
        assert row["cost"] == pytest.approx(row["pulls"][0] + 9 * row["pulls"][1])
        assert row["limit"] == pytest.approx(data["complexity"]["T"] * math.log(1 / row["delta"]))
    rules = ["--sampling", "softmin,uniform"]
    compared = furthest(
        *("compare", str(path), *rules, "--runs", "5", "--plot", str(tmp_path / "a.svg"))
    )
    assert compared.returncode == 0, compared.stderr
    assert "cost" in compared.stdout
    assert "cost until the answer" in (tmp_path / "a.svg").read_text(encoding="utf-8")
    path.write_text('eps = 0.5\noptions = ["A", "B"]\nmu = [1.0, 0.0]\n', encoding="utf-8")
    assert "cost" not in furthest("plan", str(path), "--runs", "5").stdout


def test_a_live_study_asks_where_it_is_cheap(sqlite_url):
    """Without any noise, so that both see the same values."""
    costs, pulls = [1.0, 1.0, 1.0, 9.0], []
    for name, problem in (("a", replace(PLAIN, costs=costs)), ("b", blind(PLAIN))):
        study = ft.Study.create(name, problem, 0.05, sqlite_url)
        while study.status().state == "running":
            trial = study.ask()
            study.tell(trial, float(VALUES[trial.arm]))
        pulls.append(study.certificate().pulls)
    priced, free = (np.array(each) @ costs for each in pulls)
    assert priced < free
    assert pulls[0][3] < pulls[1][3]
