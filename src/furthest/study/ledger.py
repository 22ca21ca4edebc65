"""The bookkeeping of a log: which trials are pending, told or failed. Needs no compiler.

What the log says is checked here before anything is written, so that a refusal leaves no trace.

Results *count* in the order in which they were asked for: one waits while another that was asked
for earlier is still out. So it does not matter whether the time that a result takes depends on its
value (docs/decisions/0013). A trial that is out for too long is given up; its result, should there
be one, counts when it is told, and the certificate says so. What nobody asked for counts at once.
"""

import operator
from array import array
from collections import deque
from collections.abc import Iterable, Sequence
from functools import cached_property
from math import isfinite, sqrt
from typing import Any, NamedTuple

import numpy as np

from furthest.display import count
from furthest.errors import (
    ContradictionError,
    StudyError,
    UnknownStudyError,
    ValueRefusedError,
    VerificationError,
    nearest_name,
)
from furthest.strategy import MOST_MEASUREMENTS
from furthest.study.chain import CHAINED, digest, link
from furthest.study.events import (
    ADDED,
    AS_ASKED,
    ASKED,
    CREATED,
    EXTENDED,
    FAILED,
    SEALED,
    SPENT,
    STOPPED,
    TOLD,
    UNREADABLE,
    Event,
    Note,
    Settings,
    is_event,
    note_of,
    size_of,
)
from furthest.study.records import Measurement
from furthest.study.snapshot import Parts
from furthest.study.told import Results, Selection

RESULTS = (TOLD, ADDED)
OF_ASKED = (TOLD, FAILED)
OF_BUDGET = (SPENT, EXTENDED)
RESULT_FIELDS = ("value", "successes", "mean", "n", "sd", "sem")
BERNOULLI = "bernoulli"

# A trial is given up after its lease; or when more results wait for it than so many times the most
# trials that were ever waited for at once: a worker that died must not keep the others measuring.
PATIENCE = 5

# In units of σ: beyond this double precision has too few digits left for the noise.
LARGEST = 1e9

# The same where a constant may be taken away from all results (see `Problem.offset`).
LARGEST_OFFSET = 1e13

# Beyond this, whatever σ is, sums of squares would overflow.
LARGEST_OF_ALL = 1e100

# In one result: the mean of so many yes/no outcomes still tells exactly how many were yes.
MOST_OUTCOMES = 2**30

# How far a mean of yes/no outcomes may be from the nearest that is possible, as a share.
ROUNDED = 1e-9

# Digits of a number of measurements.
LONGEST = 16

# Among so many ids the nearest to a wrong one is looked for.
RECENT = 1000

# From this version of a log on the limits above apply.
LIMITED = 2

# What a snapshot has of a ledger beside results, trials and their order.
PLAIN = ("seq", "head", "chained_from", "budget", "outcomes", "_lost", "_crowd", "_now")
TRIALS = ("open", "failed", "given_up", "_held")


class Result(NamedTuple):
    """What was measured: one value, or the mean of several."""

    value: float
    size: int = 1
    sd: float | None = None

    def __str__(self) -> str:
        if self.size == 1:
            return repr(self.value)
        spread = "" if self.sd is None else f", sd {self.sd!r}"
        return f"a mean of {self.value!r} over {self.size:,}{spread}"

    @classmethod
    def of(cls, event: Event) -> "Result":
        """What a told or added event says."""
        return cls(event.value or 0.0, *note_of(event)[:2])

    def note(self, moment: str = "") -> str:
        """What the log keeps beside the value."""
        return Note(self.size, self.sd, moment).text


class End(NamedTuple):
    """Where a log ends.

    Attributes:
        seq: The number of the last event.
        chain: Its digest.
        at: When that was, in seconds since 1970.
    """

    seq: int
    chain: str
    at: float


