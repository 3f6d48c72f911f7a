"""Child processes that speak JSON, one object a line, and never outlive us."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from .samples import now

PATIENCE = 60.0  # seconds: the longest wait for anything, unless a benchmark says otherwise
_END_WITHIN = 5.0  # seconds
_ROOT = Path(__file__).resolve().parent.parent


class ChildFailed(Exception):
    """A child ended, or stayed silent for too long; the message says which and shows its errors."""


class Child:
    """One child process.

    Args:
        command: What to run.
        env: Its whole environment.
    """

    def __init__(self, command: Sequence[str], env: Mapping[str, str]) -> None:
        self.spawned = now()
        """When it was started."""
        self._errors = (Path(env["HOME"]) / f"{os.getpid()}-{self.spawned}.err").open("w+b")
        self._process = subprocess.Popen(  # noqa: S603 - our own commands
            list(command),
            env=dict(env),
            cwd=_ROOT,
            bufsize=0,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
        )
        self._partial = b""
        self._lines: deque[tuple[Any, int]] = deque()

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def send(self, message: object) -> int:
        """Write one line; gives the moment before it was written."""
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe
        line = json.dumps(message, separators=(",", ":")).encode() + b"\n"
        before = now()
        self._process.stdin.write(line)
        return before

    def receive(self, patience: float = PATIENCE) -> tuple[Any, int]:
        """The next object, and the moment it had arrived.

        Raises:
            ChildFailed: It ended, or nothing came in time.
        """
        until = time.monotonic() + patience
        while not self._lines:
            if not wait_for_any([self], until - time.monotonic()):
                raise ChildFailed(f"nothing came within {patience:g} s. {self._said()}")
            self.collect()
        return self._lines.popleft()

    def receive_where(
        self, wanted: Callable[[Any], bool], patience: float = PATIENCE
    ) -> tuple[Any, int]:
        """The next object that is wanted; others on the way are dropped."""
        while True:
            message, moment = self.receive(patience)
            if wanted(message):
                return message, moment

    def collect(self) -> None:
        """Take in what is there, after `wait_for_any` named this child.

        Raises:
            ChildFailed: It closed its output.
        """
        data = os.read(self.fileno(), 1 << 20)
        moment = now()
        if not data:
            raise ChildFailed(f"it closed its output. {self._said()}")
        *lines, self._partial = (self._partial + data).split(b"\n")
        for line in lines:
            if line.strip():
                self._lines.append((json.loads(line), moment))

    def fileno(self) -> int:
        """Its output, for `select`."""
        assert self._process.stdout is not None  # noqa: S101 - opened as a pipe
        return self._process.stdout.fileno()

    def close(self) -> None:
        """End it: first by closing its input, then by signals to this one process."""
        assert self._process.stdin is not None  # noqa: S101 - opened as a pipe
        self._process.stdin.close()
        for signum in (None, signal.SIGTERM, signal.SIGKILL):
            if signum is not None:
                self._process.send_signal(signum)
            try:
                self._process.wait(_END_WITHIN)
                break
            except subprocess.TimeoutExpired:
                continue
        if self._process.stdout is not None:
            self._process.stdout.close()
        self._errors.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def _said(self) -> str:
        self._errors.seek(0)
        said = self._errors.read().decode(errors="replace").strip()[-2000:]
        return f"It said: {said}" if said else "It said nothing."


def wait_for_any(children: Sequence[Child], seconds: float) -> list[Child]:
    """The children with something to read, as soon as there is one; empty after the time."""
    ready, _, _ = select.select(children, [], [], max(seconds, 0.0))
    return ready


def python(*arguments: str) -> list[str]:
    """The command for this Python with these arguments."""
    return [sys.executable, *arguments]
