"""The log of a study: what happened, in one total order. Everything else is derived from it.

| kind    | fields                                 | meaning                                   |
|---------|----------------------------------------|-------------------------------------------|
| created | data: the settings as JSON, worker     | the question; always and only the first   |
| asked   | trial, arm, data: how often, worker    | this arm is to be measured                |
| told    | trial, arm, value, data: of how many   | the result                                |
| failed  | trial, arm, data: the reason, worker   | there will be none                        |
| added   | trial, arm, value, data, worker        | a result that nobody asked for; data: of  |
|         |                                        | how many, and when it was measured        |
| stopped | arm: the answer, data: how many        | somebody saw the test accept the answer   |
|         | results count, worker                  |                                           |
| spent   | arm: the candidate, if any; data: how  | somebody saw the budget spent, and the    |
|         | many results count, worker             | test accept nothing                       |
| extended| data: the new budget, worker           | more may be measured                      |
| sealed  | data: digest of all before             | from here on an older log is chained      |

Each event is chained to the one before it (`furthest.study.chain`). "How often" and "of how many"
are a `Note`; nothing for once. The value of several results is their mean.
"""

import json
import math
import re
from binascii import a2b_base64, b2a_base64
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest import memory
from furthest.errors import (
    FurthestError,
    InputError,
    StorageError,
    StrategyError,
    VerificationError,
    nearest_name,
)
from furthest.problem import Problem
from furthest.strategy import Strategy, check_budget, check_level, is_place

# What a log means. A newer number is refused; older ones stay readable. Version 1 had no order of
# its own, but that in which results were told, and no event at the end; 1 and 2 had no chain; up to
# 3 the threshold `paper` was another; up to 4 bounds said no more than what σ is; up to 5 all
# matrices were rows of numbers.
LOG_VERSION = 6

# The first version of a log in which `paper` means what it does now, and the first in which bounds
# are more than a σ.
RENAMED, BOUNDED = 4, 5

CREATED = "created"
ASKED = "asked"
TOLD = "told"
FAILED = "failed"
ADDED = "added"
STOPPED = "stopped"
SPENT = "spent"
EXTENDED = "extended"
SEALED = "sealed"

# In which order results count.
AS_ASKED = "asked"
AS_TOLD = "told"
ORDERS = (AS_ASKED, AS_TOLD)

# What Python says of data that are not what they should be: a log may hold anything.
UNREADABLE = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)

# What else of a problem can never be changed.
FIXED = ("arms", "answers", "arm_names", "answer_names", "bounds", "noise", "initial", "costs")

# More numbers than this are kept as their bytes: as text they take 20 bytes each, and as objects of
# Python, which they would be on the way, 32.
MOST_NUMBERS = 2**16

# Where they are put in: an entry that no other part of a question has.
PLACE = {"float64": "\0"}

# What stands before them; within a text its quotation marks would be escaped.
BEFORE = '"float64": '

# So many at a time: of base 64 every three bytes are four characters.
BYTES_AT_ONCE = 3 * 2**16

# Of a study, before the numbers of its trials.
TAG = re.compile(r"\w{1,64}", re.ASCII)


class Event(NamedTuple):
    """One line of the log; which fields a kind has stands at the top of this module.

    Attributes:
        seq: Its number, from 1, without gaps.
        kind: `created`, `asked`, `told`, `failed`, `added`, `stopped`, `spent`, `extended` or
            `sealed`.
        at: When, in seconds since 1970.
        trial: The trial's id.
        arm: The number of the arm; of the answer, where the study stopped.
        value: The result.
        data: The settings as JSON, the reason of a failure, or as the kind says.
        worker: Who was to measure, or who wrote this.
        chain: Digest of this event and all before it.
    """

    seq: int
    kind: str
    at: float
    trial: str = ""
    arm: int | None = None
    value: float | None = None
    data: str = ""
    worker: str = ""
    chain: str = ""


_NUMBER = (int, float)


def is_event(event: Event) -> bool:
    """Whether every field is of its kind: a file, or a damaged database, may hold anything."""
    seq, kind, at, trial, arm, value, data, worker, chain = event
    return (
        type(seq) is int
        and type(at) in _NUMBER
        and math.isfinite(at)
        and (arm is None or type(arm) is int)
        and (value is None or (type(value) in _NUMBER and math.isfinite(value)))
        and type(kind) is type(trial) is type(data) is type(worker) is type(chain) is str
    )


