"""The wheel with machine code inside, as somebody meets it who installs it on an empty machine."""

import json
import os
import subprocess
import sys
import threading
import venv
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

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
shop = ft.Problem.options(["old", "new"], eps=0.05, noise="bernoulli")
visits = ft.Study.create("visits", shop, 0.1, "sqlite:///first.db")
for share in visits.ask(batch=500):
    visits.tell(share, successes=share.size // 9, n=share.size)
visits.status()
print(json.dumps([counter.count, results.stopping_times.tolist(), ft.__file__]))
"""
)


def done(*command, **more):
    finished = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


def compiled_by_service(python, folder, environment):
    """How many kernels a service compiles until it is ready, with a study that runs."""
    command = [python, "-m", "furthest", "serve", "--port", "0", "--storage", "sqlite:///first.db"]
    with subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE) as process:
        url = process.stdout.readline().decode().partition(" ")[0]
        try:
            while True:
                with suppress(HTTPError), urlopen(f"{url}readyz") as answer:
                    return json.load(answer)["compiled"]
                threading.Event().wait(0.05)
        finally:
            process.terminate()


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
    done(python, "-m", "pip", "install", "--quiet", f"{wheel}[serve]")
    environment = {"PATH": str(python.parent), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    found = done(python, "-c", SIMULATE, cwd=tmp_path, env=environment)
    count, times, home = json.loads(found)
    assert Path(home).is_relative_to(place)
    assert (count, len(times)) == (0, 2)
    assert compiled_by_service(python, tmp_path, environment) == 0
    assert not list((tmp_path / "cache").rglob("*.nb?"))
