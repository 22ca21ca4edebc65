"""What only a server can do wrong."""

import subprocess
import sys

import pytest

import furthest as ft
from furthest.errors import StorageError
from furthest.study.storage import open_storage

PROBLEM = ft.Problem([[1, 0], [0, 1]], eps=0.2)


def break_connections(server):
    """Every other connection of the server dies."""
    import psycopg

    with psycopg.connect(server.url("public"), autocommit=True) as connection:
        connection.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE pid <> pg_backend_pid() AND backend_type = 'client backend'"
        )


def test_a_connection_lost_between_two_calls_is_replaced(server, postgres_url):
    study = ft.Study.create("a", PROBLEM, storage=postgres_url)
    study.add(0, 0.5)
    break_connections(server)
    study.add(0, 0.25)
    assert [each.value for each in study.history()] == [0.5, 0.25]
    study.close()


def test_a_connection_lost_midway_leaves_no_trace_and_a_retry_succeeds(server, postgres_url):
    study = ft.Study.create("a", PROBLEM, storage=postgres_url)
    trial = study.ask()
    lost = study._event("told", trial.id, trial.arm, 0.5)
    broken = pytest.raises(StorageError, match=r"PostgreSQL: .*try again")
    with broken, study._storage.writing(study._key) as log:
        log.append([lost])
        break_connections(server)
        log.read(0)
    assert study.history() == []
    study.tell(trial.id, 0.75)
    assert [each.value for each in study.history()] == [0.75]
    study.close()


def test_a_server_that_went_away_and_came_back(server, postgres_url):
    study = ft.Study.create("a", PROBLEM, storage=postgres_url)
    trial = study.ask()
    study.tell(trial.id, 0.5)
    server.stop()  # as by kill -9: what was acknowledged must be there afterwards
    try:
        with pytest.raises(StorageError, match="PostgreSQL: "):
            study.add(0, 0.25)
    finally:
        server.start()
    assert [each.value for each in study.history()] == [0.5]
    study.add(0, 0.25)
    assert [each.value for each in ft.Study.load("a", postgres_url).history()] == [0.5, 0.25]
    study.close()


def test_nobody_answers():
    storage = open_storage("postgresql://furthest@/x?host=/nonexistent")
    with pytest.raises(StorageError, match="PostgreSQL: "):
        storage.studies()


def test_without_the_extra_the_error_says_what_to_install():
    script = (
        "import sys; sys.modules['psycopg'] = None\n"
        "from furthest.study.storage import open_storage\n"
        "open_storage('postgresql://x/y')"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "MissingExtraError: psycopg is not installed: pip install 'furthest[postgres]'" in (
        done.stderr
    )