@contextmanager
def usable_strategy() -> Iterator[None]:
    """What Python says of a log's strategy, in a sentence; our own errors are one already."""
    try:
        yield
    except FurthestError:
        raise
    except UNREADABLE as error:
        raise VerificationError(f"the strategy of the log cannot be used: {error}") from error


class Note(NamedTuple):
    """What the log keeps of a result beside its value: `1000`, `20 sd=0.31`, `12 1763480000.5`."""

    size: int = 1  # of how many results the value is the mean
    sd: float | None = None  # their standard deviation, if somebody said so
    moment: str = ""  # when it was measured, in seconds since 1970, if somebody said so

    @property
    def text(self) -> str:
        """As the log keeps it: nothing for one result of which nothing is known."""
        words = ("" if self.size == 1 else str(self.size), self.moment)
        deviation = "" if self.sd is None else f"sd={self.sd!r}"
        return " ".join(filter(None, (words[0], deviation, words[1])))


# One result, of which nothing else is known: nearly all are.
ALONE = Note()


def note_of(event: Event) -> Note:
    """What an asked, told or added event says beside arm and value.

    Raises:
        ValueError: The text is none that `Note` makes.
    """
    if not event.data:
        return ALONE
    words = deque(event.data.split(" "))
    size = int(words.popleft()) if words[0].isdecimal() else 1
    sd = float(words.popleft()[3:]) if words and words[0].startswith("sd=") else None
    note = Note(size, sd, " ".join(words))
    if note.text != event.data:
        raise ValueError(event.data)
    return note


def size_of(event: Event) -> int:
    """How many results were asked for, or are in this one."""
    return note_of(event).size


class Columns(NamedTuple):
    """Told and added events, one array for each field."""

    arms: NDArray[np.int64]
    values: NDArray[np.float64]
    sizes: NDArray[np.int64]  # of how many results each value is the mean
    deviations: NDArray[np.float64]  # standard deviation of these; NaN where nobody said

    def pulls(self, arms: int) -> NDArray[np.int64]:
        """How often each of so many arms was measured."""
        return np.asarray(np.bincount(self.arms, self.sizes, arms), np.int64)

    def part(self, first: int, last: int | None = None) -> "Columns":
        """Some of them, in a row."""
        rows = slice(first, last)
        return Columns(self.arms[rows], self.values[rows], self.sizes[rows], self.deviations[rows])


def columns(results: Sequence[Event]) -> Columns:
    """Arms, values, sizes and deviations of told and added events."""
    notes = [note_of(event) for event in results]
    return Columns(
        np.array([event.arm for event in results], np.int64),
        np.array([event.value for event in results], float),
        np.array([note.size for note in notes], np.int64),
        np.array([note.sd for note in notes], float),
    )


def single(arms: NDArray[np.int64], values: NDArray[np.float64]) -> Columns:
    """Results one by one."""
    return Columns(arms, values, np.ones(len(arms), np.int64), np.full(len(arms), np.nan))


class Due(NamedTuple):
    """An arm that is to be measured so often."""

    arm: int
    size: int = 1


