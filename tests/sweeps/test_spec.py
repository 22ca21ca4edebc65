import json

import numpy as np
import pytest

import furthest as ft
from furthest.sweeps.cells import key
from furthest.sweeps.spec import read_spec

GOOD = """
instances = ["hard", "pair.toml"]
strategies = ["softmin", { sampling = "lingape", stopping = "glr", threshold = "paper" }]
eps = [0.1, 0.3]
delta = [0.01, 0.1]
runs = 7
seed = 3
"""
PAIR = "arms = [[1, 0], [0, 1]]\nmu = [1.0, 0.5]\nsigma = 0.5\n"


@pytest.fixture
def written(tmp_path):
    """A specification that has been written somewhere, beside a problem file."""
    (tmp_path / "pair.toml").write_text(PAIR)

    def write(text):
        (tmp_path / "grid.toml").write_text(text)
        return tmp_path / "grid.toml"

    return write


def test_the_grid_in_its_order(written):
    spec = read_spec(written(GOOD))
    assert (spec.runs, spec.seed) == (7, 3)
    found = [
        (point.instance.name, point.instance.problem.eps, point.label, point.deltas)
        for point in spec.points
    ]
    # What LinGapE samples depends on δ: its runs serve one δ each.
    cells = [("softmin", (0.1, 0.01)), *(("lingape, glr, paper", (each,)) for each in (0.1, 0.01))]
    assert found == [
        (instance, eps, *cell)
        for instance in ("hard", "pair.toml")
        for eps in (0.1, 0.3)
        for cell in cells
    ]
    assert spec.points[-1].instance.problem.sigma == 0.5
    assert len({key(point, spec.seed) for point in spec.points}) == len(found)


def test_python_has_the_same_keys_and_objects(written):
    from_file = read_spec(written(GOOD))
    pair = ft.Instance("pair.toml", ft.Problem(np.eye(2), sigma=0.5), np.array([1.0, 0.5]))
    lingape = ft.Strategy("lingape", stopping="glr", threshold="paper")
    data = {
        "instances": ["hard", pair],
        "strategies": [ft.Strategy(), {"sampling": "lingape", "stopping": "glr"}],
        "eps": (0.1, 0.3),
        "delta": [0.01, 0.1],
    }
    in_python = read_spec(data | {"strategies": ["softmin", lingape]})
    for ours, theirs in zip(in_python.points, from_file.points, strict=True):
        assert ours.settings() | {"label": ""} == theirs.settings() | {"label": ""}
    assert read_spec(data).points[1].label == "lingape, glr"
    assert in_python.runs == 1000


