"""Problem files: right ones, changed in their bytes, their words or their structure."""

import io
import random
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
from benchmarks.fuzzing import pools
from benchmarks.fuzzing.prepared import write_files
from benchmarks.fuzzing.runner import Case, Line, Outcome

TOKEN = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?|[A-Za-z_]+|\"[^\"\n]*\"|[\[\]{}=,#\n]")
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:e-?\d+)?")
KEYS = (
    *("arms", "answers", "eps", "notion", "sigma", "bounds", "arm_names", "answer_names", "mu"),
    *(
        "feature_names",
        "initial",
        "options",
        "factors",
        "interactions",
        "intercept",
        "name",
        "role",
    ),
)
VALUES = (
    *(
        "3",
        "-1",
        "0",
        "1e400",
        "1e-320",
        "nan",
        "inf",
        "-inf",
        "true",
        '""',
        '"x"',
        "[]",
        "[[]]",
        "{}",
    ),
    *("[1]", "[1, 2]", "[[1]]", "[[1, 2], [3]]", '["a"]', '["a", "a"]', '["a", 1]', "[[1, 'a']]"),
    *(
        "[true, false]",
        "{a = 1}",
        "{a = [1, 2], b = []}",
        "[{a = 1}, {a = 2}]",
        "1979-05-27",
        "07:32:00",
    ),
    *(
        "[[[1, 2]]]",
        "[nan, 1]",
        "[inf, 1]",
        "[[1e308, -1e308], [1e308, 1e308]]",
        "[[0, 0], [0, 0]]",
    ),
    *('["\\u001b[31m", "\\n"]', '["[/red]", "[x"]', f"[{pools.MANY_DIGITS}, 1]", pools.MANY_DIGITS),
    *(
        f"[[{pools.MANY_DIGITS}, 1], [1, 0]]",
        '"unknown"',
        '"multiplicative"',
        "[0, 1]",
        "[1, 0]",
        "[-1]",
    ),
    *(
        "[0.5]",
        "[[0], [1]]",
        '[["a", "b"]]',
        '[["a", ["b"]]]',
        '[[["a"]]]',
        "[[{a = 1}]]",
        "0x10",
        "1_0",
    ),
    *("[[1, 0], [0, 1], [1, 1e-9]]", "[[1, 1], [1, 1.0000000001]]", "[[1e-300, 0], [0, 1]]"),
    *("[[1979-05-27, 1], [1, 0]]", "'''a\nb'''", "[1979-05-27]", "0.999999999999", "5e-324"),
)
ARRAYS: tuple[Callable[[], object], ...] = (
    lambda: np.array([]),
    lambda: np.array(1.0),
    lambda: np.array("x"),
    lambda: np.array(["a", "b"]),
    lambda: np.array([b"a", b"\xff"]),
    lambda: np.eye(3),
    lambda: np.zeros((2, 0)),
    lambda: np.ones((2, 2, 2)),
    lambda: np.array([[1 + 2j, 0], [0, 1]]),
    lambda: np.array([[1, 0], [0, 1]], bool),
    lambda: np.array(["2020-01-01", "2021-01-01"], "datetime64[D]"),
    lambda: np.array([(1, 2.0)], [("a", int), ("b", float)]),
    lambda: np.array([np.nan, np.inf]),
    lambda: np.array([[1e308, 1e308], [-1e308, 1e308]]),
    lambda: np.array([0, 1], np.uint8),
    lambda: np.array([5, -1]),
    lambda: np.array([[1, 0], [0, 1]], np.float16),
    lambda: np.array([[1, 0], [0, 1]], np.longdouble),
    lambda: np.array([1, 0], ">f8"),
)
# A header that promises more than any memory holds.
HUGE = b"\x93NUMPY\x01\x00v\x00" + (
    b"{'descr': '<f8', 'fortran_order': False, 'shape': (999999999999, 999), }".ljust(117) + b"\n"
)


