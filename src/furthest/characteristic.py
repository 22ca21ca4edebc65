"""complexity: what a question costs at best, as certified brackets.

E[τ] ≥ T_ε(μ) ln(1/δ) as δ → 0 for every (ε,δ)-PAC strategy, with
2/T_ε(μ) = max over answers z and proportions w of min over x of n²/‖z − c·x‖²_{V_w⁻¹}
(Jourdan & Degenne 2022, theorem on the lower bound). The maximising z is the furthest answer. Where
a bound on μ is known, only alternatives within it count (Kocák & Garivier 2021): bounded.py.
With costs c_a, E[money spent] ≥ T_ε ln(1/δ) with T_ε that of the arms a/√c_a (docs/theory/arms.md).
"""

import math
import time
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from furthest import display
from furthest.codes import Noise
from furthest.compiling import announced
from furthest.errors import ParameterError
from furthest.kernels.design import Allocation, solve
from furthest.problem import Problem, check_noise
from furthest.task import per_cost, per_measurement

GAP = 1e-8

# A coarse first look tells which answers cannot be the furthest.
COARSE = 1e-2

# A mean that is nearer to one of the bounds counts as so near: an outcome that is certain, with no
# noise at all, would cost nothing.
LEAST_SHARE = 1e-9

# Multipliers below this share do not bind.
BINDS = 1e-6


@dataclass(frozen=True, eq=False)
class Complexity:
    """The characteristic times of a problem under one parameter; lower ≤ T ≤ upper is certified.

    Attributes:
        T: T_ε(μ): no strategy needs fewer than T ln(1/δ) measurements on average, as δ → 0; where
            the arms have costs, none pays less than that.
        lower: T is at least this.
        upper: T is at most this.
        furthest: The furthest answer z_F(μ), the easiest to verify.
        ties: Answers that share the largest value up to the gap, z_F among them.
        weights: w_F(μ): where to measure, one share of the measurements per arm.
        binding: Answers x whose half-space is closest to μ under w_F.
        greedy: The answer of largest value, z*(μ).
        greedy_weights: Where to measure to verify that one.
        T_greedy: What that costs.
        T_bai: The same at ε = 0; infinite where the best answer is not unique.
        noise: The noise's standard deviation: σ, of each arm if they have their own, or what was
            assumed where that is unknown.
        seconds: Wall time of the solver.
        in_cost: Whether all times are in the unit of the costs, instead of measurements.
        cost_weights: Where the money goes, one share per arm; None without costs.
    """

    T: float
    lower: float
    upper: float
    furthest: int
    ties: tuple[int, ...]
    weights: NDArray[np.float64]
    binding: tuple[int, ...]
    greedy: int
    greedy_weights: NDArray[np.float64]
    T_greedy: float
    T_bai: float
    noise: float | tuple[float, ...]
    seconds: float
    in_cost: bool = False
    cost_weights: NDArray[np.float64] | None = None

    def __repr__(self) -> str:
        T, greedy, bai = map(display.figure, (self.T, self.T_greedy, self.T_bai))
        return (
            f"Complexity(T = {T}, furthest answer {self.furthest}; "
            f"T_greedy = {greedy}, greedy answer {self.greedy}; T_bai = {bai})"
        )

    def _repr_html_(self) -> str:
        times: list[list[display.Cell]] = [
            ["T, the furthest answer", f"answer {self.furthest}", self.T],
            ["T_greedy, the greedy answer", f"answer {self.greedy}", self.T_greedy],
            ["T_bai, the best answer alone", f"answer {self.greedy}", self.T_bai],
        ]
        top = max(float(self.weights.max()), BINDS)
        order = np.argsort(-self.weights, kind="stable")
        used = [int(arm) for arm in order if self.weights[arm] > BINDS]
        weights: list[list[display.Cell]] = [
            [f"arm {arm}", float(self.weights[arm]), display.Bar(float(self.weights[arm]) / top)]
            for arm in used[: display.ROWS]
        ]
        return display.card(
            "Complexity",
            display.line(
                f"E[{'cost' if self.in_cost else 'measurements'}] ≥ T ln(1/δ) for every strategy, "
                "as δ → 0",
                "soft",
            ),
            display.table(("what is verified", "", "T"), times),
            display.table(("measured arm", "share", ""), weights, len(used)),
        )

    def measurements(self, delta: float) -> float:
        """T_ε ln(1/δ): no strategy needs fewer, or with costs pays less, on average as δ → 0.

        Paper: Theorem 2.1.
        """
        return self.T * math.log(1 / delta)

    def to_dict(self) -> dict[str, Any]:
        """What `furthest complexity --json` prints; infinite times are null."""
        return {
            "T": _finite(self.T),
            "lower": _finite(self.lower),
            "upper": _finite(self.upper),
            "furthest": self.furthest,
            "ties": list(self.ties),
            "weights": self.weights.tolist(),
            "binding": list(self.binding),
            "greedy": self.greedy,
            "T_greedy": _finite(self.T_greedy),
            "T_bai": _finite(self.T_bai),
            "noise": list(self.noise) if isinstance(self.noise, tuple) else self.noise,
            "seconds": self.seconds,
            "in_cost": self.in_cost,
            "cost_weights": None if self.cost_weights is None else self.cost_weights.tolist(),
        }


