"""Strategy = sampling × candidate answer × stopping × threshold × schedule × tracking."""

import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib import import_module
from typing import TYPE_CHECKING, Any, get_args

from furthest import axes, sampling, stopping
from furthest.axes import CandidateWord, ThresholdWord, TrackingWord
from furthest.codes import Noise
from furthest.errors import InputError, StrategyError, pick

if TYPE_CHECKING:
    from furthest.kernels.linalg import Vector
    from furthest.problem import Problem
    from furthest.sampling.rule import Rule
    from furthest.stopping.test import Guarantee, StoppingTest
    from furthest.task import Smoothness, Task

# How a `start` names what is known of μ beforehand, if it wants to be told.
SMOOTHNESS = "smoothness"

# ln 1/δ of less is infinite.
LEAST_DELTA = 1e-300

# Of a budget; more have no exact mean in double precision.
MOST_MEASUREMENTS = 2**50

# No grid begins later than a run can last.
LATEST = 10**15


@dataclass(frozen=True, eq=False)
class Strategy:
    """What to sample, what to answer, and when to stop: one word each.

    >>> import furthest as ft
    >>> ft.Strategy().stopping
    'ranked'
    >>> ft.Strategy("lebai", threshold="mixture", schedule="lazy:geometric").stopping
    'glr'

    An own sampling rule or stopping test stands where a word would: a `Rule`, a `StoppingTest`, or
    the place where it can be found again, as in "my_lab.rules:TOP_TWO". `furthest rules` has all
    words.

    Args:
        sampling: What decides where to measure.
        candidate: Which answer is to be proven.
        stopping: What decides that the evidence suffices. Without a word it is ranked, the sharpest
            proven test, or the GLR if a threshold is named.
        threshold: How much evidence the GLR asks for; of the GLR alone it is mixture.
        schedule: How often to look: `every`, `sticky:GRID` or `lazy:GRID`.
        tracking: How measurements follow the wanted proportions: `C` or `D`.
        options: For the sampling rule: `Strategy("fixed", options={"weights": [0.3, 0.7]})`.
        stopping_options: For the stopping test; no data may have shaped them.

    Paper: identification strategy, modified algorithms.
    """

    sampling: "str | Rule" = sampling.DEFAULT
    candidate: CandidateWord = "instantaneous-furthest"
    stopping: "str | StoppingTest | None" = None
    threshold: ThresholdWord | None = None
    schedule: str = "every"
    tracking: TrackingWord = "C"
    options: Mapping[str, Any] = field(default_factory=dict)
    stopping_options: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for options in (self.options, self.stopping_options):
            if not isinstance(options, Mapping) or not all(
                isinstance(name, str) for name in options
            ):
                raise StrategyError(f"options must be names with their values, not {options!r}")
        if isinstance(self.sampling, str) and not is_place(self.sampling):
            pick(self.sampling, sampling.MODULES, "sampling rule")
        pick(self.candidate, axes.CANDIDATES, "candidate answer")
        pick(self.tracking, axes.TRACKINGS, "tracking")
        parse_schedule(self.schedule)
        if self.threshold is not None:
            pick(self.threshold, dict.fromkeys(get_args(ThresholdWord)), "threshold")
        if self.stopping is None:
            self._set("stopping", stopping.DEFAULT if self.threshold is None else "glr")
        if (self.stopping, self.stopping_options) != (stopping.DEFAULT, {}) or self.threshold:
            self._check_stopping()

    def _set(self, name: str, value: Any) -> None:
        object.__setattr__(self, name, value)

    def _check_stopping(self) -> None:
        """Refuse combinations that make no sense; the tests themselves say which."""
        word = self.stopping
        if self.threshold is None and isinstance(word, str) and not is_place(word):
            self._set("threshold", next(iter(stopping.versions(word))))
        test = self.test
        if test.sampling is not None and test.sampling != self.name:
            raise StrategyError(
                f"the stopping rule {test.name} belongs to the sampling rule {test.sampling}, it "
                f"does not go with {self.name}"
            )
        known = _options(test.check or test.start)
        known.pop(SMOOTHNESS, None)
        for name in self.stopping_options:
            if not known:
                raise StrategyError(f"the stopping rule {test.name} has no options")
            pick(name, known, f"option of {test.name}")
        if test.check is not None:
            test.check(**self.stopping_options)

    def check_question(self, problem: "Problem") -> None:
        """Refuse a problem that the stopping test is not made for."""
        test = self.test
        if problem.notion not in test.notions:
            raise StrategyError(
                f"the stopping rule {test.name} needs the {' or '.join(test.notions)} notion"
            )
        version = self.test_for(self.noise_for(problem))
        known = _options(version.check or version.start)
        if self.stopping_options and not known:
            raise StrategyError(f"the stopping rule {version.name} has no options")
        self.check_bound(known=problem.radius is not None)

    def check_bound(self, *, known: bool) -> None:
        """Refuse a problem without a bound on the parameter, where the stopping test rests on one.

        Sampling rules that could make use of a bound do without.
        """
        if self.test.needs_bound and not known:
            raise StrategyError(
                f"the stopping rule {self.test.name} needs a bound on the parameter: "
                "Problem.spectral, or a problem with roughness and radius"
            )

    def check_levels(self, deltas: Sequence[float]) -> None:
        """Whether one trajectory can serve all these confidence levels."""
        for delta in deltas:
            check_level(delta)
        if len(deltas) > 1 and self.rule.depends_on_delta:
            raise StrategyError(
                f"what {self.name} samples depends on δ: run it once for each δ instead of for "
                f"{len(deltas)} at a time"
            )

    @property
    def name(self) -> str:
        """The sampling rule's name, or where it is found."""
        return self.sampling if isinstance(self.sampling, str) else self.sampling.name

    @property
    def rule(self) -> "Rule":
        """The sampling rule."""
        if not isinstance(self.sampling, str):
            return self.sampling
        if is_place(self.sampling):
            return _at(self.sampling, "sampling rule", "choose")  # type: ignore[no-any-return]
        return sampling.find(self.sampling)

    @property
    def test(self) -> "StoppingTest":
        """The stopping test, for known σ."""
        if self.stopping is None or isinstance(self.stopping, str):
            word = self.stopping or stopping.DEFAULT
            if not is_place(word):
                return stopping.find(word, self.threshold)
            test: StoppingTest = _at(word, "stopping test", "judge")
        else:
            test = self.stopping
        if self.threshold is not None:
            raise StrategyError(f"the stopping rule {test.name} has no threshold to choose")
        return test

    def test_for(self, noise: Noise) -> "StoppingTest":
        """The version of the stopping test for this kind of noise."""
        version = self._version(noise)
        if version is None and self.test.bounded_only:
            raise StrategyError(
                f"the stopping rule {self.test.name} is for rewards within bounds, such as yes and "
                "no, of options without features: ranked goes with every question"
            )
        if version is None:
            which = f"{self.test.name} with {self.threshold}" if self.threshold else self.test.name
            raise StrategyError(
                f"{which} has no version for unknown σ; ranked, top-wrong and mixture have"
            )
        return version

    def _version(self, noise: Noise) -> "StoppingTest | None":
        test = self.test
        return {
            Noise.SUB_GAUSSIAN: None if test.bounded_only else test,
            Noise.GAUSSIAN: test.unknown_sigma,
            Noise.BOUNDED_LINEAR: test.bounded_linear,
        }.get(noise, test.bounded)

    def noise_for(self, problem: "Problem") -> Noise:
        """What the stopping test takes the noise for: `seen` knows more."""
        return Noise(self.seen(problem.task).noise)

    def seen(self, task: "Task") -> "Task":
        """The question as the stopping test sees it.

        To a test that has no version for bounded rewards, bounds are no more than a σ.
        """
        if task.noise >= Noise.BOUNDED and self._version(Noise(task.noise)) is None:
            return task._replace(noise=int(Noise.SUB_GAUSSIAN))
        return task

    @property
    def guarantee(self) -> "Guarantee":
        """What the stopping test guarantees, for known σ."""
        return self.test.guarantee

    def guarantee_for(self, problem: "Problem") -> "Guarantee":
        """What the stopping test guarantees for this problem."""
        return self.test_for(self.noise_for(problem)).guarantee

    def test_options(self, known: "Smoothness | None") -> dict[str, Any]:
        """The options of the stopping test; what is known of μ is among them."""
        given = {SMOOTHNESS: known} if self.test.needs_bound else {}
        return dict(self.stopping_options) | given

    def rule_options(
        self, truth: "Vector | None", smoothness: "Smoothness | None" = None
    ) -> dict[str, Any]:
        """The options of the sampling rule, checked; tracking, truth and bound are among them."""
        rule, options = self.rule, dict(self.options)
        known = _options(rule.start)
        if "tracking" in known:
            options.setdefault("tracking", self.tracking)
        elif self.tracking != "C":
            raise StrategyError(f"{rule.name} has one way to track: no choice of tracking")
        if "truth" in known:
            options["truth"] = truth
        if SMOOTHNESS in known:
            options[SMOOTHNESS] = smoothness
        for name in options:
            pick(name, known, f"option of {rule.name}")
        for name, parameter in known.items():
            if parameter.default is parameter.empty and name not in options:
                raise StrategyError(f"{rule.name} needs the option {name!r}")
        return options

    def describe(self) -> dict[str, Any]:
        """The strategy as plain data."""
        test = self.stopping
        return {
            "sampling": self.name,
            "candidate": self.candidate,
            "stopping": test if test is None or isinstance(test, str) else test.name,
            "threshold": self.threshold,
            "schedule": self.schedule,
            "tracking": self.tracking,
            "options": dict(self.options),
            "guarantee": self.guarantee.words,
        } | ({"stopping_options": dict(self.stopping_options)} if self.stopping_options else {})

    def located(self) -> "Strategy":
        """The same strategy in words alone: own rules by the place where they are found again."""
        words: dict[str, Any] = {}
        rule = self.sampling
        if not isinstance(rule, str):
            known = rule.name in sampling.MODULES and sampling.find(rule.name) is rule
            words["sampling"] = rule.name if known else _place(rule, rule.choose)
        if self.stopping is not None and not isinstance(self.stopping, str):
            words["stopping"] = _place(self.stopping, self.stopping.judge)
        return replace(self, **words) if words else self

    def _parts(self) -> tuple[Any, ...]:
        return (
            self.sampling,
            self.candidate,
            self.stopping,
            self.threshold,
            self.schedule,
            self.tracking,
            _frozen(self.options),
            _frozen(self.stopping_options),
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Strategy) and self._parts() == other._parts()

    def __hash__(self) -> int:
        return hash(self._parts())


