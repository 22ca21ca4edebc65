"""What only SQLite can do wrong."""

import ctypes
import os
import shutil
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path

import pytest

import furthest as ft
from furthest.errors import StorageError, StudyError, VerificationError
from furthest.study.certificate import verify
from furthest.study.sqlite import SqliteStorage
from furthest.study.storage import open_storage
from furthest.study.witness import Witness
from study.problems import TWO, TWO_MU, Lab, run

DATA = Path(__file__).parent.parent / "data"
PROBLEM = ft.Problem([[1, 0], [0, 1]], eps=0.2)


def test_every_commit_is_synced(tmp_path):
    storage = SqliteStorage(str(tmp_path / "a.db"))
    with storage.transaction(write=True) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    storage.close()


def test_a_full_disk_is_an_error_without_a_trace_and_a_retry_succeeds(tmp_path):
    storage = SqliteStorage(str(tmp_path / "a.db"))
    study = ft.Study.create("a", PROBLEM, storage=storage)
    connection = storage._connection(write=True)
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages = connection.execute("PRAGMA page_count").fetchone()[0]
    connection.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StorageError, match=r"a\.db: database or disk is full; nothing was written"):
        for _ in range(500):
            study.add(0, 0.5)
    told = len(study.history())
    assert told < 500
    assert len(ft.Study.load("a", str_url(tmp_path)).history()) == told
    with pytest.raises(StorageError, match="full"):
        study.add(1, 0.25)
    connection.execute("PRAGMA max_page_count = 1000000")
    study.add(1, 0.25)
    assert len(study.history()) == told + 1
    assert [event.seq for event in study.events()] == list(range(1, told + 3))
    storage.close()


def str_url(folder):
    return f"sqlite:///{folder}/a.db"


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "a.db").write_text("this is not a database, whatever its name says" * 100)
    with pytest.raises(StorageError, match=r"a\.db: file is not a database"):
        ft.Study.load("a", str_url(tmp_path))


@pytest.mark.parametrize(
    "change",
    [
        *(f"UPDATE furthest_schema SET version = {odd}" for odd in ("'x'", "x'ff'", "-1", "1.5")),
        "UPDATE furthest_schema SET commits = 'x'",
        "UPDATE furthest_schema SET id = x'ff'",
        "DELETE FROM furthest_schema",
        "PRAGMA writable_schema = 1; UPDATE sqlite_master SET sql = 'CREATE TABLE ' || x'ce28'",
    ],
)
def test_tables_that_make_no_sense_are_refused_and_left_alone(tmp_path, change):
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    study.close()
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.executescript(change)
    before = contents(tmp_path)
    for call in (open_storage(str_url(tmp_path)).studies, lambda: study.add(0, 0.5)):
        with pytest.raises(StorageError, match=r"damaged|malformed|can't decode"):
            call()
    assert contents(tmp_path) == before


def test_a_name_that_is_no_text_can_be_shown(tmp_path):
    ft.Study.create("a", PROBLEM, storage=str_url(tmp_path)).close()
    with closing(sqlite3.connect(tmp_path / "a.db")) as database, database:
        database.execute("UPDATE furthest_studies SET name = x'ff'")
    assert list(open_storage(str_url(tmp_path)).studies()) == [r"b'\xff'"]


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(StudyError, match="there is no folder"):
        ft.Study.load("a", f"sqlite:///{tmp_path}/nowhere/a.db")


def test_a_file_without_permission(tmp_path):
    (tmp_path / "a.db").mkdir()
    with pytest.raises(StorageError, match="unable to open database file"):
        ft.Study.load("a", str_url(tmp_path))


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def look(url):
    """All that only looks."""
    storage = open_storage(url)
    for name, key in storage.studies().items():
        storage.read(key)
        study = ft.Study.load(name, storage)
        study.status()
        study.history()
    with pytest.raises(ft.errors.UnknownStudyError):
        ft.Study.load("none of these", storage)
    storage.close()


def test_looking_creates_no_file(tmp_path):
    look(str_url(tmp_path))
    assert contents(tmp_path) == {}


