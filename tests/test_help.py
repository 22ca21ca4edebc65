"""help(ft.Study) teaches: its examples run, and every call says what it takes and raises."""

import doctest
import inspect
import pydoc
import re

import pytest

import furthest as ft

CALLS = ("create", "load", "ask", "tell", "fail", "add", "status", "certificate", "foresight")


@pytest.mark.parametrize("thing", [ft.Study, ft.Problem], ids=lambda thing: thing.__name__)
def test_the_examples_run(thing, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (found,) = doctest.DocTestFinder(recurse=False).find(thing, thing.__name__, globs={})
    assert len(found.examples) > 2
    failed, _ = doctest.DocTestRunner().run(found)
    assert failed == 0


@pytest.mark.parametrize("name", CALLS)
def test_every_call_is_explained(name):
    call = inspect.unwrap(getattr(ft.Study, name))
    text = inspect.getdoc(call)
    arguments = [each for each in inspect.signature(call).parameters if each != "self"]
    for argument in arguments:
        assert re.search(rf"^    {argument}: ", text, re.MULTILINE), argument
    assert "Args:" in text or not arguments
    returns = str(inspect.signature(call).return_annotation) != "None"
    assert ("Returns:" in text) == returns
    for error in re.findall(r"^    (\w+Error): ", text, re.MULTILINE):
        assert issubclass(getattr(ft, error), ft.FurthestError)


def test_the_example_comes_first():
    text = pydoc.render_doc(ft.Study, renderer=pydoc.plaintext)  # type: ignore[attr-defined]
    assert text.index("ft.Study.create(") < text.index("Args:")
    assert "ask(" in text


@pytest.mark.parametrize(
    "record",
    [
        *(ft.Trial, ft.Measurement, ft.Pending, ft.Failure, ft.Event),
        *(ft.AnswerVerdict, ft.Status, ft.Certificate, ft.Conclusion, ft.Foresight, ft.Complexity),
    ],
    ids=lambda record: record.__name__,
)
def test_every_field_is_explained(record):
    texts = [inspect.cleandoc(each.__doc__ or "") for each in reversed(record.__mro__)]
    lists = [text.partition("Attributes:")[2] for text in texts]
    explained = re.findall(r"^    (\w+): ", "".join(lists), re.MULTILINE)
    fields = getattr(record, "_fields", None) or tuple(record.__dataclass_fields__)
    assert tuple(explained) == tuple(fields)
