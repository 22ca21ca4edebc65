import json
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from furthest import errors, instances, simulate
from furthest.kernels.evidence import no_evidence, take_in
from furthest.problem import Problem
from furthest.strategy import Strategy
from furthest.study.events import problem_data
from strategies import problems

E2 = np.eye(2)


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"arms": [1.0, 2.0]}, errors.ShapeError, "arms must be a matrix"),
        ({"arms": [[1.0], [1.0, 2.0]]}, errors.ShapeError, "same length"),
        ({"arms": [["a", "b"]]}, errors.ShapeError, "numbers"),
        ({"arms": [[]]}, errors.ShapeError, "arms"),
        ({"arms": None}, errors.ShapeError, "arms"),
        ({"arms": np.zeros((0, 2))}, errors.ShapeError, "arms"),
        ({"arms": E2, "answers": [[1.0], [2.0]]}, errors.ShapeError, "dimension 2.*dimension 1"),
        ({"arms": E2, "answers": np.eye(3)}, errors.ShapeError, "dimension 2.*dimension 3"),
        ({"arms": [[1.0, np.nan], [0, 1]]}, errors.NotFiniteError, r"arms\[0\]\[1\] is nan"),
        (
            {"arms": E2, "answers": [[1, 0], [np.inf, 0]]},
            errors.NotFiniteError,
            r"answers\[1\]\[0\] is inf",
        ),
        ({"arms": [[1.0, 0.0]]}, errors.TooFewAnswersError, "two answers"),
        ({"arms": E2, "answers": [[1, 0]]}, errors.TooFewAnswersError, "two answers"),
        ({"arms": [[1, 0], [2, 0]], "answers": E2}, errors.SpanError, "span"),
        ({"arms": np.zeros((2, 2)), "answers": E2}, errors.SpanError, "span"),
        ({"arms": np.zeros((2, 2))}, errors.SpanError, "span"),
        ({"arms": [[1, 0], [1, 0]], "eps": 0}, errors.DuplicateAnswersError, "equal"),
        (
            {"arms": E2, "answers": [[0.0, 1], [1, 0], [-0.0, 1]], "eps": 0},
            errors.DuplicateAnswersError,
            "'answer 0' and 'answer 2'",
        ),
        (
            {"arms": [[0.1 + 0.2, 0], [0.3, 0]], "eps": 0, "notion": "multiplicative"},
            errors.DuplicateAnswersError,
            "equal",
        ),
        ({"arms": E2, "eps": -0.1}, errors.EpsilonError, "at least 0"),
        ({"arms": E2, "eps": np.nan}, errors.EpsilonError, "finite"),
        ({"arms": E2, "eps": np.inf}, errors.EpsilonError, "finite"),
        ({"arms": E2, "eps": "much"}, errors.EpsilonError, "number, not 'much'"),
        ({"arms": E2, "eps": None}, errors.EpsilonError, "number"),
        ({"arms": E2, "eps": 1.0, "notion": "multiplicative"}, errors.EpsilonError, r"\[0, 1\)"),
        ({"arms": E2, "eps": -0.1, "notion": "multiplicative"}, errors.EpsilonError, r"\[0, 1\)"),
        ({"arms": E2, "sigma": 0}, errors.SigmaError, "positive"),
        ({"arms": E2, "sigma": -1}, errors.SigmaError, "positive"),
        ({"arms": E2, "sigma": np.nan}, errors.SigmaError, "finite"),
        ({"arms": E2, "sigma": "1 V"}, errors.SigmaError, "number"),
        ({"arms": E2, "bounds": (1, 0)}, errors.SigmaError, "ascending"),
        ({"arms": E2, "bounds": (0, np.nan)}, errors.SigmaError, "finite"),
        ({"arms": E2, "bounds": ("a", "b")}, errors.SigmaError, "number"),
        ({"arms": E2, "bounds": (0, 1, 2)}, errors.SigmaError, "bound"),
        ({"arms": E2, "bounds": 1}, errors.SigmaError, "bound"),
        ({"arms": E2, "bounds": (0, 1), "sigma": 3}, errors.SigmaError, "give one of them"),
        ({"arms": E2, "bounds": (0, 1), "sigma": 1.0}, errors.SigmaError, "σ = 0.5"),
        ({"arms": E2, "bounds": (0, 1), "sigma": None}, errors.SigmaError, "unknown, but"),
        ({"arms": E2, "bounds": (0, 1), "sigma": "unknown"}, errors.SigmaError, "unknown, but"),
        ({"arms": E2, "feature_names": ["a"]}, errors.ShapeError, "2 feature names"),
        ({"arms": E2, "feature_names": ["a", "a"]}, errors.ProblemError, "'a' is used twice"),
        ({"arms": [[1, 1e290], [0, 1]]}, errors.SpanError, "'x1' is 1e.290.*another unit"),
        ({"arms": [[1, 1e-290], [0, 0]]}, errors.SpanError, "another unit"),
        ({"arms": E2, "notion": "aditive"}, errors.ProblemError, "did you mean 'additive'"),
        ({"arms": E2, "notion": None}, errors.ProblemError, "notion"),
        ({"arms": E2, "arm_names": ["a"]}, errors.ShapeError, "2 arm names"),
        ({"arms": E2, "arm_names": "ab"}, errors.ShapeError, "2 arm names"),
        ({"arms": E2, "arm_names": 3}, errors.ProblemError, "arm names"),
        ({"arms": E2, "arm_names": [["a"], ["b"]]}, errors.ProblemError, "name"),
        ({"arms": E2, "arm_names": ["a", "a"]}, errors.ProblemError, "'a' is used twice"),
        (
            {"arms": E2, "answers": E2, "answer_names": ["a", "a"]},
            errors.ProblemError,
            "answer name 'a'",
        ),
    ],
)
def test_every_bad_question_has_its_own_error(arguments, error, words):
    with pytest.raises(error, match=words) as caught:
        Problem(**arguments)
    assert isinstance(caught.value, errors.InputError)
    assert isinstance(caught.value, ValueError)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("mu", "words"),
    [
        ([1.0], "2 entries"),
        ([[1.0, 0.0]], "2 entries"),
        ([1.0, np.nan], "NaN"),
        (["a", "b"], "numbers"),
        (None, "2 entries|numbers"),
        ([-1.0, 0.0], "positive"),
    ],
)
def test_parameters_under_which_there_is_no_answer(mu, words):
    with pytest.raises(errors.ParameterError, match=words):
        Problem(E2, eps=0.1, notion="multiplicative").near_best(mu)


