"""What kind of machine this is, and how quiet it is just now."""

from __future__ import annotations

import os
import platform
import sqlite3
import tempfile
from pathlib import Path

from .home import is_ram_disk
from .samples import Sample, now

_SPINS = 300
_STEPS = 20_000


def description() -> str:
    """One line: no names, only what changes the numbers."""
    disk = (
        "RAM disk (commits cost nothing: use TMPDIR)"
        if is_ram_disk(Path(tempfile.gettempdir()).resolve())
        else "disk"
    )
    return (
        f"{platform.system()} {platform.machine()}, {os.cpu_count()} processors, "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, store on a {disk}"
    )


def noise() -> float:
    """How much longer than its best a fixed piece of work takes in the worst hundredth of runs.

    On a quiet machine below 1.3; above 2 the run is worth little.
    """
    times: list[int] = []
    for _ in range(_SPINS):
        before = now()
        for _ in range(_STEPS):
            pass
        times.append(now() - before)
    spins = Sample.of(times)
    return spins.p99 / spins.best


def load() -> str:
    """How many processes wanted to run in the last minute."""
    return f"{os.getloadavg()[0]:.2f}"
