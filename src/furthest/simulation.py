"""simulate: many runs of one strategy on one instance.

Each run has a random stream of its own, derived from the seed and the run's number alone; so the
results do not depend on the number of workers or on how the runs are cut into chunks.
"""

import math
import threading
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence
from numpy.typing import ArrayLike, NDArray

from furthest.blocks import in_one_block
from furthest.codes import Noise
from furthest.compiling import announced, words
from furthest.engine import (
    SLICE,
    Outcomes,
    Place,
    Run,
    Series,
    Source,
    finish,
    no_outcomes,
    simulated,
)
from furthest.errors import InputError, ParameterError, UnstoppedWarning, WorkersError
from furthest.kernels.evidence import Clock
from furthest.kernels.linalg import Counts
from furthest.kernels.streams import streams_of
from furthest.preparation import Prepared, prepare
from furthest.problem import Problem, check_noise
from furthest.results import Results
from furthest.strategy import Strategy
from furthest.task import Smoothness, Task
from furthest.watching import NOBODY, Watch, is_watched
from furthest.workers import check_workers, fair, spans, spread

# Four times what the paper's longest cells need on average; a second or two of compiled code.
MAX_ROUNDS = 1_000_000

# So many runs are given memory at a time.
SERIES = 1024

# Seconds that a chunk of runs should take at most, and at least where it goes to an executor: Dask
# takes about 7 ms for a task. One run tells how long they are, or so many of its rounds.
LEAST, MOST = 0.05, 1.0
TRIAL = 20_000

Advance = Callable[[int], None]


class Simulation(NamedTuple):
    """Everything a worker needs; small enough to send with every chunk."""

    task: Task
    truth: NDArray[np.float64]  # (d,) μ in the task's coordinates
    means: NDArray[np.float64]  # (K,) ⟨μ, a⟩/σ
    noise: float  # its standard deviation over σ, the same for all arms
    strategy: Strategy
    deltas: tuple[float, ...]  # descending
    seed: int
    max_rounds: int
    smoothness: Smoothness | None = None  # what is known of the true parameter beforehand
    either: bool = False  # whether every reward is one of the bounds, whatever the test knows


class Runs(NamedTuple):
    """Some finished runs."""

    numbers: NDArray[np.int64]  # (runs,)
    times: NDArray[np.int64]  # (runs, levels)
    answers: NDArray[np.int64]  # (runs, levels)
    pulls: NDArray[np.int64]  # (runs, levels, K)
    stopped: NDArray[np.bool_]  # (runs, levels)
    steps: NDArray[np.int64]  # (runs,) measurements simulated


