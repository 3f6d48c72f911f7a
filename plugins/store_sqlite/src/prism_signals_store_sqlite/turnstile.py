"""Lets the writers of all processes through one at a time, without long stalls.

SQLite's own way to wait is to try again after ever longer sleeps: with eight writers the unlucky
one waits for seconds. Here a writer first takes the *gate*, then the *turn*, gives the gate back,
and writes. So exactly one writer stands directly behind the one that writes, and the kernel wakes
it the moment the turn is free; the others queue at the gate.
"""

from __future__ import annotations

import os
from pathlib import Path

try:
    import fcntl
except ImportError:  # pragma: no cover - Windows: SQLite's own lock has to do
    fcntl = None  # type: ignore[assignment]

GATE_SUFFIX = "-gate"
TURN_SUFFIX = "-turn"
"""The two lock files stand beside the database; they stay empty."""


class Turnstile:
    """The two locks of one file, as one connection sees them. Blocking: for a thread of its own.

    Nothing here has a deadline, because the kernel's queue has none. The thread that waits asks
    afterwards whether anybody still wants the turn; see `Writer`.
    """

    def __init__(self, path: Path) -> None:
        self._gate = _open(path, GATE_SUFFIX)
        try:
            self._turn = _open(path, TURN_SUFFIX)
        except OSError:
            os.close(self._gate)
            raise

    def enter(self) -> None:
        """Wait for the turn, however long that takes."""
        if fcntl is None:  # pragma: no cover - Windows
            return
        fcntl.flock(self._gate, fcntl.LOCK_EX)
        try:
            fcntl.flock(self._turn, fcntl.LOCK_EX)
        finally:
            fcntl.flock(self._gate, fcntl.LOCK_UN)

    def leave(self) -> None:
        """Give the turn to the next."""
        if fcntl is not None:
            fcntl.flock(self._turn, fcntl.LOCK_UN)

    def close(self) -> None:
        """Close the lock files; a lock that is held is given back."""
        os.close(self._gate)
        os.close(self._turn)


def _open(path: Path, suffix: str) -> int:
    name = path.with_name(path.name + suffix)
    return os.open(name, os.O_RDWR | os.O_CREAT, 0o600)
