"""The frozen runs: what every rule decided, pull by pull, before the house was redesigned.

python tests/data/runs.py FILE        write what the package decides now

`runs.json` was written by version 0.1.0 as first landed (commit 8d2ceb6). It is never written
again for the same cases: a change of what is decided must be meant, and said. One was: where σ is
unknown, lebai, lingame, dkm, lingape, xy-adaptive, sticky-tas and fws sample with an estimate of σ
instead of σ = 1; those 28 cases are from commit d987c7a. Those of softmin and of ranked were added
when they became the default, those of bounded rewards when they got tests of their own.
"""

import hashlib
import json
import sys
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np

import furthest as ft

HERE = Path(__file__).parent
RULES = (
    "lebai",
    "eps-tas",
    "fixed",
    "uniform",
    "lingame",
    "dkm",
    "lingape",
    "xy-static",
    "g-static",
    "xy-adaptive",
    "lazy-tas",
    "sticky-tas",
    "fws",
)
STOPPINGS: dict[str, dict[str, str]] = {
    "top-wrong": {"stopping": "top-wrong"},
    "mixture": {"stopping": "glr", "threshold": "mixture"},
    "theory": {"stopping": "glr", "threshold": "theory"},
    # As they were when the cases were frozen.
    "paper": {"stopping": "glr", "threshold": "paper-0.4"},
    "gap": {"stopping": "gap", "threshold": "paper-0.4"},
}
LATER = (
    ("softmin", "ranked"),
    ("softmin", "top-wrong"),
    ("lebai", "ranked"),
    ("uniform", "ranked"),
)
BOUNDED: dict[str, dict[str, Any]] = {
    "yes or no": {"noise": "bernoulli"},
    "within bounds": {"bounds": (0.0, 1.0)},
}
NOTIONS = ("additive", "multiplicative")
RUNS, MOST = 3, 4000

Case = tuple[str, dict[str, Any], dict[str, Any]]


def cases() -> Iterator[Case]:
    """(name, strategy, question) of every case."""
    for notion in NOTIONS:
        for rule in RULES:
            for name, words in STOPPINGS.items():
                if name == "gap" and notion == "multiplicative":
                    continue
                yield f"{rule}, {name}, {notion}", {"sampling": rule, **words}, {"notion": notion}
            for name in ("top-wrong", "mixture"):
                words = {"sampling": rule, **STOPPINGS[name]}
                yield (
                    f"{rule}, {name}, {notion}, σ unknown",
                    words,
                    {"notion": notion, "sigma": None},
                )
        words = {"sampling": "xy-adaptive", "stopping": "elimination", "threshold": "paper-0.4"}
        yield f"xy-adaptive, elimination, {notion}", words, {"notion": notion}
        for candidate in ("greedy", "furthest"):
            for name in ("top-wrong", "mixture"):
                words = {"sampling": "lebai", "candidate": candidate, **STOPPINGS[name]}
                yield f"lebai, {candidate}, {name}, {notion}", words, {"notion": notion}
        for schedule in (
            "sticky:geometric",
            "sticky:bernoulli,p=0.3",
            "lazy:constant,start=7",
            "lazy:decreasing",
        ):
            for name in ("top-wrong", "mixture"):
                words = {"sampling": "lebai", "schedule": schedule, **STOPPINGS[name]}
                yield f"lebai, {schedule}, {name}, {notion}", words, {"notion": notion}
        options: dict[str, Any] = {"z_oracle": "furthest", "forced": False, "tracking": "D"}
        chosen: dict[str, Any] = {"sampling": "lebai", "options": options}
        yield (
            f"lebai, exact oracle, D-tracking, {notion}",
            chosen | STOPPINGS["mixture"],
            {"notion": notion},
        )

    yield from _later()


def _later() -> Iterator[Case]:
    for notion, (rule, test), sigma in product(NOTIONS, LATER, (1.0, None)):
        name = f"{rule}, {test}, {notion}{'' if sigma else ', σ unknown'}"
        yield name, {"sampling": rule, "stopping": test}, {"notion": notion, "sigma": sigma}
    for notion, rule, (name, noise) in product(NOTIONS, ("softmin", "uniform"), BOUNDED.items()):
        words = {"sampling": rule, "stopping": "ranked"}
        yield f"{rule}, ranked, {notion}, {name}", words, {"notion": notion, **noise}


def asked(question: dict[str, Any]) -> Iterator[tuple[str, ft.Problem, Any]]:
    """Two questions of a kind: name, problem and truth."""
    if "noise" in question or "bounds" in question:
        factors = {"one": ["a", "b"], "other": ["c", "d"]}
        plain = ft.Problem.options(["A", "B", "C"], eps=0.15, **question)
        yield "options", plain, np.array([0.8, 0.6, 0.3])
        yield "factorial", ft.Problem.factorial(factors, eps=0.15, **question), [0.4, 0.3, 0.2]
        return
    for instance in (ft.hard(eps=0.1), ft.random(d=3, arms=6, seed=2, eps=0.3)):
        problem = ft.Problem(
            instance.problem.arms,
            eps=instance.problem.eps,
            notion=question["notion"],
            sigma=question.get("sigma", 1.0),
        )
        yield instance.name, problem, instance.truth


def decided(strategy: dict[str, Any], question: dict[str, Any]) -> dict[str, Any]:
    """Stopping times and answers at two levels, pulls of every run; on two instances."""
    found: dict[str, Any] = {}
    for name, problem, truth in asked(question):
        chosen = ft.Strategy(**strategy)
        deltas = 0.05 if chosen.rule.depends_on_delta else (0.2, 0.05)
        results = ft.simulate(problem, truth, chosen, deltas, RUNS, seed=7, max_rounds=MOST)
        pulls = np.ascontiguousarray(results.pulls, "<i8").tobytes()
        found[name] = {
            "times": results.stopping_times.tolist(),
            "answers": results.answers.tolist(),
            "pulls": hashlib.sha256(pulls).hexdigest()[:16],
        }
    return found


def main(path: Path) -> None:
    frozen = {}
    for name, strategy, question in cases():
        frozen[name] = decided(strategy, question)
        print(name, flush=True)
    path.write_text(json.dumps(frozen, indent=0, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
