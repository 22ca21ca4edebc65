"""How many more measurements? Asked of many simulated futures of the study.

Each future draws μ, and σ where that is unknown, from their posterior and goes on from the state
in which the study is. Under a flat prior the drawn values would differ by as much more than the
true ones as the estimates do, so that a young study would look cheaper than it is. So the values
have a common spread, itself unknown: in whitened coordinates μ ~ N(0, (rσ)²I), but flat in the
direction that raises all values alike, where there is one; r on a grid, by its posterior. No prior
is right for every μ: benchmarks/foresight.py says how far off this one is.
"""

import math
from typing import NamedTuple

import numpy as np
from numpy.random import Generator, default_rng
from numpy.typing import NDArray

from furthest.characteristic import complexity
from furthest.codes import Noise
from furthest.coordinates import constant_direction
from furthest.engine import Run, simulated
from furthest.errors import InputError, ParameterError
from furthest.kernels.evidence import Clock, Evidence
from furthest.study.events import Settings
from furthest.study.fold import Fold, copied
from furthest.study.records import Foresight
from furthest.task import Task

# A future longer than this is given up, and all are once so many measurements were simulated.
HORIZON, BUDGET = 50_000, 400_000

# Futures are first followed so far, then this many times further where they matter.
FIRST_LOOK, FURTHER = 1000, 4

# Spreads of the arms' values in units of σ, equally many of each size.
SPREADS = np.geomspace(0.01, 1e6, 81)

QUANTILES = (0.05, 0.5, 0.95)


def foresee(settings: Settings, fold: Fold, draws: int, seed: int) -> Foresight | None:
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
    if fold.stopped:
        return Foresight(0.0, 0.0, 0.0, draws, 0, HORIZON, taken, limit)
    needed, horizon = _futures(fold, draws, default_rng(seed))
    # So that a range of any number of draws holds 90 % on average.
    low, median, high = np.quantile(needed, QUANTILES, method="weibull").tolist()
    unfinished = int((needed >= horizon).sum())
    return Foresight(median, low, high, draws, unfinished, horizon, taken, limit)


class Drawn(NamedTuple):
    """What a future takes for the truth."""

    means: NDArray[np.float64]  # (K,) of the arms
    noise: float


class Posterior:
    """Of μ and σ, in the coordinates and the reward unit of the task."""

    def __init__(self, task: Task, evidence: Evidence) -> None:
        self._task = task
        rounds, d = int(evidence.clock[Clock.ROUNDS]), task.arms.shape[1]
        flat = _constant(task)
        shrunk = np.eye(d) - flat.T @ flat
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
        residual = float(evidence.residual[0])
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


def _constant(task: Task) -> NDArray[np.float64]:
    """(1, d) unit vector of the direction that raises all arms alike; (0, d) if there is none."""
    direction = constant_direction(task.arms)
    if direction is None:
        return np.zeros((0, task.arms.shape[1]))
    unit: NDArray[np.float64] = direction / np.linalg.norm(direction)
    return unit[None]


def _futures(fold: Fold, draws: int, rng: Generator) -> tuple[NDArray[np.float64], int]:
    """Measurements until each future stops, and how far those were followed that did not."""
    posterior = Posterior(fold.task, fold.state.evidence)
    begun = int(fold.state.evidence.clock[Clock.ROUNDS])
    running = [(number, copied(fold.state), posterior.draw(rng)) for number in range(draws)]
    needed = np.zeros(draws)
    horizon, spent = min(FIRST_LOOK, HORIZON), 0
    while True:
        for number, state, drawn in running:
            spent += _follow(fold, state, drawn, begun + horizon, rng)
            needed[number] = int(state.evidence.clock[Clock.ROUNDS]) - begun
        running = [each for each in running if needed[each[0]] >= horizon]
        enough = len(running) <= draws - math.ceil(max(QUANTILES) * (draws + 1))
        if not running or enough or spent >= BUDGET or horizon == HORIZON:
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
    residual = float(evidence.residual[0])
    return math.sqrt(residual / freedom) if freedom > 0 and residual > 0 else None


def _limit(settings: Settings, fold: Fold, deviation: float) -> float | None:
    """T_ε ln(1/δ) at the estimate, where it is finite."""
    problem = settings.problem
    estimate = problem.unwhiten(fold.state.evidence.estimate)
    known = fold.task.noise == Noise.SUB_GAUSSIAN
    noise = None if known else deviation * problem.unit
    try:
        found = complexity(problem, estimate, 1e-4, noise=noise).measurements(settings.delta)
    except ParameterError:
        return None
    return found if math.isfinite(found) else None
