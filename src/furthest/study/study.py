"""Study: ask what to measure next, tell the result, stop with a certificate."""

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, NamedTuple, overload

from furthest.errors import (
    ChangeError,
    InputError,
    StoppedError,
    StudyError,
    UnknownStudyError,
    nearest_name,
)
from furthest.problem import Problem
from furthest.strategy import Strategy
from furthest.study.events import (
    ADDED,
    ASKED,
    CREATED,
    FAILED,
    TOLD,
    Event,
    Settings,
    columns,
    storable,
)
from furthest.study.ledger import Ledger, check_name
from furthest.study.storage import Storage, open_storage

if TYPE_CHECKING:
    from furthest.study.certificate import Certificate, Status
    from furthest.study.fold import Fold
    from furthest.study.foresight import Foresight

DEFAULT_STORAGE = "sqlite:///furthest.db"
DAY = 86_400.0

# More trials at once than anybody has workers.
MOST_TRIALS = 10_000


class Trial(NamedTuple):
    """One measurement to make."""

    id: str
    arm: int
    name: str


class Measurement(NamedTuple):
    """One result, as told."""

    id: str
    arm: int
    name: str
    value: float
    at: float  # seconds since 1970
    asked: bool


class Study:
    """A live study. Any number of processes may have the same one open."""

    def __init__(self, name: str, key: int, storage: Storage, events: Sequence[Event]) -> None:
        self._name = name
        self._key = key
        self._storage = storage
        self._turn = threading.RLock()
        self._proof: Certificate | None = None
        self._ledger = Ledger.resume(events)

    @classmethod
    def create(
        cls,
        name: str,
        problem: Problem,
        delta: float = 0.01,
        storage: str | Storage | None = None,
        *,
        strategy: Strategy | None = None,
        seed: int = 0,
        lease: float = DAY,
        exist_ok: bool = False,
    ) -> "Study":
        """Begin a study. With `exist_ok` one of the same name and question is opened instead.

        After `lease` seconds an ask is no longer waited for; its result is still welcome.
        """
        settings = _settings(problem, delta, strategy, seed, lease)
        place = _storage(storage)
        if exist_ok and name in place.studies():
            return cls._same(cls.load(name, place), settings)
        event = Event(1, CREATED, time.time(), data=settings.encode(), worker=_me())
        try:
            key = place.create(check_name(name), event)
        except StudyError:
            if not exist_ok:
                raise
            return cls._same(cls.load(name, place), settings)
        return cls(name, key, place, [event])

    @classmethod
    def load(cls, name: str, storage: str | Storage | None = None) -> "Study":
        """Open a study that exists."""
        place = _storage(storage)
        known = place.studies()
        if name not in known:
            raise UnknownStudyError(f"unknown study {name!r}; {nearest_name(str(name), known)}")
        return cls(name, known[name], place, place.resume(known[name]))

    @classmethod
    def _same(cls, study: "Study", settings: Settings) -> "Study":
        study.check_question(settings)
        return study

    def check_question(self, other: Settings) -> None:
        """Refuse settings other than those the study was created with."""
        differences = self.settings.differences(other)
        if differences:
            raise ChangeError(
                f"in the study {self._name!r} {'; '.join(differences)}: a change midway would void "
                "the guarantee; create another study"
            )

    @property
    def name(self) -> str:
        """The study's name."""
        return self._name

    @property
    def settings(self) -> Settings:
        """The question, fixed for ever."""
        return self._ledger.settings

    @property
    def problem(self) -> Problem:
        """What is measured and what is asked."""
        return self.settings.problem

    @property
    def strategy(self) -> Strategy:
        """What decides."""
        return self.settings.strategy

    @property
    def delta(self) -> float:
        """The allowed probability of error."""
        return self.settings.delta

    @overload
    def ask(self, n: None = None, *, worker: str | None = None) -> Trial: ...

    @overload
    def ask(self, n: int, *, worker: str | None = None) -> list[Trial]: ...

    def ask(self, n: int | None = None, *, worker: str | None = None) -> Trial | list[Trial]:
        """The next measurement to make, or `n` of them to make in parallel."""
        count = 1 if n is None else n
        if not isinstance(count, int) or not 1 <= count <= MOST_TRIALS:
            raise InputError(f"ask for 1 to {MOST_TRIALS} trials at a time, not {n!r}")
        with self._turn:
            _ = self._fold  # nobody has to wait for the lock while this process compiles
        now = time.time()
        with self._writing() as new:
            fold = self._fold
            if fold.stopped:
                answer = self.problem.answer_names[fold.answer]
                raise StoppedError(
                    f"the study {self._name!r} has stopped: the answer is {answer!r}"
                )
            pending = [event.arm for event in self._ledger.pending(now) if event.arm is not None]
            first = self._ledger.seq + 1
            asked = [
                Event(seq, ASKED, now, self._ledger.own_id(seq), arm, worker=worker or _me())
                for seq, arm in enumerate(fold.suggest(pending, count), first)
            ]
            new.extend(asked)
        trials = [self._trial(event) for event in asked]
        return trials[0] if n is None else trials

    def tell(self, trial: str, value: float) -> None:
        """The result of a trial. Once this returns the result is safe.

        The same result again changes nothing; another one is refused. A late result is welcome.
        """
        number = self._ledger.value(value)
        with self._writing() as new:
            asked = self._ledger.trial(trial)
            if not self._ledger.is_told_again(asked.trial, number):
                new.append(self._event(TOLD, asked.trial, asked.arm, number))

    def fail(self, trial: str, reason: str = "") -> None:
        """There will be no result for this trial. Whether it fails must not depend on the value."""
        if not isinstance(reason, str):
            raise StudyError(f"a reason must be a text, not {reason!r}")
        with self._writing() as new:
            asked = self._ledger.trial(trial)
            known = self._ledger.results.get(asked.trial)
            if known is not None:
                raise StudyError(f"trial {trial!r} has a result already, {known.value!r}")
            if asked.trial not in self._ledger.failed:
                new.append(self._event(FAILED, asked.trial, asked.arm, data=reason))

    def add(self, arm: int | str, value: float, id: str | None = None) -> str:  # noqa: A002
        """A measurement that was never asked for; returns its id.

        With an `id` of yours the call may be repeated: the same measurement is added once.
        """
        ledger = self._ledger
        number, own_arm = ledger.value(value), ledger.arm(arm)
        with self._writing() as new:
            trial = ledger.own_id(ledger.seq + 1) if id is None else ledger.foreign_id(id)
            if not ledger.is_told_again(trial, number):
                new.append(self._event(ADDED, trial, own_arm, number, worker=_me()))
            elif ledger.results[trial].arm != own_arm:
                before = self.problem.arm_names[ledger.results[trial].arm or 0]
                raise StudyError(f"measurement {trial!r} was of arm {before!r} before")
        return trial

    def status(self) -> "Status":
        """Where the study stands now."""
        from furthest.study.certificate import certificate, status

        with self._turn:
            self._refresh()
            if self._fold.stopped and self._proof is None:
                self._proof = certificate(self._name, self._ledger, self._fold, self.events())
            return status(self._name, self._ledger, self._fold, time.time(), self._proof)

    def certificate(self) -> "Certificate | None":
        """The proof, once the study has stopped."""
        return self.status().certificate

    def foresight(self, draws: int = 100, seed: int = 0) -> "Foresight | None":
        """How many more measurements are to be expected; None before the initial design is done."""
        from furthest.study.foresight import foresee

        with self._turn:
            self._refresh()
            return foresee(self.settings, self._fold, self._ledger.measured, draws, seed)

    def history(self) -> list[Measurement]:
        """All results in the order told."""
        with self._turn:
            self._refresh()
            names = self.problem.arm_names
            return [
                Measurement(e.trial, e.arm, names[e.arm], e.value, e.at, e.kind == TOLD)
                for e in self._ledger.measured
                if e.arm is not None and e.value is not None
            ]

    def pending(self) -> list[Event]:
        """Asks that are still waited for."""
        with self._turn:
            self._refresh()
            return self._ledger.pending(time.time())

    def failures(self) -> list[Event]:
        """Trials without a result."""
        with self._turn:
            self._refresh()
            return list(self._ledger.failed.values())

    def events(self) -> list[Event]:
        """The log."""
        return self._storage.read(self._key)

    def delete(self) -> None:
        """Remove the study for ever."""
        self._storage.delete(self._key)

    def close(self) -> None:
        """Let go of the storage's file or connection."""
        self._storage.close()

    @contextmanager
    def _writing(self) -> Iterator[list[Event]]:
        """Lock the log, read what others wrote; what the block puts into the list is written."""
        with self._turn:
            with self._storage.writing(self._key) as log:
                self._ledger.apply(log.read(self._ledger.seq))
                events: list[Event] = []
                yield events
                log.append(events)
            # Only what is committed counts.
            self._ledger.apply(events)

    def _refresh(self) -> None:
        self._ledger.apply(self._storage.read(self._key, self._ledger.seq))

    @cached_property
    def _compiled(self) -> "Fold":
        from furthest.study.fold import Fold

        return Fold(self.settings)

    @property
    def _fold(self) -> "Fold":
        """The state after all results; compiled code is loaded when it is first needed."""
        fold = self._compiled
        results = self._ledger.measured[fold.told :]
        if results:
            fold.take(*columns(results))
        return fold

    def _event(
        self, kind: str, trial: str, arm: int | None, value: float | None = None, **rest: str
    ) -> Event:
        return Event(self._ledger.seq + 1, kind, time.time(), trial, arm, value, **rest)

    def _trial(self, event: Event) -> Trial:
        arm = event.arm or 0
        return Trial(event.trial, arm, self.problem.arm_names[arm])


def _settings(
    problem: Problem, delta: float, strategy: Strategy | None, seed: int, lease: float
) -> Settings:
    strategy = storable(strategy or Strategy())
    try:
        level, seconds, number = float(delta), float(lease), int(seed)
    except (TypeError, ValueError):
        raise InputError(
            f"δ, lease and seed must be numbers: {delta!r}, {lease!r}, {seed!r}"
        ) from None
    strategy.check_levels([level])
    strategy.check_question(problem)
    if not seconds > 0:
        raise InputError(f"the lease must be a positive number of seconds, not {lease!r}")
    if number < 0:
        raise InputError(f"seed must be at least 0, not {seed}")
    from furthest.preparation import prepare

    # Bad options of the sampling rule show now, not at the first ask.
    prepare(strategy, problem.task, [level], sigma_known=problem.sigma is not None)
    return Settings(
        problem=problem,
        strategy=strategy,
        delta=level,
        seed=number,
        lease=seconds,
        tag=secrets.token_hex(2),
    )


def _storage(storage: str | Storage | None) -> Storage:
    if storage is None:
        storage = os.environ.get("FURTHEST_STORAGE") or DEFAULT_STORAGE
    return open_storage(storage) if isinstance(storage, str) else storage


def _me() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
