"""Storages for the tests: a SQLite file, or a place on a private PostgreSQL server."""

from pathlib import Path

import pytest


@pytest.fixture
def sqlite_url(tmp_path: Path) -> str:
    """An empty place in a file."""
    return f"sqlite:///{tmp_path}/studies.db"


@pytest.fixture(params=["sqlite", "postgres"])
def url(request: pytest.FixtureRequest) -> str:
    """An empty place of each kind: what runs on it runs unchanged on both."""
    return request.getfixturevalue(f"{request.param}_url")
