"""What a page shows again and again of a study, and should not be computed each time."""

import threading
from collections import OrderedDict, defaultdict
from collections.abc import Callable
from typing import Any

from fastapi import Request

from furthest.study import picture
from furthest.study.study import Study

# As many as there are open studies.
MOST = 32

# What takes long is computed again once there are so many times as many measurements.
GROWTH = 1.1


class Memory:
    """Of one study."""

    def __init__(self, study: Study) -> None:
        self.trace = picture.Trace(study)
        self._slow: dict[str, tuple[int, Any]] = {}
        self._locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def known(self, what: str) -> Any:
        """What was found out last; None if nothing was."""
        return self._slow.get(what, (0, None))[1]

    def is_stale(self, what: str, measured: int) -> bool:
        """Whether it should be found out anew, after so many measurements."""
        if what not in self._slow:
            return True
        return measured >= max(GROWTH * self._slow[what][0], self._slow[what][0] + 1)

    def found(self, what: str, measured: int, work: Callable[[], Any]) -> Any:
        """Find it out if that is due; of two who want it at once one does."""
        with self._locks[what]:
            if self.is_stale(what, measured):
                self._slow[what] = (measured, work())
            return self.known(what)


class Memories:
    """Of all studies that somebody looks at; the one not looked at the longest makes room."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._known: OrderedDict[Study, Memory] = OrderedDict()

    def of(self, study: Study) -> Memory:
        """What is known of a study."""
        with self._lock:
            if study not in self._known:
                self._known[study] = Memory(study)
            self._known.move_to_end(study)
            while len(self._known) > MOST:
                self._known.popitem(last=False)
            return self._known[study]


def memory_of(request: Request, study: Study) -> Memory:
    """In the process that serves the request."""
    state = request.app.state
    if not hasattr(state, "memories"):
        state.memories = Memories()
    found: Memory = state.memories.of(study)
    return found
