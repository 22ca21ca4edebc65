"""Every entry with very few runs, from the command line, and again."""

import json
import re
from xml.etree import ElementTree

import pytest

from furthest.paper.entries import ENTRIES
from furthest.paper.report import summary
from furthest.paper.reproduction import Job, choose

NAMES = (
    *(f"figure-{n}" for n in range(1, 11)),
    *(f"table-{n}" for n in (1, 4, 5, 6, 7, 8)),
    *("asymptotics", "exact-oracle", "conjecture", "proven", "elsewhere"),
)
# What a call cost is the only thing that may differ between two reports of the same runs.
COST = re.compile(r"^- .* minutes of wall time.*$", re.MULTILINE)


def test_the_entries_are_those_of_the_paper_and_five_more():
    assert tuple(ENTRIES) == NAMES


def test_every_entry_and_again_from_the_store(furthest, tmp_path):
    """Paper: Figure 1, Figure 2, Figure 3, Figure 4, Figure 5, Figure 6, Figure 7, Figure 8, Figure
    9, Figure 10, Table 1, Table 4, Table 5, Table 6, Table 7, Table 8.
    """
    first = furthest("reproduce", "all", "--runs", "2", "--jobs", "2", "--out", "out", "--json")
    assert first.returncode == 0, first.stderr
    data = json.loads(first.stdout)
    assert data["entries"] == list(NAMES)
    assert data["made"]["units"] > 0
    assert data["rounds"] == data["made"]["rounds"]
    assert len(data["numbers"]) == 2 * 12 + 2 * 6 + 2 * 9 * 5 + 2 * 4 + 7 * 3
    assert len(data["claims"]) >= 40
    page = (tmp_path / "out/report.html").read_text()
    text = (tmp_path / "out/report.md").read_text()
    assert "Made by one uninterrupted call of `furthest reproduce all --jobs 2`" in text
    for entry in ENTRIES.values():
        assert f'<h2 id="{entry.name}">' in page
        assert entry.title in text
    # Self-contained: no address is fetched from anywhere.
    assert set(re.findall(r'(?:src|href)="(.{5})', page)) <= {
        "data:",
        *(f"#{n}"[:5] for n in NAMES),
        "#clai",
        "#misp",
    }
    pictures = re.findall(r"\]\((figures/[^)]+)\)", text)
    assert len(pictures) == 11
    for picture in pictures:
        assert ElementTree.parse(tmp_path / "out" / picture).getroot().tag.endswith("svg")
        assert len((tmp_path / "out" / picture).read_bytes()) < 400_000

    before = {path: path.read_bytes() for path in (tmp_path / "out/figures").iterdir()}
    again = furthest("reproduce", "all", "--runs", "2", "--out", "out", "--quiet")
    assert (again.returncode, again.stdout, again.stderr) == (0, "", "")
    assert COST.sub("", (tmp_path / "out/report.md").read_text()) == COST.sub("", text)
    assert {path: path.read_bytes() for path in before} == before
    log = [json.loads(line) for line in (tmp_path / "out/log.jsonl").read_text().splitlines()]
    assert [line["units"] for line in log] == [data["made"]["units"]]


def test_the_summary_on_the_terminal(furthest, tmp_path):
    process = furthest("reproduce", "table-8", "figure-9", "--runs", "3", "--out", "out")
    assert process.returncode == 0, process.stderr
    assert "printed numbers confirmed" in process.stdout
    # Nine cells, with four times the runs that are asked for.
    assert "108 runs and draws" in " ".join(process.stdout.split())
    assert "table-8: done" in process.stderr or "figure-9: done" in process.stderr
    assert (tmp_path / "out/report.html").exists()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["table-3"], "unknown table or figure 'table-3'"),
        (["all", "figure-11"], "did you mean 'figure-1'"),
        (["table-1", "--runs", "1"], "runs"),
        (["table-1", "--out", "taken"], "taken"),
    ],
)
def test_bad_input(furthest, tmp_path, arguments, words):
    (tmp_path / "taken").write_text("a file, not a folder")
    process = furthest("reproduce", *arguments)
    assert process.returncode == (1 if "taken" in arguments else 2)
    assert words in process.stderr
    assert "Traceback" not in process.stderr
    assert process.stdout == ""


def test_drawing_makes_no_runs(furthest, tmp_path):
    job = Job(choose(["table-8"]), 3, tmp_path, seed=1)
    job.finish(1, lambda _: None)
    done = Job(choose(["all"]), 5000, tmp_path, seed=1, draw=True).finish(1, lambda _: None)
    # Figure 9 shows cells of table 8; nothing else is complete.
    assert [section.entry.name for section in done.sections] == ["figure-9", "table-8"]
    assert [section.units for section in done.sections] == [(12, 12), (12, 12)]
    assert (done.work.units, done.units) == (0, 108)
    process = furthest("reproduce", "all", "--draw", "--out", "nowhere")
    assert process.returncode == 2
    assert "nothing of this is stored in nowhere" in process.stderr


def test_an_interrupted_call_is_counted_too(tmp_path):
    job = Job(choose(["table-8"]), 3, tmp_path, seed=1)
    heard = []

    def interrupt(piece):
        heard.append(piece)
        if len(heard) == 4:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        job.finish(1, interrupt)
    done = Job(choose(["table-8"]), 3, tmp_path, seed=1).finish(1, lambda _: None)
    assert done.work.units == 108 - 4 * 12
    assert done.cost.calls == 2
    assert done.cost.rounds == done.rounds
    assert "several calls, 2 of them logged" in summary(done)[-1]
    # A call that was killed has left its runs, but no line.
    (first, _) = (tmp_path / "log.jsonl").read_text().splitlines()
    (tmp_path / "log.jsonl").write_text(first + "\n")
    again = Job(choose(["table-8"]), 3, tmp_path, seed=1).finish(1, lambda _: None)
    assert "several calls, 1 of them logged" in summary(again)[-1]
