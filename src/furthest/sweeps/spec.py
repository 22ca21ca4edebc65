"""What a sweep is made of: instances × ε × strategies × δ, from a TOML file or plain data."""

import hashlib
import inspect
import json
import re
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from furthest import files
from furthest.characteristic import complexity
from furthest.columns import Columns
from furthest.errors import FileError, InputError, nearest_name
from furthest.instances import Instance
from furthest.results import Results, Summary
from furthest.simulation import LEAST, MAX_ROUNDS, MOST, TRIAL, simulate
from furthest.strategy import Strategy, is_place
from furthest.study.events import problem_data

KEYS = (
    *("instances", "strategies", "eps", "delta", "runs", "seed"),
    *("notion", "noise", "max_rounds"),
)
OF_INSTANCES = ("instance", "name", "notion", "sigma", "mu")
OF_STRATEGIES = (*(each.name for each in fields(Strategy)), "name")
OPTIONS = ("options", "stopping_options")

Data = Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Point:
    """A cell of the grid: runs of one strategy on one question, for all δ that they can serve."""

    instance: Instance
    strategy: Strategy
    label: str  # of the strategy
    deltas: tuple[float, ...]
    noise: float | None
    max_rounds: int

    @property
    def name(self) -> str:
        """In words."""
        words = f"{self.instance.name}, ε = {self.instance.problem.eps:g}, {self.label}"
        alone = self.strategy.rule.depends_on_delta
        return f"{words}, δ = {self.deltas[0]:g}" if alone else words

    @cached_property
    def effort(self) -> float:
        """Seconds per run, roughly: one of them tells, or its beginning times twenty."""
        self.warm_up()
        began = time.perf_counter()
        results = self._simulate(0, 1, 0, min(self.max_rounds, TRIAL))
        seconds = time.perf_counter() - began
        return seconds if results.stopped.all() else seconds * MOST / LEAST

    def units(self, runs: int) -> int:
        """All that are asked for."""
        return runs

    def settings(self) -> dict[str, Any]:
        """The question by what is in its file, own rules by their module's code, and all names."""
        return self._settings

    @cached_property
    def _settings(self) -> dict[str, Any]:
        strategy, problem = self.strategy.describe(), self.instance.problem
        del strategy["guarantee"]
        places = filter(is_place, (self.strategy.sampling, self.strategy.stopping))
        return {
            "instance": self.instance.name,
            "problem": _digest(problem_data(problem) | {"answers": problem.answers.tolist()}),
            "mu": _digest(self.instance.truth.tolist()),
            "strategy": strategy,
            "label": self.label,
            "code": [_digest(_source(str(place))) for place in places],
            "deltas": list(self.deltas),
            "noise": self.noise,
            "max_rounds": self.max_rounds,
        }

    def run_seed(self, seed: int) -> int:
        """As in `simulate`: all strategies meet the same noise."""
        return seed

    def make(self, first: int, last: int, seed: int) -> Columns:
        """Runs by number, their pulls as one column of lists: instances differ in their arms."""
        columns = self._simulate(first, last, seed, self.max_rounds).columns()
        arms = range(len(self.instance.problem.arms))
        pulls = np.column_stack([columns.pop(f"pulls_{arm}") for arm in arms])
        columns.setdefault("cost", np.full(len(pulls), np.nan))
        return columns | {"pulls": pulls}

    def _simulate(self, first: int, last: int, seed: int, max_rounds: int) -> Results:
        delta = self.deltas if len(self.deltas) > 1 else self.deltas[0]
        results = simulate(
            *(self.instance.problem, self.instance.truth, self.strategy, delta),
            *(last - first, seed),
            first=first,
            noise=self.noise,
            max_rounds=max_rounds,
            quiet=True,
        )
        if results.interrupted:
            raise KeyboardInterrupt
        return results

    def warm_up(self) -> None:
        """One round of one run."""
        self._simulate(0, 1, 0, 1)

    def check(self) -> None:
        """Whether all of this goes together, before anything is compiled or simulated."""
        problem = self.instance.problem
        self.strategy.check_levels(self.deltas)
        self.strategy.check_question(problem)
        self.strategy.rule_options(problem.whiten(self.instance.truth), problem.smoothness)

    def limit(self) -> float:
        """T_ε: no strategy needs fewer than T_ε ln(1/δ) measurements on average, as δ → 0."""
        problem = self.instance.problem
        expected = (self.noise or 1.0) if problem.sigma is None else None
        return complexity(problem, self.instance.truth, noise=expected, quiet=True).T

    def summary(self, columns: Columns) -> list[Summary]:
        """As `simulate` would summarise it, from all that was stored of it."""
        levels = [columns["delta"] == delta for delta in self.deltas]

        def arranged(name: str) -> Any:
            return np.array([columns[name][level] for level in levels])

        return Results(
            problem=self.instance.problem,
            strategy=self.strategy,
            delta=self.deltas,
            seed=0,
            numbers=columns["run"][levels[0]],
            stopping_times=arranged("stopping_time"),
            answers=arranged("answer"),
            pulls=arranged("pulls"),
            stopped=arranged("stopped"),
            correct=arranged("correct"),
            steps=0,
            seconds=0.0,
        ).summary()


