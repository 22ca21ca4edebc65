"""What it takes to look at a study with many answers: milliseconds of processor time against Z.

Random options on a sphere, all measured at random; ε is a twentieth of what their values span.
"test" is one complete test that accepts, at the level of the score; "status" is what `status()`
takes once the results are in; "verdicts" is that and a verdict on every answer.

    OPENBLAS_NUM_THREADS=1 python benchmarks/scale_status.py --plot status.svg
"""

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import furthest as ft
from furthest.kernels.evidence import Evidence
from furthest.stopping.nomination import Nominee
from furthest.verbs import judge

COLUMNS = ("test", "status", "verdicts")
PRICE_RADIUS, PRICE_LEVEL = 0, 4


def study_of(answers: int, dimension: int, measurements: int, folder: str) -> ft.Study:
    """A study that has taken in its results."""
    rng = np.random.default_rng(0)
    arms = rng.normal(size=(answers, dimension))
    arms /= np.linalg.norm(arms, axis=1, keepdims=True)
    mu = rng.normal(size=dimension)
    mu *= 2 / np.ptp(arms @ mu)
    problem = ft.Problem(arms, eps=0.1)
    where = f"sqlite:///{folder}/studies.db"
    study = ft.Study.create(f"{answers}", problem, 0.05, where, strategy=ft.Strategy("uniform"))
    drawn = [*problem.task.initial.tolist(), *rng.integers(answers, size=measurements).tolist()]
    study.tell_many([{"arm": arm, "value": float(arms[arm] @ mu + rng.normal())} for arm in drawn])
    return study


def complete_test(study: ft.Study, statistic: float) -> Callable[[], Any]:
    """The test at the level of the score, with nothing remembered from others."""
    fold = study._fold
    state, z = fold.state, fold.answer
    evidence: Evidence = state.evidence
    test = state.stopping.test
    slopes = np.ones_like(test.required)
    slopes[PRICE_RADIUS] = 2.0
    lower = statistic - 1e-9 - test.required[PRICE_LEVEL, 0]
    asked = test._replace(
        required=test.required + lower * slopes,
        obstacles=np.full_like(test.obstacles, -1),
        ellipsoids=test.ellipsoids.copy(),
    )

    def run() -> None:
        found = judge(asked, fold.task, evidence, Nominee(z, 0.0, 0), state.rule)
        if found != (z, 1):
            raise RuntimeError("the test does not accept at the level of the score")

    return run


def milliseconds(run: Callable[[], Any], times: int) -> float:
    """The median of several."""
    found = []
    for _ in range(times):
        started = time.process_time()
        run()
        found.append(time.process_time() - started)
    return 1e3 * float(np.median(found))


def measured(answers: int, options: argparse.Namespace) -> list[float]:
    """One row of the table."""
    with tempfile.TemporaryDirectory() as folder:
        study = study_of(answers, options.dimension, options.measurements, folder)
        statistic = study.status().statistic or 0.0
        run = complete_test(study, statistic)
        list(study.status().verdicts)
        run()
        return [
            milliseconds(run, options.times),
            milliseconds(study.status, options.times),
            milliseconds(lambda: list(study.status().verdicts), options.times),
        ]


def plot(path: Path, sizes: list[int], rows: list[list[float]]) -> None:
    """Log axes; a straight line is a power."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(5, 4), layout="constrained")
    axes = figure.subplots()
    for name, column in zip(COLUMNS, zip(*rows, strict=True), strict=True):
        axes.loglog(sizes, column, "o-", label=name)
    axes.set(xlabel="answers Z", ylabel="milliseconds")
    axes.legend()
    figure.savefig(path)


def main() -> None:
    """Read the command line, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, nargs="+", default=[100, 300, 1000, 3000, 10_000])
    parser.add_argument("--dimension", type=int, default=32)
    parser.add_argument("--measurements", type=int, default=500)
    parser.add_argument("--times", type=int, default=5)
    parser.add_argument("--plot", type=Path)
    options = parser.parse_args()
    rows = []
    print(f"d = {options.dimension}, {options.measurements} measurements; ms: {', '.join(COLUMNS)}")
    for answers in options.answers:
        rows.append(measured(answers, options))
        print(f"Z = {answers:6d}  " + "  ".join(f"{each:10.2f}" for each in rows[-1]), flush=True)
    if len(rows) > 1:
        slopes = np.polyfit(np.log(options.answers), np.log(rows), 1)[0]
        print("exponents   " + "  ".join(f"{each:10.2f}" for each in slopes))
    if options.plot:
        plot(options.plot, options.answers, rows)


if __name__ == "__main__":
    main()
