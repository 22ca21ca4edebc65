"""Certificate, conclusion and status: of a study that has stopped, spent its budget, or goes on.

All follow from the log alone, so `verify` can make them again, in any process, bit for bit.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from furthest.codes import Noise
from furthest.display import at_least
from furthest.errors import VerificationError
from furthest.problem import Problem
from furthest.stopping.within import certified_eps
from furthest.study.chain import digest
from furthest.study.conditions import (
    IN_DOUBT,
    REFUTED,
    Base,
    base_of,
    conditions,
    failures,
    size_over_noise,
    standing_of,
    warnings_of,
)
from furthest.study.events import (
    SPENT,
    Event,
    Settings,
    problem_data,
    usable_strategy,
)
from furthest.study.fold import Fold, Outcome, copied
from furthest.study.ledger import Ledger
from furthest.study.records import (
    ACCEPTED,
    NOT_PROVEN,
    PROVEN,
    RULED_OUT,
    Certificate,
    Conclusion,
    Condition,
    Status,
)
from furthest.study.verdict import Look, Verdicts, score

RUNNING = "running"
STOPPED = "stopped"
INCONCLUSIVE = "inconclusive"

NONE_YET = "none yet: the study is still running"
NOTHING = "nothing is proven: there are too few results, or the stopping rule cannot say more"

# What a conclusion has, and no certificate.
CERTIFIED = "certified_eps"

# What another version may say in other words: not compared where only facts are.
WORDS = {"version", "guarantee", "meaning", "warnings", "strategy", "verdicts"}
WORDS |= {"conditions", "standing", "proven"}

# Figures of a certificate from another processor may differ in their last digits: in more of them
# where the values are many times as large as their noise.
ROUNDING = 1e-9
ROUNDING_PER_SIZE = 1e-14


class Slack(NamedTuple):
    """How much a figure may differ."""

    relative: float
    absolute: float = 0.0


# It is looked for, by halving, so closely and no closer.
CERTIFIED_SLACK = 1e-6

# A statistic that differs by less may be on either side of the threshold elsewhere.
NEAR = 1e-6


def fold_of(ledger: Ledger) -> Fold:
    """The state of the study before its first result; it ends where the log says that it did."""
    with usable_strategy():
        return Fold(ledger.settings, outcome_of(ledger))


def outcome_of(ledger: Ledger) -> Outcome | None:
    """Where the log says that the study ended."""
    stopped = ledger.stopped
    return None if stopped is None else Outcome(stopped.arm or 0, int(stopped.data))


def status(
    name: str,
    ledger: Ledger,
    fold: Fold,
    now: float,
    proof: Certificate | None,
    ending: Conclusion | None = None,
) -> Status:
    """Where the study stands, by its log; `proof` is its certificate, once it has stopped.

    `ending` is its conclusion, if the budget is spent and it has not.
    """
    settings, document = ledger.settings, proof or ending
    known = fold.ready
    look = Look(fold) if known else None
    mark = look.score(fold.answer) if look else None
    answer_name = settings.problem.answer_names[fold.answer] if known else None
    pulls = ledger.measured.columns.pulls(len(fold.task.arms))
    base = base_of(ledger)
    return Status(
        name=name,
        state=STOPPED if fold.stopped else INCONCLUSIVE if ending else RUNNING,
        answer=fold.answer if known else None,
        answer_name=answer_name,
        statistic=mark.statistic if mark else None,
        threshold=mark.threshold if mark else None,
        measurements=proof.measurements if proof else ledger.outcomes,
        waiting=0 if proof else fold.waiting + len(ledger.waiting()),
        surplus=ledger.outcomes - proof.measurements if proof else 0,
        pending=len(ledger.pending(now)),
        failed=proof.failed if proof else len(failures(base)),
        pulls=proof.pulls if proof else tuple(pulls.tolist()),
        guarantee=document.guarantee if document else NONE_YET,
        promise=guarantee(settings, answer_name if proof else None),
        standing=document.standing if document else None,
        verdicts=Verdicts(look, settings.problem.answer_names) if look else (),
        warnings=document.warnings if document else warnings_of(conditions(base, trust=False)),
        certificate=proof,
        chained_from=ledger.chained_from,
        budget=ledger.budget,
        conclusion=ending,
        cost=proof.cost if proof else cost_of(settings.problem, pulls),
    )


def certificate(name: str, ledger: Ledger, fold: Fold, log: Sequence[Event]) -> Certificate:
    """The proof of a study that has stopped, from all of its log."""
    settings, base = ledger.settings, base_of(ledger, fold)
    problem, look = settings.problem, Look(fold)
    mark = look.score(fold.answer)
    answer_name = problem.answer_names[fold.answer]
    events = log[: base.last]
    theorem = settings.strategy.guarantee_for(problem).proven
    common = _common(name, base, events, fold.state.evidence.counts, theorem=theorem)
    found = tuple(Verdicts(look, problem.answer_names))
    return Certificate(
        answer=fold.answer,
        answer_name=answer_name,
        guarantee=guarantee(settings, answer_name, common["conditions"]),
        verdicts=found,
        contenders=tuple(each.answer for each in found if each.verdict == ACCEPTED),
        statistic=mark.statistic,
        threshold=mark.threshold,
        meaning=mark.meaning,
        stopped_at=events[-1].at,
        chained_from=_chained_from(ledger, len(events)),
        **common,
    )


def _common(
    name: str, base: Base, log: Sequence[Event], pulls: ArrayLike, *, theorem: bool
) -> dict[str, Any]:
    """What certificate and conclusion say alike; `theorem` if one promises anything."""
    settings, rests_on = base.ledger.settings, conditions(base)
    standing = standing_of(rests_on, theorem=theorem)
    return {
        "study": name,
        "delta": settings.delta,
        "standing": standing,
        "proven": standing == PROVEN,
        "conditions": rests_on,
        "measurements": int(np.sum(pulls)),
        "pulls": tuple(np.asarray(pulls).tolist()),
        "added": len(base.counted.moments_of_added),
        "failed": len(failures(base)),
        "order": settings.order,
        "warnings": warnings_of(rests_on),
        "strategy": settings.strategy.describe(),
        "problem": problem_data(settings.problem),
        "created_at": log[0].at,
        "log_events": len(log),
        "log_digest": digest(log),
        "cost": cost_of(settings.problem, pulls),
    }


def cost_of(problem: Problem, pulls: ArrayLike) -> float | None:
    """What so many measurements of each arm have cost; None where nobody said what they do."""
    if problem.costs is None:
        return None
    # Correctly rounded, so that the order of the arms and the processor do not matter.
    return math.fsum(
        math.prod(each) for each in zip(np.asarray(pulls).tolist(), problem.costs, strict=True)
    )


def conclusion(name: str, log: Sequence[Event], spent: Event | None = None) -> Conclusion:
    """What is proven when the budget is spent; the log ends just before somebody saw that.

    With the event of that the study had not stopped by then, and the candidate is the one it names.
    """
    ledger = Ledger.of(log)
    settings, problem = ledger.settings, ledger.settings.problem
    ended = None if spent is None or spent.arm is None else Outcome(spent.arm, int(spent.data))
    with usable_strategy():
        fold = Fold(settings, ended)
    fold.take(ledger.counting().columns)
    answer = _candidate(fold) if spent is None else spent.arm
    found = tuple(Verdicts(Look(fold), problem.answer_names)) if fold.ready else ()
    remaining = [
        z for z in range(len(problem.answers)) if not found or found[z].verdict != RULED_OUT
    ]
    eps = None if answer is None else _certified(fold, answer)
    answer_name = None if answer is None else problem.answer_names[answer]
    claims = _concluding_claims(settings, answer_name, eps, len(remaining))
    theorem = bool(claims) and settings.strategy.guarantee_for(problem).proven
    pulls = ledger.measured.columns.pulls(len(problem.arms))
    common = _common(name, base_of(ledger), log, pulls, theorem=theorem)
    promise = promised(settings, "; and ".join(claims), common["conditions"])
    return Conclusion(
        answer=answer,
        answer_name=answer_name,
        certified_eps=eps,
        eps=problem.eps,
        notion=problem.notion,
        budget=ledger.budget or 0,
        guarantee=promise if claims else NOTHING,
        remaining=tuple(remaining),
        verdicts=found,
        ended_at=log[-1].at,
        chained_from=ledger.chained_from,
        **common,
    )


def _candidate(fold: Fold) -> int | None:
    return fold.answer if fold.ready and fold.answer >= 0 else None


def spent_event_data(fold: Fold) -> tuple[int | None, str]:
    """The candidate, and how many results count: what the log says when the budget is spent."""
    return _candidate(fold), str(int(fold.state.evidence.counts.sum()) if fold.ready else 0)


def _certified(fold: Fold, z: int) -> float | None:
    """The smallest ε' for which z is proven to be within ε' of the best."""
    if fold.blocked:
        return None
    state = copied(fold.state)
    return certified_eps(fold.test, fold.problem, state.stopping.test, state.evidence, z)


def _concluding_claims(
    settings: Settings, answer: str | None, eps: float | None, remaining: int
) -> list[str]:
    """How near the candidate is to the best, and how many answers are not as near as was asked."""
    problem, claims = settings.problem, []
    out = len(problem.answers) - remaining
    if answer is not None and eps is not None:
        claims.append(_claim(problem, answer, eps))
    if out:
        near = f"{problem.eps:g}" if problem.notion == "additive" else f"{100 * problem.eps:.10g} %"
        claims.append(
            f"{out:,} of the {len(problem.answers):,} answers {'is' if out == 1 else 'are'} not "
            f"within {near} of the best"
        )
    return claims


def guarantee(settings: Settings, answer: str | None, rests_on: Sequence[Condition] = ()) -> str:
    """What the certificate promises, in words; of the answer to come if there is none yet."""
    claim = _claim(settings.problem, answer or "the one given", settings.problem.eps)
    return promised(settings, claim, rests_on)


def _claim(problem: Problem, name: str, eps: float) -> str:
    """That no answer is better by more than ε; one that is not the problem's own is rounded up."""
    asked = eps == problem.eps
    if eps == 0:
        return f"no answer is better than {name}"
    if problem.notion == "additive":
        size = f"{eps:g}" if asked else at_least(eps)
        return f"no answer is better than {name} by more than {size}"
    size = f"{100 * eps:.10g}" if asked else at_least(eps, 100)
    return (
        f"no answer is better than {name} by more than {size} % of the best value, if that is "
        "positive"
    )


