"""The command that runs our own MCP server, and its verbs' wire form."""

from __future__ import annotations

import sys
from pathlib import Path

PRISM = str(Path(sys.executable).parent / "prism")
"""The installed command, as people run it."""
PRISM_MCP = [PRISM, "mcp"]
