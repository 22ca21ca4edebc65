"""What only a server can do wrong."""

import os
import signal
import subprocess
import sys
from contextlib import suppress

import pytest

import furthest as ft
from furthest.errors import StorageError
from furthest.study import postgres
from furthest.study.chain import chained
from furthest.study.storage import open_storage
from study.problems import TWO, TWO_MU, Lab, run

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
        log.append(chained([lost], study._ledger.head))
        break_connections(server)
        log.read(0, "")
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


@pytest.fixture
def impatient(monkeypatch, postgres_url):
    """A storage that does not wait long for a lock, nor for a silent server."""
    monkeypatch.setattr(postgres, "GRACE", 0.5)
    storage = postgres.PostgresStorage(postgres_url, 0.5)
    yield storage
    storage.close()


NO_ANSWER = "PostgreSQL: no answer within 1 seconds; try again"


def fall_silent(storage):
    """As on a machine that hangs: the server's process neither answers nor goes away."""
    process = storage._open.info.backend_pid
    os.kill(process, signal.SIGSTOP)
    return process


def test_a_server_that_falls_silent_between_two_calls_is_left(impatient):
    study = ft.Study.create("a", PROBLEM, storage=impatient)
    trial = study.ask()
    process = fall_silent(impatient)
    study.tell(trial, 0.5)
    os.kill(process, signal.SIGCONT)
    assert [each.value for each in study.history()] == [0.5]


def test_a_server_that_falls_silent_midway_leaves_no_trace(impatient, postgres_url):
    study = ft.Study.create("a", PROBLEM, storage=impatient)
    trial = study.ask()
    lost = chained([study._event("told", trial.id, trial.arm, 0.75)], study._ledger.head)
    with pytest.raises(StorageError, match=NO_ANSWER), impatient.writing(study._key) as log:
        log.append(lost)
        process = fall_silent(impatient)
        log.read(0, "")
    with pytest.raises(StorageError, match=r"holds the lock; try again; nothing was written"):
        study.tell(trial, 0.5)
    os.kill(process, signal.SIGCONT)
    again = ft.Study.load("a", postgres_url)
    again.tell(trial, 0.5)
    assert [each.value for each in again.history()] == [0.5]
    again.close()


def test_a_server_that_falls_silent_before_it_acknowledges_has_one_result(impatient, postgres_url):
    study = ft.Study.create("a", PROBLEM, storage=impatient)
    trial = study.ask()
    told = chained([study._event("told", trial.id, trial.arm, 0.5)], study._ledger.head)
    with pytest.raises(StorageError, match=NO_ANSWER), impatient.writing(study._key) as log:
        log.append(told)
        process = fall_silent(impatient)
    os.kill(process, signal.SIGCONT)
    again = ft.Study.load("a", postgres_url)
    again.tell(trial, 0.5)
    study.tell(trial, 0.5)
    assert [each.value for each in study.history()] == [0.5]
    again.close()


def test_a_client_that_was_stopped_does_not_keep_the_lock(impatient, postgres_url):
    study = ft.Study.create("a", PROBLEM, storage=impatient)
    other = ft.Study.load("a", postgres_url)
    with (
        pytest.raises(StorageError, match="idle-in-transaction timeout; try again"),
        impatient.writing(study._key) as log,
    ):
        other.add(0, 0.5)  # waits until the server has given up the other one
        log.read(0, "")
    study.add(0, 0.25)
    assert [each.value for each in other.history()] == [0.5, 0.25]
    other.close()


def test_a_transaction_that_the_server_rolls_back_is_not_acknowledged(impatient):
    import psycopg

    study = ft.Study.create("a", PROBLEM, storage=impatient)
    refused = pytest.raises(StorageError, match="had failed; nothing was written")
    with refused, impatient.writing(study._key) as log:
        log.append(chained([study._event("added", "x", 0, 0.5)], study._ledger.head))
        with suppress(psycopg.Error):
            impatient._open.execute("SELECT 1 / 0")
    assert study.history() == []


def test_who_may_only_read_can_look(server, postgres_url):
    import psycopg

    schema = postgres_url.rpartition("%3D")[2]
    looker = f"looker_of_{schema}"
    url = postgres_url.replace("furthest@", f"{looker}@")
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {looker} LOGIN")
        connection.execute(f"GRANT USAGE ON SCHEMA {schema} TO {looker}")
        connection.execute(
            f"ALTER DEFAULT PRIVILEGES IN SCHEMA {schema} GRANT SELECT ON TABLES TO {looker}"
        )
    assert open_storage(url).studies() == {}
    study = ft.Study.create("a", TWO, storage=postgres_url)
    run(study, Lab(TWO, TWO_MU))
    looked = ft.Study.load("a", url)
    assert looked.status() == study.status()
    with pytest.raises(StorageError, match="PostgreSQL: permission denied"):
        looked.add(0, 0.5)
    looked.close()
    study.close()


def test_what_the_url_says_about_the_connection_counts(postgres_url):
    storage = postgres.PostgresStorage(f"{postgres_url}&keepalives_idle=7&application_name=lab")
    storage.studies()
    found = storage._open.info.get_parameters()
    assert (found["keepalives_idle"], found["application_name"]) == ("7", "lab")
    assert found["tcp_user_timeout"] == "30000"
    storage.close()


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
