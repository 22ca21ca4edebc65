"""The oracle along paths of estimates, against cold solves and a conic solver."""

import math
import pickle

import numpy as np
import pytest

import furthest as ft
from furthest.kernels.design import solve
from furthest.kernels.oracle import (
    Oracle,
    Tally,
    design_of,
    furthest_answer,
    furthest_design,
    one_of,
    oracle_for,
    oracles_for,
)
from oracles.conic import by_clarabel
from oracles.designs import Case, case_of, epsilon_optimal, path, random_case, task_of, whitened

NOTIONS = ["additive", "multiplicative"]
ANY = math.inf


def oracle_of(case: Case) -> Oracle:
    return oracle_for(task_of(case))


def ask(held: Oracle, case: Case, values: np.ndarray, gap: float = ANY) -> int:
    return furthest_design(held, task_of(case), values, gap)


def cold_brackets(case: Case, values: np.ndarray, gap: float = 1e-9) -> dict[int, tuple]:
    """Bracket of every ε-optimal answer, each solved from scratch."""
    found = {}
    for z in epsilon_optimal(values, case.c, case.e):
        design = solve(*case._replace(values=values, z=z), gap)
        found[z] = (design.lower, design.upper)
    return found


def tracked(instance, rounds: int, seed: int) -> tuple[Case, np.ndarray]:
    """An instance and the values along a run that tracks its w_F(μ)."""
    case = case_of(instance)
    held = oracle_of(case)
    weights = held.weights[ask(held, case, case.values, 1e-3)]
    return case, path(instance, weights, rounds, seed)


def is_furthest(z: int, brackets: dict[int, tuple]) -> bool:
    """Whether no other answer is proven to be further."""
    return brackets[z][1] >= max(lower for lower, _ in brackets.values())


def certified_by(weights: np.ndarray, case: Case, values: np.ndarray, z: int) -> float:
    """min over x of n_x²/‖z − c·x‖², in NumPy."""
    y = np.delete(case.answers[z] - case.c * case.answers, z, axis=0)
    margins = np.delete(values[z] - case.c * values + case.e, z)
    information = (case.arms.T * weights) @ case.arms
    norms = np.sum(y * np.linalg.solve(information, y.T).T, axis=1)
    return float(np.min(margins**2 / norms))


@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize(
    "instance", [ft.hard, lambda notion: ft.random(notion=notion, d=6, arms=12, seed=4)]
)
def test_every_round_is_that_of_cold_solves(instance, notion):
    case, values = tracked(instance(notion=notion), 300, 1)
    held = oracle_of(case)
    for t, now in enumerate(values):
        z = ask(held, case, now)
        if t % 4 == 0 and now.max() > 0:
            brackets = cold_brackets(case, now)
            assert is_furthest(z, brackets)
            for x, (lower, upper) in brackets.items():
                if len(brackets) > 1 and held.known[x]:
                    assert held.lower[x] <= upper
                    assert held.upper[x] >= lower
    assert held.statistics[Tally.ROUNDS] == len(values)
    assert held.statistics[Tally.SOLVED_ROUNDS] < 0.7 * len(values)


