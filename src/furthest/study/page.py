"""The certificate as a page to print: one HTML file that needs nothing else."""

import time
from collections.abc import Sequence
from html import escape
from typing import Any

from furthest import __version__
from furthest.study.records import AnswerVerdict, Status
from furthest.study.study import Study

# More rows than this fit on no page; the best answers and the most measured arms are shown.
ROWS = 40

STYLE = """
:root { --ink: #1d2330; --soft: #5b6476; --line: #d9dde5; --good: #1b7f4b; --accent: #2b5fb3; }
* { box-sizing: border-box; }
body { font: 15px/1.5 system-ui, "Segoe UI", "Noto Sans", sans-serif; color: var(--ink);
  background: #fff; max-width: 52rem; margin: 2.5rem auto; padding: 0 1.5rem; }
h1 { font-size: 1.55rem; margin: 0; letter-spacing: -.01em; }
h2 { font-size: 1rem; margin: 2rem 0 .5rem; }
p { margin: .5rem 0; }
.kind { color: var(--soft); text-transform: uppercase; letter-spacing: .08em; font-size: .75rem; }
.claim { border-left: 4px solid var(--good); padding: .35rem 0 .35rem 1rem; margin: 1.4rem 0;
  font-size: 1.1rem; }
.claim.open { border-color: var(--accent); }
.claim.unproven { border-color: #b3582b; }
.answer { font-size: 1.9rem; font-weight: 650; line-height: 1.2; }
.soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: middle; }
td.number, th.number { text-align: right; width: 7rem; }
td.bar { width: 45%; }
.bar i { display: block; height: .7rem; border-radius: 2px; background: var(--accent);
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.proven { color: var(--good); font-weight: 600; }
.out { color: var(--soft); }
.gauge { position: relative; height: 1.1rem; background: #eef0f4; border-radius: 3px;
  margin: .6rem 0 .2rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.gauge i { position: absolute; inset: 0 auto 0 0; border-radius: 3px; background: var(--good); }
.gauge.open i { background: var(--accent); }
.gauge b { position: absolute; top: -.3rem; bottom: -.3rem; width: 2px; background: var(--ink); }
.warning { background: #fff4e5; border: 1px solid #f0c892; border-radius: 4px; padding: .5rem .8rem;
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
dl { display: grid; grid-template-columns: max-content 1fr; gap: .2rem 1.2rem; margin: 0; }
dt { color: var(--soft); } dd { margin: 0; overflow-wrap: anywhere; }
code { font-size: .82rem; }
@page { margin: 1.3cm; }
@media print { body { margin: 0; max-width: none; padding: 0; font-size: 9pt; }
  h2 { break-after: avoid; margin-top: .9rem; } .claim { margin: .8rem 0; }
  tr, .claim { break-inside: avoid; } th, td { padding: .16rem .8rem .16rem 0; } }
"""


def page(study: Study) -> str:
    """The page of a study, stopped or not."""
    status = study.status()
    body = [
        f'<p class="kind">furthest · {"certificate" if status.certificate else "status"}</p>',
        f"<h1>{escape(study.name)}</h1>",
        _claim(status),
        _gauge(status),
        *(f'<p class="warning">Warning: {escape(text)}.</p>' for text in status.warnings),
        _answers(status.verdicts),
        _arms(study, status),
        _facts(study, status),
    ]
    title = f"{escape(study.name)} · furthest"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n"
        + "\n".join(body)
        + "\n</body>\n</html>\n"
    )


def _claim(status: Status) -> str:
    words = escape(status.guarantee[0].upper() + status.guarantee[1:])
    proof = status.certificate
    if proof is None:
        leading = f"; {escape(status.answer_name)} leads" if status.answer_name else ""
        return (
            f'<div class="claim open"><div class="answer">still running{leading}</div>'
            f'<p class="soft">When it stops: {escape(status.guarantee)}.</p></div>'
        )
    mark = "" if proof.proven else " unproven"
    return (
        f'<div class="claim{mark}"><div class="soft">The answer</div>'
        f'<div class="answer">{escape(proof.answer_name)}</div><p>{words}.</p></div>'
    )


