"""Load on the service: 64 clients at once ask and tell; then the same while it is killed.

    python benchmarks/load.py [--clients 64] [--rounds 2000] [--seconds 60] [--only sqlite]

Starts `furthest serve` on an SQLite file and on a private PostgreSQL server, with one process and
with two, and lets the clients, coroutines of this process with a connection each, ask and tell in
turn: all on one study, or spread over 16. K = 20 arms, d = 12 unless told otherwise. Prints rounds
per second, p50/p90/p99 of each verb, and the processor time of the service per round: the machine
may have other work. What was acknowledged is compared with the log: results that are lost, doubled
or of another value, trials that were handed out twice; and the log is verified. In the runs with
kills the service is killed by kill −9 and started again, several times; clients try again. At last
64 listeners wait for the events of a study. Ends with code 1 if there was any harm.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

# In place of this folder: it has a `study` of its own.
sys.path[0] = str(Path(__file__).resolve().parent.parent / "tests")

import furthest as ft  # noqa: E402
from furthest.study.certificate import verify  # noqa: E402
from servers import binaries, new_schema, private_server  # noqa: E402

VERBS = ("ask", "tell")

# Seconds between two attempts to reach a service that is not there.
PAUSE = 0.02


class Client:
    """One connection, kept open; another one when it is lost. Far less work than the service's."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def post(self, path: str, body: Any) -> tuple[int, Any]:
        """Until there is an answer that is not "try again"."""
        while True:
            with suppress(OSError, EOFError):
                status, data = await self._send(path, json.dumps(body).encode())
                if status != 503:
                    return status, data
            self.close()
            await asyncio.sleep(PAUSE)

    async def _send(self, path: str, body: bytes) -> tuple[int, Any]:
        if self._streams is None:
            self._streams = await asyncio.open_connection("127.0.0.1", self._port)
        reader, writer = self._streams
        head = f"POST {path} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        writer.write(f"{head}Content-Length: {len(body)}\r\n\r\n".encode() + body)
        found = await reader.readuntil(b"\r\n\r\n")
        size = int(found.lower().partition(b"content-length:")[2].split(b"\r\n")[0])
        return int(found.split()[1]), json.loads(await reader.readexactly(size))

    def close(self) -> None:
        """Let go of the connection."""
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


class Load:
    """What the clients do, and what they are told."""

    def __init__(self, port: int, rounds: int, seconds: float) -> None:
        self.port = port
        self.left = rounds
        self.until = time.monotonic() + seconds
        self.times: dict[str, list[float]] = {verb: [] for verb in VERBS}
        self.handed_out = Counter[str]()
        self.acknowledged: dict[str, float] = {}

    async def work(self, number: int, study: str) -> None:
        """Ask and tell in turn."""
        client, path = Client(self.port), f"/api/v1/studies/{quote(study, '')}"
        rng = np.random.default_rng(number)
        while self.left > 0 and time.monotonic() < self.until:
            self.left -= 1
            data = await self._timed(client, path, "ask", {"n": 1})
            trial = data["trials"][0]["id"]
            self.handed_out[trial] += 1
            value = float(rng.standard_normal())
            await self._timed(client, path, "tell", {"trial": trial, "value": value})
            self.acknowledged[trial] = value
        client.close()

    async def _timed(self, client: Client, path: str, verb: str, body: Any) -> Any:
        began = time.perf_counter()
        status, data = await client.post(f"{path}/{verb}", body)
        self.times[verb].append(time.perf_counter() - began)
        if status != 200:
            raise RuntimeError(f"{path}/{verb}: {status} {data}")
        return data


