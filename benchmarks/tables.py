"""The paper's tables 1, 4, 5, 6, 7 and 8 again, each cell beside the printed one.

python benchmarks/tables.py                  5,000 runs a cell, 400 for tables 4 and 6
python benchmarks/tables.py --runs 1000 --jobs 2 --skip-original
"""

import argparse

import furthest as ft
from furthest import paper
from furthest.problem import Problem
from furthest.results import Summary

DELTA = 0.01
# Which stopping rule is each algorithm's own.
OWN = {
    "lingame": ("glr", "greedy"),
    "lingape": ("gap", "greedy"),
    "xy-adaptive": ("elimination", "greedy"),
}


def row(label: str, ours: Summary, printed: float) -> str:
    """One cell: ours, printed, difference in per cent."""
    off = 100 * (ours.mean / printed - 1)
    mark = "" if abs(off) <= 5 else "  <-- more than 5 %"
    return f"{label:<34}{ours.mean:>11.1f} ± {ours.sem:<8.1f}{printed:>8.0f}{off:>8.1f} %{mark}"


def by_candidate(runs: int, jobs: int) -> None:
    """Tables 1 and 7: candidate answers."""
    for notion, rules in paper.BY_CANDIDATE.items():
        print(f"\narms e1, e2; {notion}\n{'':<34}{'ours':>11}   {'s.e.':<8}{'paper':>8}{'off':>8}")
        instance = ft.hard(notion=notion, arms="basis")
        for name, printed in rules.items():
            for candidate, number in zip(paper.CANDIDATES, printed, strict=True):
                strategy = ft.Strategy(name, candidate, threshold="paper")
                results = ft.simulate(
                    instance.problem, instance.truth, strategy, DELTA, runs, jobs=jobs
                )
                print(row(f"{name}, {candidate}", results.summary()[0], number), flush=True)


def pulls(runs: int, jobs: int) -> None:
    """Tables 5 and 8: pulls per arm."""
    for notion, rules in paper.PULLS.items():
        print(
            f"\nall four arms; {notion}\n{'':<34}{'ours':>11}   {'s.e.':<8}{'paper':>8}{'off':>8}"
        )
        instance = ft.hard(notion=notion)
        for name, printed in rules.items():
            strategy = ft.Strategy(name, threshold="paper")
            results = ft.simulate(
                instance.problem, instance.truth, strategy, DELTA, runs, jobs=jobs
            )
            summary = results.summary()[0]
            print(row(name, summary, printed[-1]))
            mine = ", ".join(f"{value:.0f}" for value in summary.pulls)
            theirs = ", ".join(str(value) for value in printed[:-1])
            print(f"    pulls {mine}  (printed {theirs})", flush=True)


def original(runs: int, jobs: int) -> None:
    """Tables 4 and 6: the algorithms' own stopping rules, at ε = 0."""
    print(f"\nown stopping rules, ε = 0\n{'':<34}{'ours':>11}   {'s.e.':<8}{'paper':>8}{'off':>8}")
    instance = ft.hard()
    problem = Problem(instance.problem.arms, eps=0.0, notion="additive")
    for name, printed in paper.ORIGINAL.items():
        stopping, candidate = OWN[name]
        strategy = ft.Strategy(name, candidate, stopping, "paper")
        results = ft.simulate(problem, instance.truth, strategy, DELTA, runs, jobs=jobs)
        print(row(f"{name}, {stopping}", results.summary()[0], printed), flush=True)


def main() -> None:
    """All tables."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=5000)
    parser.add_argument("--original-runs", type=int, default=400)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--skip-original", action="store_true")
    arguments = parser.parse_args()
    by_candidate(arguments.runs, arguments.jobs)
    pulls(arguments.runs, arguments.jobs)
    if not arguments.skip_original:
        original(arguments.original_runs, arguments.jobs)


if __name__ == "__main__":
    main()