@pytest.mark.parametrize("mode", ["delete", "wal"])
@pytest.mark.parametrize("version", [None, 99])
def test_looking_changes_neither_a_foreign_database_nor_a_newer_one(tmp_path, mode, version):
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute(f"PRAGMA journal_mode = {mode}")
        connection.execute("PRAGMA user_version = 7")
        connection.execute("CREATE TABLE theirs (x)")
        if version:
            connection.execute("CREATE TABLE furthest_schema (version)")
            connection.execute("INSERT INTO furthest_schema VALUES (?)", (version,))
    before = contents(tmp_path)
    if version:
        for call in (look, lambda url: ft.Study.create("a", PROBLEM, storage=url)):
            with pytest.raises(StorageError, match="newer furthest"):
                call(str_url(tmp_path))
    else:
        look(str_url(tmp_path))
    assert contents(tmp_path) == before


def test_an_older_database_is_changed_by_its_first_writer(tmp_path):
    shutil.copy(DATA / "studies-1.db", tmp_path / "a.db")
    before = contents(tmp_path)
    look(str_url(tmp_path))
    assert contents(tmp_path) == before
    study = ft.Study.load(min(open_storage(str_url(tmp_path)).studies()), str_url(tmp_path))
    study.add(0, 0.5)
    study.close()
    assert contents(tmp_path) != before


def test_studies_may_lie_beside_tables_of_others(tmp_path):
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection, connection:
        connection.execute("PRAGMA user_version = 7")
        connection.execute("CREATE TABLE theirs (x)")
    ft.Study.create("a", PROBLEM, storage=str_url(tmp_path)).close()
    with closing(sqlite3.connect(tmp_path / "a.db")) as connection:
        assert connection.execute("PRAGMA user_version").fetchone() == (7,)
        assert connection.execute("SELECT * FROM theirs").fetchall() == []
    assert list(open_storage(str_url(tmp_path)).studies()) == ["a"]


@pytest.mark.parametrize(
    "name", ["a?b.db", "a#b.db", "100%.db", "%41.db", "ä ε.db", "a&mode=ro.db"]
)
def test_names_that_mean_something_in_a_uri(tmp_path, name):
    url = f"sqlite:///{tmp_path}/{name}"
    study = ft.Study.create("a", PROBLEM, storage=url)
    study.add(0, 0.5)
    study.close()
    assert sorted(contents(tmp_path)) == sorted([name, f"{name}-witness"])
    assert len(ft.Study.load("a", url).history()) == 1


def obey_permissions():
    """Of a process that is to begin: even root may do no more than the permissions say."""
    drop_from_bounding_set, override, read_search = 24, 1, 2
    for capability in (override, read_search):
        if ctypes.CDLL(None).prctl(drop_from_bounding_set, capability, 0, 0, 0):
            os._exit(77)


@pytest.fixture
def obedient(tmp_path):
    """Run the command line in a process for which permissions count."""
    if not sys.platform.startswith("linux"):
        pytest.skip("root's powers can be taken away on Linux only")

    def run(*arguments):
        return subprocess.run(
            [sys.executable, "-m", "furthest", "study", *arguments, "--storage", str_url(tmp_path)],
            preexec_fn=obey_permissions if os.getuid() == 0 else None,
            capture_output=True,
            text=True,
            check=False,
        )

    yield run
    tmp_path.chmod(0o755)


@pytest.mark.parametrize("database", [0o444, 0o644])
def test_a_database_in_a_folder_that_cannot_be_written_to(tmp_path, obedient, database):
    study = ft.Study.create("a", TWO, storage=str_url(tmp_path))
    run(study, Lab(TWO, TWO_MU))  # nobody has looked since: the end is not in the log
    study.close()
    before = contents(tmp_path)
    (tmp_path / "a.db").chmod(database)
    tmp_path.chmod(0o555)
    found = [
        obedient(*command)
        for command in (["list"], ["show", "a"], ["verify", "a"], ["export", "a", "--json"])
    ]
    assert [each.stderr for each in found] == [""] * 4
    assert [each.returncode for each in found] == [0] * 4
    assert "the answer is A" in found[1].stdout
    refused = obedient("add", "a", "0", "1.0")
    assert refused.returncode == 1
    assert "a.db: attempt to write a readonly database; nothing was written" in refused.stderr
    assert contents(tmp_path) == before


