"""Storages for the tests: a SQLite file, a PostgreSQL server, and a server of our own."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from served import TOKEN, Served, served
from servers import Server, new_place, new_schema


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """A process with files behind it."""
    for package in ("websockets", "starlette", "uvicorn"):
        pytest.importorskip(package, reason=f"{package} is not installed: the extra serve")
    with served(tmp_path_factory.mktemp("served")) as process:
        yield process


@pytest.fixture(scope="session")
def postgres_service(
    server: Server, tmp_path_factory: pytest.TempPathFactory, service: Served
) -> Iterator[Served]:
    """A process with the PostgreSQL server behind it."""
    with served(tmp_path_factory.mktemp("served"), server.url("PLACE")) as process:
        yield process


@pytest.fixture
def token(monkeypatch: pytest.MonkeyPatch) -> str:
    """What the servers ask for, where clients look for it."""
    monkeypatch.setenv("FURTHEST_TOKEN", TOKEN)
    return TOKEN


@pytest.fixture
def http_url(service: Served, token: str) -> str:
    """An empty place of a server, in a file."""
    return service.url(new_place("file"))


@pytest.fixture
def http_postgres_url(server: Server, postgres_service: Served, token: str) -> str:
    """An empty place of a server, on PostgreSQL."""
    return postgres_service.url(new_schema(server))


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An empty place in a file."""
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty place of each kind: what runs on it runs unchanged on both."""
    return request.getfixturevalue(f"{request.param}_url")