def promised(settings: Settings, claim: str, rests_on: Sequence[Condition] = ()) -> str:
    """A claim with all that it takes for granted."""
    problem = settings.problem
    promise = settings.strategy.guarantee_for(problem)
    if not promise.proven:
        return f"not proven: {promise.words}"
    if standing_of(rests_on, theorem=True) == NOT_PROVEN:
        against = [each.evidence for each in rests_on if each.standing == REFUTED]
        return f"not proven: {'; '.join(against)}"
    if promise.noise == "bounded":
        low, high = problem.bounds or (0.0, 1.0)
        means = "depends on the arm alone"
        if settings.strategy.noise_for(problem) == Noise.BOUNDED_LINEAR:
            means = "never changes and is linear in the features"
        return (
            f"{_provided(rests_on)}with probability at least {100 * (1 - settings.delta):.10g} %, "
            f"{claim}, whatever the sampling, for rewards within [{low:g}, {high:g}] whose mean "
            f"{means}"
        )
    noise = (
        f"{promise.noise} noise of one constant, unknown σ"
        if problem.sigma is None
        else f"noise {promise.noise} with σ = {problem.sigma_words}"
    )
    if settings.strategy.test.needs_bound:
        noise += f" and a parameter with μᵀPμ ≤ {problem.radius:g}"
    return (
        f"{_provided(rests_on)}with probability at least {100 * (1 - settings.delta):.10g} %, "
        f"{claim}, whatever the sampling, for {noise} and values linear in the features"
    )


