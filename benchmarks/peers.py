"""Rounds per second beside public Python codes of the same rules, in one run.

    python benchmarks/peers.py --python PYTHON [--mislid CHECKOUT] [--fiez CHECKOUT]

CHECKOUT is a clone of github.com/clreda/misspecified-top-m (LinGame, LinGapE) or of
github.com/fiezt/Transductive-Linear-Bandit-Code (LinGapE); PYTHON is one that they run with: NumPy
before 1.25, SciPy, pandas, quadprog, cvxpy. Nothing of theirs is in here, and nothing is changed
but that the threshold is given to the first: GLR/2 > 2d ln(4 + ln(t/d)) + ln 1/δ, our `paper`. The
second has one of its own, with a ridge.

Two instances, best arms (ε = 0), σ = 1: `soare` with ω = .5, run until it stops, to see that it is
the same rule; and the arms of `hard`, cut off after so many rounds. Processor time, and the two
sides in turn, since the machine may be busy.
"""

import argparse
import json
import subprocess
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

import furthest as ft

DELTA = 0.01
ROUNDS = 2000  # of `hard`

# What runs in their Python: rounds and seconds of each run, as JSON.
MISLID = """
import contextlib, io, json, math, random, sys, time, warnings
warnings.simplefilter("ignore")
checkout, rule, data = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path.insert(0, checkout + "/code")
import numpy as np
import misspecified, problems
misspecified.complexity_limit = data["most"]
arms, mu = np.array(data["arms"]), np.array(data["mu"])
d = arms.shape[1]
problem = problems.gaussian(np.matrix(arms.T), (arms @ mu).tolist(), mu, {"sigma": 1.0})
def beta(t, *_):
    return 2 * d * math.log(4 + math.log(t / d)) + math.log(1 / data["delta"])
out = []
for seed in range(data["runs"]):
    np.random.seed(seed); random.seed(seed)
    method = getattr(misspecified, rule)({
        "m": 1, "sigma": 1.0, "epsilon": 0.0, "beta_linear": beta, "M": 1.0,
        "gain_type": "linear", "tracking_type": "C",
    })
    method.clear()
    with contextlib.redirect_stdout(io.StringIO()):
        started = time.process_time()
        _, rounds, wrong, _ = method.apply(problem)
    out.append([rounds, time.process_time() - started, int(wrong)])
print(json.dumps(out))
"""

FIEZ = """
import json, sys, time, types
checkout, rule, data = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
sys.path.insert(0, checkout)
sys.modules["mosek"] = types.ModuleType("mosek")  # imported, and not used by the greedy version
import numpy as np
import LIN_GAP_ELIM
out = []
class Enough(Exception):
    pass
class Rule(LIN_GAP_ELIM.LIN_GAP_ELIM):
    def pull(self, arm):
        if self.N > data["most"]:
            raise Enough
        return super().pull(arm)
for seed in range(data["runs"]):
    mu = np.array(data["mu"])[:, None]
    method = Rule(np.array(data["arms"]), mu, 0.0, data["delta"])
    started = time.process_time()
    try:
        method.algorithm(seed, greedy=True)
    except Enough:
        method.success = True
    out.append([int(method.N), time.process_time() - started, int(not method.success)])
print(json.dumps(out))
"""

Runs = list[list[float]]


def instances() -> dict[str, tuple[ft.Problem, list[float], int]]:
    """Name, question, μ, and after how many rounds a run is cut off."""
    soare, hard = ft.soare(0.0, "additive", omega=0.5), ft.hard()
    return {
        "soare, ω = .5": (soare.problem, soare.truth.tolist(), 10**7),
        f"hard, {ROUNDS:,} rounds": (
            ft.Problem(hard.problem.arms, eps=0.0),
            hard.truth.tolist(),
            ROUNDS,
        ),
    }


def theirs(
    python: str, program: str, checkout: Path, rule: str
) -> Callable[[ft.Problem, list[float], int, int], Runs]:
    """A rule of another code."""

    def run(problem: ft.Problem, mu: list[float], most: int, runs: int) -> Runs:
        data = {
            "arms": problem.arms.tolist(),
            "mu": mu,
            "delta": DELTA,
            "most": most,
            "runs": runs,
        }
        done = subprocess.run(
            [python, "-c", program, str(checkout), rule, json.dumps(data)],
            capture_output=True,
            text=True,
            check=True,
        )
        found: Runs = json.loads(done.stdout.splitlines()[-1])
        return found

    return run


def ours(strategy: ft.Strategy) -> Callable[[ft.Problem, list[float], int, int], Runs]:
    """The same rule of this package."""

    def run(problem: ft.Problem, mu: list[float], most: int, runs: int) -> Runs:
        runs *= 200  # they take no time
        found: Runs = []
        for again in range(2):  # the first may have to compile
            started = time.process_time()
            results = ft.simulate(
                problem, mu, strategy, DELTA, runs, seed=again, max_rounds=most, jobs=1
            )
            seconds = (time.process_time() - started) / runs
            times = np.where(results.stopped, results.stopping_times, most).ravel()
            wrong = ~results.correct.ravel()
            found = [[float(t), seconds, float(w)] for t, w in zip(times, wrong, strict=True)]
        return found

    return run


def line(name: str, found: Runs, most: int) -> None:
    """Rounds until the end, and the time of each."""
    rounds, seconds, wrong = np.array(found).T
    wrong *= rounds < most  # where it was not cut off
    each = 1e6 * seconds.sum() / rounds.sum()
    error = rounds.std(ddof=1) / np.sqrt(len(rounds))
    print(
        f"  {name:26s} {len(rounds):5d} runs {rounds.mean():8.0f} ± {error:4.0f} rounds"
        f" {each:9.2f} µs each {1e6 / each:12,.0f} per second  {int(wrong.sum())} wrong"
    )


def main() -> None:
    """All that there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--python", default="python3")
    parser.add_argument("--mislid", type=Path)
    parser.add_argument("--fiez", type=Path)
    parser.add_argument("--runs", type=int, default=20)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", ft.UnstoppedWarning)
    lingame = ft.Strategy("lingame", threshold="paper")
    lingape = ft.Strategy("lingape", stopping="gap", threshold="paper")
    sides = {"LinGame, furthest": ours(lingame), "LinGapE, furthest": ours(lingape)}
    if arguments.mislid:
        for rule in ("LinGame", "LinGapE"):
            sides[f"{rule}, misspecified-top-m"] = theirs(
                arguments.python, MISLID, arguments.mislid, rule
            )
    if arguments.fiez:
        sides["LinGapE, Fiez et al."] = theirs(arguments.python, FIEZ, arguments.fiez, "LinGapE")
    for name, (problem, mu, most) in instances().items():
        print(f"{name}; δ = {DELTA}")
        for side in sorted(sides):
            line(side, sides[side](problem, mu, most, arguments.runs), most)


if __name__ == "__main__":
    main()
