"""How many more measurements? Asked of many simulated futures of the study.

Each future draws μ, and σ where that is unknown, from their posterior and goes on from the state
in which the study is. Under a flat prior the drawn values would differ by as much more than the
true ones as the estimates do, so that a young study would look cheaper than it is. So the values
have a common spread, itself unknown: in whitened coordinates μ ~ N(0, (rσ)²I), but flat in the
direction that raises all values alike, where there is one; r on a grid, by its posterior. No prior
is right for every μ: benchmarks/foresight.py says how far off this one is.
"""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from furthest.characteristic import complexity
from furthest.codes import Noise
from furthest.engine import Run, simulated
from furthest.errors import InputError, ParameterError
from furthest.kernels.evidence import Clock, Evidence, Squares
from furthest.problem import Problem
from furthest.study.events import Settings
from furthest.study.fold import Fold, copied
from furthest.study.records import Foresight

# A future longer than this is given up, and all are once so many measurements were simulated.
HORIZON, BUDGET = 50_000, 400_000

# Numbers of arms and answers that are gone through in all of them, one time after the other: where
# a round takes milliseconds there are fewer.
WORK = 2 * 10**10

# Futures are first followed so far, then this many times further where they matter.
FIRST_LOOK, FURTHER = 1000, 4

# Spreads of the arms' values in units of σ, equally many of each size.
SPREADS = np.geomspace(0.01, 1e6, 81)

QUANTILES = (0.05, 0.5, 0.95)

# Where fewer futures end within the budget, it is time to say so.
FUTILE = 0.05


def foresee(
    settings: Settings, fold: Fold, draws: int, seed: int, budget: int | None = None
) -> Foresight | None:
    """The futures of a study; None before there is an estimate, of μ and of an unknown σ.

    None also where the values are no Gaussian ones, and σ is unknown: nothing can be proven then.
    """
    if draws < 1:
        raise InputError(f"draws must be at least 1, not {draws}")
    if not fold.ready or fold.blocked:
        return None
    taken = int(fold.state.evidence.clock[Clock.ROUNDS])
    deviation = _deviation(fold)
    if deviation is None:
        return None
    limit = _limit(settings, fold, deviation)
    left = None if budget is None else max(0, budget - taken)
    if fold.stopped:
        enough = None if left is None else 1.0
        return Foresight(0.0, 0.0, 0.0, draws, 0, HORIZON, taken, limit, left, enough)
    needed, horizon = _futures(fold, draws, default_rng(seed))
    # So that a range of any number of draws holds 90 % on average.
    low, median, high = np.quantile(needed, QUANTILES, method="weibull").tolist()
    unfinished = int((needed >= horizon).sum())
    future = Foresight(median, low, high, draws, unfinished, horizon, taken, limit)
    if budget is None or left is None:
        return future
    share = float(np.mean((needed <= left) & (needed < horizon)))
    return replace(
        future,
        left=left,
        within_budget=share,
        # Of a future that was given up before the budget is spent nobody knows.
        warning=_futility(budget, left, draws, share)
        if 0 < left < horizon and share < FUTILE
        else "",
    )


def _futility(budget: int, left: int, draws: int, share: float) -> str:
    return (
        f"of {draws} simulated futures {round(share * draws)} end within the {left:,} measurements "
        f"that are left of the budget of {budget:,}: it will hardly suffice"
    )


class Drawn(NamedTuple):
    """What a future takes for the truth."""

    means: NDArray[np.float64]  # (K,) of the arms
    noise: float


class Posterior:
    """Of μ and σ, in the coordinates and the reward unit of the task."""

    def __init__(self, problem: Problem, evidence: Evidence) -> None:
        self._task = task = problem.task
        rounds, d = int(evidence.clock[Clock.ROUNDS]), task.arms.shape[1]
        shrunk, flat = _prior(problem)
        contrasts = d - len(flat)
        # The weight spread^α makes the prior of k contrasts ‖μ‖^(α−k): α = k is flat, α = 1 uniform
        # in the spread. Half the way: with α = 1, or Stein's α = 2, one good option among many that
        # are alike is shrunk to them, and the study looks four times as long as it is.
        tilt = (contrasts + 1) / 2
        # The spread is independent of σ a priori; counted in units of σ it takes α off, as a flat
        # prior takes off k.
        self._freedom = rounds - len(flat) - tilt
        self._offset = flat.T @ (flat @ evidence.estimate)
        estimate = evidence.estimate - self._offset
        matrix, pull = evidence.matrix, evidence.matrix @ estimate
        residual = float(evidence.residual[Squares.TOTAL])
        self._cases, scores = [], []
        for spread in SPREADS:
            factor = np.linalg.cholesky(matrix + shrunk * (d / spread**2))
            half = np.linalg.solve(factor, pull)
            # ‖estimate‖² in the metric (V⁻¹ + prior)⁻¹; rounding may take it below 0.
            squares = max(float(estimate @ pull - half @ half), 0.0)
            score = (tilt - contrasts) * math.log(spread)
            score -= float(np.log(np.diag(factor)).sum())
            if task.noise == Noise.SUB_GAUSSIAN:
                score -= squares / 2
            else:
                score -= self._freedom / 2 * math.log(residual + squares)
            scores.append(score)
            self._cases.append((factor, np.linalg.solve(factor.T, half), residual + squares))
        weights = np.exp(np.array(scores) - max(scores))
        self._weights = weights / weights.sum()

    def draw(self, rng: Generator) -> Drawn:
        """Spread, σ given the spread, μ given both."""
        factor, middle, squares = self._cases[rng.choice(len(SPREADS), p=self._weights)]
        noise, task = 1.0, self._task
        if task.noise != Noise.SUB_GAUSSIAN:
            noise = math.sqrt(squares / rng.chisquare(self._freedom))
        around = np.linalg.solve(factor.T, rng.standard_normal(len(middle)))
        means = task.arms @ (self._offset + middle + noise * around)
        if task.noise >= Noise.BOUNDED:
            means = np.clip(means, task.low, task.low + 2.0)
        return Drawn(means, noise)


