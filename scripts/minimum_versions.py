"""Print the lowest versions that pyproject.toml allows, one requirement per line, for pip."""

import re
import tomllib
from pathlib import Path

PROJECT = Path(__file__).resolve().parent.parent / "pyproject.toml"


def minimum_versions(project: dict[str, object]) -> list[str]:
    """Every dependency, also of the extras, with == instead of >= and without an upper end."""
    name, dependencies = project["name"], project["dependencies"]
    extras = project["optional-dependencies"]
    assert isinstance(dependencies, list)
    assert isinstance(extras, dict)
    listed = [*dependencies, *(each for extra in extras.values() for each in extra)]
    # An extra may be made of others.
    others = [each for each in listed if not each.startswith(f"{name}[")]
    for each in others:
        if not re.fullmatch(r"[\w.-]+(\[\w+\])?>=[\d.]+(,<[\d.]+)?", each):
            raise SystemExit(f"{each!r} has no lowest version of the form name>=1.2")
    return [each.partition(",")[0].replace(">=", "==") for each in others]


if __name__ == "__main__":
    print(*minimum_versions(tomllib.loads(PROJECT.read_text("utf-8"))["project"]), sep="\n")
