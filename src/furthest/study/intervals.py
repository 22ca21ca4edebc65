"""Intervals of values in the user's units, and what they promise in a sentence."""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from furthest.stopping.intervals import Intervals
from furthest.study.conditions import IN_DOUBT, REFUTED
from furthest.study.verdict import Look

Rows = NDArray[np.float64]

# Why there are none, or not all.
TOO_EARLY = "the initial design is not complete"
NO_GAUSSIAN = "σ is unknown, and the results cannot be Gaussian: nothing is proven"
NO_SET = "its stopping rule makes no statement about single values"
TOO_FEW = "there are too few results yet, or the model does not explain them"
DIFFERENCES = "the arms tell only differences of these values, not the values themselves"


class Ends(NamedTuple):
    """Both ends of some intervals, None where there is none, and why that is."""

    lows: list[float | None]
    highs: list[float | None]
    reason: str | None


def of_answers(look: Look, answers: Sequence[int]) -> Ends:
    """Of the values of these answers."""
    problem, chosen = look.settings.problem, list(answers)
    told = problem.tells(problem.answers[chosen])
    return _ends(look, np.ascontiguousarray(look.task.answers[chosen]), told)


def of_rows(look: Look, rows: Rows) -> Ends:
    """Of ⟨μ, y⟩ for other rows y of features."""
    problem = look.settings.problem
    return _ends(look, problem.turned(rows), problem.tells(rows))


def in_units(look: Look, values: Rows, rows: Rows) -> Rows:
    """What values ⟨λ, y⟩ of the task are to the user, for rows y of the task."""
    problem = look.settings.problem
    found = values * problem.unit
    # Taken away only where that is a direction of the parameter.
    if look.shift and problem.common_direction is not None:
        found = found + look.shift * (rows @ problem.common_direction)
    return np.asarray(found)


def promise(look: Look) -> str:
    """What the intervals say, and with what right."""
    test, delta = look.test, look.settings.delta
    if not test.guarantee.proven:
        return (
            f"The intervals are those by which the stopping rule {test.name} goes. "
            f"Nothing is proven: {test.guarantee.words}."
        )
    if against := _found_to_be(look, REFUTED, "evidence"):
        return f"Nothing is proven about these intervals: {'; '.join(against)}."
    doubts = [f"if {needs}" for needs in _found_to_be(look, IN_DOUBT, "needs")]
    rest = "if what else" if doubts else "if what"
    provided = ", and ".join([*doubts, f"{rest} the guarantee rests on does"])
    return (
        f"With probability at least {100 * (1 - delta):.10g} % all of these intervals, at all "
        f"times, and all verdicts hold at once, {provided}."
    )


def _found_to_be(look: Look, standing: str, words: str) -> list[str]:
    """What the log says of the conditions that are of this standing."""
    return [getattr(each, words) for each in look.conditions if each.standing == standing]


def _ends(look: Look, rows: Rows, told: NDArray[np.bool_]) -> Ends:
    found, reason = _found(look, rows)
    if found is None:
        nothing: list[float | None] = [None] * len(rows)
        return Ends(nothing, nothing, reason)
    lows, highs = (
        [float(end) if here else None for end, here in zip(ends, known, strict=True)]
        for ends in (in_units(look, found.lows, rows), in_units(look, found.highs, rows))
        for known in [told & np.isfinite(ends)]
    )
    if not told.all():
        reason = DIFFERENCES
    elif None in lows or None in highs:
        reason = TOO_FEW
    return Ends(lows, highs, reason)


def _found(look: Look, rows: Rows) -> tuple[Intervals | None, str | None]:
    if not look.ready:
        return None, TOO_EARLY
    if look.blocked:
        return None, NO_GAUSSIAN
    found = look.intervals(rows)
    return found, None if found else NO_SET
