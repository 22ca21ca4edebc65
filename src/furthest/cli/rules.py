"""furthest rules: the parts of a strategy, each with its source and its guarantee."""

from dataclasses import asdict
from typing import Annotated, Any

import typer

from furthest import parts, sampling
from furthest.cli import options as o

AXES = {
    "candidate": parts.CANDIDATES,
    "stopping": parts.STOPPINGS,
    "threshold": parts.THRESHOLDS,
    "schedule": parts.SCHEDULES,
    "grid": parts.GRIDS,
    "tracking": parts.TRACKINGS,
}


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Every part of every axis, as plain data."""
    rules = [sampling.find(name) for name in sampling.MODULES]
    described = [
        {
            "name": rule.name,
            "source": rule.source,
            "optimality": rule.optimality,
            "depends_on_delta": rule.depends_on_delta,
        }
        for rule in rules
    ]
    others = {axis: [asdict(part) for part in table.values()] for axis, table in AXES.items()}
    return {"sampling": described, **others}


def columns(axis: str) -> dict[str, str]:
    """What is shown of the parts of one axis: heading and key."""
    if axis == "sampling":
        return {"source": "source", "optimality": "optimality", "depends on δ": "depends_on_delta"}
    shown = {"what": "what", "source": "source"}
    return shown | ({"guarantee": "guarantee"} if axis in ("stopping", "threshold") else {})


def _text(value: Any) -> str:
    return {True: "yes", False: "no"}[value] if isinstance(value, bool) else str(value)


def markdown() -> str:
    """The catalogue as docs/rules.md holds it."""
    lines = ["# The parts of a strategy", "", "Made by `furthest rules --markdown`.", ""]
    for axis, entries in catalogue().items():
        shown = columns(axis)
        lines += [
            f"## {axis}",
            "",
            f"| name | {' | '.join(shown)} |",
            "|---" * (len(shown) + 1) + "|",
        ]
        for entry in entries:
            cells = [f"`{entry['name']}`", *(_text(entry[key]) for key in shown.values())]
            lines.append(f"| {' | '.join(cells)} |")
        lines.append("")
    lines += ["## Refused combinations", ""]
    for conflict in parts.CONFLICTS:
        where = ", ".join(f"{axis} {' or '.join(own)}" for axis, own in conflict.where.items())
        lines.append(f"- {where}: {conflict.reason}.")
    lines.append(f"- {parts.ELIMINATION}.")
    return "\n".join(lines) + "\n"


def command(
    json: o.Json = False,
    as_markdown: Annotated[bool, typer.Option("--markdown", help="As the docs hold it.")] = False,
) -> None:
    """List the parts of a strategy, each with its source and its guarantee."""
    if as_markdown:
        print(markdown(), end="")
        return
    data = catalogue()
    if json:
        import json as encoder

        print(encoder.dumps(data))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    for axis, entries in data.items():
        shown = columns(axis)
        table = Table("GRID" if axis == "grid" else f"--{axis}", *shown)
        for entry in entries:
            table.add_row(entry["name"], *(_text(entry[key]) for key in shown.values()))
        console.print(table)
