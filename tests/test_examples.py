"""The examples run, from end to end."""

import html
import runpy
from pathlib import Path

import furthest as ft
from furthest.study.certificate import verify

EXAMPLES = Path(__file__).parent.parent / "examples"


def test_conversion(tmp_path):
    """From daily files to a page that can be printed; started again it has nothing to do."""
    example = runpy.run_path(str(EXAMPLES / "conversion.py"))
    study = example["main"](tmp_path / "shop", eps=0.03)
    proof = study.certificate()
    assert proof.proven
    files = sorted((tmp_path / "shop").glob("day-*.csv"))
    assert sum(each.size for each in study.history()) == len(files) * example["VISITORS"]
    assert proof.guarantee[1:] in html.unescape((tmp_path / "shop/certificate.html").read_text())
    buyers = example["BUYERS"]
    assert buyers[proof.answer_name] >= max(buyers.values()) - 3
    example["main"](tmp_path / "shop", eps=0.03)
    assert sorted((tmp_path / "shop").glob("day-*.csv")) == files


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
