"""Storages for the tests: a SQLite file, and a private PostgreSQL server on a socket."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from servers import Server, binaries, private_server


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    bin_folder = binaries()
    if bin_folder is None:
        pytest.skip("no PostgreSQL server (initdb, pg_ctl, postgres) on this machine")
    pytest.importorskip("psycopg", reason="psycopg is not installed: the extra postgres")
    with private_server(bin_folder) as server:
        yield server


_schemas = iter(range(10**6))


@pytest.fixture
def postgres_url(server: Server) -> str:
    """An empty place on the server."""
    import psycopg

    schema = f"place_{next(_schemas)}"
    with psycopg.connect(server.url("public"), autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {schema}".encode())
    return server.url(schema)


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An empty place in a file."""
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty place of each kind: what runs on it runs unchanged on both."""
    return request.getfixturevalue(f"{request.param}_url")
