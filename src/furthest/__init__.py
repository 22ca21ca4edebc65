"""Find an answer within ε of the best from as few noisy measurements as possible, with a proof."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from furthest.characteristic import Complexity, complexity
    from furthest.files import read_problem, write_problem
    from furthest.instances import Instance, circle, hard, random
    from furthest.problem import Problem
    from furthest.results import Results, Summary
    from furthest.sampling.rule import Rule
    from furthest.simulation import simulate
    from furthest.strategy import Strategy
    from furthest.study.study import Study

__version__ = "0.2.0"  # here alone: pyproject.toml reads it

# Imported when first used: `import furthest` itself stays light.
_HOMES = {
    "Complexity": "characteristic",
    "Instance": "instances",
    "Problem": "problem",
    "Results": "results",
    "Rule": "sampling.rule",
    "Strategy": "strategy",
    "Study": "study.study",
    "Summary": "results",
    "circle": "instances",
    "complexity": "characteristic",
    "hard": "instances",
    "random": "instances",
    "read_problem": "files",
    "simulate": "simulation",
    "write_problem": "files",
}

__all__ = [
    "Complexity",
    "Instance",
    "Problem",
    "Results",
    "Rule",
    "Strategy",
    "Study",
    "Summary",
    "circle",
    "complexity",
    "hard",
    "random",
    "read_problem",
    "simulate",
    "write_problem",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'furthest' has no attribute {name!r}")
    return getattr(import_module(f"furthest.{_HOMES[name]}"), name)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
