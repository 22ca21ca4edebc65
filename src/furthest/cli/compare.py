"""furthest compare: several sampling rules on one instance, side by side."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from furthest.cli import options as o
from furthest.display import count, one_line

if TYPE_CHECKING:
    from concurrent.futures import Executor

    from furthest.characteristic import Complexity
    from furthest.instances import Instance
    from furthest.results import Results
    from furthest.strategy import Strategy

FEW_RULES = 4  # so many names fit into a line
MOST_ARMS = 8  # so many columns of pulls fit beside the rules' names


def command(
    instance: o.Instance,
    sampling: Annotated[
        str, typer.Option(help="Sampling rules, comma-separated; `all` for every one.")
    ] = "softmin,lebai,lingame,uniform",
    eps: o.Eps = None,
    delta: Annotated[float, typer.Option(help="δ: allowed probability of a wrong answer.")] = 0.01,
    notion: o.NotionName = None,
    sigma: o.Sigma = None,
    noise: o.Noise = None,
    mu: o.Mu = None,
    candidate: o.Candidate = "instantaneous-furthest",
    stopping: o.StoppingRule = None,
    threshold: o.ThresholdName = None,
    schedule: o.ScheduleName = "every",
    runs: o.Runs = 1000,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    dask: o.Dask = None,
    max_rounds: o.MaxRounds = 1_000_000,
    plot: Annotated[Path | None, typer.Option(help="Draw the box plots to this file.")] = None,
    json: o.Json = False,
) -> None:
    """Compare sampling rules: stopping times, allocation per arm, errors, beside the limits."""
    from furthest.sampling import MODULES

    names = list(MODULES) if sampling == "all" else sampling.split(",")
    words = (candidate, stopping, threshold, schedule, "C")
    strategies = [o.find_strategy((name, *words)) for name in names]
    o.check_plot(plot)
    found = o.find_instance(instance, eps, notion, sigma, mu)
    with o.cluster(dask, jobs) as executor, o.compilation(_compiled(strategies)):
        price, outcomes = _outcomes(
            *(found, strategies, delta, runs, seed, jobs, executor),
            noise=noise,
            max_rounds=max_rounds,
        )
    if plot is not None:
        _draw(found, price, outcomes, delta, plot)
    if json:
        import json as encoder

        print(encoder.dumps(_data(found, price, outcomes, delta)))
    else:
        _show(found, price, outcomes, delta, noise)
        if plot is not None:
            print(f"Figure: {one_line(str(plot))}")


def _compiled(strategies: list["Strategy"]) -> str:
    """What is compiled for all of them; many are only counted."""
    names = [strategy.name for strategy in strategies]
    rules = ", ".join(names) if len(names) <= FEW_RULES else f"{len(names)} rules"
    return f"the exact solver and {rules} with {o.stopping_name(strategies[0])}"


def _outcomes(
    instance: "Instance",
    strategies: list["Strategy"],
    delta: float,
    runs: int,
    seed: int,
    jobs: int,
    executor: "Executor | None",
    *,
    noise: float | None,
    max_rounds: int,
) -> tuple["Complexity", dict[str, "Results"]]:
    """The limit, and the runs of one strategy after the other until somebody interrupts."""
    from furthest.characteristic import complexity
    from furthest.simulation import simulate

    problem = instance.problem
    unknown = problem.sigma is None
    price = complexity(problem, instance.truth, noise=(noise or 1.0) if unknown else None)
    outcomes: dict[str, Results] = {}
    for strategy in strategies:
        with o.progress_bar(strategy.name, runs) as progress:
            outcomes[strategy.name] = simulate(
                *(problem, instance.truth, strategy, delta, runs, seed, jobs),
                executor=executor,
                noise=noise,
                max_rounds=max_rounds,
                progress=progress,
                quiet=True,
            )
        if outcomes[strategy.name].interrupted:
            break
    return price, outcomes


def _data(
    instance: "Instance", price: "Complexity", outcomes: dict[str, "Results"], delta: float
) -> dict[str, Any]:
    return {
        "instance": instance.name,
        "delta": delta,
        "complexity": price.to_dict(),
        "limit": price.measurements(delta),
        "strategies": [results.to_dict() for results in outcomes.values()],
    }


def _limits(price: "Complexity", delta: float) -> dict[str, float]:
    greedy = price.measurements(delta) * price.T_greedy / price.T if price.T > 0 else 0.0
    return {"T_ε ln(1/δ)": price.measurements(delta), "T_g ln(1/δ)": greedy}


def _draw(
    instance: "Instance",
    price: "Complexity",
    outcomes: dict[str, "Results"],
    delta: float,
    path: Path,
) -> None:
    from furthest.plots import stopping_times

    problem = instance.problem
    stopping_times(
        {name: _drawn(results) for name, results in outcomes.items()},
        path,
        title=f"{instance.name}: ε = {problem.eps:g} {problem.notion}, δ = {delta:g}",
        limits=_limits(price, delta),
        what="cost" if price.in_cost else "measurements",
    )


def _drawn(results: "Results") -> list[float]:
    """In the unit of the limit."""
    costs = results.costs
    return list((results.stopping_times if costs is None else costs).tolist())


def _show(
    instance: "Instance",
    price: "Complexity",
    outcomes: dict[str, "Results"],
    delta: float,
    noise: float | None,
) -> None:
    from rich.console import Console

    console = Console()
    o.print_problem(console, instance)
    o.print_noise(console, instance.problem, noise)
    limits = _limits(price, delta)
    console.print(", ".join(f"{label} = {value:.0f}" for label, value in limits.items()))
    priced = instance.problem.costs is not None
    heads = ("mean ± s.e.", "× limit", "5 % … 95 %", "errors", *(("cost ± s.e.",) * priced))
    table = o.table("rule", *heads, right=True)
    floor = limits["T_ε ln(1/δ)"]
    for name, results in outcomes.items():
        row = results.summary()[0]
        table.add_row(
            name,
            f"{row.mean:.0f} ± {row.sem:.1f}",
            f"{(row.mean if row.cost is None else row.cost) / floor:.2f}" if floor > 0 else "–",
            f"{row.q05:.0f} … {row.q95:.0f}",
            str(row.errors) + (f", {row.unstopped} open" if row.unstopped else ""),
            *o.cost_cell(row),
        )
    console.print(table)
    arms = instance.problem.arm_names
    if len(arms) <= MOST_ARMS:
        pulls = o.table("mean pulls", *map(o.plain, arms), right=True)
        for name, results in outcomes.items():
            pulls.add_row(name, *(f"{value:.0f}" for value in results.summary()[0].pulls))
        console.print(pulls)
    open_runs = {name: results.unstopped_words for name, results in outcomes.items()}
    o.print_warnings(console, (words and f"{name}: {words}" for name, words in open_runs.items()))
    name, last = list(outcomes.items())[-1]
    if last.interrupted:
        done = count(last.runs, "run")
        o.print_warnings(
            console, [f"{name}: interrupted after {done}; no further rule was simulated"]
        )