def _provided(rests_on: Sequence[Condition]) -> str:
    """What the promise hangs on, beyond the theorem."""
    doubts = [each.needs for each in rests_on if each.standing == IN_DOUBT]
    return f"if {', and if '.join(doubts)}: " if doubts else ""


def _chained_from(ledger: Ledger, events: int) -> int | None:
    """The first of so many events that is chained to the one before."""
    first = ledger.chained_from
    return first if first is not None and first <= events else None


def verify(
    name: str,
    events: Sequence[Event],
    claimed: Mapping[str, Any] | None = None,
    *,
    words: bool = True,
) -> Status:
    """Do it all again from the log: its order, every decision, the certificate.

    A `claimed` certificate must follow from the log, word for word; without `words` only its facts
    must, so that one of an older version can be compared. Where the log says that the
    study stopped, the test must accept the answer there, and before that none: up to rounding.
    """
    ledger = Ledger.of(events)
    if ledger.settings.name not in ("", name):
        raise VerificationError(f"the log is that of {ledger.settings.name!r}, not of {name!r}")
    fold = fold_of(ledger)
    fold.take(ledger.counting().columns)
    if ledger.stopped is not None:
        check_outcome(ledger, fold)
    proof = certificate(name, ledger, fold, events) if fold.stopped else None
    ending = None
    if ledger.spent is not None:
        ending = _checked_conclusion(name, events, ledger.spent.seq - 1)
    elif proof is None and ledger.is_over(events[-1].at):
        ending = _checked_conclusion(name, events, len(events))
    found = status(name, ledger, fold, events[-1].at, proof, None if proof else ending)
    if claimed is not None:
        expected = _expected(name, events, claimed, proof).to_dict()
        if not words:
            facts = claimed.keys() & expected.keys() - WORDS
            expected = {key: claimed[key] for key in claimed.keys() & WORDS} | {
                key: expected[key] for key in facts
            }
        what = "the conclusion" if CERTIFIED in claimed else "the certificate"
        compare(claimed, expected, what, slacks(ledger))
    return found


