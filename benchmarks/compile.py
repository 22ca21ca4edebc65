"""Seconds of processor time until the first run, from nothing and from the cache.

    python benchmarks/compile.py [--repeats 2]

Each line is a process of its own with an empty cache, then another one with what the first has
left. "and then" is what a second strategy costs beside the first.
"""

import argparse
import os
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

CASES = {
    "uniform, paper": ["ft.Strategy('uniform', threshold='paper')"],
    "uniform, mixture": ["ft.Strategy('uniform', stopping='glr')"],
    "lebai, top-wrong": ["ft.Strategy()"],
    "lebai, paper": ["ft.Strategy(threshold='paper')"],
    "lebai, top-wrong, and then uniform": ["ft.Strategy()", "ft.Strategy('uniform')"],
    "lebai, top-wrong, and then a study": ["ft.Strategy()", "study"],
}
SCRIPT = """
import sys, time
import furthest as ft
instance = ft.hard()
for case in sys.argv[1:]:
    if case == "study":
        study = ft.Study.create("a", instance.problem, 0.1, "sqlite:///" + sys.argv[0] + ".db")
        study.ask()
    else:
        ft.simulate(instance.problem, instance.mu, eval(case), runs=1)
print(time.process_time())
"""


def seconds(cases: list[str], folder: Path, cache: Path) -> float:
    """Processor time of one process."""
    script = folder / "script.py"
    script.write_text(SCRIPT, encoding="utf-8")
    done = subprocess.run(
        [sys.executable, script, *cases],
        env=os.environ | {"NUMBA_CACHE_DIR": str(cache)},
        capture_output=True,
        text=True,
        check=True,
    )
    return float(done.stdout)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=1)
    repeats = parser.parse_args().repeats
    print(f"{'':<38}{'cold':>8}{'warm':>8}")
    for name, cases in CASES.items():
        found = []
        for _ in range(repeats):
            with TemporaryDirectory() as folder:
                place = Path(folder)
                first = seconds(cases, place, place / "cache")
                (place / "script.py.db").unlink(missing_ok=True)
                found.append((first, seconds(cases, place, place / "cache")))
        cold, warm = (min(column) for column in zip(*found, strict=True))
        print(f"{name:<38}{cold:>8.1f}{warm:>8.1f}", flush=True)


if __name__ == "__main__":
    main()