@dataclass(frozen=True)
class Settings:
    """The question, fixed for ever when the study is created."""

    problem: Problem
    chosen: Strategy | Mapping[str, Any]  # the strategy, or the words it is made from
    delta: float
    seed: int
    lease: float  # seconds after which an ask is no longer waited for
    tag: str  # in front of every trial's number: ids of two studies never meet
    order: str = AS_ASKED  # in which results count
    origin: str = ""  # of which study, with features, this one is the continuation without
    name: str = ""  # of the study; empty in logs of version 1
    budget: int | None = None  # measurements that may be asked for, until it is extended
    version: int = LOG_VERSION

    def check(self) -> None:
        """Refuse what no study can have, from a user or from a log."""
        check_level(self.delta)
        if not 0 < self.lease < math.inf:
            raise InputError(f"the lease must be a positive number of seconds, not {self.lease!r}")
        if self.budget is not None:
            check_budget(self.budget)
        if self.seed < 0:
            raise InputError(f"seed must be at least 0, not {self.seed}")
        if not TAG.fullmatch(self.tag):
            raise InputError(f"{self.tag!r} is no tag of trials")
        if self.order not in ORDERS:
            raise InputError(
                f"unknown order {self.order!r}; {nearest_name(str(self.order), ORDERS)}"
            )

    @cached_property
    def strategy(self) -> Strategy:
        """What decides. Made when first asked for: its checks may load compiled code."""
        if isinstance(self.chosen, Strategy):
            return self.chosen
        with usable_strategy():
            words = dict(self.chosen)
            words["threshold"] = words["threshold"] or None  # logs have "" where there is none
            if self.version < RENAMED and words["threshold"] == "paper":
                words["threshold"] = "paper-0.4"
            return Strategy(**words)

    @cached_property
    def takes_sums(self) -> bool:
        """Whether several results may be told at once: every test of this package allows it."""
        chosen = self.chosen
        word = chosen.stopping if isinstance(chosen, Strategy) else chosen["stopping"]
        if word is None or (isinstance(word, str) and not is_place(word)):
            return True
        test = self.strategy.test
        return test.observe is None or test.takes_sums

    def encode(self) -> str:
        """As the text of the created event."""
        strategy = self.strategy.describe()
        del strategy["guarantee"]
        strategy["threshold"] = strategy["threshold"] or ""
        matrices: list[NDArray[np.float64]] = []
        frame = json.dumps(
            {
                "version": self.version,
                "order": self.order,
                "origin": self.origin,
                "name": self.name,
                **({} if self.budget is None else {"budget": self.budget}),
                "delta": self.delta,
                "seed": self.seed,
                "lease": self.lease,
                "tag": self.tag,
                "strategy": strategy,
                "problem": problem_data(self.problem, partial(_packed, matrices)),
            }
        )
        # Put in afterwards: what `json` does with long texts takes three times their memory.
        memory.give_back(sum(matrix.nbytes for matrix in matrices))
        first, *rest = frame.split(json.dumps(PLACE)[1:-1])
        pieces = [first]
        for matrix, after in zip(matrices, rest, strict=True):
            data = np.ascontiguousarray(matrix, "<f8").data
            pieces += [BEFORE, '"', b2a_base64(data, newline=False).decode(), '"', after]
        return "".join(pieces)

    @classmethod
    def decode(cls, text: str) -> "Settings":
        """From the text of the created event."""
        frame, places = _taken_out(text)
        memory.give_back(len(text))  # it had been in pieces
        data = json.loads(frame)
        if data["version"] > LOG_VERSION:
            raise StorageError(
                f"the study was created by a newer furthest (log version {data['version']}, "
                f"this one reads up to {LOG_VERSION}): upgrade furthest"
            )
        question = data.pop("problem")
        for name in question:
            question[name] = _unpacked(question[name], text, places)
        if data["version"] < BOUNDED and question["bounds"] is not None:
            question = question | {"noise": "sub-Gaussian"}
        settings = cls(
            problem=Problem(**question),
            chosen=data["strategy"],
            delta=float(data["delta"]),
            seed=int(data["seed"]),
            lease=float(data["lease"]),
            tag=str(data["tag"]),
            order=data.get("order", AS_TOLD),
            origin=data.get("origin", ""),
            name=data.get("name", ""),
            budget=data.get("budget"),
            version=data["version"],
        )
        settings.check()
        return settings

    def differences(self, other: "Settings") -> list[str]:
        """What the guarantee rests on and `other` has otherwise: "δ is 0.01, not 0.05"."""
        found = []
        for name, mine, yours in (
            ("δ", self.delta, other.delta),
            ("ε", self.problem.eps, other.problem.eps),
            ("the notion", self.problem.notion, other.problem.notion),
            ("σ", self.problem.sigma, other.problem.sigma),
        ):
            if mine != yours:
                before, now = map(_listed, (mine, yours))
                found.append(f"{name} is {before}, not {now}")
        found += [
            f"the {name.replace('_', ' ').replace('initial', 'first arms')} are others"
            for name in FIXED
            if not np.array_equal(getattr(self.problem, name), getattr(other.problem, name))
        ]
        if _bound(self.problem) != _bound(other.problem):
            found.append("the bound on the parameter is another")
        if _words(self.strategy) != _words(other.strategy):
            found.append("the strategy is another")
        return found


