"""Strategy = sampling × candidate answer × stopping × threshold × schedule × tracking."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from furthest import parts, sampling
from furthest.errors import InputError, StrategyError, pick
from furthest.sampling.rule import Rule

if TYPE_CHECKING:
    from furthest.kernels.evidence import Evidence
    from furthest.kernels.linalg import Vector
    from furthest.kernels.schedules import Schedule
    from furthest.kernels.stopping import Stopping
    from furthest.kernels.task import Task
    from furthest.problem import Problem

# In the order of the codes in kernels/schedules.py.
MODES = ("every", "sticky", "lazy")
GRIDS = ("constant", "geometric", "decreasing", "bernoulli")

# No grid begins later than a run can last.
LATEST = 10**15

GRID_DEFAULTS: dict[str, dict[str, float]] = {
    "constant": {"start": 10},
    "geometric": {"start": 10, "ratio": 0.2},
    "decreasing": {"start": 10, "ratio": 0.2},
    "bernoulli": {"p": 0.1},
}


class Start(NamedTuple):
    """Everything that one run changes, before its first round."""

    evidence: "Evidence"
    stopping: "Stopping"
    rule: Any


@dataclass(frozen=True)
class Strategy:
    """What to sample, what to answer, and when to stop: one word each.

    Without a word on stopping it is top-wrong, the sharpest proven rule; a named threshold means
    the GLR with it, and the GLR alone that with the threshold mixture.

    `options` go to the sampling rule: `Strategy("fixed", options={"weights": [0.3, 0.7]})`.
    `stopping_options` are the masses and scales of top-wrong, which no data may have shaped.
    """

    sampling: str | Rule = "lebai"
    candidate: str = "instantaneous-furthest"
    stopping: str = ""
    threshold: str = ""
    schedule: str = "every"
    tracking: str = "C"
    options: Mapping[str, Any] = field(default_factory=dict)
    stopping_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not isinstance(self.sampling, Rule):
            pick(self.sampling, sampling.MODULES, "sampling rule")
        if self.stopping == "":
            object.__setattr__(self, "stopping", "top-wrong" if self.threshold == "" else "glr")
        if self.threshold == "" and self.stopping != "top-wrong":
            object.__setattr__(self, "threshold", "mixture")
        pick(self.candidate, parts.CANDIDATES, "candidate answer")
        pick(self.stopping, parts.STOPPINGS, "stopping rule")
        if self.threshold != "":
            pick(self.threshold, parts.THRESHOLDS, "threshold")
        pick(self.tracking, parts.TRACKINGS, "tracking")
        parse_schedule(self.schedule)
        self.check_question("", "")
        if self.stopping_options:
            self._check_stopping_options()

    def check_question(self, notion: str, sigma: str) -> None:
        """Refuse unsound and pointless combinations; `parts` holds them as data."""
        axes = ("candidate", "stopping", "threshold", "schedule")
        choices = {axis: getattr(self, axis) for axis in axes}
        choices |= {"sampling": self.name, "notion": notion, "sigma": sigma}
        reason = parts.conflict(choices)
        if reason:
            raise StrategyError(reason)

    def _check_stopping_options(self) -> None:
        from furthest.kernels.topwrong import OPTIONS, choices, flaw

        if self.stopping != "top-wrong":
            raise StrategyError(f"the stopping rule {self.stopping} has no options")
        for name in self.stopping_options:
            pick(name, OPTIONS, "option of top-wrong")
        reason = flaw(*choices(self.stopping_options))
        if reason:
            raise StrategyError(reason)

    @property
    def name(self) -> str:
        """The sampling rule's name."""
        return self.sampling if isinstance(self.sampling, str) else self.sampling.name

    @property
    def rule(self) -> Rule:
        """The sampling rule."""
        return sampling.find(self.sampling) if isinstance(self.sampling, str) else self.sampling

    @property
    def guarantee(self) -> str:
        """What the stopping rule guarantees, in words."""
        return (parts.THRESHOLDS.get(self.threshold) or parts.STOPPINGS[self.stopping]).guarantee

    def guarantee_for(self, problem: "Problem") -> str:
        """The same for a problem: an unknown σ needs Gaussian noise."""
        if problem.sigma is None:
            return self.guarantee.replace("sub-Gaussian noise", "Gaussian noise of unknown σ")
        return self.guarantee

    def describe(self) -> dict[str, Any]:
        """The strategy as plain data."""
        return {
            "sampling": self.name,
            "candidate": self.candidate,
            "stopping": self.stopping,
            "threshold": self.threshold,
            "schedule": self.schedule,
            "tracking": self.tracking,
            "options": dict(self.options),
            "guarantee": self.guarantee,
        } | ({"stopping_options": dict(self.stopping_options)} if self.stopping_options else {})

    def check_levels(self, deltas: Sequence[float]) -> None:
        """Whether one trajectory can serve all these confidence levels."""
        for delta in deltas:
            if not 0 < delta < 1:
                raise InputError(f"δ must be between 0 and 1, not {delta:g}")
        if len(deltas) > 1 and self.rule.depends_on_delta:
            raise StrategyError(
                f"what {self.name} samples depends on δ: run it once for each δ instead of for "
                f"{len(deltas)} at a time"
            )

    def prepare(
        self,
        task: "Task",
        deltas: Sequence[float],
        truth: "Vector | None" = None,
        *,
        sigma_known: bool = True,
    ) -> Callable[[], Start]:
        """A function that returns a fresh `Start` for every run; δ in descending order.

        `truth` is the true parameter, for rules that are allowed to know it in a simulation.
        """
        from furthest.kernels.answers import CANDIDATES, FURTHEST
        from furthest.kernels.evidence import no_evidence
        from furthest.kernels.oracle import NoOracle, oracle_for
        from furthest.kernels.stopping import stopping
        from furthest.kernels.thresholds import threshold

        candidate = CANDIDATES.index(self.candidate)
        form = _threshold_form(self.threshold, task, deltas)
        test = self._test(task, deltas, sigma_known)
        schedule = parse_schedule(self.schedule)
        rule, options = self.rule, self._checked_options(truth)

        def start() -> Start:
            oracle = oracle_for(task) if candidate == FURTHEST else NoOracle()
            judge = stopping(candidate, threshold(task, *form), test(), schedule.fresh(), oracle)
            return Start(no_evidence(task), judge, rule.start(task, **options))

        return start

    def _test(self, task: "Task", deltas: Sequence[float], sigma_known: bool) -> Callable[[], Any]:
        """How to make a fresh stopping test."""
        from furthest.kernels.judging import ELIMINATION_TEST, GAP_TEST, GLR_TEST, ByThreshold
        from furthest.kernels.normal_gamma import normal_gamma
        from furthest.kernels.topwrong import choices, top_wrong

        if self.stopping == "top-wrong":
            masses, scales, shapes = choices(self.stopping_options)
            return lambda: top_wrong(task, deltas, masses, scales, None if sigma_known else shapes)
        if not sigma_known:
            return lambda: normal_gamma(task, deltas)
        kinds = {"glr": GLR_TEST, "gap": GAP_TEST, "elimination": ELIMINATION_TEST}
        return lambda: ByThreshold(kinds[self.stopping])

    def _checked_options(self, truth: "Vector | None") -> dict[str, Any]:
        """The options of the sampling rule, tracking and truth among them."""
        rule, options = self.rule, dict(self.options)
        known = {
            name: parameter
            for name, parameter in inspect.signature(rule.start).parameters.items()
            if parameter.kind == parameter.KEYWORD_ONLY
        }
        if "tracking" in known:
            options.setdefault("tracking", self.tracking)
        elif self.tracking != "C":
            raise StrategyError(f"{rule.name} has one way to track: no choice of tracking")
        if "truth" in known:
            options["truth"] = truth
        for name in options:
            pick(name, known, f"option of {rule.name}")
        for name, parameter in known.items():
            if parameter.default is parameter.empty and name not in options:
                raise StrategyError(f"{rule.name} needs the option {name!r}")
        return options


