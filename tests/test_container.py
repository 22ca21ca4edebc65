"""The image, as far as it can be seen without an engine: its syntax, and its steps one by one."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parent.parent
DOCKERFILE = ROOT / "Dockerfile"

# The folders of the image: here they are below one that is the test's own.
FOLDERS = ("/source", "/wheels", "/opt/furthest", "/var/cache/furthest", "/data", "/run/secrets")
USER = 10_001
# That user, who may read everything, since Python may lie in the home of root, but write nowhere
# but in folders of their own.
CAPABILITY = "+dac_read_search"
AS_USER = [
    *("setpriv", f"--reuid={USER}", f"--regid={USER}", "--clear-groups"),
    *(f"--inh-caps={CAPABILITY}", f"--ambient-caps={CAPABILITY}"),
]
MAY_CHANGE = os.geteuid() == 0 and shutil.which("setpriv") is not None
QUESTION = {"options": ["A", "B"], "eps": 0.1, "sigma": 1.0}
TOKEN = "a-token-for-the-test-alone"
NEEDED = "is not installed: pip install --group image"


def steps() -> list[dict[str, Any]]:
    parse = pytest.importorskip("dockerfile_parse", reason=f"dockerfile-parse {NEEDED}")
    with DOCKERFILE.open("rb") as file:
        found = parse.DockerfileParser(fileobj=file).structure
    return [step for step in found if step["instruction"] != "COMMENT"]


def values(instruction):
    return [step["value"] for step in steps() if step["instruction"] == instruction]


def test_a_linter_finds_nothing():
    linter = Path(sys.executable).with_name("hadolint")
    if not linter.exists():
        pytest.skip(f"hadolint {NEEDED}")
    done = subprocess.run(
        [linter, "--no-color", DOCKERFILE], capture_output=True, text=True, check=False
    )
    assert (done.returncode, done.stdout) == (0, "")


def test_it_runs_as_a_user_without_rights_and_asks_for_a_token():
    assert values("USER") == [str(USER)]
    assert values("EXPOSE") == ["8000"]
    assert values("VOLUME") == ["/data"]
    command = json.loads(values("ENTRYPOINT")[-1])
    assert command[:2] == ["furthest", "serve"]
    assert {"0.0.0.0", "--token-file"} < set(command)
    # Machine code is found by the place of its sources, and by the processor it was made for.
    copies = [shlex.split(value) for value in values("COPY") if "--from" in value]
    assert all(words[-1] == words[-2] for words in copies)
    made, used = [env for env in map(variables, values("ENV")) if "NUMBA_CPU_NAME" in env]
    assert made.items() <= used.items()


def test_all_that_is_copied_is_let_through():
    """What .dockerignore hides is not there when it is copied; and it hides what is not needed."""
    lines = (ROOT / ".dockerignore").read_text().splitlines()
    let_through = {line[1:] for line in lines if line.startswith("!")}
    copied = [shlex.split(value)[:-1] for value in values("COPY") if "--from" not in value]
    assert {name for names in copied for name in names} == let_through
    assert all((ROOT / name).exists() for name in let_through)
    assert "*" in lines


def variables(value: str) -> dict[str, str]:
    return dict(word.split("=", 1) for word in shlex.split(value))


class Image:
    """Does what each instruction says, below a folder of its own."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.folder = root
        self.environment: dict[str, str] = {}
        self.entrypoint: list[str] = []
        self.check: list[str] = []
        python = root / "bin" / "python"
        python.parent.mkdir()
        base = os.path.realpath(sys.executable)
        python.write_text(f'#!/bin/sh\nexec "{base}" "$@"\n')
        python.chmod(0o755)

    def here(self, text: str) -> str:
        """The same with this machine's folders."""
        for folder in FOLDERS:
            text = text.replace(folder, f"{self.root}{folder}")
        return text

    def build(self) -> None:
        for step in steps():
            getattr(self, f"do_{step['instruction'].lower()}")(step["value"])

    def do_from(self, _: str) -> None:
        known = ("NUMBA", "FURTHEST", "PYTHON", "VIRTUAL_ENV", "HOME", "XDG")
        self.environment = {k: v for k, v in os.environ.items() if not k.startswith(known)}
        self.environment |= {"PATH": f"{self.root}/bin:/usr/bin:/bin"}
        self.folder = self.root

    def do_env(self, value: str) -> None:
        for name, text in variables(self.here(value)).items():
            self.environment[name] = text.replace("$PATH", self.environment["PATH"])

    def do_arg(self, value: str) -> None:
        self.environment |= variables(value)

    def do_workdir(self, value: str) -> None:
        self.folder = Path(self.here(value))
        self.folder.mkdir(parents=True, exist_ok=True)

    def do_copy(self, value: str) -> None:
        words = shlex.split(value)
        *names, place = [word for word in words if not word.startswith("--")]
        if "--from=build" in words:
            assert names == [place]  # both stages have the same folders here
        for name in names if "--from=build" not in words else []:
            hidden = shutil.ignore_patterns("__pycache__")
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, self.folder / place, ignore=hidden)
            else:
                shutil.copy(ROOT / name, self.folder / place)
        if any(word.startswith("--chown") for word in words):
            self.own(Path(self.here(place)))

    def own(self, folder: Path) -> None:
        """Give it to the user, where there are several."""
        folder.mkdir(parents=True, exist_ok=True)
        if MAY_CHANGE:
            for path in (folder, *folder.rglob("*")):
                os.chown(path, USER, -1)

    def do_run(self, value: str) -> None:
        if value.startswith("useradd"):  # the machine's users are not the test's
            self.own(Path(self.here("/data")))
            return
        done = subprocess.run(
            ["sh", "-e", "-c", self.here(value)],
            cwd=self.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, f"{value}\n{done.stdout}\n{done.stderr}"

    def do_user(self, value: str) -> None:
        assert int(value) == USER

    def do_volume(self, value: str) -> None:
        assert Path(self.here(value)).is_dir()

    def do_expose(self, _: str) -> None:
        """Nothing to do: no network of its own."""

    def do_healthcheck(self, value: str) -> None:
        self.check = json.loads(re.sub(r"^.*?CMD ", "", value))

    def do_entrypoint(self, value: str) -> None:
        self.entrypoint = [self.here(word) for word in json.loads(value)]

    def start(self, *more: str) -> subprocess.Popen[str]:
        """As the engine would: as the image's user, where the test may be somebody else."""
        program = shutil.which(self.entrypoint[0], path=self.environment["PATH"])
        return subprocess.Popen(
            [*(AS_USER if MAY_CHANGE else ()), program, *self.entrypoint[1:], *more],
            cwd=self.folder,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def is_healthy(self, port: int) -> bool:
        words = [word.replace("8000", str(port)) for word in self.check]
        program = shutil.which(words[0], path=self.environment["PATH"])
        done = subprocess.run(
            [program, *words[1:]], env=self.environment, capture_output=True, check=False
        )
        return done.returncode == 0


def answer(port, path, token=None, body=None):
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data)
    request.add_header("Content-Type", "application/json")
    if token:
        request.add_header("Authorization", f"Bearer {token}")
    try:
        with urllib.request.urlopen(request, timeout=60) as response:
            return response.status, json.load(response)
    except urllib.error.HTTPError as error:
        return error.code, None
    except OSError:
        return 0, None


def machine_code(image):
    return sorted(Path(image.here("/var/cache/furthest")).rglob("*.nb?"))


def until_ready(service, port):
    while True:
        assert service.poll() is None, service.stdout.read()
        status, body = answer(port, "/readyz")
        if status == 200:
            return body
        time.sleep(0.1)


@pytest.fixture
def image():
    # Below a folder that the user without rights may enter, unlike pytest's.
    with tempfile.TemporaryDirectory(prefix="furthest-image-") as folder:
        Path(folder).chmod(0o755)
        yield Image(Path(folder))


@pytest.mark.slow
def test_its_steps_lead_to_a_service_that_compiles_nothing(image):
    image.build()
    secret = Path(image.here("/run/secrets/furthest-token"))
    secret.parent.mkdir(parents=True)
    secret.write_text(f"write {TOKEN}\n")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    made = machine_code(image)
    assert made
    assert not image.is_healthy(port)
    with image.start("--port", str(port)) as service:
        try:
            assert until_ready(service, port) == {"status": "ready", "compiled": 0}
            assert image.is_healthy(port)
            assert answer(port, "/api/v1/studies")[0] == 401
            question = {"name": "first", "delta": 0.1, "problem": QUESTION}
            assert answer(port, "/api/v1/studies", TOKEN, question)[0] == 201
            status, asked = answer(port, "/api/v1/studies/first/ask", TOKEN, {"n": 2})
            assert (status, len(asked["trials"])) == (200, 2)
            assert machine_code(image) == made
            database = Path(image.here("/data/furthest.db"))
            assert database.exists()
            assert database.stat().st_uid == (USER if MAY_CHANGE else os.geteuid())
        finally:
            service.send_signal(signal.SIGTERM)
            output = service.stdout.read()
    # When it is through uvicorn sends itself the signal again, which process 1 does not hear.
    assert service.returncode in {0, -signal.SIGTERM}, output
    assert "Traceback" not in output
    assert "Warning" not in output