@pytest.mark.parametrize("seed", range(4))
def test_the_furthest_answer_of_a_conic_solver(seed):
    """Paper: Equation 2."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < 15:
        case = random_case(rng, d_max=5, size=10)
        candidates = epsilon_optimal(case.values, case.c, case.e)
        if len(candidates) < 2 or (case.c < 1 and case.values.max() <= 0):
            continue
        z = ask(oracle_of(case), case, case.values)
        values = {}
        for x in candidates:
            design = solve(*case._replace(z=x), 1e-2)
            conic = 0.0 < design.upper < math.inf
            values[x] = by_clarabel(case._replace(z=x)).value if conic else design.upper
        assert z in values
        assert values[z] >= max(values.values()) * (1 - 1e-6)
        compared += 1


def test_values_may_jump_anywhere():
    rng = np.random.default_rng(8)
    arms, answers = whitened(rng.standard_normal((10, 4)), rng.standard_normal((9, 4)))
    case = Case(arms, answers, np.zeros(9), 0, 1.0, 1.0)
    held = oracle_of(case)
    for _ in range(60):
        values = answers @ rng.standard_normal(4) * 10 ** rng.uniform(-1, 1)
        z = ask(held, case, values)
        assert is_furthest(z, cold_brackets(case, values))


def test_a_lone_candidate_needs_no_solve():
    case = Case(np.eye(2), np.eye(2), np.array([1.0, 0.0]), 0, 1.0, 0.1)
    held = oracle_of(case)
    assert ask(held, case, case.values) == 0
    assert held.statistics.tolist() == [1, 0, 0]


def test_one_answer():
    case = Case(np.eye(2), np.ones((1, 2)), np.array([1.0]), 0, 1.0, 0.1)
    held = oracle_of(case)
    assert ask(held, case, case.values) == 0
    assert ask(held, case, case.values, 1e-3) == 0
    assert held.weights[0] == pytest.approx([0.5, 0.5])


def test_greedy_where_no_value_is_positive():
    case = Case(np.eye(3), np.eye(3), np.array([-3.0, -1.0, -1.05]), 0, 0.9, 0.0)
    held = oracle_of(case)
    assert ask(held, case, case.values) == 1
    assert ask(held, case, case.values, 1e-3) == 1
    assert held.weights[1] == pytest.approx([1 / 3] * 3)


def test_ties_go_to_the_first():
    """Two answers that mirror each other."""
    answers = np.array([[0.0, -1.0], [1.0, 0.2], [1.0, -0.2], [0.0, 1.0]])
    case = Case(np.eye(2), answers, answers[:, 0].copy(), 0, 1.0, 0.3)
    held = oracle_of(case)
    assert ask(held, case, case.values) == 1
    swapped = case._replace(answers=answers[[0, 2, 1, 3]])
    assert ask(oracle_of(case), swapped, case.values) == 1


def test_answers_that_are_the_same():
    answers = np.repeat(np.eye(3)[:2], 2, axis=0)
    case = Case(np.eye(3), answers, np.array([1.0, 1.0, 0.9, 0.9]), 0, 1.0, 0.2)
    assert ask(oracle_of(case), case, case.values) == 0


def test_equal_values_at_epsilon_zero():
    """Both values are zero: any of the two answers, and no design is better than another."""
    case = Case(np.eye(3), np.eye(3), np.array([1.0, 1.0, 0.0]), 0, 1.0, 0.0)
    held = oracle_of(case)
    z = ask(held, case, case.values, 1e-3)
    assert z in {0, 1}
    assert held.weights[z] == pytest.approx([1 / 3] * 3)


@pytest.mark.parametrize("gap", [1e-2, 1e-3, 1e-6])
def test_the_design_is_as_good_as_asked(gap):
    case, values = tracked(ft.random(d=4, arms=10, seed=2), 60, 3)
    held = oracle_of(case)
    for now in values:
        if now.max() <= 0:
            continue
        z = ask(held, case, now, gap)
        weights = held.weights[z]
        assert weights.sum() == pytest.approx(1.0)
        best = solve(*case._replace(values=now, z=z)).lower
        assert certified_by(weights, case, now, z) >= best * (1 - 1.01 * gap)


@pytest.mark.parametrize("gap", [1e-2, 1e-4])
def test_the_design_of_any_answer_is_as_good_as_asked(gap):
    """Not only of the furthest: answers that are not ε-optimal are told."""
    case, values = tracked(ft.random(d=4, arms=10, seed=2, notion="additive"), 60, 3)
    held, task = oracle_of(case), task_of(case)
    told = set()
    for t, now in enumerate(values):
        z = int(np.argsort(now)[-1 - t % 3])
        best = solve(*case._replace(values=now, z=z))
        told.add(design_of(held, task, now, z, gap))
        assert design_of(held, task, now, z, gap) == (best.upper > 0)
        if best.upper > 0:
            reached = certified_by(held.weights[z], case, now, z)
            assert best.lower * (1 - 1.01 * gap) <= reached <= best.upper * (1 + 1e-9)
            assert held.upper[z] <= (1 + 1.1 * gap) * held.lower[z]
    assert told == {True, False}


def test_several_oracles_do_not_disturb_each_other():
    case, values = tracked(ft.hard(), 60, 4)
    task = task_of(case)
    several = oracles_for(task, 3)
    view = getattr(one_of, "py_func", one_of)
    apart = [oracle_of(case) for _ in range(3)]
    for t, now in enumerate(values):
        alone, stacked = apart[t % 3], view(several, t % 3)
        z = ask(stacked, case, now, 1e-3)
        assert z == ask(alone, case, now, 1e-3)
        assert (stacked.weights[z] == alone.weights[z]).all()
    copied = pickle.loads(pickle.dumps(several))
    assert copied.weights.shape == several.weights.shape
    assert not copied.known.any()


def test_answer_is_the_answer_of_the_design():
    case, values = tracked(ft.hard(notion="additive"), 40, 9)
    held = oracle_of(case)
    # It exists only merged into compiled callers; on its own it would be compiled in each process.
    answer = getattr(furthest_answer, "py_func", furthest_answer)
    answers = [answer(held, task_of(case), now) for now in values]
    fresh = oracle_of(case)
    assert answers == [ask(fresh, case, now, 1e-6) for now in values]


def test_large_problems_generate_columns():
    rng = np.random.default_rng(1)
    arms, answers = whitened(rng.standard_normal((180, 5)), rng.standard_normal((150, 5)))
    values = answers @ rng.standard_normal(5)
    case = Case(arms, answers, values, 0, 1.0, 0.3)
    held = oracle_of(case)
    for _ in range(3):
        z = ask(held, case, values)
        assert is_furthest(z, cold_brackets(case, values, 1e-8))
        values = values + 0.02 * answers @ rng.standard_normal(5)


def test_a_pickled_oracle_starts_anew():
    """The address of the solver is valid in one process only."""
    case, values = tracked(ft.hard(), 40, 5)
    held = oracle_of(case)
    before = [ask(held, case, now) for now in values]
    copied = pickle.loads(pickle.dumps(held))
    assert copied.weights.shape == held.weights.shape
    assert not copied.known.any()
    assert [ask(copied, case, now) for now in values] == before
