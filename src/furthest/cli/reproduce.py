"""furthest reproduce: the paper's tables and figures again, and what it left open."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from furthest.cli import options as o
from furthest.cli.pieces import piece_bars

if TYPE_CHECKING:
    from furthest.paper.reproduction import Reproduction

COLOURS = {"confirmed": "green", "differs": "red", "undecided": "yellow"}
NAMES = (
    "figure-1 … figure-10, table-1, table-4 … table-8; asymptotics, exact-oracle, conjecture, "
    "proven; elsewhere; or all."
)


def command(
    entries: Annotated[list[str], typer.Argument(help=NAMES, metavar="ENTRY…")],
    runs: Annotated[
        int, typer.Option(help="Runs per cell; the paper has 5000.", min=2, max=o.MOST_RUNS)
    ] = 5000,
    out: Annotated[Path, typer.Option(help="Folder for runs, figures and report.")] = Path(
        "out/reproduction"
    ),
    seed: Annotated[int, typer.Option(help="Seed of everything.", min=0)] = 2022,
    jobs: o.Jobs = 1,
    dask: o.Dask = None,
    draw: Annotated[
        bool, typer.Option("--draw", help="Make no runs: show what is stored, up to --runs.")
    ] = False,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no summary.")] = False,
    json: o.Json = False,
) -> None:
    """Reproduce tables and figures of the paper, each number beside the printed one.

    Runs are stored: what was interrupted goes on where it stopped, and more --runs later make only
    the missing ones.
    """
    from furthest.paper.reproduction import Job, choose

    chosen = choose(entries)
    with (
        o.cluster(dask, jobs) as executor,
        o.compilation("what the paper needs", said=not quiet),
    ):
        job = Job(chosen, runs, out, seed, draw=draw)
        with piece_bars(job.pieces, quiet=quiet) as progress:
            done = job.finish(jobs, progress, executor)
    from furthest.paper.report import write

    page = write(done, out)
    if json:
        import json as encoder

        from furthest.paper.report import data

        print(encoder.dumps(data(done) | {"report": str(page)}))
    elif not quiet:
        _show(done, page)


def _show(done: "Reproduction", page: Path) -> None:
    from rich.console import Console
    from rich.table import Table

    from furthest.paper.report import summary

    console = Console()
    off = [row for row in done.numbers() if row[-1].verdict == "differs"]
    if off:
        table = Table("entry", "row", "column", "ours", "paper", "difference")
        for entry, row, column, number in off:
            ours = f"{number.ours.value:.1f} ± {number.ours.error:.1f}"
            table.add_row(
                entry, row, column, ours, f"{number.printed:.0f}", f"{number.difference:+.1%}"
            )
        console.print(table)
    claims = Table("statement of the paper", "ours", "verdict")
    for verdict in done.verdicts:
        colour = COLOURS[verdict.verdict]
        claims.add_row(
            verdict.claim.statement,
            verdict.finding.ours,
            f"[{colour}]{verdict.verdict}[/{colour}]",
        )
    if done.verdicts:
        console.print(claims)
    for line in summary(done):
        console.print(o.plain(line))
    console.print(
        f"This call: {done.work.rounds:,} measurements in {done.seconds:.1f} s, "
        f"{done.work.cpu:.0f} s of processor time, {done.jobs} processes."
    )
    console.print(f"Report: {o.plain(str(page))}")
