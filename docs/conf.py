"""The documentation site: `make docs`."""

import re
from typing import Any

from furthest import __version__

project = "furthest"
author = "The furthest developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
# Nothing is loaded from elsewhere.
html_theme = "furo"
html_title = "furthest"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_theme_options = {"footer_icons": []}
html_copy_source = False
html_show_copyright = False
html_show_sphinx = False

# Docstrings are read in a terminal first: `code` there is code here, and types are not repeated.
default_role = "code"
autodoc_member_order = "bysource"
autodoc_typehints = "none"
napoleon_use_ivar = True
# The tools that the adapters are for.
autodoc_mock_imports = ["optuna", "sklearn", "joblib", "inspect_ai"]


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("autodoc-process-docstring", _whole_sentence, priority=600)  # after Napoleon
    app.connect("autodoc-process-docstring", _of_the_paper)
    app.connect("autodoc-skip-member", _is_explained_above)
    app.connect("source-read", _linked)


def _whole_sentence(_app: Any, kind: str, *rest: Any) -> None:
    """What stands before a colon in the first sentence of a property is no type."""
    lines: list[str] = rest[-1]
    if kind in ("attribute", "property"):
        for i, line in enumerate(lines):
            if line.startswith(":type: "):
                lines[0] = f"{line.removeprefix(':type: ')}: {lines[0]}"
                del lines[i]
                return


def _of_the_paper(_app: Any, _kind: str, *rest: Any) -> None:
    """What an item of the paper is says the page that lists them."""
    lines: list[str] = rest[-1]
    for i, line in enumerate(lines):
        if line.startswith("Paper: "):
            lines[i] = line.replace("Paper", ":doc:`In the paper <paper-map>`", 1)


def _is_explained_above(_app: Any, _kind: str, _name: str, thing: Any, *_rest: Any) -> bool | None:
    """The fields of a named tuple are in its docstring; None leaves the decision to others."""
    return str(getattr(thing, "__doc__", "")).startswith("Alias for field number") or None


def _linked(_app: Any, page: str, source: list[str]) -> None:
    """The catalogue names pages as a terminal shows them."""
    if page == "rules":
        source[0] = re.sub(r"docs/((?:theory/)?([\w-]+)\.md)", r"[\2](\1)", source[0])
