"""What comes in: lines become JSON-RPC frames; what is no frame is answered, not dropped."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from types import TracebackType
from typing import Any, Self

import anyio
import anyio.lowlevel
import mcp_types as types
from mcp.shared.message import SessionMessage

LONGEST_LINE = 4 * 1024 * 1024
"""Bytes. A payload has 64 KiB at most, so a longer line is a mistake or an attack."""

_CHUNK = 65_536
_MODERN_OPENING = "server/discover"


class Inbox:
    """The read side of the connection; the MCP library uses it as its read stream.

    Args:
        fd: Where to read.
        answer: Writes one frame to the client.
        legacy: Serve only revisions with a handshake. The opening request of newer ones is then
            refused here, as a server that knows nothing of them would: refusing it in a handler
            comes too late, since the library has settled on a revision by then.
    """

    def __init__(self, fd: int, answer: Callable[[str], object], *, legacy: bool) -> None:
        self._fd = fd
        self._answer = answer
        self._legacy = legacy
        self._buffer = bytearray()
        self._searched = 0
        self._ended = False
        self._reading = anyio.CancelScope()

    def end(self) -> None:
        """Read no more; the stream ends as if the client had closed it."""
        self._ended = True
        self._buffer.clear()
        self._reading.cancel()

    async def receive(self) -> SessionMessage | Exception:
        """The next frame.

        Raises:
            EndOfStream: The client has closed its side.
        """
        while True:
            line = await self._line()
            message = self._parse(line) if line.strip() else None
            if message is not None:
                return SessionMessage(message)

    def _parse(self, line: bytes) -> types.JSONRPCMessage | None:
        try:
            message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
        except ValueError:
            self._refuse(line)
            return None
        if (
            self._legacy
            and isinstance(message, types.JSONRPCRequest)
            and message.method == _MODERN_OPENING
        ):
            self._error(message.id, types.METHOD_NOT_FOUND, "Method not found")
            return None
        return message

    def _refuse(self, line: bytes) -> None:
        request_id: Any = None
        code, why = types.PARSE_ERROR, "This line is not JSON, or has characters JSON cannot carry."
        try:
            data = json.loads(line)
        except (ValueError, RecursionError):
            pass
        else:
            code, why = types.INVALID_REQUEST, "This line is not a JSON-RPC 2.0 request."
            request_id = data.get("id") if isinstance(data, dict) else None
        known = isinstance(request_id, (str, int)) and not isinstance(request_id, bool)
        self._error(request_id if known else None, code, why)

    def _error(self, request_id: str | int | None, code: int, why: str) -> None:
        error = {"jsonrpc": "2.0", "id": request_id, "error": {"code": code, "message": why}}
        try:
            self._answer(json.dumps(error))
        except anyio.ClosedResourceError:
            self.end()

    async def _line(self) -> bytes:
        await anyio.lowlevel.checkpoint()
        while True:
            end = self._buffer.find(b"\n", self._searched)
            if end >= 0:
                line = bytes(self._buffer[:end])
                del self._buffer[: end + 1]
                self._searched = 0
                return line
            self._searched = len(self._buffer)
            if self._searched > LONGEST_LINE:
                await self._skip_line()
            elif not await self._read():
                line, self._buffer = bytes(self._buffer), bytearray()
                if line:
                    return line
                raise anyio.EndOfStream

    async def _skip_line(self) -> None:
        self._error(None, types.INVALID_REQUEST, f"A line has more than {LONGEST_LINE} bytes.")
        end = -1
        while end < 0:
            self._buffer.clear()
            if not await self._read():
                break
            end = self._buffer.find(b"\n")
        del self._buffer[: end + 1]
        self._searched = 0

    async def _read(self) -> bool:
        if self._ended:
            return False
        with anyio.CancelScope() as reading:
            self._reading = reading
            try:
                await anyio.wait_readable(self._fd)
            except PermissionError:  # a regular file: it is always readable
                await anyio.lowlevel.checkpoint()
        if reading.cancel_called:  # by `end`
            return False
        try:
            chunk = os.read(self._fd, _CHUNK)
        except OSError:  # the client reset the connection
            chunk = b""
        self._ended = not chunk
        self._buffer += chunk
        return bool(chunk)

    # -- the MCP library's read stream ------------------------------------------------------

    async def aclose(self) -> None:
        """Read no more."""
        self.end()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> SessionMessage | Exception:
        try:
            return await self.receive()
        except anyio.EndOfStream:
            raise StopAsyncIteration from None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        exc_type: type[BaseException] | None,
        exc_val: BaseException | None,
        exc_tb: TracebackType | None,
    ) -> None:
        await self.aclose()
