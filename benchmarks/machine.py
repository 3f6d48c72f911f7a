"""What kind of machine this is, and how quiet it is just now."""

from __future__ import annotations

import os
import platform
import resource
import sqlite3
import tempfile
import time
from dataclasses import dataclass
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


@dataclass(frozen=True, slots=True)
class Watch:
    """Processor time at one moment, to tell later how much of the machine others took.

    Attributes:
        wall: Seconds of the monotonic clock.
        busy: Seconds that all processors together have worked, or None where nothing tells.
        own: Of these, ours and those of our children that have ended.
    """

    wall: float
    busy: float | None
    own: float

    @classmethod
    def start(cls) -> Watch:
        """Begin to watch."""
        used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
        return cls(time.monotonic(), _busy(), sum(u.ru_utime + u.ru_stime for u in used))

    def others(self) -> float | None:
        """The share of all processors that others used since then; None where nothing tells."""
        later = Watch.start()
        if self.busy is None or later.busy is None:
            return None
        spent = later.busy - self.busy - (later.own - self.own)
        return max(spent, 0.0) / ((later.wall - self.wall) * (os.cpu_count() or 1))


def _busy() -> float | None:
    stat = Path("/proc/stat")
    if not stat.exists():
        return None
    user, nice, system, _idle, _wait, irq, softirq, *_ = stat.read_text("utf-8").split()[1:9]
    return sum(map(int, (user, nice, system, irq, softirq))) / os.sysconf("SC_CLK_TCK")