class Ledger:
    """What the events so far add up to."""

    def __init__(self, created: Event, settings: Settings | None = None) -> None:
        if not is_event(created) or created.seq != 1 or created.kind != CREATED:
            raise VerificationError(f"the log does not begin with its creation, but {created.kind}")
        self.created = created._replace(data="")  # `settings` has it, in less memory
        try:
            self.settings = settings or Settings.decode(created.data)
        except UNREADABLE as error:
            raise VerificationError(
                f"the question of the log cannot be read, or is none: {error}"
            ) from error
        self.seq = 1
        self.chained_from = 1 if self.settings.version >= CHAINED else None
        self.head = ""  # the chain of the last event
        self._before_seal: list[Event] = []
        self._check_link(created)
        self.results = Results(self.settings.tag)  # told and added
        self.failed: dict[str, Event] = {}
        self.open: dict[str, Event] = {}  # asked, neither told nor failed
        self._counting = array("q")  # rows of results in the order in which they count
        self._counted_by = array("q")  # for each of them the number of the event that made it so
        self.given_up: dict[str, int] = {}  # trials not waited for any more, since this event
        self.overtaken: set[str] = set()  # told before an earlier ask was, and counted so
        self.stopped: Event | None = None
        self.budget = self.settings.budget
        self.spent: Event | None = None  # the budget, as somebody saw it; None once it is extended
        self.outcomes = 0  # of all results, each with all of its outcomes
        self._queue: deque[Event] = deque()  # asks whose results have not counted yet
        self._held: dict[str, int] = {}  # results that do not count yet: their rows
        self._lost = 0  # trials given up that are still open
        self._crowd = 0  # the most trials that were ever waited for at once
        self._now = created.at
        self._arms = len(self.settings.problem.arms)
        self._as_asked = self.settings.order == AS_ASKED
        self.from_snapshot = False  # and not from the log alone

    @classmethod
    def of(cls, events: Sequence[Event], settings: Settings | None = None) -> "Ledger":
        """The ledger of a whole log; its settings need not be read again by whoever wrote them."""
        if not events:
            raise VerificationError("the log is empty")
        ledger = cls(events[0], settings)
        ledger.apply(events[1:])
        return ledger

    def apply(self, events: Iterable[Event]) -> None:
        """Go on with the next events of the log. One that nobody tampered with never fails here."""
        for event in events:
            if not self._follows(event):
                raise VerificationError(
                    f"event {event.seq} of the log does not follow from those before it: {event}"
                )
            self._check_link(event)
            seq, kind, at, trial, *_ = event
            if kind == ASKED:
                self.open[trial] = event
                self._crowd = max(self._crowd, len(self.open) - self._lost)
                if self._as_asked:
                    self._queue.append(event)
            elif kind == STOPPED:
                self.stopped = event
            elif kind == SPENT:
                self.spent = event
            elif kind == EXTENDED:
                self.budget, self.spent = int(event.data), None
            elif kind != SEALED:
                asked = self.open.pop(trial, None)
                self._lost -= asked is not None and trial in self.given_up
                if kind == FAILED:
                    self.failed[trial] = event
                else:
                    self._note_result(event, asked)
            self.seq = seq
            self._now = max(self._now, at)
            self._count_in_turn(seq)

    @property
    def end(self) -> End:
        """Where the log ends."""
        return End(self.seq, self.head, self._now)

    def parts(self) -> Parts:
        """All of it as plain data; of a study that has not ended."""
        columns, rest = self.results.parts()
        columns |= {"counting": np.array(self._counting), "by": np.array(self._counted_by)}
        rest |= {name: getattr(self, name) for name in PLAIN}
        rest |= {name: list(getattr(self, name).items()) for name in TRIALS}
        return Parts(columns, rest | {"overtaken": [*self.overtaken], "_queue": [*self._queue]})

    def restore(self, parts: Parts) -> None:
        """Take in, after the creation, what was stored; the next events must be chained to it."""
        columns, rest = parts
        self.results.restore(columns, rest)
        for name, column in (("counting", self._counting), ("by", self._counted_by)):
            column.frombytes(np.asarray(columns[name], np.int64).tobytes())
        for name in PLAIN:
            setattr(self, name, rest[name])
        self.open = {trial: Event(*event) for trial, event in rest["open"]}
        self.failed = {trial: Event(*event) for trial, event in rest["failed"]}
        self.given_up, self._held = dict(rest["given_up"]), dict(rest["_held"])
        self.overtaken = set(rest["overtaken"])
        self._queue = deque(Event(*event) for event in rest["_queue"])
        self.from_snapshot = True

    def _check_link(self, event: Event) -> None:
        """Whether the event is chained to the one before; of an older log, from its seal on."""
        if self.chained_from is not None and event.chain == link(self.head, event):
            self.head = event.chain
            return
        if event.kind == SEALED and self.chained_from is None:
            self.chained_from, sealed = event.seq, digest(self._before_seal)
            self._before_seal.clear()
        else:
            sealed = ""
        if self.chained_from is None:
            self._before_seal.append(event)
            expected = ""
        else:
            expected = link(self.head, event)
        if event.chain != expected or (sealed and event.data != sealed):
            raise VerificationError(
                f"event {event.seq} of the log, or one before it, is not as it was written: its "
                "digest does not fit"
            )
        self.head = event.chain

    def _note_result(self, event: Event, asked: Event | None) -> None:
        trial = event.trial
        note = note_of(event)
        row = self.results.append(event, note)
        self.outcomes += note.size
        if asked is not None and trial not in self.given_up:
            if self._as_asked:
                self._held[trial] = row
                return  # it counts in its turn
            earliest = next(iter(self.open.values()), asked)
            if earliest.seq < asked.seq:
                self.overtaken.add(trial)
        self._count(row, event.seq)

    def _count_in_turn(self, seq: int) -> None:
        """Let count what nothing earlier is waited for any more."""
        while self._queue:
            asked = self._queue[0]
            row = self._held.pop(asked.trial, None)
            if row is not None:
                self._count(row, seq)
            elif asked.trial not in self.failed:
                in_time = asked.at + self.settings.lease >= self._now
                if in_time and len(self._held) <= PATIENCE * self._crowd:
                    return
                self.given_up[asked.trial] = seq
                self._lost += 1
            self._queue.popleft()

    def _count(self, row: int, seq: int) -> None:
        self._counting.append(row)
        self._counted_by.append(seq)

    @property
    def measured(self) -> Selection:
        """All results in the order of the log."""
        return Selection(self.results, np.arange(len(self.results)))

    def counting(self, first: int = 0, last: int | None = None) -> Selection:
        """Results in the order in which they count."""
        return Selection(self.results, np.array(self._counting[first:last], np.int64))

    def counted_by(self, place: int) -> int:
        """The number of the event that made the result in this place of the order count."""
        return self._counted_by[place]

    def waiting(self) -> list[Event]:
        """Results that do not count yet, because one that was asked for earlier is out."""
        held = self._held
        return [self.results.event(held[e.trial]) for e in self._queue if e.trial in held]

    def _follows(self, event: Event) -> bool:
        """Whether the event can be the next one."""
        if not is_event(event) or event.seq != self.seq + 1:
            return False
        if event.kind == SEALED:
            return self.chained_from is None
        if event.kind in OF_BUDGET:
            return self._is_about_budget(event)
        return self._is_next(event)

    def _is_about_budget(self, event: Event) -> bool:
        """Whether there is a budget that is spent, or a greater one to extend it to."""
        data, budget = event.data, self.budget
        if budget is None or self.stopped is not None or event.trial or event.value is not None:
            return False
        if not (data.isascii() and data.isdecimal() and len(data) <= LONGEST):
            return False
        if event.kind == EXTENDED:
            return event.arm is None and budget < int(data) <= MOST_MEASUREMENTS
        known = event.arm is None or 0 <= event.arm < len(self.settings.problem.answers)
        return known and self.exhausted and self.spent is None

    def _is_next(self, event: Event) -> bool:
        """The same of an event about an arm or an answer."""
        kind, trial, arm = event.kind, event.trial, event.arm
        if kind == STOPPED:
            known = arm is not None and 0 <= arm < len(self.settings.problem.answers)
            return known and self.stopped is None and event.data.isdecimal()
        if arm is None or not 0 <= arm < self._arms:
            return False
        if kind in RESULTS and not self._is_result(event):
            return False
        if kind in OF_ASKED:
            asked = self.open.get(trial)
            return asked is not None and asked.arm == arm
        known = trial in self.open or trial in self.results or trial in self.failed
        return not known and (kind == ADDED or (kind == ASKED and self._is_ask(event)))

    def _is_ask(self, event: Event) -> bool:
        """Whether this could be asked for: some measurements, while the budget lasts."""
        if not event.data:
            return not self.exhausted  # nearly all are of this kind
        try:
            size, *rest = note_of(event)
        except ValueError:
            return False
        return 1 <= size <= MOST_OUTCOMES and rest == [None, ""] and not self.exhausted

    def _is_result(self, event: Event) -> bool:
        """Whether a result, or the mean of several, could have been told."""
        (low, high), value = self._limits, event.value
        if value is None or not low <= value <= high:
            return False
        if not event.data and self.settings.problem.noise != BERNOULLI:
            return True  # nearly all are of this kind, and there may be a million
        try:
            note = note_of(event)
            result = Result(value, note.size, note.sd)
            self._check(result)
        except (ValueError, ValueRefusedError):
            return False
        return self._exact(result) == result and _is_moment(note.moment, event.kind)

    def result(
        self,
        value: Any = None,
        *,
        successes: Any = None,
        mean: Any = None,
        n: Any = None,
        sd: Any = None,
        sem: Any = None,
    ) -> Result:
        """A result, or the mean of several, checked."""
        forms = [each is not None for each in (value, successes, mean)]
        spreads = [each is not None for each in (sd, sem)]
        if not any((*forms, *spreads)) and n is None:
            return Result(_number(value))  # which it is not
        if sum(forms) != 1 or forms[0] == (n is not None) or sum(spreads) > forms[2]:
            raise ValueRefusedError(
                "give one value, or successes and n, or mean and n, and sd or sem if known"
            )
        size = 1 if n is None else _whole(n, "n")
        if successes is not None:
            found = self._counted(_whole(successes, "successes"), size)
        else:
            spread = None
            if any(spreads):
                spread = _number(sd) if sem is None else _number(sem) * sqrt(max(size, 0))
            found = Result(_number(mean if value is None else value), size, spread)
        self._check(found)
        return self._exact(found)

    def _counted(self, yes: int, size: int) -> Result:
        """So many yes/no outcomes, of which so many are the upper bound."""
        if self.settings.problem.noise != BERNOULLI:
            raise ValueRefusedError(
                "successes are for yes/no outcomes alone: create the study of a problem with "
                "noise='bernoulli', or tell the mean"
            )
        if not 0 <= yes <= size or size < 1:
            raise ValueRefusedError(f"there cannot be {yes:,} successes in {size:,} outcomes")
        return Result(self._mean(yes, size), size)

    def _mean(self, yes: int, size: int) -> float:
        """Of so many outcomes, of which so many are the upper bound."""
        low, high = self._limits
        return low + (high - low) * (yes / size)

    def _exact(self, result: Result) -> Result:
        """The same with the mean that so many yes/no outcomes can have, and nothing else."""
        if self.settings.problem.noise != BERNOULLI:
            return result
        (low, high), size = self._limits, result.size
        return Result(self._mean(round((result.value - low) / (high - low) * size), size), size)

    def _check(self, result: Result) -> None:
        """Refuse what cannot be, and what the stopping test cannot make use of."""
        value, size, sd = result
        self._check_limits(value)
        if not 1 <= size <= MOST_OUTCOMES:
            raise ValueRefusedError(f"n must be within 1 … {MOST_OUTCOMES:,}, not {size:,}")
        if sd is not None and not (0 <= sd <= LARGEST_OF_ALL and size > 1):
            raise ValueRefusedError(f"{count(size, 'result')} cannot have the deviation {sd:g}")
        problem = self.settings.problem
        if problem.bounds is not None:
            self._check_bounded(result, *problem.bounds)
        if size > 1 and problem.sigma is None and not sd:
            raise ValueRefusedError(
                "σ is unknown, so the mean of several results needs their standard deviation, "
                "which is not 0: tell it as sd or sem, or tell every result"
            )
        if size > 1 and not self.settings.takes_sums:
            raise ValueRefusedError(
                f"the stopping test {self.settings.strategy.test.name} takes in results one by "
                "one: tell every result"
            )

    def _check_limits(self, value: float) -> None:
        low, high = self._limits
        if low <= value <= high:
            return
        if self.settings.problem.bounds is not None:
            raise ValueRefusedError(
                f"a result of {value:g} is outside the bounds [{low:g}, {high:g}], on which "
                "the guarantee rests"
            )
        raise ValueRefusedError(
            f"a result of {value:g} is too large for numbers of 16 digits to tell what is "
            "noise in it: measure in another unit, or take away what all results have in common"
        )

    def _check_bounded(self, result: Result, low: float, high: float) -> None:
        """Whether results within the bounds can have this mean and deviation."""
        value, size, sd = result
        away = abs(self._exact(result).value - value)
        if away > ROUNDED * (high - low):
            what = "a result" if size == 1 else f"each of {size:,} results"
            raise ValueRefusedError(f"{what} must be {low:g} or {high:g}, which is not {value:g}")
        most = size * (value - low) * (high - value) * (1 + ROUNDED)
        if sd is not None and (size - 1) * sd**2 > most:
            raise ValueRefusedError(
                f"{size:,} results within [{low:g}, {high:g}] with the mean {value:g} cannot have "
                f"the standard deviation {sd:g}"
            )

    @property
    def has_ended(self) -> bool:
        """Whether the log says that the study has stopped, or as much is measured as may be."""
        return self.stopped is not None or self.exhausted

    @property
    def exhausted(self) -> bool:
        """Whether as much is measured as the budget allows, or more."""
        return self.budget is not None and self.outcomes >= self.budget

    def left(self, now: float) -> int | None:
        """How many measurements may still be asked for; None without a budget.

        What is pending counts; what has failed, or is no longer waited for, does not.
        """
        if self.budget is None:
            return None
        return max(0, self.budget - self.outcomes - sum(map(size_of, self.pending(now))))

    def is_over(self, now: float) -> bool:
        """Whether the budget is spent, and nothing that was asked for is still to come."""
        return self.exhausted and not self.pending(now) and not self.waiting()

    def history(self, first: int = 0, most: int | None = None) -> list[Measurement]:
        """Results in the order told."""
        names = self.settings.problem.arm_names
        rows = range(len(self.results))[first:][:most]
        return [
            Measurement(e.trial, arm, names[arm], value, e.at, e.kind == TOLD, *note_of(e)[:2])
            for e in map(self.results.event, rows)
            if (arm := e.arm) is not None and (value := e.value) is not None
        ]

    def pending(self, now: float) -> list[Event]:
        """Asks that are still waited for, in the order asked."""
        oldest = now - self.settings.lease
        return [event for event in self.open.values() if event.at >= oldest]

    def own_id(self, seq: int) -> str:
        """The id of the trial that event `seq` begins; no trial of any study has the same."""
        return f"{self.settings.tag}-{seq}"

    def foreign_id(self, trial: Any) -> str:
        """An id that the user gives to a measurement of theirs, checked."""
        if not isinstance(trial, str) or not trial.strip() or not trial.isprintable():
            raise StudyError(f"an id must be a printable text, not {trial!r}")
        if trial.startswith(f"{self.settings.tag}-") and trial not in self.results:
            raise StudyError(f"ids that begin with {self.settings.tag}- are this study's own")
        return trial

    def trial(self, trial: str) -> Event:
        """What is known of the trial of this id: its result, its failure, or its ask."""
        known = self.open.get(trial) or self.failed.get(trial) or self.results.get(trial)
        if known is not None:
            return known
        ids = [*reversed(self.open), *self.results.latest(RECENT)]
        raise UnknownStudyError(f"unknown trial {trial!r}; {nearest_name(str(trial), ids)}")

    def is_told_again(self, event: Event, fresh: Event | None = None) -> bool:
        """Whether this very result is known already, or `fresh`; another one is refused."""
        trial = event.trial
        known = self.results.get(trial, fresh)
        if known is not None and Result.of(known) != Result.of(event):
            raise ContradictionError(
                f"trial {trial!r} was told {Result.of(known)} before, now {Result.of(event)}: one "
                "of them is wrong; the first stays"
            )
        if known is not None and known.arm != event.arm:
            before = self.settings.problem.arm_names[known.arm or 0]
            raise StudyError(f"measurement {trial!r} was of arm {before!r} before")
        if trial in self.failed:
            reason = self.failed[trial].data or "no reason given"
            raise ContradictionError(
                f"trial {trial!r} was reported as failed ({reason}): if there is a result after "
                "all, add it as a measurement of its own"
            )
        return known is not None

    def arm(self, arm: Any) -> int:
        """The number of an arm given by number or name."""
        names = self.settings.problem.arm_names
        if isinstance(arm, str):
            if arm in names:
                return names.index(arm)
            if arm.isascii() and arm.isdecimal() and int(arm) < len(names):
                return int(arm)
            raise UnknownStudyError(f"unknown arm {arm!r}; {nearest_name(arm, names)}")
        if isinstance(arm, int | np.integer) and not isinstance(arm, bool) and arm in self._numbers:
            return int(arm)
        raise UnknownStudyError(f"unknown arm {arm!r}; arms are numbered 0 … {len(names) - 1}")

    @property
    def _numbers(self) -> Sequence[int]:
        return range(self._arms)

    @cached_property
    def _limits(self) -> tuple[float, float]:
        """The least and the largest result that may be.

        Not before there is a result: of many arms that takes much memory.
        """
        problem = self.settings.problem
        if problem.bounds is not None:
            return problem.bounds
        largest = LARGEST_OF_ALL
        if problem.sigma is not None and self.settings.version >= LIMITED:
            least = float(problem.units.min())
            largest = least * (LARGEST if problem.offset is None else LARGEST_OFFSET)
        return -largest, largest


