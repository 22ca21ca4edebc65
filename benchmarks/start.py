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
COMMANDS: dict[str, tuple[str, ...]] = {
    "import furthest": ("-c", "import furthest"),
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


class Place(NamedTuple):
    """Where calls are made: by which Python, of which sources, with which cache and database."""

    python: str
    source: Path | None
    folder: Path

    def call(self, *arguments: str) -> str:
        """What it prints."""
        environment = os.environ | {"NUMBA_CACHE_DIR": str(self.folder / "cache")}
        if self.source is not None:
            environment["PYTHONPATH"] = str(self.source.resolve())
        command = arguments if arguments[0] == "-c" else ("-m", "furthest", *arguments)
        done = subprocess.run(
            [self.python, *command],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    def cost(self, *arguments: str) -> Cost:
        """What a call takes, its children included."""
        before, begun = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
        self.call(*arguments)
        wall, after = time.perf_counter() - begun, resource.getrusage(resource.RUSAGE_CHILDREN)
        spent = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
        return Cost(round(spent, 2), round(wall, 2))

    def study_arguments(self, name: str, attempt: int) -> list[str]:
        """A command of the study, so that it can be given twice."""
        words = list(STUDY[name])
        if name == "study create" and attempt:
            words[2] = "again"
        if name == "study tell":
            trial = json.loads(self.call("study", "ask", "paint", "--json"))[0]["id"]
            words += [trial, "0.5"]
        return words


def measure(python: str, source: Path | None) -> dict[str, list[Cost]]:
    """First and second call of everything."""
    found: dict[str, list[Cost]] = {}
    for name, arguments in COMMANDS.items():
        with TemporaryDirectory() as folder:
            place = Place(python, source, Path(folder))
            found[name] = [place.cost(*arguments) for _ in range(2)]
        show(name, found[name])
    with TemporaryDirectory() as folder:
        place = Place(python, source, Path(folder))
        (place.folder / "problem.toml").write_text(PROBLEM, encoding="utf-8")
        for name in STUDY:
            found[name] = [place.cost(*place.study_arguments(name, call)) for call in range(2)]
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
