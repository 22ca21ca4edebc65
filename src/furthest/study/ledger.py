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
        self.asked: dict[str, Event] = {}
        self.results: dict[str, Event] = {}  # told and added
        self.measured: list[Event] = []  # the same in the order of the log
        self.failed: dict[str, Event] = {}
        self.open: dict[str, Event] = {}  # asked, neither told nor failed

    def apply(self, events: Iterable[Event]) -> None:
        """Go on with the next events of the log. One that nobody tampered with never fails here."""
        arms = len(self.settings.problem.arms)
        last, asked, results = self.seq, self.asked, self.results
        for event in events:
            # A long log passes here within a fraction of a second: one test per kind, no calls.
            seq, kind, _, trial, arm, value, _, _ = event
            sound = seq == last + 1 and arm is not None and 0 <= arm < arms
            if kind == ASKED and sound and trial not in asked:
                asked[trial] = self.open[trial] = event
            elif kind == TOLD and sound and value is not None and isfinite(value):
                sound = self._answered(event)
                results[trial] = event
                self.measured.append(event)
            elif kind == FAILED and sound:
                sound = self._answered(event)
                self.failed[trial] = event
            elif kind == ADDED and sound and value is not None and isfinite(value):
                sound = trial not in asked and trial not in results
                results[trial] = event
                self.measured.append(event)
            else:
                sound = False
            if not sound:
                raise VerificationError(
                    f"event {seq} of the log does not follow from those before it: {event}"
                )
            self.seq = last = seq

    def _answered(self, event: Event) -> bool:
        """Whether the event ends an open trial of its arm."""
        asked = self.open.pop(event[3], None)
        return asked is not None and asked[4] == event[4]

    def events(self, until: int) -> list[Event]:
        """The log again, up to and with event `until`."""
        parts = (self.asked.values(), self.measured, self.failed.values())
        found = [event for part in parts for event in part if event.seq <= until]
        return [self.created, *sorted(found)]

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
        """The ask of this id."""
        if trial not in self.asked:
            raise UnknownStudyError(
                f"unknown trial {trial!r}; {nearest_name(str(trial), reversed(self.asked))}"
            )
        return self.asked[trial]

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