def _prior(problem: Problem) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The prior's precision for a spread of 1, times 1/d; and the direction in which it is flat.

    The arms' values have one spread, whatever their noise: with raw arms R, the precision is RᵀR/K,
    which is I where all have one σ. Flat is (1, d) the unit vector of the direction that raises all
    rewards alike, (0, d) if there is none.
    """
    arms, direction = problem.task.arms, problem.common_direction
    d = arms.shape[1]
    flat = np.zeros((0, d))
    if direction is not None:
        flat = (direction / np.linalg.norm(direction))[None]
    if not isinstance(problem.sigma, tuple):
        return np.eye(d) - flat.T @ flat, flat
    raw = arms * problem.ratios[:, None]
    along = raw @ flat.T  # all entries are equal
    raw = raw - along @ np.linalg.pinv(along) @ raw
    return raw.T @ raw / len(raw), flat


def _futures(fold: Fold, draws: int, rng: Generator) -> tuple[NDArray[np.float64], int]:
    """Measurements until each future stops, and how far those were followed that did not."""
    posterior = Posterior(fold.problem, fold.state.evidence)
    begun = int(fold.state.evidence.clock[Clock.ROUNDS])
    running = [(number, copied(fold.state), posterior.draw(rng)) for number in range(draws)]
    needed = np.zeros(draws)
    affordable = WORK // (fold.task.arms.size + fold.task.answers.size)
    budget = min(BUDGET, affordable // 2)  # where the first look takes all there is no second
    horizon, spent = max(1, min(FIRST_LOOK, HORIZON, affordable // draws)), 0
    while True:
        for number, state, drawn in running:
            spent += _follow(fold, state, drawn, begun + horizon, rng)
            needed[number] = int(state.evidence.clock[Clock.ROUNDS]) - begun
        running = [each for each in running if needed[each[0]] >= horizon]
        enough = len(running) <= draws - math.ceil(max(QUANTILES) * (draws + 1))
        if not running or enough or spent >= budget or horizon == HORIZON:
            return needed, horizon
        horizon = min(horizon * FURTHER, HORIZON)


def _follow(fold: Fold, state: Run, drawn: Drawn, until: int, rng: Generator) -> int:
    """Let a future go on; how many measurements that took."""
    either = fold.problem.noise == "bernoulli"
    source = simulated(drawn.means, drawn.noise, either=either)
    return int(fold.advance(fold.task, state, source, rng, rng, until, True))


def _deviation(fold: Fold) -> float | None:
    """σ in the fold's unit, estimated where it is unknown; None where it cannot be."""
    if fold.task.noise == Noise.SUB_GAUSSIAN:
        return 1.0
    evidence = fold.state.evidence
    freedom = int(evidence.clock[Clock.ROUNDS]) - fold.task.arms.shape[1]
    residual = float(evidence.residual[Squares.TOTAL])
    return math.sqrt(residual / freedom) if freedom > 0 and residual > 0 else None


def _limit(settings: Settings, fold: Fold, deviation: float) -> float | None:
    """T_ε ln(1/δ) at the estimate, where it is finite."""
    problem = settings.problem
    estimate = problem.unwhiten(fold.state.evidence.estimate)
    noise = deviation if fold.task.noise == Noise.GAUSSIAN else None
    try:
        # Of measurements, which is what futures are counted in: costs would change the unit.
        blind = problem if problem.costs is None else replace(problem, costs=None)
        found = complexity(blind, estimate, 1e-4, noise=noise).measurements(settings.delta)
    except ParameterError:
        return None
    return found if math.isfinite(found) else None
