"""Hypothesis strategies: problems, measurements and gains, the degenerate ones among them."""

from typing import Any

import numpy as np
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from furthest.errors import DuplicateAnswersError
from furthest.problem import NOTIONS, Problem

# Quarters are exact in floating point, and small enough that equal and parallel vectors are common.
quarters = st.integers(-8, 8).map(lambda n: n / 4)


@st.composite
def problems(draw: Any, *, dimensions: int = 4, notion: str | None = None) -> Problem:
    """A problem whose arms span everything; the answers may repeat or shadow each other."""
    d = draw(st.integers(1, dimensions))
    notion = notion or draw(st.sampled_from(NOTIONS))
    eps = draw(st.sampled_from([0.0, 0.05, 0.1, 0.25, 0.5]))
    sigma = draw(st.sampled_from([0.5, 1.0, 3.0]))
    stretch = np.array(draw(st.lists(st.sampled_from([0.25, 1.0, 8.0]), min_size=d, max_size=d)))
    more = draw(arrays(float, (draw(st.integers(0, 3)), d), elements=quarters))
    arms = np.vstack([np.eye(d), more])
    answers = draw(arrays(float, (draw(st.integers(2, 5)), d), elements=quarters))
    shadow = draw(st.sampled_from(["none", "equal", "scaled", "zero"]))
    if shadow != "none":
        answers[-1] = {"equal": 1.0, "scaled": 1.0 - eps, "zero": 0.0}[shadow] * answers[0]
    try:
        return Problem(arms * stretch, answers * stretch, eps, notion, sigma)
    except DuplicateAnswersError:
        return Problem(arms * stretch, answers * stretch, 0.05, notion, sigma)


@st.composite
def measurements(draw: Any, arms: int, *, most: int = 30) -> list[tuple[int, float]]:
    """Every arm once, in any order, then any others; rewards in the user's units."""
    first = draw(st.permutations(range(arms)))
    rest = draw(st.lists(st.integers(0, arms - 1), max_size=most))
    rewards = st.integers(-400, 400).map(lambda n: n / 100)
    return [(arm, draw(rewards)) for arm in [*first, *rest]]


@st.composite
def observed(draw: Any, **options: Any) -> tuple[Problem, list[tuple[int, float]]]:
    """A problem and measurements of it."""
    problem = draw(problems(**options))
    return problem, draw(measurements(len(problem.arms)))
