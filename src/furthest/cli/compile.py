"""furthest compile: machine code beforehand, for images and CI jobs."""

import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from furthest.cli import options as o
from furthest.display import count

if TYPE_CHECKING:
    from furthest.beforehand import Compiled


def command(
    rules: Annotated[
        list[str] | None,
        typer.Argument(
            help="Sampling rules, each with ranked and with every threshold of the GLR; none: "
            "what the default strategy needs, and `complexity`.",
            metavar="RULE…",
            show_default=False,
        ),
    ] = None,
    everything: Annotated[
        bool,
        typer.Option("--all", help="Every rule with every stopping test: some ten minutes."),
    ] = False,
    jobs: Annotated[int, typer.Option(help="Processes that compile at once.", min=1)] = 1,
    json: o.Json = False,
) -> None:
    """Compile beforehand what simulations and live studies would compile when first needed.

    It goes to the cache on disk, which NUMBA_CACHE_DIR can move. Ctrl-C keeps what is done.
    """
    from furthest.errors import InputError

    if rules and everything:
        raise InputError("name some rules or say --all, not both")
    from furthest import beforehand
    from furthest.workers import spread

    folder = _folder()
    chosen = (
        beforehand.everything()
        if everything
        else beforehand.of_rules(rules)
        if rules
        else beforehand.default()
    )
    began = time.perf_counter()
    done: dict[int, Compiled] = {}

    def report() -> None:
        (_print if json else _show)(list(done.values()), time.perf_counter() - began, folder)

    try:
        with o.progress_bar("compiling", len(chosen)) as advance:
            spread(
                beforehand.compiled,
                [(piece,) for piece in chosen],
                done.__setitem__,
                jobs=jobs,
                told=lambda _: advance(1),
            )
    except KeyboardInterrupt:
        report()
        raise
    report()


def _folder() -> str:
    """Where the machine code goes; without such a place there is nothing to be done beforehand."""
    import tempfile

    from furthest import compiling
    from furthest.errors import FurthestError

    folder = compiling.folder()
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        reason = f"{error.strerror or error}: {folder}"
    else:
        if folder is not None:
            return str(folder)
        reason = "there is no place for it"
    raise FurthestError(
        f"compiled code cannot be stored ({reason}): set NUMBA_CACHE_DIR to a folder with room "
        "that can be written to"
    )


def _print(done: list["Compiled"], seconds: float, folder: str) -> None:
    import json as encoder
    from dataclasses import asdict

    data: dict[str, Any] = {"folder": folder, "seconds": seconds}
    print(encoder.dumps(data | {"compiled": [asdict(each) for each in done]}))


def _show(done: list["Compiled"], seconds: float, folder: str) -> None:
    from rich.console import Console
    from rich.table import Table

    console = Console()
    new = [each for each in done if each.kernels]
    if new:
        table = Table()
        table.add_column("compiled", overflow="fold")
        for heading in ("kernels", "seconds"):
            table.add_column(heading, justify="right", no_wrap=True)
        for each in new:
            table.add_row(each.what, str(each.kernels), f"{each.seconds:.1f}")
        console.print(table)
    there = len(done) - len(new)
    kernels = count(sum(each.kernels for each in new), "kernel")
    console.print(
        f"{len(new)} compiled ({kernels}, {seconds:.1f} s), {there} there already; "
        f"kept in {o.plain(folder)}",
        highlight=False,
        soft_wrap=True,
    )
