"""What a study hands out: plain, unchangeable records. Needs no compiler."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

from furthest import __version__, display

# How the verdicts look in a notebook.
VERDICT_TONES = {"proven": "good", "possible": "", "ruled out": "soft"}


class Trial(NamedTuple):
    """One measurement to make, as `Study.ask` returns it.

    Attributes:
        id: To be given back with the result. Ids of two studies never meet.
        arm: The number of the arm to measure, from 0.
        name: The arm's name.
    """

    id: str
    arm: int
    name: str


class Measurement(NamedTuple):
    """One result, as told.

    Attributes:
        id: The trial's id, or the one given to `Study.add`.
        arm: The number of the arm.
        name: The arm's name.
        value: The result.
        at: When it was told, in seconds since 1970.
        asked: Whether the study had asked for it; False after `Study.add`.
    """

    id: str
    arm: int
    name: str
    value: float
    at: float
    asked: bool


class Pending(NamedTuple):
    """A trial that is still waited for.

    Attributes:
        id: The trial's id.
        arm: The number of the arm.
        name: The arm's name.
        at: When it was asked, in seconds since 1970.
        worker: Who was to measure it: as given to `Study.ask`, else host and process.
    """

    id: str
    arm: int
    name: str
    at: float
    worker: str


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
        verdict: `proven` (within ε of the best), `possible`, or `ruled out`. All verdicts of a
            study hold at once with probability 1 − δ.
    """

    answer: int
    name: str
    estimate: float
    within_eps: bool
    verdict: str


@dataclass(frozen=True)
class Certificate:
    """Everything that a stopped study hands over. Later events do not change it.

    Attributes:
        study: The study's name.
        answer: The number of the answer.
        answer_name: Its name.
        statistic: What the stopping rule had reached.
        threshold: What it had to reach.
        meaning: What the statistic is.
        delta: The allowed probability of error, all of it spent.
        guarantee: What is promised about the answer, in words.
        proven: Whether the stopping rule is a theorem.
        contenders: Every answer that is proven to be within ε of the best.
        verdicts: What is known about each answer.
        measurements: Results that count.
        pulls: The same per arm.
        failed: Trials that failed before the end.
        warnings: What may void the guarantee.
        strategy: What decided, as plain data.
        problem: What was asked, as plain data.
        created_at: When the study began, in seconds since 1970.
        stopped_at: When the last result that counts was told.
        log_events: The certificate rests on so many events …
        log_digest: … with this SHA-256.
        version: The furthest that made it.
    """

    study: str
    answer: int
    answer_name: str
    statistic: float
    threshold: float
    meaning: str
    delta: float
    guarantee: str
    proven: bool
    contenders: tuple[int, ...]
    verdicts: tuple[AnswerVerdict, ...]
    measurements: int
    pulls: tuple[int, ...]
    failed: int
    warnings: tuple[str, ...]
    strategy: Mapping[str, Any]
    problem: Mapping[str, Any]
    created_at: float
    stopped_at: float
    log_events: int
    log_digest: str
    version: str = __version__

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return _plain(self)

    def __repr__(self) -> str:
        return (
            f"Certificate({self.study!r}, answer {self.answer_name!r}, "
            f"{display.count(self.measurements, 'measurement')}, δ = {self.delta:g})\n"
            f"  guarantee: {self.guarantee}"
        )

    def _repr_html_(self) -> str:
        return display.card(
            f"{self.study}: {self.answer_name}",
            display.line(_sentence(self.guarantee), "" if self.proven else "warning"),
            display.line(
                f"{display.count(self.measurements, 'measurement')}, {self.failed:,} failed; "
                f"statistic {self.statistic:.3f}, threshold {self.threshold:.3f}",
                "soft",
            ),
            _warnings(self.warnings),
            _verdict_table(self.verdicts, proven=self.proven),
            display.line(
                f"rests on {self.log_events:,} events, SHA-256 {self.log_digest[:16]}…", "soft"
            ),
        )


