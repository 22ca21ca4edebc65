"""Command lines, problem files, and damaged databases and archives by the thousand.

    python benchmarks/fuzz.py commands --count 20000 --jobs 2
    python benchmarks/fuzz.py files --count 5000
    python benchmarks/fuzz.py databases --count 2000
    python benchmarks/fuzz.py commands --seed 0 --only 17

Every case is a function of the seed and its number. Whatever they say, the program must answer with
a documented exit code and a sentence: no traceback, no signal, no hang, no control characters, and
nothing that was changed may be called verified. Bad cases are kept in a folder each, with the
command lines and all that they said. Exit code 1 if there is one.
"""

import argparse
import gc
import json
import multiprocessing
import os
import random
import shutil
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, Protocol

# The processes share the cores already.
os.environ["OPENBLAS_NUM_THREADS"] = "1"
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.fuzzing.runner import Case, Line, Outcome, judge, run_all

from furthest.bars import bar

# Where a sync costs nothing, if there is such a place.
MEMORY = next((place for place in ("/dev/shm",) if os.access(place, os.W_OK)), None)  # noqa: S108


# Kinds that are counted, but are no fault of the program.
NO_FAULT = "unprotected"


class Target(Protocol):
    """One kind of input."""

    def make(self, rng: random.Random, folder: Path) -> Case:
        """Command lines, one after the other, and in the folder what they need."""


class Verdict(NamedTuple):
    """What became of one case."""

    number: int
    codes: list[int]
    bad: list[str]
    found: list[str]  # the same, with what is counted and no fault
    seconds: float  # of processor time


def make_target(name: str, template: Path, *, quick: bool) -> Target:
    """One of the three; importing them loads the program. The template is theirs to fill."""
    from benchmarks.fuzzing.commands import Commands
    from benchmarks.fuzzing.databases import Databases
    from benchmarks.fuzzing.files import Files

    if name == "commands":
        return Commands(template, quick=quick)
    return Files(template) if name == "files" else Databases(template)


def warm_up(folder: Path, *, quick: bool) -> None:
    """Import all, and load or compile what the cases may need, before the forks."""
    from benchmarks.fuzzing.commands import QUICK, STRATEGIES

    import furthest.paper.reproduction  # noqa: F401
    from furthest.plots import pyplot

    pyplot()
    lines = [["rules", "--json"], ["complexity", "two.toml"], ["compare", "two.toml", "--runs=1"]]
    for sampling, stopping, threshold in QUICK if quick else STRATEGIES:
        words = ["--sampling", sampling, "--runs=1", "--max-rounds=20"]
        words += ["--stopping", stopping] if stopping else []
        words += ["--threshold", threshold] if threshold else []
        words += ["--option", "weights=0.5,0.5"] if sampling == "fixed" else []
        lines.append(["simulate", "two.toml", *words])
    lines.append(["simulate", "unknown.toml", "--runs=1", "--max-rounds=20"])
    here = Path.cwd()
    with tempfile.TemporaryDirectory() as place:
        shutil.copytree(folder, place, dirs_exist_ok=True, symlinks=True)
        os.chdir(place)
        try:
            for words in lines:
                _call(words)
        finally:
            os.chdir(here)


def _call(words: list[str]) -> None:
    """The program in this very process."""
    from contextlib import redirect_stdout

    from furthest.cli import main

    sys.argv = ["furthest", *words]
    try:
        with Path(os.devnull).open("w") as nothing, redirect_stdout(nothing):
            main()
    except SystemExit as end:
        if end.code:
            raise RuntimeError(f"could not warm up with {words}") from None


def one_case(target: Target, name: str, seed: int, keep: Path, number: int) -> Verdict:
    """Make a case, run it, judge it; keep it if it is bad."""
    rng = random.Random(f"{name}/{seed}/{number}")  # noqa: S311
    with tempfile.TemporaryDirectory(prefix="fuzz-", dir=MEMORY) as place:
        folder = Path(place)
        case = target.make(rng, folder)
        outcomes = run_all(case.lines, folder)
        found = [each for pair in zip(case.lines, outcomes, strict=False) for each in judge(*pair)]
        found += case.judge(outcomes)
        bad = [each for each in found if not each.startswith(NO_FAULT)]
        if bad:
            _keep(keep / f"{name}-{seed}-{number}", folder, case.lines, outcomes, found)
    seconds = sum(outcome.seconds for outcome in outcomes)
    return Verdict(number, [outcome.code for outcome in outcomes], bad, found, seconds)


