"""reproduce: make what is missing, draw, judge, and write the report."""

import json
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from furthest.columns import Columns
from furthest.errors import InputError, pick
from furthest.paper.claims import Verdict, judge
from furthest.paper.entries import ENTRIES, Entry
from furthest.paper.outcomes import Outcomes
from furthest.paper.shapes import Block, Number, TableBlock
from furthest.sweeps.cells import Cell, distinct
from furthest.sweeps.runner import Piece, Work, plan, run
from furthest.sweeps.store import Store

Progress = Callable[[Piece], None]


@dataclass(frozen=True)
class Cost:
    """What all calls that wrote into a folder took together, unless they were killed."""

    calls: int
    jobs: int  # processes of the widest one
    seconds: float
    cpu: float
    rounds: int


@dataclass(frozen=True)
class Section:
    """One entry as it is shown."""

    entry: Entry
    blocks: tuple[Block, ...]
    units: tuple[int, int]  # runs or draws per cell: fewest, most


@dataclass(frozen=True)
class Reproduction:
    """Everything the report shows."""

    runs: int
    seed: int
    jobs: int
    sections: tuple[Section, ...]
    verdicts: tuple[Verdict, ...]
    rounds: int  # measurements behind what is shown
    units: int  # runs and draws behind what is shown
    work: Work  # done by this call
    seconds: float  # taken by this call
    cost: Cost  # of all calls so far

    def numbers(self, *, elsewhere: bool | None = None) -> list[tuple[str, str, str, Number]]:
        """(entry, row, column, number) of every number that has a printed one.

        Of this paper alone, or of others alone, where `elsewhere` says so.
        """
        return [
            (section.entry.name, str(row[0]), block.header[place], item)
            for section in self.sections
            if elsewhere in (None, section.entry.is_elsewhere)
            for block in section.blocks
            if isinstance(block, TableBlock)
            for row in block.rows
            for place, item in enumerate(row)
            if isinstance(item, Number) and item.printed is not None
        ]


def choose(names: Sequence[str]) -> list[Entry]:
    """The entries of these names, in the order of the paper; `all` means all."""
    for name in names:
        if name != "all":
            pick(name, ENTRIES, "table or figure", InputError)
    return [entry for name, entry in ENTRIES.items() if name in names or "all" in names]


class Job:
    """A reproduction in the making: first what is missing, then `finish`.

    With `draw` nothing is made: shown is what is stored, at most `runs` runs of it.
    """

    def __init__(
        self, entries: Sequence[Entry], runs: int, folder: Path, seed: int, *, draw: bool = False
    ) -> None:
        self.entries = entries
        self.runs = runs
        self.store = Store(folder, seed)
        if not draw:
            folder.mkdir(parents=True, exist_ok=True)
        wanted = {} if draw else {entry.name: list(entry.cells()) for entry in entries}
        self.pieces = plan(wanted, self.store, runs)

    def finish(
        self, jobs: int, progress: Progress, executor: Executor | None = None
    ) -> Reproduction:
        """Make the missing pieces, read everything back, draw and judge."""
        started = time.perf_counter()
        work = Work()
        try:
            run(self.pieces, self.store, jobs, progress, work, executor)
        finally:
            if work.units:
                self._note(work, time.perf_counter() - started, jobs)
        entries = [entry for entry in self.entries if self._can_show(entry)]
        if not entries:
            raise InputError(f"nothing of this is stored in {self.store.folder}")
        cells = distinct(cell for entry in entries for cell in entry.cells())
        outcomes = Outcomes(cells, self._read)
        sections = tuple(self._section(entry, outcomes) for entry in entries)
        made = list(outcomes.all())
        return Reproduction(
            runs=self.runs,
            seed=self.store.seed,
            jobs=jobs,
            sections=sections,
            verdicts=tuple(judge(outcomes)),
            rounds=sum(outcome.rounds for outcome in made),
            units=sum(outcome.units for outcome in made),
            work=work,
            seconds=time.perf_counter() - started,
            cost=self._cost(),
        )

    def _read(self, cell: Cell) -> Columns:
        """What is stored without a gap: all units, unless only drawing was asked for."""
        return self.store.read(cell, min(cell.units(self.runs), self.store.reached(cell)))

    def _can_show(self, entry: Entry) -> bool:
        """Whether at least two units of every cell are stored, or all if there are fewer."""
        return all(
            self.store.reached(cell) >= min(2, cell.units(self.runs)) for cell in entry.cells()
        )

    def _section(self, entry: Entry, outcomes: Outcomes) -> Section:
        figures = self.store.folder / "figures"
        blocks = tuple(
            shape.block(outcomes, figures, f"{entry.name}{_letter(entry, place)}")
            for place, shape in enumerate(entry.shapes)
        )
        units = [outcomes[cell].units for cell in entry.cells()]
        return Section(entry, blocks, (min(units), max(units)))

    @property
    def _log(self) -> Path:
        return self.store.folder / "log.jsonl"

    def _note(self, work: Work, seconds: float, jobs: int) -> None:
        """Add this call to the folder's log."""
        line = {
            "entries": [entry.name for entry in self.entries],
            "runs": self.runs,
            "jobs": jobs,
            "seed": self.store.seed,
            "units": work.units,
            "rounds": work.rounds,
            "seconds": round(seconds, 3),
            "cpu": round(work.cpu, 3),
        }
        with self._log.open("a", encoding="utf-8") as file:
            file.write(json.dumps(line) + "\n")

    def _cost(self) -> Cost:
        """The sum of the log."""
        text = self._log.read_text(encoding="utf-8") if self._log.exists() else ""
        lines: list[dict[str, Any]] = [json.loads(line) for line in text.splitlines()]
        return Cost(
            calls=len(lines),
            jobs=max((line["jobs"] for line in lines), default=0),
            seconds=sum(line["seconds"] for line in lines),
            cpu=sum(line["cpu"] for line in lines),
            rounds=sum(line["rounds"] for line in lines),
        )


def _letter(entry: Entry, place: int) -> str:
    return "" if len(entry.shapes) == 1 else "abcdefgh"[place]
