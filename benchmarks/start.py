"""The wait at the start: the first and the second call of everything, in processes of their own.

    python benchmarks/start.py [--python .venv/bin/python] [--source ../other/src] [--json FILE]

The first call of a column finds an empty cache of compiled code, the second what the first has
left; `study` commands follow one another in one folder, so each first call has what the ones
before it have compiled. Seconds of processor time, all processes together, and of wall time.
Another version is measured by its sources (`--source`) or by the Python it is installed for.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

PROBLEM = """
eps = 0.05
notion = "additive"
sigma = 1.0
arms = [[1.0, 0.0], [0.0, 1.0], [0.9, 0.3], [0.5, 0.5]]
"""
IMPORT = ("-c", "import furthest")
# What is measured, and whether it may use what those before it have compiled.
COMMANDS: dict[str, tuple[str, ...]] = {
    "import furthest": IMPORT,
    "--help": ("--help",),
    "simulate hard --runs 10": ("simulate", "hard", "--runs", "10"),
    "complexity hard": ("complexity", "hard"),
    "compare hard --sampling all": ("compare", "hard", "--sampling", "all", "--runs", "10"),
}
STUDY: dict[str, tuple[str, ...]] = {
    "study create": ("study", "create", "paint", "problem.toml", "--delta", "0.01"),
    "study ask": ("study", "ask", "paint"),
    "study tell": ("study", "tell", "paint"),
    "study show": ("study", "show", "paint"),
    "study show --foresight": ("study", "show", "paint", "--foresight"),
}


class Cost(NamedTuple):
    """What one call takes."""

    processor: float
    wall: float


def cost(python: str, folder: Path, source: Path | None, *arguments: str) -> Cost:
    """Of one call, its children included."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache"), "COLUMNS": "120"}
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve())
    command = arguments if arguments[0] == "-c" else ("-m", "furthest", *arguments)
    before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        [python, *command], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stderr
    spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Cost(round(spent, 2), round(wall, 2))


def trial(python: str, folder: Path, source: Path | None) -> str:
    """A trial of the study that waits for its result."""
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    if source is not None:
        environment["PYTHONPATH"] = str(source.resolve())
    done = subprocess.run(
        [python, "-m", "furthest", "study", "ask", "paint", "--json"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return str(json.loads(done.stdout)[0]["id"])


def measure(python: str, source: Path | None) -> dict[str, list[Cost]]:
    """First and second call of everything."""
    found: dict[str, list[Cost]] = {}
    for name, arguments in COMMANDS.items():
        with TemporaryDirectory() as place:
            found[name] = [cost(python, Path(place), source, *arguments) for _ in range(2)]
        show(name, found[name])
    with TemporaryDirectory() as place:
        folder = Path(place)
        (folder / "problem.toml").write_text(PROBLEM, encoding="utf-8")
        for name, arguments in STUDY.items():
            found[name] = []
            for attempt in range(2):
                words = list(arguments)
                if name == "study create" and attempt:
                    words[2] = "again"
                if name == "study tell":
                    words += [trial(python, folder, source), "0.5"]
                found[name].append(cost(python, folder, source, *words))
            show(name, found[name])
    return found


def show(name: str, calls: list[Cost]) -> None:
    """One line of the table."""
    cells = "".join(f"{call.processor:>10.2f}{call.wall:>8.2f}" for call in calls)
    print(f"{name:<30}{cells}", flush=True)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    print(f"{'':<30}{'first':>10}{'wall':>8}{'second':>10}{'wall':>8}")
    found = measure(arguments.python, arguments.source)
    if arguments.json:
        arguments.json.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
