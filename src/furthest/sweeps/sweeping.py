"""sweep: a grid of simulations, resumed where it was interrupted.

Below the folder, `runs` is the store: every cell by its settings, in pieces. `dataset` has one
Parquet file for each finished cell of the present specification, and nothing else.
"""

import math
import re
import time
from collections.abc import Callable
from concurrent.futures import Executor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from furthest.columns import Columns, arrow, write_csv, write_parquet
from furthest.compiling import announced
from furthest.results import Summary
from furthest.simulation import Advance, shown
from furthest.sweeps.cells import key
from furthest.sweeps.runner import Piece, Work, plan, run
from furthest.sweeps.spec import Data, Point, Spec, read_spec
from furthest.sweeps.store import Store
from furthest.workers import check_workers
from furthest.writing import write_beside

EXPORTED = re.compile(r".*-[0-9a-f]{12}\.parquet")


@dataclass(frozen=True)
class Row:
    """One strategy on one question at one δ.

    Attributes:
        instance: Its name.
        eps: How far from the best is good enough.
        notion: `additive` or `multiplicative`.
        strategy: Its name.
        delta: The allowed probability of error.
        proven: Whether the stopping test is.
        limit: T_ε ln(1/δ): no strategy needs fewer measurements on average, or with costs pays
            less, as δ → 0.
        summary: What the runs say.
    """

    instance: str
    eps: float
    notion: str
    strategy: str
    delta: float
    proven: bool
    limit: float
    summary: Summary

    @property
    def ratio(self) -> float:
        """The mean, in the unit of the limit, over the limit."""
        cost = self.summary.cost
        return self._over(self.summary.mean if cost is None else cost)

    @property
    def error(self) -> float:
        """The standard error of the ratio."""
        error = self.summary.cost_sem
        return self._over(self.summary.sem if error is None else error)

    def _over(self, mean: float) -> float:
        return mean / self.limit if self.limit > 0 else math.nan

    def to_dict(self) -> dict[str, Any]:
        """As plain data; None for what is no number, or infinite."""
        plain = asdict(self) | asdict(self.summary) | {"ratio": self.ratio}
        del plain["summary"], plain["pulls"]
        return {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in plain.items()
        }


@dataclass(frozen=True)
class Sweep:
    """A finished sweep.

    Attributes:
        rows: Every cell of the grid, in the order of the specification.
        runs: How many runs each has.
        seed: Of all of them.
        dataset: The folder with all runs, one Parquet file for each cell.
        work: What this call has done.
        seconds: How long it took.
    """

    rows: tuple[Row, ...]
    runs: int
    seed: int
    dataset: Path
    work: Work
    seconds: float

    def columns(self) -> Columns:
        """The rows as columns."""
        rows = [row.to_dict() for row in self.rows]
        return {
            name: np.array([math.nan if row[name] is None else row[name] for row in rows])
            for name in rows[0]
        }

    def draw(self, path: str | Path) -> None:
        """The mean of every row in multiples of its limit, as a picture (extra: plot)."""
        from furthest.plots import Dot, dots

        points = [
            Dot(
                f"δ = {row.delta:g}",
                f"{row.instance}, ε = {row.eps:g}",
                row.strategy,
                row.ratio,
                2 * row.error,
            )
            for row in self.rows
        ]
        dots(points, path, what="mean ± 2 s.e., in multiples of T_ε ln(1/δ)")

    def to_dict(self) -> dict[str, Any]:
        """What `furthest sweep --json` prints."""
        return {
            "runs": self.runs,
            "seed": self.seed,
            "dataset": str(self.dataset),
            "rows": [row.to_dict() for row in self.rows],
            "made": asdict(self.work),
            "seconds": self.seconds,
        }


