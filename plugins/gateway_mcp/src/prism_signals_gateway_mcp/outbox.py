"""What goes out: one whole line per frame, in order, never torn, and never waited for blindly."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from types import TracebackType
from typing import Self

import anyio
from mcp.shared.message import SessionMessage

MOST_WAITING = 1024
"""Frames that may wait. A client that leaves more of them unread is taken for gone."""


class Frame:
    """One line on its way out."""

    __slots__ = ("begun", "ended", "rest", "written")

    def __init__(self, line: bytes) -> None:
        self.rest = memoryview(line)
        self.begun = False
        """Some of it is in the pipe: it cannot be taken back."""
        self.written = False
        """All of it is in the pipe."""
        self.ended = anyio.Event()
        """It is written, or never will be."""


class Outbox:
    """The write side of the connection; the MCP library uses it as its write stream.

    A frame is written at once while the pipe has room. What does not fit waits here, and `run`
    writes it when the client reads again.

    Args:
        fd: A non-blocking file descriptor.
        broken: Called once when nothing can be written any more.
    """

    def __init__(self, fd: int, broken: Callable[[], None]) -> None:
        self._fd = fd
        self._broken = broken
        self._waiting: deque[Frame] = deque()
        self._wake = anyio.Event()
        self._open = True

    def __len__(self) -> int:
        return len(self._waiting)

    def post(self, text: str) -> Frame:
        """Put a frame in line.

        Raises:
            ClosedResourceError: The connection is closed.
        """
        if not self._open:
            raise anyio.ClosedResourceError
        frame = Frame(text.encode() + b"\n")
        self._waiting.append(frame)
        if len(self._waiting) == 1:
            self._write()
        if len(self._waiting) > MOST_WAITING:
            self._break()
        elif self._waiting:
            self._wake.set()
        return frame

    def withdraw(self, frame: Frame) -> bool:
        """Take a frame back; False where some of it is in the pipe already."""
        if frame.begun or frame not in self._waiting:
            return False
        self._waiting.remove(frame)
        return True

    async def run(self) -> None:
        """Write what waits, until it is closed and nothing waits any more."""
        while self._open or self._waiting:
            await self._wake.wait()
            if self._waiting:
                await anyio.wait_writable(self._fd)
                self._write()
            elif self._open:
                self._wake = anyio.Event()

    def _write(self) -> None:
        try:
            while self._waiting:
                frame = self._waiting[0]
                sent = os.write(self._fd, frame.rest)
                frame.begun, frame.rest = True, frame.rest[sent:]
                if not frame.rest:
                    frame.written = True
                    self._waiting.popleft()
                    frame.ended.set()
        except BlockingIOError:
            pass  # `run` goes on
        except OSError:
            self._break()

    def _break(self) -> None:
        self._shut()
        while self._waiting:
            self._waiting.popleft().ended.set()
        self._broken()

    def _shut(self) -> None:
        self._open = False
        self._wake.set()

    # -- the MCP library's write stream -----------------------------------------------------

    async def send(self, item: SessionMessage) -> None:
        """Put a frame of the MCP library in line; it waits for nothing.

        Raises:
            ClosedResourceError: The connection is closed.
        """
        self.post(item.message.model_dump_json(by_alias=True, exclude_unset=True))

    async def aclose(self) -> None:
        """Take no more frames."""
        self._shut()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
