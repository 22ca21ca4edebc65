"""Fixtures that several test files share."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

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
