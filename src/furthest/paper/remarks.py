"""What must be said beside the numbers: differences explained, and misprints found in the paper."""

from typing import NamedTuple


class Misprint(NamedTuple):
    """Something in the paper that cannot be as it is printed."""

    what: str
    why: str


# By entry.
REMARKS: dict[str, str] = {}

MISPRINTS = (
    Misprint(
        "Threshold of the experiments",
        "The appendix prints β = 4 ln((4 + ln(t/2))/δ) together with the test “statistic > 2β”. "
        "That takes about twice the printed stopping times. The tables come out with statistic > "
        "4 ln((4 + ln(t/2))/δ), which is the threshold called `paper` here.",
    ),
    Misprint(
        "C_G of the theoretical threshold",
        "A minimum over λ, printed as a maximum, which would be infinite.",
    ),
    Misprint(
        "Exploration bonus",
        "f(t) = 2β(t, t^(1/α)) must read t^(−α): the proofs use t^(−α).",
    ),
    Misprint(
        "Limit of T_ε in the lemma on hard best-answer instances",
        "w*(a) = 1/(1 + √a) for every a > 0; the printed root has the wrong discriminant and "
        "leaves (0, 1) for a < 1. A factor 2 is missing as well: for ‖μ‖ = 1 the limits are "
        "2(1 + √(d−1))²/(1+ε)² (additive) and 2(1 + (1−ε)√(d−1))² (multiplicative).",
    ),
    Misprint(
        "“Computing T_ε is intractable”",
        "Not where every parameter is possible: for a fixed answer the problem is concave in the "
        "proportions, and figures 1 and 8 here are solved to certified precision.",
    ),
    Misprint(
        "± in tables 4 and 6",
        "The same means (423, 414, 399; 393, 297, 314) carry ± 51, 51, 52; 49, 39, 38 there and "
        "± 16, 16, 18; 15, 13, 12 in tables 5 and 8. The deviation of one run over √100 gives the "
        "latter, over √10 the former: sub-samples of 10 runs, not of 100 as the text says.",
    ),
    Misprint(
        "LεBAI, LinGapE and XY-Adaptive in the additive notion",
        "The text says that LεBAI slightly outperforms the other two; table 8 itself prints 321 "
        "against 297 and 314.",
    ),
)
