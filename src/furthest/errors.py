"""What can go wrong.

FurthestError
├── InputError(ValueError)       bad input: exit code 2 on the command line
│   ├── ProblemError             the question itself does not make sense
│   │   ├── ShapeError               arrays that do not fit together
│   │   ├── NotFiniteError           NaN or infinite entries
│   │   ├── TooFewAnswersError       fewer than two answers
│   │   ├── SpanError                arms that cannot tell the answers apart, or hardly
│   │   ├── DuplicateAnswersError    equal answers at ε = 0
│   │   ├── EpsilonError             ε outside the range of its notion
│   │   ├── SigmaError               σ not positive, or not that of the bounds
│   │   └── SmoothnessError          a bound on μ that says nothing, or cannot be
│   ├── ParameterError           a parameter μ under which the question has no answer
│   ├── StrategyError            an unknown or unsound part of a strategy
│   ├── FileError                a problem file that cannot be read
│   └── StudyError               a live study was asked for something that makes no sense
│       ├── UnknownStudyError        no study, trial or arm of this name
│       ├── StudyExistsError         there is a study of this name already
│       ├── ValueRefusedError        a result that is no finite number
│       ├── ContradictionError       one trial, two results
│       └── ChangeError              another question midway
├── StoppedError                 nothing more to ask: the study has its answer
│   └── InconclusiveError            or has spent its budget without one
├── BudgetError                  nothing to ask for now: what is left of the budget is out
├── StorageError                 the storage did not do it; a retry may succeed
├── VerificationError            a log or certificate that does not hold
├── WorkersError                 what other processes were to do was not done
└── MissingExtraError            an optional dependency is not installed

UnstoppedWarning(UserWarning)    simulated runs were given up at `max_rounds`
"""

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, TypeVar

T = TypeVar("T")

# More names than this help nobody.
LISTED = 40


class FurthestError(Exception):
    """Root of all errors of this package."""


class InputError(FurthestError, ValueError):
    """Bad input: what was wrong, where, and what would be right."""


class ProblemError(InputError):
    """The question itself does not make sense."""


class ShapeError(ProblemError):
    """Arrays that do not fit together."""


class NotFiniteError(ProblemError):
    """NaN or infinite entries."""


class TooFewAnswersError(ProblemError):
    """Fewer than two answers."""


class SpanError(ProblemError):
    """Arms that cannot tell the answers apart, or only up to rounding."""


class DuplicateAnswersError(ProblemError):
    """Equal answers at ε = 0."""


class EpsilonError(ProblemError):
    """ε outside the range of its notion."""


class SigmaError(ProblemError):
    """σ not positive, or not that of the bounds."""


class SmoothnessError(ProblemError):
    """A bound μᵀPμ ≤ R that says nothing, or that cannot be one."""


class ParameterError(InputError):
    """A parameter μ under which the question has no answer."""


class StrategyError(InputError):
    """An unknown or unsound part of a strategy."""


class FileError(InputError):
    """A problem file that cannot be read."""


class StudyError(InputError):
    """A live study was asked for something that makes no sense."""


class UnknownStudyError(StudyError):
    """No study, trial or arm of this name."""


class StudyExistsError(StudyError):
    """There is a study of this name already."""


class ValueRefusedError(StudyError):
    """A result that is no finite number."""


class ContradictionError(StudyError):
    """One trial, two results."""


class ChangeError(StudyError):
    """Another question midway: it would void the guarantee."""


class StoppedError(FurthestError):
    """Nothing more to ask: the study has its answer."""


class InconclusiveError(StoppedError):
    """Nothing more to ask: the budget is spent, and the study has no answer."""


class BudgetError(FurthestError):
    """Nothing to ask for now: all that is left of the budget is being measured."""


class StorageError(FurthestError):
    """The storage did not do it; a retry may succeed."""


class VerificationError(FurthestError):
    """A log or certificate that does not hold."""


class WorkersError(FurthestError):
    """What other processes were to do was not done: one died, or a cluster does not answer.

    Attributes:
        results: The runs that were finished, where it was `simulate` that could not go on.
    """

    results: Any = None


class MissingExtraError(FurthestError):
    """An optional dependency is not installed."""

    def __init__(self, package: str, extra: str) -> None:
        super().__init__(f"{package} is not installed: pip install 'furthest[{extra}]'")


class UnstoppedWarning(UserWarning):
    """Simulated runs were given up at `max_rounds`; which arms they starved."""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """Ask "did you mean …?", or list what there is."""
    names = list(known)
    close = get_close_matches(name, names, n=1, cutoff=0.5)
    if close:
        return f"did you mean {close[0]!r}?"
    if not names:
        return "there is none"
    listed = ", ".join(names[:LISTED])
    return f"choose from {listed}" + (", …" if len(names) > LISTED else "")


def pick(
    name: str, table: Mapping[str, T], what: str, error: type[InputError] = StrategyError
) -> T:
    """table[name], or an error that names the nearest entry."""
    if not isinstance(name, str) or name not in table:
        raise error(f"unknown {what} {name!r}; {nearest_name(str(name), table)}")
    return table[name]
