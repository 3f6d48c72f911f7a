"""`python -m prism_signals_cli` is `prism`, for where no script is on PATH."""

from __future__ import annotations

import sys

from .main import main

if __name__ == "__main__":
    sys.exit(main())
