"""Random problems of all shapes through the design solver; counts what must not happen.

    python benchmarks/fuzz_design.py --problems 10000 --seed 0

Exit code 1 if a bracket was crossed, wider than asked, or did not hold in plain NumPy.
"""

import argparse
import math
import sys
import time
from collections import Counter
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from furthest.kernels.design import Allocation, solve
from oracles.designs import Case, random_case, whitened


def verdict(case: Case, design: Allocation, gap: float) -> str:
    """What became of a problem."""
    if design.upper == 0.0:
        return "value 0"
    if math.isinf(design.lower):
        return "value infinite"
    if not design.lower <= design.upper:
        return "CROSSED"
    if design.iterations < 0 or design.upper - design.lower > gap * design.lower:
        return "WIDER THAN ASKED"
    arms, answers = whitened(case.arms, case.answers)
    y = answers[case.z] - case.c * answers
    margins = case.values[case.z] - case.c * case.values + case.e
    information = (arms.T * design.weights) @ arms
    far = np.linalg.norm(y, axis=1) > 1e-12 * (1.0 + np.linalg.norm(answers[case.z]))
    far[case.z] = False
    norms = np.sum(y[far] * np.linalg.lstsq(information, y[far].T, rcond=None)[0].T, axis=1)
    reached = np.min(margins[far] ** 2 / norms)
    return "certified" if abs(reached / design.lower - 1) < 1e-6 else "NOT CONFIRMED BY NUMPY"


def main() -> int:
    """Fuzz, report, and say whether all went well."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--gap", type=float, default=1e-8)
    parser.add_argument("--dimension", type=int, default=8, help="largest dimension")
    parser.add_argument("--size", type=int, default=30, help="largest number of arms and answers")
    options = parser.parse_args()
    rng = np.random.default_rng(options.seed)
    verdicts: Counter[str] = Counter()
    steps, gaps, seconds = [], [], 0.0
    for number in range(options.problems):
        case = random_case(rng, options.dimension, options.size)
        started = time.perf_counter()
        design = solve(*case, options.gap)
        seconds += time.perf_counter() - started if number else 0.0
        found = verdict(case, design, options.gap)
        verdicts[found] += 1
        if found.isupper():
            width = design.upper / design.lower - 1 if design.lower > 0 else math.inf
            shape = f"K={len(case.arms)} Z={len(case.answers)} d={case.arms.shape[1]}"
            print(f"problem {number}: {found}, {shape}, gap {width:.2g}")
        elif found == "certified":
            steps.append(abs(design.iterations))
            gaps.append(design.upper / design.lower - 1)
    print(
        f"{options.problems} problems, seed {options.seed}, gap {options.gap:g}: {dict(verdicts)}"
    )
    print(
        f"Newton steps: mean {np.mean(steps):.1f}, 99% {np.percentile(steps, 99):.0f}, "
        f"most {max(steps)}; widest bracket {max(gaps):.2e}; "
        f"{1e3 * seconds / options.problems:.3f} ms per problem"
    )
    return int(any(found.isupper() for found in verdicts))


if __name__ == "__main__":
    sys.exit(main())
