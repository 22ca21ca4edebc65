"""The loop of an adapter that measures by calling a function."""

from collections.abc import Callable
from contextlib import suppress

from furthest.errors import FurthestError, InconclusiveError, StoppedError
from furthest.study.records import Certificate, Trial
from furthest.study.study import Study


def certified(study: Study, measure: Callable[[Trial], float]) -> Certificate:
    """Ask, measure and tell until the study has its answer.

    What goes wrong in `measure` is reported as the failure of its trial, and raised: the next call
    goes on from there.

    Raises:
        InconclusiveError: The budget is spent; `study.conclusion()` says what is proven.
    """
    while True:
        try:
            trial = study.ask()
        except InconclusiveError:
            raise
        except StoppedError:
            break
        try:
            study.tell(trial, measure(trial))
        except BaseException as error:
            with suppress(FurthestError):  # the first error is the one to be seen
                study.fail(trial, f"{type(error).__name__}: {error}")
            raise
    proof = study.certificate()
    assert proof is not None  # noqa: S101
    return proof
