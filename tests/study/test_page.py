"""The page to print."""

import re
from html.parser import HTMLParser

import numpy as np

import furthest as ft
from furthest.study.page import page
from study.problems import Lab, run


class Outline(HTMLParser):
    """Collects tags and text; complains of tags that are not closed."""

    VOID = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.open, self.text, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("href", "src")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        if self.open[-1:] != ["style"]:
            self.text.append(data)


def read(html):
    outline = Outline()
    outline.feed(html)
    assert outline.open == []
    assert outline.links == []
    assert not re.search(r"url\(|@import|<script", html)  # needs nothing else
    return " ".join(outline.text)


def test_before_during_and_after(sqlite_url):
    names = ["<b>bold</b>", "Ö & Ü", "plain"]
    problem = ft.Problem(np.eye(3), eps=0.5, arm_names=names)
    study = ft.Study.create('a "quoted" <study>', problem, 0.1, sqlite_url)
    assert "initial design is not complete" in read(page(study))
    study.fail(study.ask().id, "spilled")
    lab = Lab(problem, [2.0, 0.0, 0.0])
    run(study, lab, most=6)
    text = read(page(study))
    assert "still running" in text
    assert "1 measurement failed" in text
    run(study, lab)
    text = read(page(study))
    proof = study.certificate()
    for part in (
        study.name,
        "<b>bold</b>",
        "Ö & Ü",
        proof.guarantee[1:],
        f"{proof.statistic:.3f}",
        f"{proof.threshold:.3f}",
        "within ε of the best",
        proof.log_digest,
        "1 measurement failed",
    ):
        assert part in text, part


def test_many_rows_are_cut(sqlite_url):
    problem = ft.Problem(np.eye(60), eps=0.5)
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    assert "and 20 more" in read(page(study))
