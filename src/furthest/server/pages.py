"""The dashboard: the list of studies; the page of one is in `study_pages`.

Pages are made here, piece by piece; a browser asks for a piece again when the log has grown.
"""

from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse, Response

from furthest.server import by_hand, creation, study_pages
from furthest.server.rendering import render
from furthest.server.routes import OneStudy, PageRoute, Studies, failure
from furthest.study import drawing

router = APIRouter(route_class=PageRoute, include_in_schema=False)

# In the list: what still runs, then what has ended, then what nobody can read.
ORDER = ("running", "inconclusive", "stopped", "damaged")


@router.get("/")
def studies(request: Request) -> Response:
    """The page of all studies; the list itself comes after it."""
    return render(request, "studies.html")


@router.get("/static/pictures.css")
def styles() -> Response:
    """How drawings look."""
    return Response(drawing.STYLE, media_type="text/css")


@router.get("/list")
def listed(request: Request, studies: Studies) -> Response:
    """All studies, what changed last first."""
    rows = sorted(studies.rows(), key=_rank)
    return render(request, "list.html", rows=rows)


def _rank(row: dict[str, Any]) -> tuple[int, float]:
    return ORDER.index(row["state"]), -(row["changed_at"] or 0.0)


@router.get("/studies/{name}/glance")
def glance(study: OneStudy) -> Response:
    """How far the evidence of a study is, for its line in the list."""
    return study.render("glance.html", lambda own, _: {"shown": own.status()})


def error(request: Request, status: int, detail: str) -> HTMLResponse:
    """A page that says what is wrong."""
    return failure(request, status, detail)


router.include_router(study_pages.router)
router.include_router(by_hand.router)
router.include_router(creation.router)
