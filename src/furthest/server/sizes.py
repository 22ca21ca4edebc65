"""How large a question is that is asked in a few words: n options are n² numbers."""

from collections.abc import Mapping
from math import prod
from typing import Any

from furthest.errors import InputError

# Numbers of a question, eight bytes each: it is in memory several times while it is made.
MOST = 10**7


def check_size(data: Mapping[str, Any]) -> None:
    """Refuse what one request could fill the memory of the service with."""
    check_numbers(
        max(_of_options(data.get("options")), _of_graph(data.get("graph")), _of_factors(data))
    )


def check_numbers(size: int) -> None:
    """The same of a question of which the size is known."""
    if size > MOST:
        raise InputError(
            f"a question of {size:,} numbers, where a service takes {MOST:,}: create the study in "
            "Python or with the command line"
        )


def _of_options(options: Any) -> int:
    return len(options) ** 2 if isinstance(options, list) else 0


def _of_graph(edges: Any) -> int:
    """As many numbers as pairs of nodes; a matrix has all of its own with it."""
    edges = edges if isinstance(edges, list) else []
    return len({str(end) for edge in edges if isinstance(edge, list) for end in edge[:2]}) ** 2


def _of_factors(data: Mapping[str, Any]) -> int:
    """One arm for each combination, one feature for each level, and for pairs of interactions."""
    factors = data.get("factors")
    if not isinstance(factors, Mapping):
        return 0
    levels = {name: len(each) for name, each in factors.items() if isinstance(each, list)}
    pairs = data.get("interactions")
    pairs = pairs if isinstance(pairs, list) else []
    of_pairs = (
        prod(levels.get(str(name), 1) for name in pair) for pair in pairs if isinstance(pair, list)
    )
    return prod(levels.values()) * (1 + sum(levels.values()) + sum(of_pairs))
