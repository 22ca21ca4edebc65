"""The report: one self-contained HTML page, and Markdown with the figures beside it."""

import base64
import html
import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from furthest import __version__
from furthest.paper.entries import ENTRIES, Entry
from furthest.paper.remarks import MISPRINTS, REMARKS
from furthest.paper.reproduction import Reproduction, Section
from furthest.paper.shapes import (
    CLOSE,
    TIGHT,
    Block,
    Item,
    Number,
    PictureBlock,
    TableBlock,
    percent,
)
from furthest.writing import write_text

TITLE = "Choosing answers in ε-best-answer identification: the paper reproduced"
SOURCE = (
    "M. Jourdan and R. Degenne (2022), “Choosing Answers in ε-Best-Answer Identification for "
    "Linear Bandits”"
)
MARKS = {"confirmed": "✓", "differs": "✗", "undecided": "?"}


def write(done: Reproduction, folder: Path) -> Path:
    """Write report.html and report.md; returns the page."""
    page = folder / "report.html"
    write_text(folder / "report.md", markdown(done))
    write_text(page, webpage(done, folder / "figures"))
    return page


def data(done: Reproduction) -> dict[str, Any]:
    """What `furthest reproduce --json` prints."""
    return {
        "entries": [section.entry.name for section in done.sections],
        "runs": done.runs,
        "seed": done.seed,
        "jobs": done.jobs,
        "units": done.units,
        "rounds": done.rounds,
        "made": {
            "units": done.work.units,
            "rounds": done.work.rounds,
            "seconds": done.seconds,
            "cpu": done.work.cpu,
        },
        "numbers": [
            {
                "entry": entry,
                "row": row,
                "column": column,
                "ours": _plain(number.ours.value),
                "sem": _plain(number.ours.error),
                "printed": number.printed,
                "difference": _plain(number.difference),
                "deviations": _plain(number.deviations),
                "verdict": number.verdict,
            }
            for entry, row, column, number in done.numbers()
        ],
        "claims": [
            {
                "name": verdict.claim.name,
                "place": verdict.claim.place,
                "statement": verdict.claim.statement,
                "reading": verdict.claim.reading,
                "ours": verdict.finding.ours,
                "verdict": verdict.verdict,
            }
            for verdict in done.verdicts
        ],
    }


def _plain(value: float) -> float | None:
    return value if math.isfinite(value) else None


def summary(done: Reproduction) -> list[str]:
    """The first paragraph, sentence by sentence."""
    numbers = [number for *_, number in done.numbers(elsewhere=False)]
    others = [number for *_, number in done.numbers(elsewhere=True)]
    held = sum(verdict.verdict == "confirmed" for verdict in done.verdicts)
    lines = []
    if numbers:
        lines.append(
            f"{_confirmed(numbers)} printed numbers confirmed: within {percent(CLOSE)} of the "
            "print or three standard errors."
        )
        times = [number for number in numbers if number.is_time]
        tight = sum(number.is_within(TIGHT) for number in times)
        lines.append(
            f"{tight} of the {len(times)} mean stopping times among them within {percent(TIGHT)} "
            "or three standard errors."
        )
    if done.verdicts:
        lines.append(f"{held} of {len(done.verdicts)} statements of the text confirmed.")
    if others:
        lines.append(f"{_confirmed(others)} numbers of another paper confirmed likewise.")
    lines.append(
        f"{done.runs:,} runs per cell or more, seed {done.seed}: {done.units:,} runs and draws, "
        f"{done.rounds:,} simulated measurements behind what is shown here."
    )
    return [*lines, _cost(done)]


def _confirmed(numbers: Sequence[Number]) -> str:
    right = sum(number.verdict == "confirmed" for number in numbers)
    return f"{right} of {len(numbers)}"


def _cost(done: Reproduction) -> str:
    """What it took, compilation included.

    A call that was killed is in no log, but its runs are there: then there is more than was logged.
    """
    cost = done.cost
    whole = cost.calls == 1 and cost.rounds == done.rounds
    calls = "one uninterrupted call" if whole else f"several calls, {cost.calls} of them logged,"
    names = "all" if len(done.sections) == len(ENTRIES) else "…"
    speed = cost.rounds / cost.seconds if cost.seconds else 0.0
    return (
        f"Made by {calls} of `furthest reproduce {names} --jobs {cost.jobs}`, version "
        f"{__version__}: {cost.seconds / 60:.1f} minutes of wall time, {cost.cpu / 60:.1f} minutes "
        f"of processor time, {speed:,.0f} measurements a second."
    )


