"""Each claim of the README is shown, and its figures are those of a run or of another page."""

import re
import tomllib
from pathlib import Path

import pytest

from furthest.paper import printed

ROOT = Path(__file__).parent.parent
SCRIPT = ROOT / "scripts" / "claims.py"
README = (ROOT / "README.md").read_text(encoding="utf-8")

SMALL = """# A thing

It has 3 parts, and never breaks: [how](docs/how.md).

```sh
make it    # in 5 minutes
```
"""
CLAIMS = """
["It has 3 parts"]
tests = ["tests/test_it.py::test_parts"]

["never breaks"]
pages = { "docs/how.md" = "It bends." }

["in 5 minutes"]
commands = ["make it"]
"""


def test_every_claim_is_shown_and_the_page_says_by_what(python):
    process = python(SCRIPT, "--check")
    assert (process.returncode, process.stderr) == (0, "")


def rows(page):
    """The cells of all rows of a page's tables, without emphasis."""
    lines = (ROOT / page).read_text(encoding="utf-8").splitlines()
    return [[cell.strip(" *") for cell in line.strip("|").split("|")] for line in lines]


def mean(cell):
    """`25,739 ± 643 (300)` → 25739.0; `.863 ± .004` → 0.863."""
    return float(cell.partition(" ")[0].replace(",", ""))


def test_the_table_is_what_the_demo_prints(furthest):
    """The same seed, the same 2,000 runs of each of five strategies."""
    process = furthest("demo", "--out", "demo.png")
    assert process.returncode == 0, process.stderr
    figures = re.compile(r"\d+ ± \d+\.\d")
    told = [line for line in process.stdout.splitlines() if figures.search(line)]
    table = [line for line in README.splitlines() if figures.search(line)]
    assert [figures.findall(line) for line in table] == [figures.findall(line) for line in told]
    assert [line.strip("| *").endswith("yes") for line in table] == [
        ", proven" in line for line in told
    ]
    assert f"simulates {2000 * len(table):,} studies" in README
    for name in ("lebai", "uniform"):
        assert f"(published: {printed.PULLS['multiplicative'][name][-1]})" in README


def test_softmin_is_as_much_sooner_as_was_measured():
    """Ratios of means, softmin to LεBAI, both with the default test."""
    found = {
        kind: 100 * (1 - mean(softmin) / mean(lebai))
        for kind, delta, _, lebai, _, softmin in (
            row for row in rows("docs/decisions/0021-ranked-and-softmin.md") if len(row) == 6
        )
        if delta == ".01"
    }
    large = [
        *(found[f"random d = {d} ({n})"] for d, n in ((12, 26), (16, 12))),
        *(found[f"options K = {K} (9)"] for K in (20, 30)),
    ]
    said = (
        f"At δ = 1 % it takes {found['']:.0f} % fewer measurements than LεBAI on average over 200 "
        f"instances, {min(large):.0f} to {max(large):.0f} % fewer with 20 options or 12 dimensions "
        f"and more, and {-found['factorial (18)']:.0f} % more on factorial designs"
    )
    assert said in README


def test_rare_outcomes_are_as_cheap_as_the_pages_say():
    """Outcomes with σ = ½ over outcomes with tests of their own, where at most 1 in 15 counts."""
    plain = {row[0]: row[1:] for row in rows("docs/decisions/0022-yes-and-no.md")}
    sigma, own = plain["σ = ½, `ranked`, softmin"], plain["`pairs`, softmin (default)"]
    # Two options of .05 and .04, and the six of at most .06.
    ratios = [mean(sigma[i]) / mean(own[i]) for i in (0, 2, 3, 4)]
    ratios += [
        mean(row[2]) / mean(row[3].strip("* "))
        for row in rows("docs/theory/features-bounded.md")
        if row[0] in ("2³, p .03–.055, ε .005", "2⁴, p .03–.065, ε .005")
    ]
    assert len(ratios) == 10
    assert f"{min(ratios):.0f} to {max(ratios):.0f} times fewer" in README


def test_what_is_installed_is_what_can_be_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert f"Python {project['requires-python'].removeprefix('>=')} or later" in README
    (line,) = (line for line in README.splitlines() if "pip install" in line)
    named = line.partition("extras")[2].partition(". ")[0]
    assert {*re.findall("`(.*?)`", named), "all"} == {*project["optional-dependencies"]}


def test_links_lead_somewhere():
    """Those of the pages are the site's business."""
    for address in re.findall(r"\]\((.*?)\)", README):
        path, _, heading = address.partition("#")
        text = (ROOT / path).read_text(encoding="utf-8") if path.endswith(".md") else ""
        found = re.findall(r"^#+ (.*)$", text, re.MULTILINE)
        assert (ROOT / path).exists(), address
        assert not heading or heading in [each.lower().replace(" ", "-") for each in found], address


def test_every_target_is_there():
    targets = re.findall(
        r"^([\w-]+):", (ROOT / "Makefile").read_text(encoding="utf-8"), re.MULTILINE
    )
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *ROOT.glob("docs/**/*.md")]
    for page in pages:
        for target in re.findall(r"(?:^|`)make ([a-z-]+)", page.read_text(encoding="utf-8")):
            assert target in targets, (page.name, target)


@pytest.fixture
def project(tmp_path):
    """A small one, with a page."""
    for name, text in (
        ("README.md", SMALL),
        ("Makefile", "all: it\nit:\n"),
        ("docs/how.md", "It bends.\n"),
        ("docs/claims.toml", CLAIMS),
        ("tests/test_it.py", "def test_parts():\n    pass\n"),
    ):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def check(python, project, *flags):
    process = python(SCRIPT, "--root", project, *flags)
    return process.returncode, process.stderr


def test_a_page(python, project):
    assert check(python, project) == (0, "")
    assert check(python, project, "--check") == (0, "")
    page = (project / "docs/claims.md").read_text(encoding="utf-8")
    assert [line for line in page.splitlines() if line.startswith("| “")] == [
        "| “It has 3 parts” | `test_it.py`: parts |",
        "| “never breaks” | [how](how.md): “It bends.” |",
        "| “in 5 minutes” | `make it` |",
    ]


@pytest.mark.parametrize(
    ("file", "before", "after", "words"),
    [
        ("README.md", "3 parts", "4 parts", "the README does not say 'It has 3 parts'"),
        ("README.md", "It has", "In 2 days it has", "has '2' in: In 2 days it has"),
        ("README.md", "# A thing", "# A thing\n\nIt always works.", "has 'always' in"),
        ("README.md", "in 5 minutes", "in 6 minutes", "has '6' in: in 6 minutes"),
        ("docs/claims.toml", "::test_parts", "::test_part", "no test tests/test_it.py::test_part"),
        ("docs/claims.toml", '"make it"', '"make that"', "there is no command make that"),
        ("docs/claims.toml", 'commands = ["make it"]', "", "nothing shows 'in 5 minutes'"),
        ("docs/how.md", "bends", "breaks", "docs/how.md does not say 'It bends.'"),
        ("docs/claims.md", "parts", "pieces", "docs/claims.md is not up to date"),
    ],
)
def test_what_is_not_shown_is_named(python, project, file, before, after, words):
    assert check(python, project) == (0, "")
    path = project / file
    path.write_text(path.read_text(encoding="utf-8").replace(before, after, 1), encoding="utf-8")
    code, errors = check(python, project, "--check")
    assert code == 1
    assert words in errors
