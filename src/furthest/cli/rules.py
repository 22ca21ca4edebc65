"""furthest rules: the parts of a strategy, each with its source and its guarantee."""

from dataclasses import asdict
from typing import Any

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


def command(json: o.Json = False) -> None:
    """List the parts of a strategy, each with its source and its guarantee."""
    data = catalogue()
    if json:
        import json as encoder

        print(encoder.dumps(data))
        return
    from rich.console import Console
    from rich.table import Table

    console = Console()
    table = Table("--sampling", "source", "optimality", "depends on δ", title="Sampling rules")
    for rule in data["sampling"]:
        depends = "yes" if rule["depends_on_delta"] else "no"
        table.add_row(rule["name"], rule["source"], rule["optimality"], depends)
    console.print(table)
    for axis in AXES:
        table = Table(f"--{axis}" if axis != "grid" else "GRID", "what", "source")
        if axis == "threshold":
            table.add_column("guarantee")
        for part in data[axis]:
            extra = [part["guarantee"]] if axis == "threshold" else []
            table.add_row(part["name"], part["what"], part["source"], *extra)
        console.print(table)