def _gauge(status: Status) -> str:
    if status.statistic is None or status.threshold is None:
        return '<p class="soft">The initial design is not complete yet.</p>'
    scale = max(status.statistic, status.threshold) * 1.08 or 1.0
    part, needed = (max(0.0, 100 * value / scale) for value in (status.statistic, status.threshold))
    mode = "" if status.certificate else " open"
    meaning = f" ({escape(status.certificate.meaning)})" if status.certificate else ""
    return (
        f'<h2>Evidence</h2><div class="gauge{mode}"><i style="width:{part:.2f}%"></i>'
        f'<b style="left:{needed:.2f}%"></b></div>'
        f'<p class="soft">statistic {status.statistic:.3f} against threshold '
        f"{status.threshold:.3f}{meaning}</p>"
    )


def _answers(verdicts: Sequence[AnswerVerdict]) -> str:
    if not verdicts:
        return ""
    words = {
        "proven": ("proven", "within ε of the best"),
        "possible": ("", "still possible"),
        "ruled out": ("out", "ruled out"),
    }
    rows = []
    for each in sorted(verdicts, key=lambda each: -each.estimate)[:ROWS]:
        style, text = words[each.verdict]
        rows.append(
            f'<tr><td>{escape(each.name)}</td><td class="number">{each.estimate:.4g}</td>'
            f'<td class="{style}">{text}</td></tr>'
        )
    head = '<th>answer</th><th class="number">estimate</th><th>verdict</th>'
    return _table("Every answer", head, rows, len(verdicts))


def _arms(study: Study, status: Status) -> str:
    pulls = status.certificate.pulls if status.certificate else status.pulls
    most = max(pulls, default=0) or 1
    rows = [
        f'<tr><td>{escape(study.problem.arm_names[arm])}</td><td class="number">{pulls[arm]}</td>'
        f'<td class="bar"><i style="width:{100 * pulls[arm] / most:.1f}%"></i></td></tr>'
        for arm in sorted(range(len(pulls)), key=lambda arm: -pulls[arm])[:ROWS]
    ]
    head = '<th>arm</th><th class="number">measurements</th><th></th>'
    return _table("Where it was measured", head, rows, len(pulls))


def _table(title: str, head: str, rows: Sequence[str], count: int) -> str:
    rest = f'<p class="soft">and {count - len(rows)} more</p>' if count > len(rows) else ""
    return f"<h2>{title}</h2><table><tr>{head}</tr>{''.join(rows)}</table>{rest}"


def _facts(study: Study, status: Status) -> str:
    problem, settings, proof = study.problem, study.settings, status.certificate
    sigma = "unknown" if problem.sigma is None else f"{problem.sigma:g}"
    strategy = settings.strategy
    facts: dict[str, Any] = {
        "question": f"{problem.notion} ε = {problem.eps:g}, δ = {study.delta:g}, σ = {sigma}, "
        f"{len(problem.arms)} arms, {len(problem.answers)} answers",
        "measurements": proof.measurements if proof else status.measurements,
        "failed": proof.failed if proof else status.failed,
        "rule": f"{strategy.name} sampling, {strategy.candidate} answer, stopping "
        f"{strategy.stopping}: {strategy.guarantee_for(problem).words}",
    }
    if proof:
        names = problem.answer_names
        facts |= {
            "proven answers": ", ".join(names[z] for z in proof.contenders),
            "created": _moment(proof.created_at),
            "stopped": _moment(proof.stopped_at),
            "log": f"{proof.log_events} events, SHA-256 {proof.log_digest}",
            "verify": f"furthest study verify {study.name!r}",
        }
    facts["made by"] = f"furthest {__version__}"
    items = "".join(f"<dt>{key}</dt><dd>{escape(str(value))}</dd>" for key, value in facts.items())
    return f"<h2>Facts</h2><dl>{items}</dl>"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