class Job:
    """A sweep in the making: first what is missing, then `finish`."""

    def __init__(self, spec: Spec, folder: Path) -> None:
        arrow()
        self.spec = spec
        self.store = Store(folder, spec.seed)
        self.dataset = folder / "dataset"
        self.dataset.mkdir(parents=True, exist_ok=True)
        self.cells = {key(point, spec.seed): point for point in spec.points}
        self.limits = _limits(spec)
        by_name: dict[str, list[Point]] = {}
        for point in spec.points:
            by_name.setdefault(point.name, []).append(point)
        self.pieces = plan(by_name, self.store, spec.runs)
        self.left = dict.fromkeys(self.cells, 0)  # runs
        for piece in self.pieces:
            self.left[key(piece.cell, spec.seed)] += piece.last - piece.first
        self._clear()

    @property
    def finished(self) -> list[str]:
        """The cells of which all runs are stored."""
        return [name for name, left in self.left.items() if not left]

    @property
    def others(self) -> int:
        """How many stored cells do not belong to this specification."""
        return sum(home.name not in self.cells for home in self.store.folder.glob("runs/*"))

    def finish(
        self, jobs: int, progress: Callable[[Piece], None], executor: Executor | None = None
    ) -> Sweep:
        """Make the missing pieces, and read everything back."""
        began = time.perf_counter()
        work = Work()

        def told(piece: Piece) -> None:
            name = key(piece.cell, self.spec.seed)
            self.left[name] -= piece.last - piece.first
            if not self.left[name]:
                self._export(name)
            progress(piece)

        for name in self.finished:
            self._export(name)
        run(self.pieces, self.store, jobs, told, work, executor)
        rows = tuple(row for point in self.spec.points for row in self._rows(point))
        seconds = time.perf_counter() - began
        done = Sweep(rows, self.spec.runs, self.spec.seed, self.dataset, work, seconds)
        write_beside(
            self.store.folder / "summary.csv", lambda draft: write_csv(done.columns(), draft)
        )
        return done

    def _clear(self) -> None:
        """What another specification has left in the dataset; it stays in the store."""
        for path in self.dataset.iterdir():
            if EXPORTED.fullmatch(path.name) and path.stem not in self.finished:
                path.unlink()

    def _export(self, name: str) -> None:
        """All runs of a finished cell, and what they are runs of."""
        point = self.cells[name]
        columns = self.store.read(point, self.spec.runs)
        problem, rows = point.instance.problem, len(columns["run"])
        settings = {
            "instance": point.instance.name,
            "eps": problem.eps,
            "notion": problem.notion,
            "strategy": point.label,
        }
        named = {column: np.full(rows, value) for column, value in settings.items()} | columns
        write_beside(self.dataset / f"{name}.parquet", lambda draft: write_parquet(named, draft))

    def _rows(self, point: Point) -> list[Row]:
        columns = self.store.read(point, self.spec.runs)
        problem = point.instance.problem
        limit = self.limits[_question(point)]
        proven = point.strategy.guarantee_for(problem).proven
        return [
            Row(
                *(point.instance.name, problem.eps, problem.notion, point.label, each.delta),
                *(proven, limit * math.log(1 / each.delta), each),
            )
            for each in point.summary(columns)
        ]


def sweep(
    spec: "str | Path | Data",
    out: str | Path,
    jobs: int = 1,
    *,
    executor: Executor | None = None,
    progress: Advance | None = None,
    quiet: bool = False,
) -> Sweep:
    """Simulate a grid of instances, ε, strategies and δ; what was interrupted goes on.

    >>> import furthest as ft
    >>> grid = {"instances": ["hard"], "strategies": ["uniform", "softmin"], "runs": 10}
    >>> done = ft.sweep(grid, "sweep-of-two")
    >>> [row.strategy for row in done.rows]
    ['uniform', 'softmin']

    Args:
        spec: A TOML file; or a dictionary with its keys, whose instances and strategies may be
            objects, too: an `Instance`, a `Strategy`.
        out: The folder for all runs. Cells that are stored there already are not made again.
        jobs: So many processes make them.
        executor: Or any `concurrent.futures.Executor`, as for `simulate`.
        progress: Called with the number of runs that were just finished.
        quiet: Show no bar, and do not say what is compiled.

    Returns:
        A `Sweep`: one row for each cell and δ; all runs are in its `dataset`.

    Raises:
        InputError: The specification is wrong; where, it says.
        WorkersError: The executor's workers were lost; finished runs are stored.
        MissingExtraError: Parquet files need the extra `parquet`.
    """
    check_workers(jobs, executor)
    read = read_spec(spec)
    with announced("what the sweep needs", said=False if quiet else None):
        job = Job(read, Path(out))
        with shown("sweep", sum(job.left.values()), progress, quiet) as watch:

            def told(piece: Piece) -> None:
                watch.finished(piece.last - piece.first)

            return job.finish(jobs, told, executor)


def _limits(spec: Spec) -> dict[tuple[str, float], float]:
    """T_ε of every question."""
    questions = {_question(point): point for point in spec.points}
    return {question: point.limit() for question, point in questions.items()}


def _question(point: Point) -> tuple[str, float]:
    return point.instance.name, point.instance.problem.eps
