"""Compare models, solvers or prompts in Inspect, and stop as soon as the answer is certified.

>>> from inspect_ai import Task
>>> from furthest.adapters.inspect_ai import compare
>>> tasks = {
...     "short prompt": Task(dataset, solver=short, scorer=match(), model="openai/gpt-5-mini"),
...     "long prompt": Task(dataset, solver=long, scorer=match(), model="openai/gpt-5-mini"),
... }
>>> found = compare(tasks, eps=0.03, most=2000, name="prompts")
>>> found.name, found.certificate.guarantee

Each candidate is a task of its own with a log of its own, and all of them run in one `eval`.
Inspect's hook for early stopping (`EarlyStopping`) lets a sample run when a furthest study asks for
its candidate, lets it wait until then, and skips all that is left when the study has stopped. So
candidates that are clearly worse get few samples.

What is guaranteed: with probability 1 − δ the chosen candidate's *mean score over its dataset* is
within ε of the best candidate's. For that each candidate gets draws of its own from its dataset:
random, fixed before anything runs, with replacement, independent of the others' draws. (Samples
that candidates share in one order look thrifty, but tie the scores together: one sample's score
then says something about the next candidate's, and the proof does not cover that. Nor does it cover
draws without replacement.) A sample that is drawn twice is generated twice; for a model that always
says the same, Inspect's cache (`generate(cache=True)`) makes the second time free.

It holds if

- scores are within [0, 1]: correct, incorrect, partial, or numbers;
- nothing ties the scores of different samples together: no memory from one sample to the next, no
  grader that compares candidates;
- whether a sample ends with an error, or without a score, does not depend on what its score would
  have been.

It says nothing about questions that are not in the dataset, unless that is itself a random sample
of them, and ε is large beside what the dataset's size leaves open.
"""

import copy
from collections.abc import Mapping
from contextlib import closing
from typing import Any, Literal, NamedTuple

import numpy as np
from inspect_ai import Task, eval, task_with  # noqa: A004
from inspect_ai.dataset import MemoryDataset
from inspect_ai.log import EvalLog
from inspect_ai.model import Model
from inspect_ai.scorer import CORRECT, INCORRECT, NOANSWER, PARTIAL
from inspect_ai.util import EarlyStop

from furthest.adapters.dealing import Dealer, when_done
from furthest.errors import InputError, pick
from furthest.problem import Problem
from furthest.study.records import Certificate, Trial
from furthest.study.study import Study

WORTH = {CORRECT: 1.0, INCORRECT: 0.0, PARTIAL: 0.5, NOANSWER: 0.0}


class Found(NamedTuple):
    """What `compare` has found.

    Attributes:
        name: The name of the chosen candidate; None if there is no answer yet, because draws were
            used up or a task ended with an error. Called again, it goes on.
        certificate: The proof, if there is one.
        logs: Inspect's log of each candidate, by name. A score that cannot count, as it is no
            number, not within [0, 1], or one of several, ends its task with an error.
        study: The study that asked for the samples.
    """

    name: str | None
    certificate: Certificate | None
    logs: dict[str, EvalLog]
    study: Study


