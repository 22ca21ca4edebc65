"""What pages show beside the status, as plain data: made from a look at a study.

Nothing here says more than the test does that the study rests on. Each document is equal to what is
read back from its JSON; keys may become more, but keep their names.
"""

from collections.abc import Sequence
from threading import Lock
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from furthest.errors import ParameterError
from furthest.kernels.alternatives import statistic
from furthest.kernels.evidence import Clock
from furthest.kernels.linalg import Vector
from furthest.stopping.contrasts import is_singular
from furthest.study.events import Columns, usable_strategy
from furthest.study.fold import Fold, Outcome
from furthest.study.intervals import in_units, of_answers, of_rows, promise
from furthest.study.outline import outline
from furthest.study.verdict import Look, Verdicts

if TYPE_CHECKING:
    from furthest.study.study import Study

Document = dict[str, Any]

# So many answers and arms are shown.
MOST = 200
# Points of a course; beyond, every second one is dropped.
MOST_POINTS = 256
# Fewer where each takes long: all together may take so many seconds, unless there are so few.
POINTS_SECONDS, LEAST_POINTS = 3.0, 4
# Results that are gone through before somebody looks at the clock.
PIECE = 200
# The optimum is a design for each answer that is within ε, of work in proportion to this.
MOST_WORK = 200_000_000
# How close the optimum is looked for: closer than anybody sees.
WEIGHTS_GAP = 1e-4

NOT_YET = "the initial design is not complete"
OPTIMUM = "Where to measure, as shares of all measurements, if μ were what it is estimated to be."
TOO_LARGE = "the question is too large to find the optimum while somebody waits"
NO_FUTURE = "there is nothing to go by yet"
UNEXPLORED = "the optimum is that of no parameter: no answer has it finite"


def answers(look: Look, most: int = MOST) -> Document:
    """The best answers with their intervals and verdicts, and the candidate."""
    problem, settings = look.settings.problem, look.settings
    document: Document = {
        "total": len(problem.answers),
        "eps": problem.eps,
        "notion": problem.notion,
        "delta": settings.delta,
        "best": None,
        "cut": None,
        "candidate": None,
        "stopped": look.stopped,
        "candidate_kind": settings.strategy.candidate,
        "intervals": None,
        "reason": NOT_YET,
        "answers": [],
    }
    if not look.ready:
        return document
    shown = _best(look, most)
    ends, verdicts = of_answers(look, shown), Verdicts(look, problem.answer_names)
    best = float(look.values.max())
    additive = problem.notion == "additive"
    document |= {
        "best": best,
        "cut": best - problem.eps if additive else (1 - problem.eps) * best,
        "candidate": look.answer,
        "intervals": _promise(look, ends.lows),
        "reason": ends.reason,
        "answers": [
            _answer(verdicts, z, low, high) | {"candidate": z == look.answer}
            for z, low, high in zip(shown, ends.lows, ends.highs, strict=True)
        ],
    }
    return document


def _best(look: Look, most: int) -> list[int]:
    """The answers of largest estimates, and the candidate in any case."""
    order: list[int] = np.argsort(-look.values, kind="stable").tolist()
    shown = order[:most]
    return shown if look.answer in shown else [*shown[: most - 1], look.answer]


def _promise(look: Look, ends: Sequence[float | None]) -> str | None:
    """What the intervals say, if there is one."""
    return None if all(end is None for end in ends) else promise(look)


def _answer(verdicts: Verdicts, z: int, low: float | None, high: float | None) -> Document:
    each = verdicts[z]
    return {
        "answer": z,
        "name": each.name,
        "estimate": each.estimate,
        "low": low,
        "high": high,
        "within_eps": each.within_eps,
        "verdict": each.verdict,
    }


def arms(look: Look, most: int = MOST) -> Document:
    """How often each arm was measured, of the results that the test has taken in."""
    counts = look.evidence.counts
    total, names = int(counts.sum()), look.settings.problem.arm_names
    shown = np.argsort(-counts, kind="stable")[:most].tolist()
    return {
        "total": len(counts),
        "measurements": total,
        "arms": [
            {
                "arm": arm,
                "name": names[arm],
                "pulls": int(counts[arm]),
                "share": int(counts[arm]) / total if total else 0.0,
            }
            for arm in shown
        ],
    }


