"""Results: what many runs gave, as columns, summaries and files."""

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from furthest import display
from furthest.columns import write_csv, write_parquet
from furthest.problem import Problem
from furthest.strategy import Strategy
from furthest.writing import write_beside

if TYPE_CHECKING:
    from furthest.stopping.test import Guarantee


# More starved arms than this are counted.
NAMED = 5


@dataclass(frozen=True)
class Summary:
    """The runs at one confidence level.

    Runs that reached the cap without stopping count with the cap as their time: then the mean is a
    lower bound. An error is a run that stopped with an answer that is not ε-best.

    Attributes:
        delta: The allowed probability of error.
        mean: Of the stopping times, as all that follow …
        std: … their standard deviation,
        sem: the standard error of the mean,
        median: the middle,
        q05: what 5 % of the runs stay below,
        q95: and 95 %.
        errors: How many runs were wrong.
        error_rate: Their share.
        unstopped: How many runs reached the cap.
        pulls: Measurements of each arm, the mean.
        cost: What a run costs in the mean, where the problem says so.
        cost_sem: Its standard error.
    """

    delta: float
    mean: float
    std: float
    sem: float
    median: float
    q05: float
    q95: float
    errors: int
    error_rate: float
    unstopped: int
    pulls: list[float]
    cost: float | None = None
    cost_sem: float | None = None


@dataclass(frozen=True, eq=False)
class Results:
    """Many simulated runs. For several δ every array has a leading axis, in the order given.

    Attributes:
        problem: The question.
        strategy: What was simulated.
        delta: The allowed probability of error, or several.
        seed: What the noise was drawn from.
        numbers: Of the runs, ascending; an interruption may leave gaps.
        stopping_times: Of each run.
        answers: The number of the answer of each run.
        pulls: How often each arm was measured: one more axis, the last.
        stopped: Whether the run has stopped, not reached the cap.
        correct: Whether its answer is ε-best.
        steps: All measurements simulated.
        seconds: Wall time, without compiling.
        interrupted: Whether that was cut short.
        noise: The standard deviation of the noise in the rewards' unit, of each arm or of all.
        ridge: What V started with, times I; 0 for least squares.
    """

    problem: Problem
    strategy: Strategy
    delta: float | tuple[float, ...]
    seed: int
    numbers: NDArray[np.int64]  # (runs,)
    stopping_times: NDArray[np.int64]  # (runs,) or (levels, runs)
    answers: NDArray[np.int64]  # the same shape
    pulls: NDArray[np.int64]  # one more axis: arms
    stopped: NDArray[np.bool_]
    correct: NDArray[np.bool_]
    steps: int
    seconds: float
    interrupted: bool = False
    noise: float | tuple[float, ...] = 1.0
    ridge: float = 0.0

    @property
    def costs(self) -> NDArray[np.float64] | None:
        """What each run cost, in the shape of `stopping_times`; None where nobody said."""
        return self.problem.spent(self.pulls)

    @property
    def runs(self) -> int:
        """Finished runs; fewer than asked for after an interruption."""
        return len(self.numbers)

    def __repr__(self) -> str:
        lines = [f"Results({display.count(self.runs, 'run')} of {self._rule}"]
        for row in self.summary():
            mean, error = display.figure(row.mean), display.figure(_two_digits(row.sem))
            unstopped = f", {row.unstopped:,} not stopped" if row.unstopped else ""
            lines.append(
                f"δ = {row.delta:g}: {mean} ± {error} measurements, {_cost_words(row)}"
                f"{display.count(row.errors, 'error')}{unstopped}"
            )
        return "\n  ".join(lines) + ")"

    def _repr_html_(self) -> str:
        head = ("δ", "mean", "± s.e.", "median", "5 %", "95 %", "errors", "not stopped")
        rows = [
            [
                *(row.delta, row.mean, _two_digits(row.sem), row.median),
                *(row.q05, row.q95, row.errors, row.unstopped),
            ]
            for row in self.summary()
        ]
        cut = "interrupted: fewer runs than asked for" if self.interrupted else ""
        unstopped = self.unstopped_words
        costs = "; ".join(
            f"δ = {row.delta:g}: {words.rstrip(', ')}"
            for row in self.summary()
            if (words := _cost_words(row))
        )
        return display.card(
            f"{display.count(self.runs, 'run')} of {self._rule}",
            display.line(self.problem.in_words),
            display.line(self._guarantee.words, "soft" if self._guarantee.proven else "warning"),
            display.line(cut, "warning"),
            display.line(unstopped or "", "warning"),
            display.table(head, rows),
            display.line(costs),
        )

    @property
    def _rule(self) -> str:
        """Sampling and stopping rule, and whether the latter is a heuristic."""
        parts = self.strategy.describe()
        words = [parts[axis] for axis in ("sampling", "stopping", "threshold") if parts[axis]]
        return ", ".join(words) + ("" if self._guarantee.proven else " (not proven)")

    @property
    def _guarantee(self) -> "Guarantee":
        return self.strategy.guarantee_for(self.problem)

    @property
    def unstopped_words(self) -> str | None:
        """How many runs were given up, and the arms that they measured least; None if none was."""
        levels = [(delta, self._at(self.stopped, index), index) for delta, index in self._levels()]
        delta, stopped, index = min(levels, key=lambda level: int(level[1].sum()))
        if stopped.all():
            return None
        cap = int(self._at(self.stopping_times, index)[~stopped].max())
        pulls = self._at(self.pulls, index)[~stopped]
        return (
            f"{(~stopped).sum():,} of {display.count(self.runs, 'run')} did not stop within "
            f"{display.count(cap, 'measurement')} at δ = {delta:g}; "
            f"{_starved(self.problem, pulls)}"
        )

    def summary(self) -> list[Summary]:
        """One row per confidence level."""
        return [self._summarise(*level) for level in self._levels()]

    def _levels(self) -> Iterator[tuple[float, int | None]]:
        if isinstance(self.delta, tuple):
            yield from ((delta, index) for index, delta in enumerate(self.delta))
        else:
            yield self.delta, None

    def _at(self, array: NDArray[Any], index: int | None) -> NDArray[Any]:
        return array if index is None else array[index]

    def _summarise(self, delta: float, index: int | None) -> Summary:
        times = self._at(self.stopping_times, index).astype(float)
        stopped = self._at(self.stopped, index)
        wrong = int((stopped & ~self._at(self.correct, index)).sum())
        runs = max(self.runs, 1)
        std = float(times.std(ddof=1)) if self.runs > 1 else 0.0
        if not self.runs:
            times = np.array([np.nan])
        cost = cost_sem = None
        if (spent := self.costs) is not None and self.runs:
            own = self._at(spent, index)
            cost = float(own.mean())
            cost_sem = float(own.std(ddof=1)) / runs**0.5 if self.runs > 1 else 0.0
        return Summary(
            delta=delta,
            mean=float(times.mean()),
            std=std,
            sem=std / runs**0.5,
            median=float(np.median(times)),
            q05=float(np.quantile(times, 0.05)),
            q95=float(np.quantile(times, 0.95)),
            errors=wrong,
            error_rate=wrong / runs,
            unstopped=int((~stopped).sum()),
            pulls=(self._at(self.pulls, index).sum(axis=0) / runs).tolist(),
            cost=cost,
            cost_sem=cost_sem,
        )

    def columns(self) -> dict[str, NDArray[Any]]:
        """One row per run and confidence level, as columns."""
        rows: list[dict[str, NDArray[Any]]] = []
        for delta, index in self._levels():
            row: dict[str, NDArray[Any]] = {
                "run": self.numbers,
                "delta": np.full(self.runs, delta),
                "stopping_time": self._at(self.stopping_times, index),
                "answer": self._at(self.answers, index),
                "stopped": self._at(self.stopped, index),
                "correct": self._at(self.correct, index),
            }
            pulls = self._at(self.pulls, index)
            if (spent := self.costs) is not None:
                row["cost"] = self._at(spent, index)
            row |= {f"pulls_{arm}": pulls[:, arm] for arm in range(pulls.shape[1])}
            rows.append(row)
        return {name: np.concatenate([row[name] for row in rows]) for name in rows[0]}

    def to_csv(self, path: str | Path) -> None:
        """Write `columns()` as CSV."""
        write_beside(path, lambda draft: write_csv(self.columns(), draft))

    def to_parquet(self, path: str | Path) -> None:
        """Write `columns()` as Parquet (extra: parquet)."""
        write_beside(path, lambda draft: write_parquet(self.columns(), draft))

    def to_dict(self) -> dict[str, Any]:
        """What `furthest simulate --json` prints, without the instance's name."""
        return {
            "strategy": self.strategy.describe() | {"guarantee": self._guarantee.words},
            "seed": self.seed,
            "runs": self.runs,
            "steps": self.steps,
            "seconds": self.seconds,
            "interrupted": self.interrupted,
            "noise": list(self.noise) if isinstance(self.noise, tuple) else self.noise,
            "ridge": self.ridge,
            "warnings": [words] if (words := self.unstopped_words) else [],
            "results": [_plain(summary) for summary in self.summary()],
        }


