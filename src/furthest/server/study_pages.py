"""The page of one study, in pieces. Each says no more than the certificate does."""

import json
import math
from collections.abc import Sequence
from typing import Annotated, Any

from fastapi import APIRouter, Query, Request, Response
from fastapi.responses import HTMLResponse, JSONResponse
from markupsafe import Markup

from furthest.server import words
from furthest.server.api import FUTURES
from furthest.server.memories import Memory
from furthest.server.rendering import render
from furthest.server.routes import OneStudy, PageRoute, Studies, failure
from furthest.study import archive, documents, drawing, picture
from furthest.study.page import page
from furthest.study.study import Study

router = APIRouter(prefix="/studies/{name}", route_class=PageRoute, include_in_schema=False)

# Lines of a table, answers in a picture, and lines of the log, at a time.
ROWS, DRAWN, EVENTS = 50, 24, 15

# Numbers of all answers together: of more, its futures take longer than anybody waits.
MOST_SIMULATED = 20_000
TOO_LARGE = (
    "the question is too large for its future to be simulated while others wait; "
    "`furthest study show` does it"
)

# Of a picture, in pixels: as wide as there is room for it.
WIDE = 720.0
SQUARES = 560.0  # two of them side by side
Width = Annotated[float, Query(ge=240, le=1_000)]

# A page to print has its styles in itself, and no scripts.
PRINTED = (
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'none'"
)

# Seconds that a request goes on replaying a log: others wait for it.
REPLAY = 0.5


@router.get("")
def whole(study: OneStudy, request: Request, studies: Studies) -> Response:
    """The page without its pieces: it is there at once, however long the log is."""
    if study.name not in studies.storage.studies():
        return failure(request, 404, f"There is no study {study.name!r}.")
    return render(request, "study.html", name=study.name)


@router.get("/verdict")
def verdict(study: OneStudy, width: Width = WIDE) -> Response:
    """What is known, in a sentence; the question; what the guarantee rests on."""
    return study.render("verdict.html", lambda own, _: _verdict(own, width))


def _verdict(study: Study, width: float) -> dict[str, Any]:
    status = study.status()
    ended = status.certificate or status.conclusion
    return {
        "shown": status,
        "question": words.question(study.problem, study.delta),
        "assumptions": words.assumptions(study.problem, study.strategy),
        "in_words": study.problem.in_words,
        "delta": study.delta,
        "seq": study.end.seq,
        "ended": ended,
        "gauge": _gauge(status, width),
        "total": len(study.problem.answers),
    }


def _gauge(status: Any, width: float) -> Markup | None:
    if status.statistic is None or status.threshold is None:
        return None
    tone = {None: "open", "proven if": "if", "not proven": "not"}.get(status.standing, "")
    return _svg(drawing.gauge(status.statistic, status.threshold, tone, width))


@router.get("/trace")
def trace(study: OneStudy) -> JSONResponse:
    """Evidence against threshold over measurements, as far as it is replayed by now."""
    return JSONResponse(study.do(_trace))


def _trace(study: Study, memory: Memory) -> dict[str, Any]:
    found = memory.trace.update(seconds=REPLAY)
    needed = math.log(1 / study.delta)
    names, last = study.problem.answer_names, found["last"]
    points = [
        point | {"name": names[point["candidate"]]}
        for point in [*found["points"], *([last] if last not in (None, *found["points"]) else [])]
    ]
    plain = bool(points) and all(abs(p["threshold"] - needed) < 1e-9 for p in points)
    label = f"ln 1/δ = {needed:.2f}" if plain else "threshold"
    return found | {"points": points, "label": label, "crossing": _crossing(memory)}


def _crossing(memory: Memory) -> dict[str, Any] | None:
    """Where the study will probably stop; `beyond` is that nobody has looked as far."""
    found: dict[str, Any] | None = memory.known("outlook")
    if not found or not found["crossing"]:
        return None
    future = found["foresight"]
    ends = {"beyond": "median", "beyond_high": "high"}
    crossing: dict[str, Any] = found["crossing"]
    return crossing | {key: future[end] >= future["horizon"] for key, end in ends.items()}


@router.get("/outlook")
def outlook(study: OneStudy, now: bool = False) -> Response:  # noqa: FBT001, FBT002
    """How many more measurements are expected. Computed only if it is asked for `now`."""

    def work(own: Study, memory: Memory) -> dict[str, Any]:
        own.pending()  # this reads what is new
        measured = own.measured
        if now:
            with FUTURES:
                memory.found("outlook", measured, lambda: _foresight(own))
        stale = memory.is_stale("outlook", measured) and not now
        return {"found": memory.known("outlook"), "stale": stale, "crossing": _crossing(memory)}

    return study.render("outlook.html", work)


def _foresight(study: Study) -> dict[str, Any]:
    if study.problem.answers.size > MOST_SIMULATED:
        return {"foresight": None, "crossing": None, "reason": TOO_LARGE}
    return picture.foresight(study)


@router.get("/answers")
def answers(study: OneStudy, first: int = 0, width: Width = WIDE) -> Response:
    """Estimates and intervals of the best answers, and a table of all, page by page."""

    def work(own: Study, _: Memory) -> dict[str, Any]:
        look = own.look()
        total = len(own.problem.answers)
        begin = _begin(first, total)
        found = picture.answers(look, most=max(begin + ROWS, DRAWN))
        shown = found | {"answers": _best(found["answers"], DRAWN)}
        return {
            "found": found,
            "rows": found["answers"][begin : begin + ROWS],
            "picture": _svg(drawing.intervals(shown, width)) if found["answers"] else None,
            "drawn": len(shown["answers"]),
            "eps_words": _eps_words(found),
            "standing": own.status().standing,
            **_part(begin, total),
        }

    return study.render("answers.html", work)


