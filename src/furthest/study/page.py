"""The certificate as a page to print: one HTML file that needs nothing else."""

import time
from collections.abc import Sequence
from html import escape
from typing import Any

from furthest import __version__
from furthest.display import at_least, figure
from furthest.problem import Problem
from furthest.study import drawing, picture
from furthest.study.records import NOT_PROVEN, PROVEN_IF, Status, sentence, verdict_words
from furthest.study.study import Study
from furthest.study.verdict import Look

# More rows than this fit on no page; the best answers and the most measured arms are shown.
ROWS = 40

# Names longer than this are set in smaller letters.
LONG = 40

# The classes of the tones in which records speak.
TONES = {"good": "good", "warning": "doubt", "bad": "bad", "soft": "soft", "": ""}

# Of the same, so many are in the pictures.
PICTURED = 20

STYLE = f"""{drawing.STYLE}
* {{ box-sizing: border-box; }}
body {{ font: 15px/1.45 system-ui, "Segoe UI", "Noto Sans", sans-serif; color: var(--ink);
  background: var(--paper); max-width: 74rem; margin: 1.6rem auto; padding: 0 1.5rem; }}
h1 {{ font-size: 1.45rem; margin: 0; letter-spacing: -.01em; overflow-wrap: anywhere; }}
h2 {{ font-size: 1rem; margin: 1.8rem 0 .5rem; }}
p {{ margin: .4rem 0; }}
.kind {{ color: var(--soft); text-transform: uppercase; letter-spacing: .08em; font-size: .75rem; }}
.first {{ display: grid; grid-template-columns: minmax(0, 1fr) minmax(0, 1fr); gap: 0 2.4rem; }}
.first h2 {{ margin: 1rem 0 .3rem; }}
.claim {{ border-left: 4px solid var(--good); padding: .25rem 0 .25rem 1rem; margin: 1rem 0; }}
.claim.open {{ border-color: var(--accent); }}
.claim.if {{ border-color: var(--doubt); }}
.claim.not {{ border-color: var(--bad); }}
.worth {{ font-weight: 600; color: var(--good); }}
.if .worth {{ color: var(--doubt); }}
.not .worth {{ color: var(--bad); }}
.answer {{ font-size: 1.7rem; font-weight: 650; line-height: 1.2; overflow-wrap: anywhere; }}
.answer.long {{ font-size: 1.1rem; }}
.soft {{ color: var(--soft); }}
.good {{ color: var(--good); font-weight: 600; }}
.bad {{ color: var(--bad); font-weight: 600; }}
.doubt {{ color: var(--doubt); font-weight: 600; }}
.conditions {{ list-style: none; margin: 0; padding: 0; font-size: .87rem; line-height: 1.35; }}
.conditions li {{ padding: .3rem 0; border-top: 1px solid var(--line); }}
table {{ border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }}
th {{ text-align: left; font-weight: 600; font-size: .8rem; color: var(--soft); }}
th, td {{ padding: .3rem .8rem .3rem 0; border-bottom: 1px solid var(--line);
  vertical-align: middle; overflow-wrap: anywhere; }}
td.number, th.number {{ text-align: right; width: 7rem; white-space: nowrap; }}
.warning {{ border: 1px solid var(--doubt); border-radius: 4px; padding: .4rem .8rem; }}
dl {{ display: grid; grid-template-columns: max-content 1fr; gap: .15rem 1.2rem; margin: 0; }}
dt {{ color: var(--soft); }} dd {{ margin: 0; overflow-wrap: anywhere; }}
@media (max-width: 52rem) {{ .first {{ grid-template-columns: minmax(0, 1fr); }} }}
@page {{ size: A4; margin: 1.3cm; }}
@media print {{ html {{ font-size: 12px; }}
  body {{ margin: 0; max-width: none; padding: 0; font-size: 9pt; }}
  h2 {{ break-after: avoid; margin-top: .9rem; }} .claim {{ margin: .7rem 0; }}
  .first {{ grid-template-columns: minmax(0, 5fr) minmax(0, 6fr); gap: 0 1.4rem; }}
  .conditions {{ font-size: 8pt; }} .scroll {{ overflow: visible; }}
  svg.picture {{ min-width: 0; max-width: none; }}
  tr, li, .claim, .figure {{ break-inside: avoid; }}
  th, td {{ padding: .16rem .8rem .16rem 0; }} }}
"""


