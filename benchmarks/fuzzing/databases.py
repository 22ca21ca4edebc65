"""Databases and archives: whole ones, damaged by a disk, a crash or a hand.

Whatever is damaged, nothing but the log that was there may be called verified.
"""

import copy
import json
import math
import random
import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks.fuzzing import pools
from benchmarks.fuzzing.prepared import (
    DATA,
    TEXTS,
    copy_database,
    fill,
    fixed_world,
    measure,
    write,
    write_keys,
)
from benchmarks.fuzzing.runner import VERIFY_CODES, Case, Line, Outcome, run_function

import furthest as ft
from furthest.study import archive, documents
from furthest.study.storage import open_storage

PAGE = 4096
VERIFIED = VERIFY_CODES - {1, 2}

# Figures that may differ in their last digits, as from another processor.
FIGURES = {"statistic", "threshold", "estimate"}
SLACK = 1e-6


class Databases:
    """Several databases, their archives and certificates, each case with one of them damaged."""

    def __init__(self, template: Path) -> None:
        self._folders = {name: template / name for name in ("new", "open", "one", "two")}
        for folder in self._folders.values():
            folder.mkdir()
        with fixed_world():
            fill(f"sqlite:///{self._folders['new'] / 's.db'}")
        self._leave_open(self._folders["new"] / "s.db", self._folders["open"])
        shutil.copy(DATA / "studies-1.db", self._folders["one"] / "s.db")
        shutil.copy(DATA / "studies-2.db", self._folders["two"] / "s.db")
        self._logs = {name: _logs(folder / "s.db") for name, folder in self._folders.items()}
        self._archives = template / "archives"
        self._archives.mkdir()
        self._export()
        for name in ("two.toml", "unknown.toml"):  # to warm up with
            (template / name).write_text(TEXTS[name])

    @staticmethod
    def _leave_open(source: Path, folder: Path) -> None:
        """A database as a crash leaves it: the last commits are in its write-ahead log alone."""
        work = folder / "work"
        work.mkdir()
        path = copy_database(source, work)
        with fixed_world(), closing(sqlite3.connect(path)) as connection:
            connection.execute("PRAGMA wal_autocheckpoint = 0")
            connection.execute("SELECT * FROM furthest_studies").fetchall()
            url = f"sqlite:///{path}"
            two = ft.Problem.options(["A", "B"], eps=0.5, sigma=0.3)
            measure(ft.Study.create("late", two, 0.1, url, lease=1e9), [1, 0], 1000, seed=3)
            running = ft.Study.load("running", url)
            for value in (1.0, 0.5, 0.25):
                running.tell(running.ask(), value)
            copy_database(path, folder)
        shutil.rmtree(work)

    def _export(self) -> None:
        url = f"sqlite:///{self._folders['new'] / 's.db'}"
        write_keys(self._archives.parent)
        for name in ("stopped", "running", "told", "unknown"):
            study = ft.Study.load(name, url)
            exported = documents.exported(study)
            write(self._archives / f"{name}.json", exported)
            if name == "told":
                signed = archive.signed(exported, self._archives.parent / "lab")
                write(self._archives / "signed.json", signed)
            if name != "running":
                shown = documents.shown(study, foresight=False)
                write(self._archives / f"{name}-certificate.json", shown["certificate"])

    def make(self, rng: random.Random, folder: Path) -> Case:
        """Damage one thing, then look at it in all ways."""
        if rng.random() < 0.3:
            return self._archive_case(rng, folder)
        kind = rng.choice(("new", "new", "open", "open", "one", "two"))
        path = copy_database(self._folders[kind] / "s.db", folder)
        logs = self._logs[kind]
        name = rng.choice(list(logs))
        ways = [*WHOLE, *EDITS, *EDITS, *([*OPEN] * 3 if kind == "open" else [])]
        damage = rng.choice(ways)
        with suppress(sqlite3.Error):
            if damage in EDITS:
                _edit(EDITS[damage], path, name, rng)
            elif damage == "an older copy":
                self._roll_back(path)
            else:
                (WHOLE | OPEN)[damage](path, rng)
        storage = {"FURTHEST_STORAGE": "sqlite:///s.db"}
        commands = [
            ["study", "verify", name],
            ["study", "list", *rng.choice(([], ["--json"]))],
            ["study", "show", name, "--no-foresight", *rng.choice(([], ["--json"]))],
            ["study", "export", name, "--json"],
            ["study", "ask", name],
        ]
        # Reading must not mend what verifying has to find.
        if rng.random() < 0.5:
            commands[0], commands[1] = commands[1], commands[0]
        lines = [Line(words, storage) for words in commands]
        # Nothing but its own sense protects a log of before the chain.
        fault = "forgery" if kind in ("new", "open") else "unprotected"

        def judge(outcomes: list[Outcome]) -> list[str]:
            if not _is_verified(lines, outcomes):
                return []
            found = _read(path, name)
            # Since then the study was asked for more, at most.
            if found is not None and found[: len(logs[name])] == logs[name]:
                return []
            return [f"{fault}: {kind}, {damage}"]

        return Case(lines, judge)

    def _roll_back(self, path: Path) -> None:
        """The database is that of some time ago; what else lies beside it is not."""
        for file in path.parent.glob(f"{path.name}-*"):
            if file.name.endswith(("-wal", "-shm")):
                file.unlink()
        shutil.copy(self._folders["new"] / path.name, path)

    def _archive_case(self, rng: random.Random, folder: Path) -> Case:
        source = rng.choice(sorted(self._archives.iterdir()))
        original = json.loads(source.read_text())
        name = source.stem.partition("-")[0]
        damage = rng.choice([*DOCUMENTS])
        path = Path(shutil.copy(source, folder / "claim.json"))
        DOCUMENTS[damage](path, rng)
        what = "archive" if "log" in original else "certificate"
        if name == "signed":
            what = "signed archive"
            shutil.copy(self._archives.parent / "lab.pub", folder)
            words = [["study", "verify", "claim.json", "--key", "lab.pub"]]
        elif what == "archive":
            words = [
                ["study", "verify", "claim.json"],
                ["study", "verify", "claim.json", "--facts"],
            ]
        else:
            copy_database(self._folders["new"] / "s.db", folder)
            words = [["study", "verify", name, "--certificate", "claim.json"]]
        lines = [Line(each, {"FURTHEST_STORAGE": "sqlite:///s.db"}) for each in words]

        def judge(outcomes: list[Outcome]) -> list[str]:
            if not _is_verified(lines, outcomes) or _same(json.loads(path.read_text()), original):
                return []
            return [f"forgery: {what}, {damage}"]

        return Case(lines, judge)


