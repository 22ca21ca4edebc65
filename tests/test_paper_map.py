"""The page that leads from the paper to the code is complete, and up to date."""

import re
import tomllib
from pathlib import Path

import pytest

from furthest.paper.entries import ENTRIES
from furthest.paper.remarks import MISPRINTS

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "paper_map.py"
EQUATIONS = re.compile(r"Equations? (\d+)(?: (?:to|and) (\d+))?$")

ITEMS = """
["Lemma 1"]
section = "1.2"
title = "Something"

["old rule"]
section = "A"
title = "Something else"
none = "nobody uses it"
"""
CODE = '''
class Rule:
    def choose(self):
        """As it is told.

        Paper: Lemma 1.
        """
'''
TEST = '''
def test_it_works():
    """Paper: Lemma 1."""
'''


def test_every_item_has_a_function_and_a_test_and_the_page_says_which(python):
    process = python(SCRIPT, "--check")
    assert (process.returncode, process.stderr) == (0, "")


@pytest.fixture(scope="module")
def listed():
    """The paper's items."""
    return tomllib.loads((ROOT / "docs/paper-map.toml").read_text(encoding="utf-8"))


def test_every_statement_is_listed(listed):
    # They share a count per section.
    for section, most in {"2": 3, "3": 1, "4": 1, "C": 7, "D": 1, "E": 25}.items():
        found = [re.match(rf"(?:Theorem|Lemma|Definition) {section}\.(\d+)$", n) for n in listed]
        assert [int(each[1]) for each in found if each] == [*range(1, most + 1)]


def test_every_equation_is_listed(listed):
    ends = [(each[1], each[2] or each[1]) for each in map(EQUATIONS.match, listed) if each]
    numbers = [n for first, last in ends for n in range(int(first), int(last) + 1)]
    assert sorted(numbers) == [*range(1, 25)]


def test_every_table_and_figure_is_listed_and_reproduced_unless_it_lists_symbols(listed):
    named = {name.lower().replace(" ", "-"): about for name, about in listed.items()}
    printed = {f"figure-{n}" for n in range(1, 11)} | {f"table-{n}" for n in range(1, 9)}
    assert printed <= set(named)
    assert printed & set(ENTRIES) == {name for name in printed if "none" not in named[name]}


def test_every_misprint_has_its_place(listed):
    found = {about["misprint"] for about in listed.values() if "misprint" in about}
    assert found == {misprint.what for misprint in MISPRINTS}


@pytest.fixture
def project(tmp_path):
    """A small one, with a page."""
    for name, text in (
        ("docs/paper-map.toml", ITEMS),
        ("src/furthest/rules/__init__.py", CODE),
        ("tests/rules/test_rule.py", TEST),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def check(python, project, *flags):
    process = python(SCRIPT, "--root", project, *flags)
    return process.returncode, process.stderr.splitlines()


def test_a_page(python, project):
    assert check(python, project) == (0, [])
    assert check(python, project, "--check") == (0, [])
    page = (project / "docs/paper-map.md").read_text(encoding="utf-8")
    lines = [line for line in page.splitlines() if line.startswith("| **")]
    test = "`rules/test_rule.py`: it works"
    assert lines == [
        f"| **Lemma 1.** Something (§ 1.2) | `Rule.choose` in `rules` | {test} |",
        "| **old rule.** Something else (§ A) | nobody uses it |",
    ]


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("src/furthest/rules/__init__.py", "Paper: ", "", "Lemma 1 has no function"),
        ("tests/rules/test_rule.py", "Paper: ", "", "Lemma 1 has no test"),
        (
            "tests/rules/test_rule.py",
            "Lemma 1",
            "Lemma 1, Lemma 9",
            "test_it_works names 'Lemma 9'",
        ),
        ("tests/rules/test_rule.py", "Lemma 1", "Lemma 1,\n    old rule", "and has a test"),
        (
            "tests/rules/test_rule.py",
            "test_it_works",
            "test_it",
            "docs/paper-map.md is not up to date",
        ),
        ("tests/rules/test_rule.py", "test_it", "it", "it_works names an item of the paper"),
        ("docs/paper-map.toml", 'title = "S', "misprint = 'x'\ntitle = \"S", "is called 'x'"),
    ],
)
def test_what_is_missing_is_named(python, project, file, before, after, words):
    assert check(python, project) == (0, [])
    path = project / file
    path.write_text(path.read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8")
    code, errors = check(python, project, "--check")
    assert code == 1
    assert any(words in error for error in errors), errors
