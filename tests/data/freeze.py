"""Write the frozen databases: run once for a new schema, never again for an old one.

python tests/data/freeze.py VERSION
"""

import json
import shutil
import sqlite3
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import furthest as ft
from furthest.study import study as study_module
from furthest.study.sql import STEPS
from furthest.study.sqlite import SqliteStorage
from furthest.study.witness import Witness

HERE = Path(__file__).parent
study_module._me = lambda: "lab:1"


def fill(study: ft.Study, mu: np.ndarray, results: int, seed: int) -> None:
    """Workers, a failure, a measurement nobody asked for; until it stops or there are enough."""
    rng = np.random.default_rng(seed)
    means = study.problem.arms @ mu
    sigma = 0.5 if study.problem.sigma is None else study.problem.unit
    study.add(0, means[0] + sigma * rng.standard_normal(), id="from before")
    study.fail(study.ask().id, "the sensor froze, whatever the value")
    while len(study.history()) < results:
        try:
            trials = study.ask(3)
        except ft.errors.StoppedError:
            return
        for trial in reversed(trials):
            study.tell(trial.id, means[trial.arm] + sigma * rng.standard_normal())


def main(version: int) -> None:
    path = HERE / f"studies-{version}.db"
    path.unlink(missing_ok=True)
    storage = SqliteStorage(str(path))
    hard, space = ft.hard(), ft.random(d=3, arms=6, seed=2)
    plain = ft.Problem(np.eye(3), eps=0.3, sigma=None, arm_names=["A", "B", "Ü"])
    fill(ft.Study.create("stopped", hard.problem, 0.1, storage), hard.truth, 10_000, 1)
    fill(ft.Study.create("running", space.problem, 0.01, storage), space.truth, 30, 2)
    fill(ft.Study.create("σ unknown", plain, 0.1, storage), np.array([1.0, 0.2, 0.0]), 10_000, 3)
    storage.close()
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode = DELETE")
    if version == 1:
        connection.execute("ALTER TABLE furthest_events DROP COLUMN worker")
        connection.execute("UPDATE furthest_schema SET version = 1")
    connection.execute("VACUUM")
    connection.close()
    Witness(path).forget()
    path.with_suffix(".json").write_text(json.dumps(expectation(path), indent=1) + "\n")


def expectation(path: Path) -> dict[str, Any]:
    """What the database leads to."""
    expected = {}
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / "copy.db"
        shutil.copy(path, copy)
        storage = SqliteStorage(str(copy))
        for name in storage.studies():
            status = ft.Study.load(name, storage).status()
            certificate = status.certificate.to_dict() if status.certificate else None
            if certificate:
                certificate["version"] += " (frozen)"  # later versions may choose other words
            expected[name] = {"measurements": status.measurements, "certificate": certificate}
        storage.close()
    return expected


if __name__ == "__main__":
    assert int(sys.argv[1]) in range(1, len(STEPS) + 1)
    main(int(sys.argv[1]))