def _is_verified(lines: list[Line], outcomes: list[Outcome]) -> bool:
    """Whether the first line that verifies says so."""
    pairs = zip(lines, outcomes, strict=False)
    return next(o.code in VERIFIED for line, o in pairs if "verify" in line.words)


def _logs(path: Path) -> dict[str, list[Any]]:
    """The logs of all studies, from a copy: who closes a database takes its write-ahead log in."""
    folder = path.parent / "copy"
    folder.mkdir()
    storage = open_storage(f"sqlite:///{copy_database(path, folder)}")
    keys = storage.studies()
    found = {name: [list(event) for event in storage.read(key)] for name, key in keys.items()}
    storage.close()
    shutil.rmtree(folder)
    return found


def _read(path: Path, name: str) -> list[Any] | None:
    """The log of a study as the program reads it, from a damaged database."""

    def read() -> None:
        storage = open_storage(f"sqlite:///{path}")
        print(json.dumps([list(event) for event in storage.read(storage.studies()[name])]))

    outcome = run_function(read, path.parent)
    return None if outcome.code else json.loads(outcome.out)


def _same(one: Any, other: Any, key: str = "") -> bool:
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[k], other[k], k) for k in one)
    if isinstance(one, list) and isinstance(other, list):
        pairs = zip(one, other, strict=False)
        return len(one) == len(other) and all(_same(*pair, key) for pair in pairs)
    if key in FIGURES and isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=SLACK, abs_tol=SLACK)
    return bool(one == other) and type(one) is type(other)


Damage = Callable[[Path, random.Random], None]


def _patch(path: Path, change: Callable[[bytearray], Any]) -> None:
    if path.exists():
        data = bytearray(path.read_bytes())
        change(data)
        path.write_bytes(data)


def edit_bytes(path: Path, rng: random.Random) -> None:
    """Some bytes are others."""

    def change(data: bytearray) -> None:
        for _ in range(rng.choice((1, 1, 1, 5, 50))):
            data[rng.randrange(len(data))] ^= 1 << rng.randrange(8)

    _patch(path, change)


