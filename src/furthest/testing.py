"""Conformance suite for sampling rules and stopping tests: yours as well as the package's own.

    from furthest.testing import INSTANCES, check_rule

    @pytest.mark.parametrize("instance", INSTANCES.values(), ids=INSTANCES)
    def test_my_rule(instance):
        check_rule(my_rule, instance)

Each check raises AssertionError with a sentence that says what was violated.
"""

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from furthest import engine
from furthest.errors import StrategyError
from furthest.instances import Instance, hard, random
from furthest.kernels.evidence import Clock
from furthest.preparation import prepare
from furthest.problem import Problem
from furthest.sampling.rule import Rule
from furthest.simulation import simulate
from furthest.stopping.nomination import Progress
from furthest.stopping.test import StoppingTest
from furthest.strategy import Strategy

ROUNDS_CHECKED = 120
# Another unit of measurement; a power of two, so that it changes no digit.
OTHER_UNIT = 1024.0


def _instance(name: str, arms: Any, mu: Any, answers: Any = None, **question: Any) -> Instance:
    return Instance(name, Problem(arms, answers, **question), np.asarray(mu, float))


def _instances() -> Iterator[Instance]:
    """Tiny problems of many shapes."""
    rng = np.random.default_rng(1)
    plane, space = rng.standard_normal((5, 2)), rng.standard_normal((6, 3))
    yield Instance("K = Z", hard().problem, hard().truth)
    yield Instance("K = Z, additive", hard(notion="additive").problem, hard().truth)
    yield Instance("K < Z", hard(arms="basis").problem, hard().truth)
    yield _instance("K > Z", space, [1, 0.5, 0], space[:3], eps=0.1)
    yield _instance("duplicate arms", [[1, 0], [1, 0], [0, 1], [0, 1]], [1, 0.2], eps=0.1)
    yield _instance("d = 1", [[1.0], [0.5], [-0.3]], [1], eps=0.1)
    yield _instance("d = K", np.eye(4), [1, 0.6, 0.3, 0], eps=0.1)
    yield _instance("outside the arms", np.eye(2), [1, 0.5], plane, eps=0.2)
    yield _instance("ε large", np.eye(3), [1, 0.9, 0.8], eps=5.0)
    yield _instance("tied answers", np.eye(3), [1, 1, 0], eps=0.3)
    yield _instance("wide scales", np.diag([1e-2, 1.0, 1e2]), [1, 1, 1e-2], eps=0.2)
    yield _instance("K ≫ d", rng.standard_normal((12, 2)), [1, 0.5], eps=0.2)
    path = Problem.spectral([(0, 1), (1, 2), (2, 3)], 0.5, eps=0.1)
    yield Instance("graph", path, np.array([0.0, 0.3, 0.7, 0.5]))
    yield Instance("random", random(d=3, arms=6, seed=2).problem, random(d=3, arms=6, seed=2).truth)


INSTANCES: dict[str, Instance] = {instance.name: instance for instance in _instances()}
"""Problems of many shapes by name, each with its truth."""

# Two far apart, so that every sound strategy stops soon.
EASY = _instance("easy", np.eye(2), [3, 0], eps=0.5)

# The second answer is worse than ε by 10⁻⁴: only luck can tell, and it may help with chance δ.
BARELY_WRONG = _instance("barely wrong", np.eye(2), [0.2001, 0], eps=0.2)


def check_rule(
    rule: str | Rule, instance: Instance, options: Mapping[str, Any] | None = None
) -> None:
    """All checks that hold on every instance.

    The rule chooses arms that there are, and has no weights that make no sense; it chooses the
    same ones again, compiled or not; and where σ is unknown, in another unit of measurement too.

    Args:
        rule: The sampling rule, or its word.
        instance: Where: one of `INSTANCES`, or another.
        options: Of the rule.

    Raises:
        AssertionError: With a sentence that says what was violated.
    """
    strategy = _strategy(rule, options)
    try:
        check_rounds(strategy, instance)
        check_reproducible(strategy, instance)
        check_unit(strategy, instance)
    except StrategyError as error:
        raise AssertionError(str(error)) from error


def check_rounds(strategy: Strategy, instance: Instance) -> None:
    """Round by round, in Python: legal arms, counts, weights, tracking, no NaN."""
    task = strategy.seen(instance.problem.task)
    truth = instance.problem.whiten(instance.truth)
    known = instance.problem.smoothness
    run = prepare(_interpreted(strategy), task, [1e-9], truth, known).start()
    source, rng = engine.simulated(task.arms @ truth), np.random.default_rng(0)
    arms, evidence = len(task.arms), run.evidence
    for t in range(1, ROUNDS_CHECKED + 1):
        engine.advance(task, run, source, rng, rng, t, True)
        assert evidence.counts.sum() == evidence.clock[Clock.ROUNDS] == t, "pulls must sum to t"
        if run.stopping.progress[Progress.REACHED]:
            return
        if evidence.clock[Clock.READY]:
            check_state(run.rule, arms, evidence.counts)


def check_state(state: Any, arms: int, counts: NDArray[np.int64]) -> None:
    """No NaN anywhere; what is called weights is a distribution; what is called W is tracked."""
    for name, array in _arrays(state):
        assert not np.isnan(array).any(), f"{name} has NaN entries"
    for part in (state, *_parts(state)):
        weights = getattr(part, "weights", None)
        if weights is not None and weights.ndim == 1:
            assert (weights >= 0).all(), f"negative weights: {weights}"
            assert math.isclose(weights.sum(), 1, abs_tol=1e-9), f"weights sum to {weights.sum()}"
        cumulative = getattr(part, "cumulative", None)
        if cumulative is not None and getattr(part, "tracking", 0) == 0:
            # C-tracking (Degenne, Shao & Koolen 2020, thm 6): −ln K ≤ N − W ≤ 1; W is one ahead.
            lead = counts - cumulative
            assert lead.max() <= 1 + 1e-6, f"some arm is {lead.max()} ahead of its target"
            assert lead.min() >= -math.log(arms) - 1 - 1e-6, f"some arm is {-lead.min()} behind"


