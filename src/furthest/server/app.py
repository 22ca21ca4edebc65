"""The application: what is put together, and what begins and ends with it."""

import signal
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from fastapi import FastAPI, Request, WebSocket
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse, Response
from starlette.exceptions import HTTPException
from starlette.routing import Match
from starlette.staticfiles import StaticFiles

from furthest import __version__
from furthest.errors import FurthestError
from furthest.server import api, operations, pages, signing, stream, wire
from furthest.server.hosting import Hosting
from furthest.server.options import Options
from furthest.server.paths import Paths
from furthest.server.problems import of_error, problem
from furthest.server.requests import Problem
from furthest.server.security import Guard, Rates
from furthest.study.messages import PATH
from furthest.study.pool import Pool

STATIC = Path(__file__).parent / "static"

DESCRIPTION = """Choose an answer within ε of the best from few noisy measurements, with a proof.

A worker's loop: `POST …/ask`, measure, `POST …/tell`, until `ask` answers 409,
`urn:furthest:stopped`. A study's name is quoted in a path: `/` is `%2F`. Where the service has
tokens: `Authorization: Bearer TOKEN`."""

ROUTERS = tuple(part.router for part in (api, stream, operations, signing, pages))

# Of what no handler has seen.
METHOD = 405
KINDS = {400: "json", 404: "path", METHOD: "method"}

TOO_DEEP = "the JSON is nested too deeply"


def create_app(options: Options) -> FastAPI:
    """A service with these options."""
    app = FastAPI(
        title="furthest",
        version=__version__,
        description=DESCRIPTION,
        docs_url=None,  # these pages load scripts from other sites
        redoc_url=None,
        lifespan=_lifespan,
    )
    state = app.state
    state.options, state.tokens, state.rates = options, options.tokens, Rates(options.rate)
    state.hosting = Hosting(Pool(options.storage))
    state.readiness = operations.Readiness(state.hosting)
    for router in ROUTERS:
        app.include_router(router)
    app.mount("/static", StaticFiles(directory=STATIC), "static")
    app.add_api_websocket_route(PATH, _storage)
    app.add_exception_handler(FurthestError, _furthest_error)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http_error)
    app.add_exception_handler(RecursionError, _too_deep)
    _describe_problems(app)
    # The last one that is added is the first that sees a request.
    app.add_middleware(Guard, options=options, tokens=state.tokens, rates=state.rates)
    app.add_middleware(operations.Account)
    app.add_middleware(Paths, prefix=options.prefix)
    return app


def from_environment() -> FastAPI:
    """For the processes of a service with several."""
    operations.log_to_standard_error()
    return create_app(Options.from_environment())


def _describe_problems(app: FastAPI) -> None:
    """FastAPI knows no other media type for a model than JSON."""
    made = app.openapi

    def openapi() -> dict[str, Any]:
        document = made()
        document["components"]["schemas"]["Problem"] = Problem.model_json_schema()
        return document

    app.openapi = openapi  # type: ignore[method-assign]


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    state = app.state
    state.topics = stream.Topics(state.hosting)
    _end_streams_at_once(state.topics)
    state.readiness.begin()
    yield
    state.hosting.close()


def _end_streams_at_once(topics: stream.Topics) -> None:
    """When the service is asked to end: it waits for all responses, and streams have no end."""
    if threading.current_thread() is not threading.main_thread():
        return
    for number in (signal.SIGTERM, signal.SIGINT):
        before = signal.getsignal(number)

        def ending(signum: int, frame: FrameType | None, before: Any = before) -> None:
            topics.stop()
            if callable(before):
                before(signum, frame)

        signal.signal(number, ending)


async def _storage(socket: WebSocket) -> None:
    """A storage for other processes: what `furthest.study.remote` talks to."""
    state = socket.app.state
    await wire.serve(socket, state.hosting.storage, may_write=socket.state.may_write)


def _furthest_error(_: Request, error: Exception) -> Response:
    assert isinstance(error, FurthestError)  # noqa: S101
    return of_error(error)


def _invalid(_: Request, error: Exception) -> Response:
    """What does not fit the types, each with its place."""
    assert isinstance(error, RequestValidationError)  # noqa: S101
    found = [
        {"place": ".".join(map(str, each["loc"])), "detail": each["msg"]} for each in error.errors()
    ]
    is_json = all(each["type"] != "json_invalid" for each in error.errors())
    words = "; ".join(f"{each['place']}: {each['detail']}" for each in found[:5])
    return problem(422 if is_json else 400, "input" if is_json else "json", words, errors=found)


def _http_error(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)  # noqa: S101
    if request.scope["path"].startswith(f"{request.scope['root_path']}/api/"):
        kind = KINDS.get(error.status_code, "http")
        response: JSONResponse = problem(error.status_code, kind, str(error.detail))
        response.headers.update(error.headers or {})
        if error.status_code == METHOD:
            response.headers["allow"] = ", ".join(sorted(_methods(request)))
        return response
    return pages.error(request, error.status_code, str(error.detail))


def _methods(request: Request) -> set[str]:
    """What can be done at a path; Starlette names what the first route of several can."""
    found = set[str]()
    for router in ROUTERS:
        for route in router.routes:
            if route.matches(request.scope)[0] != Match.NONE:
                found |= getattr(route, "methods", set())
    return found


def _too_deep(_request: Request, _error: Exception) -> Response:
    return problem(400, "json", TOO_DEEP)
