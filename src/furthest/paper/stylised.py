"""Stopping tests with the stylised threshold β(t,δ) = ln((1 + ln t)/δ) of older experiments.

Garivier & Kaufmann (2016), section 6, recommend it without a proof; Degenne, Ménard, Shang & Valko
(2020) stop with it where half the GLR exceeds β. As GLR > 2β it is of the form of all thresholds
here, since 1 + ln t = 4 + ln(t/e³). Up to round 20 that form is held constant: the test asks for
what round 20 asks. At δ = 0.1, where one run in fifteen stops so early, means on the instance of
elsewhere.py come out about 1 % later for it; at δ ≤ 0.01 hardly any run does.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from furthest.stopping import elimination, glr
from furthest.stopping.test import Guarantee, StoppingTest
from furthest.stopping.thresholds import Threshold
from furthest.task import Task

UNPROVEN = Guarantee(proven=False, noise="any", words="heuristic: no proof")


def stylised(deltas: Sequence[float]) -> Threshold:
    """2 ln((1 + ln t)/δ).

    Paper: older threshold.
    """
    return Threshold(2.0, math.exp(3), np.array([2 * math.log(1 / delta) for delta in deltas]))


def _restyled(test: StoppingTest, state: Callable[[Threshold], Any]) -> StoppingTest:
    def start(_: Task, deltas: Sequence[float]) -> Any:
        return state(stylised(deltas))

    name = f"stylised-{test.name}"
    source = "threshold of Garivier & Kaufmann (2016), section 6"
    return replace(test, name=name, start=start, guarantee=UNPROVEN, source=source)


GLR = _restyled(glr.TESTS["paper"], glr.Glr)
ELIMINATION = _restyled(elimination.TESTS["paper"], elimination.Elimination)