def test_a_folder_that_cannot_be_written_to_with_a_database_in_two_files(tmp_path, obedient):
    study = ft.Study.create("a", PROBLEM, storage=f"sqlite:///{tmp_path}/live.db")
    study.add(0, 0.5)
    for end in ("", "-wal"):  # a copy of one in use
        shutil.copy(tmp_path / f"live.db{end}", tmp_path / f"a.db{end}")
    study.close()
    tmp_path.chmod(0o555)
    refused = obedient("list")
    assert refused.returncode == 1
    assert (
        "part of the database is still in a.db-wal: copy both files to a folder" in refused.stderr
    )
    tmp_path.chmod(0o755)
    assert obedient("list").returncode == 0


def remove(folder):
    for path in folder.glob("a.db*"):
        path.unlink()


def replace(folder):
    """Another database, with a study of the same name and number."""
    remove(folder)
    ft.Study.create("a", PROBLEM, storage=str_url(folder)).close()


def take_its_log(folder):
    (folder / "a.db-wal").unlink()


@pytest.mark.parametrize("harm", [remove, replace])
def test_a_database_that_is_removed_or_replaced_under_a_live_worker(tmp_path, harm):
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    trial = study.ask()
    harm(tmp_path)
    before = contents(tmp_path)
    for call in (lambda: study.tell(trial, 0.5), study.status) * 2:
        noticed = pytest.raises((StorageError, VerificationError), match=r"was re(moved|placed)")
        with noticed:
            call()
    assert contents(tmp_path).keys() - {"a.db-wal", "a.db-shm"} == before.keys()
    study.close()


@pytest.mark.parametrize("harm", [remove, replace, take_its_log])
def test_a_database_that_is_removed_or_replaced_between_writing_and_telling(tmp_path, harm):
    """Not even then is a result acknowledged that is not there."""
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    trial = study.ask()
    with (
        pytest.raises(StorageError, match="what was just written may be lost: try again"),
        study._writing() as new,
    ):
        new.append(study._event("told", trial.id, trial.arm, 0.5))
        harm(tmp_path)
    if harm is take_its_log:
        study.tell(trial, 0.5)
        assert [each.value for each in ft.Study.load("a", str_url(tmp_path)).history()] == [0.5]
    study.close()


def test_a_file_that_was_put_back_is_used_again(tmp_path):
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    trial = study.ask()
    study.close()
    (tmp_path / "a.db").rename(tmp_path / "b.db")
    with pytest.raises(StorageError, match="bring it back"):
        study.tell(trial, 0.5)
    (tmp_path / "b.db").rename(tmp_path / "a.db")
    study.tell(trial, 0.5)
    assert len(study.history()) == 1
    study.close()


@pytest.fixture
def in_use(tmp_path):
    """A database as a killed process leaves it: its results are in the write-ahead log."""
    (tmp_path / "live").mkdir()
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path / "live"))
    for i in range(50):
        study.add(i % 2, 0.5)
    for end in ("", "-wal", "-witness"):
        shutil.copy(tmp_path / f"live/a.db{end}", tmp_path / f"a.db{end}")
    study.close()
    return tmp_path


def test_a_database_that_nobody_closed_has_everything(in_use):
    assert len(ft.Study.load("a", str_url(in_use)).history()) == 50


def damage(path):
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 1
    path.write_bytes(data)