def page(study: Study) -> str:
    """The page of a study, ended or not."""
    status, look = study.status(), study.look()
    body = [
        f'<p class="kind">furthest · {_kind(status)}</p>',
        f"<h1>{escape(study.name)}</h1>",
        *(f'<p class="warning">Warning: {escape(text)}.</p>' for text in status.warnings),
        _first(study, status),
        *_pictures(look),
        _answers(look, status),
        _arms(study, status),
        _details(study, status),
    ]
    title = f"{escape(study.name)} · furthest"
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(part for part in body if part)
        + "\n</main>\n</body>\n</html>\n"
    )


def _kind(status: Status) -> str:
    if status.certificate:
        return "certificate"
    return "conclusion" if status.conclusion else "status"


def _first(study: Study, status: Status) -> str:
    """What fits on the first screen: question, answer, figures, and every condition."""
    claim, figures = f"{_claim(status)}{_gauge(status)}", _list(_figures(study, status))
    rests_on = _conditions(status)
    left, right = (claim + figures, rests_on) if rests_on else (claim, figures)
    return f'<div class="first"><section>{left}</section><section>{right}</section></div>'


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
            f'<div class="claim open"><div class="answer{_size(leading)}">still running{leading}'
            "</div>"
            f'<p class="soft">No guarantee yet. When it stops: {escape(status.promise)}.</p></div>'
        )
    return (
        f'<div class="claim{_mark(status)}"><div class="soft">The answer</div>'
        f'<div class="answer{_size(proof.answer_name)}">{escape(proof.answer_name)}</div>'
        f'<div class="worth">{_worth(proof.standing)}</div>'
        f"<p>{escape(sentence(proof.guarantee))}</p></div>"
    )


def _size(words: str) -> str:
    return " long" if len(words) > LONG else ""


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
    meaning = f" ({escape(status.certificate.meaning)})" if status.certificate else ""
    return (
        f"{drawing.gauge(status.statistic, status.threshold, _mark(status).strip())}"
        f'<p class="soft">evidence: statistic {status.statistic:.3f} against threshold '
        f"{status.threshold:.3f}{meaning}</p>"
    )


def question(problem: Problem) -> str:
    """What is asked, in a sentence."""
    within = f"{100 * problem.eps:.10g} %" if problem.notion == "multiplicative" else "ε"
    return f"Which of {len(problem.answers):,} answers is within {within} of the best?"


def _figures(study: Study, status: Status) -> dict[str, Any]:
    """Everything that a certificate is asked first."""
    problem, document = study.problem, status.certificate or status.conclusion
    facts: dict[str, Any] = {
        "question": question(problem),
        "answer": status.answer_name if status.certificate else "none",
        "ε": f"{problem.eps:g} ({problem.notion})",
        "δ": f"{study.delta:g}",
        "noise": problem.noise_words,
        "measurements": status.counts,
    }
    if status.cost is not None:
        facts["cost"] = f"{figure(status.cost)} ({problem.cost_words})"
    if ending := status.conclusion:
        eps = ending.certified_eps
        facts |= {
            "candidate": ending.answer_name or "none yet",
            "certified ε": "none" if eps is None else at_least(eps),
        }
    facts["standing"] = status.standing or "nothing is promised before it stops"
    facts["created"] = _moment(document.created_at if document else study.created_at)
    if status.certificate:
        facts["stopped"] = _moment(status.certificate.stopped_at)
    elif status.conclusion:
        facts["ended"] = _moment(status.conclusion.ended_at)
    return facts


def _list(facts: dict[str, Any]) -> str:
    items = "".join(f"<dt>{key}</dt><dd>{escape(str(value))}</dd>" for key, value in facts.items())
    return f"<dl>{items}</dl>"


def _conditions(status: Status) -> str:
    """What the guarantee rests on."""
    proof = status.certificate or status.conclusion
    if proof is None:
        return ""
    tones = {"holds": "good", "in doubt": "doubt", "refuted": "bad"}
    rows = [
        f'<li><span class="{tones.get(each.standing, "soft")}">{each.standing}</span>: '
        f'{escape(each.needs)}<br><span class="soft">{escape(each.evidence)}</span></li>'
        for each in proof.conditions
    ]
    return f'<h2>What the guarantee rests on</h2><ul class="conditions">{"".join(rows)}</ul>'


