"""A service on an SQLite file of its own, with nothing in it."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from services import Service, serving


@pytest.fixture(scope="module")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Service]:
    folder: Path = tmp_path_factory.mktemp("service")
    with serving(f"sqlite:///{folder}/studies.db") as found:
        yield found