class Server:
    """`furthest serve` on one port, which can be killed and started again."""

    def __init__(self, storage: str, workers: int, folder: Path) -> None:
        self._words = ["--storage", storage, "--workers", str(workers), "--rate", "1000000"]
        self._folder = folder
        self._spent = 0.0  # seconds of the processor, of those that were killed
        self.port = 0
        self.start()

    def start(self) -> None:
        """Returns when it is ready."""
        words = [sys.executable, "-m", "furthest", "serve", "--port", str(self.port), *self._words]
        with (self._folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                words, stdout=subprocess.PIPE, stderr=log, text=True, process_group=0
            )
        assert self.process.stdout is not None
        self.port = int(self.process.stdout.readline().partition(" ")[0].split(":")[2].strip("/"))

    def kill(self) -> None:
        """All of its processes, as by kill −9."""
        self._spent = self.processor()
        with suppress(ProcessLookupError):
            os.killpg(self.process.pid, 9)
        self.process.wait()
        assert self.process.stdout is not None
        self.process.stdout.close()

    def processor(self) -> float:
        """Seconds of the processor until now, of all processes."""
        return self._spent + sum(_processor(each) for each in _family(self.process.pid))

    def errors(self) -> int:
        """Lines of the log that say that something went wrong."""
        return (self._folder / "log").read_text().count('"level": "error"')


def _family(group: int) -> Iterator[Path]:
    """Processes of a group."""
    for each in Path("/proc").glob("[0-9]*/stat"):
        with suppress(OSError):
            if int(each.read_text().rpartition(")")[2].split()[2]) == group:
                yield each


def _processor(stat: Path) -> float:
    with suppress(OSError):
        fields = stat.read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return 0.0


class Harm(NamedTuple):
    """What must not be."""

    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    handed_out_twice: int = 0
    unverified: int = 0


def harm(storage: str, names: list[str], load: Load) -> Harm:
    """Compare what was acknowledged with the logs."""
    told, doubled, unverified = dict[str, float | None](), 0, 0
    for name in names:
        study = ft.Study.load(name, storage)
        events = study.events()
        results = [event for event in events if event.kind == "told"]
        doubled += len(results) - len({event.trial for event in results})
        told |= {event.trial: event.value for event in results}
        unverified += verify(name, events).measurements != len(results)
        study.close()
    common = load.acknowledged.keys() & told.keys()
    return Harm(
        len(load.acknowledged.keys() - told.keys()),
        doubled,
        sum(load.acknowledged[trial] != told[trial] for trial in common),
        sum(count > 1 for count in load.handed_out.values()),
        unverified,
    )


def question(options: argparse.Namespace) -> ft.Problem:
    """One that takes longer than any load lasts."""
    arms = np.random.default_rng(0).normal(size=(options.arms, options.dimension))
    return ft.Problem(arms / np.linalg.norm(arms, axis=1, keepdims=True), eps=1e-6)


async def loaded(server: Server, load: Load, names: list[str], clients: int, kills: int) -> float:
    """Let the clients work; seconds that it took."""
    began, rounds = time.perf_counter(), load.left
    working = [load.work(i, names[i % len(names)]) for i in range(clients)]
    tasks = [asyncio.create_task(each) for each in working]
    for number in range(kills):
        until = rounds * (1 - (number + 1) / (kills + 1))
        while load.left > until and time.monotonic() < load.until:  # noqa: ASYNC110
            await asyncio.sleep(0.001)
        server.kill()
        await asyncio.to_thread(server.start)
    await asyncio.gather(*tasks)
    return time.perf_counter() - began


def one(
    kind: str, storage: str, workers: int, studies: int, kills: int, options: argparse.Namespace
) -> int:
    """A line of the table; how much harm was done."""
    names = [f"load {number}" for number in range(studies)]
    for name in names:
        ft.Study.create(name, question(options), storage=storage).close()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(storage, workers, Path(folder))
        try:
            asyncio.run(_ready(server.port))
            before = server.processor()
            load = Load(server.port, options.rounds, options.seconds)
            seconds = asyncio.run(loaded(server, load, names, options.clients, kills))
            spent, count = server.processor() - before, len(load.acknowledged)
            errors = server.errors()
        finally:
            server.kill()
    found = harm(storage, names, load)
    times = "  ".join(f"{verb} {_quantiles(load.times[verb])}" for verb in VERBS)
    print(
        f"{kind:10} {workers} process{'es' if workers > 1 else '  '} {studies:2} studies "
        f"{kills} kills: {count:6,} rounds, {count / seconds:6.1f} a second "
        f"(processor {1e3 * spent / count:5.1f} ms each)  {times}  "
        f"errors {errors} {found._asdict() if any(found) else 'no harm'}",
        flush=True,
    )
    return sum(found) + errors


