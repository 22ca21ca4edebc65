"""What a study will probably need, before it begins: simulated studies, as many as time allows."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from furthest.errors import InputError
from furthest.problem import Problem
from furthest.server.drafts import Draft, typed
from furthest.strategy import Strategy

STUDIES = 60

# Simulated measurements of one study, and of one times the numbers that each of them changes.
HORIZON, WORK = 100_000, 50_000_000

# Draws that are not possible before the prior is refused.
MOST_REDRAWS = 2_000


@dataclass(frozen=True)
class Plan:
    """What a study will probably need, by simulated studies.

    Attributes:
        median: Measurements, in the middle.
        low: 5 % need fewer.
        high: 5 % need more.
        studies: How many were simulated.
        unfinished: How many of them were given up …
        horizon: … after so many measurements.
        limit: What no rule needs less of, on average, when δ is small; the median.
        cost: What the measurements cost, in the middle; None where nobody said.
        within_budget: Which share ended within the budget; None without one.
    """

    median: float
    low: float
    high: float
    studies: int
    unfinished: int
    horizon: int
    limit: float
    cost: float | None
    within_budget: float | None


def planned(draft: Draft, is_over: Callable[[], bool]) -> Plan:
    """Simulated studies, until there are enough or time is over."""
    from furthest.planning import plan

    problem, strategy = draft.problem, Strategy()
    if problem is None:
        raise InputError("there is no question yet")
    spread = draft.number("spread")
    if spread is None or not 0 < spread < np.inf:
        raise InputError(draft.errors.get("spread", "say how different the options may be"))
    typical = typed(draft.text("typical")) if draft.text("typical") else _middle(problem, spread)
    noise = draft.number("sigma") if problem.sigma is None else None
    horizon = int(np.clip(WORK / problem.answers.size, 1_000, HORIZON))
    times, limits, costs = [], [], []
    for seed, mu in enumerate(drawn(problem, typical, spread)):
        found, prices = plan(
            problem,
            mu[None],
            strategy,
            [draft.delta],
            seed,
            max_rounds=horizon,
            noise=noise,
            quiet=True,
        )
        times.append(float(found.stopping_times.ravel()[0]))
        limits.append(float(prices[0]) * float(np.log(1 / draft.delta)))
        if found.costs is not None:
            costs.append(float(np.ravel(found.costs)[0]))
        if is_over():
            break
    return _summed_up(times, limits, costs, horizon, draft.budget)


def _summed_up(
    times: list[float], limits: list[float], costs: list[float], horizon: int, budget: int | None
) -> Plan:
    low, median, high = np.quantile(times, (0.05, 0.5, 0.95), method="weibull").tolist()
    ended = np.array(times) < horizon
    within = None if budget is None else float(np.mean((np.array(times) <= budget) & ended))
    return Plan(
        median,
        low,
        high,
        len(times),
        int((~ended).sum()),
        horizon,
        float(np.median(limits)),
        float(np.median(costs)) if costs else None,
        within,
    )


def drawn(problem: Problem, typical: float, spread: float, seed: int = 0) -> NDArray[np.float64]:
    """Parameters under which the options' values differ by this standard deviation."""
    rng = np.random.default_rng(seed)
    arms = problem.arms
    scales = np.abs(arms).max(axis=0)
    scales[scales == 0] = 1.0
    weights = rng.standard_normal((200, arms.shape[1])) / scales
    size = np.sqrt((weights @ arms.T).var(axis=1, ddof=1).mean())
    level, *_ = np.linalg.lstsq(arms, np.full(len(arms), typical), rcond=None)
    found: list[NDArray[np.float64]] = []
    for _ in range(MOST_REDRAWS):
        mu = level + rng.standard_normal(arms.shape[1]) / scales * (spread / size)
        if _is_possible(problem, mu):
            found.append(mu)
        if len(found) == STUDIES:
            return np.array(found)
    raise InputError(
        "options of this kind would have impossible values: take a smaller spread, or another "
        "typical value"
    )


def _middle(problem: Problem, spread: float) -> float:
    """A typical value where nobody has said one."""
    if problem.bounds is not None:
        return sum(problem.bounds) / 2
    return 0.0 if problem.notion == "additive" else 5 * spread


def _is_possible(problem: Problem, mu: NDArray[np.float64]) -> bool:
    values = problem.arms @ mu
    if problem.bounds is not None and not (
        problem.bounds[0] <= values.min() and values.max() <= problem.bounds[1]
    ):
        return False
    return problem.notion == "additive" or float((problem.answers @ mu).max()) > 0