def _starved(problem: Problem, pulls: NDArray[np.int64]) -> str:
    """The arms that runs measured only in the initial design, or else the least measured one."""
    design = np.isin(np.arange(pulls.shape[1]), problem.initial).astype(int)
    never = np.flatnonzero((pulls <= design).all(axis=0))
    if not len(never):
        least = int(pulls.sum(axis=0).argmin())
        share = pulls[:, least].sum() / pulls.sum()
        return f"least measured: {problem.arm_names[least]!r}, {share:.2g} of all measurements"
    names = ", ".join(repr(problem.arm_names[arm]) for arm in never[:NAMED])
    more = f" and {len(never) - NAMED:,} more" if len(never) > NAMED else ""
    return f"measured only in the initial design: {names}{more}"


def _cost_words(row: Summary) -> str:
    """`cost 1,234 ± 56, `, or nothing where nobody said what a measurement costs."""
    if row.cost is None or row.cost_sem is None:
        return ""
    return f"cost {display.figure(row.cost)} ± {display.figure(_two_digits(row.cost_sem))}, "


def _two_digits(error: float) -> float:
    """More of a standard error are noise."""
    return float(f"{error:.2g}")


def _plain(summary: Summary) -> dict[str, Any]:
    """As a dictionary for JSON, which has no NaN: without any run, a mean is null."""
    return {
        key: None if isinstance(value, float) and math.isnan(value) else value
        for key, value in asdict(summary).items()
    }
