"""A real process whose fingerprint a session can carry, and which can be made to end."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from prism_signals import Fingerprint, of_process


@dataclass(slots=True)
class OtherProcess:
    """A child process that waits until it is told to end."""

    fingerprint: Fingerprint
    _process: subprocess.Popen[bytes]

    def end(self) -> None:
        """Let it end, and wait until it has."""
        if self._process.stdin is not None and not self._process.stdin.closed:
            self._process.stdin.close()
        self._process.wait(20)


@contextmanager
def other_process() -> Iterator[OtherProcess]:
    """A process that lives until the context ends, or until `end`."""
    process = subprocess.Popen(
        [sys.executable, "-S", "-c", "import sys; print('up', flush=True); sys.stdin.read()"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline().strip() == b"up"
        fingerprint = of_process(process.pid)
        assert fingerprint is not None, "the process that was just started is not found"
        yield OtherProcess(fingerprint, process)
    finally:
        if process.stdin is not None:
            process.stdin.close()
        if process.stdout is not None:
            process.stdout.close()
        process.wait(20)
