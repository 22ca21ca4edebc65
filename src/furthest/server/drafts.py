"""A study that is being made in a browser: what was typed, the question it makes, or why none.

Nothing is kept here: the form holds everything until the study begins.
"""

import csv
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from furthest.display import count
from furthest.errors import (
    DuplicateAnswersError,
    EpsilonError,
    FileError,
    InputError,
    SigmaError,
)
from furthest.numerals import number
from furthest.problem import Problem
from furthest.server.sizes import check_numbers
from furthest.strategy import check_budget, check_level
from furthest.study.ledger import check_name

# What a form may hold.
MOST_CHARACTERS = 1_000_000
MOST_ROWS = 10_000
MOST_COLUMNS = 200

SEPARATORS = "\t;,"

# Decimal commas, in tables whose cells are separated by something else.
DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")

# The first line of a list is none of its names if it is one of these.
HEADINGS = ("name", "names", "option", "options", "arm", "arms")

NAME, FEATURE, CATEGORY, COST, SIGMA, UNUSED = (
    *("name", "number", "category", "cost", "sigma", "unused"),
)

# How results look, and which other fields that needs.
NOISES = {"yes-no": (), "known": ("sigma",), "unknown": (), "bounded": ("low", "high")}

FIELDS: dict[str, str] = {
    "name": "a name for the study",
    "table": "the options",
    "eps": "how much worse than the best is good enough",
    "delta": "the allowed chance of a wrong answer",
    "sigma": "how much results scatter",
    "low": "the lowest possible result",
    "high": "the highest possible result",
    "budget": "the most measurements",
    "spread": "how different the options may be",
    "typical": "a typical value",
}


@dataclass(frozen=True)
class Table:
    """What was pasted or uploaded."""

    header: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def column(self, index: int) -> list[str]:
        """The cells below one heading."""
        return [row[index] for row in self.rows]

    def is_numeric(self, index: int) -> bool:
        """Whether there are numbers only."""
        return all(_is_number(cell) for cell in self.column(index))

    @property
    def heading(self) -> str:
        """By which tables with the same columns are known."""
        return "\t".join(self.header)

    def role(self, index: int) -> str:
        """What a column probably is: names are texts, and all different."""
        firsts = [i for i in range(len(self.header)) if self._may_name(i)]
        if index == (firsts[0] if firsts else None):
            return NAME
        return FEATURE if self.is_numeric(index) else CATEGORY

    def _may_name(self, index: int) -> bool:
        cells = self.column(index)
        return not self.is_numeric(index) and len(set(cells)) == len(cells) and all(cells)


@dataclass
class Draft:
    """What a form says.

    Attributes:
        form: As it was typed.
        errors: By field, what is wrong there.
        missing: Fields that are still empty.
        table: What was pasted, where that is a table.
        problem: The question, if there is one.
        delta: The allowed probability of error.
        budget: How many measurements may be made.
    """

    form: Mapping[str, str]
    errors: dict[str, str] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    table: Table | None = None
    problem: Problem | None = None
    delta: float = 0.0
    budget: int | None = None

    @classmethod
    def of(cls, form: Mapping[str, str]) -> "Draft":
        """Everything that can be made of a form."""
        draft = cls(form)
        draft.table = draft.tried("table", lambda: read_table(draft.text("table")))
        draft.problem = draft._problem()
        percent = draft.number("delta")
        if percent is not None:
            draft.delta = percent / 100
            draft.tried("delta", lambda: check_level(draft.delta))
        draft.budget = draft._budget()
        draft.tried("name", lambda: check_name(draft.text("name")))
        return draft

    @property
    def is_ready(self) -> bool:
        """Whether the study could begin."""
        return self.problem is not None and not self.errors and not self.missing

    @property
    def is_asked(self) -> bool:
        """Whether the question is there, whatever its name is."""
        others = {*self.errors, *self.missing} - {"name"}
        return self.problem is not None and not others

    def text(self, name: str) -> str:
        """A field."""
        return self.form.get(name, "").strip()

    def tried(self, name: str, work: Callable[[], Any]) -> Any:
        """What the work returns; None if the field is empty or does not serve, and why."""
        if not self.text(name):
            self.missing.append(name)
            return None
        try:
            return work()
        except InputError as error:
            self.errors.setdefault(name, str(error))
            return None

    def number(self, name: str) -> float | None:
        """A number that was typed."""
        found: float | None = self.tried(name, lambda: typed(self.text(name)))
        return found

    def _budget(self) -> int | None:
        if not self.text("budget"):
            return None
        amount = self.number("budget")
        whole = None if amount is None or amount % 1 else int(amount)
        self.tried("budget", lambda: check_budget(amount if whole is None else whole))
        return whole

    def _problem(self) -> Problem | None:
        eps, noise = self.number("eps"), self._noise()
        if self.table is None or eps is None or noise is None:
            return None
        question = {"eps": eps, "notion": self.form.get("notion", "additive"), **noise}
        try:
            return self._made(self.table, question)
        except InputError as error:
            self.errors[_field_of(error)] = str(error)
            return None

    def _noise(self) -> dict[str, Any] | None:
        kind = self.form.get("noise", "")
        if kind not in NOISES:
            self.missing.append("noise")
            return None
        values = [self.number(name) for name in NOISES[kind]]
        if None in values:
            return None
        kinds: dict[str, Callable[[], dict[str, Any]]] = {
            "yes-no": lambda: {"noise": "bernoulli"},
            "known": lambda: {"sigma": values[0]},
            "unknown": lambda: {"sigma": None},
            "bounded": lambda: {"bounds": tuple(values)},
        }
        return kinds[kind]()

    def roles(self) -> list[str]:
        """What each column is: as chosen, or as it looks."""
        if self.table is None:
            return []
        # Choices are about the columns that were shown with them.
        chosen = self.form if self.form.get("header") == self.table.heading else {}
        columns = range(len(self.table.header))
        return [chosen.get(f"role-{i}") or self.table.role(i) for i in columns]

    def names(self) -> list[str]:
        """What the options are called; nothing where that is not clear."""
        try:
            return [] if self.table is None else _names(self.table, self.roles())
        except InputError:
            return []

    def _made(self, table: Table, question: dict[str, Any]) -> Problem:
        roles = self.roles()
        names = _names(table, roles)
        for role, entry in ((COST, "costs"), (SIGMA, "sigma")):
            for index in _only(roles, role):
                question[entry] = [
                    _cell_number(cell, table.header[index], row)
                    for row, cell in enumerate(table.column(index), 1)
                ]
        if self.form.get("model", "own") != "features":
            check_numbers(len(names) ** 2)
            return Problem.options(names, **question)
        columns = {
            table.header[i]: _feature(table.column(i), role)
            for i, role in enumerate(roles)
            if role in (FEATURE, CATEGORY)
        }
        if not columns:
            raise FileError("no column is a feature: choose some, or let each option stand alone")
        check_numbers(len(names) * sum(_width(cells) for cells in columns.values()))
        label = "\0"  # no column has this name
        return Problem.from_table({label: names, **columns}, name=label, **question)


