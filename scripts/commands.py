"""All commands and options: writes docs/commands.md from what `--help` shows.

    python scripts/commands.py [--check] [--root FOLDER]

What --check does: scripts/mapping.py.
"""

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer
from mapping import main, row  # type: ignore[import-not-found]

from furthest.cli import app

HEAD = """# The command line

<!-- Made by scripts/commands.py from the help texts: edit those. -->

What `furthest COMMAND --help` says. Exit codes: 0 done, 1 the job failed, 2 bad input; those of
`study verify` are [told there](certificate.md#every-entry). With `--json` a command prints one
object and nothing else. An option may be given as a variable of the environment where one is named.
"""
COMMON = """
## Options of many commands
"""
COLUMNS = "\n| | |\n|---|---|"
MANY = 3  # commands that have an option, with the same words


def commands(command: Any, name: str) -> Iterator[tuple[str, Any]]:
    """All that can be called, with their whole names."""
    below = getattr(command, "commands", {})
    if not below:
        yield name, command
    for word, each in below.items():
        yield from commands(each, f"{name} {word}")


def usage(name: str, command: Any) -> str:
    """`furthest study tell NAME [ID] [RESULT]`."""
    given = [each for each in command.params if is_argument(each)]
    return " ".join(
        [name, *(shown(each) if each.required else f"[{shown(each)}]" for each in given)]
    )


def is_argument(parameter: Any) -> bool:
    """Whether it goes by its place."""
    return not parameter.opts[0].startswith("-")


def shown(parameter: Any) -> str:
    """What it is called: `NAME`, `--runs`, `--plot, --no-plot`."""
    if is_argument(parameter):
        return str(parameter.metavar or parameter.name).strip("[]{}").upper()
    return ", ".join([*parameter.opts, *parameter.secondary_opts])


def meaning(parameter: Any) -> str:
    """What its help says, with its default."""
    said = written(parameter.help)
    default = parameter.default
    if isinstance(parameter.show_default, str):
        default = parameter.show_default
    if parameter.show_default and default not in (None, "") and not isinstance(default, bool):
        said += f" Without it: {default}."
    if getattr(parameter, "envvar", None):
        said += f" Or the variable `{parameter.envvar}`."
    return said


def listed(command: Any) -> list[tuple[str, str]]:
    """What a command takes, and what it means."""
    kept = [each for each in command.params if not each.hidden and each.name != "help"]
    return [(shown(each), meaning(each)) for each in kept]


def written(said: str | None) -> str:
    """A help text on a page: options as code, and nothing else that means something there."""
    plain = " ".join((said or "").split()).replace("|", "\\|").replace("*", "\\*")
    return re.sub(r"(?<![`\w-])(--[a-z][a-z-]*)(?![^`]*`)", r"`\1`", plain)


def made(_: Path) -> tuple[str, list[str]]:
    """The page, and what is amiss: options without help."""
    found = dict(commands(typer.main.get_command(app), "furthest"))
    counts = Counter(each for command in found.values() for each in listed(command))
    common = [each for each, count in counts.items() if count >= MANY]
    lines = [HEAD.rstrip()]
    for name, command in found.items():
        words = written(command.help)
        lines += [f"\n## {name.removeprefix('furthest ')}\n\n`{usage(name, command)}`\n\n{words}"]
        lines += table([each for each in listed(command) if each not in common])
        shared = [f"`{option}`" for option, _ in listed(command) if (option, _) in common]
        lines += [f"\nAnd {', '.join(shared)}: [see below](#options-of-many-commands)."] * bool(
            shared
        )
    lines += [COMMON.rstrip(), *table(common)]
    return "\n".join([*lines, ""]), [
        f"{name} {option} has no help"
        for name, command in found.items()
        for option, said in listed(command)
        if not said
    ]


def table(options: list[tuple[str, str]]) -> list[str]:
    """One row for each."""
    return [COLUMNS, *(row(f"`{option}`", said) for option, said in options)] if options else []


if __name__ == "__main__":
    main(__doc__, "commands.md", made)
