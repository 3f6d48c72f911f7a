"""How Sphinx builds the documentation; `python3 dev.py docs` runs it with warnings as errors."""

from __future__ import annotations

project = "Prism Signals"
author = "The Prism Signals authors"
copyright = author

extensions = ["myst_parser"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

nitpicky = True

html_theme = "furo"
html_title = project
html_show_sphinx = False
