"""A raw JSON-RPC client for MCP servers on stdio: no library between the clock and the pipe."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any

from .children import Child, ChildFailed

PROTOCOL = "2025-11-25"
CHANNEL = "notifications/claude/channel"


class Server(Child):
    """An MCP server as its client sees it."""

    _last = 0

    def initialize(self) -> int:
        """Shake hands; gives the moment `initialize` was answered."""
        self._ask(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": "bench", "version": "0"},
            },
        )
        _, moment = self.reply()
        self.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return moment

    def call(self, tool: str, arguments: Mapping[str, Any]) -> int:
        """Call a tool without waiting; gives the moment before the call was written."""
        return self._ask("tools/call", {"name": tool, "arguments": arguments})

    def reply(self) -> tuple[Any, int]:
        """The result of the last call, and when it arrived.

        Raises:
            ChildFailed: The answer is an error.
        """
        message, moment = self.receive_where(lambda m: m.get("id") == self._last)
        result = message.get("result")
        if result is None or result.get("isError"):
            raise ChildFailed(f"the server answered {json.dumps(message)[:500]}")
        return result, moment

    def ask(self, tool: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Call a tool and give the JSON object of its text."""
        self.call(tool, arguments)
        answer: dict[str, Any] = json.loads(self.reply()[0]["content"][0]["text"])
        return answer

    def _ask(self, method: str, params: Mapping[str, Any]) -> int:
        self._last += 1
        return self.send({"jsonrpc": "2.0", "id": self._last, "method": method, "params": params})


@contextmanager
def server(command: Sequence[str], environ: Mapping[str, str]) -> Iterator[Server]:
    """A running server; the handshake is left to the caller."""
    with Server(command, environ) as child:
        yield child
