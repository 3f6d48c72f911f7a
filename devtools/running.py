"""Runs commands under a deadline and keeps the account of how they ended."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from .layout import ROOT

TOO_LONG = 124
Command = Sequence[str | Path]


def say(text: str) -> None:
    """Tell the person who waits. Standard output belongs to the command itself."""
    print(f"dev.py: {text}", file=sys.stderr, flush=True)


def run(
    command: Command,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    limit: float = 1200,
    waiting: str = "",
) -> int:
    """Run a command in a process group of its own and give its exit status.

    Args:
        command: The program and its arguments.
        env: Its environment; ours by default.
        cwd: Where it runs.
        limit: Seconds until the whole group is ended; the status is then `TOO_LONG`.
        waiting: What to say every ten seconds, for commands that print nothing themselves.
    """
    words = [str(c) for c in command]
    started = time.monotonic()
    child = subprocess.Popen(
        words, cwd=cwd, env=env, stdin=subprocess.DEVNULL, start_new_session=True
    )
    try:
        while True:
            passed = time.monotonic() - started
            try:
                return child.wait(max(0.1, min(10.0, limit - passed)))
            except subprocess.TimeoutExpired:
                passed = time.monotonic() - started
                if passed >= limit:
                    say(f"{' '.join(words[:4])} … ran longer than {limit:.0f} s and was ended")
                    return TOO_LONG
                if waiting:
                    say(f"still {waiting} ({passed:.0f} s)")
    finally:
        _end(child)


def _end(child: subprocess.Popen[bytes]) -> None:
    for sign in (signal.SIGTERM, signal.SIGKILL):
        if child.poll() is None:
            os.killpg(child.pid, sign)
            try:
                child.wait(10)
            except subprocess.TimeoutExpired:
                continue


class Counts(NamedTuple):
    """How many tests ended in which way."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0


class Row(NamedTuple):
    """One step of a run."""

    name: str
    seconds: float
    ok: bool
    counts: Counts


@dataclass(slots=True)
class Report:
    """What was run, how long it took and how it ended."""

    rows: list[Row] = field(default_factory=list)

    def add(self, name: str, started: float, ok: bool, counts: Counts) -> None:
        """Note one step that began at this monotonic time."""
        self.rows.append(Row(name, time.monotonic() - started, ok, counts))

    def step(
        self,
        name: str,
        command: Command,
        env: Mapping[str, str],
        cwd: Path = ROOT,
    ) -> None:
        """Run one check, which counts as one test."""
        print(f"\n== {name}", flush=True)
        started = time.monotonic()
        ok = run(command, env=env, cwd=cwd) == 0
        self.add(name, started, ok, Counts(int(ok), int(not ok)))

    def close(self) -> int:
        """Print the table and a last line that counts everything, and give the exit status."""
        print(f"\n{'step':<26}{'seconds':>9}{'passed':>9}{'failed':>9}{'skipped':>9}")
        for row in self.rows:
            _line(row, "" if row.ok else "   FAILED")
        total = Counts(*(sum(c) for c in zip(*(r.counts for r in self.rows), strict=True)))
        _line(Row("together", sum(r.seconds for r in self.rows), True, total))
        passed, failed, skipped = total
        print(f"\n{passed} passed, {failed} failed, {skipped} skipped", flush=True)
        return 0 if self.rows and all(row.ok for row in self.rows) else 1


def _line(row: Row, mark: str = "") -> None:
    numbers = "".join(f"{c:>9}" for c in row.counts)
    print(f"{row.name:<26}{row.seconds:>9.1f}{numbers}{mark}")