# Numbers --------------------------------------------------------------------------------------


def _ours(number: Number) -> str:
    digits = number.digits or (1 if number.ours.value < 10_000 else 0)
    error = "" if math.isnan(number.ours.error) else f" ± {number.ours.error:,.{digits}f}"
    return f"{number.ours.value:,.{digits}f}{error}"


def _off(number: Number) -> str:
    return f"{number.difference:+.1%}, {number.deviations:+.1f} s.e."


# Markdown -------------------------------------------------------------------------------------


def markdown(done: Reproduction, figures: str = "figures") -> str:
    """The report as Markdown; pictures are linked."""
    lines = [f"# {TITLE}", "", f"{SOURCE}, run again by `furthest reproduce`.", ""]
    lines += [f"- {line}" for line in summary(done)] + [""]
    if done.verdicts:
        lines += ["## Statements of the text", "", *_claims_markdown(done), ""]
    for section in done.sections:
        entry = section.entry
        lines += [f"## {_heading(entry)}", "", _units(section), ""]
        for block in section.blocks:
            lines += [_markdown_block(block, figures), ""]
        if entry.name in REMARKS:
            lines += [REMARKS[entry.name], ""]
    lines += ["## Misprints", ""]
    lines += [f"{n}. **{what}.** {why}" for n, (what, why) in enumerate(MISPRINTS, 1)]
    return "\n".join(lines) + "\n"


def _heading(entry: Entry) -> str:
    name = entry.name.replace("-", " ").capitalize()
    return f"{name}. {entry.title}"


def _units(section: Section) -> str:
    fewest, most = section.units
    count = f"{most:,}" if fewest == most else f"{fewest:,} to {most:,}"
    return f"{count} runs or draws per cell."


def _claims_markdown(done: Reproduction) -> list[str]:
    lines = ["| statement | where | read as | ours | verdict |", "|---" * 5 + "|"]
    for verdict in done.verdicts:
        claim = verdict.claim
        remark = f" {claim.remark}" if claim.remark else ""
        lines.append(
            f"| {claim.statement} | {claim.place} | {claim.reading} | "
            f"{verdict.finding.ours}.{remark} | "
            f"{MARKS[verdict.verdict]} {verdict.verdict} |"
        )
    return lines


def _markdown_block(block: Block, figures: str) -> str:
    if isinstance(block, PictureBlock):
        return f"![{block.caption}]({figures}/{block.file})\n\n{block.caption}"
    lines = [f"| {' | '.join(block.header)} |", "|---" * len(block.header) + "|"]
    lines += [f"| {' | '.join(map(_markdown_item, row))} |" for row in block.rows]
    return "\n".join(lines) + (f"\n\n{block.note}" if block.note else "")


def _markdown_item(item: Item) -> str:
    if isinstance(item, str):
        return item
    if item.printed is None:
        return _ours(item)
    return f"{_ours(item)} / **{item.printed:,.0f}**<br>{_off(item)} {MARKS[item.verdict]}"


# HTML -----------------------------------------------------------------------------------------

STYLE = """
body { font: 16px/1.5 Georgia, 'Times New Roman', serif; color: #1c1c1c; background: #fff;
  max-width: 60rem; margin: 2.5rem auto; padding: 0 1.2rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin-bottom: .3rem; }
h2 { font-size: 1.25rem; margin: 2.6rem 0 .6rem; padding-top: .8rem; border-top: 1px solid #ccc; }
nav { font: 13px/1.9 system-ui, sans-serif; }
nav a { color: #0072b2; text-decoration: none; margin-right: .9rem; white-space: nowrap; }
table { border-collapse: collapse; font: 13.5px/1.35 system-ui, sans-serif; margin: 1rem 0;
  font-variant-numeric: tabular-nums; }
th, td { padding: .35rem .7rem; text-align: right; vertical-align: top; }
th { border-bottom: 2px solid #1c1c1c; font-weight: 600; }
td { border-bottom: 1px solid #e4e4e4; }
th:first-child, td:first-child, .claims th, .claims td { text-align: left; }
td:not(:first-child) { white-space: nowrap; } .claims td { white-space: normal !important; }
td small { display: block; color: #666; }
.confirmed { background: #e8f5ee; } .differs { background: #fde9e0; }
b.confirmed { background: none; color: #00734f; } b.differs { background: none; color: #b04400; }
b.undecided { color: #777; }
figure { margin: 1.2rem 0; } figure img { max-width: 100%; height: auto; }
figcaption, .note { font-size: .92rem; color: #444; }
.remark { border-left: 3px solid #d55e00; padding-left: .9rem; }
"""


