"""The cells of the paper: runs of one strategy, or draws of an instance."""

import hashlib
import json
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from furthest import files
from furthest.characteristic import complexity
from furthest.columns import Columns
from furthest.instances import Instance
from furthest.problem import Notion
from furthest.simulation import simulate
from furthest.strategy import Strategy
from furthest.sweeps.cells import Cell, join

# How exactly the characteristic times of a random draw are solved.
GAP = 1e-6

# The paper's stopping times are averages over all runs: none may be cut off.
MAX_ROUNDS = 10_000_000

# Seconds that one unit costs besides its rounds, and that one round costs; rough.
PER_RUN, PER_INSTANCE, PER_ROUND = 3e-4, 2e-3, 5e-7


@dataclass(frozen=True)
class Question:
    """An instance as on the command line; with {run} in it, another instance for every run."""

    instance: str = "hard"
    notion: Notion = "multiplicative"
    eps: float = 0.05
    best: bool = False  # the same arms and μ, but the best answer itself is asked for

    @property
    def varies(self) -> bool:
        """Whether every run has an instance of its own."""
        return "{run}" in self.instance

    def at(self, run: int) -> Instance:
        """The instance of one run."""
        text = self.instance.format(run=run)
        found = files.find_instance(text, eps=self.eps, notion=self.notion)
        if not self.best:
            return found
        return replace(found, problem=replace(found.problem, eps=0.0, notion="additive"))

    def settings(self) -> dict[str, Any]:
        """As plain data."""
        return {
            "instance": self.instance,
            "notion": "additive" if self.best else self.notion,
            "eps": self.eps,
            "asked_eps": 0.0 if self.best else self.eps,
        }


@dataclass(frozen=True)
class Runs:
    """Runs of one strategy."""

    question: Question
    strategy: Strategy
    deltas: tuple[float, ...] = (0.01,)
    rounds: float = 400.0  # per run, roughly
    ridge: float = 0.0
    fold: int = 1  # runs for each one that is asked for

    @property
    def effort(self) -> float:
        """Seconds per run, roughly."""
        return (PER_INSTANCE if self.question.varies else PER_RUN) + self.rounds * PER_ROUND

    def units(self, runs: int) -> int:
        """All that are asked for, or several times as many."""
        return self.fold * runs

    def settings(self) -> dict[str, Any]:
        """Question, strategy, confidence levels and ridge."""
        strategy = self.strategy.describe()
        del strategy["guarantee"]
        strategy["threshold"] = strategy["threshold"] or ""  # as in all stores
        return self.question.settings() | {
            "strategy": strategy,
            "deltas": list(self.deltas),
            "ridge": self.ridge,
        }

    def run_seed(self, seed: int) -> int:
        """That of its instance's noise."""
        return own_seed(self, seed)

    def make(self, first: int, last: int, seed: int) -> Columns:
        """Runs by number; where the instance varies, run i has instance i."""
        if not self.question.varies:
            return self._simulate(self.question.at(0), first, last - first, seed)
        return join(
            [self._simulate(self.question.at(run), run, 1, seed) for run in range(first, last)]
        )

    def _simulate(self, instance: Instance, first: int, runs: int, seed: int) -> Columns:
        delta = self.deltas if len(self.deltas) > 1 else self.deltas[0]
        results = simulate(
            *(instance.problem, instance.truth, self.strategy, delta, runs, seed),
            first=first,
            ridge=self.ridge,
            max_rounds=MAX_ROUNDS,
            quiet=True,
        )
        if results.interrupted:
            raise KeyboardInterrupt
        return results.columns()

    def warm_up(self) -> None:
        """One round of one run."""
        instance = self.question.at(0)
        job = (instance.problem, instance.truth, self.strategy, self.deltas)
        simulate(*job, runs=1, ridge=self.ridge, max_rounds=1, quiet=True)


@dataclass(frozen=True)
class Draws:
    """Characteristic times of many random instances, by the exact solver."""

    question: Question
    effort: float = 6e-4

    def units(self, runs: int) -> int:
        """25,000 draws where there are 5,000 runs, as in the paper."""
        return 5 * runs

    def settings(self) -> dict[str, Any]:
        """Question and precision."""
        return self.question.settings() | {"characteristic_times": True, "gap": GAP}

    def run_seed(self, seed: int) -> int:
        """That of its instance's noise."""
        return own_seed(self, seed)

    def make(self, first: int, last: int, seed: int) -> Columns:
        """One row per draw; the instance is seeded with its number, whatever the seed."""
        rows = [self._draw(run) for run in range(first, last)]
        return {name: np.array([row[name] for row in rows]) for name in rows[0]}

    def _draw(self, run: int) -> dict[str, float]:
        instance = self.question.at(run)
        price = complexity(instance.problem, instance.truth, GAP)
        return {
            "run": run,
            "T": price.T,
            "T_greedy": price.T_greedy,
            "furthest": price.furthest,
            "greedy": price.greedy,
            "ties": len(price.ties),
        }

    def warm_up(self) -> None:
        """One draw."""
        self.make(0, 1, 0)


def noise_of(cell: Cell) -> str:
    """A name for the noise of a cell: its instance, whatever is asked and done there.

    So run i of every algorithm, stopping rule and notion meets the same noise, as in the public
    code of this line of work, and their differences are errors of pairs.
    """
    return str(cell.settings()["instance"])


def own_seed(cell: Cell, seed: int) -> int:
    """The seed of a cell's noise; noises of other names are independent."""
    text = json.dumps([noise_of(cell), seed])
    return int(hashlib.sha256(text.encode()).hexdigest()[:12], 16)
