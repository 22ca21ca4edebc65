"""Fixtures that several test files share."""

import contextlib
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from servers import Server, binaries, new_schema, private_server

settings.register_profile(
    "furthest",
    derandomize=True,
    database=None,
    deadline=None,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("furthest")

Process = subprocess.CompletedProcess[str]


@pytest.fixture
def python(tmp_path: Path) -> Callable[..., Process]:
    """Run Python in a process of its own, in an empty directory."""

    def run(*arguments: str | Path, **environment: str) -> Process:
        return subprocess.run(
            [sys.executable, *map(str, arguments)],
            cwd=tmp_path,
            env=os.environ | {"COLUMNS": "120"} | environment,
            capture_output=True,
            text=True,
            check=False,
        )

    return run


@pytest.fixture
def furthest(python: Callable[..., Process]) -> Callable[..., Process]:
    """Run the command line in a process of its own."""
    return lambda *arguments, **environment: python("-m", "furthest", *arguments, **environment)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test's processes alone: nobody else fills it, or has filled it before."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(folder))
    return folder


@pytest.fixture
def own_machine_code(own_cache: Path) -> Path:
    """The same, but the parts of kernels are there already, from the cache that all tests share.

    What is compiled is compiled as ever; that they need not be translated saves half of the time.
    """
    from numba.core.caching import UserProvidedCacheLocator

    from furthest.kernels import cache, parts

    function = cache.made  # any of that folder
    shared = Path(cache.PackageCache(function).cache_path, parts.FOLDER)
    own = UserProvidedCacheLocator.get_suitable_cache_subpath(function.__code__.co_filename)
    if shared.is_dir():
        unfinished = shutil.ignore_patterns("*.tmp.*")
        shutil.copytree(shared, own_cache / own / parts.FOLDER, ignore=unfinished)
    return own_cache


@pytest.fixture
def on_a_terminal() -> Callable[..., str]:
    """Run Python with standard error on a terminal: what that shows."""
    import pty

    def run(*arguments: str, columns: int = 120) -> str:
        master, slave = pty.openpty()
        environment = os.environ | {"TERM": "xterm", "COLUMNS": str(columns)}
        environment.pop("NO_COLOR", None)
        with subprocess.Popen(
            [sys.executable, *arguments], stderr=slave, env=environment
        ) as process:
            os.close(slave)
            shown = b""
            # A terminal whose last writer is gone raises an error on some systems.
            with contextlib.suppress(OSError):
                while piece := os.read(master, 4096):
                    shown += piece
        os.close(master)
        assert process.returncode == 0, shown
        return shown.decode()

    return run


@pytest.fixture(scope="session")
def server() -> Iterator[Server]:
    bin_folder = binaries()
    if bin_folder is None:
        pytest.skip("no PostgreSQL server (initdb, pg_ctl, postgres) on this machine")
    pytest.importorskip("psycopg", reason="psycopg is not installed: the extra postgres")
    with private_server(bin_folder) as server:
        yield server


@pytest.fixture
def postgres_url(server: Server) -> str:
    """An empty place on the server."""
    return server.url(new_schema(server))