class Files:
    """Valid files of every format, changed."""

    def __init__(self, template: Path) -> None:
        self._names = write_files(template)
        self._files = {name: (template / name).read_bytes() for name in self._names}

    def make(self, rng: random.Random, folder: Path) -> Case:
        """One changed file, and what can be done with it."""
        name = rng.choice(self._names)
        data = self._files[name]
        for _ in range(rng.choices((1, 2, 4), (8, 3, 0.5))[0]):
            data = rng.choice(CHANGES[Path(name).suffix])(data, rng)
        if rng.random() < 0.03:
            name = Path(name).stem + rng.choice((".toml", ".csv", ".npz", ".TOML"))
        (folder / name).write_bytes(data)
        small = ["--sampling", "uniform", "--runs=2", "--max-rounds=200"]
        lines = [
            ["complexity", name],
            [
                "simulate",
                name,
                *small,
                *rng.choice(([], ["--json"], ["--mu", "1,0"], ["--eps", "0.3"])),
            ],
            ["study", "create", "s", name, "--sampling", "uniform"],
        ]
        chosen = lines if rng.random() < 0.1 else [rng.choice(lines)]
        storage = {"FURTHEST_STORAGE": "sqlite:///s.db"}
        found = [Line(words, storage) for words in chosen]
        if "study" in chosen[-1]:
            after = (["study", "show", "s", "--no-foresight"], ["study", "export", "s", "--json"])
            found += [Line(words, storage, follows=True) for words in after]
        return Case(found, partial(_nameless, found))


def _nameless(lines: list[Line], outcomes: list[Outcome]) -> list[str]:
    """What is wrong with a file has to be said with its name."""
    return [
        f"nameless: {outcome.err.strip()}"
        for line, outcome in zip(lines, outcomes, strict=False)
        if "create" in line.words and outcome.code == 2 and line.words[3] not in outcome.err
    ]


def flip_bytes(data: bytes, rng: random.Random) -> bytes:
    """Some bytes are others."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 3, 10))):
        if changed:
            changed[rng.randrange(len(changed))] = rng.randrange(256)
    return bytes(changed)


def cut(data: bytes, rng: random.Random) -> bytes:
    """The end, the beginning or a middle part is missing."""
    one, other = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return rng.choice((data[:one], data[one:], data[:one] + data[other:]))


def repeat(data: bytes, rng: random.Random) -> bytes:
    """A part is there twice, or a hundred times."""
    one, other = sorted(rng.randrange(len(data) + 1) for _ in range(2))
    return data[:one] + data[one:other] * rng.choice((2, 2, 100)) + data[other:]


def insert(data: bytes, rng: random.Random) -> bytes:
    """Somebody's text in between."""
    text = rng.choice(pools.TEXTS + pools.NUMBERS).encode("utf-8", "surrogateescape")
    place = rng.randrange(len(data) + 1)
    return data[:place] + text + data[place:]


def replace_token(data: bytes, rng: random.Random) -> bytes:
    """A word, a number, a text or a bracket is another one."""
    return _replace(TOKEN, data, rng, [*KEYS, *VALUES, *pools.NUMBERS, *'[]{}=,#\n"\\'])


def replace_number(data: bytes, rng: random.Random) -> bytes:
    """A number is another one."""
    return _replace(
        NUMBER, data, rng, [*pools.NUMBERS, "1e-9", "1e9", "1e150", "-1e-150", "1", "0"]
    )


def _replace(what: re.Pattern[bytes], data: bytes, rng: random.Random, by: list[str]) -> bytes:
    places = list(what.finditer(data))
    if not places:
        return data
    place = rng.choice(places)
    new = rng.choice(by).encode("utf-8", "surrogateescape")
    return data[: place.start()] + new + data[place.end() :]


def set_key(data: bytes, rng: random.Random) -> bytes:
    """A key has a value of another kind, or is there twice."""
    key, value = rng.choice(KEYS), rng.choice(VALUES)
    kept = re.sub(rf"^{key} *=.*\n".encode(), b"", data, flags=re.MULTILINE)
    return f"{key} = {value}\n".encode() + (kept if rng.random() < 0.9 else data)


def set_comment(data: bytes, rng: random.Random) -> bytes:
    """The same for the lines above a table."""
    key, value = rng.choice(KEYS), rng.choice(VALUES).replace("\n", " ")
    kept = re.sub(rf"^# *{key} *=.*\n".encode(), b"", data, flags=re.MULTILINE)
    return f"# {key} = {value}\n".encode() + (kept if rng.random() < 0.9 else data)


