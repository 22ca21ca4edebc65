"""Sampling rules: one rule, one file. A new rule needs one more line here."""

from importlib import import_module
from typing import TYPE_CHECKING, cast

from furthest.errors import pick

if TYPE_CHECKING:
    from furthest.sampling.rule import Rule

# Chosen over 200 instances: docs/decisions/0021.
DEFAULT = "softmin"

MODULES = {
    "softmin": "softmin",
    "lebai": "lebai",
    "eps-tas": "eps_tas",
    "fixed": "fixed",
    "uniform": "uniform",
    "lingame": "lingame",
    "dkm": "dkm",
    "lingape": "lingape",
    "xy-static": "xy_static",
    "g-static": "g_static",
    "xy-adaptive": "xy_adaptive",
    "lazy-tas": "lazy_tas",
    "sticky-tas": "sticky_tas",
    "fws": "fws",
    "spectral-tas": "spectral_tas",
}


def find(name: str) -> "Rule":
    """The rule of this name; its module is imported, and compiled, only when asked for."""
    module = import_module(f"furthest.sampling.{pick(name, MODULES, 'sampling rule')}")
    return cast("Rule", module.RULE)