def _keep(
    place: Path, folder: Path, lines: list[Line], outcomes: list[Outcome], bad: list[str]
) -> None:
    shutil.rmtree(place, ignore_errors=True)
    shutil.copytree(folder, place, symlinks=True, ignore_dangling_symlinks=True)
    case = {"bad": bad, "lines": [each._asdict() for each in lines]}
    case["outcomes"] = [each._asdict() for each in outcomes]
    (place / "case.json").write_text(json.dumps(case, indent=1) + "\n")


# What the forked workers inherit, instead of having it sent with every case.
_WORK: list[Callable[[int], Verdict]] = [lambda number: Verdict(number, [], [], [], 0.0)]


def _work(number: int) -> Verdict:
    return _WORK[0](number)


def fuzz(
    name: str,
    numbers: Iterable[int],
    seed: int = 0,
    jobs: int = 1,
    keep: Path = Path("out/fuzz"),
    *,
    quick: bool = False,
) -> Iterator[Verdict]:
    """The verdicts on these cases of one target, as they are finished."""
    with tempfile.TemporaryDirectory(prefix="fuzz-template-") as place:
        target = make_target(name, Path(place), quick=quick)
        warm_up(Path(place), quick=quick)
        _WORK[0] = partial(one_case, target, name, seed, keep)
        gc.collect()
        gc.freeze()  # what is there now is never copied for a fork
        with ProcessPoolExecutor(jobs, multiprocessing.get_context("fork")) as pool:
            waiting = [pool.submit(_work, number) for number in numbers]
            for done in as_completed(waiting):
                yield done.result()


def summary(verdicts: list[Verdict]) -> dict[str, Any]:
    """Counts, as plain data."""
    codes = Counter(code for verdict in verdicts for code in verdict.codes)
    kinds = Counter(text.partition(":")[0] for verdict in verdicts for text in verdict.found)
    return {
        "cases": len(verdicts),
        "lines": sum(codes.values()),
        "exit_codes": {str(code): count for code, count in sorted(codes.items())},
        "bad_cases": sum(bool(verdict.bad) for verdict in verdicts),
        **{kind: kinds.pop(kind, 0) for kind in ("traceback", "hang", "signal", "forgery")},
        "others": dict(kinds),
        "seconds": round(sum(verdict.seconds for verdict in verdicts), 1),
    }


def main() -> int:
    """Fuzz, report, and say whether all went well."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("target", choices=("commands", "files", "databases"))
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--only", type=int, help="one case, by its number")
    parser.add_argument("--keep", type=Path, default=Path("out/fuzz"), help="folder for bad cases")
    parser.add_argument("--quick", action="store_true", help="few strategies, little to compile")
    options = parser.parse_args()
    numbers = range(options.count) if options.only is None else [options.only]
    verdicts: list[Verdict] = []
    bad = 0
    started = time.perf_counter()
    keep = options.keep.resolve()
    cases = fuzz(options.target, numbers, options.seed, options.jobs, keep, quick=options.quick)
    with bar(options.target, len(numbers)) as drawn:
        for verdict in cases:
            verdicts.append(verdict)
            bad += bool(verdict.bad)
            drawn.advance(1, text=f"{bad} bad")
            for text in verdict.bad:
                again = f"{options.target} --seed {options.seed} --only {verdict.number}"
                print(f"{again}: {ascii(text)[1:-1]}", file=sys.stderr, flush=True)
    found = {"target": options.target, "seed": options.seed, **summary(verdicts)}
    print(json.dumps(found | {"wall_seconds": round(time.perf_counter() - started, 1)}))
    if bad:
        print(f"{bad} bad cases are kept in {keep}", file=sys.stderr)
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
