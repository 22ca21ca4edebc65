"""The wait at the start: the first and the second call of everything, in processes of their own.

    python benchmarks/start.py [--python .venv/bin/python] [--source ../other/src] [--repeats 3]

The first call of a sequence finds an empty cache of compiled code, the second what the first has
left; the calls of one sequence follow one another in one folder, so each has what the ones before
it have compiled. Seconds of processor time, all processes together, and of wall time: the mean and
its standard error. Another version is measured by its sources (`--source`) or by the Python it is
installed for.
"""

import argparse
import json
import os
import resource
import statistics
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
# Two rules in one process: the second finds what the first has compiled, stored or not.
BOTH = """
import furthest as ft
instance = ft.hard()
for rule in ("lebai", "lingame"):
    ft.simulate(instance.problem, instance.mu, ft.Strategy(rule), runs=10)
"""
SIMULATE = ("simulate", "hard", "--runs", "10")
SEQUENCES: list[dict[str, tuple[str, ...]]] = [
    {"import furthest": ("-c", "import furthest")},
    {"--help": ("--help",)},
    {
        "simulate hard --runs 10": SIMULATE,
        "and then --sampling lingame": (*SIMULATE, "--sampling", "lingame"),
        "and then --sampling uniform": (*SIMULATE, "--sampling", "uniform"),
    },
    {"lebai and lingame in one process": ("-c", BOTH)},
    {"complexity hard": ("complexity", "hard")},
    {"compare hard --sampling all": ("compare", "hard", "--sampling", "all", "--runs", "10")},
    {
        "study create": ("study", "create", "paint", "problem.toml", "--delta", "0.01"),
        "study ask": ("study", "ask", "paint"),
        "study tell": ("study", "tell", "paint"),
        "study show": ("study", "show", "paint"),
        "study show --foresight": ("study", "show", "paint", "--foresight"),
    },
]


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

    def arguments(self, name: str, words: tuple[str, ...], attempt: int) -> list[str]:
        """What is called; a study's commands so that they can be given twice."""
        if name == "study create" and attempt:
            return [*words[:2], "again", *words[3:]]
        if name == "study tell":
            trial = json.loads(self.call("study", "ask", "paint", "--json"))[0]["id"]
            return [*words, trial, "0.5"]
        return list(words)


Found = dict[str, list[list[Cost]]]


def measure(python: str, source: Path | None, found: Found) -> None:
    """First and second call of everything, once more."""
    for sequence in SEQUENCES:
        with TemporaryDirectory() as folder:
            place = Place(python, source, Path(folder))
            (place.folder / "problem.toml").write_text(PROBLEM, encoding="utf-8")
            for name, words in sequence.items():
                calls = [place.cost(*place.arguments(name, words, call)) for call in range(2)]
                found.setdefault(name, []).append(calls)


def summary(numbers: list[float]) -> str:
    """Mean and standard error."""
    mean = statistics.fmean(numbers)
    if len(numbers) == 1:
        return f"{mean:.2f}"
    return f"{mean:.2f} ± {statistics.stdev(numbers) / len(numbers) ** 0.5:.2f}"


def show(found: Found) -> None:
    """The table."""
    print(f"{'':<34}{'first':>15}{'wall':>15}{'second':>15}{'wall':>15}")
    for name, repeats in found.items():
        cells = [[getattr(c[k], what) for c in repeats] for k in range(2) for what in Cost._fields]
        print(f"{name:<34}" + "".join(f"{summary(cell):>15}" for cell in cells))


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default=sys.executable)
    parser.add_argument("--source", type=Path)
    parser.add_argument("--repeats", type=int, default=1)
    parser.add_argument("--json", type=Path)
    arguments = parser.parse_args()
    found: Found = {}
    for repeat in range(arguments.repeats):
        print(f"repeat {repeat + 1} of {arguments.repeats} ...", file=sys.stderr, flush=True)
        measure(arguments.python, arguments.source, found)
    show(found)
    if arguments.json:
        arguments.json.write_text(json.dumps(found), encoding="utf-8")


if __name__ == "__main__":
    main()
