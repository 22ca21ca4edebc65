"""The page that leads from the paper to the code is complete, and up to date."""

import re
import tomllib
from pathlib import Path

import pytest

from furthest.paper.entries import ENTRIES
from furthest.paper.remarks import MISPRINTS

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "paper_map.py"

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


def test_the_list_has_everything_that_is_numbered():
    listed = tomllib.loads((ROOT / "docs/paper-map.toml").read_text(encoding="utf-8"))
    counts = {"": 0, "2": 3, "3": 1, "4": 1, "C": 7, "D": 1, "E": 25}
    for section, most in counts.items():
        numbers = [
            re.fullmatch(rf"(?:Theorem|Lemma|Definition) {section}\.(\d+)", n) for n in listed
        ]
        assert sorted(int(n[1]) for n in numbers if n) == [*range(1, most + 1)]
    figures = {f"figure-{n}" for n in range(1, 11)} | {f"table-{n}" for n in range(1, 9)}
    assert figures == {n.lower().replace(" ", "-") for n in listed if re.match("Figure|Table", n)}
    # What is reproduced is what is not a list of symbols.
    shown = {n.lower().replace(" ", "-") for n, about in listed.items() if "none" not in about}
    assert figures & shown == figures & set(ENTRIES)
    equations = [range(int(n[1]), int(n[2] or n[1]) + 1) for n in map(EQUATIONS.match, listed) if n]
    assert [n for numbers in equations for n in numbers] == [*range(1, 25)]
    assert {about["misprint"] for about in listed.values() if "misprint" in about} == {
        misprint.what for misprint in MISPRINTS
    }


EQUATIONS = re.compile(r"Equations? (\d+)(?: (?:to|and) (\d+))?$")


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
