"""What a study will cost before anything is measured, when μ is known only as a prior."""

from collections.abc import Sequence
from concurrent.futures import Executor
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from furthest.characteristic import complexity, solver_words
from furthest.compiling import announced, words
from furthest.errors import ParameterError
from furthest.problem import Problem
from furthest.results import Results
from furthest.simulation import Advance, simulate
from furthest.workers import check_workers, fair, spans, spread

if TYPE_CHECKING:
    from furthest.strategy import Strategy

# T_ε to a per mille: the spread between the draws is far larger.
GAP = 1e-3

# Draws of μ that are not possible, one after the other, before the prior is refused.
MOST_REDRAWS = 1000


def draw_parameters(
    problem: Problem, centre: ArrayLike | None, spread: float, draws: int, seed: int = 0
) -> NDArray[np.float64]:
    """`draws` parameters from N(centre, spread²·I); the centre is 0 unless given.

    The multiplicative notion is about a positive best value, and the problem may have a bound on
    μ: other draws are drawn again.
    """
    dimension = problem.arms.shape[1]
    middle = np.zeros(dimension) if centre is None else problem.parameter(centre)
    if not 0 < spread < np.inf:
        raise ParameterError(f"the spread of μ must be positive, not {spread:g}")
    rng = np.random.default_rng(seed)
    found: list[NDArray[np.float64]] = []
    refused = 0
    while len(found) < draws:
        mu = middle + spread * rng.standard_normal(dimension)
        positive = problem.notion == "additive" or (problem.answers @ mu).max() > 0
        if positive and problem.allows(mu):
            found.append(mu)
            refused = 0
            continue
        refused += 1
        if refused == MOST_REDRAWS:
            raise ParameterError(
                "no μ of this prior is within the problem's bound"
                if positive
                else "no μ of this prior has an answer of positive value: the multiplicative "
                "notion needs one"
            )
    return np.array(found)


def plan(
    problem: Problem,
    parameters: NDArray[np.float64],
    strategy: "Strategy",
    deltas: Sequence[float],
    seed: int = 0,
    jobs: int = 1,
    *,
    executor: Executor | None = None,
    max_rounds: int,
    noise: float | None = None,
    progress: Advance | None = None,
    quiet: bool = False,
) -> tuple[Results, NDArray[np.float64]]:
    """One simulated study for each parameter, and T_ε of each.

    Where σ is unknown, `noise` is the standard deviation to expect; where it is known, other noise
    may be simulated, and T_ε is that of σ.
    A draw under which the answers hardly differ can take very long: `max_rounds` cuts it off.
    What has to be compiled is announced as in `simulate`, unless `quiet`; workers are as there.
    """
    check_workers(jobs, executor)
    expected = noise if problem.sigma is None else None
    made: dict[int, list[tuple[float, Results]]] = {}
    work = partial(
        _studies, problem, parameters, strategy, deltas, seed, expected, noise, max_rounds
    )
    chunks = spans(range(len(parameters)), fair(len(parameters), jobs, executor))

    def told(chunk: int) -> None:
        if progress is not None:
            progress(len(made[chunk]))

    with announced(f"{words(strategy)} and {solver_words(problem)}", said=False if quiet else None):
        if jobs > 1:
            work(0, 1)  # compiled once for all
        spread(work, chunks, made.__setitem__, jobs=jobs, executor=executor, told=told)
    prices, studies = zip(*(pair for chunk in sorted(made) for pair in made[chunk]), strict=True)
    columns: dict[str, Any] = {
        name: np.concatenate([getattr(study, name) for study in studies], axis=1)
        for name in ("stopping_times", "answers", "pulls", "stopped", "correct")
    }
    columns["numbers"] = np.arange(len(studies))
    columns["steps"] = sum(study.steps for study in studies)
    columns["seconds"] = sum(study.seconds for study in studies)
    return replace(studies[0], **columns), np.array(prices)


def _studies(
    problem: Problem,
    parameters: NDArray[np.float64],
    strategy: "Strategy",
    deltas: Sequence[float],
    seed: int,
    expected: float | None,
    noise: float | None,
    max_rounds: int,
    first: int,
    last: int,
) -> list[tuple[float, Results]]:
    """T_ε of each of these parameters, and a study."""
    return [
        (
            complexity(problem, parameters[number], GAP, noise=expected).T,
            simulate(
                *(problem, parameters[number], strategy, deltas, 1, seed + number),
                noise=noise,
                max_rounds=max_rounds,
                quiet=True,
            ),
        )
        for number in range(first, last)
    ]
