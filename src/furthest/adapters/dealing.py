"""Deals a study's trials out to coroutines that wait for their arm; all on one event loop.

For tools that run their work themselves, many pieces at a time, and only ask whether to go on.
"""

import asyncio
from collections import deque
from collections.abc import Callable

from furthest.errors import StoppedError
from furthest.study.records import Trial
from furthest.study.study import Study

Place = asyncio.Future[Trial | None]


class Dealer:
    """Who comes for an arm waits here until the study asks for that arm, or for nothing any more.

    Nobody is dealt anything before every arm has begun. If the study asks for an arm of which
    nobody will come any more it is over for all: others in its place would not be what was asked.
    """

    def __init__(self, study: Study) -> None:
        self.study = study
        self.over = ""  # why nothing is dealt any more
        arms = range(len(study.problem.arms))
        self._left: list[int | None] = [None for _ in arms]  # to come; None before it has begun
        self._waiting: list[deque[Place]] = [deque() for _ in arms]
        self._due: Trial | None = None  # asked for, and nobody there to measure it

    def begin(self, arm: int, count: int) -> None:
        """So many will come for the arm, at most."""
        self._left[arm] = count
        self._deal()

    def end(self, arm: int) -> None:
        """Nobody will come for it any more, whatever was said."""
        self._left[arm] = 0
        self._deal()

    async def wait(self, arm: int) -> Trial | None:
        """What to measure; None if nothing is needed any more, for the reason `over`."""
        if self.over:
            return None
        place: Place = asyncio.get_running_loop().create_future()
        self._waiting[arm].append(place)
        self._left[arm] = (self._left[arm] or 1) - 1
        self._deal()
        return await place

    def tell(self, trial: Trial, value: float) -> None:
        """The result of what was dealt."""
        self.study.tell(trial, value)
        self._deal()

    def fail(self, trial: Trial, reason: str) -> None:
        """There is none."""
        self.study.fail(trial, reason)
        self._deal()

    def close(self) -> None:
        """Give back what was asked for and not dealt."""
        if self._due is not None:
            self.study.fail(self._due, "nobody left to measure it")
            self._due = None

    def _deal(self) -> None:
        """Ask, and hand out, as long as there is somebody for what is asked."""
        while not self.over and None not in self._left and self._anybody():
            if self._due is None:
                self._ask()
            elif place := self._first(self._due.arm):
                place.set_result(self._due)
                self._due = None
            elif self._left[self._due.arm]:
                return  # somebody will come when another one is through
            else:
                self._finish(f"nothing is left to measure {self._due.name!r} with")
                self.close()

    def _ask(self) -> None:
        try:
            self._due = self.study.ask()
        except StoppedError as end:
            self._finish(str(end))

    def _anybody(self) -> bool:
        return any(self._first(arm) for arm in range(len(self._waiting)))

    def _first(self, arm: int) -> Place | None:
        """Who has waited longest; some have got something, or were cancelled while they waited."""
        places = self._waiting[arm]
        while places and places[0].done():
            places.popleft()
        return places[0] if places else None

    def _finish(self, reason: str) -> None:
        self.over = reason
        for places in self._waiting:
            for place in places:
                if not place.done():
                    place.set_result(None)


def when_done(call: Callable[[], None]) -> None:
    """Call it when the task that is running now has ended, in whatever way."""
    running = asyncio.current_task()
    assert running is not None  # noqa: S101
    running.add_done_callback(lambda _: call())
