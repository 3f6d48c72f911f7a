"""`python -m prism_signals_gateway_mcp` is `prism mcp`."""

from __future__ import annotations

import sys

from .command import main

sys.exit(main(sys.argv[1:]))
