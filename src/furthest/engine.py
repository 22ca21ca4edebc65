"""Two verbs, `record` (a measurement) and `decide` (stop? else which arm?), and their loop.

Simulations, live studies, their futures and the checks of own rules all go through `advance`; what
differs is where measurements come from. `drive` is the same for thousands of simulated runs one
after the other. A sampling rule or a stopping test is a NamedTuple type with functions of its own,
found by the type of the state. `preparation` compiles the loop once for each pair of them, and
loads it from disk afterwards; with a rule or a test in plain Python the very same functions run as
they stand here, calling compiled kernels.
"""

from enum import IntEnum
from typing import Any, NamedTuple

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from furthest.codes import Noise
from furthest.kernels.evidence import Clock, Evidence, design_arm, take_in
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Vector
from furthest.kernels.schedules import is_random
from furthest.kernels.states import by_reference
from furthest.kernels.streams import NO_STREAMS, Streams, begin
from furthest.stopping.nomination import Progress, Stopping, nominate
from furthest.task import Task
from furthest.verbs import choose, judge, observe

# `drive` returns to Python this often: compiled code cannot be interrupted.
SLICE = 50_000


class Milestones(NamedTuple):
    """When each confidence level was reached, and what was known then."""

    times: Counts  # (levels,) measurements until then; −1 before
    answers: Counts  # (levels,)
    pulls: NDArray[np.int64]  # (levels, K)


@by_reference
class Run(NamedTuple):
    """Everything that one run changes."""

    evidence: Evidence
    stopping: Stopping
    rule: Any  # the state of the sampling rule
    milestones: Milestones


@by_reference
class Source(NamedTuple):
    """Where measurements come from: a simulation, or a log in its own order.

    All in units of σ where it is known, else in a unit of their own.
    """

    means: Vector  # (K,) ⟨μ, a⟩ of every arm; none for a log
    noise: float  # standard deviation of the simulated noise, 1 where σ is known
    arms: Counts  # (n,) none for a simulation
    rewards: Vector  # (n,) each the sum of …
    sizes: Counts  # (n,) … so many results …
    within: Vector  # (n,) … with these sums of squares around their own mean
    either: int = 0  # 1 if every simulated reward is one of the bounds, whatever the test knows


class Outcomes(NamedTuple):
    """What has become of several runs."""

    steps: Counts  # (runs,) measurements simulated
    times: Counts  # (runs, levels) see Milestones; −1 where a level was never reached
    answers: Counts  # (runs, levels) the last candidate where it was not
    pulls: NDArray[np.int64]  # (runs, levels, K) the last ones where it was not


class Place(IntEnum):
    """Positions in Series.place."""

    NEXT = 0  # the run that is under way or next, counted from 0
    BEGUN = 1  # 1 while it is under way


@by_reference
class Series(NamedTuple):
    """Simulated runs one after the other, in the memory of one."""

    first: int  # number of the first run
    place: Counts  # (2,) see Place
    memory: Counts  # all arrays of the run's state …
    fresh: Counts  # … and what is in them when a run begins
    streams: Streams
    outcomes: Outcomes


def no_outcomes(runs: int, levels: int, arms: int) -> Outcomes:
    """Of so many runs, before they begin."""
    times, pulls = np.zeros((runs, levels), np.int64), np.zeros((runs, levels, arms), np.int64)
    return Outcomes(np.zeros(runs, np.int64), times, times.copy(), pulls)


_NONE = np.zeros(0, np.int64)
ALONE = Series(0, np.zeros(len(Place), np.int64), _NONE, _NONE, NO_STREAMS, no_outcomes(0, 0, 0))


def simulated(means: Vector, noise: float = 1.0, *, either: bool = False) -> Source:
    """The arms that are decided on, with normal noise; yes or no where rewards are bounded.

    Or where they are said to be `either`, though the stopping test goes by σ.
    """
    nothing, nobody = np.zeros(0), np.zeros(0, np.int64)
    return Source(means, noise, nobody, nothing, nobody, nothing, int(either))


def told(
    arms: Counts, rewards: Vector, sizes: Counts | None = None, within: Vector | None = None
) -> Source:
    """These arms and rewards, whatever was decided on; each the sum of several, with `sizes`."""
    sizes = np.ones(len(arms), np.int64) if sizes is None else sizes
    within = np.zeros(len(arms)) if within is None else within
    return Source(np.zeros(0), 1.0, arms, rewards, sizes, within)


def record(
    task: Task, run: Run, arm: int, reward: float, size: int = 1, within: float = 0.0
) -> None:
    """Take in one measurement, or the sum of several of one arm."""
    take_in(task, run.evidence, arm, reward, size, within)
    observe(run.stopping.test, task, run.evidence, arm, reward)


