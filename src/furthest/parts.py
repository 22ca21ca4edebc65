"""The parts of a strategy, as data: what each is, where it comes from, what it guarantees.

The command line, the documentation and the checks all read from here.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Part:
    """One choice along one axis of a strategy."""

    name: str
    what: str
    source: str
    guarantee: str = ""
    proven: bool = False


PAPER = "Jourdan & Degenne (2022)"


def _table(*parts: Part) -> dict[str, Part]:
    return {part.name: part for part in parts}


CANDIDATES = _table(
    Part(
        "instantaneous-furthest",
        "the ε-best answer with the largest GLR statistic",
        f"{PAPER}, section 4.1",
    ),
    Part(
        "furthest",
        "the exact furthest answer z_F(μ_t), the easiest to verify under the estimate",
        f"{PAPER}, section 3; solver: docs/solver.md",
    ),
    Part("greedy", "the answer of largest estimated value", f"{PAPER}, section 4.1"),
)

STOPPINGS = _table(
    Part("glr", "the candidate's evidence exceeds the threshold", f"{PAPER}, equation 2"),
    Part(
        "top-wrong",
        "one-sided e-process against the best-valued wrong answer; no price for the dimension",
        "docs/theory/top-wrong.md",
        "proven (ε,δ)-PAC for sub-Gaussian noise, any sampling rule, any checking times",
        proven=True,
    ),
    Part(
        "gap",
        "no answer may still beat the candidate by more than ε, by the threshold as a width",
        "Xu, Honda & Sugiyama (2018), LinGapE; additive notion",
    ),
    Part(
        "elimination",
        "the sampling rule has eliminated all answers but one",
        "Soare, Lazaric & Munos (2014), 𝒳𝒴-Adaptive; ε = 0",
    ),
)

THRESHOLDS = _table(
    Part(
        "mixture",
        "e-value: Gaussian mixture over three prior scales, minimised over the alternatives",
        "method of mixtures (Robbins 1970; Abbasi-Yadkori, Pál & Szepesvári 2011); docs/theory.md",
        "proven (ε,δ)-PAC for sub-Gaussian noise, any sampling rule, any checking times",
        proven=True,
    ),
    Part(
        "theory",
        "GLR > 2β, β(t,δ) = 2K ln(4 + ln(t/K)) + K·C_G(ln(1/δ)/K)",
        f"{PAPER}, lemma 4.1, from Kaufmann & Koolen (2021)",
        "proven (ε,δ)-PAC for Gaussian noise, any sampling rule, any checking times",
        proven=True,
    ),
    Part(
        "paper",
        "GLR > 4 ln((4 + ln(t/2))/δ)",
        f"{PAPER}, section 5: the threshold that reproduces the printed tables",
        "heuristic: no proof; the authors' experiments use it",
    ),
)

SCHEDULES = _table(
    Part("every", "renew the candidate and test at every round", f"{PAPER}, section 4"),
    Part(
        "sticky",
        "renew the candidate on a grid of rounds, or when it is not ε-best; test at every round",
        f"{PAPER}, appendix on computational relaxations",
    ),
    Part(
        "lazy",
        "renew the candidate and test on a grid of rounds",
        f"{PAPER}, appendix on computational relaxations",
    ),
)

GRIDS = _table(
    Part("constant", "every start rounds (10)", PAPER),
    Part("geometric", "from start (10), each round ⌈(1 + ratio)·last⌉ (0.2)", PAPER),
    Part("decreasing", "the same with ratio/√i at the i-th step", PAPER),
    Part("bernoulli", "each round with probability p (0.1)", PAPER),
)

TRACKINGS = _table(
    Part("C", "pull the arm most behind the sum of all weights", "Garivier & Kaufmann (2016)"),
    Part(
        "D", "pull the arm most behind t times this round's weights", "Garivier & Kaufmann (2016)"
    ),
)


@dataclass(frozen=True)
class Conflict:
    """A combination that is refused: one value along each of several axes, and why."""

    where: dict[str, tuple[str, ...]]
    reason: str


CONFLICTS = (
    Conflict(
        {"stopping": ("gap",), "notion": ("multiplicative",)},
        "the gap rule compares differences with ε: it needs the additive notion",
    ),
    Conflict(
        {"stopping": ("gap", "elimination"), "threshold": ("mixture",)},
        "an e-value is no width: gap and elimination need the threshold theory or paper",
    ),
    Conflict(
        {"sigma": ("unknown",), "threshold": ("theory", "paper")},
        "for unknown σ only mixture and top-wrong have a version",
    ),
    Conflict(
        {"stopping": ("top-wrong",), "threshold": tuple(THRESHOLDS)},
        "top-wrong is a test of its own and uses no threshold of the GLR",
    ),
)


ELIMINATION = "only xy-adaptive eliminates answers: the stopping rule elimination is its own"


def conflict(choices: dict[str, str]) -> str:
    """Why this combination is refused; empty if it is not."""
    for rule in CONFLICTS:
        if all(choices.get(axis) in values for axis, values in rule.where.items()):
            return rule.reason
    if choices.get("stopping") == "elimination" and choices.get("sampling") != "xy-adaptive":
        return ELIMINATION
    return ""
