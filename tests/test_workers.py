import concurrent.futures
import os

import pytest

from furthest import workers


def test_every_call_is_answered():
    calls = [(number, 2) for number in range(9)]
    assert sorted(workers.spread(pow, calls, 2)) == [number**2 for number in range(9)]


def test_an_interruption_keeps_what_was_finished(monkeypatch):
    """Ctrl-C comes when all is done but nothing has been handed over."""

    def interrupted(futures, return_when):
        concurrent.futures.wait(futures)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "wait", interrupted)
    found = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(workers.spread(pow, [(number, 2) for number in range(9)], 2))
    assert sorted(found) == [number**2 for number in range(9)]


def test_an_interruption_does_not_wait_for_the_rest(monkeypatch):
    """One call fails and one never ends: neither is kept, nobody waits."""
    never, _ = os.pipe()

    def interrupted(futures, return_when):
        while sum(future.done() for future in futures) < 4:
            concurrent.futures.wait(futures, timeout=0.01)
        raise KeyboardInterrupt

    monkeypatch.setattr(workers, "wait", interrupted)
    found = []
    with pytest.raises(KeyboardInterrupt):
        found.extend(workers.spread(inverse, [(1,), (0,), (2,), (4,), (None, never)], 2))
    assert sorted(found) == [0.25, 0.5, 1.0]


def test_a_failure_does_not_wait_for_the_rest():
    """One call fails and one never ends."""
    never, _ = os.pipe()
    with pytest.raises(ZeroDivisionError):
        list(workers.spread(inverse, [(None, never), (0,)], 2))


def inverse(number, never=None):
    return os.read(never, 1) if number is None else 1 / number