def optimum(look: Look) -> Document:
    """Where to measure if μ were as estimated; it may take seconds."""
    from furthest.characteristic import complexity

    problem = look.settings.problem
    document: Document = dict.fromkeys(("weights", "answer", "name", "measurements", "reason"))
    document["words"] = OPTIMUM
    if not look.ready or is_singular(look.evidence):
        return document | {"reason": NOT_YET}
    if look.task.arms.size * len(look.task.answers) * int(look.near_best.sum()) > MOST_WORK:
        return document | {"reason": TOO_LARGE}
    estimate = _parameter(look, look.evidence.estimate)
    try:
        # Shares do not depend on σ; times do, and are left out where it is unknown.
        noise = None if problem.sigma is not None else 1.0
        found = complexity(problem, estimate, WEIGHTS_GAP, noise=noise, quiet=True)
    except ParameterError as error:
        return document | {"reason": str(error)}
    needed = found.measurements(look.settings.delta)
    if not np.isfinite(needed):
        return document | {"reason": UNEXPLORED}
    return document | {
        "weights": found.weights.tolist(),
        "answer": found.furthest,
        "name": problem.answer_names[found.furthest],
        "measurements": needed if noise is None and not found.in_cost else None,
    }


def _parameter(look: Look, point: Vector) -> Vector:
    """A parameter of the task in the user's coordinates and units."""
    problem = look.settings.problem
    columns = problem.turned(np.eye(problem.arms.shape[1]))
    return np.asarray(columns @ in_units(look, point, np.eye(len(point))))


def effects(look: Look) -> Document | None:
    """What each feature does; None where features have no names, or an option each."""
    problem = look.settings.problem
    if problem.plain_features or problem.is_plain:
        return None
    rows = np.eye(len(problem.feature_names))
    ends, told = of_rows(look, rows), problem.tells(rows)
    values = _parameter(look, look.evidence.estimate)
    return {
        "intervals": _promise(look, ends.lows),
        "reason": ends.reason,
        "effects": [
            {
                "feature": name,
                "estimate": float(values[place]) if look.ready and told[place] else None,
                "low": ends.lows[place],
                "high": ends.highs[place],
            }
            for place, name in enumerate(problem.feature_names)
        ],
    }


def plane(look: Look, most: int = MOST) -> Document | None:
    """The confidence set of two features, with the answers; None where there are not two."""
    problem = look.settings.problem
    if problem.arms.shape[1] != 2 or len(look.evidence.estimate) != 2:
        return None
    document: Document = {
        "features": list(problem.feature_names),
        "estimate": None,
        "outline": None,
        "intervals": None,
        "reason": NOT_YET,
        "answers": [],
        "total": len(problem.answers),
        "alternative": None,
    }
    if not look.ready:
        return document
    found, reason = outline(look)
    verdicts = Verdicts(look, problem.answer_names)
    document |= {
        "estimate": _parameter(look, look.evidence.estimate).tolist(),
        "outline": None if found is None else [_parameter(look, point).tolist() for point in found],
        "intervals": promise(look) if found is not None else None,
        "reason": reason,
        "answers": [
            {
                "answer": z,
                "name": problem.answer_names[z],
                "point": problem.answers[z].tolist(),
                "verdict": verdicts[z].verdict,
                "candidate": z == look.answer,
            }
            for z in _best(look, most)
        ],
        "alternative": _alternative(look),
    }
    return document


def _alternative(look: Look) -> Document | None:
    """The parameter nearest to the estimate under which the candidate is not ε-best."""
    task, evidence, problem = look.task, look.evidence, look.settings.problem
    # With a bound on μ the nearest within it is another one.
    if is_singular(evidence) or problem.radius is not None:
        return None
    found, x = statistic(task, evidence, look.answer, -np.inf)
    if x < 0 or not found > 0:
        return None
    y = task.answers[look.answer] - task.c * task.answers[x]
    dual = evidence.inverse @ y
    margin = float(evidence.estimate @ y) + task.e
    point = evidence.estimate - margin / float(y @ dual) * dual
    return {
        "point": _parameter(look, point).tolist(),
        "answer": x,
        "name": problem.answer_names[x],
    }


def evidence(look: Look) -> Document | None:
    """Statistic against threshold as they are; None before there is an estimate."""
    return _mark(look)[0] if look.ready else None