def test_near_best_includes_the_edge_of_the_band():
    """Paper: additive notion, multiplicative notion."""
    additive = Problem(np.eye(3), eps=0.5)
    assert additive.near_best([1.0, 0.5, 0.25]).tolist() == [True, True, False]
    assert additive.near_best([-1.0, -1.5, -1.75]).tolist() == [True, True, False]
    multiplicative = Problem(np.eye(3), eps=0.5, notion="multiplicative")
    assert multiplicative.near_best([4.0, 2.0, 1.75]).tolist() == [True, True, False]


def test_sigma_may_follow_from_bounds_or_be_unknown():
    # Hoeffding's lemma: a variable within (a, b) is (b − a)/2-sub-Gaussian.
    assert Problem(E2, bounds=(0, 1)).sigma == 0.5
    assert Problem(E2, bounds=(-2.0, 4.0)).sigma == 3.0
    # A stored log has both.
    assert Problem(E2, sigma=3.0, bounds=(-2.0, 4.0)).bounds == (-2.0, 4.0)
    assert replace(Problem(E2, bounds=(0, 1)), eps=0.3).sigma == 0.5
    assert Problem(E2).sigma == 1.0
    assert type(Problem(E2).sigma) is float
    unknown = Problem(E2, eps=0.2, sigma=None)
    assert unknown.sigma is None
    assert unknown.task.e == 0.2


def test_names_default_to_numbers_and_follow_the_arms():
    assert Problem(E2).answer_names == ("arm 0", "arm 1")
    assert Problem(E2, arm_names=["a", "b"]).answer_names == ("a", "b")
    named = Problem(E2, arm_names=["a", "b"], answer_names=["x", "y"])
    assert (named.arm_names, named.answer_names) == (("a", "b"), ("x", "y"))
    assert Problem(E2, E2, arm_names=["a", "b"]).answer_names == ("answer 0", "answer 1")
    assert Problem(E2, arm_names=[1, 2]).arm_names == ("1", "2")


