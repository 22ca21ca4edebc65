"""The protocol of a stopping test, documented once.

A test is a `start` and a `judge`, and as much of the rest as it needs:

    state = start(task, deltas, **options)        # plain Python; a NamedTuple of arrays
    observe(state, task, evidence, arm, reward)   # each measurement, once `evidence` has it
    answer, reached = judge(state, task, evidence, nominee, rule)
    score(state, task, evidence, nominee, rule)   # → Score: how near the nominee is, for a status
    excludes(state, task, evidence, z)            # → bool: whether z is certainly not ε-best
    region(state, task, evidence)                 # or → what its confidence set misses
    extent(state, task, evidence, rows)           # or → how far it goes: lows, highs of ⟨μ, y⟩
    within(state, task, evidence, z, relative=…)  # → the smallest ε' for which z is ε'-best
    width(stopping, task, rounds)                 # a squared radius, for rules that sample by one

The δ of `start` are in descending order, so confidence levels are reached in the order given.

`judge` is asked whenever the schedule wants a test: how many confidence levels are reached by now,
never fewer than `nominee.reached`, and with which answer, mostly `nominee.answer`. `rule` is the
state of the sampling rule, to be read by a test that belongs to one. All of them may write to the
test's own state and to scratch, to nothing else.

`within` is about all ε' ≥ ε at once and at all times, on the event on which the test is right: all
that it ever says is true with probability 1 − δ, whatever chooses time, answer and ε'. It is in the
units of the task, a share of the best value if it is to be `relative`, infinite if there is none.

`extent` is for a test whose confidence set has another form than `region` can say; of ⟨μ, y⟩ for
each row y it gives both ends, infinite for none. On the same event that set holds μ at all times.

`score`, `excludes`, `region`, `extent` and `within` are plain Python and get a copy of the state.
With `compiled=False` so are `observe`, `judge` and `width`; otherwise they are kernels, found in
compiled code by the type of the state.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

from furthest.kernels.linalg import Vector

# Whether a confidence set misses a half-space {λ : ⟨λ, y⟩ + e ≥ 0} that the estimate is outside of,
# by n², ‖y‖²_{V⁻¹} and ‖V⁻¹y‖² with n = ⟨m, y⟩ + e < 0. The sooner the larger n² and the smaller
# the other two are.
Misses = Callable[[float, float, float], bool]

Noise = Literal["sub-Gaussian", "Gaussian", "bounded", "any"]

# What e-values have as their score, on one scale; and the largest figure on it.
NATS = (
    "ln 1/δ' of the smallest δ' at which the test would accept by now, against ln 1/δ; "
    "negative while the data favour a rival"
)
MOST = 2.0**20


@dataclass(frozen=True)
class Guarantee:
    """What a test promises.

    Attributes:
        proven: Whether it is a theorem that the answer is not ε-best with probability at most δ …
        noise: … for this kind of noise.
        words: The same in words.

    Paper: PAC.
    """

    proven: bool
    noise: Noise
    words: str


class Score(NamedTuple):
    """How near an answer is to being accepted.

    Attributes:
        statistic: What it has reached. It is accepted …
        threshold: … where it reaches this.
        meaning: What the statistic is.
    """

    statistic: float
    threshold: float
    meaning: str


OWN = Guarantee(proven=False, noise="any", words="unknown: the user's own")
PROVEN = Guarantee(
    proven=True,
    noise="sub-Gaussian",
    words="proven (ε,δ)-PAC for sub-Gaussian noise, any sampling rule, any checking times",
)
PROVEN_UNKNOWN_SIGMA = Guarantee(
    proven=True,
    noise="Gaussian",
    words="proven (ε,δ)-PAC for Gaussian noise of unknown σ, any sampling rule, any checking times",
)


@dataclass(frozen=True)
class StoppingTest:
    """A stopping test and what is known about it.

    Attributes:
        name: How it is called.
        start: Makes the state before the first measurement.
        judge: Tells how many confidence levels are reached.
        observe: Takes in a measurement, if the test keeps account of its own.
        score: Tells how near an answer is to being accepted, if more than yes or no can be said.
        excludes: Tells whether an answer is certainly not ε-best, if the test can …
        region: … unless its confidence set tells so: which half-spaces are missed by it, see
            `Misses`. Then a look at many answers is one look.
        extent: Tells between which numbers values are, if the test has a confidence set and no
            `region`.
        within: Tells how near to the best an answer certainly is, if the test can.
        width: Gives a squared radius, if the test has one of its own.
        guarantee: What the test promises.
        what: The idea in a few words.
        source: Where it comes from.
        unknown_sigma: Its version for Gaussian noise of unknown σ, if there is one.
        bounded: Its version for bounded rewards of plain options, if there is one.
        bounded_linear: Its version for bounded rewards with features, if there is one.
        notions: What it can be used for.
        sampling: The only sampling rule that it goes with, if it belongs to one.
        needs_bound: Whether it rests on a bound on the parameter, which the problem must have; its
            `start` gets it as `smoothness`.
        check: Refuses bad options, before there is a task.
        compiled: Whether judge, observe and width are kernels.
        takes_sums: Whether `observe` also takes in the sum of several measurements of one arm, as
            many as `evidence.clock[Clock.SIZE]` says. Without `observe` that needs no care.
        judged: Which arrays of its state nobody but `judge` reads or changes: where measurements
            are only imagined, and nothing is judged, there need not be copies of them.
    """

    name: str
    start: Callable[..., Any]
    judge: Callable[..., tuple[int, int]]
    observe: Callable[..., None] | None = None
    score: Callable[..., Score] | None = None
    excludes: Callable[..., bool] | None = None
    region: Callable[..., Misses] | None = None
    extent: Callable[..., tuple[Vector, Vector]] | None = None
    within: Callable[..., float] | None = None
    width: Callable[..., float] | None = None
    guarantee: Guarantee = OWN
    what: str = ""
    source: str = "the user's own"
    unknown_sigma: "StoppingTest | None" = None
    bounded: "StoppingTest | None" = None
    bounded_linear: "StoppingTest | None" = None
    notions: tuple[str, ...] = ("additive", "multiplicative")
    sampling: str | None = None
    needs_bound: bool = False
    check: Callable[..., Any] | None = None
    compiled: bool = True
    takes_sums: bool = False
    judged: tuple[str, ...] = ()

    @property
    def bounded_only(self) -> bool:
        """Whether it is for bounded rewards of plain options, and for nothing else."""
        return self.guarantee.noise == "bounded"