def check_reproducible(strategy: Strategy, instance: Instance) -> None:
    """Same seed, same run; and, for a compiled rule, the same run step by step in Python."""
    first, again = (_trajectory(strategy, instance) for _ in range(2))
    assert (first == again).all(), "the same seed gave two different runs"
    if strategy.rule.compiled:
        stepwise = _interpreted(strategy)
        assert (first == _trajectory(stepwise, instance)).all(), (
            "compiled and interpreted runs make different decisions"
        )


def check_unit(strategy: Strategy, instance: Instance) -> None:
    """Where σ is unknown, noise, μ and ε in another unit lead to the very same arms and stop."""
    ours, others = (_decisions(strategy, instance, unit) for unit in (1.0, OTHER_UNIT))
    assert ours == others, (
        "σ is unknown, and the decisions depend on the unit of the rewards: where the rule uses "
        "values in units of σ, it must multiply them by evidence.precision[0]"
    )


def check_stops(
    rule: str | Rule,
    options: Mapping[str, Any] | None = None,
    stopping: str | StoppingTest = "glr",
) -> None:
    """On an easy problem every run stops, with the right answer.

    Args:
        rule: The sampling rule, or its word.
        options: Of the rule.
        stopping: The stopping test, or its word.

    Raises:
        AssertionError: With a sentence that says what was violated.
    """
    strategy = _strategy(rule, options, stopping)
    results = simulate(EASY.problem, EASY.truth, strategy, 0.05, 50, max_rounds=5000, quiet=True)
    assert results.stopped.all(), f"{(~results.stopped).sum()} of 50 runs did not stop"
    assert (~results.correct).sum() <= 10, "far more errors than δ = 5 % allows"


def check_errors(
    rule: str | Rule,
    options: Mapping[str, Any] | None = None,
    runs: int = 200,
    stopping: str | StoppingTest = "glr",
) -> None:
    """Where the wrong answer is wrong by a hair, errors stay below δ (up to four deviations).

    Args:
        rule: The sampling rule, or its word.
        options: Of the rule.
        runs: How many runs at δ = 0.1.
        stopping: The stopping test, or its word.

    Raises:
        AssertionError: With a sentence that says what was violated.
    """
    delta = 0.1
    strategy = _strategy(rule, options, stopping)
    question = (BARELY_WRONG.problem, BARELY_WRONG.truth)
    results = simulate(*question, strategy, delta, runs, max_rounds=2000, quiet=True)
    wrong = int((results.stopped & ~results.correct).sum())
    allowed = delta * runs + 4 * math.sqrt(delta * (1 - delta) * runs)
    assert wrong <= allowed, f"{wrong} errors in {runs} runs; δ = {delta} allows {allowed:.0f}"


def _strategy(
    rule: str | Rule, options: Mapping[str, Any] | None, stopping: str | StoppingTest = "glr"
) -> Strategy:
    """With the proven stopping rule that is quickest to compile, unless that is what is checked."""
    return Strategy(rule, stopping=stopping, options=options or {})


def _interpreted(strategy: Strategy) -> Strategy:
    """The same strategy with the Python function behind the rule's kernel."""
    rule = strategy.rule
    plain: Callable[..., int] = getattr(rule.choose, "py_func", rule.choose)
    return replace(strategy, sampling=replace(rule, choose=plain, compiled=False))


def _trajectory(strategy: Strategy, instance: Instance) -> NDArray[np.int64]:
    """Pulls per arm of a few runs cut off at rounds 40, 80 and 120."""
    job = (instance.problem, instance.truth, strategy, 1e-9, 2)
    return np.array(
        [
            simulate(*job, max_rounds=rounds, quiet=True).pulls
            for rounds in (ROUNDS_CHECKED // 3, 2 * ROUNDS_CHECKED // 3, ROUNDS_CHECKED)
        ]
    )


def _decisions(strategy: Strategy, instance: Instance, unit: float) -> list[int]:
    """The arms of one run with σ unknown, and −1 where it stops; 1 has this length in the unit."""
    asked = instance.problem
    eps = asked.eps * unit if asked.notion == "additive" else asked.eps
    radius = None if asked.radius is None else asked.radius * unit**2
    problem = replace(asked, eps=eps, sigma=None, bounds=None, radius=radius)
    task, truth = problem.task, problem.whiten(unit * instance.truth)
    prepared = prepare(strategy, task, [0.1], truth, problem.smoothness)
    run, source = prepared.start(), engine.simulated(task.arms @ truth, unit)
    rng, decided = np.random.default_rng(0), []
    for t in range(1, ROUNDS_CHECKED + 1):
        prepared.advance(task, run, source, rng, rng, t, True)
        decided.append(int(run.stopping.progress[Progress.NEXT]))
    return decided


def _parts(state: Any) -> Iterator[Any]:
    """All NamedTuples within one."""
    for value in state:
        if hasattr(value, "_fields"):
            yield value
            yield from _parts(value)


def _arrays(state: Any, path: str = "state") -> Iterator[tuple[str, NDArray[Any]]]:
    """All float arrays of a nested NamedTuple, by name."""
    for name, value in zip(state._fields, state, strict=True):
        if isinstance(value, np.ndarray) and value.dtype.kind == "f":
            yield f"{path}.{name}", value
        elif hasattr(value, "_fields"):
            yield from _arrays(value, f"{path}.{name}")
