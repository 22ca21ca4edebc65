"""Beside what people would use instead: docs/comparison.md has what came out.

    python -m venv .venv-comparison
    .venv-comparison/bin/pip install --upgrade pip  # 25.1 knows groups
    .venv-comparison/bin/pip install torch  # for Ax; its CPU build is enough
    .venv-comparison/bin/pip install -e ".[plot]" --group comparison
    .venv-comparison/bin/pip install --no-deps best-arm==0.1.1  # asks for a SciPy before 1.13
    .venv-comparison/bin/python benchmarks/comparison.py run --json out/comparison.json
    .venv-comparison/bin/python benchmarks/comparison.py show out/comparison.json --plot out/c.png

One question: choose one of K options whose measurements have Gaussian noise of known σ, so that it
is within ε of the best with 95 %. Tools that stop do so; the others are asked what they would
choose after half as many, as many and twice as many measurements as furthest takes, and so on.
Nothing of theirs is changed. `run furthest fixed lucb` needs the package alone.
"""

import argparse
import itertools
import json
import logging
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

import furthest as ft
from furthest.plots import COLOURS, pyplot

DELTA, SIGMA = 0.05, 0.5  # σ = ½: what best-arm and pymab take for granted
MOST = 30  # times `about`: who has not stopped by then counts as not stopping

Floats = NDArray[np.float64]


