"""A folder with problem files, studies and archives, the same to the byte whenever it is made."""

import itertools
import json
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
from cryptography.hazmat.primitives import serialization as keys
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import furthest as ft
from furthest.errors import StoppedError
from furthest.files import write_problem
from furthest.strategy import Strategy
from furthest.study import archive, documents
from furthest.study.storage import open_storage

DATA = Path(__file__).resolve().parent.parent.parent / "tests" / "data"
TWO_FACTORS = """eps = 0.5
sigma = 0.5
interactions = [["colour", "size"]]
mu = [1.0, 0.5, 0.2, 0.1, 0.0, 0.0]
[factors]
colour = ["red", "blue"]
size = ["S", "M", "L"]
"""
TABLE = """# eps = 0.5
# notion = "additive"
# bounds = [-1, 1]
name,role,coats,finish
A,both,1,matt
B,arm,2,matt
C,both,3,gloss
D,answer,4,"gloss"
"""
OWN_ANSWERS = """eps = 0.1
notion = "multiplicative"
sigma = 1.0
arms = [[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]
answers = [[1.0, 0.1], [0.2, 1.0]]
arm_names = ["A", "B", "C"]
answer_names = ["x", "y"]
feature_names = ["width", "height"]
initial = [0, 1]
mu = [1.0, 0.2]
"""
TEXTS = {
    "two.toml": 'eps = 0.5\nsigma = 0.5\noptions = ["A", "B"]\nmu = [1.0, 0.0]\n',
    "unknown.toml": 'eps = 0.5\nsigma = "unknown"\noptions = ["A", "B", "C"]\nmu = [1, 0, 0]\n',
    "bounds.toml": 'eps = 0.2\nbounds = [0, 1]\noptions = ["A", "B"]\nmu = [0.9, 0.1]\n',
    "factors.toml": TWO_FACTORS,
    "plain_factors.toml": 'eps = 0.5\n[factors]\na = [1, 2]\nb = ["x", "y"]\n',
    "answers.toml": OWN_ANSWERS,
    "markup.toml": 'eps = 0.5\nsigma = 0.5\noptions = ["[/red]", "\\u001b[31m\\n", "[x"]\n'
    "mu = [1.0, 0.0, 0.0]\n",
    "dollar.toml": """eps = 0.5\nsigma = 0.5\noptions = ["$\\\\frac$", "名前 $", "$$"]
mu = [1.0, 0.0, 0.0]\n""",
    "flat.toml": "eps = 0.3\narms = [[1, 0], [0, 1], [1, 1]]\nmu = [1, 0.5]\n",
    "exact.toml": "eps = 0\nsigma = 0.3\narms = [[1.0, 0.0], [0.0, 1.0]]\nmu = [1.0, 0.5]\n",
    "wide.toml": "eps = 0.4\nmu = [1.0, 0.0, 0.5, 0.2]\n"
    f"arms = {np.round(np.random.default_rng(1).normal(size=(9, 4)), 3).tolist()}\n",
    "table.csv": TABLE,
    "numbers.csv": "# eps = 0.5\n# intercept = false\n# mu = [1.0, 0.5]\nx,y\n1,0\n0,1\n1,1\n",
    "named.csv": "# eps = 0.3\n# sigma = 0.5\nname,kind\nA,x\nB,y\nC,z\n",
    "bom.csv": "\ufeff# eps = 0.5\n# mu = [1.0, 0.5]\nname,x\nA,1\nB,2\n",
    "roles.csv": '# eps = 0.5\nname,role,x,y\n"a ""b""",arm,1,0\nb,,0,1\nc,answer,1,1\n',
}
JUNK = {
    "file": b"",
    "empty.json": b"{}",
    "empty.csv": b"",
    "damaged.npz": b"PK\x03\x04" + bytes(40),
    "binary.toml": bytes(range(256)),
    "binary.csv": bytes(range(255, -1, -1)),
    "binary.json": b"\xff\xfe{}",
}


def prepare(folder: Path) -> None:
    """All of it."""
    write_files(folder)
    for name, data in JUNK.items():
        (folder / name).write_bytes(data)
    for name in ("folder", "folder.toml", "folder.json", "folder.csv"):
        (folder / name).mkdir()
    for name in ("loop.toml", "loop.json"):
        (folder / name).symlink_to(name)
    with fixed_world():
        _studies(folder)