def _expected(
    name: str, events: Sequence[Event], claimed: Mapping[str, Any], proof: Certificate | None
) -> Certificate | Conclusion:
    """The document that the log leads to; of conclusions the one after as many events."""
    if CERTIFIED not in claimed:
        if proof is None:
            raise VerificationError("the log does not lead to any certificate: it has not stopped")
        return proof
    length = claimed.get("log_events")
    if type(length) is not int or not 0 < length <= len(events):
        raise VerificationError(f"the conclusion says log_events = {length!r}: there are others")
    return _checked_conclusion(name, events, length)


def _checked_conclusion(name: str, events: Sequence[Event], length: int) -> Conclusion:
    """The conclusion after so many events, if the budget was spent by then and nothing accepted."""
    log = events[:length]
    spent = events[length] if length < len(events) and events[length].kind == SPENT else None
    ledger = Ledger.of(log)
    if not ledger.is_over(spent.at if spent else log[-1].at):
        raise VerificationError(f"after {length} events the budget was not spent")
    again = fold_of(ledger)
    again.take(ledger.counting().columns)
    taken = int(again.state.evidence.counts.sum()) if again.ready else 0
    if again.stopped:
        mark = score(again, again.answer)
        if mark.statistic > mark.threshold + NEAR * max(1.0, abs(mark.threshold)):
            raise VerificationError(
                f"after {length} events the budget was spent, but the study had its answer"
            )
    elif spent is not None and int(spent.data) != taken:
        raise VerificationError(
            f"the log says that {spent.data} results counted when the budget was spent, but there "
            f"were {taken}"
        )
    return conclusion(name, log, spent)


def slacks(ledger: Ledger) -> dict[str, Slack]:
    """How much the figures may differ that were computed from this log on another processor."""
    problem, results = ledger.settings.problem, ledger.counting().columns
    share = max(ROUNDING, ROUNDING_PER_SIZE * size_over_noise(problem, results))
    figure = Slack(share)
    largest = float(np.abs(results.values).max(initial=0.0))
    unit = largest if problem.sigma is None else float(problem.units.max())
    return {
        CERTIFIED: Slack(CERTIFIED_SLACK),
        "statistic": figure,
        "threshold": figure,
        "estimate": Slack(share, share * unit),
    }


def check_outcome(ledger: Ledger, fold: Fold) -> None:
    """Whether the study could stop where its log says so: anybody who may write can say that."""
    mark = score(fold, fold.answer) if fold.stopped and not fold.blocked else None
    if mark and mark.statistic >= mark.threshold - NEAR * max(1.0, abs(mark.threshold)):
        return
    again = Fold(ledger.settings)
    again.take(ledger.counting(0, fold.stopped_at or None).columns)
    if again.stopped_at != fold.stopped_at or again.answer != fold.answer:
        raise VerificationError(
            "the log says that the study has stopped, but its results do not lead to that"
        )


def compare(
    claimed: Mapping[str, Any], found: Mapping[str, Any], what: str, allowed: Mapping[str, Slack]
) -> None:
    """Whether a document is what the log leads to: every entry, exactly, but for rounding."""
    version = claimed.get("version", found.get("version"))
    if version != found.get("version"):
        raise VerificationError(
            f"{what} is of furthest {version}, whose words this one, {found['version']}, cannot "
            "check: verify it with that version, or its facts alone with --facts"
        )
    for key in (*found, *claimed):
        if key not in claimed or key not in found:
            there = f"has no {key!r}" if key in found else f"has {key!r}, which none has"
            raise VerificationError(f"{what} {there}")
        if not _same(claimed[key], found[key], key, allowed):
            raise VerificationError(
                f"{what} says {key} = {_short(claimed[key])}, but the log leads to "
                f"{_short(found[key])}"
            )


def _same(one: Any, other: Any, key: str, allowed: Mapping[str, Slack]) -> bool:
    """Equal in type and value, but for the slack that the figures of this key have."""
    if type(one) is not type(other):
        return False
    if isinstance(one, dict):
        return one.keys() == other.keys() and all(
            _same(one[own], other[own], own, allowed) for own in one
        )
    if isinstance(one, list):
        return len(one) == len(other) and all(
            _same(*pair, key, allowed) for pair in zip(one, other, strict=True)
        )
    if isinstance(one, float) and key in allowed:
        slack = allowed[key]
        return math.isclose(one, other, rel_tol=slack.relative, abs_tol=slack.absolute)
    return bool(one == other)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) < 80 else text[:77] + "…"