def simulate(
    problem: Problem,
    mu: ArrayLike,
    strategy: Strategy | None = None,
    delta: float | Sequence[float] = 0.01,
    runs: int = 1000,
    seed: int = 0,
    jobs: int = 1,
    *,
    executor: Executor | None = None,
    first: int = 0,
    noise: float | None = None,
    ridge: float = 0.0,
    max_rounds: int = MAX_ROUNDS,
    progress: Advance | None = None,
    quiet: bool = False,
) -> Results:
    """Simulate `runs` runs with Gaussian noise.

    >>> import furthest as ft
    >>> problem = ft.Problem.options(["A", "B", "C"], eps=0.3)
    >>> results = ft.simulate(problem, [1.0, 0.5, 0.0], delta=[0.1, 0.01], runs=100)
    >>> many, more = results.summary()
    >>> (many.delta, more.delta), many.mean < more.mean
    ((0.1, 0.01), True)
    >>> uniform = ft.simulate(problem, [1.0, 0.5, 0.0], ft.Strategy("uniform"), runs=100)
    >>> uniform.pulls.sum(axis=1).tolist() == uniform.stopping_times.tolist()
    True

    Args:
        problem: The question.
        mu: The truth, one entry per feature; of plain options their values.
        strategy: What is simulated; by default that of studies.
        delta: The allowed probability of error, or several.
        runs: How many runs.
        seed: The same seed gives the same runs, whoever makes them.
        jobs: So many processes make them, or …
        executor: … any `concurrent.futures.Executor`, such as a Dask client's.
        first: The number of the first run.
        noise: The standard deviation of the noise, if it is another one than the strategy is told.
        ridge: Regularisation, for what published experiments did.
        max_rounds: After so many measurements a run is given up.
        progress: Called with the number of runs that were just finished.
        quiet: Show no bar, do not say what is compiled, and do not warn.

    Runs are numbered: `first` is the number of the first one, so that runs 0 … 99 and later
    `runs=400, first=100` are together the same as 500 runs at once.

    The noise has the standard deviation `noise`, of which no rule is told: by default σ, that of
    each arm if they have their own, and 1 where it is unknown. Rewards within bounds are each one
    of the two, whatever the strategy makes of it: no others of the same mean vary more.

    With a `ridge` estimate, sampling and statistic have V = ridge·I + Σ N_a a aᵀ, in the problem's
    coordinates and with rewards in units of σ: published experiments were run so. Proofs are for
    least squares, so only a heuristic stopping test for known σ may have one.

    Several δ are served by one trajectory where the sampling rule does not depend on δ. A run that
    has not stopped after `max_rounds` measurements is given up and reported as unstopped: an
    `UnstoppedWarning` says how many there are and which arms they starved. An own rule in plain
    Python takes about a minute for the default. Ctrl-C returns the runs finished so far, and their
    numbers: of several workers each has got to some number of its own.

    The runs are made by `jobs` processes, or by any `concurrent.futures.Executor`, such as a Dask
    client's; it is not shut down. Results are the same to the bit. If its workers are lost, the
    `WorkersError` has the finished runs as its `results`.

    On a terminal a bar on standard error shows how far it is, after a second. With `progress`,
    which is called with the number of runs that were just finished, there is none. What has to be
    compiled is announced there, too, and in notebooks. With `quiet` there is neither, and no
    warning.
    """
    strategy = strategy or Strategy()
    several = np.ndim(delta) > 0
    levels = tuple(float(level) for level in np.ravel(delta))
    _check(levels, runs, max_rounds, seed, first)
    check_workers(jobs, executor)
    deviation = _noise(problem, noise)
    if ridge and isinstance(problem.sigma, tuple):
        raise InputError("a ridge is counted in one σ, but every arm has its own: leave it out")
    strategy.check_levels(levels)
    strategy.check_question(problem)
    if not 0 <= ridge < math.inf:
        raise InputError(f"the ridge must be at least 0, not {ridge}")
    near_best = problem.near_best(mu)
    order = np.argsort([-level for level in levels], kind="stable")
    task = strategy.seen(problem.task_with(ridge) if ridge else problem.task)
    truth = problem.whiten(mu)
    _check_means(problem, problem.arms @ problem.parameter(mu))
    job = Simulation(
        task=task,
        truth=truth,
        means=task.arms @ truth,
        noise=deviation / problem.unit,
        strategy=strategy,
        deltas=tuple(levels[i] for i in order),
        seed=seed,
        max_rounds=max_rounds,
        smoothness=problem.smoothness,
        either=_is_either(problem),
    )
    what = words(strategy)
    # A rule in plain Python calls kernels that are compiled as it goes along.
    with announced(what, said=False if quiet else None):
        warm_up(job)
        started = time.perf_counter()
        with shown(strategy.name, runs, progress, quiet) as watch:
            done, ended = _collect(job, range(first, first + runs), jobs, executor, watch)
        seconds = time.perf_counter() - started

    def arrange(array: NDArray[Any]) -> NDArray[Any]:
        by_level = np.moveaxis(array[np.argsort(done.numbers)], 1, 0)[np.argsort(order)]
        return by_level if several else by_level[0]

    results = Results(
        problem=problem,
        strategy=strategy,
        delta=levels if several else levels[0],
        seed=seed,
        numbers=np.sort(done.numbers),
        stopping_times=arrange(done.times),
        answers=arrange(done.answers),
        pulls=arrange(done.pulls),
        stopped=arrange(done.stopped),
        correct=near_best[arrange(done.answers)],
        steps=int(done.steps.sum()),
        seconds=seconds,
        interrupted=ended is not None,
        noise=problem.sigma if isinstance(problem.sigma, tuple) else deviation,
        ridge=ridge,
    )
    if isinstance(ended, WorkersError):
        ended.results = results
        raise ended
    if results.unstopped_words and not quiet:
        warnings.warn(results.unstopped_words, UnstoppedWarning, stacklevel=2)
    return results


