"""What a budget buys: how near to the best the answer will be for certain when it is spent."""

import json
import math
from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from copy import deepcopy
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from furthest.compiling import announced, words
from furthest.engine import Run
from furthest.errors import InputError
from furthest.problem import Problem
from furthest.simulation import Advance, follow
from furthest.stopping.nomination import Progress
from furthest.stopping.within import certified_eps
from furthest.strategy import Strategy, check_budget, check_level
from furthest.workers import check_workers, fair, spans, spread

QUANTILES = (0.05, 0.5, 0.95)


@dataclass(frozen=True)
class Expectation:
    """What is proven after so many measurements, over simulated studies.

    Attributes:
        budget: So many measurements.
        delta: The allowed probability of error.
        eps: The ε that is asked for.
        runs: How many studies were simulated.
        stopped: The share that has its answer within the budget: ε is proven there.
        median: The smallest ε that is proven by then, in the middle; infinite where nothing is.
        low: 5 % of the studies prove a smaller one.
        high: 5 % of the studies prove only a greater one.
        unproven: How many studies prove none.
    """

    budget: int
    delta: float
    eps: float
    runs: int
    stopped: float
    median: float
    low: float
    high: float
    unproven: int

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON: None for what is infinite."""
        plain = {key: _finite(value) for key, value in asdict(self).items()}
        return json.loads(json.dumps(plain))  # type: ignore[no-any-return]


def expected_eps(
    problem: Problem,
    mu: ArrayLike,
    budget: int | Sequence[int],
    delta: float = 0.01,
    strategy: Strategy | None = None,
    runs: int = 200,
    seed: int = 0,
    jobs: int = 1,
    *,
    executor: Executor | None = None,
    noise: float | None = None,
    progress: Advance | None = None,
) -> list[Expectation]:
    """The ε that a study will have proven when it has spent its budget, by simulated studies.

    >>> import furthest as ft
    >>> problem = ft.Problem.options(["A", "B", "C"], eps=0.1)
    >>> few, many = ft.expected_eps(problem, [1.0, 0.5, 0.0], [30, 3000], 0.05, runs=20)
    >>> few.median > many.median == 0.1
    True

    Args:
        problem: What is to be asked.
        mu: A guess of the parameter; or one for each run, as rows: draws from a prior.
        budget: How many measurements; several are served by the same studies.
        delta: The allowed probability of error.
        strategy: What decides; by default that of studies.
        runs: How many studies to simulate; as many as there are rows of `mu`, if it has rows.
        seed: The same seed gives the same figures.
        jobs: So many processes make them.
        executor: Or any `concurrent.futures.Executor`, as for `simulate`.
        noise: The standard deviation to expect, as for `simulate`.
        progress: Called with the number of studies that were just finished.

    Returns:
        One `Expectation` for each budget, in the order given.

    Raises:
        InputError: A budget that is no whole number, or figures out of range.
    """
    strategy = strategy or Strategy()
    check_workers(jobs, executor)
    guesses = np.atleast_2d(np.asarray(mu, float))
    budgets = _listed(budget)
    check_level(delta)
    if np.ndim(mu) < 2:
        guesses = np.repeat(guesses, _at_least_one(runs), axis=0)
    strategy.check_levels((delta,))
    strategy.check_question(problem)
    ascending = sorted(set(budgets))
    made: dict[int, list[list[tuple[float, bool]]]] = {}
    work = partial(_studies, problem, guesses, strategy, delta, seed, ascending, noise)
    chunks = spans(range(len(guesses)), fair(len(guesses), jobs, executor))

    def told(chunk: int) -> None:
        if progress is not None:
            progress(len(made[chunk]))

    with announced(words(strategy)):
        if jobs > 1:
            work(0, 1)  # compiled once for all
        spread(work, chunks, made.__setitem__, jobs=jobs, executor=executor, told=told)
    looks = np.array([study for chunk in sorted(made) for study in made[chunk]])
    found, done = looks[..., 0], looks[..., 1] > 0
    columns = [ascending.index(each) for each in budgets]
    return [_summary(problem.eps, delta, ascending[i], found[:, i], done[:, i]) for i in columns]


def _studies(
    problem: Problem,
    guesses: NDArray[np.float64],
    strategy: Strategy,
    delta: float,
    seed: int,
    budgets: Sequence[int],
    noise: float | None,
    first: int,
    last: int,
) -> list[list[tuple[float, bool]]]:
    """What is seen of each of these studies."""
    return [
        list(
            _looks(
                problem,
                strategy,
                follow(problem, guesses[number], strategy, delta, number, seed, budgets, noise),
            )
        )
        for number in range(first, last)
    ]


def _looks(
    problem: Problem, strategy: Strategy, runs: Iterator[Run]
) -> Iterator[tuple[float, bool]]:
    """At each look: the ε that is proven, and whether that is the one that was asked for."""
    test = strategy.test_for(strategy.noise_for(problem))
    for run in runs:
        if run.stopping.progress[Progress.NEXT] < 0:
            yield problem.eps, True
            continue
        answer = int(run.stopping.progress[Progress.ANSWER])
        found = None
        if answer >= 0:
            state, evidence = deepcopy(run.stopping.test), deepcopy(run.evidence)
            found = certified_eps(test, problem, state, evidence, answer)
        yield math.inf if found is None else found, False


def _summary(
    eps: float, delta: float, budget: int, found: NDArray[np.float64], done: NDArray[np.bool_]
) -> Expectation:
    # Infinite ones have no mean: each figure is one of those that were found.
    low, median, high = np.quantile(found, QUANTILES, method="inverted_cdf").tolist()
    unproven, share = int(np.isinf(found).sum()), float(done.mean())
    return Expectation(budget, delta, eps, len(found), share, median, low, high, unproven)


def _listed(budget: Any) -> list[int]:
    given: list[int] = np.array(budget, object).ravel().tolist()
    if not given:
        raise InputError("give at least one budget")
    for each in given:
        check_budget(each)
    return given


def _at_least_one(runs: int) -> int:
    if runs < 1:
        raise InputError(f"runs must be at least 1, not {runs}")
    return runs


def _finite(value: Any) -> Any:
    return None if isinstance(value, float) and math.isinf(value) else value