def grow(data: bytes, rng: random.Random) -> bytes:
    """Deep, wide or long."""
    depth = rng.choice((50, 2000, 100_000))
    kinds = (
        f"deep = {'[' * depth}{']' * depth}\n",
        f"arms = {'[' * depth}1{']' * depth}\n",
        f"options = [{', '.join(f'{chr(34)}o{i}{chr(34)}' for i in range(min(depth, 300)))}]\n",
        f"x = {'{a = ' * depth}1{'}' * depth}\n",
        f"{'.'.join('a' * min(depth, 5000))} = 1\n",
        f"mu = [{'1, ' * depth}1]\n",
        f"initial = [{'0, ' * min(depth, 2000)}0]\n",
        f"{'k' * depth} = 1\n",
    )
    return rng.choice(kinds).encode() + data


def change_rows(data: bytes, rng: random.Random) -> bytes:
    """Rows of a table come twice, shuffled, longer or shorter."""
    rows = data.split(b"\n")
    place = rng.randrange(len(rows))
    match rng.randrange(6):
        case 0:
            rows.insert(place, rows[place])
        case 1:
            rng.shuffle(rows)
        case 2:
            rows[place] += b",1"
        case 3:
            rows[place] = rows[place].rpartition(b",")[0]
        case 4:
            rows = [row + b",\x00" if i == place else row for i, row in enumerate(rows)]
        case _:
            end = rng.choice((b"\r\n", b"\r", b"\n\n", b"\x0b", b";\n"))
            return end.join(rows)
    return b"\n".join(rows)


def change_cell(data: bytes, rng: random.Random) -> bytes:
    """A cell of a table holds something else."""
    rows = [row.split(b",") for row in data.split(b"\n")]
    row = rng.choice(rows)
    cells = [
        *pools.NUMBERS,
        *pools.TEXTS,
        "name",
        "role",
        "arm",
        "answer",
        "both",
        '"',
        "x" * 200_000,
    ]
    row[rng.randrange(len(row))] = rng.choice(cells).encode("utf-8", "surrogateescape")
    return b"\n".join(b",".join(row) for row in rows)


def change_array(data: bytes, rng: random.Random) -> bytes:
    """An archive with another array, one more, one less, or one that is none."""
    try:
        with np.load(io.BytesIO(data)) as archive:
            arrays = {key: archive[key] for key in archive.files}
    except Exception:  # noqa: BLE001  # damaged before
        return flip_bytes(data, rng)
    key = rng.choice([*arrays, *arrays, *KEYS])
    out = io.BytesIO()
    if rng.random() < 0.2:
        arrays.pop(key, None)
    elif rng.random() < 0.8:
        arrays[key] = np.asarray(rng.choice(ARRAYS)())
    else:
        arrays.pop(key, None)
        np.savez(out, allow_pickle=False, **arrays)
        odd = rng.choice((b"", b"\x93NUMPY", HUGE, b"x" * 100, _pickled()))
        with zipfile.ZipFile(out, "a") as archive_file:
            archive_file.writestr(rng.choice((f"{key}.npy", key, "../x.npy", "a/b.npy")), odd)
        return out.getvalue()
    (np.savez_compressed if rng.random() < 0.3 else np.savez)(out, **arrays)
    return out.getvalue()


def _pickled() -> bytes:
    out = io.BytesIO()
    np.save(out, np.array([{}, 1], object), allow_pickle=True)
    return out.getvalue()


BYTES = (flip_bytes, cut, repeat, insert)
WORDS = (replace_token, replace_number, replace_number)
CHANGES: dict[str, tuple[Callable[[bytes, random.Random], bytes], ...]] = {
    ".toml": (*BYTES, *WORDS, *WORDS, *WORDS, *WORDS, set_key, set_key, set_key, grow),
    ".csv": (*BYTES, *WORDS, set_comment, set_comment, change_rows, change_cell, change_cell),
    ".npz": (flip_bytes, flip_bytes, cut, repeat, change_array, change_array, change_array),
}