def _best(rows: Sequence[dict[str, Any]], most: int) -> list[dict[str, Any]]:
    """The first, and the candidate in any case."""
    return [row for place, row in enumerate(rows) if place < most or row["candidate"]]


def _eps_words(found: dict[str, Any]) -> str:
    if found["notion"] == "additive":
        return f"within {found['eps']:g} of the best"
    return f"at least {100 * (1 - found['eps']):.4g} % of the best"


@router.get("/arms")
def arms(
    study: OneStudy,
    first: int = 0,
    now: bool = False,  # noqa: FBT001, FBT002
    width: Width = WIDE,
) -> Response:
    """Where it was measured, beside the optimal shares once those are known."""

    def work(own: Study, memory: Memory) -> dict[str, Any]:
        look = own.look()
        total = len(own.problem.arms)
        begin = _begin(first, total)
        found = picture.arms(look, most=max(begin + ROWS, DRAWN))
        measured = found["measurements"]
        if now:
            memory.found("optimum", measured, lambda: picture.optimum(look))
        best = memory.known("optimum")
        optimum = best if best and best["weights"] else None
        drawn = found | {"arms": found["arms"][:DRAWN]}
        return {
            "found": found,
            "rows": found["arms"][begin : begin + ROWS],
            "drawn": len(drawn["arms"]),
            "optimum": best,
            "weights": best["weights"] if best else None,
            "stale": look.ready and memory.is_stale("optimum", measured) and not now,
            "picture": _svg(drawing.arms(drawn, optimum, width)),
            "costs": own.problem.costs,
            **_part(begin, total),
        }

    return study.render("arms.html", work)


@router.get("/shape")
def shape(study: OneStudy, width: Width = WIDE) -> Response:
    """What there is to see beyond single options: the plane of two features, or effects."""

    def work(own: Study, _: Memory) -> dict[str, Any]:
        look = own.look()
        plane, effects = picture.plane(look, most=DRAWN), picture.effects(look)
        return {
            "plane": plane,
            "plane_picture": _svg(drawing.plane(plane, max(width, SQUARES)))
            if plane and plane["estimate"]
            else None,
            "effects": effects,
            "effects_picture": _svg(drawing.effects(effects, width)) if effects else None,
        }

    return study.render("shape.html", work)


@router.get("/trials")
def trials(study: OneStudy) -> Response:
    """What is being measured, and what failed."""

    def work(own: Study, _: Memory) -> dict[str, Any]:
        pending, failures = own.pending(), own.failures()
        return {
            "pending": pending[:ROWS],
            "waiting": len(pending),
            "failures": failures[: -ROWS - 1 : -1],
            "failed": len(failures),
            "problem": own.problem,
        }

    return study.render("trials.html", work)


@router.get("/log")
def log(study: OneStudy, studies: Studies, before: int | None = None) -> Response:
    """The log, newest first, page by page."""

    def work(own: Study, _: Memory) -> dict[str, Any]:
        own.pending()  # this reads what is new
        last = own.end.seq
        end = last if before is None else min(max(before - 1, 0), last)
        begin = max(0, end - EVENTS)
        events = studies.storage.read(own.key, begin, "", end - begin) if end else []
        return {
            "events": events[::-1],
            "names": own.problem.arm_names,
            "answers": own.problem.answer_names,
            "first": begin + 1,
            "last": last,
            "newer": None if end == last else min(end + EVENTS + 1, last + 1),
        }

    return study.render("log.html", work)


@router.get("/certificate")
def certificate(study: OneStudy) -> Response:
    """The certificate as a page to print, or where the study stands by now."""
    found = study.do(lambda own, _: page(own))
    return HTMLResponse(found, headers={"content-security-policy": PRINTED})


@router.get("/results.csv")
def results(study: OneStudy) -> Response:
    """All results as a table."""
    found = study.do(lambda own, _: archive.to_csv(own))
    return Response(found, media_type="text/csv", headers=_attached("results.csv"))


@router.get("/study.json")
def exported(study: OneStudy) -> Response:
    """Everything, with the log, to verify it anywhere."""
    found = study.do(lambda own, _: documents.exported(own))
    text = json.dumps(found, ensure_ascii=False, indent=1)
    return Response(text, media_type="application/json", headers=_attached("study.json"))


def _attached(name: str) -> dict[str, str]:
    return {"content-disposition": f'attachment; filename="{name}"'}


def _svg(drawing: str) -> Markup:
    """Drawings are made of escaped texts."""
    return Markup(drawing)  # noqa: S704


def _begin(first: int, total: int) -> int:
    """Where a page of a table begins."""
    return min(max(first, 0), max(0, total - 1)) // ROWS * ROWS


def _part(begin: int, total: int) -> dict[str, Any]:
    """Which part of a table is shown, and where its neighbours are."""
    return {
        "begin": begin,
        "end": min(begin + ROWS, total),
        "total": total,
        "previous": begin - ROWS if begin else None,
        "following": begin + ROWS if begin + ROWS < total else None,
    }
