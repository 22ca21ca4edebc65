"""Machine code beforehand: for images, CI jobs and wheels, whose users should not wait for it.

What is compiled follows from the types of the states: a loop for each sampling rule with each
stopping test, another one where the candidate is the exact furthest answer, and none of its own for
unknown σ, another notion, schedule or threshold of the same test.
"""

import tempfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from furthest import sampling, stopping
from furthest.characteristic import complexity, solver_words
from furthest.compiling import Counter, announced
from furthest.errors import pick
from furthest.problem import Problem
from furthest.simulation import simulate
from furthest.stopping.test import StoppingTest
from furthest.strategy import Strategy
from furthest.study.certificate import verify
from furthest.study.study import Study

EXACT = "furthest"
INSTANTANEOUS = "instantaneous-furthest"

# Measurements of a study until it has been through everything; those that stop do so sooner.
ROUNDS = 30

# Three options far apart; on a path, so that a bound on their differences can be stated.
EDGES, MU = [(0, 1), (1, 2)], np.array([0.0, 1.0, 2.0])
QUESTION: Any = {"eps": 0.5, "sigma": 0.5}

# Their means are shares.
YES_AND_NO: Any = "bernoulli"
SHARES = MU / 2


@dataclass(frozen=True)
class Piece:
    """What is compiled together: for a strategy or, without one, the exact solver.

    Attributes:
        what: In words.
        problem: A question for which it is needed.
        strategy: What is simulated, and studied live.
    """

    what: str
    problem: Problem
    strategy: Strategy | None = None


@dataclass(frozen=True)
class Compiled:
    """A piece that is there now.

    Attributes:
        what: In words.
        kernels: How many had to be compiled; none if all were there already.
        seconds: How long that took.
    """

    what: str
    kernels: int
    seconds: float


def default() -> list[Piece]:
    """Simulations and studies of the default strategy, and `complexity`."""
    pieces = _pieces([sampling.DEFAULT], [stopping.DEFAULT])
    return [*pieces, *_yes_and_no(), *_solvers([_plain()])]


def of_rules(names: Iterable[str]) -> list[Piece]:
    """These sampling rules with the tests that go with all of them."""
    chosen = list(names)
    for name in chosen:
        pick(name, sampling.MODULES, "sampling rule")
    shares = _yes_and_no() if sampling.DEFAULT in chosen else ()
    return [*_pieces(chosen, [stopping.DEFAULT, "glr"]), *shares]


def everything() -> list[Piece]:
    """Every sampling rule with every test that goes with it, both kinds of candidate, `complexity`.

    What is common to many comes first, so that processes do not compile it side by side.
    """
    exact = _pieces(sampling.MODULES, stopping.MODULES, EXACT)
    pieces = [*default(), *_pieces(sampling.MODULES, stopping.MODULES), *exact]
    return list({piece.what: piece for piece in [*pieces, *_solvers([_bounded()])]}.values())


def compiled(piece: Piece) -> Compiled:
    """Compile what is not there yet, by making use of all of it once."""
    counter = Counter()
    with announced(piece.what, said=False), counter.listening():
        if piece.strategy is None:
            complexity(piece.problem, MU)
        else:
            informed = replace(piece.strategy, options={})  # of μ, where a rule asks for it
            mu = _truth(piece.problem)
            simulate(piece.problem, mu, informed, 0.1, runs=1, max_rounds=ROUNDS, quiet=True)
            for problem in _studied(piece.problem, piece.strategy):
                _study(problem, piece.strategy)
    return Compiled(piece.what, counter.kernels, counter.seconds)


def _pieces(
    rules: Iterable[str], tests: Iterable[str], candidate: Any = INSTANTANEOUS
) -> list[Piece]:
    return [piece for rule in rules for test in tests for piece in _of_pair(rule, test, candidate)]


def _of_pair(rule: str, test: str, candidate: Any) -> Iterator[Piece]:
    """A piece for each kernel that judges; thresholds share one."""
    judges: dict[Callable[..., Any], list[str | None]] = {}
    for threshold, version in stopping.versions(test).items():
        if version.sampling in (None, rule):
            judges.setdefault(version.judge, []).append(threshold)
    # The only rule without a default for all of its options, where the truth is not known.
    options = {"weights": [1.0, 1.0, 1.0]} if rule == "fixed" else {}
    for thresholds in judges.values():
        first: Any = thresholds[0]
        strategy = Strategy(rule, candidate, test, first, options=options)
        words = [rule, "with", test, ", ".join(filter(None, thresholds))]
        words += ["for the exact candidate"] if candidate == EXACT else []
        yield Piece(" ".join(filter(None, words)), _question_for(strategy.test), strategy)


def _question_for(test: StoppingTest) -> Problem:
    if test.bounded_only:
        return Problem.options(["A", "B", "C"], eps=0.5, bounds=(-9.0, 9.0))
    return _bounded() if test.needs_bound else _plain()


def _yes_and_no() -> Iterator[Piece]:
    """The default strategy where outcomes are yes or no: of plain options, and with features."""
    what = f"{sampling.DEFAULT} with {stopping.DEFAULT} for yes and no"
    options = Problem.options(["A", "B", "C"], eps=0.5, noise=YES_AND_NO)
    yield Piece(what, options, Strategy())
    arms = [*np.eye(3), np.array([0.0, 0.5, 0.5])]
    yield Piece(f"{what}, with features", Problem(arms, eps=0.5, noise=YES_AND_NO), Strategy())


def _solvers(problems: Iterable[Problem]) -> list[Piece]:
    return [Piece(solver_words(problem), problem) for problem in problems]


def _plain() -> Problem:
    return Problem.options(["A", "B", "C"], **QUESTION)


def _bounded() -> Problem:
    return Problem.spectral(EDGES, 4.0, **QUESTION)


def _studied(problem: Problem, strategy: Strategy) -> Iterator[Problem]:
    yield problem
    if strategy.test.unknown_sigma is not None and problem.bounds is None:
        yield replace(problem, sigma=None)


def _study(problem: Problem, strategy: Strategy) -> None:
    """All that a live study does, from its beginning to its certificate, or the budget's end."""
    with tempfile.TemporaryDirectory() as folder:
        place = f"sqlite:///{Path(folder, 'beforehand.db')}"
        for budget in (None, len(problem.initial) + 1):
            study = Study.create(
                f"with {budget}", problem, 0.1, place, strategy=strategy, budget=budget
            )
            try:
                _measure(study)
                study.foresight(2)
                verify(study.name, study.events())
            finally:
                study.close()


def _measure(study: Study) -> None:
    rng, problem = np.random.default_rng(0), study.problem
    means = problem.arms @ _truth(problem)
    for _ in range(ROUNDS):
        for trial in study.ask(2):
            mean = float(means[trial.arm])
            value = mean + 0.5 * rng.standard_normal()
            study.tell(trial, float(mean > 0.5) if problem.noise == YES_AND_NO else value)
        if study.status().state != "running":
            break


def _truth(problem: Problem) -> np.ndarray[Any, np.dtype[np.float64]]:
    return SHARES if problem.noise == YES_AND_NO else MU
