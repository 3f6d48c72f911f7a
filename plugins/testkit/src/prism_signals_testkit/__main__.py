"""`python -m prism_signals_testkit`: the command `prism conformance` where `prism` is missing."""

from __future__ import annotations

import sys

from .command import main

sys.exit(main(sys.argv[1:]))
