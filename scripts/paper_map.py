"""Where each item of the paper is in the code, and what tests it: writes docs/paper-map.md.

    python scripts/paper_map.py [--check] [--root FOLDER]

Docstrings name items of docs/paper-map.toml in a last paragraph, `Paper: Lemma 3.1, Equation 5.`
It is an error if an item has no function or no test, or if a docstring names an item that there is
not. What --check does: scripts/mapping.py.
"""

import re
import tomllib
from collections.abc import Iterator
from itertools import groupby
from pathlib import Path
from typing import NamedTuple

from mapping import main, of_file, row, words  # type: ignore[import-not-found]

from furthest.paper.remarks import MISPRINTS

NAMED = re.compile(r"^Paper: (.+?)\.$", re.MULTILINE | re.DOTALL)

HEAD = """# From the paper to the code

<!-- Made by scripts/paper_map.py from docs/paper-map.toml and the docstrings: edit those. -->

Jourdan & Degenne (2022), "Choosing Answers in ε-Best-Answer Identification for Linear Bandits": its
definitions, equations, lemmas, theorems, algorithms, tables and figures in words of ours, with the
function that implements each and the test that checks it. Items without a number have names of
ours. What the paper's text says about its experiments is checked in the
[reproduction](reproduction.md#statements-of-the-text).
"""
COLUMNS = "| in the paper | in `furthest` | checked by, in `tests` |\n|---|---|---|"
NONE = """
## Without a counterpart

Proofs are not programs. What they prove is checked where it says something about what runs.

| in the paper | why nothing goes with it |
|---|---|"""
PRINT = """
## Where the print is wrong

What is printed, and what must be meant.

| item | what is wrong |
|---|---|"""


class Item(NamedTuple):
    """A piece of the paper; see docs/paper-map.toml."""

    name: str
    section: str
    title: str
    none: str = ""
    misprint: str = ""
    print: str = ""


class Place(NamedTuple):
    """A docstring that names items."""

    file: str
    name: str  # of the function or class; empty for the file itself
    items: list[str]

    def __str__(self) -> str:
        return f"{self.file}:{self.name}"


class Map(NamedTuple):
    """The paper's items, and the docstrings that name them."""

    items: list[Item]
    code: list[Place]
    tests: list[Place]


def read(root: Path) -> Map:
    """What there is in the project at `root`."""
    listed = tomllib.loads((root / "docs" / "paper-map.toml").read_text(encoding="utf-8"))
    return Map(
        [Item(name, **about) for name, about in listed.items()],
        [place for path in files(root / "src" / "furthest") for place in places(*path)],
        [place for path in files(root / "tests") for place in places(*path)],
    )


def files(folder: Path) -> Iterator[tuple[Path, str]]:
    """Modules, and what they are called on the page."""
    for path in sorted(folder.rglob("*.py")):
        name = path.relative_to(folder).as_posix()
        if folder.name != "tests":
            name = name.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
        yield path, name


def places(path: Path, name: str) -> Iterator[Place]:
    """The docstrings of a file that name items."""
    for where, docstring in of_file(path):
        if found := NAMED.findall(docstring):
            yield Place(name, where, re.sub(r"\s+", " ", ", ".join(found)).split(", "))


def naming(item: Item, found: list[Place]) -> list[Place]:
    """Where the item is named."""
    return [place for place in found if item.name in place.items]


def problems(paper: Map) -> Iterator[str]:
    """What is amiss, one sentence each."""
    known = {item.name for item in paper.items}
    for place in paper.code + paper.tests:
        for name in set(place.items) - known:
            yield f"{place} names {name!r}, which is not in docs/paper-map.toml"
    for place in paper.tests:
        if not place.name.startswith("test_"):
            yield f"{place} names an item of the paper, and is no test"
    misprints = {misprint.what for misprint in MISPRINTS}
    for item in paper.items:
        for kind, found in (("function", paper.code), ("test", paper.tests)):
            there = naming(item, found)
            if not (there or item.none):
                yield f"{item.name} has no {kind}: no docstring says `Paper: {item.name}.`"
            if there and item.none:
                yield f"{item.name} is said to have no counterpart, and has a {kind}: {there[0]}"
        if item.misprint and item.misprint not in misprints:
            yield f"{item.name}: no misprint is called {item.misprint!r}"


def told(item: Item) -> str:
    """An item in a cell."""
    return f"**{item.name}.** {item.title} (§ {item.section})"


def code(place: Place) -> str:
    """A function on the page."""
    return f"`{place.name}` in `{place.file}`" if place.name else f"`{place.file}`"


def sections(paper: Map) -> Iterator[str]:
    """A table for every section of the paper that has something to show."""
    shown = [item for item in paper.items if not item.none]
    for section, items in groupby(shown, lambda item: item.section.partition(".")[0]):
        yield f"\n## {'Section' if section.isdigit() else 'Appendix'} {section}\n\n{COLUMNS}"
        for item in items:
            functions = "<br>".join(map(code, naming(item, paper.code)))
            tests = "<br>".join(words(*place[:2]) for place in naming(item, paper.tests))
            yield row(told(item), functions, tests)


def slips(paper: Map) -> Iterator[str]:
    """What is wrong in the print, by item."""
    why = {misprint.what: misprint.why for misprint in MISPRINTS}
    for item in paper.items:
        if item.misprint in why:
            yield row(item.name, f"{item.misprint}: {why[item.misprint]}")
        if item.print:
            yield row(item.name, item.print)


def page(paper: Map) -> str:
    """The whole page."""
    lines = [HEAD.rstrip(), *sections(paper), NONE]
    lines += [row(told(item), item.none) for item in paper.items if item.none]
    return "\n".join([*lines, PRINT, *slips(paper), ""])


def made(root: Path) -> tuple[str, list[str]]:
    """The page, and what is amiss."""
    paper = read(root)
    return page(paper), list(problems(paper))


if __name__ == "__main__":
    main(__doc__, "paper-map.md", made)
