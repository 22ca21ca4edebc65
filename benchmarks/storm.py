"""Storms of kill −9 over SQLite, PostgreSQL and the runner: what is lost, doubled or left behind.

    python benchmarks/storm.py [--kills 400] [--workers 4] [--crashes 10]

PostgreSQL is a private server (as in the tests), which itself crashes in the middle, so many times.
Ends with code 1 if there was any harm or there is no server. Needs Linux: orphans are sought in
/proc.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

# In place of this folder: it has a `study` of its own.
sys.path[0] = str(Path(__file__).resolve().parent.parent / "tests")

from servers import Server, binaries, private_server  # noqa: E402
from study.storm import HARMS, Found, run, storm, work  # noqa: E402


def crashing(server: Server, moments: set[int]) -> Callable[[int], None]:
    """The server goes down, as by kill −9, before these kills of its clients."""

    def before(number: int) -> None:
        if number in moments:
            server.stop()
            server.start()

    return before


def storms(kills: int, workers: int, crashes: int) -> Iterator[tuple[str, Found]]:
    """One after the other, by name."""
    bin_folder = binaries()
    if bin_folder is None:
        sys.exit("no PostgreSQL server (initdb, pg_ctl, postgres) on this machine")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/storm.db"
        yield "SQLite", storm(work, url, folder, kills, workers)
    with tempfile.TemporaryDirectory() as name, private_server(bin_folder) as server:
        moments = {round((crash + 0.5) * kills / crashes) for crash in range(crashes)}
        before = crashing(server, moments)
        yield "PostgreSQL", storm(work, server.url("public"), Path(name), kills, workers, before)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        url = f"sqlite:///{folder}/storm.db"
        yield "runner", storm(run, url, folder, kills, workers)


def main() -> int:
    """A table with a row per storm; 1 if there was any harm."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=400, help="in each storm")
    parser.add_argument("--workers", type=int, default=4, help="processes at a time")
    parser.add_argument("--crashes", type=int, default=10, help="of the server")
    arguments = parser.parse_args()
    print(f"{'storm':10}", *Found._fields, sep="  ", flush=True)
    harm = 0
    for name, found in storms(arguments.kills, arguments.workers, arguments.crashes):
        cells = (f"{value:{len(key)}.0f}" for key, value in found._asdict().items())
        print(f"{name:10}", *cells, sep="  ", flush=True)
        harm += sum(getattr(found, each) for each in HARMS)
    return int(harm > 0)


if __name__ == "__main__":
    sys.exit(main())