def _mark(look: Look) -> tuple[Document, str]:
    """The same, and what the statistic is."""
    score = look.score(look.answer)
    mark = {
        "measurements": int(look.evidence.counts.sum()),
        "statistic": float(score.statistic),
        "threshold": float(score.threshold),
        "candidate": look.answer,
    }
    return mark, score.meaning


class Trace:
    """How the evidence has come about: statistic against threshold over the measurements.

    It goes through the results of a study once more, with a fold of its own, and then keeps up with
    it: one for each study is enough, for any number of threads.
    """

    def __init__(self, study: "Study", most: int = MOST_POINTS) -> None:
        self._study, self._most, self._lock = study, most, Lock()
        self._fold: Fold | None = None
        self._step, self._looks, self._seconds = 1, 0, 0.0  # and what these took
        self._points: list[tuple[int, Document]] = []  # with the number of the result
        self._last: tuple[int, Document] | None = None
        self._meaning: str | None = None

    def update(self, seconds: float = 1.0) -> Document:
        """Go on for about so long; whether that was enough, the points, the last of all."""
        with self._lock:
            if self._fold is None:
                with usable_strategy():
                    self._fold = Fold(self._study.settings)
            complete = self._follow(self._fold, perf_counter() + seconds)
            if complete and self._fold.ready and self._is_behind:
                self._last = (self._fold.told, self._mark(self._fold))
            return {
                "complete": complete,
                "points": [point for _, point in self._points],
                "last": self._last[1] if self._last else None,
                "meaning": self._meaning,
            }

    @property
    def _is_behind(self) -> bool:
        """Whether there is no point of where the fold is."""
        return self._last is None or self._fold is None or self._last[0] != self._fold.told

    def _follow(self, fold: Fold, until: float) -> bool:
        """Point by point; whether the end is reached."""
        first = fold.told
        ahead, outcome = self._study.counting(first)
        end, last = first + len(ahead.arms), _end(fold, ahead, outcome)
        self._thin(last)
        while fold.told < end and not _is_over(fold, outcome):
            # Only an initial design takes in results in another order, and may need more of them.
            limit = last if fold.told < last else fold.told + 1
            following = min((fold.told // self._step + 1) * self._step, fold.told + PIECE, limit)
            fold.take(ahead.part(fold.told - first, following - first))
            over = not fold.ready or _is_over(fold, outcome)
            if not over and fold.told % self._step == 0:
                self._last = (fold.told, self._mark(fold))
                self._points.append(self._last)
                self._thin(last)
            if perf_counter() > until:
                break
        return fold.told == end or _is_over(fold, outcome)

    def _thin(self, results: int) -> None:
        """Double the step until no more points are to be expected than there may be."""
        most = self._most
        if self._seconds > 0:
            affordable = int(min(POINTS_SECONDS * self._looks / self._seconds, most))
            most = max(LEAST_POINTS, affordable)
        while results // self._step > most:
            self._step *= 2
        self._points = [point for point in self._points if point[0] % self._step == 0]

    def _mark(self, fold: Fold) -> Document:
        begun = perf_counter()
        mark, self._meaning = _mark(Look(fold))
        if self._last:  # the first one may compile
            self._looks, self._seconds = self._looks + 1, self._seconds + perf_counter() - begun
        return mark


def _is_over(fold: Fold, outcome: Outcome | None) -> bool:
    """Whether the study ended here, by its test or by what somebody wrote down."""
    taken = int(fold.state.evidence.clock[Clock.ROUNDS])
    return fold.stopped or (outcome is not None and fold.ready and taken >= outcome.measurements)


def _end(fold: Fold, ahead: Columns, outcome: Outcome | None) -> int:
    """How many results there are until the end, if there is one."""
    if outcome is None:
        return fold.told + len(ahead.arms)
    taken = int(fold.state.evidence.clock[Clock.ROUNDS])
    before = np.searchsorted(taken + np.cumsum(ahead.sizes), outcome.measurements)
    return fold.told + min(int(before) + 1, len(ahead.arms))


def foresight(study: "Study") -> Document:
    """How many measurements there will be in all, by simulated futures; it takes seconds."""
    future = study.foresight()
    if future is None:
        return {"foresight": None, "crossing": None, "reason": NO_FUTURE}
    return {
        "foresight": future.to_dict(),
        "crossing": {
            name: future.measurements + getattr(future, name) for name in ("median", "low", "high")
        },
        "reason": None,
    }