def read_table(text: str) -> Table:
    """A table with a header, or a list of names."""
    if len(text) > MOST_CHARACTERS:
        raise FileError(
            f"this has {len(text):,} characters; {MOST_CHARACTERS:,} are taken here. For more use "
            "the command line: furthest study create"
        )
    lines = text.lstrip("\ufeff").strip().splitlines()
    first = lines[0] if lines else ""
    separator = max(SEPARATORS, key=first.count)
    if not first.count(separator):
        return _listed([line.strip() for line in lines if line.strip()])
    try:
        cells = [tuple(map(str.strip, row)) for row in csv.reader(lines, delimiter=separator)]
    except csv.Error as error:
        raise FileError(f"not a table: {error}") from None
    header, *rows = [row for row in cells if any(row)]
    _check(header, rows)
    if separator != ",":
        rows = [tuple(map(_with_point, row)) for row in rows]
    return Table(header, tuple(rows))


def _listed(names: list[str]) -> Table:
    if names and names[0].casefold() in HEADINGS:
        names = names[1:]
    _check_rows(len(names))
    return Table(("name",), tuple((name,) for name in names))


def _check(header: tuple[str, ...], rows: list[tuple[str, ...]]) -> None:
    _check_rows(len(rows))
    if len(header) > MOST_COLUMNS:
        raise FileError(f"there are {len(header):,} columns; {MOST_COLUMNS} are taken here")
    for heading in header:
        if not heading or _is_number(heading):
            raise FileError(f"the first line must name the columns, not {heading or 'nothing'!r}")
        if header.count(heading) > 1:
            raise FileError(f"there are two columns {heading!r}")
    for line, row in enumerate(rows, 1):
        if len(row) != len(header):
            cells = count(len(row), "cell")
            raise FileError(f"row {line} has {cells}, but there are {len(header)} columns")


def _check_rows(rows: int) -> None:
    if rows < 2:
        raise FileError("there must be at least two options to choose from, one per line")
    if rows > MOST_ROWS:
        raise FileError(f"there are {rows:,} rows; {MOST_ROWS:,} are taken here")


def _with_point(cell: str) -> str:
    return cell.replace(",", ".") if DECIMAL_COMMA.fullmatch(cell) else cell


def typed(text: str) -> float:
    """A number as people type it; 0,5 is meant as 0.5."""
    try:
        return number(_with_point(text))
    except ValueError:
        raise InputError(f"a number is needed, not {text[:40]!r}") from None


def _is_number(cell: str) -> bool:
    try:
        return bool(np.isfinite(number(cell)))
    except ValueError:
        return False


def _only(roles: list[str], role: str) -> list[int]:
    """The column of a role that only one can have, if there is one."""
    found = [i for i, each in enumerate(roles) if each == role]
    if len(found) > 1:
        raise FileError(f"{len(found)} columns are chosen for {role}: there can be one only")
    return found


def _names(table: Table, roles: list[str]) -> list[str]:
    for index in _only(roles, NAME):
        names = table.column(index)
        if "" in names:
            raise FileError(f"row {names.index('') + 1} has no name")
        return names
    return [f"row {line}" for line in range(1, len(table.rows) + 1)]


def _feature(cells: list[str], role: str) -> list[Any]:
    if role == CATEGORY:
        return [cell or None for cell in cells]
    return [number(cell) if _is_number(cell) else cell or None for cell in cells]


def _width(cells: list[Any]) -> int:
    """How many features a column becomes: a category has one for each level."""
    return len(set(cells)) if any(isinstance(cell, str) for cell in cells) else 1


def _cell_number(cell: str, column: str, row: int) -> float:
    if not _is_number(cell):
        raise FileError(f"row {row}, column {column!r}: a number is needed, not {cell[:40]!r}")
    return number(cell)


def _field_of(error: InputError) -> str:
    """Where an error about the whole question is shown."""
    if isinstance(error, EpsilonError | DuplicateAnswersError):
        return "eps"
    return "sigma" if isinstance(error, SigmaError) else "table"
