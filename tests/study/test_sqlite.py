"""What only SQLite can do wrong."""

import shutil
import sqlite3
from pathlib import Path

import pytest

import furthest as ft
from furthest.errors import StorageError, StudyError
from furthest.study.certificate import verify
from furthest.study.sqlite import SqliteStorage
from furthest.study.storage import open_storage

DATA = Path(__file__).parent.parent / "data"
PROBLEM = ft.Problem([[1, 0], [0, 1]], eps=0.2)


def test_every_commit_is_synced(tmp_path):
    storage = SqliteStorage(str(tmp_path / "a.db"))
    with storage.transaction(write=False) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (2,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    storage.close()


def test_a_full_disk_is_an_error_without_a_trace_and_a_retry_succeeds(tmp_path):
    storage = SqliteStorage(str(tmp_path / "a.db"))
    study = ft.Study.create("a", PROBLEM, storage=storage)
    connection = storage._connection()
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


def test_a_folder_that_does_not_exist(tmp_path):
    with pytest.raises(StudyError, match="there is no folder"):
        ft.Study.load("a", f"sqlite:///{tmp_path}/nowhere/a.db")


def test_a_file_without_permission(tmp_path):
    (tmp_path / "a.db").mkdir()
    with pytest.raises(StorageError, match="unable to open database file"):
        ft.Study.load("a", str_url(tmp_path))


def test_reads_do_not_create_studies(tmp_path):
    with pytest.raises(ft.errors.UnknownStudyError, match="there is none"):
        ft.Study.load("a", str_url(tmp_path))


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