WRONG = [
    ('strategys = ["lebai"]', "line 1: unknown key 'strategys'; did you mean 'strategies'"),
    ('instances = ["hard"]\neps = ', "not valid TOML"),
    ("", "instances: must be a list of at least one"),
    ('instances = "hard"', "instances: must be a list of at least one"),
    ("instances = [5]", r"line 1: instances\[0\]: must be a text or a table, not 5"),
    ('instances = ["hrad"]', r"line 1: instances\[0\]: .*'hrad' .*did you mean 'hard'"),
    ('instances = ["hard", "hard"]', "'hard' is there twice: give one of them another name"),
    ('instances = [{ instance = "hard", sgima = 1 }]', "unknown key 'sgima'; did you mean 'sigma'"),
    ('instances = [{ name = "x" }]', "instance must be a text"),
    ('instances = [{ instance = "hard", mu = ["a"] }]', r"instances\[0\]: mu must be numbers"),
    ('instances = [{ instance = "hard", mu = [1] }]', r"instances\[0\] .*1"),
    ('instances = [{ instance = "hard", sigma = "tiny" }]', r"instances\[0\]: "),
    ('instances = [{ instance = "hard", notion = "addtive" }]', "did you mean 'additive'"),
    ('instances = ["bare.toml"]', "'bare.toml' has no true parameter: give it a mu"),
]
WRONG_AFTER = [
    ('strategies = ["lebay"]', r"line 2: strategies\[0\]: .*'lebay'; did you mean 'lebai'"),
    ('strategies = [{ samplng = "lebai" }]', "line 2: .*'samplng'; did you mean 'sampling'"),
    ("strategies = [{ sampling = 5 }]", r"strategies\[0\]\.sampling: must be a text, not 5"),
    ('strategies = [{ options = "x" }]', r"strategies\[0\]: options must be names"),
    ('strategies = ["nowhere.rules:MINE"]', r"line 2: strategies\[0\]: .*cannot be found"),
    (
        'strategies = [{ sampling = "fixed", options = { wieghts = 1 } }]',
        r"line 2: instances\[0\] with strategies\[0\]: .*'wieghts'; did you mean 'weights'",
    ),
    ('strategies = ["lebai"]\neps = "much"', "line 3: eps: must be numbers, not 'much'"),
    ('strategies = ["lebai"]\neps = [0.1, 0.1]', "line 3: eps: .*each once"),
    ('strategies = ["lebai"]\neps = 2', r"instances\[0\]: .*ε"),
    ('strategies = ["lebai"]\ndelta = 1.5', "δ must be between 0 and 1"),
    ('strategies = ["lebai"]\nruns = 1.5', "line 3: runs: must be a whole number, 1 or more"),
    ('strategies = ["lebai"]\nseed = true', "line 3: seed: must be a whole number, 0 or more"),
    ('strategies = ["lebai"]\nnoise = [1, 2]', "line 3: noise: must be one number"),
]


@pytest.mark.parametrize(
    ("text", "message"),
    [*WRONG, *((f'instances = ["hard"]\n{text}', message) for text, message in WRONG_AFTER)],
)
def test_what_is_wrong_and_where(written, tmp_path, text, message):
    (tmp_path / "bare.toml").write_text(PAIR.replace("mu", "#"))
    if "strategies" not in text:
        text += '\nstrategies = ["lebai"]'
    with pytest.raises(ft.InputError, match=message) as refused:
        read_spec(written(text))
    assert str(refused.value).startswith(str(tmp_path / "grid.toml"))


def test_a_file_that_is_not_there(tmp_path):
    with pytest.raises(ft.FileError, match=r"nothing\.toml: No such file"):
        read_spec(tmp_path / "nothing.toml")
    (tmp_path / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(ft.FileError, match="not a UTF-8 text"):
        read_spec(tmp_path / "bytes.toml")


def test_a_cell_is_known_by_its_question_and_not_by_its_file(written, tmp_path):
    before = [point.settings() for point in read_spec(written(GOOD)).points]
    assert json.loads(json.dumps(before)) == before
    (tmp_path / "pair.toml").write_text(PAIR + "# no other question\n")
    assert [point.settings() for point in read_spec(written(GOOD)).points] == before
    (tmp_path / "pair.toml").write_text(PAIR.replace("0.5]", "0.6]"))
    after = [point.settings() for point in read_spec(written(GOOD)).points]
    assert after[:6] == before[:6]
    assert all(ours != theirs for ours, theirs in zip(after[6:], before[6:], strict=True))


def test_an_own_rule_is_known_by_its_code(tmp_path, monkeypatch):
    grid = {"instances": ["hard"], "strategies": ["own_place:MINE"]}
    found = []
    for comment in ("", "# edited"):
        folder = tmp_path / f"edit{comment[2:]}"
        folder.mkdir()
        (folder / "own_place.py").write_text(
            f"from furthest.sampling.uniform import RULE\nMINE = RULE\n{comment}\n"
        )
        with monkeypatch.context() as patched:
            patched.syspath_prepend(folder)
            patched.delitem(__import__("sys").modules, "own_place", raising=False)
            found.append(read_spec(grid).points[0].settings())
            __import__("sys").modules.pop("own_place")
    assert found[0] | {"code": ""} == found[1] | {"code": ""}
    assert found[0]["code"] != found[1]["code"]