def complexity(
    problem: Problem,
    mu: ArrayLike,
    gap: float = GAP,
    *,
    noise: float | None = None,
    quiet: bool = False,
) -> Complexity:
    """What a question costs at best: T_ε, T_g and T_0, the furthest answer, where to measure.

    >>> import furthest as ft
    >>> problem = ft.Problem.options(["A", "B"], eps=0.1, sigma=0.5)
    >>> price = ft.complexity(problem, [1.0, 0.8])  # 8 σ² / (gap + ε)²
    >>> print(f"{price.T:.3f}, {price.weights.round(3)}, {price.measurements(0.05):.1f}")
    22.222, [0.5 0.5], 66.6

    Where rewards are bounded, and the tests go by that, the noise of each arm is taken to be
    Gaussian with the variance of yes/no outcomes of its mean: for small gaps the limit for these.

    Args:
        problem: The question.
        mu: The parameter, one entry per feature.
        gap: The relative width of the brackets; below 1e-9 rounding prevails.
        noise: Where σ is unknown, and only there: the standard deviation to expect. The limit is
            that of somebody who knows it, so it holds for those who do not.
        quiet: Not to announce, on a terminal or in a notebook, that the solver is compiled.

    Returns:
        The times with their brackets; see `Complexity`.

    Raises:
        ParameterError: μ has another shape, entries that are not finite, or, for the
            multiplicative notion, no answer of positive value; or there is no noise to count in.

    Paper: Theorem 2.1, Equation 1, Equation 2, Lemma 2.2, Equation 4, Equation 7, shrunk answers,
    Lemma C.3, Lemma C.4.
    """
    with announced(solver_words(problem), said=False if quiet else None):
        return _complexity(problem, mu, gap, noise)


def solver_words(problem: Problem) -> str:
    """What is compiled for `complexity`."""
    return "the exact solver" if problem.radius is None else "the exact solver within a bound"


def _complexity(problem: Problem, mu: ArrayLike, gap: float, noise: float | None) -> Complexity:
    started = time.perf_counter()
    problem = _with_outcomes(problem, mu)
    near_best = np.flatnonzero(problem.near_best(mu))
    deviation = _deviation(problem, noise)
    task, scale = (
        per_cost(problem.task),
        1.0 if problem.sigma is not None else problem.unit / deviation,
    )
    parameter, known = problem.whiten(mu) * scale, problem.smoothness
    values = task.answers @ parameter
    greedy = int(values.argmax())

    def design(z: int, width: float, c: float = task.c, e: float = task.e * scale) -> Allocation:
        if known is not None:
            from furthest import bounded

            within = known._replace(bound=known.bound * scale**2)
            return bounded.solve(task, within, parameter, z, c, e, width)
        return solve(task.arms, task.answers, values, z, c, e, width)

    designs = {int(z): design(int(z), max(gap, COARSE)) for z in near_best}
    best = max(found.lower for found in designs.values())
    hopeful = [z for z, found in designs.items() if found.upper >= best]
    designs |= {z: design(z, gap) for z in {*hopeful, greedy}}
    lower = max(designs[z].lower for z in hopeful)
    upper = max(designs[z].upper for z in hopeful)
    ties = tuple(z for z in hopeful if designs[z].upper >= lower)
    furthest = next(z for z in ties if designs[z].lower == lower)
    chosen = designs[furthest]
    priced = problem.costs is not None
    return Complexity(
        T=_time(0.5 * (lower + upper)),
        lower=_time(upper),
        upper=_time(lower),
        furthest=furthest,
        ties=ties,
        weights=per_measurement(task, chosen.weights),
        binding=tuple(np.flatnonzero(chosen.multipliers > BINDS).tolist()),
        greedy=greedy,
        greedy_weights=per_measurement(task, designs[greedy].weights),
        T_greedy=_time(designs[greedy].lower),
        T_bai=_time(design(greedy, gap, 1.0, 0.0).lower),
        noise=deviation if problem.sigma is None else problem.sigma,
        seconds=time.perf_counter() - started,
        in_cost=priced,
        cost_weights=chosen.weights if priced else None,
    )


def _with_outcomes(problem: Problem, mu: ArrayLike) -> Problem:
    """Where tests go by bounds: with the noise that yes/no outcomes of these means have."""
    if problem.bounds is None or problem.noise_code < Noise.BOUNDED:
        return problem
    low, high = problem.bounds
    shares = (problem.arms @ problem.parameter(mu) - low) / (high - low)
    shares = np.clip(shares, LEAST_SHARE, 1.0 - LEAST_SHARE)
    sigma = (high - low) * np.sqrt(shares * (1.0 - shares))
    return replace(problem, bounds=None, noise=None, sigma=tuple(sigma.tolist()))


def _deviation(problem: Problem, noise: float | None) -> float:
    """The unit in which everything is counted: that of the task, or what is expected of σ."""
    if problem.sigma is not None:
        if noise is not None:
            raise ParameterError(
                f"σ = {problem.sigma_words} is known, and the limit follows from it: leave out the "
                "noise, or make σ unknown"
            )
        return problem.unit
    if noise is None:
        raise ParameterError("σ is unknown: say what noise to expect, noise=… or --noise")
    return check_noise(noise)


def _time(value: float) -> float:
    """T = 2/value: 0 where nothing can be confused, infinite where nothing can be told apart."""
    if math.isinf(value):
        return 0.0
    return 2.0 / value if value > 0 else math.inf


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