def compare(
    tasks: Mapping[str, Task],
    *,
    eps: float,
    delta: float = 0.05,
    most: int = 1000,
    name: str = "candidates",
    storage: str | None = None,
    scorer: str | None = None,
    seed: int | None = None,
    noise: Literal["bernoulli"] | None = None,
    max_samples: int = 10,
    **options: Any,
) -> Found:
    """Run samples of the candidates until one of them is proven to be within ε of the best.

    Called again with the same name it goes on where it was, with new draws.

    Args:
        tasks: The candidates, by name, each with its model or solver. They are not changed.
        eps: How much worse than the best mean score the answer's may be.
        delta: The allowed probability of a wrong answer.
        most: How many samples of one candidate may be run at most in this call.
        name: Of the study; one for each question and dataset.
        storage: Where the study is kept, as for `furthest.Study.create`.
        scorer: The scorer that counts, if tasks have several.
        seed: Of the draws, for those who want to see the same ones again in another study. One
            that goes on gets others.
        noise: `bernoulli` if all scores are 0 or 1, which saves some samples.
        max_samples: How many samples of one candidate run at a time. What runs when the study
            stops is finished, and was not needed.
        options: What else `inspect_ai.eval` takes, such as `log_dir`.

    Raises:
        InputError: Several models are given for all tasks.
        ChangeError: The study of this name asks another question.
    """
    if not isinstance(options.get("model"), str | Model | None):
        raise InputError("one model for each candidate: several go into tasks of their own")
    question = Problem.options(list(tasks), eps=eps, bounds=(0.0, 1.0), noise=noise)
    study = Study.create(name, question, delta, storage, exist_ok=True)
    dealer = Dealer(study)
    entropy = None if seed is None else (seed, len(study.events()))
    streams = np.random.default_rng(entropy).spawn(len(tasks))
    copies = [
        task_with(
            copy.copy(task),  # what it returns is what it was given, changed
            dataset=_draws(task, most, stream),
            early_stopping=_Hook(dealer, arm, scorer),
            name=each,
        )
        for arm, ((each, task), stream) in enumerate(zip(tasks.items(), streams, strict=True))
    ]
    with closing(dealer):
        logs = eval(copies, max_tasks=len(copies), max_samples=max_samples, epochs=1, **options)
    proof = study.certificate()
    chosen = None if proof is None else proof.answer_name
    return Found(chosen, proof, dict(zip(tasks, logs, strict=True)), study)


def _draws(task: Task, count: int, stream: np.random.Generator) -> MemoryDataset:
    """Random samples of a task's dataset, with replacement, each with an id of its own."""
    samples = list(task.dataset)
    if not samples:
        raise InputError("a dataset without samples says nothing")
    rows = stream.integers(len(samples), size=count)
    drawn = [
        samples[row].model_copy(deep=True, update={"id": f"{number}: {samples[row].id or row}"})
        for number, row in enumerate(rows, 1)
    ]
    return MemoryDataset(drawn, name=task.dataset.name, location=task.dataset.location)


class _Hook:
    """One candidate's `EarlyStopping`."""

    def __init__(self, dealer: Dealer, arm: int, scorer: str | None) -> None:
        self._dealer = dealer
        self._arm = arm
        self._scorer = scorer
        self._out: dict[str | int, Trial] = {}

    async def start_task(self, task: Any, samples: list[Any], epochs: int) -> str:
        """The candidate has begun: so many samples may come, and none once its task is gone."""
        if task.config.max_tasks == 1:
            raise InputError("candidates run side by side: not with display='conversation'")
        self._dealer.begin(self._arm, len(samples) * epochs)
        when_done(lambda: self._dealer.end(self._arm))
        return "furthest"

    async def schedule_sample(self, id: str | int, epoch: int) -> "EarlyStop | None":  # noqa: A002
        """Wait until the study asks for this candidate."""
        if id in self._out:
            return None  # tried again after an error
        trial = await self._dealer.wait(self._arm)
        if trial is None:
            return EarlyStop(id=id, epoch=epoch, reason=self._dealer.over)
        self._out[id] = trial
        when_done(lambda: self._lose(id))
        return None

    async def complete_sample(
        self,
        id: str | int,  # noqa: A002
        epoch: int,  # noqa: ARG002
        scores: Mapping[str, Any],
    ) -> None:
        """The result, unless there is none."""
        if id in self._out and scores:
            self._dealer.tell(self._out[id], _value(scores, self._scorer))
            del self._out[id]

    async def complete_task(self) -> dict[str, Any]:
        """For Inspect's log."""
        return {"study": self._dealer.study.name}

    def _lose(self, id: str | int) -> None:  # noqa: A002
        """The sample is through; without a score its trial has failed."""
        if id in self._out:
            self._dealer.fail(self._out.pop(id), "ended without a score")


def _value(scores: Mapping[str, Any], scorer: str | None) -> float:
    """The score that counts, as a number."""
    if scorer is None and len(scores) > 1:
        raise InputError(f"several scorers: say which one counts, of {', '.join(scores)}")
    name = next(iter(scores)) if scorer is None else scorer
    value = pick(name, scores, "scorer", InputError).score.value
    try:
        return WORTH[value] if value in WORTH else float(value)
    except (TypeError, ValueError):
        raise InputError(f"the score {value!r} of {name} is not a number") from None
