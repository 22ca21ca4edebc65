"""Stopping times and cost per round of `top-wrong` beside `mixture` and `paper`.

All rules are judged on the same trajectories: LεBAI samples without looking at the stopping rule.

    python benchmarks/topwrong.py times hard --runs 2000
    python benchmarks/topwrong.py times random:d=12 --instances 20 --runs 30
    python benchmarks/topwrong.py cost
"""

import argparse
import time
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.random import PCG64, Generator, SeedSequence

from furthest.files import find_instance
from furthest.instances import Instance
from furthest.kernels.answers import instantaneous_furthest
from furthest.kernels.evidence import READY, ROUNDS, Evidence, no_evidence, record
from furthest.kernels.jit import kernel
from furthest.kernels.linalg import Counts, Vector
from furthest.kernels.stopping import Stopping
from furthest.kernels.task import Task
from furthest.kernels.thresholds import GLR, MIXTURE, Threshold, levels_met, threshold
from furthest.kernels import normal_gamma
from furthest.kernels.normal_gamma import NormalGamma, Shapes
from furthest.kernels.topwrong import TopWrong, met, observe, top_wrong
from furthest.sampling import lebai
from furthest.sampling.lebai import Lebai, choose
from furthest.strategy import Strategy

RULES = ("paper", "mixture", "top-wrong", "mixture, σ unknown", "top-wrong, σ unknown")

mixture_unknown_met = normal_gamma.levels_met
mixture_unknown_observe = normal_gamma.observe


@kernel
def trajectory(
    task: Task,
    evidence: Evidence,
    stopping: Stopping,
    rule: Lebai,
    paper: Threshold,
    mixture: Threshold,
    state: TopWrong,
    mixture_unknown: NormalGamma,
    unknown: TopWrong,
    used: Counts,
    means: Vector,
    noise: Generator,
    until: int,
    done: Counts,
    times: Counts,
    answers: Counts,
) -> None:
    """One run until every rule in use has reached every level, or for `until` rounds."""
    levels = times.shape[1]
    while evidence.clock[ROUNDS] < until:
        arm = -1
        if evidence.clock[READY] == 0:
            arm = task.initial[evidence.clock[ROUNDS]]
        else:
            z, glr = instantaneous_furthest(task, evidence)
            open_rules = 0
            for i in range(5):
                if used[i] == 0 or done[i] == levels:
                    continue
                before = done[i]
                if i == 0:
                    done[i] = levels_met(paper, task, evidence, z, glr, before)
                elif i == 1:
                    done[i] = levels_met(mixture, task, evidence, z, glr, before)
                elif i == 2:
                    while done[i] < levels and met(state, task, evidence, z, done[i]):
                        done[i] += 1
                elif i == 3:
                    done[i] = mixture_unknown_met(mixture_unknown, task, evidence, z, glr, before)
                else:
                    while done[i] < levels and met(unknown, task, evidence, z, done[i]):
                        done[i] += 1
                for level in range(before, done[i]):
                    times[i, level] = evidence.clock[ROUNDS]
                    answers[i, level] = z
                if done[i] < levels:
                    open_rules += 1
            if open_rules == 0:
                return
            arm = choose(rule, task, evidence, stopping)
        reward = means[arm] + noise.standard_normal()
        record(task, evidence, arm, reward)
        if used[2]:
            observe(state, task, evidence, arm, reward)
        if used[3]:
            mixture_unknown_observe(mixture_unknown, task, evidence, arm, reward)
        if used[4]:
            observe(unknown, task, evidence, arm, reward)


