"""A small MCP client made of lines and JSON, to see the wire as it is.

It knows nothing of the product: it starts a process, writes frames, and keeps what comes back.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

LEGACY, MODERN = "2025-11-25", "2026-07-28"
PATIENCE = 15.0  # seconds, for a loaded machine
_META = "io.modelcontextprotocol/"
Frame = dict[str, Any]


class Late(AssertionError):
    """Something did not happen in time."""


class Server:
    """One `prism mcp` process.

    Args:
        folder: Where its store and its log are.
        environ: Further variables, without the prefix `PRISM_`.
        path: Where further modules are.
        listen: Whether its output is read from the start.
    """

    def __init__(
        self,
        folder: Path,
        *,
        path: Path | None = None,
        listen: bool = True,
        arguments: tuple[str, ...] = (),
        **environ: str,
    ) -> None:
        self.frames: list[Frame] = []
        self.torn: list[bytes] = []
        self.modern = False
        self._news = threading.Condition()
        self._last_id = 0
        self._log = folder / f"{time.monotonic_ns()}.log"
        with self._log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "prism_signals_gateway_mcp", *arguments],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
                cwd=folder,
                env=environment(folder, path, environ),
            )
        self._thread = threading.Thread(target=self._read, daemon=True)
        if listen:
            self._thread.start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *about: object) -> None:
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait(PATIENCE)
        if self._thread.ident is not None:
            self._thread.join(PATIENCE)
        for pipe in (self.process.stdin, self.process.stdout):
            if pipe is not None:
                with suppress(BrokenPipeError):
                    pipe.close()

    @property
    def log(self) -> str:
        """What it wrote to standard error."""
        return self._log.read_text("utf-8", "replace")

    # -- frames -----------------------------------------------------------------------------

    def send_line(self, line: str) -> None:
        """Write one line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()

    def begin(self, method: str, params: Frame | None = None) -> int:
        """Write a request; gives its id."""
        self._last_id += 1
        params = dict(params or {})
        if self.modern:
            params["_meta"] = {
                f"{_META}protocolVersion": MODERN,
                f"{_META}clientCapabilities": {},
                f"{_META}clientInfo": {"name": "raw", "version": "0"},
            }
        self.send_line(
            json.dumps({"jsonrpc": "2.0", "id": self._last_id, "method": method, "params": params})
        )
        return self._last_id

    def notify(self, method: str, params: Frame | None = None) -> None:
        """Write a notification."""
        self.send_line(json.dumps({"jsonrpc": "2.0", "method": method, "params": params or {}}))

    def answer(self, request: int) -> Frame:
        """The frame that answers a request."""
        return self.wait(lambda f: f.get("id") == request and "method" not in f, f"#{request}")

    def ask(self, method: str, params: Frame | None = None) -> Frame:
        """Write a request and wait for the frame that answers it."""
        return self.answer(self.begin(method, params))

    def initialize(self, *, finish: bool = True) -> Frame:
        """The handshake; gives the server's result."""
        result = self.answer(self.begin_handshake())["result"]
        if finish:
            self.notify("notifications/initialized")
        assert isinstance(result, dict)
        return result

    def begin_handshake(self) -> int:
        """Begin the handshake; gives the request's id."""
        about = {"name": "raw", "version": "0"}
        return self.begin(
            "initialize", {"protocolVersion": LEGACY, "capabilities": {}, "clientInfo": about}
        )

    def begin_tool(self, name: str, **arguments: Any) -> int:
        """Call a tool without waiting."""
        return self.begin("tools/call", {"name": name, "arguments": arguments})

    def call(self, name: str, **arguments: Any) -> Frame:
        """Call a tool; gives its answer as the model reads it."""
        return self.read(self.answer(self.begin_tool(name, **arguments)), is_error=False)

    def refused(self, name: str, **arguments: Any) -> Frame:
        """Call a tool that must refuse; gives the error."""
        frame = self.answer(self.begin_tool(name, **arguments))
        error = self.read(frame, is_error=True)["error"]
        assert isinstance(error, dict)
        return error

    def read(self, frame: Frame, *, is_error: bool) -> Frame:
        """The JSON object in a tool's result, which must be one block of text and nothing else."""
        result = frame["result"]
        assert "structuredContent" not in result
        assert bool(result.get("isError")) is is_error, result
        [block] = result["content"]
        assert block.keys() == {"type", "text"}
        answer = json.loads(block["text"])
        assert isinstance(answer, dict)
        return answer

    def events(self) -> list[Frame]:
        """The channel events so far."""
        return [
            f["params"] for f in self.frames if f.get("method") == "notifications/claude/channel"
        ]

    def event(self, signal_id: str) -> Frame:
        """The channel event of a signal."""
        frame = self.wait(
            lambda f: f.get("params", {}).get("meta", {}).get("signal_id") == signal_id,
            f"the event of {signal_id}",
        )
        params = frame["params"]
        assert isinstance(params, dict)
        return params

    def wait(self, wanted: Callable[[Frame], bool], what: str) -> Frame:
        """The first frame that is wanted."""
        deadline = time.monotonic() + PATIENCE
        with self._news:
            while True:
                for frame in self.frames:
                    if wanted(frame):
                        return frame
                if not self._thread.is_alive():
                    raise Late(f"ended without {what}: {self.log}")
                if not self._news.wait(deadline - time.monotonic()):
                    raise Late(f"no {what}: {self.log}")

    def listen(self) -> None:
        """Begin to read its output."""
        self._thread.start()

    # -- end --------------------------------------------------------------------------------

    def end_input(self, within: float = PATIENCE) -> int:
        """Close its standard input; gives the exit status."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        return self.wait_for_end(within)

    def stop(self, *signals: signal.Signals, within: float = PATIENCE) -> int:
        """Send it signals; gives the exit status."""
        for number in signals:
            self.process.send_signal(number)
        return self.wait_for_end(within)

    def wait_for_end(self, within: float) -> int:
        """Wait for its end; gives the exit status."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise Late(f"alive after {within:g} s: {self.log}") from None

    def _read(self) -> None:
        assert self.process.stdout is not None
        for line in self.process.stdout:
            try:
                frame = json.loads(line)
            except ValueError:
                self.torn.append(line)
                continue
            with self._news:
                self.frames.append(frame)
                self._news.notify_all()
        with self._news:
            self._news.notify_all()


def environment(folder: Path, path: Path | None, more: Mapping[str, str]) -> dict[str, str]:
    """Our environment without the product's own variables, and with those given."""
    own = {k: v for k, v in os.environ.items() if not k.startswith("PRISM_")}
    if path is not None:
        own["PYTHONPATH"] = str(path)
    configured = {
        "PROJECT": "PID-1",
        "AGENT_IDENTITY": "Donna",
        "AGENT_SURFACE": "claude_code",
        "STORE_URL": store_url(folder),
        "REGISTER_AFTER": "0",
        **more,
    }
    return {**own, **{f"PRISM_{k}": v for k, v in configured.items() if v}}


def store_url(folder: Path) -> str:
    """The store that all servers of one folder share."""
    return f"sqlite://{folder / 'prism.db'}"
