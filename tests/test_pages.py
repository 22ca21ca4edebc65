"""Reference pages are complete: keys, names, conditions, commands and routes are on them."""

import doctest
import inspect
import re
from dataclasses import fields
from importlib import import_module
from pathlib import Path

import pytest

import furthest as ft
from furthest import files
from furthest.cli import rules
from furthest.sweeps import spec

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "furthest"


def page(name):
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def code(text):
    """What stands there as code, word by word."""
    return {word for each in re.findall(r"`([^`\n]+)`", text) for word in (each, *each.split())}


def lacking(names, text):
    return sorted(set(names) - code(text))


def test_every_key_of_a_problem():
    text = page("problems.md")
    columns = {*files.RESERVED, "intercept"}
    assert (
        lacking({*files.FIELDS, *columns}, text.replace("# intercept = false", "intercept")) == []
    )


def test_every_key_of_a_sweep():
    assert lacking({*spec.KEYS, *spec.OF_INSTANCES} - {"instance"}, page("sweep.md")) == []


def test_every_entry_of_a_certificate():
    assert lacking([each.name for each in fields(ft.Certificate)], page("certificate.md")) == []


def test_what_to_do_about_every_condition():
    """Names as they stand in the code, first among the arguments."""
    text = (SOURCE / "study" / "conditions.py").read_text(encoding="utf-8")
    names = re.findall(r'(?:Condition|_judged)\(\s*"([^"]+)"|\bname(?:, needs)? = "([^"]+)"', text)
    found = {one or other for one, other in names}
    assert len(found) == 14
    after = page("certificate.md").partition("## After a warning")[2]
    assert lacking(found, after) == []


def test_every_stopping_rule_has_its_statement_or_is_said_to_have_none():
    catalogue = rules.markdown()
    for axis in ("stopping", "threshold"):
        table = catalogue.partition(f"\n## {axis}\n")[2].partition("\n## ")[0]
        names = re.findall(r"^\| `(\S+)` \|", table, re.MULTILINE)
        assert names
        assert lacking(names, page("proofs.md")) == []


def test_every_public_name():
    shown = page("api.rst")
    for name in ft.__all__:
        thing = getattr(ft, name)
        if not (isinstance(thing, type) and issubclass(thing, Exception | Warning)):
            assert re.search(rf":: furthest\.{name}$", shown, re.MULTILINE), name


def test_everything_to_be_called_has_an_example():
    functions = [name for name in ft.__all__ if inspect.isfunction(getattr(ft, name))]
    assert len(functions) > 8
    for name in (*functions, "Problem", "Strategy", "Study"):
        assert ">>> " in inspect.getdoc(getattr(ft, name)), name


@pytest.mark.parametrize(
    "path",
    [
        path
        for path in sorted(SOURCE.rglob("*.py"))
        if ">>> " in path.read_text(encoding="utf-8") and path.parent.name != "adapters"
    ],
    ids=lambda path: path.stem,
)
def test_examples_of_the_reference_run(path, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FURTHEST_STORAGE", raising=False)
    name = ".".join(path.relative_to(SOURCE.parent).with_suffix("").parts)
    failed, attempted = doctest.testmod(import_module(name))
    assert (failed, attempted > 0) == (0, True)


def test_the_page_of_commands_is_what_help_says(python):
    process = python(ROOT / "scripts" / "commands.py", "--check")
    assert (process.returncode, process.stderr) == (0, "")


def test_every_route_and_every_error_of_the_service():
    pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")
    from furthest.server import api, problems, stream

    text = page("service.md")
    for path in (route.path for route in (*api.router.routes, *stream.router.routes)):  # type: ignore[attr-defined]
        ending = path.rpartition("/")[2].strip("{}")
        assert re.search(rf"/{ending}\b|{ending.upper()}\b", text), path
    assert lacking([kind for _, kind in problems.STATUSES.values()], text) == []