def _options(function: Callable[..., Any]) -> dict[str, inspect.Parameter]:
    """The keyword-only parameters of a `start`: what may be chosen."""
    return {
        name: parameter
        for name, parameter in inspect.signature(function).parameters.items()
        if parameter.kind == parameter.KEYWORD_ONLY
    }


def _frozen(value: Any) -> Any:
    """Options as something that can be compared and hashed."""
    if isinstance(value, Mapping):
        return tuple(sorted((name, _frozen(own)) for name, own in value.items()))
    if hasattr(value, "tolist"):
        value = value.tolist()
    return tuple(map(_frozen, value)) if isinstance(value, list | tuple) else value


def is_place(word: Any) -> bool:
    """Whether it says where a part of the user's own is, `module:NAME`."""
    return isinstance(word, str) and ":" in word


def _at(place: str, what: str, verb: str) -> Any:
    """What is found at "module:NAME"."""
    module, _, name = place.partition(":")
    try:
        found = getattr(import_module(module), name)
    except (ImportError, AttributeError, ValueError) as error:
        raise StrategyError(f"the {what} {place!r} cannot be found: {error}") from None
    if not hasattr(found, verb):
        raise StrategyError(f"{place!r} is no {what}: it has no {verb!r}")
    return found


def _place(part: Any, function: Callable[..., Any]) -> str:
    """Where an own rule or test is found again."""
    module = function.__module__
    if module != "__main__":
        for name, value in vars(import_module(module)).items():
            if value is part:
                return f"{module}:{name}"
    raise StrategyError(
        f"{part.name!r} cannot be found again: make it a constant of a module that can be "
        f"imported, next to its functions (they are in {module!r})"
    )