def _number(value: Any) -> float:
    if isinstance(value, str | bytes) or value is None:
        raise ValueRefusedError(f"a result must be a number, not {value!r}")
    try:
        number = float(value) + 0.0  # no storage has to tell −0 from 0
    except (TypeError, ValueError):
        raise ValueRefusedError(f"a result must be a number, not {value!r}") from None
    if not isfinite(number):
        raise ValueRefusedError(f"a result must be finite, not {number}")
    return number


def _whole(number: Any, what: str) -> int:
    try:
        return operator.index(number)
    except TypeError:
        raise ValueRefusedError(f"{what} must be a whole number, not {number!r}") from None


def _is_moment(text: str, kind: str) -> bool:
    """When an added result was measured: a number, or nothing."""
    try:
        return not text or (kind == ADDED and isfinite(float(text)))
    except ValueError:
        return False


def storable_text(text: Any, what: str) -> str:
    """A text that every storage can keep."""
    try:
        fits = isinstance(text, str) and "\0" not in text and text.encode() is not None
    except UnicodeEncodeError:
        fits = False
    if not fits:
        raise StudyError(f"{what} must be a text, not {text!r}")
    return str(text)


def check_name(name: Any) -> str:
    """The name of a study, fit for shells and tables."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 200:
        raise StudyError(f"a study's name must be a short printable text, not {name!r}")
    return name
