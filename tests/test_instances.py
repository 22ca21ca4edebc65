import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from furthest import errors, instances
from furthest.characteristic import complexity
from furthest.files import find_instance

NOTIONS = pytest.mark.parametrize("notion", ["additive", "multiplicative"])
bands = st.floats(0.01, 0.5)


@NOTIONS
@given(eps=bands, r=st.floats(0.05, 0.6))
def test_hard_instance(notion, eps, r):
    """Paper: hard instance."""
    # Values of the answers: ⟨e₁, cos φ e₁ + sin φ e₂⟩ = cos φ, φ = r·θ and (1 + r)·θ.
    instance = instances.hard(eps, notion, r=r)
    theta = np.arccos(1 - eps)
    values = instance.problem.answers @ instance.truth
    np.testing.assert_allclose(values, [1, 0, np.cos(r * theta), np.cos((1 + r) * theta)])
    np.testing.assert_allclose(np.linalg.norm(instance.problem.answers, axis=1), 1)
    assert instance.problem.near_best(instance.truth).tolist() == [True, False, True, False]


def test_hard_instance_as_in_the_tables():
    """Paper: hard instance."""
    instance = instances.hard()
    assert instance.problem.notion == "multiplicative"
    assert (instance.problem.eps, instance.problem.sigma) == (0.05, 1.0)
    assert instance.problem.answers is not instance.problem.arms
    np.testing.assert_array_equal(instance.problem.arms, instance.problem.answers)
    phi = np.array([0.1, 1.1]) * np.arccos(0.95)
    expected = np.vstack([np.eye(2), np.column_stack([np.cos(phi), np.sin(phi)])])
    np.testing.assert_allclose(instance.problem.answers, expected, atol=1e-15)
    only_basis = instances.hard(arms="basis").problem
    np.testing.assert_array_equal(only_basis.arms, np.eye(2))
    np.testing.assert_array_equal(only_basis.answers, instance.problem.answers)
    assert only_basis.arm_names == ("e1", "e2")
    assert only_basis.answer_names == ("e1", "e2", "inside", "outside")


def test_hard_instance_in_more_dimensions():
    instance = instances.hard(d=5)
    assert instance.problem.arms.shape == (7, 5)
    assert instance.problem.near_best(instance.truth).nonzero()[0].tolist() == [0, 5]


@NOTIONS
@given(eps=bands, d=st.integers(2, 12), seed=st.integers(0, 10**6), r=st.floats(0.05, 0.9))
def test_random_instance(notion, eps, d, seed, r):
    """Paper: random instances."""
    instance = instances.random(eps, notion, d=d, seed=seed, r=r)
    problem, mu = instance.problem, instance.truth
    assert problem.arms.shape == (20, d)
    assert problem.answers is problem.arms
    np.testing.assert_allclose(np.linalg.norm(problem.arms[:19], axis=1), 1)
    np.testing.assert_array_equal(mu, problem.arms[0])
    changed = problem.arms[19] != mu
    assert changed.nonzero()[0].tolist() == [mu.argmin()]
    values = problem.arms @ mu
    assert values[0] == pytest.approx(1)
    assert values[19] == pytest.approx(1 - r * eps)
    assert problem.near_best(mu)[[0, 19]].all()


def test_random_instances_differ_by_seed_only():
    one, again, other = (instances.random(seed=seed).problem.arms for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, again)
    assert np.abs(one - other).max() > 0.1


def test_random_vectors_are_uniform_on_the_sphere():
    # Every coordinate of a uniform unit vector has mean 0, variance 1/d, E[x⁴] = 3/(d(d + 2)).
    d, count = 4, 40_000
    vectors = instances.random(d=d, arms=count + 1).problem.arms[:count]
    second = vectors.T @ vectors / count
    spread = np.sqrt(3 / (d * (d + 2)) / count)
    assert np.abs(vectors.mean(axis=0)).max() < 5 / np.sqrt(d * count)
    assert np.abs(second - np.eye(d) / d).max() < 5 * spread


