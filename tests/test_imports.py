"""What importing costs: heavy libraries wait until they are needed."""

import json
from importlib import resources

import pytest

import furthest

HEAVY = ("numba", "scipy", "scipy.stats", "matplotlib", "pyarrow", "pandas", "rich", "typer")


def loaded_by(python, statement):
    script = f"import sys, json\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    process = python("-c", script)
    assert process.returncode == 0, process.stderr
    return set(json.loads(process.stdout))


def test_the_package_itself_is_light(python):
    assert not loaded_by(python, "import furthest").intersection({*HEAVY, "numpy"})


def test_asking_a_question_needs_no_compiler(python):
    loaded = loaded_by(
        python, "import furthest as ft; ft.Problem([[1, 0], [0, 1]]); ft.hard(); ft.Strategy()"
    )
    assert "furthest.problem" in loaded
    assert not loaded.intersection({"numba", "scipy.stats", "matplotlib"})


def test_simulating_needs_neither_pictures_nor_statistics(python):
    loaded = loaded_by(
        python,
        "import furthest as ft; i = ft.hard(); "
        "ft.simulate(i.problem, i.mu, ft.Strategy('uniform'), runs=1).summary()",
    )
    assert "numba" in loaded
    assert not loaded.intersection({"scipy.stats", "matplotlib", "pyarrow", "rich", "typer"})


def test_the_command_line_is_light(python):
    assert not loaded_by(python, "import furthest.cli").intersection(
        {"numba", "numpy", "scipy", "scipy.stats", "matplotlib"}
    )


@pytest.mark.parametrize("name", furthest.__all__)
def test_every_public_name_resolves(name):
    thing = getattr(furthest, name)
    assert callable(thing)
    assert thing.__doc__
    assert name in dir(furthest)


def test_names():
    assert sorted(furthest.__all__) == furthest.__all__
    assert set(furthest.__all__) == set(furthest._HOMES)
    assert furthest.__version__.count(".") == 2
    with pytest.raises(AttributeError, match="no attribute 'simulat'"):
        _ = furthest.simulat
    assert not hasattr(furthest, "nothing")


def test_it_is_typed():
    assert resources.files("furthest").joinpath("py.typed").is_file()
