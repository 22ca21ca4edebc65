"""One version, wherever it is shown."""

import json
import re
from pathlib import Path

import furthest as package
from furthest.study.events import LOG_VERSION

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


def test_the_page_on_versions_counts_right():
    page = (ROOT / "docs" / "versions.md").read_text(encoding="utf-8")
    assert f"All log versions so far, 1 to {LOG_VERSION}, can be read" in page
    frozen = json.loads((ROOT / "tests" / "data" / "runs.json").read_text(encoding="utf-8"))
    assert f"the decisions of {len(frozen)} runs are frozen" in page
