"""The wheel with machine code inside, as somebody meets it who installs it on an empty machine."""

import json
import os
import subprocess
import sys
import venv
from pathlib import Path

import pytest

from compilations import COUNT_COMPILATIONS
from furthest import sampling
from furthest.kernels import shipped

ROOT = Path(__file__).resolve().parent.parent

SIMULATE = (
    COUNT_COMPILATIONS
    + """
import furthest as ft
instance = ft.hard()
results = ft.simulate(instance.problem, instance.mu, runs=2)
study = ft.Study.create("first", instance.problem, 0.1, "sqlite:///first.db")
trial = study.ask()
study.tell(trial, 0.5)
study.status()
print(json.dumps([counter.count, results.stopping_times.tolist(), ft.__file__]))
"""
)


def done(*command, **more):
    finished = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.mark.slow
def test_nothing_is_compiled_where_it_is_installed(tmp_path):
    """In an environment of its own, with nothing on its path: no C compiler, no other package."""
    level = next(iter(shipped.levels()))
    script = ROOT / "scripts" / "wheel.py"
    done(sys.executable, script, sampling.DEFAULT, "--only", level, "--out", tmp_path / "dist")
    [wheel] = (tmp_path / "dist").glob("*.whl")
    assert f"cp{sys.version_info.major}{sys.version_info.minor}" in wheel.name
    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    python = place / ("Scripts" if os.name == "nt" else "bin") / "python"
    done(python, "-m", "pip", "install", "--quiet", wheel)
    environment = {"PATH": str(python.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    found = done(python, "-c", SIMULATE, cwd=tmp_path, env=environment)
    count, times, home = json.loads(found)
    assert Path(home).is_relative_to(place)
    assert (count, len(times)) == (0, 2)
    assert not list((tmp_path / "cache").rglob("*.nb?"))