def _pictures(look: Look) -> list[str]:
    """Answers with their intervals, effects, and the plane, where there are any."""
    answers, effects = picture.answers(look, PICTURED), picture.effects(look)
    plane = picture.plane(look, PICTURED)
    return [
        _figure("Values of the answers", drawing.intervals(answers), answers),
        _figure("Effects", drawing.effects(effects), effects) if effects else "",
        _figure("In the plane", drawing.plane(plane), plane) if plane else "",
        _figure("Where it was measured", drawing.arms(picture.arms(look, PICTURED))),
    ]


def _figure(title: str, drawn: str, document: picture.Document | None = None) -> str:
    """A picture with what its intervals promise, or why there are none."""
    if not drawn:
        return ""
    about = document or {}
    notes = [about.get("intervals"), about.get("reason") and f"Intervals: {about['reason']}."]
    words = "".join(f'<p class="soft">{escape(note)}</p>' for note in notes if note)
    shown = f'<div class="scroll" tabindex="0">{drawn}</div>'
    return f'<section class="figure"><h2>{title}</h2>{words}{shown}</section>'


def _answers(look: Look, status: Status) -> str:
    document = picture.answers(look, ROWS)
    if not document["answers"]:
        return ""
    rows = []
    for each in document["answers"]:
        words, tone = verdict_words(each["verdict"], status.standing)
        numbers = "".join(
            f'<td class="number">{figure(each[key])}</td>' for key in ("estimate", "low", "high")
        )
        rows.append(
            f"<tr><td>{escape(each['name'])}</td>{numbers}"
            f'<td class="{TONES[tone]}">{words}</td></tr>'
        )
    heads = "".join(f'<th class="number">{word}</th>' for word in ("estimate", "from", "to"))
    head = f"<th>answer</th>{heads}<th>within ε of the best</th>"
    return _table("Every answer", head, rows, document["total"])


def _arms(study: Study, status: Status) -> str:
    pulls, costs = status.pulls, study.problem.costs
    paid = [
        f'<td class="number">{figure(n * c)}</td>' for n, c in zip(pulls, costs or (), strict=False)
    ]
    rows = [
        f'<tr><td>{escape(study.problem.arm_names[arm])}</td><td class="number">{pulls[arm]}</td>'
        f"{paid[arm] if costs else ''}</tr>"
        for arm in sorted(range(len(pulls)), key=lambda arm: -pulls[arm])[:ROWS]
    ]
    head = '<th>arm</th><th class="number">measurements</th>'
    head += '<th class="number">cost</th>' if costs else ""
    return _table("Every arm", head, rows, len(pulls))


def _table(title: str, head: str, rows: Sequence[str], count: int) -> str:
    rest = f'<p class="soft">and {count - len(rows)} more</p>' if count > len(rows) else ""
    return f"<h2>{title}</h2><table><tr>{head}</tr>{''.join(rows)}</table>{rest}"


def _details(study: Study, status: Status) -> str:
    """How to check it."""
    problem, strategy, proof = study.problem, study.settings.strategy, status.certificate
    names = problem.answer_names
    facts: dict[str, Any] = {
        "problem": problem.in_words,
        "rule": f"{strategy.name} sampling, {strategy.candidate} answer, stopping "
        f"{strategy.stopping}: {strategy.guarantee_for(problem).words}",
    }
    if proof:
        facts |= {
            "accepted answers": ", ".join(names[z] for z in proof.contenders),
            "order": f"results count as {proof.order}",
            "added": f"{proof.added} of {proof.measurements}",
        }
    if ending := status.conclusion:
        facts["remaining answers"] = ", ".join(names[z] for z in ending.remaining[:ROWS]) + (
            ", …" if len(ending.remaining) > ROWS else ""
        )
    if document := proof or status.conclusion:
        facts |= {
            "log": f"{document.log_events} events, SHA-256 {document.log_digest}",
            "verify": f"furthest study verify {study.name!r}",
        }
    facts["made by"] = f"furthest {__version__}"
    return f"<h2>Facts</h2>{_list(facts)}"


def _moment(seconds: float) -> str:
    return time.strftime("%Y-%m-%d %H:%M:%S UTC", time.gmtime(seconds))
