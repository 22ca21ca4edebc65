"""Tag a release: look whether all is said that must be, and say what would be tagged.

    python scripts/release.py [--tag] [--root FOLDER]

The work tree must be clean, everybody must name the version of the package (CITATION.cff with the
day of the release), and the changelog must begin with it, as in `## 1.2.3 (2026-11-15)`. With --tag
the annotated tag is made, whose message is that section; to push it is left to you.
"""

import argparse
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
SECTION = re.compile(r"^## (\S+) \(([^)\n]+)\)\n(.*?)(?=^## |\Z)", re.MULTILINE | re.DOTALL)
DAY = re.compile(r"\d{4}-\d{2}-\d{2}")


class Release(NamedTuple):
    """What the files say."""

    version: str
    cited: str  # version and day of CITATION.cff
    cited_on: str
    section: str  # the version, day and text of the changelog's first section
    day: str
    changes: str

    @property
    def tag(self) -> str:
        """How it is tagged."""
        return f"v{self.version}"


def only(pattern: str, path: Path) -> str:
    """What the pattern finds in a file; empty if it is not there, or more than once."""
    found = re.findall(pattern, path.read_text(encoding="utf-8"), re.MULTILINE)
    return str(found[0]) if len(found) == 1 else ""


def read(root: Path) -> Release:
    """The release at `root`."""
    citation = root / "CITATION.cff"
    section = SECTION.search((root / "CHANGELOG.md").read_text(encoding="utf-8"))
    return Release(
        only(r'^__version__ = "(.*?)"', root / "src" / "furthest" / "__init__.py"),
        only(r"^version: (.*)$", citation),
        only(r"^date-released: (.*)$", citation),
        *(section.groups() if section else ("", "", "")),
    )


def git(root: Path, *arguments: str, given: str | None = None) -> str:
    """What git prints; its own words if it fails."""
    done = subprocess.run(  # noqa: S603 - what it is asked stands in this file
        ["git", "-C", str(root), *arguments],  # noqa: S607 - the one that is first on the path
        input=given,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        sys.exit(done.stderr.strip())
    return done.stdout.strip()


def problems(release: Release, root: Path) -> Iterator[str]:
    """What is amiss, one sentence each."""
    version = release.version
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        yield f"the package's version is {version!r}, not three numbers"
    if release.section != version:
        yield f"CHANGELOG.md begins with {release.section!r}, the package is {version}"
    if release.cited != version:
        yield f"CITATION.cff has version {release.cited!r}, the package is {version}"
    if not DAY.fullmatch(release.day):
        yield f"CHANGELOG.md says {release.day!r} where the day of the release belongs"
    elif release.cited_on != release.day:
        yield f"CITATION.cff was released on {release.cited_on!r}, CHANGELOG.md on {release.day}"
    if not release.changes.strip():
        yield f"CHANGELOG.md has nothing to say about {version}"
    if changed := git(root, "status", "--porcelain"):
        yield f"the work tree is not clean:\n{changed}"
    if git(root, "tag", "--list", release.tag):
        yield f"there is a tag {release.tag} already"


def main() -> None:
    """Look, and tag if asked to."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tag", action="store_true", help="make the tag")
    parser.add_argument("--root", type=Path, default=ROOT)
    arguments = parser.parse_args()
    release = read(arguments.root)
    if amiss := list(problems(release, arguments.root)):
        sys.exit("\n".join(amiss))
    message = f"furthest {release.version}\n\n{release.changes.strip()}\n"
    commit = git(arguments.root, "rev-parse", "--short", "HEAD")
    if arguments.tag:
        # As it is: a line that begins with # is a heading here.
        tag = ("tag", "--annotate", "--cleanup=verbatim", "--file=-", release.tag)
        git(arguments.root, *tag, given=message)
    print(f"{release.tag} at {commit}{'' if arguments.tag else ' (not made: --tag)'}\n\n{message}")


if __name__ == "__main__":
    main()