def edit_text(path: Path, rng: random.Random) -> None:
    """A digit or letter of a text is another one: no structure breaks."""

    def change(data: bytearray) -> None:
        places = [i for i, byte in enumerate(data) if chr(byte).isalnum() and byte < 128]
        place = rng.choice(places)
        data[place] = ord(rng.choice("0123456789abcdefghijklmnopqrstuvwxyz"))

    _patch(path, change)


def cut_file(path: Path, rng: random.Random) -> None:
    """The end is missing."""
    _patch(path, lambda data: data.__delitem__(slice(rng.randrange(len(data)), None)))


def cut_pages(path: Path, rng: random.Random) -> None:
    """Whole pages are missing at the end."""
    _patch(
        path, lambda data: data.__delitem__(slice(PAGE * rng.randrange(len(data) // PAGE), None))
    )


def zero_page(path: Path, rng: random.Random) -> None:
    """A page is empty."""

    def change(data: bytearray) -> None:
        place = PAGE * rng.randrange(len(data) // PAGE)
        data[place : place + PAGE] = bytes(PAGE)

    _patch(path, change)


def swap_pages(path: Path, rng: random.Random) -> None:
    """Two pages are in each other's place."""

    def change(data: bytearray) -> None:
        one, other = (PAGE * rng.randrange(len(data) // PAGE) for _ in range(2))
        first, second = data[one : one + PAGE], data[other : other + PAGE]
        data[one : one + PAGE], data[other : other + PAGE] = second, first

    _patch(path, change)


def lose_wal(path: Path, _: random.Random) -> None:
    """The write-ahead log is gone."""
    path.with_name(f"{path.name}-wal").unlink(missing_ok=True)


def cut_wal(path: Path, rng: random.Random) -> None:
    """The end of the write-ahead log is missing."""
    cut_file(path.with_name(f"{path.name}-wal"), rng)


def edit_wal(path: Path, rng: random.Random) -> None:
    """Some bytes of the write-ahead log are others."""
    edit_bytes(path.with_name(f"{path.name}-wal"), rng)


def lose_shared_memory(path: Path, rng: random.Random) -> None:
    """The index of the write-ahead log is gone, or damaged."""
    index = path.with_name(f"{path.name}-shm")
    if rng.random() < 0.5:
        index.unlink(missing_ok=True)
    else:
        edit_bytes(index, rng)


def lose_the_rest(path: Path, _: random.Random) -> None:
    """What lies beside the database, and is not SQLite's, is gone."""
    for file in path.parent.glob(f"{path.name}-*"):
        if not file.name.endswith(("-wal", "-shm")):
            file.unlink()


WHOLE: dict[str, Damage] = {
    "bytes": edit_bytes,
    "a letter": edit_text,
    "another letter": edit_text,
    "cut": cut_file,
    "pages cut off": cut_pages,
    "a page of zeros": zero_page,
    "pages swapped": swap_pages,
    "alone": lose_the_rest,
}
OPEN: dict[str, Damage] = {
    "no write-ahead log": lose_wal,
    "write-ahead log cut": cut_wal,
    "bytes of the write-ahead log": edit_wal,
    "index of the write-ahead log": lose_shared_memory,
    "an older copy": lose_the_rest,  # stands for Databases._roll_back
}

COLUMNS = ("seq", "kind", "at", "trial", "arm", "value", "data", "worker", "chain")
ODD_VALUES: list[Any] = [
    *(
        None,
        0,
        1,
        -1,
        0.0,
        0.5,
        10**9,
        2**62,
        -(2**63),
        1e308,
        -1e-300,
        "",
        "x",
        "1",
        "nan",
        b"",
        b"\xff",
    ),
    *(
        "told",
        "asked",
        "failed",
        "added",
        "created",
        "stopped",
        "\x1b[31m",
        "[/red]",
        "{}",
        "[]",
        "null",
    ),
    *(float("inf"), "x" * 100_000, "²", "\n"),
]
ODD_SETTINGS: list[Any] = [
    *(None, 0, 1, -1, 0.5, 1e308, 1e-320, 10**9, 10**400, "", "x", [], {}, True, [1], [[1]], "nan"),
    *(
        [[1, 2], [3]],
        ["a", "a"],
        ["\x1b[31m", "[/x]"],
        float("nan"),
        float("inf"),
        99,
        "lebai",
        "os:path",
    ),
    *(
        {"a": 1},
        [[0.0, 0.0], [0.0, 0.0]],
        [[1e308, 1], [1, 1e308]],
        "os.path:join",
        "fixed",
        "told",
    ),
]


class Log(NamedTuple):
    """The log of a study in the hands of somebody who knows SQL."""

    connection: sqlite3.Connection
    key: int
    seqs: list[int]

    def update(self, change: str, seq: int, *values: Any) -> None:
        """Set columns of one event."""
        query = f"UPDATE furthest_events SET {change} WHERE study = ? AND seq = ?"  # noqa: S608
        self.connection.execute(query, (*values, self.key, seq))


def _edit(
    change: Callable[[Log, random.Random], None], path: Path, name: str, rng: random.Random
) -> None:
    with closing(sqlite3.connect(path)) as connection, connection:
        query = "SELECT key FROM furthest_studies WHERE name = ?"
        (key,) = connection.execute(query, (name,)).fetchone()
        query = "SELECT seq FROM furthest_events WHERE study = ? ORDER BY seq"
        seqs = [seq for (seq,) in connection.execute(query, (key,))]
        change(Log(connection, key, seqs), rng)


def _set_value(log: Log, rng: random.Random) -> None:
    log.update(f"{rng.choice(COLUMNS)} = ?", rng.choice(log.seqs), rng.choice(ODD_VALUES))


def _nudge_value(log: Log, rng: random.Random) -> None:
    ways = ("value = value + 1e-9", "value = value * 2", "at = at + 1", "arm = 1 - arm")
    log.update(rng.choice(ways), rng.choice(log.seqs))


def _delete_events(log: Log, rng: random.Random) -> None:
    first = rng.choice(log.seqs)
    last = rng.choice((first, first + 1, 10**9))
    query = "DELETE FROM furthest_events WHERE study = ? AND seq BETWEEN ? AND ?"
    log.connection.execute(query, (log.key, first, last))


def _close_gap(log: Log, rng: random.Random) -> None:
    """An event is gone and those after it have moved up."""
    first = rng.choice(log.seqs)
    query = "DELETE FROM furthest_events WHERE study = ? AND seq = ?"
    log.connection.execute(query, (log.key, first))
    for seq in log.seqs[log.seqs.index(first) + 1 :]:
        log.update("seq = ?", seq, seq - 1)


def _swap_events(log: Log, rng: random.Random) -> None:
    one = rng.choice(log.seqs)
    other = rng.choice((one + 1, rng.choice(log.seqs)))
    for old, new in ((one, -1), (other, one), (-1, other)):
        log.update("seq = ?", old, new)


def _copy_event(log: Log, rng: random.Random) -> None:
    """An event is there twice: the copy at the end."""
    names = [row[1] for row in log.connection.execute("PRAGMA table_info(furthest_events)")]
    columns = ", ".join(name for name in names if name != "seq")
    log.connection.execute(
        f"INSERT INTO furthest_events (seq, {columns}) SELECT ?, {columns} "  # noqa: S608
        "FROM furthest_events WHERE study = ? AND seq = ?",
        (log.seqs[-1] + 1, log.key, rng.choice(log.seqs)),
    )


def _edit_settings(log: Log, rng: random.Random) -> None:
    query = "SELECT data FROM furthest_events WHERE study = ? AND seq = 1"
    settings = json.loads(log.connection.execute(query, (log.key,)).fetchone()[0])
    log.update("data = ?", 1, json.dumps(_edited(settings, rng, ODD_SETTINGS)))


def _swap_names(log: Log, rng: random.Random) -> None:
    rows = log.connection.execute("SELECT name, key FROM furthest_studies").fetchall()
    mine = next(name for name, key in rows if key == log.key)
    other = rng.choice(rows)[0]
    for old, new in ((mine, "\x1b"), (other, mine), ("\x1b", other)):
        query = "UPDATE furthest_studies SET name = ? WHERE name = ?"
        log.connection.execute(query, (new, old))


def _odd_study(log: Log, rng: random.Random) -> None:
    """The table of studies, whatever its columns are, has an odd value."""
    columns = [row[1] for row in log.connection.execute("PRAGMA table_info(furthest_studies)")]
    log.connection.execute(
        f"UPDATE OR IGNORE furthest_studies SET {rng.choice(columns)} = ? WHERE key = ?",  # noqa: S608
        (rng.choice(ODD_VALUES), log.key),
    )


def _odd_schema(log: Log, rng: random.Random) -> None:
    statements = (
        "UPDATE furthest_schema SET version = 0",
        "UPDATE furthest_schema SET version = 99",
        "UPDATE furthest_schema SET version = -1",
        "UPDATE furthest_schema SET version = 'x'",
        "UPDATE furthest_schema SET version = x'ff'",
        "DELETE FROM furthest_schema",
        "DROP TABLE furthest_schema",
        "DROP TABLE furthest_events",
        "DROP TABLE furthest_studies",
        "ALTER TABLE furthest_events DROP COLUMN data",
        "ALTER TABLE furthest_events RENAME COLUMN kind TO what",
        "INSERT INTO furthest_schema (version) VALUES (1)",
        "DELETE FROM furthest_studies",
        "DELETE FROM furthest_events",
        "UPDATE furthest_events SET study = study + 1",
    )
    log.connection.execute(rng.choice(statements))


EDITS: dict[str, Callable[[Log, random.Random], None]] = {
    "a value": _set_value,
    "another value": _set_value,
    "hardly a value": _nudge_value,
    "events deleted": _delete_events,
    "an event deleted, the others renumbered": _close_gap,
    "events swapped": _swap_events,
    "an event twice": _copy_event,
    "the settings": _edit_settings,
    "other settings": _edit_settings,
    "names swapped": _swap_names,
    "an odd study": _odd_study,
    "an odd schema": _odd_schema,
}


def _edited(document: Any, rng: random.Random, odd: list[Any]) -> Any:
    """One place of a document changed: another value, less, more, or hardly anything."""
    document = copy.deepcopy(document)
    here: Any = None
    key: Any = None
    inner = document
    while isinstance(inner, dict | list) and inner and (here is None or rng.random() < 0.8):
        here, key = inner, rng.choice(list(inner) if isinstance(inner, dict) else range(len(inner)))
        inner = inner[key]
    if here is None:
        return rng.choice(odd)
    match rng.randrange(5):
        case 0:
            del here[key]
        case 1:
            here[key] = [here[key], here[key]]
        case 2 if isinstance(inner, int | float) and not isinstance(inner, bool):
            here[key] = rng.choice((inner + 1, inner * 1.001, -inner, float(inner), inner + 1e-9))
        case 3 if isinstance(inner, str):
            here[key] = rng.choice((inner + " ", inner.upper(), inner[:-1], f"\x1b[31m{inner}"))
        case _:
            here[key] = rng.choice(odd)
    return document


def edit_json(path: Path, rng: random.Random) -> None:
    """One place of the document is another."""
    document = json.loads(path.read_text(encoding="utf-8"))
    path.write_text(json.dumps(_edited(document, rng, ODD_SETTINGS + ODD_TEXTS)), encoding="utf-8")


def deepen(path: Path, rng: random.Random) -> None:
    """Lists in lists in lists."""
    depth = rng.choice((100, 800, 950, 980, 100_000))
    text = path.read_text(encoding="utf-8")
    key = rng.choice(list(json.loads(text)))
    deep = f'{{"{key}": {"[" * depth}{"]" * depth}, '
    path.write_text(deep + text[1:] if rng.random() < 0.5 else text[:-2] + "," + deep[1:-2] + "}")


def swap_rows(path: Path, rng: random.Random) -> None:
    """Two events of the log are in each other's place; or some other list of the document."""
    document = json.loads(path.read_text(encoding="utf-8"))
    lists = [value for value in document.values() if isinstance(value, list) and len(value) > 1]
    rows = document.get("log") or rng.choice(lists or [[1, 2]])
    one, other = (rng.randrange(len(rows)) for _ in range(2))
    rows[one], rows[other] = rows[other], rows[one]
    path.write_text(json.dumps(document), encoding="utf-8")


ODD_TEXTS: list[Any] = [text for text in pools.TEXTS if text.isascii()]
DOCUMENTS: dict[str, Damage] = {
    "a place": edit_json,
    "another place": edit_json,
    "yet another place": edit_json,
    "bytes": edit_bytes,
    "a letter": edit_text,
    "cut": cut_file,
    "rows swapped": swap_rows,
    "deep": deepen,
}