def _threshold_form(
    name: str, task: "Task", deltas: Sequence[float]
) -> tuple[int, float, float, list[float]]:
    """Kind, slope, scale and offsets; what they mean is told in kernels/thresholds.py."""
    from furthest.kernels.thresholds import GLR, MIXTURE, concentration

    logs = [math.log(1 / delta) for delta in deltas]
    if name in ("", "mixture"):
        return MIXTURE, 0.0, 1.0, logs
    if name == "paper":
        return GLR, 4.0, 2.0, [4 * log for log in logs]
    arms = len(task.arms)
    return GLR, 4.0 * arms, float(arms), [2 * arms * concentration(log / arms) for log in logs]


@dataclass(frozen=True)
class ScheduleChoice:
    """A schedule as it is written: `every`, `sticky:GRID` or `lazy:GRID,start=10,ratio=0.2`."""

    mode: str
    grid: str = "constant"
    start: int = 1
    ratio: float = 0.0

    def fresh(self) -> "Schedule":
        """Its state before the first round."""
        from furthest.kernels.schedules import schedule

        return schedule(MODES.index(self.mode), GRIDS.index(self.grid), self.start, self.ratio)


def parse_schedule(text: str) -> ScheduleChoice:
    """`sticky:geometric,start=10,ratio=0.2` and the like."""
    mode, _, rest = text.partition(":")
    pick(mode, parts.SCHEDULES, "schedule")
    if mode == "every":
        if rest:
            raise StrategyError("the schedule 'every' has no grid")
        return ScheduleChoice(mode)
    grid, *settings = rest.split(",")
    if not grid:
        raise StrategyError(f"{mode} needs a grid: {mode}:{' or '.join(parts.GRIDS)}")
    pick(grid, parts.GRIDS, "grid")
    values = dict(GRID_DEFAULTS[grid])
    for setting in settings:
        key, _, value = setting.partition("=")
        pick(key, values, f"setting of the {grid} grid")
        try:
            values[key] = float(value)
        except ValueError:
            message = f"{key} of the {grid} grid must be a number, not {value!r}"
            raise StrategyError(message) from None
    start, ratio = values.get("start", 1.0), values.get("p", values.get("ratio", 0.0))
    if not (1 <= start <= LATEST and start == int(start)):
        raise StrategyError(f"start of the {grid} grid must be a whole number ≥ 1, not {start:g}")
    if not (0 <= ratio < math.inf) or ("p" in values and not 0 < ratio <= 1):
        raise StrategyError(f"the {grid} grid cannot have the setting {ratio:g}")
    return ScheduleChoice(mode, grid, int(start), ratio)
