"""Certified designs against a conic solver, closed forms and degenerate cases."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import furthest as ft
from furthest.kernels.design import Allocation, best_design, solve, workspace_for
from oracles.conic import by_clarabel, by_cvxpy
from oracles.designs import Case, epsilon_optimal, random_case, whitened

GAP = 1e-8
NOTIONS = ["additive", "multiplicative"]


def certificate(case: Case, design: Allocation) -> tuple[float, float]:
    """The bracket that these weights and multipliers prove, in a few lines of NumPy."""
    y = case.answers[case.z] - case.c * case.answers
    margins = case.values[case.z] - case.c * case.values + case.e
    keep = np.linalg.norm(y, axis=1) > 1e-12 * (1 + np.linalg.norm(case.answers[case.z]))
    keep[case.z] = False
    u = y[keep] / margins[keep, None]
    q = design.multipliers[keep]
    information = (case.arms.T * design.weights) @ case.arms
    solved = np.linalg.solve(information, u.T).T
    distances = 1.0 / np.sum(u * solved, axis=1)
    theta = solved * distances[:, None]
    loads = q @ (theta @ case.arms.T) ** 2
    return distances.min(), loads.max() / (q @ np.sum(theta * u, axis=1) ** 2)


def assert_certified(case: Case, design: Allocation, gap: float = GAP) -> None:
    assert design.iterations >= 0
    assert 0.0 <= design.lower <= design.upper
    assert design.weights.min() >= 0.0
    assert design.weights.sum() == pytest.approx(1.0, abs=1e-12)
    if math.isfinite(design.upper) and design.upper > 0:
        assert design.upper - design.lower <= gap * design.lower


def trivial(design: Allocation) -> bool:
    return design.upper == 0.0 or math.isinf(design.lower)


@pytest.mark.parametrize("seed", range(10))
def test_values_are_those_of_a_conic_solver(seed):
    """Paper: Equation 1."""
    rng = np.random.default_rng(seed)
    compared = 0
    while compared < 32:
        case = random_case(rng, d_max=6, size=14)
        design = solve(*case)
        assert_certified(case, design)
        if trivial(design):
            continue
        truth = by_clarabel(case).value
        assert design.lower * (1 - 1e-6) <= truth <= design.upper * (1 + 1e-6)
        compared += 1


@pytest.mark.parametrize("seed", range(4))
def test_a_second_formulation_agrees(seed):
    """Paper: Equation 1."""
    rng = np.random.default_rng(100 + seed)
    compared = 0
    while compared < 5:
        arms, answers = rng.standard_normal((7, 3)), rng.standard_normal((6, 3))
        values = answers @ rng.standard_normal(3)
        c, e = (1.0, 0.3) if seed % 2 else (0.9, 0.0)
        for z in epsilon_optimal(values, c, e):
            case = Case(arms, answers, values, z, c, e)
            design = solve(*case)
            assert by_cvxpy(case).value == pytest.approx(design.lower, rel=1e-6)
            compared += 1


@pytest.mark.parametrize("seed", range(6))
def test_the_certificate_holds_in_plain_numpy(seed):
    """Paper: Lemma C.6, Equation 8."""
    rng = np.random.default_rng(200 + seed)
    for _ in range(20):
        case = random_case(rng)
        arms, answers = whitened(case.arms, case.answers)
        case = case._replace(arms=arms, answers=answers)
        design = solve(*case)
        if trivial(design):
            continue
        lower, upper = certificate(case, design)
        assert lower == pytest.approx(design.lower, rel=1e-7)
        assert upper == pytest.approx(design.upper, rel=1e-7)


@pytest.mark.parametrize(
    ("arms", "notion", "furthest", "greedy", "weights"),
    [
        ("all", "multiplicative", 28.05509, 32.45197, (0.26700, 0.73300, 0, 0)),
        ("all", "additive", 22.72216, 26.60717, (0.16169, 0.83831, 0, 0)),
        ("basis", "multiplicative", 28.05509, 32.45197, (0.26700, 0.73300)),
        ("basis", "additive", 22.72216, 26.60717, (0.16169, 0.83831)),
    ],
)
def test_hard_instance(arms, notion, furthest, greedy, weights):
    instance = ft.hard(notion=notion, arms=arms)
    task = instance.problem.task
    values = instance.problem.answers @ instance.mu
    design = solve(task.arms, task.answers, values, 2, task.c, task.e)
    assert 2 / design.lower == pytest.approx(furthest, abs=1e-5)
    assert design.weights == pytest.approx(weights, abs=1e-5)
    design = solve(task.arms, task.answers, values, 0, task.c, task.e)
    assert 2 / design.lower == pytest.approx(greedy, abs=1e-5)


@pytest.mark.parametrize("gap", [0.01, 0.3, 5.0])
@pytest.mark.parametrize("eps", [0.0, 0.1])
def test_two_arms(gap, eps):
    """n²/(1/w + 1/(1−w)) is largest at w = 1/2: value (Δ+ε)²/4."""
    arms = np.eye(2)
    values = np.array([gap, 0.0])
    design = solve(arms, arms, values, 0, 1.0, eps)
    assert design.lower == pytest.approx((gap + eps) ** 2 / 4, rel=1e-8)
    assert design.weights == pytest.approx([0.5, 0.5], abs=1e-4)


def unstructured_time(gaps: np.ndarray) -> float:
    """T of a Gaussian bandit with these gaps to the best arm, from its optimality equations.

    Garivier & Kaufmann (2016), lemma 4 and theorem 5, for unit variance: with x_a = w_a/w_1,
    g_a(x) = Δ_a² x/(2(1+x)) is the same number y for all a, and Σ_a x_a(y)² = 1.
    """

    top = gaps.min() ** 2 / 2

    def ratios(share: float) -> np.ndarray:
        return 1.0 / (gaps**2 / (2 * share * top) - 1.0)

    share = brentq(lambda share: (ratios(share) ** 2).sum() - 1.0, 1e-12, 1 - 1e-12, xtol=1e-15)
    return (1.0 + ratios(share).sum()) / (share * top)


@pytest.mark.parametrize("eps", [0.0, 0.05])
@pytest.mark.parametrize("k", [2, 3, 6, 12])
def test_unstructured_bandit(k, eps):
    rng = np.random.default_rng(k)
    values = np.concatenate([[1.0], 1.0 - rng.uniform(0.05, 2.0, k - 1)])
    design = solve(np.eye(k), np.eye(k), values, 0, 1.0, eps)
    expected = unstructured_time(1.0 - values[1:] + eps)
    assert 2 / design.lower == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize("eps", [0.05, 0.2])
@pytest.mark.parametrize("d", [2, 3, 5, 9])
def test_limit_of_the_hard_lemma(d, eps):
    """2(1+√(d−1))²/(1+ε)² and 2(1+(1−ε)√(d−1))²: the paper's limits, corrected.

    Paper: Lemma C.4.
    """
    values = np.zeros(d)
    values[0] = 1.0
    additive = solve(np.eye(d), np.eye(d), values, 0, 1.0, eps)
    assert 2 / additive.lower == pytest.approx(2 * (1 + math.sqrt(d - 1)) ** 2 / (1 + eps) ** 2)
    multiplicative = solve(np.eye(d), np.eye(d), values, 0, 1.0 - eps, 0.0)
    assert 2 / multiplicative.lower == pytest.approx(2 * (1 + (1 - eps) * math.sqrt(d - 1)) ** 2)


@pytest.mark.parametrize(
    ("d", "notion", "expected"),
    [
        (3, "additive", 10.567),
        (3, "multiplicative", 10.977),
        (5, "additive", 16.321),
        (5, "multiplicative", 16.814),
    ],
)
def test_near_the_limit_of_the_hard_lemma(d, notion, expected):
    """A second answer at angle θ = 10⁻³ from e₁: figures of a conic solver at ε = 0.05.

    Paper: Lemma C.4.
    """
    near = np.zeros(d)
    near[:2] = math.cos(1e-3), math.sin(1e-3)
    answers = np.vstack([np.eye(d), near])
    values = answers[:, 0].copy()
    c, e = (1.0, 0.05) if notion == "additive" else (0.95, 0.0)
    best = max(solve(answers, answers, values, z, c, e).lower for z in (0, d))
    assert 2 / best == pytest.approx(expected, abs=6e-4)


def test_single_alternative():
    """min_w ‖y‖²_{V_w⁻¹} is the square of min 1ᵀ|b| over y = Σ b_a a (Elfving 1952)."""
    arms = np.eye(3)
    answers = np.array([[1.0, 0.5, 0.0], [0.0, 0.0, 0.25]])
    values = answers @ np.array([1.0, 0.0, 0.0])
    design = solve(arms, answers, values, 0, 1.0, 0.2)
    y = answers[0] - answers[1]
    assert design.lower == pytest.approx(1.2**2 / np.abs(y).sum() ** 2)
    assert design.weights == pytest.approx(np.abs(y) / np.abs(y).sum(), abs=1e-6)


def test_one_dimension():
    """The longest arm only; the closest alternative decides."""
    arms = np.array([[0.5], [2.0], [-1.0]])
    answers = np.array([[3.0], [1.0], [2.5]])
    values = answers[:, 0] * 1.5
    design = solve(arms, answers, values, 0, 1.0, 0.1)
    assert design.lower == pytest.approx(4.0 * min(((3.0 + 0.1) / 2) ** 2, (0.85 / 0.5) ** 2))
    assert design.weights == pytest.approx([0, 1, 0], abs=1e-6)


def test_not_epsilon_optimal_has_value_zero():
    design = solve(np.eye(2), np.eye(2), np.array([1.0, 0.0]), 1, 1.0, 0.1)
    assert (design.lower, design.upper) == (0.0, 0.0)
    assert design.weights == pytest.approx([0.5, 0.5])


def test_zero_margin_has_value_zero():
    design = solve(np.eye(2), np.eye(2), np.array([1.0, 1.0]), 0, 1.0, 0.0)
    assert (design.lower, design.upper) == (0.0, 0.0)


def test_nothing_to_confuse_has_infinite_value():
    answers = np.ones((3, 2))
    design = solve(np.eye(2), answers, np.ones(3), 1, 1.0, 0.1)
    assert design.lower == math.inf
    one = solve(np.eye(2), np.eye(2)[:1], np.ones(1), 0, 1.0, 0.1)
    assert one.lower == math.inf


def test_answer_that_is_a_shrunk_copy_cannot_be_confused():
    """z = (1−ε)x is always ε-optimal relative to x: y_x = 0."""
    answers = np.array([[0.9, 0.0], [1.0, 0.0], [0.0, 0.5]])
    design = solve(np.eye(2), answers, answers @ np.array([1.0, 0.0]), 0, 0.9, 0.0)
    alone = solve(np.eye(2), answers[[0, 2]], np.array([0.9, 0.0]), 0, 0.9, 0.0)
    assert design.lower == pytest.approx(alone.lower)


def test_duplicates_change_nothing():
    rng = np.random.default_rng(5)
    arms, answers = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    values = answers @ rng.standard_normal(3)
    z = int(values.argmax())
    once = solve(arms, answers, values, z, 1.0, 0.1)
    twice = solve(
        np.repeat(arms, 3, axis=0),
        np.repeat(answers, 2, axis=0),
        np.repeat(values, 2),
        2 * z,
        1.0,
        0.1,
    )
    assert_certified(Case(arms, answers, values, z, 1.0, 0.1), twice)
    assert twice.lower == pytest.approx(once.lower, rel=2e-8)


def test_singular_information_at_the_optimum():
    """Only e₁ matters for these answers: the second coordinate deserves no measurement."""
    arms = np.array([[1.0, 0.0], [0.0, 1.0], [0.2, 0.9]])
    answers = np.array([[1.0, 0.0], [0.0, 0.0], [-1.0, 0.0]])
    case = Case(arms, answers, answers[:, 0].copy(), 0, 1.0, 0.1)
    design = solve(*case)
    assert_certified(case, design)
    assert design.lower == pytest.approx(1.05**2)
    assert design.weights[0] == pytest.approx(1.0, abs=1e-6)


@pytest.mark.parametrize("margin", [1e-3, 1e-6, 1e-9])
def test_tiny_margins(margin):
    values = np.array([1.0, 1.0 - margin, 0.3])
    case = Case(np.eye(3), np.eye(3), values, 0, 1.0, 0.0)
    design = solve(*case)
    assert_certified(case, design)
    assert 2 / design.lower == pytest.approx(unstructured_time(1.0 - values[1:]), rel=1e-6)


@pytest.mark.parametrize("scale", [1e-6, 1e-2, 1e2, 1e6])
def test_scales(scale):
    """Values in other units, arms in other units: the value follows."""
    rng = np.random.default_rng(9)
    arms, answers = rng.standard_normal((8, 3)), rng.standard_normal((6, 3))
    values = answers @ rng.standard_normal(3)
    z = int(values.argmax())
    base = solve(arms, answers, values, z, 0.9, 0.0)
    assert solve(scale * arms, answers, values, z, 0.9, 0.0).lower == pytest.approx(
        base.lower * scale**2, rel=2e-8
    )
    assert solve(arms, answers, scale * values, z, 0.9, 0.0).lower == pytest.approx(
        base.lower * scale**2, rel=2e-8
    )


@pytest.mark.parametrize("gap", [1e-2, 1e-5, 1e-9])
def test_the_gap_asked_for_is_reached(gap):
    rng = np.random.default_rng(11)
    for _ in range(20):
        case = random_case(rng)
        design = solve(*case, gap)
        assert_certified(case, design, gap)


@pytest.mark.parametrize(
    ("k", "answers", "d"), [(200, 200, 8), (60, 3000, 5), (600, 12, 6), (400, 300, 12)]
)
def test_column_generation(k, answers, d):
    """Large problems, certified over all arms and all alternatives."""
    rng = np.random.default_rng(k)
    arms = rng.standard_normal((k, d))
    points = rng.standard_normal((answers, d))
    values = points @ rng.standard_normal(d)
    case = Case(*whitened(arms, points), values, int(values.argmax()), 1.0, 0.05)
    assert workspace_for(k, answers, d).arms.size > 0
    design = solve(*case)
    assert_certified(case, design)
    lower, upper = certificate(case, design)
    assert lower == pytest.approx(design.lower, rel=1e-9)
    assert upper == pytest.approx(design.upper, rel=1e-9)


def test_column_generation_agrees_with_the_whole_problem(monkeypatch):
    rng = np.random.default_rng(3)
    arms, answers = whitened(rng.standard_normal((60, 5)), rng.standard_normal((60, 5)))
    values = answers @ rng.standard_normal(5)
    case = Case(arms, answers, values, int(values.argmax()), 0.95, 0.0)
    whole = solve(*case)
    monkeypatch.setattr("furthest.kernels.design.settings.DENSE", 0.0)
    assert workspace_for(60, 60, 5).arms.size > 0
    parts = solve(*case)
    assert_certified(case, parts)
    assert parts.lower <= whole.upper
    assert whole.lower <= parts.upper


def test_fuzz():
    rng = np.random.default_rng(2024)
    for _ in range(500):
        case = random_case(rng)
        design = solve(*case)
        assert_certified(case, design)


def test_a_workspace_serves_many_problems():
    rng = np.random.default_rng(1)
    work = workspace_for(9, 8, 4)
    weights, multipliers = np.zeros(9), np.zeros(8)
    for _ in range(5):
        arms, answers = rng.standard_normal((9, 4)), rng.standard_normal((8, 4))
        values = answers @ rng.standard_normal(4)
        case = Case(arms, answers, values, int(values.argmax()), 1.0, 0.1)
        lower, upper, _ = best_design(*case, GAP, weights, multipliers, work)
        fresh = solve(*case)
        assert (lower, upper) == (fresh.lower, fresh.upper)
        assert (weights == fresh.weights).all()


INTERPRETED = """
import numpy as np
import furthest as ft
from furthest.kernels.design import solve
from furthest.kernels.oracle import furthest_design, oracle_for
np.seterr(all="ignore")
rng = np.random.default_rng(0)
for eps, notion in ((0.1, "additive"), (0.1, "multiplicative"), (0.5, "additive")):
    arms, answers = rng.standard_normal((6, 3)), rng.standard_normal((5, 3))
    task = ft.Problem(arms, answers, eps, notion).task
    values = answers @ rng.standard_normal(3)
    values *= np.sign(values.max())
    found = solve(task.arms, task.answers, values, int(values.argmax()), task.c, task.e)
    print(repr(float(found.lower)), repr(float(found.upper)), found.iterations)
    held = oracle_for(task)
    for shift in range(4):
        z = furthest_design(held, task, values + 0.02 * shift * answers[:, 0], 1e-3)
        print(int(z), repr(float(held.lower[z])), 0)
"""


def test_compiled_and_interpreted_agree(python):
    compiled = python("-c", INTERPRETED)
    interpreted = python("-c", INTERPRETED, NUMBA_DISABLE_JIT="1")
    assert compiled.returncode == interpreted.returncode == 0, interpreted.stderr
    for one, other in zip(compiled.stdout.split(), interpreted.stdout.split(), strict=True):
        assert float(one) == pytest.approx(float(other), rel=1e-9)
