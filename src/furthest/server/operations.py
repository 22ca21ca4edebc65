"""What whoever runs the service looks at: whether it lives and is ready, figures, and a log."""

import json
import logging
import sys
import threading
import time
from typing import Any

from fastapi import APIRouter, Request
from fastapi.responses import JSONResponse, Response
from prometheus_client import CONTENT_TYPE_LATEST, CollectorRegistry, Counter, Gauge, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.multiprocess import MultiProcessCollector
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from furthest import __version__, beforehand
from furthest.errors import FurthestError
from furthest.server.hosting import Hosting
from furthest.server.problems import problem
from furthest.server.security import client_of

REGISTRY = CollectorRegistry()
REQUESTS = Counter(
    "furthest_requests", "Requests answered.", ["method", "route", "status"], registry=REGISTRY
)
SECONDS = Histogram(
    "furthest_request_seconds",
    "Seconds until a response began.",
    ["method", "route"],
    registry=REGISTRY,
    buckets=(0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10),
)

# Where several processes leave their figures for whichever is asked.
SHARED_FIGURES = "PROMETHEUS_MULTIPROC_DIR"

log = logging.getLogger("furthest.server")

router = APIRouter(include_in_schema=False)


class Readiness:
    """Whether everything is compiled that the studies need; found out in a thread of its own."""

    def __init__(self, hosting: Hosting) -> None:
        self._hosting = hosting
        self.compiled = 0
        self._ready = threading.Event()

    def begin(self) -> None:
        """Compile, or load from disk, while the first requests may wait already."""
        threading.Thread(target=self._prepare, name="furthest-prepare", daemon=True).start()

    def _prepare(self) -> None:
        for piece in beforehand.default():
            self.compiled += beforehand.compiled(piece).kernels
        seen = set()
        try:
            for row in self._hosting.rows():
                if row["state"] == "running" and (words := self._words(row["name"])) not in seen:
                    seen.add(words)
                    self._hosting.on(row["name"], lambda study: study.status())
        except FurthestError as error:
            log.warning(json.dumps({"event": "prepare", "error": str(error)}))
        self._ready.set()
        log.info(json.dumps({"event": "ready", "compiled": self.compiled}))

    def _words(self, name: str) -> str:
        """What a study's machine code depends on."""
        settings = self._hosting.open(name).settings
        return json.dumps([settings.strategy.describe(), settings.problem.noise_words])

    @property
    def is_ready(self) -> bool:
        """Whether a request would wait for no compiler."""
        return self._ready.is_set()


@router.get("/healthz")
def health() -> Response:
    """The process lives."""
    return JSONResponse({"status": "ok", "version": __version__})


@router.get("/readyz")
def ready(request: Request) -> Response:
    """Kernels are compiled, and the storage answers."""
    state = request.app.state
    if not state.readiness.is_ready:
        return problem(503, "compiling", "kernels are being compiled")
    state.hosting.storage.studies()
    return JSONResponse({"status": "ready", "compiled": state.readiness.compiled})


@router.get("/metrics")
def metrics(request: Request) -> Response:
    """For Prometheus: what all processes have answered, and what the studies come to."""
    requests = REGISTRY
    if request.app.state.options.workers > 1:
        requests = CollectorRegistry()
        MultiProcessCollector(requests)  # type: ignore[no-untyped-call]
    figures = generate_latest(requests) + generate_latest(_figures_of(request.app.state.hosting))
    return Response(figures, media_type=CONTENT_TYPE_LATEST)


def _figures_of(hosting: Hosting) -> CollectorRegistry:
    found, rows = CollectorRegistry(), hosting.rows()
    studies = Gauge("furthest_studies", "Studies in the storage.", ["state"], registry=found)
    measured = Gauge("furthest_measurements", "Results told.", registry=found)
    pending = Gauge("furthest_pending_trials", "Trials that are waited for.", registry=found)
    for row in rows:
        studies.labels(row["state"]).inc()
        measured.inc(row["measurements"] or 0)
        pending.inc(row["pending"] or 0)
    return found


class Account:
    """Counts every request, and writes a line of JSON for it: no query, no header, no body."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Watch what is answered."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        began, status, first = time.perf_counter(), 500, 0.0

        async def watching(message: Message) -> None:
            nonlocal status, first
            if message["type"] == "http.response.start":
                status, first = message["status"], time.perf_counter() - began
            await send(message)

        try:
            await self._app(scope, receive, watching)
        finally:
            _note(scope, status, first or time.perf_counter() - began)


def _note(scope: Scope, status: int, seconds: float) -> None:
    route = getattr(scope.get("route"), "path", "none")
    REQUESTS.labels(scope["method"], route, status).inc()
    SECONDS.labels(scope["method"], route).observe(seconds)
    log.info(
        json.dumps(
            {
                "event": "request",
                "client": client_of(scope),
                "method": scope["method"],
                "path": scope["path"],
                "status": status,
                "ms": round(1000 * seconds, 1),
            }
        )
    )


def log_to_standard_error() -> None:
    """Every line one JSON object with its moment and level."""

    class Lines(logging.Formatter):
        def format(self, record: logging.LogRecord) -> str:
            line: dict[str, Any] = {
                "at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(record.created)),
                "level": record.levelname.lower(),
            }
            text = record.getMessage()
            line |= json.loads(text) if record.name == log.name else {"event": text}
            if record.exc_info:
                line["error"] = self.formatException(record.exc_info)
            return json.dumps(line, ensure_ascii=False)

    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(Lines())
    for name, level in ((log.name, logging.INFO), ("uvicorn", logging.WARNING)):
        logger = logging.getLogger(name)
        logger.handlers, logger.propagate = [handler], False
        logger.setLevel(level)
