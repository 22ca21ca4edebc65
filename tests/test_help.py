"""help(ft.Study) teaches: its examples run, and every call says what it takes and raises."""

import doctest
import inspect
import pydoc
import re
from pathlib import Path

import pytest
import typer

import furthest as ft
from furthest.cli import app

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
        *(ft.Condition, ft.Expectation, ft.Results, ft.Summary, ft.Sweep, ft.Instance),
        *(ft.Rule, ft.StoppingTest, ft.Guarantee, ft.Score),
    ],
    ids=lambda record: record.__name__,
)
def test_every_field_is_explained(record):
    texts = [inspect.cleandoc(each.__doc__ or "") for each in reversed(record.__mro__)]
    lists = [text.partition("Attributes:")[2] for text in texts]
    explained = re.findall(r"^    (\w+): ", "".join(lists), re.MULTILINE)
    fields = getattr(record, "_fields", None) or tuple(record.__dataclass_fields__)
    assert tuple(explained) == tuple(fields)


def test_the_commands_use_the_words_of_the_glossary():
    """Every Greek letter of a help page is explained there, and so are the main words."""
    page = (Path(__file__).parent.parent / "docs/glossary.md").read_text(encoding="utf-8")
    terms = " ".join(re.findall(r"^(.+)\n: ", page, re.MULTILINE))
    texts = " ".join(help_texts(typer.main.get_command(app)))
    letters = set(re.findall(r"[α-ωΑ-Ω]", texts))
    assert letters >= set("δεμσ")
    assert letters <= set(terms)
    for term in ("arm", "answer", "trial", "certificate", "sampling rule", "stopping rule"):
        assert term in texts.lower()
        assert term in terms


def help_texts(command):
    yield command.help or ""
    for parameter in command.params:
        yield getattr(parameter, "help", None) or ""
    for each in getattr(command, "commands", {}).values():
        yield from help_texts(each)
