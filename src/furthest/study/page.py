"""The certificate as a page to print: one HTML file that needs nothing else."""

import time
from collections.abc import Sequence
from html import escape
from typing import Any

from furthest import __version__
from furthest.display import at_least, figure
from furthest.study.records import (
    NOT_PROVEN,
    PROVEN_IF,
    Status,
    best_first,
    sentence,
    verdict_words,
)
from furthest.study.study import Study

# More rows than this fit on no page; the best answers and the most measured arms are shown.
ROWS = 40

# The classes of the tones in which records speak.
TONES = {"good": "good", "warning": "doubt", "bad": "bad", "soft": "soft", "": ""}

STYLE = """
:root { --ink: #1d2330; --soft: #5b6476; --line: #d9dde5; --good: #1b7f4b; --accent: #2b5fb3;
  --doubt: #b3701b; --bad: #b3302b; }
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
.claim.if { border-color: var(--doubt); }
.claim.not { border-color: var(--bad); }
.worth { font-weight: 600; color: var(--good); }
.if .worth { color: var(--doubt); }
.not .worth { color: var(--bad); }
.answer { font-size: 1.9rem; font-weight: 650; line-height: 1.2; }
.soft { color: var(--soft); }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th { text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); }
th, td { padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: middle; }
td.number, th.number { text-align: right; width: 7rem; }
td.bar { width: 45%; }
.why td { vertical-align: top; }
.why td:nth-child(2) { white-space: nowrap; }
.bar i { display: block; height: .7rem; border-radius: 2px; background: var(--accent);
  print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.good { color: var(--good); font-weight: 600; }
.bad { color: var(--bad); font-weight: 600; }
.doubt { color: var(--doubt); font-weight: 600; }
.gauge { position: relative; height: 1.1rem; background: #eef0f4; border-radius: 3px;
  margin: .6rem 0 .2rem; print-color-adjust: exact; -webkit-print-color-adjust: exact; }
.gauge i { position: absolute; inset: 0 auto 0 0; border-radius: 3px; background: var(--good); }
.gauge.open i { background: var(--accent); }
.gauge.if i { background: var(--doubt); }
.gauge.not i { background: var(--bad); }
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
    """The page of a study, ended or not."""
    status = study.status()
    body = [
        f'<p class="kind">furthest · {_kind(status)}</p>',
        f"<h1>{escape(study.name)}</h1>",
        _claim(status),
        _gauge(status),
        *(f'<p class="warning">Warning: {escape(text)}.</p>' for text in status.warnings),
        _answers(status),
        _arms(study, status),
        _conditions(status),
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


def _kind(status: Status) -> str:
    if status.certificate:
        return "certificate"
    return "conclusion" if status.conclusion else "status"


def _claim(status: Status) -> str:
    proof, ending = status.certificate, status.conclusion
    if ending is not None:
        return (
            f'<div class="claim{_mark(status)}"><div class="answer">inconclusive</div>'
            f'<div class="soft">The budget of {ending.budget:,} measurements is spent.</div>'
            f'<div class="worth">{_worth(ending.standing)}</div>'
            f"<p>{escape(sentence(ending.guarantee))}</p></div>"
        )
    if proof is None:
        leading = f"; {escape(status.answer_name)} leads" if status.answer_name else ""
        return (
            f'<div class="claim open"><div class="answer">still running{leading}</div>'
            f'<p class="soft">No guarantee yet. When it stops: {escape(status.promise)}.</p></div>'
        )
    return (
        f'<div class="claim{_mark(status)}"><div class="soft">The answer</div>'
        f'<div class="answer">{escape(proof.answer_name)}</div>'
        f'<div class="worth">{_worth(proof.standing)}</div>'
        f"<p>{escape(sentence(proof.guarantee))}</p></div>"
    )


def _worth(standing: str) -> str:
    return {PROVEN_IF: "proven, if a condition in doubt holds"}.get(standing, standing)


def _mark(status: Status) -> str:
    """The class of what is coloured by the worth of the certificate."""
    if status.standing is None:
        return " open"
    return {PROVEN_IF: " if", NOT_PROVEN: " not"}.get(status.standing, "")


def _gauge(status: Status) -> str:
    if status.statistic is None or status.threshold is None:
        return '<p class="soft">The initial design is not complete yet.</p>'
    scale = max(status.statistic, status.threshold) * 1.08 or 1.0
    part, needed = (max(0.0, 100 * value / scale) for value in (status.statistic, status.threshold))
    mode = _mark(status)
    meaning = f" ({escape(status.certificate.meaning)})" if status.certificate else ""
    return (
        f'<h2>Evidence</h2><div class="gauge{mode}"><i style="width:{part:.2f}%"></i>'
        f'<b style="left:{needed:.2f}%"></b></div>'
        f'<p class="soft">statistic {status.statistic:.3f} against threshold '
        f"{status.threshold:.3f}{meaning}</p>"
    )


def _answers(status: Status) -> str:
    if not status.verdicts:
        return ""
    rows = []
    for each in best_first(status.verdicts, ROWS):
        words, tone = verdict_words(each.verdict, status.standing)
        rows.append(
            f'<tr><td>{escape(each.name)}</td><td class="number">{each.estimate:.4g}</td>'
            f'<td class="{TONES[tone]}">{words}</td></tr>'
        )
    head = '<th>answer</th><th class="number">estimate</th><th>within ε of the best</th>'
    return _table("Every answer", head, rows, len(status.verdicts))


def _conditions(status: Status) -> str:
    """What the guarantee rests on."""
    proof = status.certificate or status.conclusion
    if proof is None:
        return ""
    tones = {"holds": "good", "in doubt": "doubt", "refuted": "bad"}
    rows = [
        f"<tr><td>{escape(each.needs)}</td>"
        f'<td class="{tones.get(each.standing, "")}">{each.standing}</td>'
        f'<td class="soft">{escape(each.evidence)}</td></tr>'
        for each in proof.conditions
    ]
    head = "<th>condition</th><th>standing</th><th>why</th>"
    return f'<div class="why">{_table("What the guarantee rests on", head, rows, len(rows))}</div>'


def _arms(study: Study, status: Status) -> str:
    pulls, costs = status.pulls, study.problem.costs
    most = max(pulls, default=0) or 1
    paid = [
        f'<td class="number">{figure(n * c)}</td>' for n, c in zip(pulls, costs or (), strict=False)
    ]
    rows = [
        f'<tr><td>{escape(study.problem.arm_names[arm])}</td><td class="number">{pulls[arm]}</td>'
        f"{paid[arm] if costs else ''}"
        f'<td class="bar"><i style="width:{100 * pulls[arm] / most:.1f}%"></i></td></tr>'
        for arm in sorted(range(len(pulls)), key=lambda arm: -pulls[arm])[:ROWS]
    ]
    head = '<th>arm</th><th class="number">measurements</th>'
    head += ('<th class="number">cost</th>' if costs else "") + "<th></th>"
    return _table("Where it was measured", head, rows, len(pulls))


def _table(title: str, head: str, rows: Sequence[str], count: int) -> str:
    rest = f'<p class="soft">and {count - len(rows)} more</p>' if count > len(rows) else ""
    return f"<h2>{title}</h2><table><tr>{head}</tr>{''.join(rows)}</table>{rest}"


def _facts(study: Study, status: Status) -> str:
    problem, settings, proof = study.problem, study.settings, status.certificate
    strategy = settings.strategy
    facts: dict[str, Any] = {
        "question": f"{problem.notion} ε = {problem.eps:g}, δ = {study.delta:g}, "
        f"{problem.noise_words}, {len(problem.arms)} arms, {len(problem.answers)} answers"
        + (f", {problem.cost_words}" if problem.costs else ""),
        "measurements": status.counts,
        "rule": f"{strategy.name} sampling, {strategy.candidate} answer, stopping "
        f"{strategy.stopping}: {strategy.guarantee_for(problem).words}",
    }
    if proof:
        names = problem.answer_names
        facts |= {
            "accepted answers": ", ".join(names[z] for z in proof.contenders),
            "order": f"results count as {proof.order}",
            "added": f"{proof.added} of {proof.measurements}",
            "created": _moment(proof.created_at),
            "stopped": _moment(proof.stopped_at),
            "log": f"{proof.log_events} events, SHA-256 {proof.log_digest}",
            "verify": f"furthest study verify {study.name!r}",
        }
    if ending := status.conclusion:
        names, eps = problem.answer_names, ending.certified_eps
        facts |= {
            "candidate": ending.answer_name or "none yet",
            "certified ε": "none" if eps is None else at_least(eps),
            "remaining answers": ", ".join(names[z] for z in ending.remaining[:ROWS])
            + (", …" if len(ending.remaining) > ROWS else ""),
            "created": _moment(ending.created_at),
            "ended": _moment(ending.ended_at),
            "log": f"{ending.log_events} events, SHA-256 {ending.log_digest}",
            "verify": f"furthest study verify {study.name!r}",
        }
    facts["made by"] = f"furthest {__version__}"
    items = "".join(f"<dt>{key}</dt><dd>{escape(str(value))}</dd>" for key, value in facts.items())
    return f"<h2>Facts</h2><dl>{items}</dl>"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
