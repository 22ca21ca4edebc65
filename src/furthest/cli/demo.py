"""furthest demo: the main idea on one screen."""

from pathlib import Path
from typing import Annotated

import typer

from furthest.axes import ThresholdWord
from furthest.cli import options as o

DELTA = 0.01

# Label: sampling rule, and the threshold of the GLR instead of ranked.
ROWS: dict[str, tuple[str, ThresholdWord | None]] = {
    "softmin, proven": ("softmin", None),
    "LεBAI, proven": ("lebai", None),
    "LεBAI, the paper's": ("lebai", "paper"),
    "uniform, proven": ("uniform", None),
    "uniform, the paper's": ("uniform", "paper"),
}


def command(
    runs: o.Runs = 2000,
    out: Annotated[Path, typer.Option(help="Where the figure goes.")] = Path("out/demo.png"),
) -> None:
    """Show the default and the paper's strategies at work on its hard instance."""
    o.check_plot(out)
    with o.compilation("what the demo needs"):
        _show(runs, out)


def _show(runs: int, out: Path) -> None:
    from rich.console import Console

    from furthest import instances
    from furthest.characteristic import complexity
    from furthest.simulation import simulate
    from furthest.strategy import Strategy

    console = Console()
    instance = instances.hard()
    problem, mu = instance.problem, instance.truth
    price = complexity(problem, mu)
    limit = price.measurements(DELTA)
    console.print(
        f"[bold]Which of {len(problem.answers)} options is within 5 % of the best, "
        f"with probability 99 %?[/bold]"
    )
    values = ", ".join(
        f"{name} {value:.3f}"
        for name, value in zip(problem.answer_names, problem.answers @ mu, strict=True)
    )
    console.print(f"True values: {values}. Both e1 (best) and inside are good enough.")
    table = o.table("strategy", "mean ± s.e.", "×limit", "errors", "e1 / inside", "stopping rule")
    times = {}
    for label, (sampling, threshold) in ROWS.items():
        strategy = Strategy(sampling, threshold=threshold)
        with o.progress_bar(label, runs) as progress:
            results = simulate(
                problem, mu, strategy, delta=DELTA, runs=runs, progress=progress, quiet=True
            )
        row = results.summary()[0]
        times[label] = results.stopping_times.tolist()
        greedy, furthest = ((results.answers == answer).mean() for answer in (0, 2))
        table.add_row(
            label,
            f"{row.mean:.0f} ± {row.sem:.1f}",
            f"{row.mean / limit:.2f}",
            str(row.errors),
            f"{greedy:.0%} / {furthest:.0%}",
            o.stopping_name(strategy),
        )
    console.print(table)
    console.print(
        f"Limit T_ε ln(1/δ) = {limit:.0f}: as δ → 0 no strategy can do better. The furthest answer "
        f"is [bold]{problem.answer_names[price.furthest]}[/bold] (T_ε = {price.T:.1f}), not the "
        f"greedy {problem.answer_names[price.greedy]} (T_g = {price.T_greedy:.1f}): it is easier "
        "to verify."
    )
    from furthest.plots import stopping_times

    stopping_times(
        times,
        out,
        title=f"The hard instance: ε = 0.05, δ = {DELTA:g}, {runs} runs each",
        limits={"limit T_ε ln(1/δ)": limit},
    )
    console.print(f"Figure: {o.plain(str(out))}")
