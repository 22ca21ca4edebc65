"""The formulas of the paper in plain NumPy, in the user's coordinates and units.

Nothing here is shared with the kernels: no whitening, no rank-one updates, no early exits.
"""

from collections.abc import Callable, Iterable

import clarabel
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from furthest.kernels.evidence import Evidence, no_evidence, take_in
from furthest.problem import Problem

Measurements = Iterable[tuple[int, float]]
Distance = Callable[[NDArray[np.float64], NDArray[np.float64], float], float]

# A contrast this much shorter than its answer is zero.
ZERO = 1e-11


class Plain:
    """What some measurements say about a problem."""

    def __init__(self, problem: Problem, measurements: Measurements) -> None:
        pairs = list(measurements)
        self.problem = problem
        self.arms = np.array([arm for arm, _ in pairs], int)
        self.rewards = np.array([reward for _, reward in pairs], float)
        self.rounds = len(pairs)
        self.counts = np.bincount(self.arms, minlength=len(problem.arms))
        rows = problem.arms[self.arms]
        self.estimate = np.linalg.lstsq(rows, self.rewards, rcond=1e-9)[0]
        self.matrix = problem.arms.T @ (problem.arms * self.counts[:, None]) / problem.unit**2
        self.inverse = np.linalg.pinv(self.matrix, rcond=1e-9, hermitian=True)
        self.values = problem.answers @ self.estimate
        self.c, self.e = constants(problem)

    def contrast(self, z: int, x: int) -> tuple[NDArray[np.float64], float]:
        """y = z − c·x and the margin n = ⟨μ, y⟩ + e."""
        answers = self.problem.answers
        y = answers[z] - self.c * answers[x]
        return y, float(self.estimate @ y + self.e)

    def distances(self, z: int) -> dict[int, float]:
        """Squared distance to the half-space of every x that z can lose to."""
        found = {}
        for x in rivals(self.problem, z):
            y, n = self.contrast(z, x)
            found[x] = max(n, 0.0) ** 2 / float(y @ self.inverse @ y)
        return found

    def statistic(self, z: int) -> float:
        """GLR statistic of z."""
        return min(self.distances(z).values(), default=np.inf)

    def near_best(self) -> NDArray[np.bool_]:
        """Which answers are ε-best for the estimate."""
        return np.asarray(self.values - self.c * self.values.max() + self.e >= 0)

    def log_e_value(self, z: int, distance: Distance | None = None) -> float:
        """ln of the mixture's e-value: average over scales of the infimum over each half-space.

        For the prior precision L = κV₀ and the alternative λ the martingale's logarithm is
        ½‖V(m − λ)‖²_{(V+L)⁻¹} − ½ ln|V + L|/|L|: a convex quadratic in λ.
        """
        distance = distance or projected_distance
        d = self.problem.arms.shape[1]
        base = self.problem.arms.T @ self.problem.arms / len(self.problem.arms)
        base = base / self.problem.unit**2
        lowest = np.inf
        for x in rivals(self.problem, z):
            y, n = self.contrast(z, x)
            if n <= 0:
                return -np.inf
            logs = []
            for kappa in 4 * d * 16.0 ** np.arange(3):
                prior = kappa * base
                metric = self.matrix @ np.linalg.solve(self.matrix + prior, self.matrix)
                logdet = np.linalg.slogdet(self.matrix + prior)[1] - np.linalg.slogdet(prior)[1]
                logs.append(0.5 * distance(metric, y, n) - 0.5 * logdet)
            lowest = min(lowest, float(np.logaddexp.reduce(logs) - np.log(3)))
        return lowest


def constants(problem: Problem) -> tuple[float, float]:
    """(c, e) of the paper, in the user's units."""
    return (1.0, problem.eps) if problem.notion == "additive" else (1.0 - problem.eps, 0.0)


def rivals(problem: Problem, z: int) -> list[int]:
    """Every x with z ≠ c·x."""
    c, _ = constants(problem)
    answers = problem.answers
    size = np.linalg.norm(answers[z])
    return [
        x
        for x in range(len(answers))
        if x != z and np.linalg.norm(answers[z] - c * answers[x]) > ZERO * size
    ]


def projected_distance(metric: NDArray[np.float64], y: NDArray[np.float64], n: float) -> float:
    """n²₊/‖y‖²_{metric⁻¹}."""
    return max(n, 0.0) ** 2 / float(y @ np.linalg.solve(metric, y))


def halfspace_distance(metric: NDArray[np.float64], y: NDArray[np.float64], n: float) -> float:
    """min vᵀ·metric·v subject to ⟨v, y⟩ ≤ −n, by an interior-point method."""
    if n <= 0:
        return 0.0
    d = len(y)
    # Scaled so that the solver's absolute tolerances mean something.
    scale = np.sqrt(np.diag(metric))
    quadratic = 2 * metric / np.outer(scale, scale)
    direction = y / scale
    size = n / np.linalg.norm(direction)
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    solution = clarabel.DefaultSolver(
        sparse.csc_matrix(np.triu(quadratic)),
        np.zeros(d),
        sparse.csc_matrix(direction[None] / np.linalg.norm(direction)),
        np.array([-1.0]),
        [clarabel.NonnegativeConeT(1)],
        settings,
    ).solve()
    return float(solution.obj_val * size**2)


def compiled(problem: Problem, measurements: Measurements) -> Evidence:
    """The kernels' evidence of the same measurements."""
    task = problem.task
    evidence = no_evidence(task)
    for arm, reward in measurements:
        take_in(task, evidence, arm, reward / problem.unit)
    return evidence
