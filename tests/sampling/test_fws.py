"""FWS, every round against plain NumPy, and its matrix game against a linear programme."""

import math

import numpy as np
import pytest
from scipy.optimize import linprog

import furthest as ft
from furthest.instances import Instance
from furthest.sampling.fws import _equilibrium
from oracles.replay import instances
from oracles.steps import constants, distances, furthest, last_step, near_best, shapes, steps

ROUNDS = 200


def game_value(payoffs) -> float:
    """max over z in the simplex of min_j Σ_a z_a A_ja."""
    rows, columns = payoffs.shape
    if rows == 1:
        return payoffs.max()
    solved = linprog(
        [*np.zeros(columns), -1],
        A_ub=np.hstack([-payoffs, np.ones((rows, 1))]),
        b_ub=np.zeros(rows),
        A_eq=[[*np.ones(columns), 0]],
        b_eq=[1],
        bounds=[(0, None)] * columns + [(None, None)],
    )
    assert solved.success
    return -solved.fun


def solve(payoffs):
    m, k = payoffs.shape
    tableau = np.zeros((m + 3, k + 1))
    tableau[:m, :k] = payoffs
    out = np.full(k, np.nan)
    assert _equilibrium(tableau, m, k, np.zeros(m + k + 2, np.int64), out)
    return out


@pytest.mark.parametrize("seed", range(40))
def test_game_is_solved_exactly(seed: int) -> None:
    rng = np.random.default_rng(seed)
    m, k = rng.integers(1, 9), rng.integers(1, 25)
    payoffs = rng.exponential(size=(m, k)) ** rng.choice([1, 4])
    if seed % 4 == 1:
        payoffs = np.round(payoffs)  # ties everywhere
    if seed % 4 == 2:
        payoffs[:, rng.integers(k, size=k)] = payoffs[:, [0] * k]  # equal arms
    if seed % 4 == 3:
        payoffs[rng.integers(m, size=m)] = payoffs[0]  # equal half-spaces
    payoffs[:, -1] += 0.1  # no row is zero
    z = solve(payoffs)
    assert (z >= 0).all()
    assert z.sum() == pytest.approx(1)
    assert (payoffs @ z).min() == pytest.approx(game_value(payoffs), rel=1e-9)


def test_many_rows_and_columns() -> None:
    rng = np.random.default_rng(1)
    payoffs = rng.random((60, 200))
    assert (payoffs @ solve(payoffs)).min() == pytest.approx(game_value(payoffs), rel=1e-9)


def test_a_single_row_is_a_best_response() -> None:
    z = solve(np.array([[1.0, 3.0, 3.0, 2.0]]))
    assert z.tolist() == [0, 1, 0, 0]


def instantaneous(problem, data) -> int:
    """z_F(μ_t, N_t); where no answer is ε-best, the greedy one."""
    mu = data.estimate
    candidates = near_best(problem, mu) or [int((problem.answers @ mu).argmax())]
    return max(candidates, key=lambda z: distances(problem, mu, z, data.counts).min())


Z_ORACLES = {
    "instantaneous-furthest": instantaneous,
    "furthest": lambda problem, data: furthest(problem, data.estimate).pop(),
    "greedy": lambda problem, data: int((problem.answers @ data.estimate).argmax()),
}
CASES = [(instance, "instantaneous-furthest") for instance in [*instances(), *shapes()]]
CASES += [(instance, name) for instance in instances()[1:3] for name in ("furthest", "greedy")]


@pytest.mark.parametrize(
    ("instance", "z_oracle"), CASES, ids=[f"{instance.name} {name}" for instance, name in CASES]
)
def test_every_round_is_as_the_formulas_say(instance: Instance, z_oracle: str) -> None:
    """Paper: FWS."""
    problem, arms = instance.problem, instance.problem.arms
    count, games = len(arms), 0
    c, e = constants(problem)
    for step in steps("fws", instance, ROUNDS, z_oracle=z_oracle):
        data, this_round = step.data, step.data.t + 1
        mu, x = data.estimate, step.before / data.t
        ratios = step.after / data.counts
        assert ratios[step.arm] >= ratios.max() * (1 - 1e-8)
        assert step.weights.min() >= -1e-12
        z = Z_ORACLES[z_oracle](problem, data)
        halves = distances(problem, mu, z, x) / 2
        explored = math.isqrt(this_round // count) ** 2 == this_round // count
        if explored or not 0 < halves.min() < math.inf:
            assert step.weights == pytest.approx(np.full(count, 1 / count))
            continue
        active = np.flatnonzero(halves < halves.min() + this_round**-0.9 / count)
        inverse = np.linalg.inv((arms.T * x) @ arms)
        y = problem.answers[z] - c * problem.answers[active]
        scale = (y @ mu + e) / np.einsum("xi,ij,xj->x", y, inverse, y)
        gradients = (scale[:, None] * (y @ inverse @ arms.T)) ** 2 / 2
        assert gradients @ x == pytest.approx(halves[active])
        payoffs = gradients - (gradients @ x)[:, None]
        reached = (payoffs @ step.weights).min()
        assert reached == pytest.approx(game_value(payoffs), abs=1e-8 * gradients.max())
        games += len(active) > 1
    assert step.after.sum() == pytest.approx(ROUNDS)
    assert np.abs(data.counts - step.before).max() < count
    if instance.name in {"hard mul", "hard add"}:
        assert games > 0, "no round had two half-spaces: no game was compared"


def test_proportions_converge_to_the_optimum() -> None:
    """Frank–Wolfe reaches w_F(μ) of the hard instance, up to the √(K/t) of forced exploration."""
    step = last_step("fws", ft.hard(), 20_000, z_oracle="furthest")
    assert step.after / step.after.sum() == pytest.approx([0.267, 0.733, 0, 0], abs=0.03)


@pytest.mark.parametrize(("notion", "arms"), [("multiplicative", "all"), ("additive", "basis")])
def test_stops_near_the_limit_on_the_hard_instance(notion: str, arms: str) -> None:
    instance = ft.hard(notion=notion, arms=arms)
    strategy = ft.Strategy("fws", threshold="paper")
    results = ft.simulate(instance.problem, instance.truth, strategy, runs=400, seed=1)
    low, high = {"multiplicative": (330, 480), "additive": (260, 390)}[notion]
    assert low < results.stopping_times.mean() < high
    assert results.correct.mean() > 0.98
