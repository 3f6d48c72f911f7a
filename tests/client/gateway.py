"""One agent's `prism mcp`, spoken to as an MCP client does."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from .waiting import PATIENCE
from .wire import Frame, Process, Wire

LEGACY = "2025-11-25"
MODERN = "2026-07-28"
CHANNEL = "notifications/claude/channel"
_ENVELOPE = "io.modelcontextprotocol/"

Answer = dict[str, Any]


class Refused(Exception):
    """A verb was refused.

    Attributes:
        code: The error's stable code.
        message: What is wrong and what to do.
        error: All of it.
    """

    def __init__(self, text: str) -> None:
        super().__init__(text)
        read = json.loads(text)
        self.error: Answer = read.get("error", read)
        self.code = str(self.error["code"])
        self.message = str(self.error["message"])


class Gateway(Wire):
    """The MCP client's end of a `prism mcp`, before or after the handshake.

    Attributes:
        project: The project that its verbs name.
        handshake: The server's answer to `initialize` or `server/discover`.
        texts: Every text that a model would have read, in order.
    """

    def __init__(self, process: Process, errors: Path, project: str) -> None:
        super().__init__(process, errors)
        self.project = project
        self.handshake: Frame = {}
        self.texts: list[str] = []
        self._modern = False
        self._heard = 0

    # -- handshake --------------------------------------------------------------------------

    def initialize(self, version: str = LEGACY) -> Frame:
        """Shake hands as clients up to 2025-11-25 do, the last notification included."""
        self.greet(version)
        self.notify("notifications/initialized")
        return self.handshake

    def greet(self, version: str = LEGACY) -> Frame:
        """The first half of that handshake."""
        self.handshake = self.request(
            "initialize",
            {
                "protocolVersion": version,
                "capabilities": {},
                "clientInfo": {"name": "raw-client", "version": "0"},
            },
        )
        return self.handshake

    def discover(self) -> Frame:
        """Open the connection as clients of 2026-07-28 do."""
        self._modern = True
        self.handshake = self.request("server/discover", self.envelope({}))
        return self.handshake

    def envelope(self, params: Frame) -> Frame:
        """The params as this connection's era wants them."""
        if not self._modern:
            return params
        meta = {
            f"{_ENVELOPE}protocolVersion": MODERN,
            f"{_ENVELOPE}clientCapabilities": {},
            f"{_ENVELOPE}clientInfo": {"name": "raw-client", "version": "0"},
        }
        return {**params, "_meta": meta}

    # -- verbs ------------------------------------------------------------------------------

    def begin_verb(self, verb: str, /, **arguments: Any) -> int:
        """Call a verb without waiting."""
        return self.begin("tools/call", self.envelope({"name": verb, "arguments": arguments}))

    def finish_verb(self, number: int, within: float = PATIENCE) -> Answer:
        """The answer of a verb, which must be one JSON object as text and nothing else.

        Raises:
            Refused: The answer is an error.
        """
        result = self.finish(number, within)
        assert "structuredContent" not in result, "two major clients would hide the text"
        texts = [block["text"] for block in result["content"] if block["type"] == "text"]
        assert len(texts) == len(result["content"]) == 1, result
        self.texts += texts
        if result.get("isError"):
            raise Refused(texts[0])
        answer = json.loads(texts[0])
        assert isinstance(answer, dict)
        return answer

    def verb(self, verb: str, /, **arguments: Any) -> Answer:
        """Call a verb and wait for its answer."""
        return self.finish_verb(self.begin_verb(verb, **arguments))

    def start(self, **arguments: Any) -> Answer:
        """`prism_start`."""
        return self.verb("prism_start", **{"pid": self.project, **arguments})

    def signal(self, to: str, signal_type: str, payload: Any, **more: Any) -> Answer:
        """`prism_signal`."""
        return self.verb("prism_signal", **self.draft(to, signal_type, payload, **more))

    def draft(self, to: str, signal_type: str, payload: Any, **more: Any) -> Answer:
        """The arguments of `prism_signal`."""
        named = {"to": to, "signal_type": signal_type, "payload": payload}
        return {"pid": self.project, **named, **more}

    def tell(self, to: str, text: str, **more: Any) -> str:
        """Send a `Question`, and give its id."""
        return str(self.signal(to, "Question", {"message": text}, **more)["signal_id"])

    def read(self, **arguments: Any) -> list[Answer]:
        """`prism_read_signals`: its entries."""
        return list(self.verb("prism_read_signals", **arguments)["signals"])

    def ack(self, *signal_ids: str) -> Answer:
        """`prism_ack_signals`."""
        return self.verb("prism_ack_signals", signal_ids=list(signal_ids))

    def status(self, **arguments: Any) -> Answer:
        """`prism_status`."""
        return self.verb("prism_status", **arguments)

    def track(self, signal_id: str) -> Answer:
        """How far a signal got towards its only recipient."""
        deliveries = self.status(signal_id=signal_id)["deliveries"]
        assert len(deliveries) == 1
        return dict(deliveries[0])

    def recall(self, signal_id: str) -> Answer:
        """`prism_recall`."""
        return self.verb("prism_recall", signal_id=signal_id)

    def wrap(self) -> Answer:
        """`prism_wrap`."""
        return self.verb("prism_wrap")

    # -- channel events ---------------------------------------------------------------------

    @property
    def events(self) -> list[Frame]:
        """The channel events so far, since `forget`."""
        return [f["params"] for f in self.frames[self._heard :] if f.get("method") == CHANNEL]

    def event(self, signal_id: str, within: float = PATIENCE) -> Frame:
        """Wait for the channel event of a signal, and give its params."""
        frame = self.wait(
            lambda f: f.get("method") == CHANNEL and f["params"]["meta"]["signal_id"] == signal_id,
            f"the channel event of {signal_id}",
            within,
            start=self._heard,
        )
        params: Frame = frame["params"]
        self.texts.append(params["content"])
        return params

    def forget(self) -> None:
        """Begin anew: what was written before counts no more."""
        self._heard = len(self.frames)
        self.texts = []
