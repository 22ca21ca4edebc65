"""Results as people write them: as a word, or as the rows of a CSV file.

    0.73                       one value
    37/1000                    of 1000 yes/no outcomes 37 were yes
    mean=0.41,n=20,sd=0.3      the mean of 20 results, and their standard deviation if it is known

A word may be an argument on the command line, the last line that a measurement command prints, or
beside an id in a CSV file without a header. A file with a header has a column for each field.
"""

import csv
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from furthest.errors import FileError, ValueRefusedError, nearest_name
from furthest.numerals import number
from furthest.study.ledger import RESULT_FIELDS

# No study has numbers of more digits.
DIGITS = re.compile(r"\s*[0-9]{1,15}\s*", re.ASCII)
COUNTS = re.compile(r"\s*([0-9]{1,15})\s*/\s*([0-9]{1,15})\s*", re.ASCII)

# Whose result it is, and when it was measured; `id` is that of a trial, or of an arm's own result.
TEXTS = ("trial", "arm", "id")
WHOLE_NUMBERS = ("successes", "n")
FIELDS = (*TEXTS, *RESULT_FIELDS, "measured_at")

FORMS = "a number, successes/n, or mean=…,n=… and sd=… if it is known"

Fields = dict[str, Any]


def result(word: str) -> Fields:
    """What a word says, as `Study.tell` takes it."""
    counts = COUNTS.fullmatch(word)
    if counts:
        return {"successes": int(counts[1]), "n": int(counts[2])}
    if "=" not in word:
        try:
            return {"value": number(word)}
        except ValueError:
            raise ValueRefusedError(f"a result must be {FORMS}, not {word[:60]!r}") from None
    found = Fields()
    for part in re.split(r"[,\s]+", word.strip()):
        name, _, text = part.partition("=")
        if name not in RESULT_FIELDS or name in found:
            raise ValueRefusedError(f"a result must be {FORMS}, not {word[:60]!r}")
        found[name] = _field(name, text)
    return found


def rows(path: Path) -> list[Fields]:
    """The results in a CSV file, as `Study.tell_many` takes them."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as file:
            table = [(line, row) for line, row in enumerate(csv.reader(file), 1) if any(row)]
    except (OSError, ValueError, csv.Error) as error:
        raise FileError(f"{path}: {error}") from None
    header = [name.strip() for name in table[0][1]] if table else []
    named = not set(header).isdisjoint(FIELDS)
    if named:
        table = table[1:]
        _check_header(header, path)
    found = []
    for line, row in table:
        try:
            found.append(_named(header, row) if named else _unnamed(row))
        except ValueRefusedError as error:
            raise FileError(f"{path}, line {line}: {error}") from None
    return found


def _check_header(header: list[str], path: Path) -> None:
    for name in header:
        if name not in FIELDS or header.count(name) > 1:
            raise FileError(
                f"{path}: there can be no column {name!r}, or no second one; "
                f"{nearest_name(name, FIELDS)}"
            )
    if not {"trial", "arm", "id"} & set(header):
        raise FileError(f"{path}: a column 'id' or 'arm' must say whose results these are")


def _named(header: list[str], row: list[str]) -> Fields:
    if len(row) != len(header):
        raise ValueRefusedError(f"{len(header)} fields are needed, not {len(row)}")
    cells = {name: cell for name, cell in zip(header, row, strict=True) if cell.strip()}
    return _of_trial({name: _field(name, cell) for name, cell in cells.items()})


def _unnamed(row: list[str]) -> Fields:
    if len(row) != 2:
        raise ValueRefusedError(f"an id and a result are needed, or a header, not {row}")
    return {"trial": row[0], **result(row[1])}


def _of_trial(fields: Mapping[str, Any]) -> Fields:
    """Without an arm, `id` is that of a trial."""
    if "arm" in fields or "id" not in fields:
        return dict(fields)
    return {"trial" if name == "id" else name: value for name, value in fields.items()}


def _field(name: str, text: str) -> Any:
    if name in TEXTS:
        return text
    if name in WHOLE_NUMBERS:
        if DIGITS.fullmatch(text):
            return int(text)
        raise ValueRefusedError(f"{name} must be a whole number, not {text[:60]!r}")
    try:
        return number(text)
    except ValueError:
        raise ValueRefusedError(f"{name} must be a number, not {text[:60]!r}") from None
