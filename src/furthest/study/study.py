"""Study: ask what to measure next, tell the result, stop with a certificate."""

import math
import os
import secrets
import socket
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, overload

import numpy as np

from furthest import display, memory
from furthest.compiling import announced, words
from furthest.errors import (
    BudgetError,
    ChangeError,
    FurthestError,
    InconclusiveError,
    InputError,
    StoppedError,
    StorageError,
    StudyError,
    StudyExistsError,
    UnknownStudyError,
    VerificationError,
    nearest_name,
)
from furthest.problem import Problem
from furthest.strategy import Strategy, check_budget
from furthest.study.chain import chained
from furthest.study.events import (
    ADDED,
    AS_ASKED,
    ASKED,
    CREATED,
    EXTENDED,
    FAILED,
    LOG_VERSION,
    SEALED,
    SPENT,
    STOPPED,
    TOLD,
    UNREADABLE,
    Columns,
    Due,
    Event,
    Note,
    Settings,
    columns,
    size_of,
    storable,
)
from furthest.study.ledger import (
    MOST_OUTCOMES,
    RESULT_FIELDS,
    End,
    Ledger,
    Result,
    check_name,
    storable_text,
)
from furthest.study.records import (
    Certificate,
    Conclusion,
    Condition,
    Failure,
    Foresight,
    Measurement,
    Pending,
    Status,
    Trial,
)
from furthest.study.snapshot import Snapshot, is_due, load, save
from furthest.study.storage import Log, Storage, open_storage
from furthest.study.turns import Turn

if TYPE_CHECKING:
    from furthest.study.fold import Fold, Outcome
    from furthest.study.verdict import Look

DEFAULT_STORAGE = "sqlite:///furthest.db"
DAY = 86_400.0

# In front of every trial's number: two of a million studies have the same with probability ½.
TAG_BYTES = 5

# Ids of trials in an error.
SHOWN = 5

# From this version of a log on its end is an event.
ENDS_IN_LOG = 2

# What a study of plain options does not take over from one with features.
NOT_INHERITED = (STOPPED, SPENT, EXTENDED, SEALED)

# So many events are read at a time.
PAGE = 5_000

# More trials at once than anybody has workers.
MOST_TRIALS = 10_000


