"""`furthest serve` as the storage of studies in other processes."""

import numpy as np
import pytest

from furthest import Problem, Study
from furthest.errors import StorageError

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")

from services import served, serving

WRITER, READER = "w" * 20, "r" * 20
PROBLEM = Problem.options(["A", "B"], eps=0.3, sigma=0.5)


def finish(study, seed=0):
    rng = np.random.default_rng(seed)
    while study.status().state == "running":
        for trial in study.ask(2):
            study.tell(trial, float(trial.arm + 0.5 * rng.standard_normal()))
    return study.certificate()


def test_a_study_over_the_service_comes_to_the_same_certificate(service):
    study = Study.create("remote", PROBLEM, storage=service.url)
    certificate = finish(study)
    assert service.get(f"{service.study('remote')}/certificate").data == certificate.to_dict()
    assert Study.load("remote", service.storage).certificate() == certificate
    study.close()


def test_tokens(tmp_path, monkeypatch):
    tokens = tmp_path / "tokens"
    tokens.write_text(f"{WRITER}\nread {READER}\n")
    with serving(f"sqlite:///{tmp_path}/a.db", token_file=str(tokens), prefix="/lab") as guarded:
        with pytest.raises(StorageError, match="asks for a token"):
            Study.create("a", PROBLEM, storage=guarded.url)
        with pytest.raises(StorageError, match="does not know this token"):
            Study.create("a", PROBLEM, storage=guarded.url, token="x" * 20)
        study = Study.create("a", PROBLEM, storage=guarded.url, token=WRITER)
        trial = study.ask()
        monkeypatch.setenv("FURTHEST_TOKEN", READER)
        reader = Study.load("a", guarded.url)
        assert [each.id for each in reader.pending()] == [trial.id]
        with pytest.raises(StorageError, match="may only read"):
            reader.tell(trial, 0.5)
        study.tell(trial, 0.5)
        assert reader.measured == 0
        assert reader.status().measurements == 1
        study.close()
        reader.close()


def test_the_command_line_works_on_a_service(tmp_path, furthest):
    with served(cwd=tmp_path) as (service, _):
        place = {"FURTHEST_STORAGE": service.url}
        done = furthest("study", "create", "a", "hard", **place)
        assert done.returncode == 0, done.stderr
        asked = furthest("study", "ask", "a", "--json", **place)
        assert asked.returncode == 0, asked.stderr
        listed = furthest("study", "list", "--json", **place)
        assert '"pending": 1' in listed.stdout
    gone = furthest("study", "list", **place)
    assert gone.returncode == 1
    assert "nobody answers" in gone.stderr
