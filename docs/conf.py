"""The documentation site: `make docs`."""

from furthest import __version__

project = "furthest"
author = "The furthest developers"
release = version = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_copybutton"]
myst_enable_extensions = ["colon_fence", "dollarmath", "deflist"]
myst_heading_anchors = 4
exclude_patterns = ["build"]
html_theme = "furo"
html_title = "furthest"
