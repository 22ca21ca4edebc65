"""Real services for the tests: in a thread of this process, or as a process of its own."""

import json
import os
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NamedTuple
from urllib.parse import quote

import pytest

pytest.importorskip("fastapi", reason="FastAPI is not installed: the extra serve")
import uvicorn

from furthest.server.app import create_app
from furthest.server.options import Options


class Answer(NamedTuple):
    status: int
    data: Any
    headers: Any

    @property
    def kind(self) -> str:
        """Of a problem."""
        assert self.headers["content-type"] == "application/problem+json"
        assert self.data["status"] == self.status
        return self.data["type"].removeprefix("urn:furthest:")


class Service:
    """A client of a service."""

    def __init__(
        self, url: str, token: str | None = None, context: Any = None, storage: str = ""
    ) -> None:
        self.url = url.rstrip("/")
        self.storage = storage
        self.headers = {} if token is None else {"authorization": f"Bearer {token}"}
        self.context = context

    def call(self, method: str, path: str, body: Any = None, **headers: str) -> Answer:
        data = body if body is None or isinstance(body, bytes) else json.dumps(body).encode()
        request = urllib.request.Request(f"{self.url}{path}", data, method=method)
        given = {"content-type": "application/json"} | self.headers
        for name, value in (given | {k.replace("_", "-"): v for k, v in headers.items()}).items():
            request.add_header(name, value)
        opener = urllib.request.build_opener(
            _Stay(), urllib.request.HTTPSHandler(context=self.context)
        )
        try:
            response = opener.open(request)
        except urllib.error.HTTPError as error:
            response = error
        with response:
            text = response.read()
            kind = response.headers.get("content-type", "")
            found = json.loads(text) if "json" in kind and text else text.decode()
            return Answer(response.status, found, response.headers)

    def get(self, path: str, **headers: str) -> Answer:
        return self.call("GET", path, **headers)

    def post(self, path: str, body: Any = None, **headers: str) -> Answer:
        return self.call("POST", path, {} if body is None else body, **headers)

    def study(self, name: str) -> str:
        return f"/api/v1/studies/{quote(name, '')}"


class _Stay(urllib.request.HTTPRedirectHandler):
    """Shows where it would lead."""

    def redirect_request(self, *_: Any) -> None:
        return None


class _Server(uvicorn.Server):
    """Says when it listens."""

    def __init__(self, config: uvicorn.Config) -> None:
        super().__init__(config)
        self.ready = threading.Event()

    async def startup(self, sockets: Any = None) -> None:
        await super().startup(sockets)
        self.ready.set()


@contextmanager
def serving(storage: str, **options: Any) -> Iterator[Service]:
    """A service in a thread, ready to be asked."""
    app = create_app(Options(storage, **options))
    config = uvicorn.Config(app, port=0, log_config=None, ws="websockets-sansio")
    server = _Server(config)
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        server.ready.wait()
        port = server.servers[0].sockets[0].getsockname()[1]
        yield Service(f"http://127.0.0.1:{port}{options.get('prefix', '')}", storage=storage)
    finally:
        server.should_exit = True
        app.state.topics.stop()
        thread.join()


class Process(NamedTuple):
    service: Service
    process: subprocess.Popen[str]


@contextmanager
def served(
    *arguments: str, cwd: Any = None, errors_to: Any = None, **environment: str
) -> Iterator[Process]:
    """`furthest serve` as a user starts it; its log goes to a file, or with ours."""
    command = [sys.executable, "-m", "furthest", "serve", "--port", "0", *arguments]
    with subprocess.Popen(
        command,
        cwd=cwd,
        env=os.environ | environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE if "FURTHEST_LOGS" in environment else errors_to,
        text=True,
    ) as process:
        try:
            url = process.stdout.readline().partition(" ")[0]
            assert url, "the service did not start"
            yield Process(Service(url), process)
        finally:
            if process.poll() is None:
                process.terminate()
                process.wait()


def on_port(port: int) -> Callable[[], None]:
    """A service for a page of the documentation; returns what ends it."""
    stack = ExitStack()
    stack.enter_context(served("--port", str(port)))
    return stack.close


def wait_until_ready(service: Service) -> Answer:
    """It compiles first."""
    while (answer := service.get("/readyz")).status != 200:
        assert answer.kind == "compiling"
        threading.Event().wait(0.1)
    return answer