class Question(NamedTuple):
    """Factors with their levels (plain options: one factor), effects of the levels, and ε.

    The value of an option is the sum of the effects. `about` is what furthest takes on average.
    """

    factors: dict[str, dict[str, float]]
    eps: float
    about: int

    @property
    def looks(self) -> list[int]:
        """Numbers of measurements at which tools without an end are looked at."""
        return [self.about // 8 * times for times in (1, 2, 4, 8, 16)]

    @property
    def share(self) -> float:
        """Fewer runs where they are long."""
        return 1.0 if self.about < 500 else 0.5

    @property
    def options(self) -> list[dict[str, str]]:
        """The level of each factor, in the order of the package."""
        return [
            dict(zip(self.factors, levels, strict=True))
            for levels in itertools.product(*self.factors.values())
        ]

    @property
    def values(self) -> Floats:
        """What is to be found out."""
        return np.array(
            [sum(self.factors[name][own[name]] for name in own) for own in self.options]
        )

    @property
    def good(self) -> NDArray[np.bool_]:
        """Which options are within ε of the best; two of `features` are worse by ε exactly."""
        return np.asarray(self.values >= self.values.max() - self.eps - 1e-9)

    @property
    def problem(self) -> ft.Problem:
        """The same for the package."""
        levels = {name: list(own) for name, own in self.factors.items()}
        noise: dict[str, Any] = {"eps": self.eps, "notion": "additive", "sigma": SIGMA}
        if len(levels) == 1:
            return ft.Problem.options(*levels.values(), **noise)
        return ft.Problem.factorial(levels, **noise)

    @property
    def mu(self) -> Floats:
        """That has these values in its features."""
        arms = np.asarray(self.problem.arms)
        return np.asarray(np.linalg.lstsq(arms, self.values)[0])


def plain(*values: float, eps: float, about: int) -> Question:
    """Options that have nothing in common."""
    return Question({"option": {f"option {value:g}": value for value in values}}, eps, about)


# Written down before any tool was run on them; `about` was added when furthest had been.
QUESTIONS = {
    "six": plain(1.0, 0.9, 0.7, 0.65, 0.6, 0.5, eps=0.15, about=336),
    "ties": plain(1.0, 0.97, 0.95, 0.92, 0.88, 0.78, 0.77, 0.75, 0.7, 0.6, eps=0.2, about=992),
    "features": Question(
        {
            "layout": {"grid": 0.5, "list": 0.35, "cards": 0.15},
            "text": {"short": 0.3, "long": 0.25, "none": 0.0},
            "colour": {"green": 0.2, "blue": 0.1},
        },
        eps=0.15,
        about=528,
    ),
}


class Lab:
    """Measures options, and counts; the noise of a run is its own."""

    def __init__(self, question: Question, run: int) -> None:
        self.question = question
        self.values = question.values
        self.rng = np.random.default_rng([2026, run])
        self.counts = np.zeros(len(self.values))
        self.sums = np.zeros(len(self.values))

    def measure(self, option: int) -> float:
        """One result."""
        result = float(self.values[option] + SIGMA * self.rng.standard_normal())
        self.counts[option] += 1
        self.sums[option] += result
        return result

    def mean_and_error(self, option: int) -> tuple[float, float]:
        """Of what has been measured of an option; σ is known."""
        n = self.counts[option]
        return float(self.sums[option] / n), SIGMA / math.sqrt(n)

    @property
    def best_mean(self) -> int:
        """Of what has been measured."""
        return int(np.where(self.counts, self.sums / np.maximum(self.counts, 1), -np.inf).argmax())


class Found(NamedTuple):
    """What a tool does with a question, over its runs."""

    wrong: dict[int, int]  # after so many measurements, where it has no end of its own
    runs: int
    stops: list[int] | None = None  # when it stopped; the cap where it did not
    errors: int = 0  # of those that stopped
    unstopped: int = 0
    seconds: float = math.nan  # processor time per measurement, its own overhead


def stopped(question: Question, runs: int, play: Callable[[Lab, int], tuple[int, bool]]) -> Found:
    """Of a tool that stops: `play` says what it chose, and whether it came to an end."""
    stops, errors, unstopped, began = [], 0, 0, time.process_time()
    for run in range(runs):
        lab = Lab(question, run)
        pick, done = play(lab, MOST * question.about)
        stops.append(int(lab.counts.sum()))
        errors += done and not question.good[pick]
        unstopped += not done
    seconds = (time.process_time() - began) / sum(stops)
    return Found({}, runs, stops, int(errors), unstopped, seconds)


def followed(
    question: Question, runs: int, play: Callable[[Lab, int], Iterable[dict[str, int]]]
) -> dict[str, Found]:
    """Of one that goes on for ever: `play` says what it would choose at each look."""
    wrong: dict[str, dict[int, int]] = {}
    began = time.process_time()
    for run in range(runs):
        for n, picks in zip(question.looks, play(Lab(question, run), run), strict=True):
            for way, pick in picks.items():
                counts = wrong.setdefault(way, dict.fromkeys(question.looks, 0))
                counts[n] += not question.good[pick]
    seconds = (time.process_time() - began) / (runs * question.looks[-1])
    return {way: Found(counts, runs, seconds=seconds) for way, counts in wrong.items()}


def furthest(question: Question, runs: int) -> dict[str, Found]:
    """The default: until it stops, and cut off before."""
    problem, mu, good = question.problem, question.mu, question.good
    most = MOST * question.about
    results = ft.simulate(problem, mu, delta=DELTA, runs=runs, quiet=True, max_rounds=most)
    ended, wrong = results.stopped, {}
    for n in question.looks:
        cut = ft.simulate(problem, mu, delta=DELTA, runs=runs, quiet=True, max_rounds=n)
        wrong[n] = int((~good[cut.answers]).sum())
    errors = int((ended & ~good[results.answers]).sum())
    stops = results.stopping_times.tolist()
    own = Found(wrong, runs, stops, errors, int((~ended).sum()), live(question))
    return {"furthest": own}


def live(question: Question, rounds: int = 200) -> float:
    """Processor time of a suggestion and its result in a live study, on disk."""
    lab = Lab(question, 0)
    with tempfile.TemporaryDirectory() as folder:
        study = ft.Study.create(
            *("timed", question.problem), delta=1e-9, storage=f"sqlite:///{folder}/timed.db"
        )
        study.tell(study.ask(), lab.measure(0))
        began = time.process_time()
        for _ in range(rounds):
            trial = study.ask()
            study.tell(trial, lab.measure(study.problem.arm_names.index(trial.name)))
        seconds = (time.process_time() - began) / rounds
        study.close()
    return seconds


def evenly(question: Question, n: int) -> NDArray[np.int64]:
    """How often each option is measured, in turn."""
    options = len(question.values)
    return n // options + (np.arange(options) < n % options)


def least_squares(question: Question, counts: NDArray[np.int64], run: int) -> int:
    """Measure so often, take the best by least squares (plain options: the best mean)."""
    arms = np.asarray(question.problem.arms)
    rng = np.random.default_rng([2026, run])
    noise = SIGMA * np.sqrt(counts) * rng.standard_normal(len(counts))
    sums = counts * question.values + noise
    estimate = np.linalg.solve(arms.T @ (counts[:, None] * arms), arms.T @ sums)
    return int((arms @ estimate).argmax())


def horizon(question: Question) -> int:
    """Enough for every truth: as many for each option, and one look at the end.

    Whichever option is best, those that are worse by ε and more come out on top with probability
    at most Σ Φ(−ε/s), s being the standard deviation of the difference; here at most δ.
    """
    arms = np.asarray(question.problem.arms)
    inverse = np.linalg.inv(arms.T @ arms)
    for each in itertools.count(1):
        worst = 0.0
        for best in range(len(arms)):
            others = np.delete(arms, best, axis=0) - arms[best]
            spread = SIGMA * np.sqrt(((others @ inverse) * others).sum(axis=1) / each)
            worst = max(worst, float(norm.sf(question.eps / spread).sum()))
        if worst <= DELTA:
            return each * len(arms)
    raise AssertionError


def fixed(question: Question, runs: int) -> dict[str, Found]:
    """All options equally often, and one look at the end."""
    wrong = {}
    size = horizon(question)
    for n in sorted({*question.looks, size}):
        counts = evenly(question, n)
        picks = (least_squares(question, counts, run) for run in range(runs))
        wrong[n] = sum(not question.good[pick] for pick in picks)
    return {"fixed number": Found(wrong, runs, [size] * runs, wrong[size])}


def radius(counts: Floats) -> Floats:
    """Half an interval that holds a mean at all times, all K of them but with probability δ.

    Robbins' normal mixture, ρ = 10: tightest at about a hundred measurements.
    """
    rho = 10.0
    logs = np.log((counts + rho) / rho) + 2 * math.log(len(counts) / DELTA)
    return np.asarray(SIGMA * np.sqrt((counts + rho) * logs) / counts)


def lucb(question: Question, runs: int) -> dict[str, Found]:
    """The leader and the rival of largest upper end in turn: KL-LUCB for Gaussian noise."""

    def play(lab: Lab, most: int) -> tuple[int, bool]:
        for option in range(len(lab.values)):
            lab.measure(option)
        while lab.counts.sum() < most:
            means, half = lab.sums / lab.counts, radius(lab.counts)
            leader, upper = int(means.argmax()), means + half
            upper[leader] = -math.inf
            rival = int(upper.argmax())
            if upper[rival] - (means - half)[leader] <= question.eps:
                return leader, True
            lab.measure(leader)
            lab.measure(rival)
        return lab.best_mean, False

    return {"LUCB": stopped(question, runs, play)}


class Enough(Exception):  # noqa: N818
    """The cap is reached."""


def best_arm(question: Question, runs: int) -> dict[str, Found]:
    """PyPI's best-arm: its LUCB, which knows ε, and its top two, which does not."""
    from best_arm.bandit import Bandit

    class Normal:
        """An environment with the name of theirs, by which it goes, and with these values."""

        def __init__(self, lab: Lab, most: int) -> None:
            self.num_arms, self.sigma, self.mu = len(lab.values), SIGMA, lab.values
            self.lab, self.most = lab, most

        def sample(self, arm: int) -> float:
            if self.lab.counts.sum() >= self.most:
                raise Enough
            return self.lab.measure(arm)

    def player(**how: Any) -> Callable[[Lab, int], tuple[int, bool]]:
        def play(lab: Lab, most: int) -> tuple[int, bool]:
            np.random.seed(int(lab.rng.integers(2**31)))  # noqa: NPY002  (it draws from it)
            try:
                return int(Bandit(env_instance=Normal(lab, most), **how).run()[0]), True
            except Enough:
                return lab.best_mean, False

        return play

    by_lucb = player(
        algo_name="lucb",
        algo_args={"confidence": DELTA},
        stopping_name="lucb",
        stopping_args={"epsilon": question.eps},
    )
    top_two = player(
        algo_name="top_two",
        algo_args={
            "confidence": DELTA,
            "beta": 0.5,
            "leader_type": "EB",
            "challenger_type": "TC",
        },
        stopping_name="top_two",
    )
    return {
        "best-arm, LUCB": stopped(question, runs, by_lucb),
        "best-arm, top two": stopped(question, max(runs // 4, 1), top_two),
    }


def pymab(question: Question, runs: int) -> dict[str, Found]:
    """PyMAB's successive elimination: until one option is left."""
    from pymab.policies import SuccessiveEliminationPolicy

    def play(lab: Lab, most: int) -> tuple[int, bool]:
        policy = SuccessiveEliminationPolicy(
            n_arms=len(lab.values), delta=DELTA, confidence_scale=2 * SIGMA
        )
        while lab.counts.sum() < most:
            option = policy.select_action(rng=lab.rng)
            policy.update(action=option, reward=lab.measure(option))
            if policy.active.sum() == 1:
                return int(policy.best_arm), True
        return int(policy.best_arm), False

    return {"PyMAB, elimination": stopped(question, runs, play)}


def optuna(question: Question, runs: int) -> dict[str, Found]:
    """Optuna's default sampler, in memory; its own choice, the best mean, and the most tried."""
    import optuna

    optuna.logging.set_verbosity(optuna.logging.ERROR)
    space = {
        name: optuna.distributions.CategoricalDistribution(list(own))
        for name, own in question.factors.items()
    }

    def play(lab: Lab, run: int) -> Iterable[dict[str, int]]:
        sampler = optuna.samplers.TPESampler(seed=run)
        study = optuna.create_study(direction="maximize", sampler=sampler)
        for n in range(1, question.looks[-1] + 1):
            trial = study.ask(space)
            study.tell(trial, lab.measure(question.options.index(trial.params)))
            if n in question.looks:
                yield {
                    "Optuna, best trial": question.options.index(study.best_params),
                    "Optuna, best mean": lab.best_mean,
                    "Optuna, most tried": int(lab.counts.argmax()),
                }

    return followed(question, runs, play)


def ax_bandit(question: Question, runs: int) -> dict[str, Found]:
    """Ax for options that are given: each as often, then Thompson sampling in batches.

    After each batch it gets the mean of all results of each option with its standard error, and
    says what share of the next batch each shall have; the choice is the option of largest share.
    """
    from ax import adapter  # noqa: F401  (first: its parts import one another)
    from ax.adapter.factory import get_empirical_bayes_thompson, get_factorial
    from ax.core import (
        ChoiceParameter,
        Data,
        Experiment,
        Metric,
        Objective,
        OptimizationConfig,
        ParameterType,
        SearchSpace,
    )
    from ax.core.data import DataRow

    space = [
        ChoiceParameter(name, ParameterType.STRING, list(own), is_ordered=False, sort_values=False)
        for name, own in question.factors.items()
    ]

    def play(lab: Lab, run: int) -> Iterable[dict[str, int]]:
        np.random.seed(run)  # noqa: NPY002  (Ax draws from it)
        experiment = Experiment(SearchSpace(space), "ours", tracking_metrics=[Metric("value")])
        experiment.optimization_config = OptimizationConfig(
            Objective("value", metric_name_to_signature={"value": "value"})
        )
        trial = experiment.new_batch_trial(get_factorial(experiment).gen(n=-1))
        trial.mark_running(no_runner_required=True)
        options = {arm.name: question.options.index(arm.parameters) for arm in trial.arms}
        share, step = np.zeros(len(options)), question.looks[0]
        for n in range(step, question.looks[-1] + 1, step):
            batch = evenly(question, n) if n == step else lab.rng.multinomial(step, share)
            for option, times in enumerate(batch):
                for _ in range(times):
                    lab.measure(option)
            rows = [
                DataRow(0, name, "value", "value", *lab.mean_and_error(option))
                for name, option in options.items()
            ]
            made = get_empirical_bayes_thompson(experiment, Data(rows), min_weight=0.01).gen(
                n=len(options)
            )
            share[:] = 0
            for arm, weight in zip(made.arms, made.weights, strict=True):
                share[question.options.index(arm.parameters)] = weight
            share /= share.sum()
            if n in question.looks:
                yield {"Ax, Thompson": int(share.argmax())}

    return followed(question, runs, play)


def ax_client(question: Question, runs: int) -> dict[str, Found]:
    """Ax as its documentation begins: one trial after the other, the choice by its model."""
    import torch
    from ax.api.client import Client
    from ax.api.configs import ChoiceParameterConfig
    from ax.exceptions.core import SearchSpaceExhausted

    torch.set_num_threads(1)  # more take longer for so small a model
    space = [
        ChoiceParameterConfig(name=name, values=list(own), parameter_type="str", is_ordered=False)
        for name, own in question.factors.items()
    ]

    def play(lab: Lab, most: int) -> tuple[int, bool]:
        client = Client(random_seed=int(lab.rng.integers(2**31)))
        client.configure_experiment(parameters=space)
        client.configure_optimization(objective="value")
        ended = False
        while not ended and lab.counts.sum() < most:
            try:
                ((index, asked),) = client.get_next_trials(max_trials=1).items()
            except SearchSpaceExhausted:
                ended = True
            else:
                result = lab.measure(question.options.index(dict(asked)))
                client.complete_trial(trial_index=index, raw_data={"value": (result, SIGMA)})
        return question.options.index(dict(client.get_best_parameterization()[0])), ended

    return {"Ax, client": stopped(question, runs, play)}


class Tool(NamedTuple):
    """How it is played, how often, and which package it is."""

    play: Callable[[Question, int], dict[str, Found]]
    runs: int
    package: str


TOOLS = {
    "furthest": Tool(furthest, 2000, "furthest"),
    "fixed": Tool(fixed, 5000, "furthest"),
    "lucb": Tool(lucb, 400, "furthest"),
    "best-arm": Tool(best_arm, 200, "best-arm"),
    "pymab": Tool(pymab, 100, "pymab"),
    "optuna": Tool(optuna, 80, "optuna"),
    "ax": Tool(ax_bandit, 200, "ax-platform"),
    "ax-client": Tool(ax_client, 10, "ax-platform"),
}


def run(options: argparse.Namespace) -> None:
    """Play, and add to what the file has already."""
    path: Path = options.json
    path.parent.mkdir(parents=True, exist_ok=True)
    known = json.loads(path.read_text()) if path.exists() else {"versions": {}, "found": {}}
    for tool in options.tools or TOOLS:
        play, runs, package = TOOLS[tool]
        known["versions"][package] = version(package)
        for name in options.questions or QUESTIONS:
            question = QUESTIONS[name]
            found = play(question, max(int(runs * options.share * question.share), 1))
            for way, own in found.items():
                known["found"].setdefault(name, {})[way] = own._asdict()
                print(f"{name:9s} {line(question, way, own)}", flush=True)
            path.write_text(json.dumps(known, indent=1) + "\n")


def line(question: Question, way: str, found: Found) -> str:
    """A row of the table, in Markdown."""
    stop = "does not stop"
    if found.stops:
        stops = np.array(found.stops)
        error = stops.std(ddof=1) / math.sqrt(len(stops)) if stops.std() else 0.0
        stop = f"{stops.mean():,.0f} ± {error:,.0f}" if error else f"{stops.mean():,.0f}"
        stop = f"> {stops.mean():,.0f}" if found.unstopped else stop
    errors = f"{found.errors} of {found.runs - found.unstopped:,}" if found.stops else ""
    late = f"{found.unstopped} of {found.runs}" if found.unstopped else ""
    counts = {int(n): wrong for n, wrong in found.wrong.items()}
    shares = [f"{counts[n] / found.runs:.1%}" if n in counts else "" for n in question.looks[1:]]
    each = "" if math.isnan(found.seconds) else f"{1e3 * found.seconds:.2g}"
    return " | ".join([way, stop, errors, late, *shares, each])


def read(path: Path) -> tuple[dict[str, str], dict[str, dict[str, Found]]]:
    """Versions, and what was found, by question and way."""
    known = json.loads(path.read_text())
    found = {
        name: {way: Found(**own) for way, own in ways.items()}
        for name, ways in known["found"].items()
    }
    return known["versions"], found


def show(options: argparse.Namespace) -> None:
    """The tables of the page, and its picture."""
    versions, found = read(options.json)
    print(", ".join(f"{package} {number}" for package, number in versions.items()))
    for name, ways in found.items():
        print(f"\n{name}; wrong after {QUESTIONS[name].looks[1:]}\n")
        for way, own in ways.items():
            print(f"| {line(QUESTIONS[name], way, own)} |")
    if options.plot:
        draw(found, options.plot)


# Of the picture: colour and style of what is asked on the way, and who stops.
CURVES = {
    "fixed number": (COLOURS[6], "-", "all equally often, best estimate"),
    "Optuna, best trial": (COLOURS[1], "--", "Optuna, its best trial"),
    "Optuna, best mean": (COLOURS[1], "-", "Optuna, the best mean"),
    "Optuna, most tried": (COLOURS[1], ":", "Optuna, the most tried"),
    "Ax, Thompson": (COLOURS[2], "-", "Ax, Thompson sampling"),
    "furthest": (COLOURS[0], "-", "furthest, asked before it stops"),
}
STOPS = {
    "furthest": COLOURS[0],
    "fixed number": COLOURS[6],
    "LUCB": COLOURS[3],
    "best-arm, LUCB": COLOURS[4],
}
TITLES = {
    "six": "six options",
    "ties": "ten, near-ties",
    "features": "18 combinations",
}


def draw(found: dict[str, dict[str, Found]], path: Path) -> None:
    """Wrong choices against measurements; below, when tools stop. A column for each question."""
    plt = pyplot()
    figure, axes = plt.subplots(
        *(2, len(found)),
        figsize=(9, 5.4),
        sharex="col",
        sharey="row",
        height_ratios=[3, 1],
        layout="constrained",
    )
    figure.get_layout_engine().set(w_pad=0.12)  # numbers of two columns do not meet
    for column, (name, ways) in enumerate(found.items()):
        _draw_shares(axes[0][column], ways)
        _draw_stops(axes[1][column], ways)
        axes[0][column].set_title(TITLES[name], loc="left", fontsize=11)
        for axis in axes[:, column]:
            axis.axvline(np.mean(ways["furthest"].stops or []), color=COLOURS[0], linewidth=0.6)
            axis.spines[["top", "right"]].set_visible(False)
    axes[0][0].set_ylabel("wrong choices")
    axes[1][0].set_ylabel("stops")
    figure.supxlabel("measurements", fontsize=10)
    handles, labels = axes[0][0].get_legend_handles_labels()
    legend = {"ncols": 3, "frameon": False, "fontsize": 9, "columnspacing": 1.2}
    figure.legend(handles, labels, loc="outside upper center", handlelength=2.6, **legend)
    figure.savefig(path, dpi=120)


def _draw_shares(axis: Any, ways: dict[str, Found]) -> None:
    """How often the choice would be wrong."""
    for way, (colour, style, label) in CURVES.items():
        own = ways[way]
        counts = sorted((int(n), wrong / own.runs) for n, wrong in own.wrong.items())
        numbers, shares = zip(*counts, strict=True)
        axis.plot(numbers, shares, style, marker=".", color=colour, label=label, clip_on=False)
    axis.axhline(DELTA, color="black", linestyle=":", linewidth=1)
    axis.set_yscale("function", functions=(np.sqrt, np.square))  # zero has a place on it
    ticks = [0, 0.01, DELTA, 0.1, 0.25, 0.5]
    axis.set_yticks(ticks, [f"{tick:.0%}" for tick in ticks])
    axis.set_ylim(0, 0.75)


def _draw_stops(axis: Any, ways: dict[str, Found]) -> None:
    """Mean, and from 5 to 95 % of the runs."""
    for row, (way, colour) in enumerate(STOPS.items()):
        stops = ways[way].stops or []
        axis.plot(np.quantile(stops, [0.05, 0.95]), [row, row], color=colour, linewidth=3)
        axis.plot(np.mean(stops), row, "o", color=colour, markersize=8, markeredgecolor="white")
    axis.set_yticks(range(len(STOPS)), STOPS)
    axis.set_ylim(len(STOPS) - 0.4, -0.6)
    axis.set_xscale("log")
    ticks = [100, 1000, 10_000]
    axis.set_xticks(ticks, [f"{tick:,}" for tick in ticks])
    axis.minorticks_off()


def main() -> None:
    """All that there is."""
    parser = argparse.ArgumentParser(description=__doc__)
    verbs = parser.add_subparsers(required=True)
    runner = verbs.add_parser("run")
    runner.add_argument("tools", nargs="*", choices=[[], *TOOLS])
    runner.add_argument("--questions", nargs="*", choices=QUESTIONS)
    runner.add_argument("--json", type=Path, required=True)
    runner.add_argument("--share", type=float, default=1.0, help="of the runs")
    runner.set_defaults(verb=run)
    shower = verbs.add_parser("show")
    shower.add_argument("json", type=Path)
    shower.add_argument("--plot", type=Path)
    shower.set_defaults(verb=show)
    options = parser.parse_args()
    logging.disable(logging.CRITICAL)  # Ax tells all that it does
    warnings.simplefilter("ignore")  # of other people's code
    options.verb(options)


if __name__ == "__main__":
    main()
