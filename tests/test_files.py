import gc
import tomllib

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from furthest import errors, files, instances
from furthest.problem import Problem
from strategies import problems

FORMATS = sorted(files.FORMATS)
SAME_FIELDS = ("eps", "notion", "sigma", "bounds", "arm_names", "answer_names", "feature_names")

# Any name that fits on one line.
names = st.text(st.characters(exclude_categories=["Cc", "Cs", "Zl", "Zp"]), min_size=1, max_size=8)

ODD = ["#1", "# x = 1", "c,d", 'e"f', " g ", "nan", "'"]


def assert_same(one, other):
    np.testing.assert_array_equal(one.arms, other.arms)
    np.testing.assert_array_equal(one.answers, other.answers)
    for name in SAME_FIELDS:
        assert getattr(one, name) == getattr(other, name), name


def renamed(problem, some_names, own_answers, feature_names=None):
    """The same problem with names, and with answers of its own or with the arms as answers."""
    count = len(problem.arms)
    options = {"eps": 0.1, "notion": problem.notion, "sigma": problem.sigma}
    if feature_names:
        options["feature_names"] = feature_names[: problem.arms.shape[1]]
    if not own_answers and count > 1:
        return Problem(problem.arms, arm_names=some_names[:count], **options)
    return Problem(
        problem.arms,
        problem.answers,
        arm_names=some_names[:count],
        answer_names=some_names[-len(problem.answers) :],
        **options,
    )


@pytest.mark.parametrize("suffix", FORMATS)
@given(
    problem=problems(),
    some_names=st.lists(names, min_size=7, max_size=7, unique=True),
    own_answers=st.booleans(),
    features=st.none() | st.lists(names, min_size=4, max_size=4, unique=True),
)
@example(problem=Problem(np.eye(2)), some_names=ODD, own_answers=False, features=None)
@example(problem=Problem(np.eye(2)), some_names=ODD, own_answers=True, features=["#1", "c,d"])
@example(problem=Problem(np.eye(2)), some_names=ODD, own_answers=True, features=["name", "role"])
@example(problem=Problem(np.eye(2)), some_names=ODD, own_answers=True, features=["x1", "x0"])
def test_round_trip(suffix, problem, some_names, own_answers, features, tmp_path_factory):
    problem = renamed(problem, some_names, own_answers, features)
    path = tmp_path_factory.mktemp("files") / f"problem{suffix}"
    mu = np.arange(problem.arms.shape[1]) / 3
    files.write_problem(problem, path, mu)
    read = files.read_instance(path)
    assert_same(problem, read.problem)
    np.testing.assert_array_equal(read.truth, mu)
    files.write_problem(problem, path)
    assert files.read_instance(path).mu is None
    assert_same(problem, files.read_problem(str(path)))


@pytest.mark.parametrize("suffix", FORMATS)
@given(values=st.lists(st.floats(-1e300, 1e300, allow_subnormal=False), min_size=4, max_size=4))
def test_numbers_come_back_to_the_last_bit(suffix, values, tmp_path_factory):
    # The values go into μ, which has no range of its own.
    path = tmp_path_factory.mktemp("files") / f"problem{suffix}"
    files.write_problem(Problem(np.eye(4)), path, values)
    np.testing.assert_array_equal(files.read_instance(path).truth, values)


@pytest.mark.parametrize("suffix", FORMATS)
def test_answers_may_be_the_arms_under_other_names(suffix, tmp_path):
    problem = Problem(np.eye(2), arm_names=["a", "b"], answer_names=["x", "y"])
    files.write_problem(problem, tmp_path / f"p{suffix}")
    assert_same(problem, files.read_problem(tmp_path / f"p{suffix}"))


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_name_of_two_lines_is_kept_or_refused(suffix, tmp_path):
    problem = Problem(np.eye(2), arm_names=["a\nb", "c"])
    path = tmp_path / f"p{suffix}"
    try:
        files.write_problem(problem, path)
    except errors.InputError:
        return
    assert_same(problem, files.read_problem(path))


@pytest.mark.parametrize("suffix", [suffix.upper() for suffix in FORMATS])
def test_the_case_of_the_ending_does_not_matter(suffix, tmp_path):
    path = tmp_path / f"p{suffix}"
    files.write_problem(Problem(np.eye(2)), path)
    assert [file.name for file in tmp_path.iterdir()] == [path.name]
    assert_same(Problem(np.eye(2)), files.read_problem(path))