async def _ready(port: int) -> None:
    """Wait until nothing has to be compiled any more."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(b"GET /readyz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        answer = await reader.read()
        writer.close()
        if b" 200 " in answer[:20]:
            return
        await asyncio.sleep(0.1)


def _quantiles(seconds: list[float]) -> str:
    return "/".join(f"{1e3 * each:.0f}" for each in np.quantile(seconds, (0.5, 0.9, 0.99))) + " ms"


async def listened(server: Server, path: str, listeners: int, results: int) -> list[float]:
    """Seconds from an acknowledged result until each listener knew of it, of all results."""
    streams = []
    for _ in range(listeners):
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(f"GET {path}/events HTTP/1.1\r\nHost: localhost\r\n\r\n".encode())
        streams.append((reader, writer))
    heard, times = [-1] * listeners, list[float]()

    async def listen(number: int) -> None:
        reader, _ = streams[number]
        while line := await reader.readline():
            if line.startswith(b"data: "):
                heard[number] = json.loads(line[6:])["measurements"]

    tasks = [asyncio.create_task(listen(number)) for number in range(listeners)]
    client = Client(server.port)
    for count in range(results + 1):
        if count:
            await client.post(f"{path}/add", {"arm": 0, "value": 0.5, "id": f"own {count}"})
        began, waiting = time.perf_counter(), set(range(listeners))
        while waiting:
            known = {each for each in waiting if heard[each] >= count}
            times += [time.perf_counter() - began] * (len(known) if count else 0)
            waiting -= known
            await asyncio.sleep(0.001)
    for task in tasks:
        task.cancel()
    for _, writer in streams:
        writer.close()
    client.close()
    return times


def listening(kind: str, storage: str, options: argparse.Namespace) -> int:
    """Listeners at once on one study."""
    ft.Study.create("heard", question(options), storage=storage).close()
    with tempfile.TemporaryDirectory() as folder:
        server = Server(storage, 1, Path(folder))
        try:
            asyncio.run(_ready(server.port))
            before = server.processor()
            work = listened(server, "/api/v1/studies/heard", options.clients, 20)
            times = asyncio.run(work)
            spent, errors = server.processor() - before, server.errors()
        finally:
            server.kill()
    print(
        f"{kind:10} {options.clients} listeners, 20 results: each heard of all of them, after "
        f"{_quantiles(times)}; processor {1e3 * spent / 20:.0f} ms a result; errors {errors}",
        flush=True,
    )
    return errors


@contextmanager
def places(options: argparse.Namespace) -> Iterator[list[tuple[str, int, Any]]]:
    """Databases, each with a number of processes, and what makes an empty place in it."""
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        numbers = iter(range(1_000))
        found: list[tuple[str, int, Any]] = [
            ("SQLite", 1, lambda: f"sqlite:///{folder}/{next(numbers)}.db")
        ]
        bin_folder = binaries()
        if bin_folder is None:
            print("no PostgreSQL server (initdb, pg_ctl, postgres) on this machine")
        elif options.only != "sqlite":
            server = stack.enter_context(private_server(bin_folder))
            found += [("PostgreSQL", n, lambda: server.url(new_schema(server))) for n in (1, 2)]
        yield found[1:] if options.only == "postgres" else found


def main() -> int:
    """All of it."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=2_000, help="of ask and tell, in each run")
    parser.add_argument("--seconds", type=float, default=60.0, help="that each run takes at most")
    parser.add_argument("--kills", type=int, default=3)
    parser.add_argument("--arms", type=int, default=20)
    parser.add_argument("--dimension", type=int, default=12)
    parser.add_argument("--only", choices=("sqlite", "postgres"))
    options = parser.parse_args()
    bad = 0
    with places(options) as found:
        for kind, workers, place in found:
            for studies, kills in ((1, 0), (16, 0), (1, options.kills), (16, options.kills)):
                bad += one(kind, place(), workers, studies, kills, options)
        for kind, workers, place in found:
            bad += listening(kind, place(), options) if workers == 1 else 0
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
