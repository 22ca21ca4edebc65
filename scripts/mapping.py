"""What scripts share that write a page of docs/ which says by which tests something is shown.

With --check they write nothing: the page must be what would be written. In any case it is an error
if something is amiss.
"""

import argparse
import ast
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def docstrings(
    node: ast.Module | ast.ClassDef | ast.FunctionDef, where: str = ""
) -> Iterator[tuple[str, str]]:
    """All of a module, of its classes and functions, with their names."""
    yield where, ast.get_docstring(node) or ""
    for inner in node.body:
        if isinstance(inner, ast.ClassDef | ast.FunctionDef):
            yield from docstrings(inner, f"{where}.{inner.name}".removeprefix("."))


def of_file(path: Path) -> Iterator[tuple[str, str]]:
    """The docstrings of a file, with the names of what has them."""
    yield from docstrings(ast.parse(path.read_text(encoding="utf-8")))


def words(file: str, name: str) -> str:
    """A test on the page: its file, and its name as the sentence that it is."""
    return f"`{file}`: {name.removeprefix('test_').replace('_', ' ')}"


def row(*cells: str) -> str:
    """A line of a table."""
    return f"| {' | '.join(cells)} |"


def main(description: str | None, name: str, made: Callable[[Path], tuple[str, list[str]]]) -> None:
    """Make a page, and what is amiss, of the project at --root; complain, and write."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--root", type=Path, default=ROOT)
    arguments = parser.parse_args()
    text, amiss = made(arguments.root)
    path = arguments.root / "docs" / name
    if not arguments.check:
        path.write_text(text, encoding="utf-8")
    elif not path.exists() or path.read_text(encoding="utf-8") != text:
        amiss.append(f"docs/{name} is not up to date: python scripts/{Path(sys.argv[0]).name}")
    if amiss:
        sys.exit("\n".join(amiss))
