"""The state of a study: the engine's `record` and `decide`, folded over the results that count.

The proofs need the first pulls to be a design that was fixed beforehand. So results wait until
every arm of the initial design has one; then the design is taken in, in its own order, and after it
all others in the order in which they count. What does not count yet, or is pending, changes nothing
here, only what `suggest` says.
"""

import copy
from collections.abc import Iterator
from itertools import groupby
from typing import Any, NamedTuple

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import NDArray

from furthest.codes import Noise
from furthest.engine import Run, Source, told
from furthest.kernels.evidence import Clock
from furthest.kernels.jit import IS_COMPILED, addresses
from furthest.preparation import prepare
from furthest.residuals import Repeats
from furthest.stopping.nomination import Progress
from furthest.study.events import Columns, Due, Settings, single
from furthest.study.snapshot import Parts, machine

Arms = NDArray[np.int64]
Rewards = NDArray[np.float64]

NONE = single(np.zeros(0, np.int64), np.zeros(0))

# A batch is suggested in at most so many steps.
MOST_STEPS = 1000

# No study has as many measurements.
ENDLESS = 2**62

# What a snapshot has of a fold beside its state.
PLAIN = ("_first", "_taken", "blocked", "shift", "told")

# Of the state in a snapshot; an exact oracle has much room that it hardly uses.
MOST_BYTES = 2**28

# Results that are so many times larger than their noise have their constant part taken away.
LARGE = 2.0**20


class Result(NamedTuple):
    """One that waits for the initial design."""

    number: int  # among those that count
    arm: int
    value: float
    size: int
    deviation: float


class Outcome(NamedTuple):
    """How the study ended, as somebody wrote it into the log."""

    answer: int
    measurements: int  # taken in until then