def decide(task: Task, run: Run, rng: Generator, proving: bool) -> int:
    """The arm to pull next: the initial design's, then the rule's; −1 once all levels are reached.

    Without `proving` no test is made: measurements that are only imagined prove nothing.
    """
    evidence, stopping = run.evidence, run.stopping
    if evidence.clock[Clock.READY] == 0:
        return design_arm(task, evidence)
    if proving:
        candidate, oracle, schedule = stopping.candidate, stopping.oracle, stopping.schedule
        progress = stopping.progress
        # Numba can crash if Ctrl-C comes while Python hands a generator to a kernel: none is.
        luck = rng.random() if is_random(schedule) else 0.0
        nominee = nominate(task, evidence, candidate, oracle, schedule, progress, luck)
        if nominee.answer >= 0:
            answer, reached = judge(stopping.test, task, evidence, nominee, run.rule)
            note(evidence, progress, run.milestones, answer, reached)
            if progress[Progress.REACHED] == stopping.levels.shape[0]:
                return -1
    return choose(run.rule, task, evidence, stopping)


@kernel
def note(
    evidence: Evidence, progress: Counts, milestones: Milestones, answer: int, reached: int
) -> None:
    """Write down time, answer and pulls of the levels that were just reached.

    No more than there are: a test that says otherwise must not spoil the memory.
    """
    before = progress[Progress.REACHED]
    reached = max(before, min(reached, milestones.times.shape[0]))
    for level in range(before, reached):
        milestones.times[level] = evidence.clock[Clock.ROUNDS]
        milestones.answers[level] = answer
        for a in range(evidence.counts.shape[0]):
            milestones.pulls[level, a] = evidence.counts[a]
    progress[Progress.ANSWER] = answer
    progress[Progress.REACHED] = reached


def advance(
    task: Task,
    run: Run,
    source: Source,
    noise: Generator,
    rng: Generator,
    until: int,
    proving: bool,
) -> int:
    """Take in measurements, deciding after each, and return how many were taken in.

    Goes on until all confidence levels are reached, the source is exhausted, or `until`
    measurements have been taken in altogether. All of the state is in `run`: a later call goes on
    where this one ended, from the arm that was decided on last.
    """
    clock, progress = run.evidence.clock, run.stopping.progress
    taken = 0
    while clock[Clock.ROUNDS] < until and progress[Progress.NEXT] >= 0:
        if source.means.shape[0] > 0:
            arm, size, within = progress[Progress.NEXT], 1, 0.0
            if task.noise >= Noise.BOUNDED or source.either == 1:
                share = 0.5 * (source.means[arm] - task.low)
                reward = task.low + (2.0 if noise.random() < share else 0.0)
            else:
                reward = source.means[arm] + source.noise * noise.standard_normal()
        elif taken < source.arms.shape[0]:
            arm, reward = source.arms[taken], source.rewards[taken]
            size, within = source.sizes[taken], source.within[taken]
        else:
            break
        precision = run.evidence.precision[0]
        record(task, run, arm, reward, size, within)
        if not proving:
            # Imagined measurements agree with the estimate too well to tell of the noise.
            run.evidence.precision[0] = precision
        progress[Progress.NEXT] = decide(task, run, rng, proving)
        taken += 1
    return taken


def drive(
    task: Task,
    run: Run,
    source: Source,
    noise: Generator,
    rng: Generator,
    until: int,
    proving: bool,
    series: Series,
) -> int:
    """`advance`; or, in a series, one run after the other, each until it has `until` measurements.

    A series is left after `SLICE` measurements or so. A later call goes on where this one ended.
    """
    clock, place = run.evidence.clock, series.place
    runs = series.outcomes.steps.shape[0]
    most, taken = until, 0
    while True:
        if runs > 0:
            if place[Place.BEGUN] == 0:
                restore(series.fresh, series.memory)
                begin(series.streams, series.first + place[Place.NEXT])
                noise.random()
                rng.random()
                place[Place.BEGUN] = 1
            most = min(until, clock[Clock.ROUNDS] + SLICE - taken)
        taken += advance(task, run, source, noise, rng, most, proving)
        going_on = clock[Clock.ROUNDS] < until and run.stopping.progress[Progress.NEXT] >= 0
        if runs == 0 or going_on:
            return taken
        finish(run.evidence, run.milestones, run.stopping.progress, place, series.outcomes)
        if place[Place.NEXT] == runs or taken >= SLICE:
            return taken


@kernel
def restore(fresh: Counts, memory: Counts) -> None:
    """The state in which a run begins."""
    for i in range(fresh.shape[0]):
        memory[i] = fresh[i]


@kernel
def finish(
    evidence: Evidence, milestones: Milestones, progress: Counts, place: Counts, outcomes: Outcomes
) -> None:
    """Write down what has become of a run, and go on to the next one."""
    run = place[Place.NEXT]
    outcomes.steps[run] = evidence.clock[Clock.ROUNDS]
    for level in range(milestones.times.shape[0]):
        time = milestones.times[level]
        reached = time >= 0
        last = max(progress[Progress.ANSWER], 0)
        outcomes.times[run, level] = time
        outcomes.answers[run, level] = milestones.answers[level] if reached else last
        for a in range(evidence.counts.shape[0]):
            pulls = milestones.pulls[level, a] if reached else evidence.counts[a]
            outcomes.pulls[run, level, a] = pulls
    place[Place.NEXT], place[Place.BEGUN] = run + 1, 0
