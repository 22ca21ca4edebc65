import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from furthest import errors, instances, simulate
from furthest.problem import Problem
from furthest.strategy import Strategy
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
    additive = Problem(np.eye(3), eps=0.5)
    assert additive.near_best([1.0, 0.5, 0.25]).tolist() == [True, True, False]
    assert additive.near_best([-1.0, -1.5, -1.75]).tolist() == [True, True, False]
    multiplicative = Problem(np.eye(3), eps=0.5, notion="multiplicative")
    assert multiplicative.near_best([4.0, 2.0, 1.75]).tolist() == [True, True, False]


def test_sigma_may_follow_from_bounds_or_be_unknown():
    # Hoeffding's lemma: a variable within (a, b) is (b − a)/2-sub-Gaussian.
    assert Problem(E2, bounds=(0, 1)).sigma == 0.5
    assert Problem(E2, bounds=(-2.0, 4.0)).sigma == 3.0
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
        problem = Problem.from_table(table, name="model")
        assert problem.arm_names == ("a", "b", "c")
        assert problem.arms.tolist() == [[1, 0], [2, 1], [3, 0]]
    assert Problem.from_table(columns, ["depth", "cost"]).arms[0].tolist() == [0, 1]
    with pytest.raises(errors.ProblemError, match="depth"):
        Problem.from_table(columns, ["dept"])
    with pytest.raises(errors.ShapeError):
        Problem.from_table(columns)  # names are no numbers


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
