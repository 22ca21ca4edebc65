"""The paper's printed numbers: Jourdan & Degenne (2022), ε = 0.05, δ = 0.01, 5,000 runs each."""

# Tables 1 and 7: mean stopping times, arms {e1, e2}, the hard instance's four answers.
from furthest.axes import CandidateWord

CANDIDATES: tuple[CandidateWord, ...] = ("greedy", "furthest", "instantaneous-furthest")
BY_CANDIDATE: dict[str, dict[str, tuple[int, int, int]]] = {
    "multiplicative": {
        "lebai": (416, 383, 381),
        "eps-tas": (400, 371, 371),
        "fixed": (401, 374, 374),
        "uniform": (492, 450, 449),
    },
    "additive": {
        "lebai": (350, 318, 318),
        "eps-tas": (323, 298, 298),
        "fixed": (324, 300, 300),
        "uniform": (477, 434, 434),
    },
}

# Tables 5 and 8: mean pulls of the four arms of the hard instance, and their total.
PULLS: dict[str, dict[str, tuple[int, int, int, int, int]]] = {
    "multiplicative": {
        "lebai": (115, 247, 19, 3, 384),
        "lingame": (120, 239, 52, 12, 423),
        "dkm": (174, 223, 173, 175, 745),
        "lingape": (63, 349, 1, 1, 414),
        "g-static": (204, 227, 7, 19, 458),
        "xy-static": (223, 224, 1, 1, 449),
        "xy-adaptive": (82, 315, 1, 1, 399),
        "fixed": (96, 271, 1, 1, 370),
        "uniform": (214, 214, 214, 213, 856),
    },
    "additive": {
        "lebai": (77, 228, 13, 3, 321),
        "lingame": (112, 221, 49, 11, 393),
        "dkm": (169, 217, 168, 169, 723),
        "lingape": (47, 248, 1, 1, 297),
        "g-static": (196, 217, 7, 18, 438),
        "xy-static": (215, 217, 1, 1, 434),
        "xy-adaptive": (76, 236, 1, 1, 314),
        "fixed": (48, 251, 1, 1, 300),
        "uniform": (211, 211, 211, 210, 844),
    },
}

# Tables 4 and 6: mean stopping times with the algorithms' own stopping rules, which have ε = 0.
ORIGINAL: dict[str, int] = {"lingame": 151_473, "lingape": 121_716, "xy-adaptive": 263_806}

# What stands behind ± in the print: the deviation between means of sub-samples.
BY_CANDIDATE_SIGMA: dict[str, dict[str, tuple[int, int, int]]] = {
    "multiplicative": {
        "lebai": (13, 16, 17),
        "eps-tas": (14, 15, 15),
        "fixed": (14, 14, 14),
        "uniform": (16, 17, 17),
    },
    "additive": {
        "lebai": (14, 12, 13),
        "eps-tas": (12, 13, 13),
        "fixed": (10, 11, 11),
        "uniform": (15, 16, 16),
    },
}
PULLS_SIGMA: dict[str, dict[str, int]] = {
    "multiplicative": {
        "lebai": 17,
        "lingame": 16,
        "dkm": 29,
        "lingape": 16,
        "g-static": 18,
        "xy-static": 17,
        "xy-adaptive": 18,
        "fixed": 16,
        "uniform": 33,
    },
    "additive": {
        "lebai": 13,
        "lingame": 15,
        "dkm": 27,
        "lingape": 13,
        "g-static": 18,
        "xy-static": 17,
        "xy-adaptive": 12,
        "fixed": 11,
        "uniform": 33,
    },
}
# Tables 4 and 6 print larger deviations of the very same means: of sub-samples of 10 runs, not 100.
ORIGINAL_SIGMA: dict[str, int] = {"lingame": 18_082, "lingape": 14_771, "xy-adaptive": 36_896}
MODIFIED_SIGMA: dict[str, dict[str, int]] = {
    "multiplicative": {"lingame": 51, "lingape": 51, "xy-adaptive": 52},
    "additive": {"lingame": 49, "lingape": 39, "xy-adaptive": 38},
}
