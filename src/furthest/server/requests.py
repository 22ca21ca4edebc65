"""What the API takes and gives, in types: its OpenAPI document is made from them."""

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from furthest.study.ledger import MOST_OUTCOMES
from furthest.study.study import DAY, MOST_TRIALS

# Integers that SQLite, PostgreSQL and the logs can hold.
LARGEST = 2**53

Count = Annotated[int, Field(ge=1, le=LARGEST)]
Text = Annotated[str, Field(max_length=10_000)]


class Body(BaseModel):
    """Of a request: nothing that is unknown, and no number in place of a text."""

    model_config = ConfigDict(extra="forbid", strict=True)


class Create(Body):
    """A new study. What is asked can never be changed."""

    name: Annotated[str, Field(min_length=1, max_length=200)]
    problem: Annotated[
        dict[str, Any],
        Field(
            description="As in a TOML file: `options`, `factors`, `arms` or `graph`, with `eps`, "
            "`notion`, `sigma` (null or `unknown`: unknown), `noise`, `bounds`, `costs`, …",
            examples=[{"options": ["A", "B"], "eps": 0.05, "sigma": 1.0}],
        ),
    ]
    delta: Annotated[float, Field(gt=0, lt=1)] = 0.01
    strategy: Annotated[
        dict[str, Any],
        Field(description="Words for `sampling`, `stopping`, `threshold`, …; see `furthest rules`"),
    ] = {}
    seed: Annotated[int, Field(ge=0, le=LARGEST)] = 0
    lease: Annotated[float, Field(gt=0, allow_inf_nan=False)] = DAY
    order: Literal["asked", "told"] | None = None
    budget: Count | None = None
    exist_ok: Annotated[
        bool, Field(description="Open the study of this name if it asks the same question.")
    ] = False


class Ask(Body):
    """What to measure next: `n` trials, or one for each arm that gets a share of a `batch`."""

    n: Annotated[int, Field(ge=1, le=MOST_TRIALS)] | None = None
    batch: Annotated[int, Field(ge=1, le=MOST_OUTCOMES)] | None = None
    worker: Annotated[Text | None, Field(description="Who will measure them.")] = None


class Result(Body):
    """A `value`; or of several `successes` of `n`, or their `mean`, `n` and `sd` or `sem`."""

    value: float | None = None
    successes: Annotated[int, Field(ge=0, le=MOST_OUTCOMES)] | None = None
    mean: float | None = None
    n: Annotated[int, Field(ge=1, le=MOST_OUTCOMES)] | None = None
    sd: float | None = None
    sem: float | None = None

    def fields(self) -> dict[str, Any]:
        """What was given, as `Study.tell_many` takes it."""
        return self.model_dump(exclude_none=True)


class Tell(Result):
    """The result of a trial. The same one again changes nothing."""

    trial: Text


class Add(Result):
    """A measurement that nobody asked for. With an `id` of yours it is added once."""

    arm: int | Text
    id: Text | None = None
    measured_at: Annotated[
        float | None, Field(description="In seconds since 1970.", allow_inf_nan=False)
    ] = None


class Results(Body):
    """Results of trials, or of arms: all of them are written, or none."""

    results: Annotated[list[Tell | Add], Field(max_length=100_000)]


class Fail(Body):
    """There will be no result for a trial."""

    trial: Text
    reason: Text = ""


class Extend(Body):
    """A greater budget, what is measured already included."""

    budget: Count


class Reply(BaseModel):
    """Of a response: its fields may become more, but keep their names."""

    model_config = ConfigDict(extra="allow")


class Problem(Reply):
    """Why not, for programs in `type`, and what to do in words in `detail`."""

    type: str
    title: str
    status: int
    detail: str


class TrialReply(Reply):
    """One measurement to make."""

    id: str
    arm: int
    name: str
    size: int


class Trials(Reply):
    """What to measure next."""

    trials: list[TrialReply]


class Told(Reply):
    """The ids of what is safe now."""

    ids: list[str]


class Line(Reply):
    """A study in the list."""

    name: str
    state: Literal["running", "stopped", "inconclusive", "damaged"]
    answer: int | None
    answer_name: str | None
    eps: float | None
    notion: str | None
    delta: float | None
    arms: int | None
    measurements: int | None
    pending: int | None
    error: str | None
    budget: int | None
    created_at: float | None
    changed_at: float | None


class Studies(Reply):
    """All studies of the storage."""

    studies: list[Line]


class Verdict(Reply):
    """What is known about one answer."""

    answer: int
    name: str
    estimate: float
    within_eps: bool
    verdict: Literal["accepted", "possible", "ruled out"]


class Condition(Reply):
    """Something that the guarantee rests on."""

    name: str
    needs: str
    standing: Literal["holds", "assumed", "in doubt", "refuted"]
    evidence: str


class Document(Reply):
    """What certificates and conclusions have in common."""

    study: str
    answer: int | None
    answer_name: str | None
    delta: float
    guarantee: str
    standing: Literal["proven", "proven if", "not proven"]
    proven: bool
    conditions: list[Condition]
    verdicts: list[Verdict]
    measurements: int
    pulls: list[int]
    added: int
    failed: int
    order: str
    warnings: list[str]
    strategy: dict[str, Any]
    problem: dict[str, Any]
    created_at: float
    log_events: int
    log_digest: str
    chained_from: int | None
    cost: float | None
    version: str


class Certificate(Document):
    """The proof."""

    answer: int
    answer_name: str
    contenders: list[int]
    statistic: float
    threshold: float
    meaning: str
    stopped_at: float


class Conclusion(Document):
    """What is proven where the budget is spent and there is no answer."""

    certified_eps: float | None
    eps: float
    notion: str
    budget: int
    remaining: list[int]
    ended_at: float


class OpenTrial(Reply):
    """A trial that is still waited for."""

    id: str
    arm: int
    at: float
    worker: str


class Shown(Reply):
    """Where a study stands."""

    name: str
    state: Literal["running", "stopped", "inconclusive"]
    answer: int | None
    answer_name: str | None
    statistic: float | None
    threshold: float | None
    measurements: int
    waiting: int
    surplus: int
    pending: int
    failed: int
    pulls: list[int]
    guarantee: str
    promise: str
    standing: str | None
    verdicts: list[Verdict]
    warnings: list[str]
    certificate: Certificate | None
    chained_from: int | None
    budget: int | None
    conclusion: Conclusion | None
    cost: float | None
    trials: list[OpenTrial]


class Measured(Reply):
    """One result, as told."""

    id: str
    arm: int
    name: str
    value: float
    at: float
    asked: bool
    size: int
    sd: float | None


class History(Reply):
    """Some results, in the order told; from `next` on there are more."""

    measurements: list[Measured]
    next: int | None


class Foreseen(Reply):
    """How many more measurements are to be expected; null where there is nothing to go by."""

    median: float
    low: float
    high: float
    draws: int
    unfinished: int
    horizon: int
    measurements: int
    limit: float | None
    left: int | None
    within_budget: float | None
    warning: str


class Foresight(Reply):
    """The futures of a study."""

    foresight: Foreseen | None


class Verified(Reply):
    """What a log led to when all was done again."""

    verified: Literal[True]
    state: Literal["running", "stopped", "inconclusive"]
    standing: str | None
    warnings: list[str]
    measurements: int
    chained_from: int | None
    signed_by: str | None
    certificate: Certificate | None
    conclusion: Conclusion | None
