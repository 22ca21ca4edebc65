"""Stopping tests: one test, one file. A new test needs one more line here.

A module's `TESTS` are its versions by the threshold that users name, the default first; a test that
has no threshold has the one version None.
"""

from importlib import import_module
from typing import TYPE_CHECKING, cast

from furthest.errors import StrategyError, pick

if TYPE_CHECKING:
    from furthest.stopping.test import StoppingTest

# Chosen over 200 instances: docs/decisions/0021.
DEFAULT = "ranked"

MODULES = {
    "ranked": "ranked",
    "top-wrong": "top_wrong",
    "pairs": "pairs",
    "ranked-pairs": "ranked_pairs",
    "glr": "glr",
    "gap": "gap",
    "elimination": "elimination",
    "smooth": "smooth",
}


def versions(name: str) -> "dict[str | None, StoppingTest]":
    """The versions of a test; its module is imported, and compiled, only when asked for."""
    module = import_module(f"furthest.stopping.{pick(name, MODULES, 'stopping rule')}")
    return cast("dict[str | None, StoppingTest]", module.TESTS)


def find(name: str, threshold: str | None) -> "StoppingTest":
    """The test of this name and threshold."""
    known = versions(name)
    if threshold in known:
        return known[threshold]
    words = " or ".join(word for word in known if word is not None)
    wanted = f"needs the threshold {words}" if words else "is a test of its own: no threshold"
    raise StrategyError(f"the stopping rule {name} {wanted}, not {threshold!r}")
