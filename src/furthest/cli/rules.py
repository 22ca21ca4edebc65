"""furthest rules: the parts of a strategy, each with its source and its guarantee."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from furthest import axes, sampling, stopping
from furthest.cli import options as o

if TYPE_CHECKING:
    from furthest.sampling.rule import Rule
    from furthest.stopping.test import StoppingTest

CLOSED = {
    "candidate": axes.CANDIDATES.values(),
    "schedule": axes.SCHEDULES.values(),
    "grid": axes.GRIDS.values(),
    "tracking": axes.TRACKINGS.values(),
}


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """Every part of every axis, as plain data."""
    closed = {
        axis: [{key: getattr(part, key) for key in ("name", "what", "source")} for part in own]
        for axis, own in CLOSED.items()
    }
    return {
        "sampling": [_rule(sampling.find(name)) for name in sampling.MODULES],
        "candidate": closed.pop("candidate"),
        "stopping": [_test(stopping.versions(name)) for name in stopping.MODULES],
        "threshold": _thresholds(),
        **closed,
    }


def _rule(rule: "Rule") -> dict[str, Any]:
    return {
        "name": rule.name,
        "source": rule.source,
        "optimality": rule.optimality,
        "depends_on_delta": rule.depends_on_delta,
    }


def _test(versions: "dict[str | None, StoppingTest]") -> dict[str, Any]:
    """One row for all versions of a test; what they guarantee may depend on the threshold."""
    test = next(iter(versions.values()))
    return {
        "name": test.name,
        "what": test.what,
        "source": test.source,
        "guarantee": test.guarantee.words if None in versions else "that of its threshold",
        "proven": all(version.guarantee.proven for version in versions.values()),
        "thresholds": [word for word in versions if word is not None],
        "unknown_sigma": any(version.unknown_sigma is not None for version in versions.values()),
        "notions": list(test.notions),
        "sampling": test.sampling,
        "needs_bound": test.needs_bound,
        "bounded_only": test.bounded_only,
    }


def _thresholds() -> list[dict[str, Any]]:
    from furthest.stopping.glr import ABOUT

    return [
        {
            "name": name,
            "what": about.what,
            "source": about.source,
            "guarantee": about.guarantee.words,
            "proven": about.guarantee.proven,
        }
        for name, about in ABOUT.items()
    ]


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
    lines += ["## What goes together", ""]
    for test in catalogue()["stopping"]:
        words = " or ".join(test["thresholds"])
        facts = [f"the threshold {words}" if words else "no threshold"]
        if test["bounded_only"]:
            facts.append("only for rewards within bounds, of options without features")
        elif not test["unknown_sigma"]:
            facts.append("σ must be known")
        if len(test["notions"]) == 1:
            facts.append(f"the {test['notions'][0]} notion only")
        if test["needs_bound"]:
            facts.append("the problem must have a bound on the parameter")
        if test["sampling"]:
            facts.append(f"only with the sampling rule {test['sampling']}")
        lines.append(f"- `{test['name']}`: {'; '.join(facts)}.")
    lines.append("- For unknown σ the GLR has a version with the threshold `mixture` alone.")
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

    console = Console()
    for axis, entries in data.items():
        shown = columns(axis)
        table = o.table("GRID" if axis == "grid" else f"--{axis}", *shown)
        for entry in entries:
            table.add_row(entry["name"], *(_text(entry[key]) for key in shown.values()))
        console.print(table)