class Study:
    """A live study: it says what to measure next, takes the results, and stops with a proof.

    >>> import furthest as ft
    >>> problem = ft.Problem.options(["A", "B", "C"], eps=0.1, sigma=0.5)
    >>> study = ft.Study.create("paint", problem, delta=0.05, storage="sqlite:///paint.db")
    >>> trial = study.ask()
    >>> trial.arm, trial.name
    (0, 'A')
    >>> study.tell(trial, 0.9)

    Several may be measured in parallel. The loop ends when the study has its answer:

    >>> quality = {"A": 0.9, "B": 0.1, "C": 0.4}  # in place of a measurement
    >>> while study.status().state == "running":
    ...     for trial in study.ask(n=2):
    ...         study.tell(trial, quality[trial.name])
    >>> study.certificate().answer_name
    'A'
    >>> study.certificate().guarantee.partition(",")[0]
    'with probability at least 95 %'

    Any process may open it again, on any machine that reaches the storage:

    >>> ft.Study.load("paint", "sqlite:///paint.db").status().state
    'stopped'

    The log is the study: every ask, result and failure is one event, and what is shown follows from
    the events alone. Any number of threads and processes may work on one study. What a call wrote
    when it returned survives the end of the process. What is refused changes nothing.

    Every method that reads or writes the log may raise `StorageError` (the storage did not do it;
    try again), `UnknownStudyError` (somebody has deleted the study) and `VerificationError` (the
    log is not what was written).
    """

    def __init__(
        self,
        name: str,
        key: int,
        storage: Storage,
        events: Sequence[Event],
        settings: Settings | None = None,
    ) -> None:
        self._name = name
        self._key = key
        self._storage = storage
        self._turn = Turn()
        self._torn = False  # interrupted in the middle of a change
        self._proof: Certificate | None = None
        self._ending: Conclusion | None = None
        self._examined: tuple[int, Sequence[Condition]] | None = None  # after so many events
        self._ledger = Ledger.of(events, settings)
        self._log: Log | None = None  # while it is locked for writing
        self._snapshot: Snapshot | None = None  # until it is used
        self._kept = 0  # events in the last snapshot

    def __repr__(self) -> str:
        """By what this process knows: no storage is read and nothing compiled."""
        ledger = self._ledger
        return (
            f"Study({self._name!r}, {self.problem.in_words}, δ = {self.delta:g}; "
            f"{ledger.outcomes:,} measured{self._of_budget}, {len(ledger.open):,} open, "
            f"{len(ledger.failed):,} failed{self._end})"
        )

    def _repr_html_(self) -> str:
        problem, ledger = self.problem, self._ledger
        results = ledger.measured.columns
        counts = results.pulls(len(problem.arms))
        sums = np.bincount(results.arms, results.values * results.sizes, len(problem.arms))
        order = np.argsort(-counts, kind="stable")[: display.ROWS]
        rows: list[list[display.Cell]] = [
            [
                problem.arm_names[arm],
                int(counts[arm]),
                float(sums[arm] / counts[arm]) if counts[arm] else None,
                display.Bar(counts[arm] / max(1, counts.max())),
            ]
            for arm in order
        ]
        return display.card(
            f"{self._name}{self._end}",
            display.line(f"{problem.in_words}, δ = {self.delta:g}"),
            display.line(
                f"{counts.sum():,} measured{self._of_budget}, {len(ledger.open):,} open, "
                f"{len(ledger.failed):,} failed",
                "soft",
            ),
            display.table(("arm", "measured", "mean", ""), rows, len(counts)),
        )

    @property
    def _of_budget(self) -> str:
        return "" if self.budget is None else f" of a budget of {self.budget:,}"

    @property
    def _end(self) -> str:
        """How it ended, if this process has seen the proof, or somebody the end of the budget."""
        if self._proof:
            return f"; the answer is {self._proof.answer_name!r}"
        return "; inconclusive" if self.is_spent else ""

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
        order: str | None = None,
        budget: int | None = None,
        exist_ok: bool = False,
        token: str | None = None,
    ) -> "Study":
        """Begin a study. What is asked can never be changed: that would void the guarantee.

        Args:
            name: A short text, unique in its storage.
            problem: What can be measured, what can be answered, and how good is good enough.
            delta: The allowed probability of a wrong answer.
            storage: `sqlite:///FILE`, `postgresql://USER@HOST/DATABASE`, or `http://HOST:PORT` of
                `furthest serve`; by default the variable FURTHEST_STORAGE of the environment, or
                else the file furthest.db.
            strategy: What decides; by default softmin with the stopping rule ranked.
            seed: For strategies that draw at random.
            lease: Seconds after which an ask is no longer waited for, and its arm may be asked
                again. A result that comes later is still welcome.
            order: In which order results count: `asked`, the default, or `told`. As asked, a result
                waits for those that were asked for earlier, and it does not matter whether the time
                that a measurement takes depends on its value; as told, that would void the
                guarantee. What to measure next depends on all results at once either way.
            budget: How many measurements may be made. When they are, and there is no answer, the
                study ends inconclusive, with what is proven by then: see `conclusion`, `extend`.
            exist_ok: Open the study of this name instead, if there is one with the same question.
            token: What a server asks for; by default the variable FURTHEST_TOKEN of the
                environment.

        Returns:
            The study, which waits for its first `ask` or `add`.

        Raises:
            StudyExistsError: There is a study of this name already.
            StudyError: The name is not fit for use.
            ChangeError: With `exist_ok`: that study asks another question.
            StrategyError: The strategy does not fit the problem, or could not be read back.
            InputError: δ, seed, lease, order or budget out of range, not a Problem, or a token for
                a storage that asks for none.
            StorageError: The storage did not do it; nothing was created.
        """
        check_name(name)
        settings = _settings(name, problem, delta, strategy, seed, lease, order or AS_ASKED, budget)
        place = _storage(storage, token)
        if exist_ok and name in place.studies():
            return cls._same(cls.load(name, place), settings, order)
        problem.forget_task()  # many arms twice, beside all that the database makes of the question
        events = chained([Event(1, CREATED, time.time(), data=settings.encode(), worker=_me())])
        try:
            key = place.create(name, *events)
        except StudyExistsError:
            if not exist_ok:
                raise
            return cls._same(cls.load(name, place), settings, order)
        study, written = cls(name, key, place, events, settings), len(events[0].data)
        del events
        memory.give_back(written)
        return study

    @classmethod
    def load(
        cls, name: str, storage: str | Storage | None = None, *, token: str | None = None
    ) -> "Study":
        """Open a study that exists.

        Args:
            name: The study's name.
            storage: Where it is kept, as for `create`.
            token: What a server asks for, as for `create`.

        Returns:
            The study as it stands.

        Raises:
            UnknownStudyError: There is none of this name; the nearest one is named.
            StorageError: The storage cannot be read, or was written by a newer furthest.
        """
        place = _storage(storage, token)
        known = place.studies()
        if name not in known:
            raise UnknownStudyError(f"unknown study {name!r}; {nearest_name(str(name), known)}")
        events = place.read(known[name], 0, "", PAGE)
        study, read = cls(name, known[name], place, events[:1]), len(events[0].data)
        events = events[1:]  # without the question: to judge results takes memory, too
        memory.give_back(read)
        study._ledger.apply(events)
        study._resume()
        return study

    @classmethod
    def _same(cls, study: "Study", settings: Settings, order: str | None) -> "Study":
        """The study, unless it asks something else."""
        differences = study.settings.differences(settings)
        if order not in (None, study.settings.order):
            differences.append(f"the order of results is {study.settings.order}, not {order}")
        if not differences and settings.budget not in (study.settings.budget, study.budget):
            before, now = (each or "none" for each in (study.budget, settings.budget))
            raise ChangeError(
                f"the budget of the study {study.name!r} is {before}, not {now}: a greater one is "
                "given with `extend`"
            )
        if differences:
            raise ChangeError(
                f"in the study {study.name!r} {'; '.join(differences)}: a change midway would void "
                "the guarantee; create another study"
            )
        return study

    def as_options(self, name: str, *, budget: int | None = None) -> "Study":
        """The same question about plain options, with everything that this study has measured.

        A way to go on where the features do not explain the values. Every arm then has a value of
        its own, whatever its features are, and the guarantee needs no linear model. It holds for
        the results as they are, although they were sampled for another model and looked at before
        (docs/theory/doubts.md says why, and why that is not so for better features).

        Args:
            name: The new study's, unique in the same storage.
            budget: Its budget, what is measured already included; by default that of this study.

        Returns:
            The new study, with a copy of the log of this one, which stays as it is.

        Raises:
            StudyError: An answer is not an arm, so that only features lead from one to the other;
                or there is a study of this name already.
        """
        with self._announced(), self._working():
            self._refresh()
            if self._ledger.from_snapshot:
                self._read_all()  # and check its chain: the new log has one of its own
            settings, log = self.settings, self.events()
            origin = f"{self._name}: {len(log)} events"
            again = replace(
                settings,
                problem=_plain_options(self.problem),
                chosen=settings.strategy,
                tag=secrets.token_hex(TAG_BYTES),
                origin=origin,
                name=check_name(name),
                budget=self.budget if budget is None else budget,
                version=LOG_VERSION,
            )
            _checked(again)
            if budget is not None and budget <= self._ledger.outcomes:
                raise StudyError(
                    f"a budget of {budget:,} would leave nothing: {self._ledger.outcomes:,} are "
                    "measured already"
                )
            created = Event(1, CREATED, log[0].at, data=again.encode(), worker=_me())
            rest = [event for event in log[1:] if event.kind not in NOT_INHERITED]
            events = chained([created, *(event._replace(seq=i) for i, event in enumerate(rest, 2))])
            key = self._storage.create(name, *events)
            return type(self)(name, key, self._storage, events)

    @property
    def name(self) -> str:
        """The study's name."""
        return self._name

    @property
    def key(self) -> int:
        """Its number in the storage, which no other study has or will have."""
        return self._key

    @property
    def end(self) -> End:
        """Where the log ends, as far as this process has read it."""
        return self._ledger.end

    @property
    def created_at(self) -> float:
        """When the study began, in seconds since 1970."""
        return self._ledger.created.at

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

    @property
    def budget(self) -> int | None:
        """How many measurements may be made, as far as this process has read the log."""
        return self._ledger.budget

    @property
    def measured(self) -> int:
        """How many measurements there are, as far as this process has read the log."""
        return self._ledger.outcomes

    @property
    def is_spent(self) -> bool:
        """Whether somebody has seen the budget spent, and no answer; needs no compiler.

        By what this process has read of the log, as `outcome`.
        """
        return self._ledger.spent is not None and self._ledger.stopped is None

    @property
    def outcome(self) -> int | None:
        """The number of the answer, if somebody has seen the study stop; needs no compiler.

        By what this process has read of the log; `status` reads and computes all anew.
        """
        return None if self._ledger.stopped is None else self._ledger.stopped.arm

    @overload
    def ask(self, n: None = None, *, worker: str | None = None) -> Trial: ...

    @overload
    def ask(self, n: int, *, worker: str | None = None) -> list[Trial]: ...

    @overload
    def ask(self, *, batch: int, worker: str | None = None) -> list[Trial]: ...

    def ask(
        self, n: int | None = None, *, batch: int | None = None, worker: str | None = None
    ) -> Trial | list[Trial]:
        """What to measure next.

        What is pending counts: the next arm is chosen as if every pending trial had turned out as
        predicted, so ten workers get what one would have measured in ten rounds of no surprise.
        Of a budget no more is handed out than is left.

        Args:
            n: How many trials, to measure in parallel; without it one.
            batch: How many measurements to share out, such as the visitors of tomorrow: one trial
                for each arm that gets some of them, with its share as `size`.
            worker: Who will measure them, for `pending`; by default host and process.

        Returns:
            One `Trial`, or a list of `n`, or one for each arm of a batch; fewer where the budget
            allows no more.

        Raises:
            StoppedError: The study has its answer: see `certificate`.
            InconclusiveError: A StoppedError: the budget is spent: see `conclusion`, `extend`.
            BudgetError: What is left of the budget is being measured: wait for it.
            InputError: `n` or `batch` is no sensible number.
        """
        if n is not None and batch is not None:
            raise InputError("ask for n trials or for a batch, not for both")
        count, most = (n, MOST_TRIALS) if batch is None else (batch, MOST_OUTCOMES)
        count = 1 if count is None else count
        if not isinstance(count, int) or not 1 <= count <= most:
            raise InputError(f"ask for 1 to {most} trials at a time, not {count!r}")
        measurer = _me() if worker is None else storable_text(worker, "a worker")
        with self._announced():
            asked = self._ask(count, measurer, shared=batch is not None)
        trials = [Trial(event.trial, *self._arm(event), size_of(event)) for event in asked]
        return trials[0] if n is None and batch is None else trials

    def _ask(self, count: int, measurer: str, *, shared: bool) -> list[Event]:
        with self._working():
            _ = self._fold  # nobody has to wait for the lock while this process compiles
        now = time.time()
        asked: list[Event] = []
        with self._writing() as new:
            fold, ledger = self._fold, self._ledger
            over = fold.stopped or ledger.is_over(now)
            if over:
                new.extend(self._end_event())
            else:
                count = self._affordable(count, now)
                suggest = fold.share_out if shared else fold.suggest
                pending = [Due(event.arm or 0, size_of(event)) for event in ledger.pending(now)]
                due = suggest(pending, count, columns(ledger.waiting()))
                asked = [
                    Event(seq, ASKED, now, ledger.own_id(seq), arm, None, Note(size).text, measurer)
                    for seq, (arm, size) in enumerate(due, ledger.seq + 1)
                ]
                new.extend(asked)
        if fold.stopped:
            self._check_end()
            answer = self.problem.answer_names[fold.answer]
            raise StoppedError(f"the study {self._name!r} has stopped: the answer is {answer!r}")
        if over:
            proven = self.status().guarantee
            raise InconclusiveError(
                f"the budget of {self.budget} measurements of the study {self._name!r} is spent, "
                f"and it has no answer; by now: {proven}"
            )
        return asked

    def _affordable(self, count: int, now: float) -> int:
        """How many of so many measurements the budget still allows."""
        left = self._ledger.left(now)
        if left is None:
            return count
        if left < 1:
            out = list(self._ledger.open)
            raise BudgetError(
                f"nothing is left of the budget of {self.budget} measurements of the study "
                f"{self._name!r}, but {len(out)} of its trials {'is' if len(out) == 1 else 'are'} "
                f"still out ({', '.join(out[:SHOWN])}{', …' if len(out) > SHOWN else ''}): tell "
                "their results, or report them as failed"
            )
        return min(count, left)

    def extend(self, budget: int) -> None:
        """Allow more measurements. A study that was inconclusive goes on.

        The guarantee is as good as if the budget had been this one from the beginning: the tests
        may be looked at after any number of measurements, and go on for any reason
        (docs/decisions/0024-budgets.md). The same budget again changes nothing.

        Args:
            budget: How many in all, what is measured already included.

        Raises:
            InputError: Not a whole number.
            StudyError: The study has no budget, or this one is smaller.
            StoppedError: The study has its answer.
        """
        check_budget(budget)
        with self._writing() as new:
            ledger = self._ledger
            if ledger.budget is None:
                raise StudyError(f"the study {self._name!r} has no budget: it needs none to go on")
            if budget < ledger.budget:
                raise StudyError(
                    f"the study {self._name!r} has a budget of {ledger.budget:,} measurements: "
                    "that can only become more"
                )
            if ledger.stopped is not None:
                raise StoppedError(f"the study {self._name!r} has its answer: nothing to extend")
            if budget > ledger.budget:
                new.append(self._event(EXTENDED, "", None, data=str(budget), worker=_me()))

    def tell(
        self,
        trial: Trial | Pending | str,
        value: float | None = None,
        *,
        successes: int | None = None,
        mean: float | None = None,
        n: int | None = None,
        sd: float | None = None,
        sem: float | None = None,
    ) -> None:
        """The result of a trial. Once this returns the result is safe.

        The same result again changes nothing. A late result is welcome, even after the study has
        stopped; then it goes to the log and the certificate stays as it is.

        Several measurements of the trial's arm may be told at once: of yes/no outcomes their
        counts, `tell(trial, successes=37, n=1000)`, else their mean, `tell(trial, mean=0.41, n=20,
        sd=0.3)`. n need not be what was asked for, but must not depend on what is measured: all of
        a day, or 20, not "until it looked good". Where outcomes are yes or no and options have no
        features it may also be as many as it took until the tenth success. In any case nothing may
        be left out, or counted, because of its value, nor before that is final.

        Args:
            trial: What `ask` returned, or its id.
            value: A finite number, within the problem's bounds if it has any.
            successes: How many of n outcomes were the upper bound, 1 if the problem has no other.
            mean: The mean of n results.
            n: Of how many.
            sd: The standard deviation of these, with n − 1. Where σ is unknown it is needed, with
                all of its digits; with bounds, it can save measurements.
            sem: The standard error of their mean, sd/√n, instead.

        Raises:
            ValueRefusedError: That cannot be the result.
            UnknownStudyError: There is no such trial; the nearest id is named.
            ContradictionError: The trial has another result already, or was reported as failed.
        """
        result = self._ledger.result(value, successes=successes, mean=mean, n=n, sd=sd, sem=sem)
        self._write_results([_Given(result, _id(trial))])

    def tell_many(self, results: Iterable[Mapping[str, Any]]) -> list[str]:
        """Several results at once: all of them are written, or none is.

        >>> import furthest as ft
        >>> problem = ft.Problem.options(["A", "B"], eps=0.02, noise="bernoulli")
        >>> study = ft.Study.create("pages", problem, delta=0.05, storage="sqlite:///paint.db")
        >>> shares = study.ask(batch=1000)
        >>> sold = {"A": 31, "B": 24}  # of the visitors who saw it
        >>> told = [
        ...     {"trial": each, "successes": sold[each.name], "n": each.size} for each in shares
        ... ]
        >>> len(study.tell_many(told))
        2

        Args:
            results: Each with `trial` and what else `tell` takes, or with `arm` and what `add`
                takes.

        Returns:
            The ids of the results.

        Raises:
            StudyError: As `tell` and `add` do; the message begins with the number of the result.
        """
        given = []
        for number, fields in enumerate(results, 1):
            with _numbered(number):
                given.append(self._given(**fields))
        return self._write_results(given)

    def _given(
        self,
        *,
        trial: Any = None,
        arm: Any = None,
        id: str | None = None,  # noqa: A002
        measured_at: float | None = None,
        **result: Any,
    ) -> "_Given":
        """A result as it was handed in, checked."""
        unknown = result.keys() - RESULT_FIELDS
        if unknown:
            fields = ("trial", "arm", "id", "measured_at", *RESULT_FIELDS)
            raise InputError(
                f"a result has no {min(unknown)!r}; {nearest_name(min(unknown), fields)}"
            )
        if (trial is None) == (arm is None):
            raise InputError("each result needs the trial that it is of, or the arm")
        found = self._ledger.result(**result)
        if arm is None:
            return _Given(found, _id(trial))
        return _Given(found, id, self._ledger.arm(arm), _moment(measured_at))

    def _write_results(self, given: "Sequence[_Given]") -> list[str]:
        """What is not in the log yet; returns the ids of all."""
        ids, fresh = list[str](), dict[str, Event]()
        with self._writing() as new:
            ledger = self._ledger
            for number, each in enumerate(given, 1):
                with _numbered(number if len(given) > 1 else None):
                    event = self._result_event(each, ledger.seq + len(fresh) + 1)
                    if not ledger.is_told_again(event, fresh.get(event.trial)):
                        fresh[event.trial] = event
                ids.append(event.trial)
            new.extend(fresh.values())
        return ids

    def _result_event(self, given: "_Given", seq: int) -> Event:
        ledger, (value, *_) = self._ledger, given.result
        note, now = given.result.note(given.moment), time.time()
        if given.arm is None:
            asked = ledger.trial(given.trial or "")
            return Event(seq, TOLD, now, asked.trial, asked.arm, value, note)
        trial = ledger.own_id(seq) if given.trial is None else ledger.foreign_id(given.trial)
        return Event(seq, ADDED, now, trial, given.arm, value, note, _me())

    def fail(self, trial: Trial | Pending | str, reason: str = "") -> None:
        """There will be no result for this trial; its arm may be asked again.

        Whether a trial fails must not depend on what its value would have been: dropping the
        bad-looking results voids the guarantee. The same trial again changes nothing.

        Args:
            trial: What `ask` returned, or its id.
            reason: Why, in your words.

        Raises:
            UnknownStudyError: There is no such trial; the nearest id is named.
            StudyError: The trial has a result already, or the reason is not a text.
        """
        own_id = _id(trial)
        storable_text(reason, "a reason")
        with self._writing() as new:
            asked = self._ledger.trial(own_id)
            known = self._ledger.results.get(asked.trial)
            if known is not None:
                raise StudyError(f"trial {own_id!r} has a result already, {known.value!r}")
            if asked.trial not in self._ledger.failed:
                new.append(self._event(FAILED, asked.trial, asked.arm, data=reason, worker=_me()))

    def add(
        self,
        arm: int | str,
        value: float | None = None,
        id: str | None = None,  # noqa: A002
        *,
        successes: int | None = None,
        mean: float | None = None,
        n: int | None = None,
        sd: float | None = None,
        sem: float | None = None,
        measured_at: float | None = None,
    ) -> str:
        """A measurement that was never asked for, such as one from last week.

        The certificate says how many there are, and holds only if they were not picked by their
        values, and the question was not made up from them.

        Args:
            arm: The arm's number or name.
            value: A finite number, within the problem's bounds if it has any.
            id: An id of yours. With it the call may be repeated: the measurement is added once.
            successes: Several measurements at once, as for `tell`, and so are …
            mean: … this …
            n: … and this …
            sd: … and this …
            sem: … and this.
            measured_at: When it was measured, in seconds since 1970, if you know.

        Returns:
            The measurement's id.

        Raises:
            ValueRefusedError: The value is not such a number.
            UnknownStudyError: There is no such arm; the nearest name is named.
            ContradictionError: The id has another result already, or was reported as failed.
            StudyError: The id was of another arm before, or is not fit for use.
        """
        found = self._ledger.result(value, successes=successes, mean=mean, n=n, sd=sd, sem=sem)
        given = _Given(found, id, self._ledger.arm(arm), _moment(measured_at))
        return self._write_results([given])[0]

    def status(self) -> Status:
        """Where the study stands now, by all that anybody has told.

        Returns:
            State, answer, statistic against threshold, counts, a verdict on each answer, warnings,
            and the certificate once the study has stopped. An answer before that is the current
            candidate and has no guarantee. The first look after the end writes it into the log.
            If the budget is spent, and there is no answer, the conclusion in place of a
            certificate.
        """
        from furthest.study.certificate import certificate, status

        with self._announced(), self._working():
            self._refresh()
            if self._end_event():
                # A storage that cannot be written to can still be looked at.
                with suppress(StorageError):
                    self._write_end()
            if self._fold.stopped and self._proof is None:
                self._check_end()
                self._proof = certificate(self._name, self._ledger, self._fold, self.events())
            now, ending = time.time(), self._conclude()
            return status(self._name, self._ledger, self._fold, now, self._proof, ending)

    def _check_end(self) -> None:
        """Anybody who may write to the log can say that the study has stopped."""
        from furthest.study.certificate import check_outcome

        if self._proof is None:
            check_outcome(self._ledger, self._fold)

    def _conclude(self) -> Conclusion | None:
        """What is proven, if the budget is spent and there is no answer."""
        from furthest.study.certificate import conclusion

        ledger = self._ledger
        if self._fold.stopped or not (ledger.spent or ledger.is_over(time.time())):
            return None
        length = ledger.spent.seq - 1 if ledger.spent else ledger.seq
        if self._ending is None or self._ending.log_events != length:
            self._ending = conclusion(self._name, self.events()[:length], ledger.spent)
        return self._ending

    def certificate(self) -> Certificate | None:
        """The proof, once the study has stopped.

        Returns:
            The certificate, the same in every process and for ever; None while the study runs.
        """
        return self.status().certificate

    def conclusion(self) -> Conclusion | None:
        """What is proven, once the budget is spent and there is no answer.

        Returns:
            How near the candidate is to the best, for certain, and which answers remain; None
            while the study runs, or if it has stopped. Results that come later do not change it,
            but may still lead to an answer; and so may `extend`.
        """
        return self.status().conclusion

    def foresight(self, draws: int = 100, seed: int = 0) -> Foresight | None:
        """How many more measurements are to be expected, by simulated futures of this study.

        Args:
            draws: How many futures; each draws a parameter from the posterior.
            seed: The same seed gives the same figures.

        Returns:
            Median and 5 … 95 % of the measurements still needed, and with a budget how likely it
            is to suffice; None where there is nothing to
            go by yet: the initial design is not complete, or says nothing about an unknown σ.

        Raises:
            InputError: `draws` is less than 1.
        """
        from furthest.study.foresight import foresee

        with self._announced("foresight"):
            with self._working():
                self._refresh()
                fold, budget = self._fold.apart(), self.budget
            # It takes seconds, and others need not wait for it.
            return foresee(self.settings, fold, draws, seed, budget)

    def look(self) -> "Look":
        """The evidence as it is now, which later results do not change.

        Of this furthest.study.picture makes what pages show beside the status.
        """
        from furthest.study.conditions import base_of, conditions
        from furthest.study.verdict import Look

        with self._announced(), self._working():
            self._refresh()
            fold, seq = self._fold, self._ledger.seq
            if self._examined is None or self._examined[0] != seq:
                ended = fold if fold.stopped else None
                rests_on = conditions(base_of(self._ledger, ended), trust=False)
                self._examined = seq, rests_on
            return Look(fold, self._examined[1])

    def counting(self, first: int = 0) -> "tuple[Columns, Outcome | None]":
        """The results that count, from this number on, and where the log says that it ended."""
        from furthest.study.certificate import outcome_of

        with self._working():
            self._refresh()
            return self._ledger.counting(first).columns, outcome_of(self._ledger)

    def history(self, first: int = 0, most: int | None = None) -> list[Measurement]:
        """Results in the order told.

        Args:
            first: How many of them to leave out.
            most: How many at most; by default all the others.
        """
        with self._working():
            self._refresh()
            return self._ledger.history(first, most)

    def pending(self) -> list[Pending]:
        """Trials that are still waited for, in the order asked."""
        with self._working():
            self._refresh()
            return [
                Pending(e.trial, *self._arm(e), e.at, e.worker, size_of(e))
                for e in self._ledger.pending(time.time())
            ]

    def failures(self) -> list[Failure]:
        """Trials that failed, in the order reported."""
        with self._working():
            self._refresh()
            return [
                Failure(e.trial, *self._arm(e), e.at, e.data, e.worker)
                for e in self._ledger.failed.values()
            ]

    def events(self) -> list[Event]:
        """The log itself, as stored: what `furthest.study.certificate.verify` needs.

        For results, pending trials and failures see `history`, `pending` and `failures`.
        """
        with self._working():
            events = self._storage.read(self._key)
            known = self._ledger.seq
            if len(events) < known or events[known - 1].chain != self._ledger.head:
                raise VerificationError(
                    f"event {known} of the log is another one than was read before: the database "
                    "was replaced by another one or an older copy; if that was meant, load the "
                    "study again"
                )
            return events

    def delete(self) -> None:
        """Remove the study for ever."""
        self._storage.delete(self._key)

    def close(self) -> None:
        """Let go of the storage's file or connection."""
        self._storage.close()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """One thread at a time. After an interruption, as by Ctrl-C, all is read anew."""
        with self._turn:
            if self._torn:
                self._read_all()
                self._proof, self._ending, self._torn = None, None, False
            try:
                yield
            except FurthestError:
                raise  # before anything was changed
            except BaseException:
                self._torn = True
                raise

    @contextmanager
    def _writing(self) -> Iterator[list[Event]]:
        """Lock the log, read what others wrote; what the block puts into the list is written."""
        with self._working():
            with self._storage.writing(self._key) as log:
                self._log = log
                try:
                    self._refresh()
                    events: list[Event] = []
                    yield events
                    events = chained(events, self._ledger.head)
                    log.append(events)
                finally:
                    self._log = None
            # Only what is committed counts.
            self._ledger.apply(events)

    def _announced(self, *more: str) -> AbstractContextManager[None]:
        return _announced(self.settings, *more)

    def _refresh(self) -> None:
        """Go on to the end of the log, in parts: a long one need not be in memory at once."""
        ledger, count = self._ledger, PAGE
        while count == PAGE:
            events = self._read(ledger.seq, ledger.head)
            ledger.apply(events)
            count = len(events)

    def _read(self, after: int = 0, head: str = "") -> list[Event]:
        if self._log is not None:
            return self._log.read(after, head, PAGE)
        return self._storage.read(self._key, after, head, PAGE)

    def _read_all(self) -> None:
        """Make everything again from the log alone."""
        self._ledger, self._snapshot = Ledger.of(self._read()), None
        self.__dict__.pop("_compiled", None)
        self._refresh()

    def _resume(self) -> None:
        """Go on from a snapshot, if there is one that the log follows on."""
        created = self._ledger.created
        snapshot = load(created.chain) if self._ledger.seq == PAGE else None
        if snapshot is None:
            self._refresh()
            return
        try:
            first = self._storage.read(self._key, most=1)
            self._ledger = Ledger.of(first, self._ledger.settings)
            self._ledger.restore(snapshot.ledger)
            self._refresh()
        except (*UNREADABLE, VerificationError):
            self._read_all()
        else:
            self._snapshot, self._kept = snapshot, snapshot.ledger.rest["seq"]

    def _keep(self, fold: "Fold") -> None:
        """Leave a snapshot to the next process, of a long log that goes on; nobody waits for it."""
        ledger = self._ledger
        going_on = not (fold.stopped or ledger.has_ended or self._log)
        if going_on and ledger.created.chain and is_due(ledger.seq, self._kept):
            save(ledger.created.chain, Snapshot(ledger.parts(), fold.parts()))
            self._kept = ledger.seq

    @cached_property
    def _compiled(self) -> "Fold":
        from furthest.study.certificate import fold_of

        fold = fold_of(self._ledger)
        snapshot, self._snapshot = self._snapshot, None
        if snapshot is not None and snapshot.fold is not None:
            try:
                fold.restore(snapshot.fold)
            except UNREADABLE:
                fold = fold_of(self._ledger)
        return fold

    @property
    def _fold(self) -> "Fold":
        """The state after all that counts; compiled code is loaded when it is first needed.

        Where a study has ended it is made from the log alone: what is certified rests on that.
        """
        fold = self._caught_up()
        if self._ledger.from_snapshot and (fold.stopped or self._ledger.has_ended):
            self._read_all()
            fold = self._caught_up()
        self._keep(fold)
        return fold

    def _caught_up(self) -> "Fold":
        fold = self._compiled
        if self._ledger.stopped is not None and fold.outcome is None:
            # Somebody else saw it end, perhaps a result earlier or later than this process would.
            del self._compiled
            fold = self._compiled
        results = self._ledger.counting(fold.told)
        if len(results):
            fold.take(results.columns)
        return fold

    def _write_end(self) -> None:
        with self._writing() as new:
            new.extend(self._end_event())

    def _end_event(self) -> list[Event]:
        """What to write into the log, so that everybody knows that and where the study ended."""
        from furthest.study.certificate import spent_event_data

        fold, ledger = self._fold, self._ledger
        if ledger.stopped is not None or ledger.settings.version < ENDS_IN_LOG:
            return []
        if not fold.stopped:
            if ledger.spent or not ledger.is_over(time.time()):
                return []
            candidate, taken = spent_event_data(fold)
            return [self._event(SPENT, "", candidate, data=taken, worker=_me())]
        counted = int(fold.state.evidence.counts.sum())
        return [self._event(STOPPED, "", fold.answer, data=str(counted), worker=_me())]

    def _event(
        self, kind: str, trial: str, arm: int | None, value: float | None = None, **rest: str
    ) -> Event:
        return Event(self._ledger.seq + 1, kind, time.time(), trial, arm, value, **rest)

    def _arm(self, event: Event) -> tuple[int, str]:
        arm = event.arm or 0
        return arm, self.problem.arm_names[arm]


