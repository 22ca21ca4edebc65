"""The pages."""

from fastapi import APIRouter, Request
from fastapi.responses import HTMLResponse

router = APIRouter(include_in_schema=False)


def error(_request: Request, status: int, detail: str) -> HTMLResponse:
    """A page that says what is wrong."""
    return HTMLResponse(detail, status)
