"""Which answers are not ε-best for certain: those that a confidence set has no parameter for."""

import numpy as np

from furthest.kernels.defeats import CLEARLY, find_defeats
from furthest.kernels.evidence import Evidence
from furthest.stopping.contrasts import clearest_defeat
from furthest.stopping.test import Misses
from furthest.stopping.within import smallest
from furthest.task import Task

# Relative: more than what bisection and rounding leave open.
DOUBT = 1e-8


def is_excluded(misses: Misses, task: Task, evidence: Evidence, z: int) -> bool:
    """Whether the confidence set has no parameter under which z is ε-best, by its defeat."""
    defeat = clearest_defeat(task, evidence, z)
    return defeat is not None and misses(*defeat)


class Exclusions:
    """The same for many answers, most of them at a glance.

    For the defeat of z, D = n²/‖y‖²_{V⁻¹} says whether the set misses its half-space but for the
    quotient of ‖V⁻¹y‖² and ‖y‖²_{V⁻¹}, which is between the eigenvalues of V⁻¹.
    """

    def __init__(self, misses: Misses, task: Task, evidence: Evidence) -> None:
        self._misses, self._task, self._evidence = misses, task, evidence
        self._duals = np.ascontiguousarray(evidence.projected.T)
        self._order = np.argsort(-evidence.values, kind="stable")
        self._size = float(evidence.estimate @ evidence.matrix @ evidence.estimate)
        widths = np.linalg.eigvalsh(evidence.inverse)
        low, high = max(0.0, widths[0] * (1 - DOUBT)), widths[-1] * (1 + DOUBT)
        self._least = smallest(lambda square: misses(square, 1.0, low), 0.0, 1.0) * (1 - DOUBT)
        self._enough = smallest(lambda square: misses(square, 1.0, high), 0.0, 1.0)

    def of(self, first: int, count: int) -> list[bool]:
        """Whether they are excluded, for some answers in a row."""
        task, evidence, found = self._task, self._evidence, np.zeros(count, np.int64)
        values, sizes = evidence.values, (self._size, self._least, self._enough)
        find_defeats(
            task.answers, self._duals, values, self._order, task.c, task.e, *sizes, first, found
        )
        excluded = found == CLEARLY
        for place in np.flatnonzero(found >= 0):
            z, x = first + int(place), int(found[place])
            y = task.answers[z] - task.c * task.answers[x]
            dual = self._duals[z] - task.c * self._duals[x]
            n = values[z] - task.c * values[x] + task.e
            excluded[place] = self._misses(n * n, float(y @ dual), float(dual @ dual))
        return [bool(each) for each in excluded]