def test_toml_by_hand(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('eps = 0.1\narms = [[1, 0], [0, 1]]\narm_names = ["A", "B"]\nmu = [1, 0]\n')
    found = files.read_instance(path)
    assert found.name == "p.toml"
    assert found.problem.arm_names == ("A", "B")
    assert found.problem.eps == 0.1
    assert found.truth.tolist() == [1.0, 0.0]
    assert tomllib.loads(path.read_text())["eps"] == 0.1


def test_csv_by_hand(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text(
        "\ufeff# eps = 0.1\n# notion = 'multiplicative'\n# mu = [1.0, 0.0]\n"
        "name,role,price,speed\nA,arm,1,0\nB,both,0,1\n\nC,answer,0.5,0.5\n",
        encoding="utf-8",
    )
    found = files.read_instance(path)
    problem = found.problem
    assert problem.arm_names == ("A", "B")
    assert problem.answer_names == ("B", "C")
    assert problem.answers.tolist() == [[0, 1], [0.5, 0.5]]
    assert (problem.eps, problem.notion) == (0.1, "multiplicative")
    assert problem.feature_names == ("price", "speed")
    path.write_text("x,y\n1,0\n0,1\n")
    plain = files.read_problem(path)
    assert plain.arm_names == ("row 1", "row 2")
    assert plain.answers is plain.arms


def test_csv_is_a_table(tmp_path):
    path = tmp_path / "p.csv"
    rows = "name,colour,cost\nA,red,1\nB,green,2\nC,red,4\nD,green,9\n"
    path.write_text(rows)
    problem = files.read_problem(path)
    assert problem.feature_names == ("intercept", "colour=green", "cost")
    assert problem.arms.tolist() == [[1, 0, 1], [1, 1, 2], [1, 0, 4], [1, 1, 9]]
    path.write_text("# intercept = false\n" + rows)
    assert files.read_problem(path).feature_names == ("colour=red", "colour=green", "cost")
    path.write_text("cost,size\n1,2\n2,0\n3,1\n")
    assert files.read_problem(path).feature_names == ("intercept", "cost", "size")
    # The features of what can be measured add up to 1: an intercept would be one too many.
    path.write_text("role,x,y\narm,1,0\narm,0,1\nboth,0.5,0.5\nanswer,1,1\n")
    assert files.read_problem(path).feature_names == ("x", "y")


@pytest.mark.parametrize("suffix", FORMATS)
def test_what_a_table_became_is_read_back(suffix, tmp_path):
    table = {"colour": ["red", "green", "red"], "cost": [1, 2, 4], "intercept": [1, 1, 1]}
    problem = Problem.from_table(table, bounds=(0, 1))
    files.write_problem(problem, tmp_path / f"p{suffix}")
    assert_same(problem, files.read_problem(tmp_path / f"p{suffix}"))


@pytest.mark.parametrize("sigma", [3.0, "3", "unknown"])
@pytest.mark.parametrize("suffix", FORMATS)
def test_bounds_are_not_dropped_for_a_sigma(suffix, sigma, tmp_path):
    path = tmp_path / f"p{suffix}"
    files.write_problem(Problem(np.eye(2), bounds=(0, 1)), path)
    with pytest.raises(errors.SigmaError, match="give one of them"):
        files.find_instance(str(path), sigma=sigma)
    assert files.find_instance(str(path), sigma="0.5").problem.bounds == (0, 1)
    assert files.find_instance(str(path)).problem.bounds == (0, 1)


def test_given_settings_override_the_file(tmp_path):
    path = tmp_path / "p.toml"
    files.write_problem(Problem(np.eye(2), eps=0.1), path, [1, 0])
    found = files.find_instance(
        str(path), eps=0.3, notion="multiplicative", sigma=2.0, mu=[0.0, 1.0]
    )
    problem = found.problem
    assert (problem.eps, problem.notion, problem.sigma) == (0.3, "multiplicative", 2.0)
    assert found.truth.tolist() == [0.0, 1.0]
    assert files.find_instance(str(path)).problem.eps == 0.1


ARMS = "arms = [[1, 0], [0, 1]]\n"
BAD_FILES = [
    ("p.toml", "arms = [[1,", errors.FileError, "not valid TOML"),
    ("p.toml", b"\xff\xfe", errors.FileError, "p.toml"),
    ("p.toml", "", errors.FileError, "no arms"),
    ("p.toml", "eps = 0.1", errors.FileError, "no arms"),
    ("p.toml", ARMS + "epsilon = 0.1", errors.FileError, "did you mean 'eps'"),
    ("p.toml", ARMS + "mu = 'abc'", errors.InputError, "μ|mu"),
    ("p.toml", ARMS + "mu = ['a', 'b']", errors.InputError, "μ|mu"),
    ("p.toml", ARMS + "mu = [[1], [1, 2]]", errors.InputError, "μ|mu"),
    ("p.toml", ARMS + "mu = {a = 1}", errors.InputError, "μ|mu"),
    ("p.toml", ARMS + "arm_names = 3", errors.InputError, "names"),
    ("p.toml", ARMS + "arm_names = [['a'], ['b']]", errors.InputError, "name"),
    ("p.toml", ARMS + "eps = 'x'", errors.EpsilonError, "number"),
    ("p.toml", ARMS + "eps = [0.1]", errors.EpsilonError, "number"),
    ("p.toml", ARMS + "notion = 1", errors.ProblemError, "notion"),
    ("p.toml", ARMS + "notion = ['additive']", errors.ProblemError, "notion"),
    ("p.toml", ARMS + "sigma = 3\nbounds = [0, 1]", errors.SigmaError, "give one of them"),
    ("p.toml", ARMS + "feature_names = ['a']", errors.ShapeError, "2 feature names"),
    ("p.toml", ARMS + "intercept = true", errors.FileError, "unknown entry 'intercept'"),
    ("p.toml", "arms = 'ab'", errors.ShapeError, "arms"),
    ("p.toml", "arms = [[1, 'a'], [0, 1]]", errors.ShapeError, "arms"),
    ("p.csv", "", errors.FileError, "no rows"),
    ("p.csv", "x,y\n", errors.FileError, "no rows"),
    ("p.csv", "name,role\na,arm\nb,arm\n", errors.InputError, "p.csv|arms"),
    ("p.csv", "x,y\n1,a\n0,1\n", errors.FileError, "row 1, column 'y': 'a'"),
    ("p.csv", "x,y\n1,0\n0\n", errors.FileError, "row 2, column 'y'"),
    ("p.csv", "x,y\n1,0\n0,nan\n", errors.FileError, "row 2, column 'y': there is no value"),
    ("p.csv", "x,y\n1,a\n0,\n", errors.FileError, "row 2, column 'y': there is no value"),
    ("p.csv", "x,y\n1,inf\n0,1\n", errors.FileError, "row 1, column 'y': inf"),
    ("p.csv", "# intercept = 1\nx,y\n1,0\n0,1\n", errors.FileError, "true or false"),
    ("p.csv", "x,y\n1,0,5\n0,1\n", errors.FileError, "row 1"),
    ("p.csv", "x,y\n1,0\n0,1,7\n", errors.FileError, "row 2"),
    ("p.csv", "x,x\n1,0\n0,1\n", errors.FileError, "x"),
    ("p.csv", "role,x\nam,1\nboth,0\n", errors.FileError, "did you mean 'arm'"),
    ("p.csv", "role,x\nanswer,1\nanswer,0\n", errors.InputError, "arm"),
    ("p.csv", "# eps =\nx,y\n1,0\n0,1\n", errors.FileError, "not valid TOML"),
    ("p.csv", "# arm_nams = ['a']\nx,y\n1,0\n0,1\n", errors.FileError, "arm_names"),
    ("p.csv", b"x,y\n\xff,1\n", errors.FileError, "p.csv"),
    ("p.npz", "hello", errors.FileError, "NumPy"),
    ("p.npz", b"PK\x03\x04junk", errors.FileError, "NumPy"),
    ("p.npz", b"", errors.FileError, "NumPy"),
    ("p.json", "{}", errors.FileError, "unknown file format '.json'"),
    ("p", "", errors.FileError, "unknown file format ''"),
]


@pytest.fixture
def young():
    """What there is before the test is no garbage: to look at all of it takes half a second."""
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.parametrize(("name", "content", "error", "words"), BAD_FILES)
@pytest.mark.usefixtures("young")
def test_bad_files(name, content, error, words, tmp_path):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(error, match=words) as caught:
        files.read_problem(path)
    assert "\n" not in str(caught.value).strip()
    # An archive left open would be reported now, not in some later test.
    gc.collect()


def test_bad_archives(tmp_path):
    path = tmp_path / "p.npz"
    with path.open("wb") as file:
        np.save(file, np.eye(2))
    with pytest.raises(errors.FileError, match=r"p\.npz"):
        files.read_problem(path)
    np.savez(path, arms=np.array([{"a": 1}]))
    with pytest.raises(errors.FileError, match="NumPy"):
        files.read_problem(path)
    np.savez(path, arms=np.eye(2), mu=np.array(["a", "b"]))
    with pytest.raises(errors.InputError, match=r"μ|mu"):
        files.read_instance(path)
    np.savez(path, arms=np.eye(2), surprise=1)
    with pytest.raises(errors.FileError, match="surprise"):
        files.read_problem(path)


def test_files_that_are_not_there(tmp_path):
    for name in ("p.toml", "p.csv", "p.npz"):
        with pytest.raises(errors.FileError, match="No such file"):
            files.read_problem(tmp_path / name)
    (tmp_path / "d.toml").mkdir()
    with pytest.raises(errors.FileError, match="directory"):
        files.read_problem(tmp_path / "d.toml")
    with pytest.raises(errors.FileError, match="unknown file format"):
        files.write_problem(Problem(np.eye(2)), tmp_path / "p.xlsx")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("hrad", "did you mean 'hard'"),
        ("nothing.toml", "neither a file nor a known instance"),
        ("hard:dd=2", "did you mean 'd'"),
        ("hard:d=two", "d must be"),
        ("hard:d", "d must be"),
        ("random:seed=1.5", "seed must be"),
        ("random:d=0", "d ≥ 1"),
        ("random:arms=1", "arms ≥ 2"),
        ("hard:d=1", "d ≥ 2"),
        ("hard:arms=some", "set of arms"),
        ("random:seed=-1", "seed"),
        ("circle:seed=-1", "seed"),
        ("random:r=nan", "nan"),
        ("hard:r=nan", "nan"),
    ],
)
def test_bad_instances(text, words):
    with pytest.raises(errors.InputError, match=words):
        files.find_instance(text)


