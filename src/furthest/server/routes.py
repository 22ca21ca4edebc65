"""What all pages have in common: how they find a study, may write, and say what went wrong."""

from collections.abc import Callable, Coroutine
from typing import Annotated, Any
from urllib.parse import unquote

from fastapi import Depends, HTTPException, Request, Response
from fastapi.responses import HTMLResponse
from fastapi.routing import APIRoute
from starlette.requests import ClientDisconnect

from furthest.errors import FurthestError, StorageError, UnknownStudyError
from furthest.server.api import Named, named
from furthest.server.api import hosting as studies_of
from furthest.server.hosting import Hosting
from furthest.server.memories import Memory, memory_of
from furthest.server.rendering import render
from furthest.study.study import Study

GONE, NOT_FOUND, REFUSED, UNAVAILABLE, FAILED = 400, 404, 403, 503, 500

TITLES = {NOT_FOUND: "There is nothing here", UNAVAILABLE: "The storage does not answer"}


class PageRoute(APIRoute):
    """Errors are said in words, on a page or in the piece of one that was asked for."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """The handler, and what becomes of its errors."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except ClientDisconnect:  # somebody types on: nobody waits for this any more
                return Response(status_code=GONE)
            except FurthestError as error:
                return failure(request, _status(error), str(error))

        return handled


def _status(error: FurthestError) -> int:
    if isinstance(error, UnknownStudyError):
        return NOT_FOUND
    return UNAVAILABLE if isinstance(error, StorageError) else FAILED


def failure(request: Request, status: int, words: str) -> HTMLResponse:
    """What went wrong: a whole page, unless only a piece of one was asked for."""
    template = "piece_error.html" if "hx-request" in request.headers else "error.html"
    title = TITLES.get(status, "This did not work")
    return render(request, template, status=status, title=title, words=words)


class Chosen:
    """The study that the path names, and what this process remembers of it."""

    def __init__(self, request: Request, name: str, found: Named) -> None:
        self.request = request
        self.name = name
        self._named = found

    def render(self, template: str, work: Callable[[Study, Memory], dict[str, Any]]) -> Response:
        """A piece of the study's page."""
        found = self.do(work)
        return render(self.request, template, name=self.name, **found)

    def do(self, work: Callable[[Study, Memory], Any]) -> Any:
        """Do something with the study."""
        return self._named.do(lambda study: work(study, memory_of(self.request, study)))


async def form(request: Request) -> dict[str, str]:
    """What was typed, by field."""
    async with request.form() as found:
        return {key: value for key, value in found.items() if isinstance(value, str)}


async def chosen(request: Request, name: str, found: Annotated[Named, Depends(named)]) -> Chosen:
    """The study that the path names."""
    return Chosen(request, unquote(name), found)


async def writer(request: Request) -> None:
    """Whoever may only read is told so, should the gate before have let them through."""
    if not request.state.may_write:
        raise HTTPException(REFUSED, "this token may only read")


OneStudy = Annotated[Chosen, Depends(chosen)]
Form = Annotated[dict[str, str], Depends(form)]
Studies = Annotated[Hosting, Depends(studies_of)]
Writer = Depends(writer)