class Fold:
    """All that follows from the results that count so far.

    With an `outcome` the study ends there and nowhere else. On another processor the last digits of
    a statistic may be others, and it may pass the threshold one result earlier or later: that must
    not matter. Whether the test accepts the answer there is for `certificate.verify` to say.
    """

    def __init__(self, settings: Settings, outcome: Outcome | None = None) -> None:
        problem, strategy = settings.problem, settings.strategy
        self.settings = settings
        self.problem = problem
        self.outcome = outcome
        self.task = strategy.seen(problem.task)
        prepared = prepare(strategy, self.task, (settings.delta,), smoothness=problem.smoothness)
        self.advance = prepared.advance
        self.test = strategy.test_for(Noise(self.task.noise))
        self.state: Run = prepared.start()
        # The stream that run 0 of a simulation with this seed has for itself.
        self._rng = Generator(PCG64(SeedSequence(settings.seed, spawn_key=(0, 1))))
        # Compile, or load from disk, at once: later somebody may wait for the study's lock.
        self._take(self.state, told(NONE.arms, NONE.values))
        self._design: dict[int, Result] = {}  # the first of each arm of the initial design
        self._waiting: list[Result] = []
        self._first: list[int] = []  # the design's results, by when they counted, then the others
        self._taken = 0  # results taken in
        self._repeats = Repeats()
        self.blocked = False  # the values cannot be Gaussian, and σ is unknown: nothing is proven
        self.shift = 0.0  # taken away from every value
        self.told = 0  # results seen, whether waiting, taken in, or too late
        self.stopped_at = 0  # how many results had counted when the study stopped; 0 before

    def apart(self) -> "Fold":
        """As it is now, whatever is taken in later."""
        other = copy.copy(self)
        other.state = copied(self.state)
        return other

    @property
    def ready(self) -> bool:
        """Whether the initial design is complete and there is an estimate."""
        return bool(self._first)

    @property
    def stopped(self) -> bool:
        """Whether the study has its answer; then nothing changes any more."""
        return self.stopped_at > 0

    @property
    def waiting(self) -> int:
        """Results that wait for the initial design."""
        return 0 if self.ready else len(self._design) + len(self._waiting)

    @property
    def answer(self) -> int:
        """The answer, or the candidate so far; −1 before there is an estimate."""
        if self.outcome is not None and self.stopped:
            return self.outcome.answer
        return int(self.state.stopping.progress[Progress.ANSWER])

    @property
    def values(self) -> Rewards:
        """The estimated value of every answer."""
        offset = self.shift * (self.problem.offset or 0.0)
        return self.state.evidence.values * self.problem.unit + offset

    @property
    def taken(self) -> list[int]:
        """Which of the results that count have been taken in, in this order."""
        return [*self._first, *range(len(self._first), self._taken)][: self._taken]

    def missing(self) -> list[int]:
        """Arms of the initial design that have no result."""
        if self.ready:
            return []
        return [arm for arm in self.task.initial.tolist() if arm not in self._design]

    def take(self, results: Columns) -> None:
        """Take in the next results, in the order in which they count."""
        first = 0
        while not self.ready and first < len(results.arms):
            self._take_design(Result(self.told, *(column[first].item() for column in results)))
            first += 1
        rest = results.part(first)
        if len(rest.arms) and not self.stopped:
            taken = self._take_in(rest)
            if self._ended:
                self.stopped_at = self.told + taken
        self.told += len(rest.arms)

    def parts(self) -> Parts | None:
        """All of it as plain data, of a study that goes on; None where it is not that, or too much.

        An own rule's or test's is not: nobody would notice when their source is edited.
        """
        arrays = _arrays(self.state)
        if arrays is None or not (IS_COMPILED and self.ready):
            return None
        if sum(array.nbytes for array in arrays.values()) > MOST_BYTES:
            return None
        repeats, of_repeats = self._repeats.parts()
        columns = {f"state.{name}": array for name, array in arrays.items()}
        columns |= {f"repeats.{name}": column for name, column in repeats.items()}
        rest = {name: getattr(self, name) for name in PLAIN}
        rest |= {"repeats": of_repeats, "rng": self._rng.bit_generator.state, "machine": machine()}
        return Parts(columns, rest)

    def restore(self, parts: Parts) -> None:
        """Take in what was stored, before any result; one of UNREADABLE if it has another form."""
        columns, rest = parts
        arrays = {f"state.{name}": array for name, array in (_arrays(self.state) or {}).items()}
        same = all(_form(columns.get(name)) == _form(array) for name, array in arrays.items())
        if not same or rest["machine"] != machine():
            raise ValueError("this is the state of something else")
        for name, array in arrays.items():
            # Where compiled kernels are is another place in each process.
            np.copyto(array, columns[name], where=~np.isin(array, [*addresses]))
        repeats = {name: columns[f"repeats.{name}"] for name in ("values", "times")}
        self._repeats.restore(repeats, rest["repeats"])
        self._rng.bit_generator.state = rest["rng"]
        for name in PLAIN:
            setattr(self, name, rest[name])

    def _take_design(self, result: Result) -> None:
        if result.arm in self._design or result.arm not in self.task.initial:
            self._waiting.append(result)
        else:
            self._design[result.arm] = result
        self.told += 1
        if len(self._design) == len(self.task.initial):
            first = [self._design[own] for own in self.task.initial.tolist()]
            numbers, *fields = zip(*first, *self._waiting, strict=True)
            self._first = list(numbers)
            results = Columns(*map(np.array, fields))
            self.shift = self._constant_part(results.values)
            self._take_in(results)
            if self._ended:
                self.stopped_at = self.told

    def _constant_part(self, values: Rewards) -> float:
        """What to take away from all values, so that their noise keeps its digits."""
        if self.task.noise >= Noise.BOUNDED:
            return 0.0  # they are not large: `Problem` sees to it
        known = self.task.noise == Noise.SUB_GAUSSIAN
        scale = float(self.problem.units.min() if known else np.ptp(values))
        large = np.abs(values).max() > LARGE * scale
        return float(values[0]) if large and self.problem.offset is not None else 0.0

    def _take_in(self, results: Columns) -> int:
        """Take in results until the study stops; returns how many."""
        until = self.outcome.measurements if self.outcome else ENDLESS
        taken = 0
        for blocked, count in self._stretches(results):
            self.blocked = blocked
            stretch = told(*self._in_units(results.part(taken, taken + count)))
            proving = not (blocked or self.outcome)
            taken += self._take(self.state, stretch, until=until, proving=proving)
            if self._ended:
                break
        self._taken += taken
        return taken

    def _in_units(self, results: Columns) -> tuple[Arms, Rewards, Arms, Rewards]:
        """For `told`: the sums of results and the squares within them, in the arms' units.

        Sums of yes/no outcomes are exact. Where rewards are bounded and nobody told their
        deviation, it is taken to be the largest that there can be.
        """
        sizes, unit = results.sizes, self.problem.units[results.arms]
        rewards = sizes * ((results.values - self.shift) / unit)
        within = np.nan_to_num((sizes - 1) * (results.deviations / unit) ** 2)
        several = sizes > 1
        if several.any() and self.problem.bounds is not None:
            low = (self.problem.bounds[0] - self.shift) / unit
            upper = 0.5 * (rewards - low * sizes)
            if self.problem.noise == "bernoulli":
                upper = np.rint(upper)
                rewards = np.where(several, low * sizes + 2.0 * upper, rewards)
            widest = 4.0 * np.maximum(upper * (1.0 - upper / sizes), 0.0)
            within = np.where(several & np.isnan(results.deviations), widest, within)
        return results.arms, rewards, sizes, within

    def _stretches(self, results: Columns) -> Iterator[tuple[bool, int]]:
        """Whether nothing may be proven, and for how many results in a row."""
        if self.task.noise != Noise.GAUSSIAN:
            yield False, len(results.arms)
            return
        looked_at = zip(
            results.arms.tolist(), results.values.tolist(), results.sizes.tolist(), strict=True
        )
        blocked = [
            self._repeats.take(arm, value) if size == 1 else self._repeats.discrete
            for arm, value, size in looked_at
        ]
        for same, stretch in groupby(blocked):
            yield same, len(list(stretch))

    @property
    def _ended(self) -> bool:
        if self.outcome is None:
            return _next_arm(self.state) < 0
        return int(self.state.evidence.clock[Clock.ROUNDS]) == self.outcome.measurements

    def _take(
        self, state: Run, source: Source, *, until: int = ENDLESS, proving: bool = True
    ) -> int:
        """Take in results that were told or, without proving anything, imagined."""
        return self.advance(self.task, state, source, self._rng, self._rng, until, proving)

    def suggest(self, pending: list[Due], count: int, waiting: Columns = NONE) -> list[Due]:
        """The next arms to measure, if the pending ones turn out as predicted.

        `waiting` are results that do not count yet; what to measure may depend on them all the
        same. With nothing pending or waiting the first is what a simulation would pull.
        """
        return self._suggest(pending, [1] * count, waiting)

    def share_out(self, pending: list[Due], batch: int, waiting: Columns = NONE) -> list[Due]:
        """How often to measure which arm, of so many measurements, in the order of the arms.

        As `suggest` would, but in at most `MOST_STEPS` steps: each gives an arm its share.
        """
        steps = min(batch, MOST_STEPS)
        sizes = [batch // steps + (step < batch % steps) for step in range(steps)]
        shares = dict.fromkeys(range(len(self.task.arms)), 0)
        for due in self._suggest(pending, sizes, waiting):
            shares[due.arm] += due.size
        return [Due(arm, size) for arm, size in shares.items() if size > 0]

    def _suggest(self, pending: list[Due], sizes: list[int], waiting: Columns) -> list[Due]:
        """One arm for each size, to be measured so often."""
        if not self.ready:
            known = list(map(Due, waiting.arms.tolist(), waiting.sizes.tolist()))
            return self._suggest_design([*known, *pending], sizes)
        suggested: list[Due] = []
        queue = pending
        if not pending and not len(waiting.arms):
            suggested = queue = [Due(_next_arm(self.state), sizes[0])]
        if len(suggested) < len(sizes):
            state = self._to_imagine()
            self._take(state, told(*self._in_units(waiting)), proving=False)
            means = self.task.arms @ state.evidence.estimate
        while len(suggested) < len(sizes):
            arms, often = np.array(queue, np.int64).reshape(-1, 2).T
            imagined = told(arms, means[arms] * often, often, np.zeros(len(arms)))
            self._take(state, imagined, proving=False)
            queue = [Due(_next_arm(state), sizes[len(suggested)])]
            suggested = [*suggested, *queue]
        return suggested

    def _to_imagine(self) -> Run:
        """A copy of the state for measurements that nobody judges, without what that would need."""
        test = self.state.stopping.test
        shared = {name: getattr(test, name) for name in self.test.judged}
        state = copied(_with_test(self.state, test._replace(**dict.fromkeys(shared))))
        return _with_test(state, state.stopping.test._replace(**shared))

    def _suggest_design(self, pending: list[Due], sizes: list[int]) -> list[Due]:
        """What the initial design lacks; for surplus workers its arms again, evenly."""
        design = self.task.initial.tolist()
        have = dict.fromkeys(design, 0)
        known = [Due(each.arm, each.size) for each in (*self._design.values(), *self._waiting)]
        for arm, size in (*known, *pending):
            if arm in have:
                have[arm] += size
        suggested = []
        for size in sizes:
            arm = min(design, key=have.__getitem__)
            have[arm] += size
            suggested.append(Due(arm, size))
        return suggested


def _with_test(state: Run, test: Any) -> Run:
    return state._replace(stopping=state.stopping._replace(test=test))


def _next_arm(state: Run) -> int:
    return int(state.stopping.progress[Progress.NEXT])


def _arrays(state: Any, name: str = "") -> dict[str, NDArray[Any]] | None:
    """What can change in a state, by name; None if it is not plain, or not this package's."""
    if isinstance(state, np.ndarray):
        return {name: state} if state.flags.writeable else {}
    if not isinstance(state, tuple):
        return {} if isinstance(state, int | float | np.generic) else None
    if not type(state).__module__.startswith("furthest."):
        return None
    found: dict[str, NDArray[Any]] = {}
    for field, part in zip(type(state)._fields, state, strict=True):  # type: ignore[attr-defined]
        arrays = _arrays(part, f"{name}.{field}")
        if arrays is None:
            return None
        found |= arrays
    return found


def _form(array: NDArray[Any] | None) -> Any:
    return None if array is None else (array.shape, array.dtype)


def copied(state: Any) -> Any:
    """A copy of a state, to be spoiled; an own rule may keep any object in it."""
    if isinstance(state, tuple):
        return type(state)._make(map(copied, state))  # type: ignore[attr-defined]
    return copy.deepcopy(state)
