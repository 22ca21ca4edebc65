"""furthest simulate: many runs of one strategy on one instance."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from furthest.cli import options as o

if TYPE_CHECKING:
    from rich.table import Table

    from furthest.instances import Instance
    from furthest.results import Results

FEW_ARMS = 12  # so many rows are still a glance
CSV_OR_PARQUET = "Also write every run to this file (.csv or .parquet)."


def command(
    instance: o.Instance,
    eps: o.Eps = None,
    delta: o.Delta = None,
    notion: o.NotionName = None,
    sigma: o.Sigma = None,
    noise: o.Noise = None,
    mu: o.Mu = None,
    sampling: o.Sampling = o.DEFAULT_RULE,
    candidate: o.Candidate = "instantaneous-furthest",
    stopping: o.StoppingRule = None,
    threshold: o.ThresholdName = None,
    schedule: o.ScheduleName = "every",
    tracking: o.Tracking = "C",
    option: o.RuleOptions = None,
    stopping_option: o.StoppingOptions = None,
    runs: o.Runs = 1000,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    dask: o.Dask = None,
    max_rounds: o.MaxRounds = 1_000_000,
    out: Annotated[Path | None, typer.Option(help=CSV_OR_PARQUET)] = None,
    json: o.Json = False,
) -> None:
    """Simulate a strategy many times: stopping times, errors, pulls per arm."""
    from furthest.errors import InputError

    if out is not None and out.suffix not in (".csv", ".parquet"):
        raise InputError(f"--out must end in .csv or .parquet, not {out.name!r}")
    o.make_folder(out)
    found = o.find_instance(instance, eps, notion, sigma, mu)
    words = (sampling, candidate, stopping, threshold, schedule, tracking)
    strategy = o.find_strategy(words, option, stopping_option)
    from furthest.simulation import simulate

    with (
        o.cluster(dask, jobs) as executor,
        o.compilation(strategy),
        o.progress_bar(strategy.name, runs) as progress,
    ):
        results = simulate(
            found.problem,
            found.truth,
            strategy,
            delta=delta or [0.01],
            runs=runs,
            seed=seed,
            jobs=jobs,
            executor=executor,
            noise=noise,
            max_rounds=max_rounds,
            progress=progress,
            quiet=True,
        )
    if out is not None:
        (results.to_csv if out.suffix == ".csv" else results.to_parquet)(out)
    if json:
        import json as encoder

        print(encoder.dumps({"instance": found.name} | results.to_dict()))
    else:
        _show(found, results, noise)


def _show(instance: "Instance", results: "Results", noise: float | None) -> None:
    from rich.console import Console

    console = Console()
    problem, strategy = instance.problem, results.strategy
    o.print_problem(console, instance)
    o.print_noise(console, problem, noise)
    console.print(
        f"{strategy.name}, candidate {strategy.candidate}, stopping {o.stopping_name(strategy)}: "
        f"{strategy.guarantee_for(problem).words}"
    )
    heads = ("mean ± s.e.", "median", "5 % … 95 %", "errors", "unstopped")
    table = o.table("δ", *heads, *(("cost ± s.e.",) if problem.costs else ()), right=True)
    for row in results.summary():
        table.add_row(
            f"{row.delta:g}",
            f"{row.mean:.1f} ± {row.sem:.1f}",
            f"{row.median:.0f}",
            f"{row.q05:.0f} … {row.q95:.0f}",
            f"{row.errors} ({row.error_rate:.2%})",
            str(row.unstopped),
            *o.cost_cell(row),
        )
    console.print(table)
    console.print(_pulls(problem.arm_names, results))
    console.print(
        f"[dim]{results.runs} runs, {results.steps} measurements simulated in "
        f"{results.seconds:.2f} s[/dim]"
    )
    if results.interrupted:
        o.print_warnings(console, ["interrupted: these are the runs that were finished"])
    o.print_warnings(console, [results.unstopped_words])


def _pulls(names: tuple[str, ...], results: "Results") -> "Table":
    """Mean pulls, one row per arm; of many arms those that are measured most."""
    rows = results.summary()
    most = max(rows, key=lambda row: sum(row.pulls)).pulls
    arms = list(range(len(names)))
    if len(arms) > FEW_ARMS:
        arms = sorted(arms, key=lambda arm: -most[arm])[:FEW_ARMS]
    table = o.table("mean pulls", *(f"δ = {row.delta:g}" for row in rows), right=True)
    for arm in arms:
        table.add_row(o.plain(names[arm]), *(f"{row.pulls[arm]:.1f}" for row in rows))
    if len(arms) < len(names):
        others = [sum(row.pulls) - sum(row.pulls[arm] for arm in arms) for row in rows]
        count = len(names) - len(arms)
        table.add_row(f"{count} others", *(f"{value:.1f}" for value in others))
    return table
