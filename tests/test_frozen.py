"""Same seeds, same pulls, same answers as when the decisions were frozen (tests/data/runs.py)."""

import json

import pytest

from data.runs import HERE, cases, decided

FROZEN = json.loads((HERE / "runs.json").read_text(encoding="utf-8"))
CASES = {name: case for name, *case in cases()}

# Every test of the stopping wing and every schedule, with loops that other tests compile anyway.
EVERY_DAY = [
    name
    for name in CASES
    if name.startswith(("uniform, ", "softmin, ", "xy-adaptive, elimination"))
    or (name.startswith("lebai, ") and not any(word in name for word in ("exact", "furthest, t")))
]


def test_nothing_frozen_is_forgotten():
    assert list(CASES) == list(FROZEN)
    assert len(FROZEN) == 221
    assert len(EVERY_DAY) > 40


@pytest.mark.parametrize("name", EVERY_DAY)
def test_decisions_are_what_they_were(name):
    assert decided(*CASES[name]) == FROZEN[name]


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in CASES if name not in EVERY_DAY])
def test_all_other_decisions_are_what_they_were(name):
    assert decided(*CASES[name]) == FROZEN[name]
