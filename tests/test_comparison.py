"""The questions of benchmarks/comparison.py are as its page states them, and our part runs."""

import importlib.util
import math
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import multivariate_normal, norm

SCRIPT = Path(__file__).parent.parent / "benchmarks" / "comparison.py"


@pytest.fixture(scope="module")
def comparison():
    spec = importlib.util.spec_from_file_location("comparison", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# As the page has them: how many options, how many of them good enough, and the best.
STATED = {"six": (6, 2, 1.0), "ties": (10, 5, 1.0), "features": (18, 5, 1.0)}


@pytest.mark.parametrize("name", STATED)
def test_questions(comparison, name):
    question = comparison.QUESTIONS[name]
    options, good, best = STATED[name]
    assert len(question.values) == len(question.problem.arm_names) == options
    assert sum(best - value <= question.eps + 1e-12 for value in question.values) == good
    assert question.good.sum() == good
    assert question.values.max() == pytest.approx(best)
    np.testing.assert_allclose(question.problem.arms @ question.mu, question.values)
    # Each option has the same name here and in the package.
    for own, levels in zip(question.problem.arm_names, question.options, strict=True):
        assert all(level in own for level in levels.values())


def test_fixed_number_keeps_its_promise_and_no_more(comparison):
    """Of plain options it is wrong most often where all others are worse by a hair more than ε."""
    question = comparison.QUESTIONS["six"]
    size, options = comparison.horizon(question), len(question.values)
    quantile = norm.isf(comparison.DELTA / (options - 1))
    each = math.ceil(2 * (comparison.SIGMA * quantile / question.eps) ** 2)
    assert size == options * each
    # The best one's lead over each of the others, exactly; two leads have correlation one half.
    spread = comparison.SIGMA * math.sqrt(2 / each)
    leads = multivariate_normal(cov=0.5 + 0.5 * np.eye(options - 1), seed=1)
    wrong = 1 - leads.cdf(np.full(options - 1, question.eps / spread))
    assert 0.7 * comparison.DELTA < wrong < comparison.DELTA


def test_what_needs_the_package_alone(comparison):
    question = comparison.QUESTIONS["six"]
    ours = comparison.furthest(question, 100)["furthest"]
    assert np.mean(ours.stops) == pytest.approx(question.about, rel=0.15)
    assert ours.errors <= 5
    assert not ours.unstopped
    assert ours.wrong[question.looks[0]] > ours.wrong[question.looks[-1]]
    even = comparison.fixed(question, 50)["fixed number"]
    assert even.wrong[question.looks[0]] > even.errors
    pairs = comparison.lucb(question, 5)["LUCB"]
    assert not pairs.errors
    assert min(pairs.stops) > question.about / 2
