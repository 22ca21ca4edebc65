"""What a release consists of, as somebody meets it who installs it on an empty machine."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import threading
import venv
import zipfile
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest

from furthest import __version__

pytestmark = pytest.mark.slow
ROOT = Path(__file__).resolve().parent.parent

# Tracked, but of use in a checkout alone.
LEFT_OUT = {".pre-commit-config.yaml"}
LEFT_OUT_BELOW = (".ci/", ".github/")
# What may lie about in one.
STRAY = (
    *("furthest.db", "furthest.db-witness", "secret.key", "token", "notes.md", ".env"),
    *("out/report.html", ".venv/pyvenv.cfg", "dist/old.whl", "docs/build/index.html"),
    *("src/furthest/__pycache__/x.pyc", "examples/furthest.db", "tests/.hypothesis/x"),
)
STATIC = re.compile(r'(?:src|href)="(/static/[^"]+)"')
QUESTION = 'options = ["A", "B"]\neps = 0.3\nsigma = 1.0\n'


def done(*command, **more):
    finished = subprocess.run(command, capture_output=True, text=True, check=False, **more)
    assert finished.returncode == 0, finished.stderr
    return finished.stdout


@pytest.fixture(scope="module")
def tracked():
    """The files under version control."""
    found = subprocess.run(
        ["git", "-C", ROOT, "ls-files", "-z"], capture_output=True, text=True, check=False
    )
    if found.returncode:
        pytest.skip("this is no checkout")
    return {name for name in found.stdout.split("\0") if name}


@pytest.fixture(scope="module")
def archives(tracked, tmp_path_factory):
    """A source archive and the wheel that is built from it, of a checkout where much lies about."""
    pytest.importorskip("build", reason="build is not installed: pip install --group build")
    project = tmp_path_factory.mktemp("build") / "project"
    for name in tracked:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, project / name)
    for name in STRAY:
        (project / name).parent.mkdir(parents=True, exist_ok=True)
        (project / name).write_text("not for others")
    done(sys.executable, "-m", "build", "--outdir", project.parent / "made", project)
    [source, wheel] = sorted((project.parent / "made").iterdir(), key=lambda path: path.suffix)
    return {"source": source, "wheel": wheel}


def test_the_source_is_what_is_tracked(archives, tracked):
    with tarfile.open(archives["source"]) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert archives["source"].name == f"furthest-{__version__}.tar.gz"
    wanted = {name for name in tracked - LEFT_OUT if not name.startswith(LEFT_OUT_BELOW)}
    assert names - {"PKG-INFO"} == wanted


def test_the_wheel_is_the_package(archives, tracked):
    with zipfile.ZipFile(archives["wheel"]) as archive:
        names = {name for name in archive.namelist() if ".dist-info/" not in name}
    assert names == {name.removeprefix("src/") for name in tracked if name.startswith("src/")}
    assert "furthest/server/templates/study.html" in names
    assert "furthest/server/static/furthest.css" in names


def pages_of(command, folder, environment):
    """Pages of the service, by path, once it is ready; with all that they ask for."""
    with subprocess.Popen(
        [command, "serve", "--port", "0", "--storage", "sqlite:///first.db"],
        cwd=folder,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    ) as process:
        url = process.stdout.readline().decode().partition(" ")[0].rstrip("/")

        def get(path):
            with urlopen(url + path) as answer:  # raises if it is not there
                return answer.read().decode()

        try:
            while True:
                with suppress(HTTPError):
                    get("/readyz")
                    break
                threading.Event().wait(0.05)
            pages = {path: get(path) for path in ("/list", "/studies/first", "/new")}
            parts = {part for page in pages.values() for part in STATIC.findall(page)}
            return pages | {part: get(part) for part in parts}
        finally:
            process.terminate()


@pytest.mark.parametrize("kind", ["source", "wheel"])
def test_it_works_where_there_is_nothing_else(archives, kind, tmp_path):
    place = tmp_path / "environment"
    venv.create(place, with_pip=True)
    scripts = place / ("Scripts" if os.name == "nt" else "bin")
    done(scripts / "python", "-m", "pip", "install", "--quiet", f"{archives[kind]}[serve]")
    environment = {"PATH": str(scripts), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    command = scripts / "furthest"

    def furthest(*arguments):
        return done(command, *arguments, cwd=tmp_path, env=environment)

    assert furthest("--version") == f"furthest {__version__}\n"
    runs = json.loads(furthest("simulate", "hard", "--runs", "10", "--json"))
    assert (runs["runs"], runs["results"][0]["unstopped"]) == (10, 0)
    (tmp_path / "question.toml").write_text(QUESTION)
    storage = ("--storage", "sqlite:///first.db")
    furthest("study", "create", "first", "question.toml", *storage)
    [trial] = json.loads(furthest("study", "ask", "first", "--json", *storage))
    furthest("study", "tell", "first", trial["id"], "0.5", *storage)
    shown = json.loads(furthest("study", "show", "first", "--json", *storage))
    assert (shown["state"], shown["measurements"]) == ("running", 1)
    pages = pages_of(command, tmp_path, environment)
    assert "first" in pages["/list"]
    assert trial["name"] in pages["/studies/first"]
    assert "/static/furthest.css" in pages
    assert all(pages.values())
    assert len(pages) > 6  # scripts of others, too
