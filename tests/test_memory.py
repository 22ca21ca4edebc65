"""Memory goes back to the system where the C library can do that, and only after much of it."""

import ctypes
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from furthest import memory


@pytest.fixture(autouse=True)
def _afresh() -> Iterator[None]:
    memory._trim.cache_clear()
    yield
    memory._trim.cache_clear()


def test_after_much_was_freed_all_is_given_back(monkeypatch: Any) -> None:
    calls: list[int] = []
    library = SimpleNamespace(malloc_trim=calls.append)
    monkeypatch.setattr(ctypes, "CDLL", lambda _: library)
    memory.give_back(memory.LARGE - 1)
    assert calls == []
    memory.give_back(memory.LARGE)
    assert calls == [0]


@pytest.mark.parametrize("error", [OSError, TypeError, AttributeError])
def test_another_c_library_is_left_alone(monkeypatch: Any, error: type[Exception]) -> None:
    def library(_: None) -> Any:
        raise error

    monkeypatch.setattr(ctypes, "CDLL", library)
    memory.give_back(memory.LARGE)