@dataclass(frozen=True)
class Status:
    """Where a study stands.

    Attributes:
        name: The study's name.
        state: `running` or `stopped`.
        answer: The number of the certificate's answer; before, of the current candidate, without
            any guarantee. None until the initial design is complete.
        answer_name: Its name.
        statistic: What the stopping rule has reached; None until the initial design is complete.
        threshold: What it has to reach.
        measurements: Results told.
        waiting: Of them, those that wait for the initial design.
        pending: Trials that are still waited for.
        failed: Trials that failed.
        pulls: Results told per arm.
        guarantee: What is promised about the answer, once the study has stopped.
        verdicts: What is known about each answer; none until the initial design is complete.
        warnings: What may void the guarantee.
        certificate: The proof, once the study has stopped.
    """

    name: str
    state: str
    answer: int | None
    answer_name: str | None
    statistic: float | None
    threshold: float | None
    measurements: int
    waiting: int
    pending: int
    failed: int
    pulls: tuple[int, ...]
    guarantee: str
    verdicts: tuple[AnswerVerdict, ...]
    warnings: tuple[str, ...]
    certificate: Certificate | None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return _plain(self)

    def __repr__(self) -> str:
        return f"Status({self.name!r}, {self._standing}; {self._counts})"

    def _repr_html_(self) -> str:
        proof = self.certificate
        return display.card(
            f"{self.name}: {proof.answer_name if proof else self.state}",
            display.line(
                _sentence(self.guarantee) if proof else f"When it stops: {self.guarantee}.",
                "" if proof is None or proof.proven else "warning",
            ),
            display.line(self._counts, "soft"),
            _warnings(self.warnings),
            self._gauge,
            _verdict_table(self.verdicts, proven=proof is None or proof.proven),
        )

    @property
    def _gauge(self) -> str:
        if self.statistic is None or self.threshold is None:
            return display.line("The initial design is not complete yet.")
        share = self.statistic / self.threshold if self.threshold > 0 else 0.0
        head = ("answer" if self.certificate else "leading", "statistic", "threshold", "")
        answer = self.answer_name or ""
        return display.table(head, [[answer, self.statistic, self.threshold, display.Bar(share)]])

    @property
    def _standing(self) -> str:
        if self.statistic is None or self.threshold is None:
            return f"{self.state}, initial design"
        reached = f"{self.statistic:.2f} of {self.threshold:.2f}"
        leads = "the answer is" if self.certificate else "leading is"
        return f"{self.state}, {leads} {self.answer_name!r}, {reached}"

    @property
    def _counts(self) -> str:
        return f"{self.measurements:,} measured, {self.pending:,} pending, {self.failed:,} failed"


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
    """

    median: float
    low: float
    high: float
    draws: int
    unfinished: int
    horizon: int
    measurements: int
    limit: float | None

    def to_dict(self) -> dict[str, Any]:
        """As plain data, for JSON."""
        return _plain(self)


def _plain(record: Any) -> dict[str, Any]:
    """Lists instead of tuples: equal to what is read back from JSON."""
    return json.loads(json.dumps(asdict(record)))  # type: ignore[no-any-return]


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}."


def _warnings(warnings: Sequence[str]) -> str:
    return "".join(display.line(f"Warning: {text}.", "warning") for text in warnings)


def _verdict_table(verdicts: Sequence[AnswerVerdict], *, proven: bool) -> str:
    """The best answers first. What a heuristic accepts is not called proven."""
    rows: list[list[display.Cell]] = []
    for each in sorted(verdicts, key=lambda each: -each.estimate):
        word = display.Toned(each.verdict, VERDICT_TONES.get(each.verdict, ""))
        if each.verdict == "proven" and not proven:
            word = display.Toned("accepted, not proven", "warning")
        rows.append([each.name, each.estimate, word])
    return display.table(("answer", "estimate", "within ε of the best"), rows)