def _listed(value: Any) -> Any:
    if isinstance(value, tuple):
        return ", ".join(map(str, value))
    return "unknown" if value is None else value


def _words(strategy: Strategy) -> str:
    """Tuples and lists are the same to a log."""
    return json.dumps(strategy.describe(), sort_keys=True)


def _rows(matrix: NDArray[np.float64]) -> Any:
    return matrix.tolist()


def problem_data(
    problem: Problem, matrix: Callable[[NDArray[np.float64]], Any] = _rows
) -> dict[str, Any]:
    """The problem as plain data, from which the very same floats are read back."""
    own_answers = problem.answers is not problem.arms
    return {
        "arms": matrix(problem.arms),
        "answers": matrix(problem.answers) if own_answers else None,
        "eps": problem.eps,
        "notion": problem.notion,
        "sigma": list(problem.sigma) if isinstance(problem.sigma, tuple) else problem.sigma,
        "bounds": None if problem.bounds is None else list(problem.bounds),
        **({} if problem.noise is None else {"noise": problem.noise}),
        "arm_names": list(problem.arm_names),
        "answer_names": list(problem.answer_names),
        "initial": list(problem.initial),
        **({} if problem.plain_features else {"feature_names": list(problem.feature_names)}),
        **_bound(problem),
        **({} if problem.costs is None else {"costs": list(problem.costs)}),
    }


def _bound(problem: Problem) -> dict[str, Any]:
    """What is known of μ beforehand; logs of problems without it are as they always were."""
    if problem.roughness is None:
        return {}
    return {"roughness": _rows(problem.roughness), "radius": problem.radius}


def _packed(matrices: list[NDArray[np.float64]], matrix: NDArray[np.float64]) -> Any:
    """As the log has it: rows, or of many numbers the bytes, eight of each, the lowest first.

    In base 64, which is left to be put in its place.
    """
    if matrix.size <= MOST_NUMBERS:
        return _rows(matrix)
    matrices.append(matrix)
    return {"columns": matrix.shape[1], **PLACE}


def _taken_out(text: str) -> tuple[str, list[tuple[int, int]]]:
    """A question with numbers in the places of the bytes of its matrices, and where these are."""
    frame: list[str] = []
    places: list[tuple[int, int]] = []
    end = 0
    while (found := text.find(f'{BEFORE}"', end)) >= 0:
        first = found + len(BEFORE) + 1
        last = text.index('"', first)
        frame.append(f"{text[end : first - 1]}{len(places)}")
        places.append((first, last))
        end = last + 1
    return "".join([*frame, text[end:]]), places


def _unpacked(entry: Any, text: str, places: list[tuple[int, int]]) -> Any:
    """What `_packed` made of a matrix as a matrix, anything else as it is."""
    if not isinstance(entry, dict):
        return entry
    (first, last), columns = places[entry["float64"]], entry["columns"]
    length = 3 * (last - first) // 4 // 8
    # Nobody can change it, so `Problem` takes it as it is.
    matrix = np.empty((length // columns, columns), "<f8")
    data, end, step = matrix.reshape(-1).view(np.uint8), 0, BYTES_AT_ONCE // 3 * 4
    for at in range(first, last, step):
        piece = a2b_base64(text[at : min(last, at + step)], strict_mode=True)
        data[end : end + len(piece)] = np.frombuffer(piece, np.uint8)
        end += len(piece)
    if end != len(data):
        raise ValueError("the bytes of a matrix are not as many as its numbers have")
    matrix.setflags(write=False)
    return matrix


def storable(strategy: Strategy) -> Strategy:
    """The strategy as another process can read it back from the log."""
    if not isinstance(strategy, Strategy):
        raise StrategyError(f"a study's strategy must be a furthest.Strategy, not {strategy!r}")
    try:
        json.dumps([dict(strategy.options), dict(strategy.stopping_options)])
    except TypeError:
        raise StrategyError("the options of a study's strategy must be plain data") from None
    return strategy.located()
