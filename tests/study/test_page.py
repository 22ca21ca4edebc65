"""The page to print."""

import re
import time
from html.parser import HTMLParser

import numpy as np

import furthest as ft
from furthest.study.page import page
from study.problems import ENDLESS, Lab, run


class Outline(HTMLParser):
    """Collects tags and text; complains of tags that are not closed."""

    VOID = ("meta", "br")

    def __init__(self):
        super().__init__()
        self.open, self.text, self.links = [], [], []

    def handle_starttag(self, tag, attributes):
        self.links += [value for name, value in attributes if name in ("href", "src")]
        assert "style" not in dict(attributes)  # a strict policy would not allow it
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


def test_the_first_screen_has_everything_that_counts(sqlite_url):
    factors = {"oven": ["gas", "wood"], "dough": ["thin", "thick"]}
    problem = ft.Problem.factorial(factors, eps=0.8, costs=[2.0] * 4)
    study = ft.Study.create("pizza", problem, 0.1, sqlite_url)
    run(study, Lab(problem, [1.0, 2.0, 0.5]))
    html, proof = page(study), study.certificate()
    first, rest = html.split('<section class="figure">', 1)
    text, created = read(first.split("<main>")[1]), time.gmtime(proof.created_at)
    for part in (
        "Which of 4 answers is within ε of the best?",
        proof.answer_name,
        "0.8 (additive)",
        f"{proof.measurements} measured",
        f"{proof.cost:g} (costs 2)",
        time.strftime("%Y-%m-%d %H:%M", created),
        proof.standing,
        *(each.needs for each in proof.conditions),
        *(each.evidence for each in proof.conditions),
    ):
        assert part in text, part
    assert "With probability at least 90 % all of these intervals" in rest
    assert rest.count("<svg") == 3  # values, effects, measurements
    assert "oven=wood" in read(html)


def test_a_conclusion_has_its_pictures(sqlite_url):
    study = ft.Study.create("a", ENDLESS, 0.1, sqlite_url, budget=9)
    run(study, Lab(ENDLESS, [0.0, 0.0, 0.0]))
    text = read(page(study))
    assert "inconclusive" in text
    assert "certified ε" in text
    assert "◆ the candidate" in text


def test_thousands_of_answers_with_long_names(sqlite_url):
    rng = np.random.default_rng(0)
    names = [f"{'very ' * 30}long name {i}" for i in range(2000)]
    problem = ft.Problem(rng.normal(size=(2000, 3)), eps=0.5, arm_names=names)
    study = ft.Study.create("a", problem, 0.1, sqlite_url)
    for trial in study.ask(n=3):
        study.tell(trial, 1.0)
    html = page(study)
    assert "and 1960 more" in read(html)
    assert len(html) < 200_000