def webpage(done: Reproduction, figures: Path) -> str:
    """The report as one page that needs nothing else."""
    escape = html.escape
    body = [f"<h1>{escape(TITLE)}</h1>"]
    body.append(f"<p>{escape(SOURCE)}, run again by <code>furthest reproduce</code>.</p>")
    body.append("<ul>" + "".join(f"<li>{_text(line)}</li>" for line in summary(done)) + "</ul>")
    links = [("claims", "statements")] if done.verdicts else []
    links += [(section.entry.name,) * 2 for section in done.sections] + [("misprints",) * 2]
    body.append(
        "<nav>" + " ".join(f'<a href="#{anchor}">{name}</a>' for anchor, name in links) + "</nav>"
    )
    if done.verdicts:
        body.append('<h2 id="claims">Statements of the text</h2>' + _claims_html(done))
    for section in done.sections:
        entry = section.entry
        body.append(f'<h2 id="{entry.name}">{escape(_heading(entry))}</h2>')
        body.append(f'<p class="note">{_units(section)}</p>')
        body += [_html_block(block, figures) for block in section.blocks]
        if entry.name in REMARKS:
            body.append(f'<p class="remark">{escape(REMARKS[entry.name])}</p>')
    items = "".join(f"<li><b>{escape(what)}.</b> {escape(why)}</li>" for what, why in MISPRINTS)
    body.append(f'<h2 id="misprints">Misprints</h2><ol>{items}</ol>')
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width">'
        f"<title>{escape(TITLE)}</title><style>{STYLE}</style></head>\n<body>\n"
        + "\n".join(body)
        + "\n</body></html>\n"
    )


def _text(line: str) -> str:
    """With what stands between backticks as code."""
    return re.sub("`([^`]*)`", r"<code>\1</code>", html.escape(line))


def _claims_html(done: Reproduction) -> str:
    rows = []
    for verdict in done.verdicts:
        claim, escape = verdict.claim, html.escape
        remark = f"<small>{escape(claim.remark)}</small>" if claim.remark else ""
        rows.append(
            f"<tr><td>{escape(claim.statement)}<small>{escape(claim.place)}</small></td>"
            f"<td>{escape(claim.reading)}</td>"
            f"<td>{escape(verdict.finding.ours)}{remark}</td>"
            f'<td><b class="{verdict.verdict}">{verdict.verdict}</b></td></tr>'
        )
    head = "<tr><th>statement</th><th>read as</th><th>ours</th><th>verdict</th></tr>"
    return f'<table class="claims">{head}{"".join(rows)}</table>'


def _html_block(block: Block, figures: Path) -> str:
    if isinstance(block, PictureBlock):
        picture = base64.b64encode((figures / block.file).read_bytes()).decode()
        caption = html.escape(block.caption)
        return (
            f'<figure><img alt="{caption}" src="data:image/svg+xml;base64,{picture}">'
            f"<figcaption>{caption}</figcaption></figure>"
        )
    return _html_table(block)


def _html_table(block: TableBlock) -> str:
    head = "".join(f"<th>{html.escape(name)}</th>" for name in block.header)
    rows = "".join("<tr>" + "".join(map(_html_item, row)) + "</tr>" for row in block.rows)
    note = f'<p class="note">{html.escape(block.note)}</p>' if block.note else ""
    legend = ""
    if any(isinstance(item, Number) and item.printed for row in block.rows for item in row):
        legend = '<p class="note">ours ± standard error; below it the paper and the difference.</p>'
    return f"<table><tr>{head}</tr>{rows}</table>{legend}{note}"


def _html_item(item: Item) -> str:
    if isinstance(item, str):
        return f"<td>{html.escape(item)}</td>"
    if item.printed is None:
        return f"<td>{_ours(item)}</td>"
    return (
        f'<td class="{item.verdict}">{_ours(item)}'
        f"<small>paper {item.printed:,.0f}</small><small>{_off(item)}</small></td>"
    )