class _Given(NamedTuple):
    """A result that was handed in."""

    result: Result
    trial: str | None  # the id of a trial, or one of the user's own; None for a new one
    arm: int | None = None  # of a result that nobody asked for
    moment: str = ""  # when that was measured


@contextmanager
def _numbered(number: int | None) -> Iterator[None]:
    """Among several, say which one an error is about."""
    try:
        yield
    except InputError as error:
        if number is None:
            raise
        raise type(error)(f"result {number}: {error}") from None


def _settings(
    name: str,
    problem: Problem,
    delta: float,
    strategy: Strategy | None,
    seed: int,
    lease: float,
    order: str,
    budget: int | None,
) -> Settings:
    if not isinstance(problem, Problem):
        raise InputError(f"a study needs a furthest.Problem, not {problem!r}")
    strategy = storable(Strategy() if strategy is None else strategy)
    try:
        level, seconds, number = float(delta), float(lease), int(seed)
    except (TypeError, ValueError):
        raise InputError(
            f"δ, lease and seed must be numbers: {delta!r}, {lease!r}, {seed!r}"
        ) from None
    return _checked(
        Settings(
            problem=problem,
            chosen=strategy,
            delta=level,
            seed=number,
            lease=seconds,
            tag=secrets.token_hex(TAG_BYTES),
            order=order,
            name=name,
            budget=budget,
        )
    )


