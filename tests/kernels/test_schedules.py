"""The grids of the paper's appendix against a direct construction of the sets."""

import math
from fractions import Fraction

import numpy as np
import pytest

from furthest import axes
from furthest.kernels import schedules
from furthest.kernels.schedules import on_grid
from furthest.strategy import parse_schedule

LAST = 3000


def fresh(text):
    """The schedule of this name before the first round."""
    chosen = parse_schedule(text)
    mode, grid = axes.SCHEDULES[chosen.mode].code, axes.GRIDS[chosen.grid].code
    return schedules.schedule(int(mode), int(grid), chosen.start, chosen.ratio)


def visited(text, first, last=LAST, seed=0):
    """Rounds on the grid, when the first decision is made in round `first`."""
    schedule = fresh(text)
    rng = np.random.default_rng(seed)
    return {t for t in range(first, last + 1) if on_grid(schedule, t, rng.random())}


def constant(start):
    t = start
    while True:
        yield t
        t += start


def geometric(start, ratio, power=0):
    """T_i = ⌈(1 + γ/i^power)·T_{i−1}⌉, exactly for power 0; a grid that stands still moves on."""
    t, i = start, 0
    while True:
        yield t
        i += 1
        if power:
            t = max(t + 1, math.ceil((1 + float(ratio) / math.sqrt(i)) * t))
        else:
            t = max(t + 1, math.ceil((1 + ratio) * t))


def until(grid, last=LAST):
    for t in grid:
        if t > last:
            return
        yield t


@pytest.mark.parametrize("mode", ["sticky", "lazy"])
@pytest.mark.parametrize("initial", [2, 4, 9, 20])
@pytest.mark.parametrize(
    ("text", "grid"),
    [
        ("constant", lambda: constant(10)),
        ("constant,start=1", lambda: constant(1)),
        ("constant,start=37", lambda: constant(37)),
        ("geometric", lambda: geometric(10, Fraction(1, 5))),
        ("geometric,start=7,ratio=0.5", lambda: geometric(7, Fraction(1, 2))),
        ("geometric,start=10,ratio=0.1", lambda: geometric(10, Fraction(1, 10))),
        ("geometric,start=5,ratio=0", lambda: geometric(5, Fraction(0))),
        ("decreasing", lambda: geometric(10, Fraction(1, 5), 1)),
        ("decreasing,start=12,ratio=1", lambda: geometric(12, Fraction(1), 1)),
    ],
)
def test_grids(mode, text, grid, initial):
    """Paper: grids."""
    # 𝒯 = {n₀ + 1} ∪ {T_i}; rounds of the initial design are never asked for.
    first = initial + 1
    expected = {first} | {t for t in until(grid()) if t >= first}
    assert visited(f"{mode}:{text}", first) == expected


def test_the_decreasing_grid_in_exact_arithmetic():
    """Paper: grids."""
    # T_i = ⌈(1 + γ/√i)·T_{i−1}⌉ without floating point: the least n with (n − T)²·i ≥ γ²T².
    t, i, expected = 10, 0, {5}
    while t <= LAST:
        expected.add(t)
        i += 1
        step = math.isqrt(t * t // (25 * i))
        while step * step * 25 * i < t * t:
            step += 1
        t += step
    assert visited("sticky:decreasing", 5) == expected


def test_every_round():
    assert visited("every", 5, 200) == set(range(5, 201))


@pytest.mark.parametrize("p", [0.1, 0.5, 1.0])
def test_bernoulli(p):
    """Paper: grids."""
    rounds = 20_000
    found = visited(f"lazy:bernoulli,p={p}", 1, rounds, seed=3)
    # The first decision always counts, so that there is a candidate at all.
    text = f"lazy:bernoulli,p={p}"
    assert all(7 in visited(text, 7, 9, seed) for seed in range(20))
    spread = math.sqrt(rounds * p * (1 - p))
    assert abs(len(found) - rounds * p) <= 5 * spread + 1
    other = visited(f"lazy:bernoulli,p={p}", 1, rounds, seed=4)
    assert found != other or p == 1.0
    assert visited(f"lazy:bernoulli,p={p}", 1, rounds, seed=3) == found


def test_a_grid_that_is_asked_rarely_catches_up():
    # Live studies may skip rounds: being late counts as being on the grid, once.
    schedule = fresh("lazy:constant,start=10")
    rng = np.random.default_rng(0)
    asked = [5, 35, 36, 39, 40, 41, 95, 96, 100]
    assert [t for t in asked if on_grid(schedule, t, rng.random())] == [5, 35, 40, 95, 100]
