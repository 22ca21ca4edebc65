import json
import sys

import numpy as np
import pytest

import furthest as ft
from furthest import planning
from furthest.cli import main
from furthest.errors import ParameterError


def test_draws_are_around_the_guess_and_have_a_positive_value():
    additive = ft.Problem(np.eye(2))
    drawn = planning.draw_parameters(additive, [5, -1], 0.5, 4000)
    assert drawn.mean(axis=0) == pytest.approx([5, -1], abs=0.05)
    assert drawn.std(axis=0) == pytest.approx([0.5, 0.5], abs=0.05)
    multiplicative = ft.Problem(np.eye(2), notion="multiplicative")
    drawn = planning.draw_parameters(multiplicative, None, 1.0, 500)
    assert (drawn.max(axis=1) > 0).all()
    assert (drawn.min(axis=1) < 0).any()
    with pytest.raises(ParameterError, match="positive value"):
        planning.draw_parameters(multiplicative, [-50, -50], 1.0, 1)
    for spread in (0.0, -1.0, np.inf, np.nan):
        with pytest.raises(ParameterError, match="spread"):
            planning.draw_parameters(additive, None, spread, 1)


def test_a_plan_for_unknown_sigma_counts_in_the_noise_to_expect():
    drawn = np.array([[2.0, 0.0, 0.0], [1.0, 0.5, 0.0]])
    strategy = ft.Strategy("uniform", threshold="mixture")
    plans = []
    for scale in (1.0, 0.03):
        problem = ft.Problem(np.eye(3), eps=0.5 * scale, sigma=None)
        with pytest.raises(ParameterError, match="--noise"):
            planning.plan(problem, scale * drawn, strategy, [0.1], max_rounds=10_000)
        plans.append(
            planning.plan(problem, scale * drawn, strategy, [0.1], max_rounds=10_000, noise=scale)
        )
    (one, prices), (other, same) = plans
    assert prices == pytest.approx(same, rel=1e-6)
    assert (one.stopping_times == other.stopping_times).all()
    assert other.noise == 0.03


def test_known_sigma_may_be_planned_with_other_noise():
    """A stated σ that is too large costs measurements; the limit is that of the stated one."""
    problem, drawn = ft.Problem(np.eye(2), eps=0.1), np.array([[1.0, 0.5]] * 20)
    strategy = ft.Strategy("uniform", threshold="mixture")
    (told, prices), (calm, same) = (
        planning.plan(problem, drawn, strategy, [0.1], max_rounds=10_000, noise=noise)
        for noise in (None, 0.1)
    )
    assert (prices == same).all()
    assert np.ptp(calm.stopping_times) < np.ptp(told.stopping_times)


def test_a_plan_is_one_study_per_draw():
    problem = ft.Problem(np.eye(3), eps=0.5)
    strategy = ft.Strategy(threshold="mixture")
    drawn = planning.draw_parameters(problem, [2, 0, 0], 0.3, 12, seed=4)
    seen = []
    results, prices = planning.plan(
        problem, drawn, strategy, [0.1, 0.01], 4, max_rounds=10_000, progress=seen.append
    )
    assert results.stopping_times.shape == (2, 12)
    assert results.pulls.shape == (2, 12, 3)
    assert sum(seen) == results.runs == 12
    assert prices[7] == pytest.approx(ft.complexity(problem, drawn[7]).T, rel=2e-3)
    alone = ft.simulate(problem, drawn[7], strategy, [0.1, 0.01], 1, 4 + 7)
    assert (results.stopping_times[:, 7] == alone.stopping_times[:, 0]).all()


def test_only_what_is_within_the_bound_is_drawn():
    problem = ft.Problem.spectral([(0, 1), (1, 2)], 0.5)
    drawn = planning.draw_parameters(problem, None, 1.0, 50)
    assert all(problem.allows(mu) for mu in drawn)
    with pytest.raises(ParameterError, match="within the problem's bound"):
        planning.draw_parameters(problem, [0, 50, 0], 0.1, 1)


def test_a_plan_with_a_budget(monkeypatch, capfd):
    def planned(*words):
        monkeypatch.setattr(sys, "argv", ["furthest", "plan", "hard", *words])
        with pytest.raises(SystemExit) as end:
            main()
        assert not end.value.code
        return capfd.readouterr().out

    words = ("--budget", "40", "--budget", "400", "--delta", "0.1", "--runs", "20")
    few, many = json.loads(planned(*words, "--json"))["budgets"]
    assert (few["budget"], many["budget"]) == (40, 400)
    assert few["stopped"] < many["stopped"]
    assert many["low"] == 0.05
    table = planned(*words)
    assert "proven ε" in table
    assert "answer within the budget" in table
    drawn = json.loads(planned(*words, "--spread", "0.1", "--json"))
    assert drawn["prior"] == 0.1
    assert drawn["budgets"][1]["runs"] == 20