def _checked(settings: Settings) -> Settings:
    """Bad options of the sampling rule show now, not at the first ask."""
    settings.check()
    settings.strategy.check_question(settings.problem)
    with _announced(settings):
        from furthest.preparation import prepare

        problem, strategy = settings.problem, settings.strategy
        task = strategy.seen(problem.task)
        prepare(strategy, task, [settings.delta], smoothness=problem.smoothness)
    return settings


def _announced(settings: Settings, *more: str) -> AbstractContextManager[None]:
    """Say so if anything has to be compiled for this question."""
    return announced(" and ".join((words(settings.strategy), *more)))


def _plain_options(problem: Problem) -> Problem:
    """The same arms and answers, each with a value of its own."""
    rows = {row.tobytes(): arm for arm, row in reversed(list(enumerate(problem.arms + 0.0)))}
    places = []
    for name, row in zip(problem.answer_names, problem.answers + 0.0, strict=True):
        if row.tobytes() not in rows:
            raise StudyError(
                f"the answer {name!r} is none of the arms: without the features nothing that can "
                "be measured says how good it is"
            )
        places.append(rows[row.tobytes()])
    options = np.eye(len(problem.arms))
    noise: dict[str, Any] = {}
    if problem.bounds:
        noise = {"bounds": problem.bounds, "noise": problem.noise}
    return Problem(
        options,
        None if problem.answers is problem.arms else options[places],
        problem.eps,
        problem.notion,
        **(noise or {"sigma": problem.sigma}),
        costs=problem.costs,
        arm_names=problem.arm_names,
        answer_names=problem.answer_names,
    )


def _moment(seconds: float | None) -> str:
    """A moment as the log keeps it; none is an empty text."""
    if seconds is None:
        return ""
    try:
        moment = float(seconds)
    except (TypeError, ValueError):
        moment = math.nan
    if not math.isfinite(moment):
        raise InputError(f"a moment must be in seconds since 1970, not {seconds!r}")
    return repr(moment)


def _storage(storage: str | Storage | None, token: str | None) -> Storage:
    if storage is None:
        storage = os.environ.get("FURTHEST_STORAGE") or DEFAULT_STORAGE
    if isinstance(storage, str):
        return open_storage(storage, token)
    if token is not None:
        raise InputError("a storage that is open already has its token: give none")
    return storage


def _id(trial: Trial | Pending | str) -> str:
    if isinstance(trial, Trial | Pending):
        return trial.id
    if isinstance(trial, str):
        return trial
    raise UnknownStudyError(f"unknown trial {trial!r}; give what `ask` returned, or its id")


def _me() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
