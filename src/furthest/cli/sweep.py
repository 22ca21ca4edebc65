"""furthest sweep: a grid of simulations, resumable."""

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from furthest.cli import options as o
from furthest.cli.pieces import piece_bars
from furthest.display import count, one_line

if TYPE_CHECKING:
    from furthest.sweeps.sweeping import Job, Sweep


def command(
    spec: Annotated[
        Path,
        typer.Argument(
            help="A TOML file: instances, strategies, eps, delta, runs, seed.", metavar="SPEC.toml"
        ),
    ],
    out: Annotated[
        Path | None,
        typer.Option(help="Folder for runs, table and figure.", show_default="out/SPEC"),
    ] = None,
    jobs: o.Jobs = 1,
    dask: o.Dask = None,
    quiet: Annotated[bool, typer.Option("--quiet", help="No progress, no table.")] = False,
    json: o.Json = False,
) -> None:
    """Simulate every strategy on every instance, for every ε and δ.

    Runs are stored as they come: what was interrupted goes on where it stopped, and cells that a
    changed specification has in common with the former one are not made again.
    """
    from furthest.errors import FurthestError
    from furthest.sweeps.spec import read_spec
    from furthest.sweeps.sweeping import Job

    read = read_spec(spec)
    folder = out or Path("out") / spec.stem
    with (
        o.cluster(dask, jobs) as executor,
        o.compilation("what the sweep needs", said=not quiet),
    ):
        job = Job(read, folder)
        if not quiet:
            _say_what_is_there(job)
        try:
            with piece_bars(job.pieces, quiet=quiet) as progress:
                done = job.finish(jobs, progress, executor)
        except KeyboardInterrupt:
            raise FurthestError(
                f"interrupted: {_cells(job)} finished, all runs so far are in {folder}; the same "
                "command goes on from there"
            ) from None
    figure = _drawn(done, folder)
    if json:
        import json as encoder

        data = {"spec": str(spec), "out": str(folder), "figure": figure and str(figure)}
        print(encoder.dumps(data | done.to_dict()))
    elif not quiet:
        _show(done, folder, figure)


def _cells(job: "Job") -> str:
    return f"{len(job.finished)} of {count(len(job.cells), 'cell')}"


def _say_what_is_there(job: "Job") -> None:
    """What need not be made again, and what belongs to another specification."""
    if job.finished:
        print(f"{_cells(job)} there already", file=sys.stderr)
    if job.others:
        print(
            f"left out, because the specification, a file that it names or furthest itself has "
            f"changed: {count(job.others, 'stored cell')}",
            file=sys.stderr,
        )


def _drawn(done: "Sweep", folder: Path) -> Path | None:
    """The figure, where there is what draws it."""
    from furthest.errors import MissingExtraError

    figure = folder / "figure.svg"
    try:
        done.draw(figure)
    except MissingExtraError:
        return None
    return figure


def _show(done: "Sweep", folder: Path, figure: Path | None) -> None:
    from rich.console import Console

    console = Console()
    heads = ("δ", "mean ± s.e.", "× limit", "5 % … 95 %", "errors")
    priced = any(row.summary.cost is not None for row in done.rows)
    table = o.table("rule", *heads, *(("cost ± s.e.",) * priced), right=True)
    last = ""
    for row in done.rows:
        found = row.summary
        question = f"{row.instance}, ε = {row.eps:g}"
        if question != last:
            table.add_section()
            table.add_row(f"[bold]{o.plain(question)}[/bold]")
            last = question
        table.add_row(
            o.plain(row.strategy) + ("" if row.proven else " (not proven)"),
            f"{row.delta:g}",
            f"{found.mean:.0f} ± {found.sem:.1f}",
            f"{row.ratio:.2f}" if row.limit > 0 else "–",
            f"{found.q05:.0f} … {found.q95:.0f}",
            str(found.errors) + (f", {found.unstopped} open" if found.unstopped else ""),
            *o.cost_cell(found),
        )
    console.print(table)
    console.print(
        f"[dim]{done.runs:,} runs each; this call: {done.work.units:,} runs, "
        f"{done.work.rounds:,} measurements, {done.seconds:.1f} s[/dim]"
    )
    print(f"All runs: {one_line(str(done.dataset))}")
    print(f"Table: {one_line(str(folder / 'summary.csv'))}")
    if figure is None:
        print("No figure: matplotlib is not installed: pip install 'furthest[plot]'")
    else:
        print(f"Figure: {one_line(str(figure))}")
