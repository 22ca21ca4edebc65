"""Find an answer within ε of the best from as few noisy measurements as possible, with a proof."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from furthest.budgeting import Expectation, expected_eps
    from furthest.characteristic import Complexity, complexity
    from furthest.errors import (
        BudgetError,
        ChangeError,
        ContradictionError,
        DuplicateAnswersError,
        EpsilonError,
        FileError,
        FurthestError,
        InconclusiveError,
        InputError,
        MissingExtraError,
        NotFiniteError,
        ParameterError,
        ProblemError,
        ShapeError,
        SigmaError,
        SmoothnessError,
        SpanError,
        StoppedError,
        StorageError,
        StrategyError,
        StudyError,
        StudyExistsError,
        TooFewAnswersError,
        UnknownStudyError,
        UnstoppedWarning,
        ValueRefusedError,
        VerificationError,
        WorkersError,
    )
    from furthest.files import read_problem, write_problem
    from furthest.instances import Instance, circle, hard, random, soare
    from furthest.problem import Problem
    from furthest.results import Results, Summary
    from furthest.sampling.rule import Rule
    from furthest.simulation import simulate
    from furthest.stopping.test import Guarantee, Score, StoppingTest
    from furthest.strategy import Strategy
    from furthest.study.events import Event
    from furthest.study.records import (
        AnswerVerdict,
        Certificate,
        Conclusion,
        Condition,
        Failure,
        Foresight,
        Measurement,
        Pending,
        Status,
        Trial,
    )
    from furthest.study.study import Study
    from furthest.sweeps.sweeping import Sweep, sweep

__version__ = "0.5.0"  # here alone: pyproject.toml reads it

# Imported when first used: `import furthest` itself stays light.
_HOMES = {
    "AnswerVerdict": "study.records",
    "BudgetError": "errors",
    "Certificate": "study.records",
    "ChangeError": "errors",
    "Complexity": "characteristic",
    "Conclusion": "study.records",
    "Condition": "study.records",
    "ContradictionError": "errors",
    "DuplicateAnswersError": "errors",
    "EpsilonError": "errors",
    "Event": "study.events",
    "Expectation": "budgeting",
    "Failure": "study.records",
    "FileError": "errors",
    "Foresight": "study.records",
    "FurthestError": "errors",
    "Guarantee": "stopping.test",
    "InconclusiveError": "errors",
    "InputError": "errors",
    "Instance": "instances",
    "Measurement": "study.records",
    "MissingExtraError": "errors",
    "NotFiniteError": "errors",
    "ParameterError": "errors",
    "Pending": "study.records",
    "Problem": "problem",
    "ProblemError": "errors",
    "Results": "results",
    "Rule": "sampling.rule",
    "Score": "stopping.test",
    "ShapeError": "errors",
    "SigmaError": "errors",
    "SmoothnessError": "errors",
    "SpanError": "errors",
    "Status": "study.records",
    "StoppedError": "errors",
    "StoppingTest": "stopping.test",
    "StorageError": "errors",
    "Strategy": "strategy",
    "StrategyError": "errors",
    "Study": "study.study",
    "StudyError": "errors",
    "StudyExistsError": "errors",
    "Summary": "results",
    "Sweep": "sweeps.sweeping",
    "TooFewAnswersError": "errors",
    "Trial": "study.records",
    "UnknownStudyError": "errors",
    "UnstoppedWarning": "errors",
    "ValueRefusedError": "errors",
    "VerificationError": "errors",
    "WorkersError": "errors",
    "circle": "instances",
    "complexity": "characteristic",
    "expected_eps": "budgeting",
    "hard": "instances",
    "random": "instances",
    "read_problem": "files",
    "simulate": "simulation",
    "soare": "instances",
    "sweep": "sweeps.sweeping",
    "write_problem": "files",
}

__all__ = [
    "AnswerVerdict",
    "BudgetError",
    "Certificate",
    "ChangeError",
    "Complexity",
    "Conclusion",
    "Condition",
    "ContradictionError",
    "DuplicateAnswersError",
    "EpsilonError",
    "Event",
    "Expectation",
    "Failure",
    "FileError",
    "Foresight",
    "FurthestError",
    "Guarantee",
    "InconclusiveError",
    "InputError",
    "Instance",
    "Measurement",
    "MissingExtraError",
    "NotFiniteError",
    "ParameterError",
    "Pending",
    "Problem",
    "ProblemError",
    "Results",
    "Rule",
    "Score",
    "ShapeError",
    "SigmaError",
    "SmoothnessError",
    "SpanError",
    "Status",
    "StoppedError",
    "StoppingTest",
    "StorageError",
    "Strategy",
    "StrategyError",
    "Study",
    "StudyError",
    "StudyExistsError",
    "Summary",
    "Sweep",
    "TooFewAnswersError",
    "Trial",
    "UnknownStudyError",
    "UnstoppedWarning",
    "ValueRefusedError",
    "VerificationError",
    "WorkersError",
    "circle",
    "complexity",
    "expected_eps",
    "hard",
    "random",
    "read_problem",
    "simulate",
    "soare",
    "sweep",
    "write_problem",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'furthest' has no attribute {name!r}")
    return getattr(import_module(f"furthest.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