def test_parameters_of_generators():
    found = files.find_instance("random:d=3,seed=4,arms=7,r=0.5", eps=0.2, notion="additive")
    expected = instances.random(0.2, "additive", d=3, seed=4, arms=7, r=0.5)
    assert_same(found.problem, expected.problem)
    assert found.name.startswith("random:d=3,seed=4")


def test_options_and_factors_in_a_file(tmp_path):
    path = tmp_path / "p.toml"
    path.write_text('options = ["A", "B"]\nbounds = [0, 1]\n')
    assert files.read_problem(path).arm_names == ("A", "B")
    path.write_text('interactions = [["a", "b"]]\n[factors]\na = [1, 2]\nb = [1, 2]\n')
    assert files.read_problem(path).arms.shape == (4, 4)
    path.write_text('options = ["A", "B"]\narms = [[1]]\n')
    with pytest.raises(errors.FileError, match="both arms and options"):
        files.read_problem(path)
    path.write_text('interactions = [["a", "b"]]\narms = [[1], [2]]\n')
    with pytest.raises(errors.FileError, match="of factors"):
        files.read_problem(path)


@pytest.mark.parametrize("suffix", FORMATS)
def test_a_bound_comes_back(suffix, tmp_path):
    path = tmp_path / f"graph{suffix}"
    problem = Problem.spectral([("A", "B"), ("B", "C", 1 / 3)], 0.1, eps=0.2)
    files.write_problem(problem, path, mu=[0.0, 0.1, 0.2])
    found = files.read_instance(path)
    assert_same(problem, found.problem)
    np.testing.assert_array_equal(found.problem.roughness, problem.roughness)
    assert found.problem.radius == 0.1


def test_a_graph_in_a_file(tmp_path):
    path = tmp_path / "graph.toml"
    path.write_text('graph = [["A", "B"], ["B", "C", 2.0]]\nradius = 0.5\neps = 0.1\n')
    problem = files.read_problem(path)
    assert (problem.arm_names, problem.radius) == (("A", "B", "C"), 0.5)
    path.write_text('graph = [["A", "B"]]\n')
    with pytest.raises(errors.FileError, match="a graph has a radius"):
        files.read_problem(path)
