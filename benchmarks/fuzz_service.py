"""Schemathesis against a real service: no 5xx, nothing that its own document does not say.

    python benchmarks/fuzz_service.py [--examples 450] [--seed 1] [--postgres]

Starts `furthest serve` on an empty database, puts a study of every kind into it (tests/fuzzed.py)
and asks about all of them. Prints how often each operation was answered how; ends with code 1 if an
answer was of the wrong status, type or shape, if the service's log has an error, or if in the end
some study does not open or its log does not lead to what it shows.
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

# In place of this folder: tests have their own modules.
sys.path[0] = str(Path(__file__).resolve().parent.parent / "tests")

from fuzzed import filled, fuzz, unverified  # noqa: E402
from servers import binaries, new_schema, private_server  # noqa: E402
from services import Service, served, wait_until_ready  # noqa: E402

# Trials to begin with in each study.
PENDING = 100


@contextmanager
def database(folder: Path, *, postgres: bool) -> Iterator[str]:
    """Of nobody else."""
    if not postgres:
        yield f"sqlite:///{folder}/fuzzed.db"
        return
    bin_folder = binaries()
    if bin_folder is None:
        sys.exit("no PostgreSQL server (initdb, pg_ctl, postgres) on this machine")
    with private_server(bin_folder) as server:
        yield server.url(new_schema(server))


def errors(log: Path) -> list[str]:
    """Lines of the service's log that say that something went wrong."""
    lines = log.read_text("utf-8").splitlines()
    return [line for line in lines if json.loads(line)["level"] in ("error", "critical")]


def judged(service: Service, log: Path, options: argparse.Namespace) -> int:
    """Ask, print; how much is wrong."""
    steering, began = filled(service, PENDING), time.perf_counter()
    found = fuzz(service, steering, options.examples, options.seed)
    seconds, operations = time.perf_counter() - began, sorted({key[0] for key in found.answers})
    for each in operations:
        statuses = {str(s): n for (label, s), n in found.answers.items() if label == each}
        print(f"{each:44}", "  ".join(f"{s}: {statuses[s]:,}" for s in sorted(statuses)))
    harm = found.failures | {f"log {i}": line for i, line in enumerate(errors(log))}
    unlike = unverified(service)
    for place, words in (harm | unlike).items():
        print(f"\n{place}\n{words}")
    studies = len(service.get("/api/v1/studies").data["studies"])
    print(
        f"{sum(found.answers.values()):,} requests in {seconds:.0f} s; {len(found.failures)} kinds "
        f"of failures, {len(errors(log))} errors in the log; of {studies} studies in the end "
        f"{len(unlike)} do not verify"
    )
    return len(harm) + len(unlike)


def main() -> int:
    """1 if anything is wrong."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--examples", type=int, default=450, help="of each operation")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgres", action="store_true", help="on a private server")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        log = folder / "log"
        with (
            database(folder, postgres=options.postgres) as url,
            log.open("w") as errors_to,
            served("--storage", url, "--rate", "100000", errors_to=errors_to, cwd=name) as process,
        ):
            wait_until_ready(process.service)
            return int(judged(process.service, log, options) > 0)


if __name__ == "__main__":
    sys.exit(main())
