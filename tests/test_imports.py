"""What importing costs: heavy libraries wait until they are needed."""

import json
from importlib import resources

import pytest

import furthest

HEAVY = (
    *("numba", "scipy", "scipy.stats", "matplotlib", "pyarrow", "pandas", "rich", "typer"),
    *("dask", "distributed"),
)


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


def test_studies_and_their_records_need_no_compiler(python):
    """Errors and records can be named, and results told, where Numba would be slow to load."""
    heavy = {
        "Complexity",
        "complexity",
        "simulate",
        "Expectation",
        "expected_eps",
        "Sweep",
        "sweep",
    }
    names = [name for name in furthest.__all__ if name not in heavy]
    assert {"Study", "Trial", "Measurement", "Status", "Certificate", "AnswerVerdict"} < set(names)
    assert {"Foresight", "FurthestError", "StoppedError", "ContradictionError"} < set(names)
    loaded = loaded_by(python, f"import furthest as ft\nfor name in {names}: getattr(ft, name)")
    assert "furthest.study.study" in loaded
    assert not loaded.intersection({"numba", "scipy", "matplotlib", "rich", "typer"})


def test_every_error_is_public():
    from furthest import errors

    tree = [each for each in vars(errors).values() if isinstance(each, type)]
    assert {each.__name__ for each in tree if issubclass(each, Exception)} < set(furthest.__all__)


def test_simulating_needs_neither_pictures_nor_statistics(python):
    loaded = loaded_by(
        python,
        "import furthest as ft; i = ft.hard(); "
        "ft.simulate(i.problem, i.mu, ft.Strategy('uniform'), runs=1).summary()",
    )
    assert "numba" in loaded
    assert not loaded.intersection(set(HEAVY) - {"numba", "scipy"})


def test_the_command_line_is_light(python):
    assert not loaded_by(python, "import furthest.cli").intersection(
        {*HEAVY, "numpy"} - {"rich", "typer"}
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