@dataclass(frozen=True)
class ScheduleChoice:
    """A schedule as it is written: `every`, `sticky:GRID` or `lazy:GRID,start=10,ratio=0.2`."""

    mode: str
    grid: str = "constant"
    start: int = 1
    ratio: float = 0.0


def parse_schedule(text: str) -> ScheduleChoice:
    """`sticky:geometric,start=10,ratio=0.2` and the like."""
    mode, _, rest = text.partition(":")
    pick(mode, axes.SCHEDULES, "schedule")
    if mode == "every":
        if rest:
            raise StrategyError("the schedule 'every' has no grid")
        return ScheduleChoice(mode)
    grid, *settings = rest.split(",")
    if not grid:
        raise StrategyError(f"{mode} needs a grid: {mode}:{' or '.join(axes.GRIDS)}")
    values = dict(pick(grid, axes.GRIDS, "grid").settings)
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


def check_level(delta: float) -> None:
    """Whether δ is a probability of error that one can ask for."""
    if not 0 < delta < 1:
        raise InputError(f"δ must be between 0 and 1, not {delta:g}")
    if delta < LEAST_DELTA:
        raise InputError(f"δ = {delta:g} is beyond double precision: take {LEAST_DELTA:g} or more")


def check_budget(budget: Any) -> None:
    """Whether it is a number of measurements."""
    if type(budget) is not int or not 1 <= budget <= MOST_MEASUREMENTS:
        raise InputError(f"a budget must be a whole number of measurements, not {budget!r}")