def simulate(
    instance: Instance,
    deltas: Sequence[float],
    runs: int,
    seed: int,
    used: Sequence[str] = RULES,
    until: int = 10_000_000,
    unknown: dict[str, Any] | None = None,
    **known: Any,
) -> tuple[Counts, Counts, float, int]:
    """Times and answers (runs, rules, levels), seconds, rounds."""
    task = instance.problem.task
    means = task.arms @ instance.problem.whiten(instance.truth)
    logs = [float(np.log(1 / delta)) for delta in deltas]
    times = np.zeros((runs, len(RULES), len(deltas)), np.int64)
    answers = np.zeros_like(times)
    flags = np.array([rule in used for rule in RULES], np.int64)
    stopping = Strategy().prepare(task, deltas)().stopping
    seconds, rounds = 0.0, 0
    for number in range(-1, runs):  # run −1 compiles
        noise = Generator(PCG64(SeedSequence(seed, spawn_key=(max(number, 0), 0))))
        evidence = no_evidence(task)
        arguments = (
            task,
            evidence,
            stopping,
            lebai.start(task),
            threshold(task, GLR, 4.0, 2.0, [4 * log for log in logs]),
            threshold(task, MIXTURE, 0.0, 1.0, logs),
            top_wrong(task, deltas, **known),
            normal_gamma.normal_gamma(task, deltas),
            top_wrong(task, deltas, **(unknown or {"shapes": Shapes()})),
            flags,
            means,
            noise,
            until if number >= 0 else 0,
            np.zeros(len(RULES), np.int64),
            times[max(number, 0)],
            answers[max(number, 0)],
        )
        started = time.perf_counter()
        trajectory(*arguments)
        if number >= 0:
            seconds += time.perf_counter() - started
            rounds += int(evidence.clock[ROUNDS])
    return times, answers, seconds, rounds


def _times(name: str, options: argparse.Namespace) -> None:
    """Mean stopping times with standard errors; over several instances, their mean ratio to `paper`."""
    deltas = sorted(options.delta, reverse=True)
    for notion in options.notion:
        collected = []
        wrong = np.zeros((len(RULES), len(deltas)), int)
        for number in range(options.instances):
            text = name if options.instances == 1 else f"{name},seed={number}"
            instance = find_instance(text, eps=options.eps, notion=notion)
            times, answers, _, _ = simulate(instance, deltas, options.runs, options.seed + number)
            right = instance.problem.near_best(instance.truth)
            wrong += (~right[answers]).sum(axis=0)
            collected.append(times)
        means = np.array([times.mean(axis=0) for times in collected])  # (instances, rules, levels)
        variances = np.array([times.var(axis=0, ddof=1) / options.runs for times in collected])
        errors = np.sqrt(variances.sum(axis=0)) / len(collected)
        print(f"{name} {notion}: {options.instances} instance(s) × {options.runs} runs")
        for level, delta in enumerate(deltas):
            ratios = means[:, 2, level] / means[:, 0, level]
            to_mixture = means[:, 2, level] / means[:, 1, level]
            cells = "  ".join(
                f"{rule} {means[:, i, level].mean():.1f} ± {errors[i, level]:.1f} "
                f"({wrong[i, level]} wrong)"
                for i, rule in enumerate(RULES)
            )
            print(
                f"  δ={delta:g}: {cells}  top-wrong/paper {ratios.mean():.3f}"
                f"  top-wrong/mixture {to_mixture.mean():.3f}",
                flush=True,
            )


def _cost(options: argparse.Namespace) -> None:
    """Microseconds per round, the sampling included."""
    for text in ("hard", "random:d=12,seed=3"):
        instance = find_instance(text, eps=options.eps, notion="multiplicative")
        for rule in RULES:
            best = np.inf
            for _ in range(3):
                _, _, seconds, rounds = simulate(instance, [0.01], options.runs, 1, used=[rule])
                best = min(best, seconds / rounds)
            print(f"{text} {rule}: {1e6 * best:.2f} µs per round", flush=True)


def main() -> None:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("times", "cost"))
    parser.add_argument("instance", nargs="?", default="hard")
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--instances", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--eps", type=float, default=0.05)
    parser.add_argument("--delta", type=float, nargs="+", default=[0.1, 0.01, 1e-6])
    parser.add_argument("--notion", nargs="+", default=["multiplicative", "additive"])
    options = parser.parse_args()
    started = time.perf_counter()
    simulate(find_instance("hard"), options.delta, 1, 0, until=10)
    print(f"compiled or loaded in {time.perf_counter() - started:.1f} s", flush=True)
    if options.what == "times":
        _times(options.instance, options)
    else:
        _cost(options)


if __name__ == "__main__":
    main()
