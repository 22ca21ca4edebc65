"""Certify the best of the top trials of an Optuna study, where the objective is noisy.

The trial that looks best after a search is, for the most part, the one that was lucky. This
measures the top k again, and stops when one of them is proven to be within ε of the best of the k.

>>> import optuna
>>> from furthest.adapters.optuna import certify
>>> search = optuna.create_study(direction="maximize")
>>> search.optimize(objective, n_trials=100)
>>> chosen = certify(search, objective, k=5, eps=0.02, bounds=(0, 1))
>>> chosen.trial.params, chosen.certificate.guarantee

The values that the search has seen are not used at all: the trials were selected by them, and a
guarantee that counted them would be void.

The guarantee is about these k trials, not about the search space. It holds if

- the objective draws fresh noise at every call, independent of all other calls: no fixed seed, no
  cache. The trial that it gets has the old parameters but a number of its own, so `seed =
  trial.number` is fresh as well;
- the noise is as stated: within `bounds`, or σ-sub-Gaussian with the given `sigma`, or, with
  `sigma=None`, Gaussian with one σ that all trials share;
- whether the objective raises an error does not depend on what its value would have been.
"""

import secrets
from collections.abc import Callable
from typing import Any, NamedTuple

import optuna
from optuna.trial import FixedTrial, FrozenTrial, TrialState

from furthest.adapters.loop import certified
from furthest.errors import InputError
from furthest.problem import Problem
from furthest.study.records import Certificate
from furthest.study.study import Study

# Characters of a trial's name, and numbers for new ones.
LONGEST = 60
NUMBERS = 2**31


class Chosen(NamedTuple):
    """What `certify` has found.

    Attributes:
        trial: The chosen trial of the Optuna study.
        certificate: The proof. Where the study minimizes it speaks of the negated values: there,
            too, the largest is the best.
        means: The mean of the new measurements of each trial, by its number, in the direction of
            the Optuna study.
        study: The study that measured them.
    """

    trial: FrozenTrial
    certificate: Certificate
    means: dict[int, float]
    study: Study


def certify(
    search: optuna.Study,
    objective: Callable[[Any], float],
    k: int = 5,
    *,
    eps: float,
    delta: float = 0.05,
    name: str | None = None,
    storage: str | None = None,
    budget: int | None = None,
    **noise: Any,
) -> Chosen:
    """Measure the best k completed trials again until one is proven to be within ε of their best.

    Interrupted, it goes on where it was when it is called again with the same arguments.

    Args:
        search: The Optuna study, with one objective; it is not changed.
        objective: Its objective. Called with the parameters of a trial, as a `FixedTrial`.
        k: How many trials; of several with the same parameters only the best is taken.
        eps: How much worse than the best of them the answer may be.
        delta: The allowed probability of a wrong answer.
        name: Of the furthest study; by default that of the Optuna study and k.
        storage: Where that is kept, as for `furthest.Study.create`.
        budget: How many measurements may be made at most.
        noise: `sigma` (None: unknown) or `bounds` of the objective's values, as for
            `furthest.Problem`.

    Raises:
        InconclusiveError: The budget is spent; the study's `conclusion()` says what is proven.
        ChangeError: A study of this name measures other trials, as the search has gone on, or asks
            another question: give another name.
        InputError: Fewer than two trials are completed, or the noise is not stated.
    """
    if not noise:
        raise InputError("say what the noise is: bounds=(a, b), sigma=σ, or sigma=None if unknown")
    sign = -1 if search.direction == optuna.study.StudyDirection.MINIMIZE else 1
    if noise.get("bounds") is not None and sign < 0:
        low, high = noise["bounds"]
        noise["bounds"] = (-high, -low)
    trials = _top(search, k, sign)
    problem = Problem.options([_name(trial) for trial in trials], eps=eps, **noise)
    study = Study.create(
        name or f"{search.study_name}, top {k}",
        problem,
        delta,
        storage,
        budget=budget,
        exist_ok=True,
    )
    proof = certified(study, lambda asked: sign * objective(_again(trials[asked.arm])))
    means = [sign * verdict.estimate for verdict in proof.verdicts]
    numbers = [trial.number for trial in trials]
    return Chosen(trials[proof.answer], proof, dict(zip(numbers, means, strict=True)), study)


def _top(search: optuna.Study, k: int, sign: int) -> list[FrozenTrial]:
    """The best k completed trials, the best first; each set of parameters once."""
    done = search.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    best: dict[str, FrozenTrial] = {}
    for trial in sorted(done, key=lambda trial: (-sign * trial.value, trial.number)):
        best.setdefault(repr(sorted(trial.params.items())), trial)
    trials = list(best.values())[:k]
    if len(trials) < 2:
        raise InputError(
            f"there is nothing to choose from: {len(best)} different completed trials, k = {k}; "
            "two or more are needed"
        )
    return trials


def _name(trial: FrozenTrial) -> str:
    """What a person recognises: `#17: depth=3, rate=0.0123`."""
    params = (
        f"{name}={value:.3g}" if isinstance(value, float) else f"{name}={value}"
        for name, value in trial.params.items()
    )
    text = f"#{trial.number}: {', '.join(params)}"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"


def _again(trial: FrozenTrial) -> FixedTrial:
    """The same parameters, under a number that no other call has had."""
    return FixedTrial(trial.params, number=secrets.randbelow(NUMBERS))
