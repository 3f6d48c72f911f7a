"""What a process uses, as the operating system tells it."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

_KIB = 1024


def memory(pid: int) -> float:
    """Resident memory in MiB."""
    status = Path(f"/proc/{pid}/status")
    if status.exists():
        line = next(x for x in status.read_text("utf-8").splitlines() if x.startswith("VmRSS"))
        return int(line.split()[1]) / _KIB
    return float(_ps(pid, "rss")) / _KIB


def cpu_seconds(pid: int) -> float:
    """Processor time used so far by all its threads, in seconds.

    On Linux to the nanosecond, elsewhere as coarse as `ps`.
    """
    threads = Path(f"/proc/{pid}/task")
    if threads.exists():
        stats = (t / "schedstat" for t in threads.iterdir())
        return sum(int(s.read_text("utf-8").split()[0]) for s in stats) / 1e9
    minutes, _, seconds = _ps(pid, "time").rpartition(":")
    return float(minutes or 0) * 60 + float(seconds)


def idle_share(pids: list[int], seconds: float) -> list[float]:
    """The processor time each used while nothing was asked of it, in per cent of one processor."""
    before = [cpu_seconds(pid) for pid in pids]
    time.sleep(seconds)
    return [(cpu_seconds(p) - b) / seconds * 100 for p, b in zip(pids, before, strict=True)]


def _ps(pid: int, column: str) -> str:
    command = ["ps", "-o", f"{column}=", "-p", str(pid)]
    done = subprocess.run(command, check=True, capture_output=True, text=True)  # noqa: S603 - ours
    return done.stdout.strip()