def follow(
    problem: Problem,
    mu: ArrayLike,
    strategy: Strategy,
    delta: float,
    number: int,
    seed: int,
    budgets: Sequence[int],
    noise: float | None = None,
) -> Iterator[Run]:
    """Run `number` of `simulate`, as it is after so many measurements each time, in rising order.

    It is one and the same state, which must not be written to.
    """
    deviation = _noise(problem, noise)
    _check_means(problem, problem.arms @ problem.parameter(mu))
    task, truth = strategy.seen(problem.task), problem.whiten(mu)
    ready = prepare(strategy, task, (delta,), truth, problem.smoothness)
    source = simulated(task.arms @ truth, deviation / problem.unit, either=_is_either(problem))
    streams = _generators.of_run(seed, number)
    run = ready.start()
    for budget in budgets:
        ready.advance(task, run, source, *streams, budget, True)
        yield run


def shown(
    what: str, runs: int, progress: Advance | None, quiet: bool
) -> AbstractContextManager[Watch]:
    """A bar of so many runs where somebody watches, or whoever wants to hear of them instead."""
    if progress is None and not quiet and is_watched():
        from furthest.bars import patient_bar

        return patient_bar(what, runs)
    return nullcontext(NOBODY._replace(finished=progress or NOBODY.finished))


def _noise(problem: Problem, noise: float | None) -> float:
    """What is given, or σ, or 1."""
    if noise is None:
        return problem.unit
    if isinstance(problem.sigma, tuple):
        raise InputError("every arm has a σ of its own, and is simulated with it: no other noise")
    if _is_either(problem):
        raise InputError("results within bounds are simulated as one of the two: no other noise")
    return check_noise(noise)


def _is_either(problem: Problem) -> bool:
    """Whether every simulated reward is one of the bounds."""
    return problem.noise_code >= Noise.BOUNDED or problem.noise == "bernoulli"


def _check_means(problem: Problem, means: NDArray[np.float64]) -> None:
    """Rewards within bounds have means within them."""
    if _is_either(problem) and problem.bounds is not None:
        low, high = problem.bounds
        outside = (means < low) | (means > high)
        if outside.any():
            arm = int(outside.argmax())
            raise ParameterError(
                f"the mean {means[arm]:g} of arm {problem.arm_names[arm]!r} is outside the bounds "
                f"[{low:g}, {high:g}]"
            )


def _check(levels: Sequence[float], runs: int, max_rounds: int, seed: int, first: int) -> None:
    if not levels:
        raise InputError("give at least one δ")
    for name, value in (("runs", runs), ("max_rounds", max_rounds)):
        if value < 1:
            raise InputError(f"{name} must be at least 1, not {value}")
    for name, value in (("seed", seed), ("first", first)):
        if value < 0:
            raise InputError(f"{name} must be at least 0, not {value}")


def warm_up(job: Simulation) -> None:
    """Compile, or load from disk, without simulating anything; finds bad options early."""
    with announced(words(job.strategy)):
        _simulate_chunk(job._replace(max_rounds=0), 0, 1)


def _ready(job: Simulation) -> Prepared:
    return prepare(job.strategy, job.task, job.deltas, job.truth, job.smoothness)


class _Generators(threading.local):
    """Two generators, for the noise and for the strategy, which every run sets anew.

    Without Numba's runtime each call of a kernel holds on to its generators for ever: with new
    ones for every run memory would grow without end.
    """

    def __init__(self) -> None:
        self.both = Generator(PCG64(0)), Generator(PCG64(0))

    def of_run(self, seed: int, number: int) -> tuple[Generator, Generator]:
        """Noise and internal randomness of one run: a function of the seed and its number."""
        for stream, generator in enumerate(self.both):
            fresh = PCG64(SeedSequence(seed, spawn_key=(number, stream)))
            generator.bit_generator.state = fresh.state
        return self.both


_generators = _Generators()

# Simulates runs from the first one's number on: says how many measurements the run under way has,
# whenever somebody might look.
Several = Callable[[int, Counts, Outcomes], Iterator[int]]


def _simulated(job: Simulation, numbers: range, within: Advance = NOBODY.within) -> Iterator[Runs]:
    """These runs, as they are finished; those before Ctrl-C come before the exception."""
    ready = _ready(job)
    source = simulated(job.means, job.noise, either=job.either)
    several = _in_memory_of_one(job, ready, source) or partial(_one_by_one, job, ready, source)
    for first in numbers[::SERIES]:
        place = np.zeros(len(Place), np.int64)
        runs, levels, arms = min(SERIES, numbers.stop - first), len(job.deltas), len(job.means)
        outcomes = no_outcomes(runs, levels, arms)
        known = 0
        try:
            for taken in several(first, place, outcomes):
                before, known = known, int(place[Place.NEXT])
                yield _runs(first, before, known, outcomes)
                if taken:
                    within(taken)
        except KeyboardInterrupt:
            yield _runs(first, known, int(place[Place.NEXT]), outcomes)
            raise


