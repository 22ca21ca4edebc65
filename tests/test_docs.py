"""Every block of code in the documentation runs.

Python blocks of a page run in order in one namespace; so do the shell blocks, in a real shell. What
a reader has to bring along is in a comment of the page, `<!-- test: … -->`, or in the folder below.
A page that needs packages of its own names them at its top, `<!-- needs: … -->`, and is skipped
where they are not installed.
"""

import importlib.util
import os
import re
import socket
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import NamedTuple

import pytest

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(ROOT.glob("docs/**/*.md"))]
NAMES = [str(path.relative_to(ROOT)) for path in PAGES]

# Neither is run: the page, how the block begins, and why.
NOT_RUN = {
    ("README.md", "make demo"): "sets up an environment; its parts are run by other tests",
}
# Run by tests/adapters/test_page.py, where the packages are that it needs.
ELSEWHERE = {"docs/adapters.md"}
# What stands on the page takes long; the same with small numbers does not.
QUICKER = {
    "--runs 5000": "--runs 20",
    "furthest compare hard": "furthest compare hard --runs 20",
    "furthest plan problem.toml": "furthest plan problem.toml --runs 20",
    "furthest compile --all": "furthest compile uniform",  # all: test_compiling.py
    "furthest reproduce all": "furthest reproduce table-8 --runs 2",  # all: test_reproduce.py
}
# Where a service is to be found; something else may be there.
PORT = "8000"

LANGUAGES = {"python", "sh", "text"}  # text is shown, not run

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$|^<!-- test: (.*?) -->$", re.MULTILINE | re.DOTALL)

PICTURE = re.compile(r"!\[[^]]*\]\(([^)]*)\)")

NEEDS = re.compile(r"\A<!-- needs: (.*?) -->$", re.MULTILINE)

PROBLEM = """
eps = 0.2
notion = "additive"
sigma = 0.1
arms = [[1, 0], [0, 1]]
"""
GRID = """
instances = ["hard"]
strategies = ["softmin", "uniform"]
runs = 5
"""
# The first arm is the better one, and the noise has never been so small.
MEASURE = """#!/bin/sh
test "$1" = 0 && echo 1.0 || echo 0.2
"""
# One visitor of twenty buys.
SHOP = """#!/bin/sh
echo $(($2 / 20))/$2
"""


class Block(NamedTuple):
    """A block of code, or what a comment adds to the page (which has no language)."""

    line: int
    language: str
    text: str


def blocks(page: str) -> list[Block]:
    """What stands on a page, in its order."""
    text = (ROOT / page).read_text(encoding="utf-8")
    return [
        Block(text.count("\n", 0, found.start()) + 1, "test", found[3])
        if found[3]
        else Block(text.count("\n", 0, found.start()) + 1, found[1], found[2])
        for found in FENCE.finditer(text)
    ]


def is_run(page: str, block: Block) -> bool:
    return not any(
        page == where and block.text.startswith(beginning) for where, beginning in NOT_RUN
    )


def pages_with(*languages: str) -> list[str]:
    return [
        page
        for page in NAMES
        if any(block.language in languages and is_run(page, block) for block in blocks(page))
    ]


@pytest.mark.parametrize("page", NAMES)
def test_every_block_says_what_it_is(page):
    for block in blocks(page):
        assert block.language in {*LANGUAGES, "test"}, f"{page}:{block.line}: {block.language!r}"
    # No fence is overlooked: each block has two.
    fences = (ROOT / page).read_text(encoding="utf-8").count("```")
    assert fences == 2 * sum(block.language != "test" for block in blocks(page))


def test_the_exceptions_are_still_there():
    for page, beginning in NOT_RUN:
        assert any(block.text.startswith(beginning) for block in blocks(page)), (page, beginning)
    shell = "".join(
        block.text for page in NAMES for block in blocks(page) if block.language == "sh"
    )
    for slow in QUICKER:
        assert slow in shell


@pytest.fixture
def port():
    """A free one, where a page has the one that a service has by default."""
    with closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return str(found.getsockname()[1])


def pictures(page: str) -> list[Path]:
    """What a page shows, where it should be."""
    found = PICTURE.findall((ROOT / page).read_text(encoding="utf-8"))
    return [(ROOT / page).parent / name for name in found]


@pytest.mark.parametrize("page", NAMES)
def test_pictures_are_there_and_small(page):
    for picture in pictures(page):
        assert picture.stat().st_size < 200_000, picture


def missing(page: str) -> list[str]:
    """Packages that a page needs and that are not installed; found without importing them."""
    named = NEEDS.match((ROOT / page).read_text(encoding="utf-8"))
    needed = named[1].split(", ") if named else []
    return [package for package in needed if importlib.util.find_spec(package) is None]


def of_an_example(page: str) -> bool:
    """Whether it takes long, and runs where its packages are: `make test-packages`."""
    return page.startswith("docs/examples/")


@pytest.mark.parametrize(
    "page",
    [
        pytest.param(page, marks=[pytest.mark.slow] if of_an_example(page) else [])
        for page in pages_with("python")
        if page not in ELSEWHERE
    ],
)
def test_python(page, tmp_path, monkeypatch, port):
    if lacking := missing(page):
        pytest.skip(f"not installed: {', '.join(lacking)} (pip install --group examples)")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FURTHEST_STORAGE", raising=False)
    run_python(page, port)
    if of_an_example(page):
        drawn = {path.name for path in tmp_path.glob("*.png")}
        assert {path.name for path in pictures(page)} == drawn


def run_python(page, port):
    """What a page has in Python, in one namespace."""
    # Classes and functions of the page belong to a module that nobody can import, as in a script.
    names = {"__name__": "page"}
    for block in blocks(page):
        if block.language in {"python", "test"}:
            # Errors show the line of the page.
            lines = "\n" * (block.line - (block.language == "test"))
            exec(compile(lines + block.text.replace(PORT, port), page, "exec"), names)


@pytest.fixture
def folder(tmp_path):
    """What a reader has at hand: the program, a problem, and something to measure."""
    for name, text in (
        ("bin/furthest", f'#!/bin/sh\nexec "{sys.executable}" -m furthest "$@"\n'),
        ("at/grid.toml", GRID),
        ("at/measure", MEASURE),
        ("at/shop", SHOP),
        ("at/problem.toml", PROBLEM),
    ):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        path.chmod(0o755)
    return tmp_path


@pytest.mark.parametrize("page", pages_with("sh"))
def test_shell(page, folder, port):
    environment = os.environ | {"PATH": f"{folder}/bin:{os.environ['PATH']}", "COLUMNS": "120"}
    environment.pop("FURTHEST_STORAGE", None)
    for block in blocks(page):
        if block.language != "sh" or not is_run(page, block):
            continue
        text = block.text
        for slow, quick in QUICKER.items():
            text = text.replace(slow, quick)
        text = text.replace("furthest serve", f"furthest serve --port {port}").replace(PORT, port)
        done = subprocess.run(
            ["sh", "-e", "-u", "-c", text],
            cwd=folder / "at",
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{page}:{block.line}: {done.stderr}"
        assert done.stdout
        assert "Traceback" not in done.stderr
