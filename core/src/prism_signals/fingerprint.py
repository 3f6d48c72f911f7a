"""Which process is this, and does that one still live? On Linux from /proc, elsewhere from `ps`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from .model.session import Fingerprint

_LINUX = sys.platform.startswith("linux")
_ANCESTORS = 64


@lru_cache(maxsize=1)
def boot_id() -> str:
    """Names this run of the machine; empty where the system does not tell.

    Containers share the machine's boot but number their processes by themselves, so the namespace
    of process ids is part of it.
    """
    if _LINUX:
        try:
            boot = Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip()
            return f"{boot} {Path('/proc/self/ns/pid').readlink()}"
        except OSError:
            return ""
    return _ask("sysctl", "-n", "kern.boottime")


def of_process(pid: int) -> Fingerprint | None:
    """The fingerprint of a process, or None where there is none or it has ended."""
    started = _started(pid)
    return Fingerprint(boot_id(), pid, started) if started else None


def of_this_process() -> Fingerprint:
    """This process's fingerprint."""
    return of_process(os.getpid()) or Fingerprint(boot_id(), os.getpid(), "")


def lives(fingerprint: Fingerprint) -> bool | None:
    """Whether that process still runs; None where it is on another machine or cannot be told."""
    here = boot_id()
    if not here or fingerprint.boot_id != here or not fingerprint.started:
        return None
    return _started(fingerprint.pid) == fingerprint.started


def ancestors(pid: int) -> Iterator[int]:
    """The process ids above this one, nearest first."""
    for _ in range(_ANCESTORS):
        parent = _parent(pid)
        if parent <= 1:
            return
        yield parent
        pid = parent


def _stat(pid: int) -> list[str]:
    try:
        text = Path(f"/proc/{pid}/stat").read_text("utf-8", "replace")
    except OSError:
        return []
    return text.rpartition(")")[2].split()  # the name before it may hold spaces and parentheses


def _started(pid: int) -> str:
    if _LINUX:
        fields = _stat(pid)
        return fields[19] if len(fields) > 19 and fields[0] not in "ZX" else ""
    return _ask("ps", "-o", "lstart=", "-p", str(pid))


def _parent(pid: int) -> int:
    if _LINUX:
        fields = _stat(pid)
        return int(fields[1]) if len(fields) > 1 else 0
    answer = _ask("ps", "-o", "ppid=", "-p", str(pid))
    return int(answer) if answer.isdigit() else 0


def _ask(*command: str) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs, no shell
            command, capture_output=True, text=True, timeout=2, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout.strip()