@dataclass(frozen=True)
class Spec:
    """A sweep to be made."""

    points: tuple[Point, ...]
    runs: int
    seed: int


def read_spec(source: "str | Path | Data") -> Spec:
    """From a TOML file, or from the same keys in Python, where instances and strategies are too."""
    if isinstance(source, Mapping):
        return _Reader("the sweep", source).spec()
    path = Path(source)
    try:
        text = path.read_text(encoding="utf-8")
        data = files.parse_toml(text)
    except OSError as error:
        raise FileError(f"{path}: {error.strerror or error}") from None
    except UnicodeDecodeError:
        raise FileError(f"{path}: not a UTF-8 text") from None
    except FileError as error:
        raise FileError(f"{path}: {error}") from None
    return _Reader(str(path), data, text, path.parent).spec()


class _Reader:
    """Reads a specification, and says where it is wrong."""

    def __init__(self, name: str, data: Data, text: str = "", folder: Path = Path()) -> None:
        self.name = name
        self.data = data
        self.lines = text.splitlines()
        self.folder = folder

    def spec(self) -> Spec:
        self._check_keys("", self.data, KEYS)
        runs, seed = self._whole("runs", 1000, 1), self._whole("seed", 0, 0)
        noise = self._numbers("noise")
        if noise is not None and len(noise) > 1:
            raise self._wrong("noise", "must be one number")
        shared = (noise[0] if noise else None, self._whole("max_rounds", MAX_ROUNDS, 1))
        points = []
        strategies = list(self._strategies())
        for where, instance in self._instances():
            for place, label, strategy in strategies:
                for deltas in self._levels(strategy):
                    point = Point(instance, strategy, label, deltas, *shared)
                    self._try(f"{where} with {place}", point.check)
                    points.append(point)
        return Spec(tuple(points), runs, seed)

    def _levels(self, strategy: Strategy) -> list[tuple[float, ...]]:
        """One trajectory serves all δ, unless what is sampled depends on δ."""
        deltas = tuple(sorted(self._numbers("delta") or [0.01], reverse=True))
        return [(each,) for each in deltas] if strategy.rule.depends_on_delta else [deltas]

    def _instances(self) -> Iterator[tuple[str, Instance]]:
        names: set[str] = set()
        for where, entry in self._entries("instances"):
            if isinstance(entry, Instance):
                given: Data = {"instance": entry}
            else:
                given = {"instance": entry} if isinstance(entry, str) else entry
            self._check_keys(where, given, OF_INSTANCES)
            name = str(given.get("name", getattr(entry, "name", given.get("instance", ""))))
            self._check_new(where, name, names)
            every: Sequence[float | None] = self._numbers("eps") or [None]
            for eps in every:
                found = self._try(where, lambda given=given, eps=eps: self._instance(given, eps))
                if found.mu is None:
                    raise self._wrong(where, f"{name!r} has no true parameter: give it a mu")
                yield where, replace(found, name=name)

    def _instance(self, given: Data, eps: float | None) -> Instance:
        what = given.get("instance")
        notion = given.get("notion", self.data.get("notion"))
        if isinstance(what, Instance):
            changes = {"eps": eps, "notion": notion}
            changed = {name: value for name, value in changes.items() if value is not None}
            return replace(what, problem=replace(what.problem, **changed))
        if not isinstance(what, str):
            raise InputError(f"instance must be a text, as on the command line, not {what!r}")
        mu = given.get("mu")
        if mu is not None and not all(map(_is_number, mu if isinstance(mu, list) else [None])):
            raise InputError(f"mu must be numbers, not {mu!r}")
        beside = self.folder / what
        return files.find_instance(
            str(beside) if beside.is_file() else what,
            eps=eps,
            notion=notion,
            sigma=given.get("sigma"),
            mu=mu,
        )

    def _strategies(self) -> Iterator[tuple[str, str, Strategy]]:
        labels: set[str] = set()
        for where, entry in self._entries("strategies"):
            if isinstance(entry, Strategy):
                strategy, label = self._try(where, entry.located), entry.name
            else:
                given = {"sampling": entry} if isinstance(entry, str) else dict(entry)
                self._check_keys(where, given, OF_STRATEGIES)
                for key, value in given.items():
                    if key not in OPTIONS and not isinstance(value, str):
                        raise self._wrong(f"{where}.{key}", f"must be a text, not {value!r}")
                words = ", ".join(value for key, value in given.items() if key not in OPTIONS)
                label = given.pop("name", words or Strategy().name)
                strategy = self._try(where, lambda given=given: Strategy(**given))
                self._try(where, lambda strategy=strategy: (strategy.rule, strategy.test))
            self._check_new(where, label, labels)
            yield where, label, strategy

    def _entries(self, key: str) -> Iterator[tuple[str, Any]]:
        entries = self.data.get(key)
        if not isinstance(entries, Sequence) or isinstance(entries, str) or not entries:
            raise self._wrong(key, "must be a list of at least one")
        for number, entry in enumerate(entries):
            if not isinstance(entry, str | Mapping | Instance | Strategy):
                raise self._wrong(f"{key}[{number}]", f"must be a text or a table, not {entry!r}")
            yield f"{key}[{number}]", entry

    def _numbers(self, key: str) -> list[float] | None:
        given = self.data.get(key)
        if given is None:
            return None
        numbers = list(given) if isinstance(given, list | tuple) else [given]
        for each in numbers:
            if not _is_number(each):
                raise self._wrong(key, f"must be numbers, not {each!r}")
        if not numbers or len(set(numbers)) < len(numbers):
            raise self._wrong(key, "must be at least one number, and each once")
        return [float(each) for each in numbers]

    def _whole(self, key: str, default: int, least: int) -> int:
        given = self.data.get(key, default)
        if isinstance(given, bool) or not isinstance(given, int) or given < least:
            raise self._wrong(key, f"must be a whole number, {least} or more, not {given!r}")
        return given

    def _check_keys(self, where: str, given: Data, known: Sequence[str]) -> None:
        for key in given:
            if key not in known:
                raise self._wrong(where, f"unknown key {key!r}; {nearest_name(key, known)}")

    def _check_new(self, where: str, name: str, names: set[str]) -> None:
        if name in names:
            raise self._wrong(where, f"{name!r} is there twice: give one of them another name")
        names.add(name)

    def _try(self, where: str, make: Any) -> Any:
        try:
            return make()
        except InputError as error:
            raise self._wrong(where, str(error)) from None

    def _wrong(self, where: str, message: str) -> InputError:
        """The line is that of a word in the message, or of the key, if it is on one line alone."""
        for word in [*re.findall(r"'([^']+)'", message), where.partition("[")[0]]:
            found = [number for number, line in enumerate(self.lines, 1) if word in line]
            if len(found) == 1:
                line = f"{self.name}, line {found[0]}"
                return InputError(": ".join(filter(None, (line, where, message))))
        return InputError(": ".join(filter(None, (self.name, where, message))))


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _digest(data: Any) -> str:
    return hashlib.sha256(json.dumps(data, sort_keys=True).encode()).hexdigest()[:16]


def _source(place: str) -> str:
    """The code of the module in which an own rule is."""
    return inspect.getsource(import_module(place.partition(":")[0]))
