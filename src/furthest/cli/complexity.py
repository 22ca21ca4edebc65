"""furthest complexity: what a question costs at best, with a certificate."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from furthest.cli import options as o

if TYPE_CHECKING:
    from furthest.characteristic import Complexity
    from furthest.instances import Instance

DEFAULT_DELTAS = [0.1, 0.05, 0.01, 0.001]


def command(
    instance: o.Instance,
    eps: o.Eps = None,
    notion: o.NotionName = None,
    sigma: o.Sigma = None,
    noise: Annotated[
        float | None,
        typer.Option(help="Standard deviation of the noise to expect, where σ is unknown."),
    ] = None,
    mu: o.Mu = None,
    delta: o.Delta = None,
    gap: Annotated[float, typer.Option(help="Relative width of the bracket of T_ε.")] = 1e-8,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the answers and their alternatives to this file.")
    ] = None,
    json: o.Json = False,
) -> None:
    """Compute what a question costs at best: T_ε, the furthest answer, where to measure."""
    from furthest.errors import InputError
    from furthest.strategy import check_level

    if not 0 < gap < 1:
        raise InputError(f"--gap must be between 0 and 1, not {gap:g}")
    deltas = delta or DEFAULT_DELTAS
    for level in deltas:
        check_level(level)
    o.check_plot(plot)
    found = o.find_instance(instance, eps, notion, sigma, mu)
    with o.compilation("the exact solver"):
        from furthest.characteristic import complexity

        result = complexity(found.problem, found.truth, gap, noise=noise)
        # Again, for a time without compiling.
        result = complexity(found.problem, found.truth, gap, noise=noise)
    if plot is not None:
        from furthest.plots import explain

        explain(found.problem, found.truth, result, plot)
    if json:
        import json as encoder

        print(encoder.dumps({"instance": found.name} | result.to_dict()))
    else:
        _show(found, result, deltas, plot)


def _show(
    instance: "Instance", result: "Complexity", deltas: list[float], plot: Path | None
) -> None:
    from rich.console import Console

    console = Console()
    problem = instance.problem
    names = [o.plain(name) for name in problem.answer_names]
    o.print_problem(console, instance)
    if isinstance(result.noise, float) and problem.sigma is None:
        o.print_noise(console, problem, result.noise)
    table = o.table("", "answer", "T", "certified bracket")
    bracket = f"[{result.lower:.8g}, {result.upper:.8g}]".replace("[", "\\[")
    table.add_row("furthest (T_ε)", names[result.furthest], f"{result.T:.6g}", bracket)
    table.add_row("greedy (T_g)", names[result.greedy], f"{result.T_greedy:.6g}", "")
    table.add_row("best, ε = 0 (T_0)", names[result.greedy], f"{result.T_bai:.6g}", "")
    console.print(table)
    if result.in_cost:
        console.print("T is in the unit of the costs: nobody pays less than T_ε ln(1/δ) as δ → 0.")
    limits = o.table("δ", *(f"{delta:g}" for delta in deltas))
    limits.add_row("T_ε ln(1/δ)", *(f"{result.measurements(delta):.1f}" for delta in deltas))
    console.print(limits)
    most = sorted(range(len(result.weights)), key=lambda arm: -result.weights[arm])[:8]
    shares = (f"{o.plain(problem.arm_names[a])} {result.weights[a]:.4f}" for a in most)
    console.print("Optimal proportions: " + ", ".join(shares))
    if result.cost_weights is not None:
        money = (f"{o.plain(problem.arm_names[a])} {result.cost_weights[a]:.4f}" for a in most)
        console.print("Of the money: " + ", ".join(money))
    console.print("Most confusing: " + ", ".join(names[x] for x in result.binding))
    if len(result.ties) > 1:
        console.print("Tied: " + ", ".join(names[z] for z in result.ties))
    console.print(f"[dim]solved in {result.seconds * 1e3:.2f} ms[/dim]")
    if plot is not None:
        console.print(f"Figure: {o.plain(str(plot))}")