def _runs(first: int, begin: int, end: int, outcomes: Outcomes) -> Runs:
    """Some of them, with what was known at the end of those that never stopped."""
    steps, times, answers, pulls = (each[begin:end] for each in outcomes)
    stopped = times >= 0
    times = np.where(stopped, times, steps[:, None])
    return Runs(np.arange(first + begin, first + end), times, answers, pulls, stopped, steps)


def _in_memory_of_one(job: Simulation, ready: Prepared, source: Source) -> Several | None:
    """Within compiled code, in the memory of a single run; None where that cannot be."""
    drive = ready.drive
    block = in_one_block(ready.start()) if drive else None
    streams = streams_of(job.seed, *_generators.both) if block else None
    if drive is None or block is None or streams is None:
        return None
    run, memory = block
    fresh = memory.copy()

    def several(first: int, place: Counts, outcomes: Outcomes) -> Iterator[int]:
        series = Series(first, place, memory, fresh, streams, outcomes)
        while place[Place.NEXT] < len(outcomes.steps):
            drive(job.task, run, source, *_generators.both, job.max_rounds, True, series)
            yield int(run.evidence.clock[Clock.ROUNDS] * place[Place.BEGUN])

    return several


def _one_by_one(
    job: Simulation, ready: Prepared, source: Source, first: int, place: Counts, outcomes: Outcomes
) -> Iterator[int]:
    """Every run with a new state."""
    while place[Place.NEXT] < len(outcomes.steps):
        run = ready.start()
        streams = _generators.of_run(job.seed, first + int(place[Place.NEXT]))
        until = taken = 0
        while taken == until < job.max_rounds:
            yield taken
            until = min(until + SLICE, job.max_rounds)
            taken += ready.advance(job.task, run, source, *streams, until, True)
        finish(run.evidence, run.milestones, run.stopping.progress, place, outcomes)
        yield 0


def _simulate_chunk(job: Simulation, first: int, last: int) -> Runs:
    return _join(list(_simulated(job, range(first, last))), job)


def _join(batches: list[Runs], job: Simulation) -> Runs:
    nothing = _runs(0, 0, 0, no_outcomes(0, len(job.deltas), len(job.means)))
    return Runs(*(np.concatenate(arrays) for arrays in zip(nothing, *batches, strict=True)))


def _collect(
    job: Simulation, numbers: range, jobs: int, executor: Executor | None, watch: Watch
) -> tuple[Runs, KeyboardInterrupt | WorkersError | None]:
    """All runs; or those that were finished, and what came in between."""
    finished: dict[int, Runs] = {}

    def told(chunk: int) -> None:
        watch.finished(len(finished[chunk].numbers))

    try:
        if jobs == 1 and executor is None:
            for chunk, runs in enumerate(_simulated(job, numbers, watch.within)):
                finished[chunk] = runs
                told(chunk)
        else:
            chunks = spans(numbers, _size(job, numbers, jobs, executor))
            work = partial(_simulate_chunk, job)
            spread(work, chunks, finished.__setitem__, jobs=jobs, executor=executor, told=told)
    except (KeyboardInterrupt, WorkersError) as error:
        return _join(list(finished.values()), job), error
    return _join(list(finished.values()), job), None


def _size(job: Simulation, numbers: range, jobs: int, executor: Executor | None) -> int:
    """Runs in a chunk: a few chunks per worker, of a second at most, by one run or its beginning.

    To send a chunk to an executor may cost as much as several runs: not too small ones there.
    """
    size = fair(len(numbers), jobs, executor)
    least = 0.0 if executor is None else LEAST
    if size == 1 and not least:
        return 1
    began = time.perf_counter()
    cap = min(job.max_rounds, TRIAL)
    runs = _simulate_chunk(job._replace(max_rounds=cap), numbers[0], numbers[0] + 1)
    each = time.perf_counter() - began
    most = MOST if runs.stopped.all() or cap == job.max_rounds else LEAST
    return max(1, int(least / each), min(size, int(most / each)))
