"""Signals that come while a kernel is called wait for its end."""

import signal
import threading

import pytest

from furthest.kernels import jit


@pytest.fixture
def heard():
    """What happens, in order; SIGTERM is in the list when it is handled."""
    happened = []
    before = signal.signal(signal.SIGTERM, lambda number, _: happened.append(number))
    yield happened
    signal.signal(signal.SIGTERM, before)


def kernel(heard, *, compiling=False, fails=False):
    """Stands for a compiled function into which two signals break."""

    def body(argument):
        heard.append("begin")
        for _ in range(2):
            signal.raise_signal(signal.SIGTERM)
        heard.append("end")
        if fails:
            raise ArithmeticError
        return argument + 1

    return unbroken(body, compiling=compiling)


def unbroken(body, *, compiling=False):
    vars(body)["is_compiling"] = compiling
    return jit.unbroken(body)


def test_handlers_are_called_after_the_kernel(heard):
    handler = signal.getsignal(signal.SIGTERM)
    assert kernel(heard)(1) == 2
    assert heard == ["begin", "end", signal.SIGTERM, signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is handler


def test_nothing_waits_while_numba_compiles(heard):
    assert kernel(heard, compiling=True)(1) == 2
    assert heard == ["begin", signal.SIGTERM, signal.SIGTERM, "end"]


def test_an_error_leaves_the_handlers_as_they_were_and_drops_no_signal(heard):
    handler = signal.getsignal(signal.SIGTERM)
    with pytest.raises(ArithmeticError):
        kernel(heard, fails=True)(1)
    assert heard == ["begin", "end", signal.SIGTERM, signal.SIGTERM]
    assert signal.getsignal(signal.SIGTERM) is handler


def test_a_handler_may_raise(heard):
    before = signal.signal(signal.SIGINT, signal.default_int_handler)

    def body():
        signal.raise_signal(signal.SIGINT)
        heard.append("end")

    try:
        with pytest.raises(KeyboardInterrupt):
            unbroken(body)()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
    assert heard == ["end"]


def test_signals_that_are_ignored_stay_ignored():
    before = signal.signal(signal.SIGTERM, signal.SIG_IGN)
    try:
        seen = []

        def body():
            seen.append(signal.getsignal(signal.SIGTERM))

        unbroken(body)()
        assert seen == [signal.SIG_IGN]
    finally:
        signal.signal(signal.SIGTERM, before)


def test_other_threads_leave_signals_alone(heard):
    handler = signal.getsignal(signal.SIGTERM)

    def body():
        heard.append(signal.getsignal(signal.SIGTERM) is handler)

    thread = threading.Thread(target=unbroken(body))
    thread.start()
    thread.join()
    assert heard == [True]