def write_files(folder: Path) -> list[str]:
    """Valid problem files of every format with every key; their names."""
    for name, text in TEXTS.items():
        (folder / name).write_text(text, encoding="utf-8")
    hard, space = ft.hard(), ft.random(d=2, arms=4, seed=3)
    given = ft.Problem(
        np.eye(2),
        [[1, 1], [0, 1]],
        eps=0.2,
        bounds=(0, 2),
        answer_names=["x", "y"],
        feature_names=["u", "v"],
        initial=[1, 0],
    )
    write_problem(hard.problem, folder / "hard.npz", hard.truth)
    write_problem(space.problem, folder / "space.npz")
    write_problem(given, folder / "given.npz", [1.0, 0.25])
    write_problem(given, folder / "given.csv", [1.0, 0.25])
    write_problem(given, folder / "given.toml", [1.0, 0.25])
    options = {"eps": 0.5, "options": np.array(["A", "B"]), "mu": np.array([1.0, 0.0])}
    np.savez_compressed(folder / "options.npz", **options)  # type: ignore[arg-type]
    return sorted(
        [*TEXTS, "hard.npz", "space.npz", "given.npz", "given.csv", "given.toml", "options.npz"]
    )


@contextmanager
def fixed_world() -> Iterator[None]:
    """The same moments, ids and workers in every world."""
    tags = itertools.count(0x1000_0000)
    with (
        mock.patch("time.time", side_effect=map(float, itertools.count(1_700_000_000))),
        mock.patch("secrets.token_hex", lambda size: f"{next(tags):0{2 * size}x}"),
        mock.patch("furthest.study.study._me", return_value="lab:1"),
    ):
        yield


def measure(study: ft.Study, mu: list[float], results: int, seed: int = 1) -> None:
    """Two workers, until it stops or there are enough; one more trial is out then."""
    rng = np.random.default_rng(seed)
    means = study.problem.arms @ np.array(mu)
    try:
        while len(study.history()) < results:
            for trial in reversed(study.ask(2)):
                study.tell(trial.id, float(means[trial.arm] + 0.3 * rng.standard_normal()))
        study.ask()
    except StoppedError:
        pass


def fill(url: str) -> None:
    """Studies in all states."""
    two = ft.Problem.options(["A", "B"], eps=0.5, sigma=0.3)
    marked = ft.Problem.options(["[/red]", "\x1b[31m\n", "[x"], eps=0.5, sigma=0.3)
    unknown = ft.Problem.options(["A", "B"], eps=0.5, sigma=None)
    plane = ft.Problem([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]], eps=0.01, sigma=0.3)
    ever: dict[str, Any] = {"storage": url, "lease": 1e9}
    measure(ft.Study.create("stopped", two, 0.1, **ever), [1, 0], 1000)
    measure(ft.Study.create("running", plane, 0.01, **ever), [1, 0.99], 8)
    ft.Study.create("empty", two, 0.1, **ever)
    told = ft.Study.create("told", two, 0.1, order="told", strategy=Strategy("uniform"), **ever)
    told.add("A", 1.25, id="before", measured_at=5.0)
    told.fail(told.ask(), "spilled")
    measure(told, [1, 0], 1000)
    measure(ft.Study.create("[/red]", marked, 0.1, storage=url), [1, 0, 0], 6)
    measure(ft.Study.create("unknown", unknown, 0.1, **ever), [1, 0], 1000)


def _studies(folder: Path) -> None:
    url = f"sqlite:///{folder / 'studies.db'}"
    fill(url)
    study = ft.Study.load("stopped", url)
    write(folder / "archive.json", documents.exported(study))
    write(folder / "certificate.json", documents.shown(study, foresight=False))
    write(folder / "running.json", documents.exported(ft.Study.load("running", url)))
    write_keys(folder)
    write(folder / "signed.json", archive.signed(documents.exported(study), folder / "lab"))
    running = ft.Study.load("running", url)
    rows = [f"{each.id},0.5\n" for each in running.pending()]
    (folder / "results.csv").write_text("".join(rows))
    known = {}
    for name in documents.listed(open_storage(url))["studies"]:
        study = ft.Study.load(name["name"], url)
        ids = [event.trial for event in study.events() if event.trial]
        known[study.name] = {"trial": ids[-3:], "arm": [*study.problem.arm_names, "0", "1"]}
    (folder / "studies.json").write_text(json.dumps(known))
    del running
    del study


def write_keys(folder: Path) -> None:
    """A private key, and the public one that belongs to it."""
    key = Ed25519PrivateKey.from_private_bytes(bytes(range(32)))
    pem = keys.Encoding.PEM
    private = key.private_bytes(pem, keys.PrivateFormat.PKCS8, keys.NoEncryption())
    public = key.public_key().public_bytes(pem, keys.PublicFormat.SubjectPublicKeyInfo)
    (folder / "lab").write_bytes(private)
    (folder / "lab.pub").write_bytes(public)


def write(path: Path, document: Any) -> None:
    """As the command line writes it."""
    path.write_text(json.dumps(document) + "\n", encoding="utf-8")


def copy_database(source: Path, folder: Path) -> Path:
    """A database with all that lies beside it, such as its write-ahead log."""
    for file in sorted(source.parent.glob(f"{source.name}*")):
        shutil.copy(file, folder / file.name)
    return folder / source.name
