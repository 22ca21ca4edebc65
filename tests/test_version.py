"""One version, wherever it is shown."""

import re
from pathlib import Path

import furthest as package

ROOT = Path(__file__).parent.parent


def test_everybody_says_the_same(furthest):
    process = furthest("--version")
    assert (process.returncode, process.stderr) == (0, "")
    assert process.stdout == f"furthest {package.__version__}\n"
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.*)$", citation, re.MULTILINE) == [package.__version__]
    changes = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert re.findall(r"^## (\S+)", changes, re.MULTILINE)[0] == package.__version__
    # The build reads it from the package.
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert 'dynamic = ["version"]' in project
    assert 'path = "src/furthest/__init__.py"' in project