def cut(path):
    os.truncate(path, path.stat().st_size // 2)


@pytest.mark.parametrize("harm", [damage, cut, Path.unlink])
def test_what_is_lost_with_a_write_ahead_log_is_noticed(in_use, harm):
    """SQLite itself would go on from where the log is still good."""
    live = ft.Study.load("a", str_url(in_use / "live"))
    harm(in_use / "a.db-wal")
    lost = r"the last \d+ acknowledged transactions are missing: .* delete a\.db-witness"
    for _ in range(2):
        with pytest.raises(StorageError, match=lost):
            ft.Study.load("a", str_url(in_use))
        with pytest.raises(StorageError, match=lost):
            ft.Study.create("b", PROBLEM, storage=str_url(in_use))
    (in_use / "a.db-witness").unlink()
    assert len(open_storage(str_url(in_use)).studies()) == (0 if harm is Path.unlink else 1)
    ft.Study.create("b", PROBLEM, storage=str_url(in_use)).close()
    live.close()


def test_an_older_copy_in_the_place_of_a_database_is_noticed(tmp_path):
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    study.add(0, 0.5)
    study.close()
    shutil.copy(tmp_path / "a.db", tmp_path / "yesterday")
    study.add(0, 0.25)
    study.add(1, 0.25)
    study.close()
    shutil.copy(tmp_path / "yesterday", tmp_path / "a.db")
    for call in (study.history, lambda: study.add(0, 0.5)):
        with pytest.raises(StorageError, match="the last 2 acknowledged transactions are missing"):
            call()
    assert contents(tmp_path)["a.db"] == contents(tmp_path)["yesterday"]
    (tmp_path / "a.db-witness").unlink()
    with pytest.raises(VerificationError, match="load the study again"):
        study.add(0, 0.5)
    study = ft.Study.load("a", str_url(tmp_path))
    study.add(0, 0.75)
    assert [each.value for each in study.history()] == [0.5, 0.75]
    study.close()


def noted(folder):
    """How many commits the witness knows of."""
    note = Witness(folder / "a.db").read()
    return note and note.commits


@pytest.mark.parametrize("text", [b"", b"x", b"\xff" * 62, b"a b c", b"0" * 32 + b" 9 00000000\n"])
def test_a_witness_that_makes_no_sense_says_nothing(tmp_path, text):
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    (tmp_path / "a.db-witness").write_bytes(text)
    study.add(0, 0.5)
    assert noted(tmp_path) == 2
    study.close()


def test_a_new_database_under_an_old_name_has_a_new_witness(tmp_path):
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    study.add(0, 0.5)
    study.close()
    (tmp_path / "a.db").unlink()
    look(str_url(tmp_path))
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    assert study.history() == []
    assert noted(tmp_path) == 1
    study.close()


def test_what_changes_nothing_is_no_commit(tmp_path):
    study = ft.Study.create("a", PROBLEM, storage=str_url(tmp_path))
    trial = study.ask()
    for _ in range(3):
        study.tell(trial, 0.5)
    assert noted(tmp_path) == 3
    study.delete()
    assert noted(tmp_path) == 4
    study.close()


def test_the_witness_has_the_permissions_of_the_database(tmp_path):
    storage = SqliteStorage(str(tmp_path / "a.db"))
    (tmp_path / "a.db").touch(0o600)
    (tmp_path / "a.db").chmod(0o660)
    ft.Study.create("a", PROBLEM, storage=storage)
    assert (tmp_path / "a.db-witness").stat().st_mode & 0o777 == 0o660
    storage.close()


def test_a_script_that_closes_nothing_ends_in_silence(tmp_path):
    script = (
        "import furthest as ft\n"
        "problem = ft.Problem.options(['A', 'B'], eps=0.5)\n"
        f"study = ft.Study.create('a', problem, 0.1, 'sqlite:///{tmp_path / 'a.db'}')\n"
        "study.tell(study.ask(), 1.0)\n"
        # The package holds on to something of the script's, which outlives modules then.
        "ft.study.study.kept = lambda: study\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert (done.stdout, done.stderr) == ("", "")


@pytest.mark.parametrize("path", sorted(DATA.glob("studies-*.db")), ids=lambda path: path.stem)
def test_frozen_databases_stay_readable(path, tmp_path):
    """Each has the schema in its name, and beside it a JSON file with its certificates."""
    import json

    copy = tmp_path / "a.db"
    shutil.copy(path, copy)
    expected = json.loads(path.with_suffix(".json").read_text())
    storage = open_storage(f"sqlite:///{copy}")
    assert set(storage.studies()) == set(expected)
    for name, key in storage.studies().items():
        events = storage.read(key)
        # Its words are those of the version that made it.
        found = verify(name, events, expected[name]["certificate"], words=False)
        assert found.measurements == expected[name]["measurements"]
        assert (found.certificate is None) == (expected[name]["certificate"] is None)
        study = ft.Study.load(name, storage)
        before = len(study.history())
        study.add(0, 0.5)
        assert len(study.history()) == before + 1
    storage.close()


def test_there_is_a_frozen_database_of_every_schema():
    from furthest.study.sql import SCHEMA_VERSION

    found = set()
    for path in DATA.glob("studies-*.db"):
        connection = sqlite3.connect(f"file:{path}?immutable=1", uri=True)
        found.add(connection.execute("SELECT version FROM furthest_schema").fetchone()[0])
        connection.close()
    assert found == set(range(1, SCHEMA_VERSION + 1))
