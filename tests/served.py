"""Storages behind a real server of their own, in a process that can be killed.

    python served.py PORT FOLDER [POSTGRES]

serves `/WAY/PLACE`: a SQLite file of the folder, or a schema of a PostgreSQL server. The ways:
`full`; `brief`, where a lock may be held for a moment only. With the token LOOK one may read.
"""

import contextlib
import re
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

TOKEN, LOOK = "to-write-1", "to-look-1"

# Seconds: far more than any test takes, and a moment.
HELD = {"full": 3600.0, "brief": 0.3}

# Bytes of a message: what some test goes beyond.
LONGEST = 2**24


class Served(NamedTuple):
    """A server that runs, and what is behind it."""

    process: Any
    port: int
    folder: Path
    postgres: str  # the URL of a place on a PostgreSQL server, with PLACE for its schema

    def url(self, place: str, way: str = "full") -> str:
        return f"http://127.0.0.1:{self.port}/{way}/{place}"

    def behind(self, url: str) -> str:
        """The database behind a place."""
        return database(url.rpartition("/")[2], str(self.folder), self.postgres)

    def kill(self) -> None:
        """As by kill −9."""
        self.process.kill()
        self.process.wait()
        self.process.stdout.close()

    def errors(self) -> str:
        """What it has written about what went wrong."""
        return (self.folder / "errors").read_text()

    def again(self) -> "Served":
        """The same one, started again."""
        return started(self.port, self.folder, self.postgres)


def database(place: str, folder: str, postgres: str) -> str:
    if place.startswith("place_"):
        return postgres.replace("PLACE", place)
    return f"sqlite:///{folder}/{place}.db"


def free_port() -> int:
    with contextlib.closing(socket.socket()) as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def started(port: int, folder: Path, postgres: str = "") -> Served:
    words = [sys.executable, __file__, str(port), str(folder), postgres]
    with (folder / "errors").open("ab") as errors:
        process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=errors)
    assert process.stdout is not None
    assert process.stdout.readline() == b"ready\n", (folder / "errors").read_text()
    return Served(process, port, folder, postgres)


@contextmanager
def served(folder: Path, postgres: str = "") -> Iterator[Served]:
    """A server that runs within the block; whatever clients did, nothing in it has failed."""
    server = started(free_port(), folder, postgres)
    try:
        yield server
    finally:
        server.kill()
    assert "Traceback" not in server.errors(), server.errors()


def app(folder: str, postgres: str) -> Any:
    """A minimal one around `furthest.server.wire`."""
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import WebSocketRoute
    from starlette.websockets import WebSocket

    from furthest.server import wire
    from furthest.study.messages import PATH
    from furthest.study.pool import Pool

    pools: dict[str, Pool] = {}

    async def storage(websocket: WebSocket) -> None:
        token = websocket.headers.get("authorization", "").removeprefix("Bearer ")
        if token not in (TOKEN, LOOK):
            await websocket.send_denial_response(Response("who?", 401))
            return
        way, place = (websocket.path_params[name] for name in ("way", "place"))
        if way not in HELD or not re.fullmatch(r"\w+", place):
            await websocket.send_denial_response(Response("what?", 404))
            return
        pool = pools.setdefault(place, Pool(database(place, folder, postgres), 4))
        await wire.serve(websocket, pool, may_write=token == TOKEN, held=HELD[way])

    return Starlette(routes=[WebSocketRoute(f"/{{way}}/{{place}}{PATH}", storage)])


def main(port: str, folder: str, postgres: str) -> None:
    import uvicorn

    config = uvicorn.Config(
        app(folder, postgres),
        port=int(port),
        ws="websockets-sansio",
        ws_max_size=LONGEST,
        log_level="warning",
        access_log=False,
    )

    class Ready(uvicorn.Server):
        async def startup(self, sockets: Any = None) -> None:
            await super().startup(sockets)
            print("ready", flush=True)

    Ready(config).run()


if __name__ == "__main__":
    main(*sys.argv[1:])
