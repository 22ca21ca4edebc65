"""The documentation site builds, without a warning and without the network."""

import re
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

import furthest as ft

pytestmark = pytest.mark.slow  # twenty seconds, and packages that only `make docs` needs

SPHINX = ("sphinx", "furo", "myst_parser", "sphinx_copybutton")
ROOT = Path(__file__).parent.parent


class Page(HTMLParser):
    """What a page loads, links and names."""

    def __init__(self, path):
        super().__init__()
        self.loaded = []
        self.linked = set()
        self.anchors = set()
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        given = dict(attrs)
        self.anchors.add(given.get("id"))
        if tag in ("script", "img", "iframe") and "src" in given:
            self.loaded.append(given["src"])
        if tag == "a":
            self.linked.add(given.get("href"))
        if tag == "link" and given.get("rel") == "stylesheet":
            self.loaded.append(given["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    for package in SPHINX:
        pytest.importorskip(package, reason=f"{package} is not installed: make docs")
    out = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "--fail-on-warning", "--keep-going", "--quiet"]
    done = subprocess.run(
        [*command, "docs", str(out)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return out


def test_nothing_is_loaded_from_elsewhere(site):
    pages = list(site.glob("**/*.html"))
    assert len(pages) > 50
    for path in pages:
        for address in Page(path).loaded:
            assert not re.match(r"(https?:)?//", address), (path.name, address)
            if not address.startswith("data:"):
                assert (path.parent / address.partition("?")[0]).is_file(), (path.name, address)


def test_every_page_can_be_found(site):
    """Sphinx warns of pages in no table of contents; this is about what becomes of the tables."""
    start = Page(site / "index.html").linked
    for path in ROOT.glob("docs/*.md"):
        if path.stem not in ("index", "theory"):
            assert f"{path.stem}.html" in start, path.stem


def test_every_public_name_is_in_the_reference(site):
    shown = Page(site / "api.html").anchors
    tree = (site / "api.html").read_text(encoding="utf-8")
    for name in ft.__all__:
        thing = getattr(ft, name)
        if isinstance(thing, type) and issubclass(thing, Exception):
            assert name in tree  # in the tree of errors
        else:
            assert f"furthest.{name}" in shown, name
