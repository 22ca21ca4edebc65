"""What a study hands out: plain, unchangeable records. Needs no compiler."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple

from furthest import __version__, display

# What a certificate is worth.
PROVEN = "proven"
PROVEN_IF = "proven if"
NOT_PROVEN = "not proven"

# How that looks in a notebook.
TONES = {PROVEN: "good", PROVEN_IF: "warning", NOT_PROVEN: "bad"}

# What a verdict on an answer may be.
ACCEPTED = "accepted"
POSSIBLE = "possible"
RULED_OUT = "ruled out"


class Trial(NamedTuple):
    """One measurement to make, as `Study.ask` returns it.

    Attributes:
        id: To be given back with the result. Ids of two studies never meet.
        arm: The number of the arm to measure, from 0.
        name: The arm's name.
        size: How often, if the study was asked for a batch.
    """

    id: str
    arm: int
    name: str
    size: int = 1


class Measurement(NamedTuple):
    """One result, as told.

    Attributes:
        id: The trial's id, or the one given to `Study.add`.
        arm: The number of the arm.
        name: The arm's name.
        value: The result.
        at: When it was told, in seconds since 1970.
        asked: Whether the study had asked for it; False after `Study.add`.
        size: Of how many results the value is the mean.
        sd: Their standard deviation, if it was told.
    """

    id: str
    arm: int
    name: str
    value: float
    at: float
    asked: bool
    size: int = 1
    sd: float | None = None


class Pending(NamedTuple):
    """A trial that is still waited for.

    Attributes:
        id: The trial's id.
        arm: The number of the arm.
        name: The arm's name.
        at: When it was asked, in seconds since 1970.
        worker: Who was to measure it: as given to `Study.ask`, else host and process.
        size: How often, if it is part of a batch.
    """

    id: str
    arm: int
    name: str
    at: float
    worker: str
    size: int = 1


class Failure(NamedTuple):
    """A trial that will have no result.

    Attributes:
        id: The trial's id.
        arm: The number of the arm.
        name: The arm's name.
        at: When it was reported, in seconds since 1970.
        reason: Why, as given to `Study.fail`; may be empty.
        worker: Who reported it: host and process; empty in older logs.
    """

    id: str
    arm: int
    name: str
    at: float
    reason: str
    worker: str


@dataclass(frozen=True)
class AnswerVerdict:
    """What is known about one answer.

    Attributes:
        answer: Its number, from 0.
        name: Its name.
        estimate: Its value by least squares.
        within_eps: Whether it is within ε of the best, by the estimates.
        verdict: `accepted` (by the test, as within ε of the best), `possible`, or `ruled out`. All
            verdicts of a study hold at once with probability 1 − δ, if its certificate does.
    """

    answer: int
    name: str
    estimate: float
    within_eps: bool
    verdict: str


@dataclass(frozen=True)
class Condition:
    """Something that the guarantee rests on, and what the log says about it.

    Attributes:
        name: In a word or two.
        needs: What must be true.
        standing: `holds` (the log or the design sees to it), `assumed` (nothing speaks against it),
            `in doubt`, or `refuted`.
        evidence: Why.
    """

    name: str
    needs: str
    standing: str
    evidence: str


@dataclass(frozen=True, kw_only=True)
class Document:
    """What certificates and conclusions have in common.

    Attributes:
        study: The study's name.
        answer: The number of the answer, or of the candidate; None if there is none, because the
            initial design is not complete.
        answer_name: Its name.
        delta: The allowed probability of error, all of it spent.
        guarantee: What is promised, in words.
        standing: `proven`; `proven if`: a condition is in doubt; or `not proven`: a condition is
            refuted, the stopping rule is no theorem, or there is nothing to promise.
        proven: Whether it is proven without any if.
        conditions: Everything that the guarantee rests on.
        verdicts: What is known about each answer, at the ε that was asked for.
        measurements: Results that count.
        pulls: The same per arm.
        added: Of them, those that the study had not asked for.
        failed: Trials that failed before the end.
        order: In which order results count: `asked` or `told`.
        warnings: Which conditions are in doubt or refuted, and why.
        strategy: What decided, as plain data.
        problem: What was asked, as plain data.
        created_at: When the study began, in seconds since 1970.
        log_events: The document rests on so many events …
        log_digest: … with this SHA-256.
        chained_from: From this event on each carries a digest of all before it, so that a change
            shows; None in the log of an older furthest that was not sealed yet.
        cost: What the results that count have cost; None where nobody said what they do.
        version: The furthest that made it.
    """

    study: str
    answer: int | None
    answer_name: str | None
    delta: float
    guarantee: str
    standing: str
    proven: bool
    conditions: tuple[Condition, ...]
    verdicts: tuple[AnswerVerdict, ...]
    measurements: int
    pulls: tuple[int, ...]
    added: int
    failed: int
    order: str
    warnings: tuple[str, ...]
    strategy: Mapping[str, Any]
    problem: Mapping[str, Any]
    created_at: float
    log_events: int
    log_digest: str
    chained_from: int | None
    cost: float | None
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return _plain(self)

    def _card(self, title: str, figures: str) -> str:
        """As a notebook shows it."""
        return display.card(
            f"{self.study}: {title}",
            display.line(sentence(self.guarantee), TONES[self.standing]),
            display.line(figures, "soft"),
            _warnings(self.warnings),
            _verdict_table(self.verdicts, self.standing),
            display.line(
                f"rests on {self.log_events:,} events, SHA-256 {self.log_digest[:16]}…", "soft"
            ),
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Certificate(Document):
    """Everything that a stopped study hands over. Later events do not change it.

    Beside what every `Document` has:

    Attributes:
        statistic: What the stopping rule had reached.
        threshold: What it had to reach.
        meaning: What the statistic is.
        contenders: Every answer that the test accepts as within ε of the best.
        stopped_at: When the last result that counts was told.
    """

    answer: int
    answer_name: str
    statistic: float
    threshold: float
    meaning: str
    contenders: tuple[int, ...]
    stopped_at: float

    def __repr__(self) -> str:
        return (
            f"Certificate({self.study!r}, answer {self.answer_name!r}, {self.standing}, "
            f"{display.count(self.measurements, 'measurement')}{_paid(self.cost)}, "
            f"δ = {self.delta:g})\n"
            f"  guarantee: {self.guarantee}"
        )

    def _repr_html_(self) -> str:
        return self._card(
            self.answer_name,
            f"{display.count(self.measurements, 'measurement')}{_paid(self.cost)}, "
            f"{self.added:,} of them added, {self.failed:,} failed; statistic "
            f"{self.statistic:.3f}, threshold {self.threshold:.3f}",
        )


@dataclass(frozen=True, kw_only=True, repr=False)
class Conclusion(Document):
    """What is proven when the budget of a study is spent and it has no answer.

    All of it holds at once, with probability 1 − δ, together with every other conclusion of the
    study and with its certificate, should there be one later: docs/theory/budget.md. Beside what
    every `Document` has:

    Attributes:
        certified_eps: The smallest ε for which it is proven that the candidate is within ε of the
            best, in the notion of the study; None if that is proven for none.
        eps: The ε that was asked for.
        notion: `additive` or `multiplicative`.
        budget: How many measurements were allowed.
        remaining: Every answer that may still be within the ε that was asked for.
        ended_at: When the last event was written that it rests on.
    """

    certified_eps: float | None
    eps: float
    notion: str
    budget: int
    remaining: tuple[int, ...]
    ended_at: float

    def __repr__(self) -> str:
        return (
            f"Conclusion({self.study!r}, inconclusive, {self.standing}, "
            f"{display.count(self.measurements, 'measurement')}, δ = {self.delta:g})\n"
            f"  guarantee: {self.guarantee}"
        )

    def _repr_html_(self) -> str:
        return self._card(
            "inconclusive",
            f"{display.count(self.measurements, 'measurement')}, a budget of {self.budget:,}; "
            f"{len(self.remaining):,} of {len(self.problem['answer_names']):,} answers remain",
        )


@dataclass(frozen=True)
class Status:
    """Where a study stands.

    Attributes:
        name: The study's name.
        state: `running`, `stopped`, or `inconclusive`: the budget is spent and there is no answer.
        answer: The number of the certificate's answer; before, of the current candidate, without
            any guarantee. None until the initial design is complete.
        answer_name: Its name.
        statistic: What the stopping rule has reached; None until the initial design is complete.
        threshold: What it has to reach.
        measurements: Results told; once the study has stopped, those that count.
        waiting: Of them, those that do not count yet: the initial design is not complete, or a
            trial that was asked earlier is out.
        surplus: Results that came too late to count: the study had stopped.
        pending: Trials that are still waited for.
        failed: Trials that failed; once the study has stopped, until then.
        pulls: The measurements per arm.
        guarantee: What is promised about the answer now: nothing before the study has ended.
        promise: What will be promised about the answer once it has, if no condition is in doubt.
        standing: The certificate's or conclusion's, once there is one: `proven`, `proven if` or
            `not proven`.
        verdicts: What is known about each answer; none until the initial design is complete. Found
            out when they are first looked at.
        warnings: Which conditions of the guarantee are in doubt or refuted, and why.
        certificate: The proof, once the study has stopped.
        chained_from: The first event of the log that carries a digest of all before it, so that a
            change shows; None in the log of an older furthest that was not sealed yet.
        budget: How many measurements may be made; None if there is no limit.
        conclusion: What is proven if that is spent and there is no answer.
        cost: What the measurements have cost; None where nobody said what they do.
    """

    name: str
    state: str
    answer: int | None
    answer_name: str | None
    statistic: float | None
    threshold: float | None
    measurements: int
    waiting: int
    surplus: int
    pending: int
    failed: int
    pulls: tuple[int, ...]
    guarantee: str
    promise: str
    standing: str | None
    verdicts: Sequence[AnswerVerdict]
    warnings: tuple[str, ...]
    certificate: Certificate | None
    chained_from: int | None
    budget: int | None = None
    conclusion: Conclusion | None = None
    cost: float | None = None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return _plain(replace(self, verdicts=tuple(self.verdicts)))

    def __repr__(self) -> str:
        return f"Status({self.name!r}, {self._where}; {self.counts})"

    def _repr_html_(self) -> str:
        proof, standing = self.certificate, self.standing
        return display.card(
            f"{self.name}: {proof.answer_name if proof else self.state}",
            display.line(
                sentence(self.guarantee) if standing else f"When it stops: {self.promise}.",
                TONES[standing] if standing else "soft",
            ),
            display.line(self.counts, "soft"),
            _warnings(self.warnings),
            self._gauge,
            _verdict_table(self.verdicts, self.standing),
        )

    @property
    def _gauge(self) -> str:
        if self.statistic is None or self.threshold is None:
            return display.line("The initial design is not complete yet.")
        head = ("answer" if self.certificate else "leading", "statistic", "threshold", "")
        bar = display.Bar(self.share)
        return display.table(head, [[self.answer_name or "", self.statistic, self.threshold, bar]])

    @property
    def share(self) -> float:
        """How much of the evidence that it takes is there, 0 … 1."""
        if self.statistic is None or self.threshold is None or self.threshold <= 0:
            return 0.0
        return min(1.0, max(0.0, self.statistic / self.threshold))

    @property
    def _where(self) -> str:
        if self.statistic is None or self.threshold is None:
            return f"{self.state}, initial design"
        reached = f"{self.statistic:.2f} of {self.threshold:.2f}"
        leads = "the answer is" if self.certificate else "leading is"
        worth = f" ({self.standing})" if self.certificate else ""
        return f"{self.state}, {leads} {self.answer_name!r}{worth}, {reached}"

    @property
    def counts(self) -> str:
        """How many results there are, and what became of the others."""
        of = "" if self.budget is None else f" of a budget of {self.budget:,}"
        counts = [f"{self.measurements:,} measured{of}"]
        counts[0] += _paid(self.cost)
        counts += [f"{self.waiting:,} of them waiting"] if self.waiting else []
        counts += [f"{self.surplus:,} after the end"] if self.surplus else []
        return ", ".join([*counts, f"{self.pending:,} pending", f"{self.failed:,} failed"])


@dataclass(frozen=True)
class Foresight:
    """How many more measurements a study will need, by simulated futures.

    Attributes:
        median: Measurements still needed, in the middle. A figure of `horizon` or more means at
            least that many, here and below.
        low: 5 % of the futures need fewer.
        high: 5 % of the futures need more.
        draws: How many futures were simulated.
        unfinished: How many of them were given up at the horizon.
        horizon: After so many further measurements a future is given up.
        measurements: Taken in so far.
        limit: T_ε ln(1/δ) in all, if μ is as estimated; None where that is infinite.
        left: How many more measurements the budget allows; None if there is none.
        within_budget: Which share of the futures, at least, needs no more than these: those that
            were given up count as if they needed more.
        warning: That the budget will hardly suffice, if that is so; else empty.
    """

    median: float
    low: float
    high: float
    draws: int
    unfinished: int
    horizon: int
    measurements: int
    limit: float | None
    left: int | None = None
    within_budget: float | None = None
    warning: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return _plain(self)


def _paid(cost: float | None) -> str:
    """`, cost 1,234`, or nothing where nobody said what a measurement costs."""
    return "" if cost is None else f", cost {display.figure(cost)}"


def _plain(record: Any) -> dict[str, Any]:
    """Lists instead of tuples: equal to what is read back from JSON."""
    return json.loads(json.dumps(asdict(record)))  # type: ignore[no-any-return]


def sentence(words: str) -> str:
    """With a capital letter and a full stop."""
    return f"{words[0].upper()}{words[1:]}."


def _warnings(warnings: Sequence[str]) -> str:
    return "".join(display.line(f"Warning: {text}.", "warning") for text in warnings)


def verdict_words(verdict: str, standing: str | None) -> tuple[str, str]:
    """A verdict in words, with its tone: `proven` is only what is, once the study has stopped."""
    if verdict != ACCEPTED:
        return verdict, "soft" if verdict == RULED_OUT else ""
    if standing is None:
        return verdict, "good"
    words = f"{verdict}, {standing}" if standing == NOT_PROVEN else standing
    return words, TONES[standing]


def best_first(verdicts: Sequence[AnswerVerdict], most: int | None = None) -> list[AnswerVerdict]:
    """By their estimates; where only so many are wanted nobody looks at the others."""
    best = getattr(verdicts, "best", None)
    if best is not None and most is not None:
        return list(best(most))
    return sorted(verdicts, key=lambda each: -each.estimate)[:most]


def _verdict_table(verdicts: Sequence[AnswerVerdict], standing: str | None) -> str:
    """The best answers first."""
    rows: list[list[display.Cell]] = [
        [each.name, each.estimate, display.Toned(*verdict_words(each.verdict, standing))]
        for each in best_first(verdicts)
    ]
    return display.table(("answer", "estimate", "within ε of the best"), rows)
