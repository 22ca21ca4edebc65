"""What shows that the README is right: writes docs/claims.md from docs/claims.toml.

    python scripts/claims.py [--check] [--root FOLDER]

It is an error if the words of a claim do not stand in the README, if a test, command or page that
is named does not exist or does not say what is quoted, and if the README has a figure, or a word
like “every” or “proven”, that is in no claim. What --check does: scripts/mapping.py.
"""

import re
import shlex
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

from mapping import main, of_file, row, words  # type: ignore[import-not-found]

HEAD = """# The README, claim by claim

<!-- Made by scripts/claims.py from docs/claims.toml: edit that. -->

Each claim of the README, with the tests that check it, the commands that measure it, and the pages
that have it in full, with their own tests and commands. A test sees to it that no claim is without.
"""
COLUMNS = "| the README says | shown by |\n|---|---|"

# What is said nowhere without being shown: figures, fractions, and what leaves no exception.
WATCHED = re.compile(
    r"\d|\b(half|third|fifth|quarter|twice|proven|proof|certified|nothing|never|always|every|"
    r"everything|any|all|same|whatever|whenever|few|fewest|no)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"^```.*?^```$|^<!-- .*? -->$", re.MULTILINE | re.DOTALL)
REMARK = re.compile(r"(?<=\s)# (.*)")
INLINE = re.compile(r"`[^`]*`|(?<=\])\([^)]*\)")


class Claim(NamedTuple):
    """Words of the README, and what shows them; see docs/claims.toml."""

    words: str
    tests: Sequence[str] = ()
    commands: Sequence[str] = ()
    pages: Mapping[str, str] = MappingProxyType({})


def read(root: Path) -> list[Claim]:
    """All of them, in their order."""
    listed = tomllib.loads((root / "docs" / "claims.toml").read_text(encoding="utf-8"))
    return [Claim(words, **shown) for words, shown in listed.items()]


def told(text: str) -> str:
    """Words that line breaks and emphasis do not change."""
    return " ".join(text.replace("*", "").split())


def amiss(root: Path, claims: list[Claim]) -> Iterator[str]:
    """What is wrong, one sentence each."""
    readme = (root / "README.md").read_text(encoding="utf-8")
    for claim in claims:
        if told(claim.words) not in told(readme):
            yield f"the README does not say {claim.words!r}"
        if not (claim.tests or claim.commands or claim.pages):
            yield f"nothing shows {claim.words!r}"
        yield from missing(root, claim)
    for sentence, word in unshown(readme, claims):
        yield f"no claim of docs/claims.toml has {word!r} in: {sentence}"


def missing(root: Path, claim: Claim) -> Iterator[str]:
    """What is said to show it, and does not."""
    for test in claim.tests:
        if not is_test(root, test):
            yield f"there is no test {test}"
    for command in claim.commands:
        if not is_command(root, command):
            yield f"there is no command {command}"
    for page, quoted in claim.pages.items():
        if told(quoted) not in told((root / page).read_text(encoding="utf-8")):
            yield f"{page} does not say {quoted!r}"


def is_test(root: Path, test: str) -> bool:
    """Whether there is one of that name, `tests/test_some.py::test_thing`."""
    file, _, name = test.partition("::")
    there = (root / file).exists() and name.startswith("test_")
    return there and name in dict(of_file(root / file))


def is_command(root: Path, command: str) -> bool:
    """Whether a target or a script has that name; what `furthest` has is for tests/test_docs.py."""
    program, first, *_ = shlex.split(command)
    if program == "make":
        return f"\n{first}:" in (root / "Makefile").read_text(encoding="utf-8")
    return program == "furthest" or (program == "python" and (root / first).exists())


def unshown(readme: str, claims: list[Claim]) -> Iterator[tuple[str, str]]:
    """Sentences with a word that should be in a claim and is not."""
    remarks = "\n\n".join(
        remark for block in CODE.findall(readme) for remark in REMARK.findall(block)
    )
    for part in re.split(r"\n\n+|\n(?=[-|])", f"{CODE.sub('', readme)}\n\n{remarks}"):
        rest = told(part)
        for claim in sorted(claims, key=lambda claim: -len(claim.words)):
            rest = rest.replace(told(claim.words), "…")
        for sentence in re.split(r"(?<=[.:!?])\s+", INLINE.sub("", rest)):
            if found := WATCHED.search(sentence):
                yield sentence, found[0]


def shown(claim: Claim) -> str:
    """What shows it, in a cell."""
    tests = [words(*test.removeprefix("tests/").split("::")) for test in claim.tests]
    commands = [f"`{command}`" for command in claim.commands]
    pages = [
        f"[{title(page)}]({address(page)}): {cell(said)}" for page, said in claim.pages.items()
    ]
    return "<br>".join(tests + commands + pages)


def title(page: str) -> str:
    """What a page is called where it is linked."""
    return Path(page).stem.replace("-", " ")


def address(page: str) -> str:
    """Where it is, seen from docs/."""
    return page.removeprefix("docs/") if page.startswith("docs/") else f"../{page}"


def cell(text: str) -> str:
    """Words of a page, which may be a row of a table."""
    return f"“{told(text).strip('| ').replace(' | ', ' · ')}”"


def made(root: Path) -> tuple[str, list[str]]:
    """The page, and what is amiss."""
    claims = read(root)
    wrong = list(amiss(root, claims))
    rows = [] if wrong else [row(cell(claim.words), shown(claim)) for claim in claims]
    return "\n".join([HEAD, COLUMNS, *rows, ""]), wrong


if __name__ == "__main__":
    main(__doc__, "claims.md", made)
