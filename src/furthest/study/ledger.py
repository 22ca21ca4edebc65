"""The bookkeeping of a log: which trials are pending, told or failed. Needs no compiler.

What the log says is checked here before anything is written, so that a refusal leaves no trace.
"""

from collections.abc import Iterable, Sequence
from math import isfinite
from typing import Any

import numpy as np

from furthest.errors import (
    ContradictionError,
    StudyError,
    UnknownStudyError,
    ValueRefusedError,
    VerificationError,
    nearest_name,
)
from furthest.study.events import ADDED, ASKED, CREATED, FAILED, TOLD, Event, Settings

RESULTS = (TOLD, ADDED)

# In units of σ: beyond this, sums of squares would overflow.
LARGEST = 1e100


class Ledger:
    """What the events so far add up to."""

    def __init__(self, created: Event) -> None:
        if created.seq != 1 or created.kind != CREATED:
            raise VerificationError(f"the log does not begin with its creation, but {created.kind}")
        self.created = created
        self.settings = Settings.decode(created.data)
        self.seq = 1
        self.results: dict[str, Event] = {}  # told and added
        self.measured: list[Event] = []  # the same in the order of the log
        self.failed: dict[str, Event] = {}
        self.open: dict[str, Event] = {}  # asked, neither told nor failed

    @classmethod
    def resume(cls, events: Sequence[Event]) -> "Ledger":
        """From a log without its answered asks, as the storage gives it; not checked again."""
        ledger = cls(events[0])
        ledger.measured = [event for event in events if event[1] in RESULTS]
        ledger.results = {event[3]: event for event in ledger.measured}
        ledger.failed = {event[3]: event for event in events if event[1] == FAILED}
        ledger.open = {event[3]: event for event in events if event[1] == ASKED}
        ledger.seq = events[-1].seq
        return ledger

    def apply(self, events: Iterable[Event]) -> None:
        """Go on with the next events of the log. One that nobody tampered with never fails here."""
        for event in events:
            if not self._follows(event):
                raise VerificationError(
                    f"event {event.seq} of the log does not follow from those before it: {event}"
                )
            kind, trial = event.kind, event.trial
            if kind == ASKED:
                self.open[trial] = event
            else:
                self.open.pop(trial, None)
            if kind == FAILED:
                self.failed[trial] = event
            elif kind in RESULTS:
                self.results[trial] = event
                self.measured.append(event)
            self.seq = event.seq

    def _follows(self, event: Event) -> bool:
        """Whether the event can be the next one."""
        seq, kind, _, trial, arm, value, _, _ = event
        if seq != self.seq + 1 or arm is None or not 0 <= arm < len(self.settings.problem.arms):
            return False
        if kind in RESULTS and (value is None or not isfinite(value)):
            return False
        if kind in (TOLD, FAILED):
            return trial in self.open and self.open[trial].arm == arm
        known = trial in self.open or trial in self.results or trial in self.failed
        return kind in (ASKED, ADDED) and not known

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
        for known in (self.results, self.failed, self.open):
            if trial in known:
                return known[trial]
        ids = [*reversed(self.open), *reversed(self.results)]
        raise UnknownStudyError(f"unknown trial {trial!r}; {nearest_name(str(trial), ids)}")

    def is_told_again(self, trial: str, value: float) -> bool:
        """Whether this very result is known already; another one is refused."""
        known = self.results.get(trial)
        if known is not None and known.value != value:
            raise ContradictionError(
                f"trial {trial!r} was told {known.value!r} before, now {value!r}: one of them is "
                "wrong; the first stays"
            )
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
            if arm.isdigit() and int(arm) < len(names):
                return int(arm)
            raise UnknownStudyError(f"unknown arm {arm!r}; {nearest_name(arm, names)}")
        if isinstance(arm, int | np.integer) and not isinstance(arm, bool) and arm in self._numbers:
            return int(arm)
        raise UnknownStudyError(f"unknown arm {arm!r}; arms are numbered 0 … {len(names) - 1}")

    @property
    def _numbers(self) -> Sequence[int]:
        return range(len(self.settings.problem.arms))

    def value(self, value: Any) -> float:
        """A result, checked."""
        if isinstance(value, str | bytes) or value is None:
            raise ValueRefusedError(f"a result must be a number, not {value!r}")
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueRefusedError(f"a result must be a number, not {value!r}") from None
        if not isfinite(number):
            raise ValueRefusedError(f"a result must be finite, not {number}")
        if abs(number) > LARGEST * self.settings.problem.unit:
            raise ValueRefusedError(f"a result of {number:g} cannot be meant")
        bounds = self.settings.problem.bounds
        if bounds is not None and not bounds[0] <= number <= bounds[1]:
            raise ValueRefusedError(
                f"a result of {number:g} is outside the bounds [{bounds[0]:g}, {bounds[1]:g}], on "
                "which the guarantee rests"
            )
        return number


def check_name(name: Any) -> str:
    """The name of a study, fit for shells and tables."""
    if not isinstance(name, str) or not name.strip() or not name.isprintable() or len(name) > 200:
        raise StudyError(f"a study's name must be a short printable text, not {name!r}")
    return name
