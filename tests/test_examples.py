"""The examples run, from end to end."""

import runpy
from pathlib import Path

import furthest as ft
from furthest.study.certificate import verify

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_compression(tmp_path):
    """Real pages, real clock: the study stops with an answer that its own numbers support."""
    storage = f"sqlite:///{tmp_path}/compression.db"
    example = runpy.run_path(str(EXAMPLES / "compression.py"))
    study = example["main"](storage, eps=0.4)
    proof = study.certificate()
    assert proof.proven
    assert all(0 <= each.value <= 1 for each in study.history())
    estimates = [row.estimate for row in proof.verdicts]
    assert estimates[proof.answer] >= max(estimates) - 0.4
    again = ft.Study.load("compression", storage)
    assert verify("compression", again.events(), proof.to_dict()).certificate == proof
    # Started again it has nothing to do.
    before = len(study.history())
    example["main"](storage, eps=0.4)
    assert len(study.history()) == before
