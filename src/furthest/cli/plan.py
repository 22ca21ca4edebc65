"""furthest plan: what a study will cost, before anything is measured."""

from typing import TYPE_CHECKING

from furthest.cli import options as o

if TYPE_CHECKING:
    from furthest.characteristic import Complexity
    from furthest.instances import Instance
    from furthest.results import Results


def command(
    instance: o.Instance,
    eps: o.Eps = None,
    delta: o.Delta = None,
    notion: o.NotionName = None,
    sigma: o.Sigma = None,
    mu: o.Mu = None,
    sampling: o.Sampling = "lebai",
    candidate: o.Candidate = "instantaneous-furthest",
    stopping: o.StoppingRule = "",
    threshold: o.ThresholdName = "",
    schedule: o.ScheduleName = "every",
    tracking: o.Tracking = "C",
    option: o.RuleOptions = None,
    runs: o.Runs = 1000,
    seed: o.Seed = 0,
    jobs: o.Jobs = 1,
    max_rounds: o.MaxRounds = 10_000_000,
    json: o.Json = False,
) -> None:
    """Foresee the number of measurements for a guessed μ, beside the limit of any strategy."""
    from furthest.strategy import Strategy

    found = o.find_instance(instance, eps, notion, sigma, mu)
    strategy = Strategy(
        sampling, candidate, stopping, threshold, schedule, tracking, o.rule_options(option)
    )
    with o.progress_bar(strategy.name, runs) as progress:
        from furthest.characteristic import complexity
        from furthest.simulation import simulate

        limit = complexity(found.problem, found.truth)
        results = simulate(
            found.problem,
            found.truth,
            strategy,
            delta or [0.1, 0.01],
            runs,
            seed,
            jobs,
            max_rounds=max_rounds,
            progress=progress,
        )
    if json:
        import json as encoder

        data = {"instance": found.name, "complexity": limit.to_dict()} | results.to_dict()
        for row in data["results"]:
            row["limit"] = limit.measurements(row["delta"])
        print(encoder.dumps(data))
    else:
        _show(found, limit, results)


def _show(instance: "Instance", limit: "Complexity", results: "Results") -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    o.print_problem(console, instance)
    parts = results.strategy
    console.print(f"{parts['sampling']}, {o.stopping_name(parts)}: {parts['guarantee']}")
    table = Table("δ", "expect", "median", "5 % … 95 %", "limit T_ε ln(1/δ)", "× limit")
    for row in results.summary():
        floor = limit.measurements(row.delta)
        table.add_row(
            f"{row.delta:g}",
            f"{row.mean:.0f} ± {row.sem:.1f}",
            f"{row.median:.0f}",
            f"{row.q05:.0f} … {row.q95:.0f}",
            f"{floor:.0f}",
            f"{row.mean / floor:.2f}" if floor > 0 else "–",
        )
    console.print(table)
    console.print(f"[dim]if μ is as guessed: {results.runs} studies, {results.seconds:.2f} s[/dim]")