def test_a_problem_cannot_be_changed():
    mine = np.eye(2)
    problem = Problem(mine)
    mine[0, 0] = 7.0
    assert problem.arms[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        problem.arms[0, 0] = 7.0
    with pytest.raises(AttributeError):
        problem.eps = 0.5  # type: ignore[misc]


@given(problems())
def test_the_task_is_white_and_keeps_every_inner_product(problem):
    """Paper: linear bandit."""
    task = problem.task
    arms, d = task.arms.shape
    np.testing.assert_allclose(task.arms.T @ task.arms, arms * np.eye(d), atol=1e-12 * arms)
    mu = np.linspace(-1, 2, d)
    white = problem.whiten(mu)
    scale = np.abs(problem.arms).max() + np.abs(problem.answers).max()
    for rows, whitened in ((problem.arms, task.arms), (problem.answers, task.answers)):
        np.testing.assert_allclose(
            whitened @ white * problem.sigma, rows @ mu, rtol=0, atol=1e-12 * scale
        )
    np.testing.assert_allclose(problem.unwhiten(white), mu, atol=1e-12)
    for array in task[:4]:
        assert array.dtype == np.float64
        assert array.flags.c_contiguous
    np.testing.assert_array_equal(task.arm_columns, task.arms.T)
    np.testing.assert_array_equal(task.answer_columns, task.answers.T)
    assert task.initial.tolist() == list(range(arms))


def test_notions_become_constants():
    additive, multiplicative = (
        Problem(E2, eps=0.2, notion=notion, sigma=4.0).task
        for notion in ("additive", "multiplicative")
    )
    assert (additive.c, additive.e) == (1.0, pytest.approx(0.05))
    assert (multiplicative.c, multiplicative.e) == (pytest.approx(0.8), 0.0)


SUBSPACE = np.array([[1.0, 0, 0, 1], [0, 1, 0, 1], [1, 1, 0, 2], [0.5, -1, 0, -0.5]])


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
def test_in_a_proper_subspace_it_works_in_that_subspace(notion):
    problem = Problem(SUBSPACE, eps=0.1, notion=notion)
    assert problem.task.arms.shape == (4, 2)
    mu = np.array([1.0, 0.5, 7.0, 0.25])
    white = problem.whiten(mu)
    np.testing.assert_allclose(problem.task.arms @ white, SUBSPACE @ mu, atol=1e-12)
    # What comes back is the part of μ that measurements can see.
    back = problem.unwhiten(white)
    np.testing.assert_allclose(SUBSPACE @ back, SUBSPACE @ mu, atol=1e-12)
    np.testing.assert_allclose(back, np.linalg.lstsq(SUBSPACE, SUBSPACE @ mu)[0], atol=1e-12)


def test_additive_answers_may_share_a_component_that_no_arm_sees():
    arms = np.array([[1.0, 0, 0], [0, 1, 0]])
    shared = np.array([[1.0, 0, 5], [0, 1, 5], [0.5, 0.5, 5]])
    problem = Problem(arms, shared, eps=0.1)
    assert problem.task.answers.shape == (3, 2)
    mu = np.array([1.0, 0.0, 3.0])
    assert problem.near_best(mu).tolist() == [True, False, False]
    results = simulate(problem, mu, Strategy("uniform", threshold="paper"), runs=20)
    assert results.correct.all()
    assert Problem(arms, shared, eps=0.0, notion="multiplicative").task.arms.shape == (2, 2)
    for notion in ("multiplicative", "additive"):
        apart = shared if notion == "multiplicative" else shared * [[1], [1], [0]]
        with pytest.raises(errors.SpanError, match="answer"):
            Problem(arms, apart, eps=0.1, notion=notion)


def trajectory(problem, mu, rule="lebai"):
    strategy = Strategy(rule, threshold="paper")
    results = simulate(problem, mu, strategy, delta=[0.3, 0.1, 0.01], runs=8, seed=5)
    return results.pulls, results.answers, results.stopping_times


def assert_same_trajectories(one, other):
    for left, right in zip(one, other, strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("notion", ["additive", "multiplicative"])
@pytest.mark.parametrize("name", ["hard", "random"])
def test_coordinates_do_not_matter(name, notion):
    instance = instances.GENERATORS[name](notion=notion, eps=0.1)
    problem, mu = instance.problem, instance.truth
    d = len(mu)
    rng = np.random.default_rng(8)
    mapping = rng.standard_normal((d, d)) * 10.0 ** np.linspace(-2, 2, d)
    mapped = Problem(problem.arms @ mapping, problem.answers @ mapping, 0.1, notion)
    assert_same_trajectories(
        trajectory(problem, mu), trajectory(mapped, np.linalg.solve(mapping, mu))
    )
    # The same vectors inside a larger space.
    embedding = np.linalg.qr(rng.standard_normal((d + 2, d)))[0].T
    embedded = Problem(problem.arms @ embedding, problem.answers @ embedding, 0.1, notion)
    assert_same_trajectories(trajectory(problem, mu), trajectory(embedded, mu @ embedding))


def test_units_do_not_matter():
    instance = instances.hard(notion="additive")
    problem, mu = instance.problem, instance.truth
    in_grams = Problem(problem.arms, problem.answers, 50.0, "additive", 1000.0)
    assert_same_trajectories(trajectory(problem, mu), trajectory(in_grams, 1000 * mu))


@given(
    arrays(float, (3, 2), elements=st.floats(-5, 5, allow_subnormal=False)),
    st.floats(1e-150, 1e150),
)
def test_scale_of_the_features_does_not_matter(rows, scale):
    arms = np.vstack([E2, rows])
    one, other = Problem(arms).task, Problem(arms * scale).task
    gram = one.answers @ one.answers.T
    np.testing.assert_allclose(gram, other.answers @ other.answers.T, atol=1e-9 * gram.max())


def test_plain_options_are_unit_vectors():
    problem = Problem.options(["A", "B", "C"], eps=0.1, bounds=(0, 1))
    assert (problem.arms == np.eye(3)).all()
    assert problem.arm_names == problem.answer_names == ("A", "B", "C")
    assert problem.bounds == (0, 1)
    assert problem.sigma == 0.5
    with pytest.raises(errors.ShapeError):
        Problem.options("ABC")


def test_factorial_effects_add_up():
    """Every table of main effects and of the chosen interaction is one of its parameters."""
    factors = {"colour": ["red", "blue"], "size": ["S", "M", "L"], "shape": [1, 2]}
    rng = np.random.default_rng(3)
    colour, size, shape = (rng.standard_normal(n) for n in (2, 3, 2))
    both = rng.standard_normal((2, 3))
    values = colour[:, None, None] + size[:, None] + shape + both[:, :, None]
    problem = Problem.factorial(factors, [("colour", "size")])
    assert problem.arms.shape == (12, 1 + 1 + 2 + 1 + 2)
    assert np.linalg.matrix_rank(problem.arms) == 7
    fitted = np.linalg.lstsq(problem.arms, values.ravel())
    assert problem.arms @ fitted[0] == pytest.approx(values.ravel())
    assert problem.arm_names[4] == "colour=red, size=L, shape=1"
    plain = Problem.factorial(factors)
    assert np.linalg.matrix_rank(plain.arms) == plain.arms.shape[1] == 5


@pytest.mark.parametrize(
    ("factors", "interactions", "words"),
    [
        ({}, (), "factors"),
        ({"a": "xy"}, (), "list"),
        ({"a": [1, 1]}, (), "different"),
        ({"a": []}, (), "different"),
        ({"colour": [1, 2], "b": [1, 2]}, [("color", "b")], "colour"),
        ({"a": [1, 2], "b": [1, 2]}, ["a"], "two or more"),
        ({"a": [1, 2], "b": [1, 2]}, [("a", "a")], "two or more"),
    ],
)
def test_bad_factors(factors, interactions, words):
    with pytest.raises(errors.ProblemError, match=words):
        Problem.factorial(factors, interactions)


def test_a_table_of_any_kind():
    columns = {"model": ["a", "b", "c"], "cost": [1, 2, 3], "depth": [0, 1, 0]}

    class Frame:
        columns = ("model", "cost", "depth")

        def __getitem__(self, name):
            return columns[name]

    for table in (columns, Frame()):
        problem = Problem.from_table(table, name="model", intercept=False)
        assert problem.arm_names == ("a", "b", "c")
        assert problem.arms.tolist() == [[1, 0], [2, 1], [3, 0]]
        assert problem.feature_names == ("cost", "depth")
    assert Problem.from_table(columns, ["depth", "cost"]).arms[0].tolist() == [1, 0, 1]
    with pytest.raises(errors.ProblemError, match="depth"):
        Problem.from_table(columns, ["dept"])


def test_a_table_has_an_intercept_unless_its_columns_add_up_to_one():
    cost, size = [1.0, 2, 3, 5], [2.0, 0, 1, 1]
    with_intercept = Problem.from_table({"cost": cost, "size": size})
    assert with_intercept.feature_names == ("intercept", "cost", "size")
    assert with_intercept.arms[:, 0].tolist() == [1, 1, 1, 1]
    red = [1, 0, 0, 1]
    for more in (
        {"base": [7, 7, 7, 7]},
        {"red": red, "other": [1 - x for x in red]},
        {"left": [0.1, 0.4, 0.3, 0.5], "right": [1e6 * (1 - x) for x in (0.1, 0.4, 0.3, 0.5)]},
        {"a": [1, 2, 3, 7], "b": [1, 4, 9, 0]},
    ):
        problem = Problem.from_table({"cost": cost, "size": size} | more)
        assert problem.feature_names == ("cost", "size", *more)
        assert problem.dropped == ()


def test_texts_are_categories():
    table: dict[str, list] = {
        "colour": ["red", "green", "red", "blue", "green", "blue"],
        "cost": [1, 2, 3, 5, 8, 13],
        "gloss": [True, False, True, True, False, False],
        "maker": ["X"] * 6,
    }
    red, green, blue = (
        [float(own == colour) for own in table["colour"]] for colour in ("red", "green", "blue")
    )
    gloss = [1.0, 0, 1, 1, 0, 0]
    problem = Problem.from_table(table)
    assert problem.feature_names == (
        "intercept",
        "colour=green",
        "colour=blue",
        "cost",
        "gloss=True",
    )
    columns = [[1] * 6, green, blue, table["cost"], gloss]
    np.testing.assert_array_equal(problem.arms, np.transpose(columns))
    assert problem.task.arms.shape == (6, 5)
    # Without an intercept the first category has all its levels: the same values are possible.
    bare = Problem.from_table(table, intercept=False)
    assert bare.feature_names == (
        "colour=red",
        "colour=green",
        "colour=blue",
        "cost",
        "gloss=True",
    )
    assert bare.arms[:, 0].tolist() == red
    np.testing.assert_allclose(
        bare.task.arms @ bare.task.arms.T, problem.task.arms @ problem.task.arms.T, atol=1e-12
    )

    class Coded:
        """Numbers that are called categories, as a column of a data frame may be."""

        def __init__(self, dtype):
            self.dtype = dtype

        def __len__(self):
            return 6

        def __array__(self, dtype=None, copy=None):
            return np.array([2, 1, 2, 3, 1, 3])

    for dtype, names in (
        ("category", ["code=1", "code=3"]),
        ("Enum(categories=['1', '2', '3'])", ["code=1", "code=3"]),
        ("int64", ["code"]),
    ):
        coded = Problem.from_table({"code": Coded(dtype), "cost": table["cost"]})
        assert coded.feature_names == ("intercept", *names, "cost")


class Nothing:
    """Neither equal to itself nor not, as the missing value of pandas."""

    def __ne__(self, other):
        raise TypeError

    __hash__ = None


@pytest.mark.parametrize(
    ("cells", "error", "words"),
    [
        ([1, None, 3], errors.NotFiniteError, r"row 1 \('b'\), column 'cost': there is no value"),
        ([1, 2, np.nan], errors.NotFiniteError, r"row 2 \('c'\), column 'cost': there is no"),
        (np.array([1, 2, np.nan]), errors.NotFiniteError, r"row 2 \('c'\), column 'cost'"),
        (["x", None, "y"], errors.NotFiniteError, r"row 1 \('b'\), column 'cost'"),
        (["x", Nothing(), "y"], errors.NotFiniteError, r"row 1 \('b'\), column 'cost'"),
        ([1, -np.inf, 2], errors.NotFiniteError, r"row 1 \('b'\), column 'cost': -inf"),
        ([1, "x", 2], errors.ShapeError, r"row 1 \('b'\), column 'cost': 'x' is not a number"),
        ([1, True, 2], errors.ShapeError, "True is not a number"),
        ([1, 2j, 2], errors.ShapeError, "2j is not a number"),
        ([[1], [2], [3]], errors.ShapeError, "is not a number"),
        ([date(2026, 1, 1)] * 3, errors.ShapeError, "is not a number"),
        (np.array(["2026-01-01"] * 3, "M8[ns]"), errors.ShapeError, "dates or times"),
        ([1, 2], errors.ShapeError, "'cost' has 2 entries, not 3"),
    ],
)
def test_what_is_missing_in_a_table_is_named(cells, error, words):
    table = {"model": ["a", "b", "c"], "depth": [1, 2, 4], "cost": cells}
    with pytest.raises(error, match=words):
        Problem.from_table(table, name="model")


def test_tables_of_nothing():
    with pytest.raises(errors.ShapeError, match="no feature columns"):
        Problem.from_table({"model": ["a", "b"]}, name="model")
    with pytest.raises(errors.ShapeError, match="no rows"):
        Problem.from_table({"cost": []})
    flags = Problem.from_table({"on": [np.True_, np.False_, np.True_]})
    assert flags.feature_names == ("intercept", "on=True")
    exact = Problem.from_table({"cost": [Decimal("0.5"), Decimal("0.25")]}, intercept=False)
    assert exact.arms.tolist() == [[0.5], [0.25]]


def test_many_arms_begin_with_a_spanning_set():
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((40, 5))
    problem = Problem(arms)
    assert len(problem.initial) == 5
    assert np.linalg.matrix_rank(arms[list(problem.initial)]) == 5
    # Close to the best: no exchange of one arm for another enlarges the volume much.
    volume = abs(np.linalg.det(arms[list(problem.initial)]))
    for position in range(5):
        for arm in range(40):
            other = list(problem.initial)
            other[position] = arm
            assert abs(np.linalg.det(arms[other])) < 2.5 * volume
    assert Problem(arms[:20]).initial == tuple(range(20))


def test_initial_arms_may_be_given():
    arms = np.array([[1, 0], [2, 0], [0, 1]])
    assert Problem(arms, initial=[2, 0]).task.initial.tolist() == [2, 0]
    for initial, error in (
        ([0, 1], errors.SpanError),
        ([0, 0, 2], errors.ProblemError),
        ([0, 3], errors.ProblemError),
        ([0.5, 2], errors.ProblemError),
        (2, errors.ProblemError),
    ):
        with pytest.raises(error):
            Problem(arms, initial=initial)


def test_initial_arms_that_are_nearly_collinear_are_refused():
    """From V⁻¹ ≈ 10¹⁴ nothing is left after the first update: error .30 at δ = .1 was seen."""
    for angle in (1e-4, 1e-5):
        arms = np.array([[1, 0], [np.cos(angle), np.sin(angle)], [0, 1]])
        assert Problem(arms, initial=[0, 2]).initial == (0, 2)
        assert Problem(arms).initial == (0, 1, 2)
        if angle > 5e-5:
            assert Problem(arms, initial=[0, 1]).initial == (0, 1)
        else:
            with pytest.raises(errors.SpanError, match=r"rounding would decide.*'arm 2'"):
                Problem(arms, initial=[0, 1])
    # Short beside an arm to come is no better than parallel.
    long = np.array([[1, 0], [0, 1], [1e6, 0], [0, 1e6]])
    with pytest.raises(errors.SpanError, match=r"'arm [23]'"):
        Problem(long, initial=[0, 1])


# Intercept, bytes, a flag and a count: rank 4, of which one dimension was kept.
BYTES = np.column_stack(
    [
        np.ones(8),
        np.array([2, 3, 5, 7, 4, 10, 6, 9]) * 1e9,
        [0, 1, 0, 1, 1, 0, 0, 1],
        [3, 1, 4, 1, 5, 9, 2, 6],
    ]
)
BYTES_MU = np.array([0.5, 2e-10, 1.5, 0.25])


@pytest.mark.parametrize("strategy", [Strategy("uniform"), Strategy()], ids=["uniform", "softmin"])
def test_columns_of_very_different_size_keep_their_features(strategy):
    problem = Problem(BYTES, eps=0.5)
    assert problem.task.arms.shape == (8, 4)
    assert problem.dropped == ()
    results = simulate(problem, BYTES_MU, strategy, delta=0.01, runs=60)
    # At most δ = 1 % of errors: more than four in 60 runs has probability 3e-4.
    assert (~results.correct).sum() <= 4
    tame = Problem(BYTES / [1, 1e9, 1, 1], eps=0.5)
    same = simulate(tame, BYTES_MU * [1, 1e9, 1, 1], strategy, delta=0.01, runs=60)
    np.testing.assert_array_equal(results.stopping_times, same.stopping_times)


@pytest.mark.parametrize("size", [1e-12, 1e-7, 1e7, 1e8, 1e9, 1e12, 1e200])
def test_the_size_of_a_column_leaves_no_trace_in_the_estimate(size):
    """The kernels' evidence against least squares on columns of size 1."""
    rng = np.random.default_rng(5)
    arms, answers = rng.standard_normal((9, 4)), rng.standard_normal((6, 4))
    units = np.array([1, size, 1, np.sqrt(size)])
    problem = Problem(arms * units, answers * units, eps=0.1, sigma=0.5)
    pulled = np.concatenate([np.arange(9), rng.integers(0, 9, 40)])
    rewards = arms[pulled] @ rng.standard_normal(4) + 0.5 * rng.standard_normal(len(pulled))
    evidence = no_evidence(problem.task)
    for arm, reward in zip(pulled, rewards, strict=True):
        take_in(problem.task, evidence, arm, reward / problem.unit)
    expected = np.linalg.lstsq(arms[pulled], rewards)[0]
    np.testing.assert_allclose(evidence.values * problem.unit, answers @ expected, atol=1e-11)
    estimate = problem.unwhiten(evidence.estimate)
    np.testing.assert_allclose(estimate * units, expected, atol=1e-11)
    np.testing.assert_allclose(problem.whiten(estimate), evidence.estimate, atol=1e-11)


def test_well_scaled_columns_are_not_touched():
    """To the last bit: the singular value decomposition of the arms as they are."""
    rng = np.random.default_rng(2)
    for stretch in (1.0, 1 / 16, 16.0):
        arms = rng.uniform(-1, 1, (7, 3))
        arms[:3] = np.eye(3) * stretch
        arms = arms * stretch / np.abs(arms).max(axis=0)
        _, singular, rows = np.linalg.svd(arms, full_matrices=False)
        expected = arms @ (rows.T * (np.sqrt(7) / singular))
        np.testing.assert_array_equal(Problem(arms).task.arms, expected)


PLANE = np.array([[1.0, 0], [0, 1], [3, 1], [-1, 2], [0.5, -1]])
DEPENDENT = [
    (np.column_stack([PLANE, PLANE.sum(axis=1)]), ("x2 = x0 + x1",)),
    (np.column_stack([PLANE, PLANE @ [0.3, -0.7]]), ("x2 = 0.3 x0 − 0.7 x1",)),
    (np.column_stack([PLANE, -1e9 * PLANE[:, 0]]), ("x2 = −1e+09 x0",)),
    (np.column_stack([PLANE * 1e9, PLANE @ [1, 1]]), ("x2 = 1e-09 x0 + 1e-09 x1",)),
    (np.column_stack([np.zeros(5), PLANE]), ("x0 = 0",)),
    (np.column_stack([PLANE, PLANE, np.zeros(5)]), ("x2 = x0", "x3 = x1", "x4 = 0")),
    (PLANE[:2] @ np.array([[1, 0, 2, 0], [0, 1, 0, 0.5]]), ("x2 = 2 x0", "x3 = 0.5 x1")),
]


@pytest.mark.parametrize(("arms", "expected"), DEPENDENT, ids=lambda x: str(x)[:30])
def test_what_no_measurement_sees_is_named(arms, expected):
    problem = Problem(arms)
    assert problem.dropped == expected
    d, dimension = problem.task.arms.shape[1], arms.shape[1]
    assert d == dimension - len(expected)
    shown = f"d = {d} of {dimension} features ({expected[0]}"
    assert shown in repr(problem)
    assert expected[0] in problem._repr_html_()
    assert Problem(PLANE).dropped == ()


def test_dropped_directions_have_the_names_of_features():
    colour = np.eye(3)[[0, 1, 2, 0, 1]]
    arms = np.column_stack([np.ones(5), colour])
    problem = Problem(arms, feature_names=["intercept", "red", "green", "blue"])
    assert problem.dropped == ("blue = intercept − red − green",)
    assert "<th" in problem._repr_html_()
    assert ">green<" in problem._repr_html_()
    with pytest.raises(errors.ParameterError, match=r"4 entries.*intercept, red, green, blue"):
        problem.near_best([1.0])


@pytest.mark.parametrize("size", [1.0, 1e9])
@pytest.mark.parametrize("apart", [1.0, 1e-3, 1e-8, 1e-10])
def test_answers_that_differ_where_no_arm_does_are_refused(apart, size):
    arms = np.column_stack([PLANE, PLANE.sum(axis=1)]) * [size, 1, 1 / size]
    answers = arms[:3].copy()
    assert Problem(arms, answers).task.arms.shape == (5, 2)
    answers[1, 2] += apart / size
    with pytest.raises(errors.SpanError, match=r"'answer 1'.*for all arms x2 = "):
        Problem(arms, answers)


@pytest.mark.parametrize("seed", range(20))
def test_rounding_is_no_direction(seed):
    """Dummies of all levels, centred, standardised or mixed: the rank is known by counting."""
    rng = np.random.default_rng(seed)
    levels, counts = rng.integers(2, 5, 3), []
    for count in levels:
        own = np.concatenate([np.arange(count), rng.integers(0, count, 40 - count)])
        counts.append(np.eye(count)[rng.permutation(own)])
    dummies = np.hstack(counts)
    rank = int(levels.sum()) - 3
    centred = dummies - dummies.mean(axis=0)
    mixed = centred @ rng.standard_normal((levels.sum(), levels.sum()))
    for arms in (
        centred,
        centred / dummies.std(axis=0),
        mixed * 10.0 ** rng.uniform(-9, 9, levels.sum()),
        np.vstack([centred, centred.mean(axis=0)]),
    ):
        problem = Problem(arms)
        assert problem.task.arms.shape[1] == rank
        assert len(problem.dropped) == 3


def test_what_could_be_rounding_or_not_is_refused():
    rng = np.random.default_rng(1)
    noise = rng.standard_normal(5)
    for apart, d in ((1e-14, 2), (1e-6, 3)):
        arms = np.column_stack([PLANE, PLANE[:, 0] + apart * noise])
        assert Problem(arms).task.arms.shape[1] == d
    for apart in (1e-9, 1e-11):
        for unit in (1, 1e12):
            arms = np.column_stack([PLANE, (PLANE[:, 0] + apart * noise) * unit])
            with pytest.raises(errors.SpanError, match=r"features x0 and x2 are nearly.*centre"):
                Problem(arms)
    years = np.vander(np.arange(2000.0, 2025), 4)
    with pytest.raises(errors.SpanError, match="centre"):
        Problem(years)
    assert Problem(np.vander(np.arange(-12.0, 13), 4)).task.arms.shape[1] == 4


@pytest.mark.parametrize("apart", [1e-3, 1e-6])
def test_what_is_nearly_collinear_is_whitened_as_exact_algebra_does(apart):
    """Whitened arms times their transpose are K times the projection onto the columns."""
    rng = np.random.default_rng(6)
    arms = rng.integers(-8, 9, (7, 2)) / 8
    arms = np.column_stack([arms, arms[:, 0] + apart * rng.standard_normal(7)]) * [1, 1e9, 1]
    orthogonal: list[list[Fraction]] = []
    for column in arms.T.tolist():
        rest = [Fraction(x) for x in column]
        for other in orthogonal:
            share = Fraction(inner(rest, other), inner(other, other))
            rest = [x - share * y for x, y in zip(rest, other, strict=True)]
        orthogonal.append(rest)
    expected = [
        [float(sum(q[i] * q[j] / inner(q, q) for q in orthogonal)) for i in range(7)]
        for j in range(7)
    ]
    white = Problem(arms).task.arms
    np.testing.assert_allclose(white @ white.T / 7, expected, atol=1e-14 / apart)


def inner(one, other):
    return sum(x * y for x, y in zip(one, other, strict=True))


def test_equal_answers_are_judged_column_by_column():
    arms = np.array([[1.0, 0], [1, 1], [1, 3]])
    for size in (1e-12, 1.0, 1e12):
        assert len(Problem(arms * [size, 1], eps=0).answers) == 3
        close = np.vstack([arms, [1, 3 + 1e-10]]) * [size, 1]
        assert len(Problem(close, eps=0).answers) == 4
        equal = np.vstack([arms, [1, 3 * (1 + 1e-15)]]) * [size, 1]
        with pytest.raises(errors.DuplicateAnswersError, match="'arm 2' and 'arm 3'"):
            Problem(equal, eps=0)


def test_factorial_effects_have_names():
    problem = Problem.factorial({"a": [1, 2], "b": ["x", "y", "z"]}, [("a", "b")])
    assert problem.feature_names == (
        "intercept",
        "a=2",
        "b=y",
        "b=z",
        "a=2 & b=y",
        "a=2 & b=z",
    )
    for feature, column in zip(problem.feature_names[1:], problem.arms.T[1:], strict=True):
        here = [set(feature.split(" & ")) <= set(name.split(", ")) for name in problem.arm_names]
        assert column.tolist() == here


def test_a_log_has_both_sigma_and_bounds_and_names_only_where_there_are_some():
    named = Problem(E2, bounds=(0, 1), feature_names=["a", "b"])
    again = Problem(**json.loads(json.dumps(problem_data(named))))
    assert (again.feature_names, again.bounds, again.sigma) == (("a", "b"), (0, 1), 0.5)
    assert "feature_names" not in problem_data(Problem(E2))
    assert Problem(**problem_data(Problem(E2))).feature_names == ("x0", "x1")


PATH = [("A", "B"), ("B", "C", 2.0)]


def test_a_graph_is_a_bound_by_its_laplacian():
    problem = Problem.spectral(PATH, 0.5, eps=0.1)
    np.testing.assert_array_equal(problem.roughness, [[1, -1, 0], [-1, 3, -2], [0, -2, 2]])
    assert (problem.arm_names, problem.radius) == (("A", "B", "C"), 0.5)
    np.testing.assert_array_equal(problem.arms, np.eye(3))
    assert problem.in_words.endswith("μᵀPμ ≤ 0.5")
    assert problem.allows(np.array([0.0, 0.5, 0.5]))
    assert not problem.allows(np.array([0.0, 0.5, 1.0]))


@pytest.mark.parametrize(
    "graph",
    [
        [[0, 1, 0], [1, 0, 2], [0, 2, 0]],
        np.array([[0, 1, 0], [1, 0, 2], [0, 2, 0]]),
        {("A", "B"): 1, ("C", "B"): 2.0},
        [["A", "B"], ["B", "C", 2]],
        [(0, 1), (1, 2, 2.0)],
    ],
)
def test_a_graph_in_any_form(graph):
    problem = Problem.spectral(graph, 1.0)
    expected = sorted(np.linalg.eigvalsh(Problem.spectral(PATH, 1.0).roughness))
    assert sorted(np.linalg.eigvalsh(problem.roughness)) == pytest.approx(expected)


def test_nodes_without_edges_are_free():
    problem = Problem.spectral([("A", "B")], 0.1, names=["C", "A", "B"])
    assert problem.arm_names == ("C", "A", "B")
    assert problem.allows(np.array([1e6, 0.0, 0.1]))
    assert not problem.allows(np.array([0.0, 0.0, 1.0]))


@pytest.mark.parametrize(
    ("graph", "words"),
    [
        ([[0, 1], [2, 0]], "symmetric"),
        ([[0, -1], [-1, 0]], "at least 0"),
        ([[1, 1], [1, 0]], "edge to itself"),
        ([(0, 0), (0, 1)], "edge to itself"),
        ([[0, 0], [0, 0]], "no edges"),
        ([[0, 1, 0], [1, 0, 0]], "square"),
        ([("A", "B"), ("B", "A")], "two edges"),
        ([("A",)], "an edge is"),
        ([("A", "B", "much")], "is a number"),
        ([("A", "B", float("nan"))], "finite"),
    ],
)
def test_a_graph_that_is_none(graph, words):
    with pytest.raises(errors.ProblemError, match=words):
        Problem.spectral(graph, 1.0)


@pytest.mark.parametrize(
    ("known", "words"),
    [
        ({"roughness": np.eye(2)}, "has both"),
        ({"radius": 1.0}, "has both"),
        ({"roughness": np.eye(2), "radius": 0.0}, "positive"),
        ({"roughness": np.eye(2), "radius": "much"}, "number"),
        ({"roughness": np.eye(2), "radius": np.inf}, "finite"),
        ({"roughness": np.eye(3), "radius": 1.0}, "2 rows"),
        ({"roughness": np.zeros((2, 2)), "radius": 1.0}, "says nothing"),
        ({"roughness": [[1, 0], [1, 1]], "radius": 1.0}, "symmetric"),
        ({"roughness": [[1, 0], [0, -1]], "radius": 1.0}, "semidefinite.*eigenvalue -1"),
        ({"roughness": [[1, np.nan], [0, 1]], "radius": 1.0}, "nan"),
    ],
)
def test_a_bound_that_is_none(known, words):
    with pytest.raises(errors.ProblemError, match=words):
        Problem(E2, **known)


def test_a_bound_has_the_same_value_in_every_coordinate():
    rng = np.random.default_rng(4)
    half = rng.standard_normal((3, 2))
    problem = Problem(rng.standard_normal((7, 3)), sigma=0.3, roughness=half @ half.T, radius=2.0)
    mu = rng.standard_normal(3)
    known, seen = problem.smoothness, problem.whiten(mu)
    assert seen @ known.matrix @ seen / known.bound == pytest.approx(
        ((mu @ half) ** 2).sum() / 2.0, rel=1e-10
    )
    assert Problem(E2).smoothness is None


def test_of_what_no_arm_sees_nothing_is_known():
    """x2 = x0 + x1 for all arms: the least roughness of all parameters with these values counts."""
    rng = np.random.default_rng(5)
    plane = rng.standard_normal((6, 2))
    half = rng.standard_normal((3, 3))
    rough = half @ half.T
    problem = Problem(
        np.column_stack([plane, plane.sum(axis=1)]), roughness=rough, radius=1.0, eps=0.1
    )
    mu, hidden = rng.standard_normal(3), np.array([1.0, 1.0, -1.0])
    shift = -(hidden @ rough @ mu) / (hidden @ rough @ hidden)
    least = (mu + shift * hidden) @ rough @ (mu + shift * hidden)
    seen = problem.whiten(mu)
    assert seen @ problem.smoothness.matrix @ seen == pytest.approx(least, rel=1e-8)


def test_a_constant_is_taken_away_only_where_the_bound_allows():
    assert Problem.spectral(PATH, 1.0).offset == pytest.approx(1.0)
    assert Problem(np.eye(3), roughness=np.eye(3), radius=1.0).offset is None


def test_a_bound_is_part_of_the_problem():
    problem = Problem.spectral(PATH, 0.5, eps=0.1)
    other = replace(problem, eps=0.2)
    assert (other.radius, other.eps) == (0.5, 0.2)
    np.testing.assert_array_equal(other.roughness, problem.roughness)
    again = Problem(**json.loads(json.dumps(problem_data(problem))))
    np.testing.assert_array_equal(again.roughness, problem.roughness)
    assert again.radius == 0.5
    assert not {"roughness", "radius"} & set(problem_data(Problem(E2)))
    with pytest.raises(ValueError, match="read-only"):
        problem.roughness[0, 0] = 3.0
