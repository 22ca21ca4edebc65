"""Instances: a problem together with a true parameter. The paper's generators, and an older one.

Jourdan & Degenne (2022), section 3.3: `hard`; section 6: `random`; section 2.2: `circle`. `soare`
is the usual hard instance of the papers on best arms, from Soare, Lazaric & Munos (2014).
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from furthest.errors import InputError, ParameterError, pick
from furthest.problem import Notion, Problem

# A gigabyte of features.
MOST_ENTRIES = 2**27

# How many times ε an answer may be off: beyond, squares would leave the range of numbers.
MOST_R = 1e50

R_EPS = 0.1  # the paper's r_ε: how far into the ε-band the second ε-best answer lies


@dataclass(frozen=True)
class Instance:
    """A problem and the parameter μ under which it is simulated; μ may be unknown.

    Attributes:
        name: As the command line takes it.
        problem: The question.
        mu: The truth, or None.
    """

    name: str
    problem: Problem
    mu: NDArray[np.float64] | None

    @property
    def truth(self) -> NDArray[np.float64]:
        """μ, or an error where the instance has none."""
        if self.mu is None:
            raise ParameterError(f"{self.name} has no true parameter: give one with --mu")
        return self.mu


def _generator(seed: int) -> np.random.Generator:
    if seed < 0:
        raise InputError(f"seed must be at least 0, not {seed}")
    return np.random.default_rng(seed)


def _label(generator: Callable[..., Instance], **parameters: object) -> str:
    """The text that leads back to an instance: what differs from the defaults, d and seed."""
    defaults = generator.__kwdefaults__ or {}
    given = [
        f"{name}={value}"
        for name, value in parameters.items()
        if value != defaults[name] or name == "seed" or (name == "d" and "seed" in parameters)
    ]
    return ":".join([generator.__name__, ",".join(given)]) if given else generator.__name__


def _check_finite(r: float) -> None:
    if not abs(r) < MOST_R:
        raise InputError(f"r must be a number below {MOST_R:g}, not {r:g}")


def _check_size(arms: int, d: int) -> None:
    if arms * d > MOST_ENTRIES:
        raise InputError(f"{arms:,} arms in dimension {d:,} do not fit into memory")


def hard(
    eps: float = 0.05,
    notion: Notion = "multiplicative",
    sigma: float = 1.0,
    *,
    d: int = 2,
    r: float = R_EPS,
    arms: str = "all",
) -> Instance:
    """Unit vectors, one answer just inside the ε-band and one just outside; μ = e₁.

    >>> import furthest as ft
    >>> instance = ft.hard()
    >>> instance.problem.near_best(instance.mu).tolist()
    [True, False, True, False]

    With `arms="basis"` only the unit vectors can be measured, as in the paper's table 1.

    Paper: hard instance.
    """
    if d < 2:
        raise InputError(f"the hard instance needs d ≥ 2, not {d}")
    if not 0 < eps < 1:
        raise InputError(f"the hard instance needs 0 < ε < 1, not {eps:g}")
    _check_finite(r)
    _check_size(d, d)
    basis = np.eye(d)
    angle = np.arccos(1 - eps)
    inside, outside = (
        np.cos(phi) * basis[0] + np.sin(phi) * basis[1] for phi in (r * angle, (1 + r) * angle)
    )
    answers = np.vstack([basis, inside, outside])
    names = [f"e{i + 1}" for i in range(d)] + ["inside", "outside"]
    choices = {"all": answers, "basis": basis}
    chosen = pick(arms, choices, "set of arms", InputError)
    problem = Problem(
        chosen, answers, eps, notion, sigma, arm_names=names[: len(chosen)], answer_names=names
    )
    return Instance(_label(hard, d=d, r=r, arms=arms), problem, basis[0])


def random(
    eps: float = 0.05,
    notion: Notion = "multiplicative",
    sigma: float = 1.0,
    *,
    d: int = 6,
    seed: int = 0,
    arms: int = 20,
    r: float = R_EPS,
) -> Instance:
    """Uniform on the unit sphere; μ = a₁, and the last arm a copy of a₁ of value 1 − r·ε.

    >>> import furthest as ft
    >>> ft.random(d=4, arms=10, seed=3).problem
    Problem(10 arms, 10 answers, d = 4, multiplicative ε = 0.05, σ = 1)

    Paper: random instances.
    """
    if d < 1 or arms < 2:
        raise InputError(f"random needs d ≥ 1 and arms ≥ 2, not d={d}, arms={arms}")
    _check_finite(r)
    _check_size(arms, d)
    rng = _generator(seed)
    vectors = rng.standard_normal((arms - 1, d))
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    mu = vectors[0]
    corrupted = mu.copy()
    i = int(mu.argmin())
    corrupted[i] = (1 - mu @ mu + mu[i] ** 2 - r * eps) / mu[i]
    problem = Problem(np.vstack([vectors, corrupted]), None, eps, notion, sigma)
    return Instance(_label(random, d=d, seed=seed, arms=arms, r=r), problem, mu)


def circle(
    eps: float = 0.05, notion: Notion = "multiplicative", sigma: float = 1.0, *, seed: int = 0
) -> Instance:
    """Four unit vectors in the plane: the best, one inside the ε-band, two outside; μ = e₁.

    >>> import furthest as ft
    >>> ft.circle(seed=1).name
    'circle:seed=1'

    Paper: circle instances.
    """
    if not 0 <= eps < 2:
        raise InputError(f"the circle needs 0 ≤ ε < 2, not {eps:g}")
    rng = _generator(seed)
    edge = np.arccos(1 - eps)
    inside = rng.uniform(-edge, edge)
    outside = rng.uniform(edge, np.pi, 2) * rng.choice([-1, 1], 2)
    angles = np.array([0.0, inside, *outside])
    vectors = np.column_stack([np.cos(angles), np.sin(angles)])
    problem = Problem(vectors, None, eps, notion, sigma)
    return Instance(_label(circle, seed=seed), problem, np.array([1.0, 0.0]))


def soare(
    eps: float = 0.05,
    notion: Notion = "multiplicative",
    sigma: float = 1.0,
    *,
    d: int = 2,
    omega: float = 0.1,
    scale: float = 1.0,
) -> Instance:
    """Unit vectors, and a rival at the angle ω to the best one; μ = scale · e₁.

    To tell the rival from e₁ one must measure e₂, the worst arm.

    >>> import furthest as ft
    >>> instance = ft.soare(omega=0.1)
    >>> int(ft.complexity(instance.problem, instance.mu).weights.argmax())
    1
    """
    if d < 2:
        raise InputError(f"soare needs d ≥ 2, not {d}")
    if not 0 < omega <= np.pi / 2:
        raise InputError(f"soare needs 0 < ω ≤ π/2, not {omega:g}")
    if not 0 < scale < MOST_R:
        raise InputError(f"soare needs a scale above 0 and below {MOST_R:g}, not {scale:g}")
    _check_size(d, d)
    basis = np.eye(d)
    rival = np.cos(omega) * basis[0] + np.sin(omega) * basis[1]
    names = [*(f"e{i + 1}" for i in range(d)), "rival"]
    arms = np.vstack([basis, rival])
    problem = Problem(arms, None, eps, notion, sigma, arm_names=names, answer_names=names)
    return Instance(_label(soare, d=d, omega=omega, scale=scale), problem, scale * basis[0])


GENERATORS: dict[str, Callable[..., Instance]] = {
    "hard": hard,
    "random": random,
    "circle": circle,
    "soare": soare,
}
