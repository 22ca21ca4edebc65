"""The certificate of a study that has stopped, and the status of one that has not.

Both follow from the log alone, so `verify` can make them again, in any process, bit for bit.
"""

import hashlib
import json
import math
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from furthest.errors import VerificationError
from furthest.residuals import check
from furthest.study.events import Event, Settings, columns, problem_data
from furthest.study.fold import Fold
from furthest.study.ledger import Ledger
from furthest.study.records import AnswerVerdict, Certificate, Status
from furthest.study.verdict import PROVEN, score, verdicts

RUNNING = "running"
STOPPED = "stopped"

# Entries of a certificate that a later version may put better.
WORDS = {"guarantee", "meaning", "warnings", "strategy"}

# Figures of a certificate from another processor may differ in their last digits.
ROUNDING = 1e-9


def status(name: str, ledger: Ledger, fold: Fold, now: float, proof: Certificate | None) -> Status:
    """Where the study stands, by its log; `proof` is its certificate, once it has stopped."""
    settings = ledger.settings
    known = fold.ready
    mark = score(fold, fold.answer) if known else None
    answer = fold.answer if known else None
    answer_name = settings.problem.answer_names[fold.answer] if known else None
    arms, _ = columns(ledger.measured)
    failed = list(ledger.failed.values())
    return Status(
        name=name,
        state=STOPPED if fold.stopped else RUNNING,
        answer=answer,
        answer_name=answer_name,
        statistic=mark.statistic if mark else None,
        threshold=mark.threshold if mark else None,
        measurements=len(ledger.measured),
        waiting=fold.waiting,
        pending=len(ledger.pending(now)),
        failed=len(failed),
        pulls=tuple(np.bincount(arms, minlength=len(fold.task.arms)).tolist()),
        guarantee=guarantee(settings, answer_name if fold.stopped else None),
        verdicts=_verdicts(settings, fold) if known else (),
        warnings=proof.warnings if proof else _warnings(settings, ledger.measured, failed),
        certificate=proof,
    )


def certificate(name: str, ledger: Ledger, fold: Fold, log: Sequence[Event]) -> Certificate:
    """The proof of a study that has stopped, from all of its log."""
    settings = ledger.settings
    problem, strategy = settings.problem, settings.strategy
    counted = ledger.measured[: fold.stopped_at]
    last = counted[-1]
    failed = [event for event in ledger.failed.values() if event.seq < last.seq]
    mark = score(fold, fold.answer)
    found = _verdicts(settings, fold)
    answer_name = problem.answer_names[fold.answer]
    events = log[: last.seq]
    return Certificate(
        study=name,
        answer=fold.answer,
        answer_name=answer_name,
        statistic=mark.statistic,
        threshold=mark.threshold,
        meaning=mark.meaning,
        delta=settings.delta,
        guarantee=guarantee(settings, answer_name),
        proven=is_proven(settings),
        contenders=tuple(each.answer for each in found if each.verdict == PROVEN),
        verdicts=found,
        measurements=int(fold.state.evidence.counts.sum()),
        pulls=tuple(fold.state.evidence.counts.tolist()),
        failed=len(failed),
        warnings=_warnings(settings, counted, failed),
        strategy=strategy.describe(),
        problem=problem_data(problem),
        created_at=ledger.created.at,
        stopped_at=last.at,
        log_events=len(events),
        log_digest=digest(events),
    )


def _verdicts(settings: Settings, fold: Fold) -> tuple[AnswerVerdict, ...]:
    values = fold.state.evidence.values
    near_best = values - fold.task.c * values.max() + fold.task.e >= 0
    names = settings.problem.answer_names
    return tuple(
        AnswerVerdict(z, names[z], float(values[z] * fold.unit), bool(near_best[z]), verdict)
        for z, verdict in enumerate(verdicts(fold))
    )


def is_proven(settings: Settings) -> bool:
    """Whether the stopping rule is a theorem."""
    return settings.strategy.guarantee_for(settings.problem).proven


def guarantee(settings: Settings, answer: str | None) -> str:
    """What the certificate promises, in words; of the answer to come if there is none yet."""
    problem = settings.problem
    promise = settings.strategy.guarantee_for(problem)
    if not promise.proven:
        return f"none: {promise.words}"
    name = answer or "the answer"
    if problem.eps == 0:
        claim = f"no answer is better than {name}"
    elif problem.notion == "additive":
        claim = f"no answer is better than {name} by more than {problem.eps:g}"
    else:
        claim = (
            f"no answer is better than {name} by more than {100 * problem.eps:.10g} % of the best "
            "value, if that is positive"
        )
    noise = (
        f"{promise.noise} noise of one constant, unknown σ"
        if problem.sigma is None
        else f"noise {promise.noise} with σ = {problem.sigma:g}"
    )
    return (
        f"with probability at least {100 * (1 - settings.delta):.10g} %, {claim}, whatever the "
        f"sampling, for {noise} and values linear in the features"
    )


def _warnings(
    settings: Settings, results: Sequence[Event], failed: Sequence[Event]
) -> tuple[str, ...]:
    """What may void the guarantee."""
    found = []
    if failed:
        found.append(
            f"{len(failed)} measurement{'s' if len(failed) > 1 else ''} failed: if failing depends "
            "on the reward, the guarantee is void"
        )
    return (*found, *check(settings.problem, *columns(results)))


def digest(events: Sequence[Event]) -> str:
    """SHA-256 of a log."""
    lines = (json.dumps(event) for event in events)
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def verify(name: str, events: Sequence[Event], claimed: Mapping[str, Any] | None = None) -> Status:
    """Do it all again from the log: its order, every decision, the certificate.

    A `claimed` certificate must follow from the log.
    """
    if not events:
        raise VerificationError("the log is empty")
    ledger = Ledger(events[0])
    ledger.apply(events[1:])
    fold = Fold(ledger.settings)
    fold.take(*columns(ledger.measured))
    proof = certificate(name, ledger, fold, events) if fold.stopped else None
    found = status(name, ledger, fold, events[-1].at, proof)
    if claimed is not None:
        if found.certificate is None:
            raise VerificationError("the log does not lead to any certificate: it has not stopped")
        _compare(claimed, found.certificate.to_dict())
    return found


def _compare(claimed: Mapping[str, Any], found: Mapping[str, Any]) -> None:
    """Every fact; and every word, unless another version of the program chose it."""
    skipped = {"study", "version"}
    if claimed.get("version") != found["version"]:
        skipped |= WORDS
    for key, value in found.items():
        if key not in skipped and not _same(claimed.get(key), value):
            raise VerificationError(
                f"the certificate says {key} = {_short(claimed.get(key))}, but the log leads to "
                f"{_short(value)}"
            )


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        return math.isclose(one, other, rel_tol=ROUNDING, abs_tol=ROUNDING)
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_same(one[key], other[key]) for key in one)
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return bool(one == other)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "…"