@NOTIONS
@given(eps=bands, seed=st.integers(0, 10**6))
def test_circle(notion, eps, seed):
    """Paper: circle instances."""
    instance = instances.circle(eps, notion, seed=seed)
    vectors = instance.problem.arms
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1)
    assert instance.truth.tolist() == [1.0, 0.0]
    assert instance.problem.near_best(instance.truth).tolist() == [True, True, False, False]


@given(d=st.integers(2, 8), omega=st.floats(0.01, 1.5), scale=st.floats(0.1, 10))
def test_soare(d, omega, scale):
    # Values: c for e₁, 0 for the others, c·cos ω for the rival.
    instance = instances.soare(d=d, omega=omega, scale=scale)
    arms = instance.problem.arms
    np.testing.assert_array_equal(arms[:d], np.eye(d))
    np.testing.assert_allclose(np.linalg.norm(arms, axis=1), 1)
    expected = [scale] + [0] * (d - 1) + [scale * np.cos(omega)]
    np.testing.assert_allclose(arms @ instance.truth, expected)
    assert instance.problem.arm_names[-1] == "rival"


@pytest.mark.parametrize("omega", [0.1, 0.3, 1.2])
def test_the_best_arm_of_soare_is_told_by_measuring_the_worst(omega):
    # T = 2 min over w of max over x of ‖e₁ − x‖²_{V_w⁻¹}/⟨μ, e₁ − x⟩², w = (1 − s, s, 0) on a grid.
    instance = instances.soare(0.0, "additive", omega=omega)
    s, gap = np.linspace(0, 1, 20_001)[1:-1], 1 - np.cos(omega)
    rival = 1 / (1 - s) + np.sin(omega) ** 2 / gap**2 / s
    times = 2 * np.maximum(rival, 1 / (1 - s) + 1 / s)
    price = complexity(instance.problem, instance.truth)
    assert times.min() == pytest.approx(price.T, rel=1e-4)
    assert price.weights == pytest.approx([1 - s[times.argmin()], s[times.argmin()], 0], abs=1e-2)


@pytest.mark.parametrize(
    "text",
    [
        "hard",
        "hard:d=3",
        "hard:r=0.3",
        "hard:arms=basis",
        "random",
        "random:d=3,seed=7",
        "random:d=3,seed=7,arms=9",
        "random:r=0.4",
        "circle:seed=3",
        "soare",
        "soare:d=3,omega=0.5235987755982988,scale=2.0",
    ],
)
def test_the_name_of_an_instance_leads_back_to_it(text):
    instance = find_instance(text)
    again = find_instance(instance.name)
    np.testing.assert_array_equal(instance.problem.arms, again.problem.arms)
    np.testing.assert_array_equal(instance.problem.answers, again.problem.answers)
    np.testing.assert_array_equal(instance.truth, again.truth)


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: instances.hard(eps=0.0), "0 < ε < 1"),
        (lambda: instances.hard(eps=1.0), "0 < ε < 1"),
        (lambda: instances.hard(eps=np.nan), "0 < ε < 1"),
        (lambda: instances.hard(d=1), "d ≥ 2"),
        (lambda: instances.hard(arms="bases"), "did you mean 'basis'"),
        (lambda: instances.random(d=0), "d ≥ 1"),
        (lambda: instances.random(arms=1), "arms ≥ 2"),
        (lambda: instances.random(eps=-1.0), "ε"),
        (lambda: instances.random(eps=np.nan), "ε|nan"),
        (lambda: instances.random(seed=-1), "seed"),
        (lambda: instances.circle(seed=-1), "seed"),
        (lambda: instances.circle(eps=3.0), "ε"),
        (lambda: instances.circle(eps=-0.5), "ε"),
        (lambda: instances.circle(eps=np.nan), "ε"),
        (lambda: instances.soare(d=1), "d ≥ 2"),
        (lambda: instances.soare(omega=0.0), "ω"),
        (lambda: instances.soare(omega=1.6), "ω"),
        (lambda: instances.soare(omega=np.nan), "ω"),
        (lambda: instances.soare(scale=0.0), "scale"),
        (lambda: instances.soare(scale=np.inf), "scale"),
        (lambda: instances.Instance("x", instances.hard().problem, None).truth, "--mu"),
    ],
)
def test_bad_parameters(make, words):
    with pytest.raises(errors.InputError, match=words):
        make()
