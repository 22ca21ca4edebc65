"""Room for the solver: the whole problem, and a selection of its columns where it is large."""

from typing import NamedTuple

import numpy as np

from furthest.kernels.design import settings
from furthest.kernels.design.interior import Interior, interior_for
from furthest.kernels.linalg import Counts
from furthest.kernels.states import by_reference


@by_reference
class Workspace(NamedTuple):
    """Everything that `best_design` writes to besides its outputs."""

    everything: Interior  # the whole problem, and where solutions are left
    interior: Interior  # where the interior point runs: the same, or a selection of columns
    answer: Counts  # (Z) answer of each alternative
    arms: Counts  # selected arms; empty where the whole problem is solved at once
    alternatives: Counts  # selected alternatives
    has_arm: Counts  # (K) 1 if selected
    has_alternative: Counts  # (Z) 1 if selected


def workspace_for(arms: int, answers: int, dimension: int) -> Workspace:
    """Room for problems of that many arms and answers."""
    at_once = arms**2 * (arms / 3 + answers) <= settings.DENSE
    everything = interior_for(arms, answers, dimension, iterates=at_once)
    selection = everything
    selected_arms = selected_alternatives = 0
    if not at_once:
        enough = dimension * (dimension + 1) // 2 + settings.SPARE * (dimension + 1)
        selected_arms, selected_alternatives = min(arms, enough), min(answers, enough)
        selection = interior_for(selected_arms, selected_alternatives, dimension)
    return Workspace(
        everything=everything,
        interior=selection,
        answer=np.zeros(answers, dtype=np.int64),
        arms=np.zeros(selected_arms, dtype=np.int64),
        alternatives=np.zeros(selected_alternatives, dtype=np.int64),
        has_arm=np.zeros(0 if at_once else arms, dtype=np.int64),
        has_alternative=np.zeros(0 if at_once else answers, dtype=np.int64),
    )
