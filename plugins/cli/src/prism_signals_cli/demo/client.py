"""A simulated MCP client: raw JSON-RPC over a server's stdin and stdout, without any SDK.

It stands in for Claude Desktop or Claude Code at the wire. No model and no Anthropic program takes
part, and nothing it shows claims so.
"""

from __future__ import annotations

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import anyio
from anyio.abc import Process, TaskGroup

from ..plaintext import one_line
from .surroundings import compact

PROTOCOL = "2025-11-25"
_PATIENCE = 20.0
_PARTING = 5.0
_LONGEST_LINE = 1 << 22
_MOST_FRAMES = 1000


class DemoFailure(Exception):
    """The demo did not go as SPEC-034 §3 says; the message says how."""


@dataclass(frozen=True, slots=True)
class Frame:
    """A notification that the server sent without being asked.

    Attributes:
        method: Its JSON-RPC method.
        params: Its parameters.
        at: When it arrived, on `time.perf_counter`'s clock.
    """

    method: str
    params: dict[str, Any]
    at: float


@dataclass(frozen=True, slots=True)
class Answer:
    """A tool's answer.

    Attributes:
        value: The JSON object in its text.
        sent: When it was asked for.
        at: When the answer arrived.
    """

    value: dict[str, Any]
    sent: float
    at: float

    @property
    def ms(self) -> float:
        """How long it took."""
        return (self.at - self.sent) * 1000


@dataclass(slots=True)
class SimulatedClient:
    """One connection to one server process. Open it with `connect`.

    Attributes:
        name: Whose agent it stands for.
        surface: Which client it stands for.
        frames: The notifications that arrived, oldest first.
        exit_status: The server's, once it ended.
    """

    name: str
    surface: str
    process: Process
    log: Path
    frames: list[Frame] = field(default_factory=list)
    exit_status: int | None = None
    _answers: dict[int, tuple[dict[str, Any], float]] = field(default_factory=dict)
    _news: anyio.Event = field(default_factory=anyio.Event)
    _closed: bool = False
    _asked: int = 0

    async def initialize(self) -> dict[str, Any]:
        """Shake hands as these clients do; gives the server's side of it."""
        answer, _, _ = await self.request(
            "initialize",
            {
                "protocolVersion": PROTOCOL,
                "capabilities": {},
                "clientInfo": {"name": f"simulated-{self.surface}", "version": "0"},
            },
        )
        await self._write({"jsonrpc": "2.0", "method": "notifications/initialized"})
        return answer

    async def call(self, tool: str, **arguments: Any) -> Answer:
        """Call a tool, and read the JSON object in its answer.

        Raises:
            DemoFailure: It was refused, or there is no JSON in it.
        """
        result, sent, at = await self.request("tools/call", {"name": tool, "arguments": arguments})
        texts = [c.get("text", "") for c in result.get("content", ()) if c.get("type") == "text"]
        if result.get("isError") or not texts:
            raise DemoFailure(f"{tool} of {self.name} was refused: {' '.join(texts) or result}")
        try:
            value = json.loads(texts[0])
        except ValueError:
            raise DemoFailure(f"{tool} of {self.name} answered no JSON: {texts[0][:200]}") from None
        return Answer(value, sent, at)

    async def request(
        self, method: str, params: dict[str, Any]
    ) -> tuple[dict[str, Any], float, float]:
        """Ask, and wait for the answer; gives it with the times of asking and answering.

        Raises:
            DemoFailure: The answer is an error, or none came.
        """
        self._asked += 1
        number = self._asked
        sent = time.perf_counter()
        await self._write({"jsonrpc": "2.0", "id": number, "method": method, "params": params})
        await self._until(lambda: number in self._answers, f"an answer to {method}")
        answer, at = self._answers.pop(number)
        if "result" not in answer:
            raise DemoFailure(f"{method} of {self.name} failed: {answer.get('error')}")
        return answer["result"], sent, at

    async def frame(self, wanted: Callable[[Frame], bool], what: str) -> Frame:
        """Wait for a notification.

        Raises:
            DemoFailure: It did not come in time.
        """
        await self._until(lambda: any(map(wanted, self.frames)), what)
        return next(f for f in self.frames if wanted(f))

    async def listen(self) -> None:
        """Read what the server writes, until it closes."""
        buffer = bytearray()
        assert self.process.stdout is not None  # noqa: S101 - opened with a pipe
        async for chunk in self.process.stdout:
            buffer += chunk
            *lines, rest = buffer.split(b"\n")
            buffer = bytearray(rest)
            if len(buffer) > _LONGEST_LINE:
                break
            for line in lines:
                await self._take(bytes(line))
        self._closed = True
        self._ring()

    async def close(self) -> None:
        """End the server as clients do: close its stdin; then, if need be, less politely."""
        if self.process.stdin is not None:
            await self.process.stdin.aclose()
        for more in (self.process.terminate, self.process.kill, None):
            with anyio.move_on_after(_PARTING):
                self.exit_status = await self.process.wait()
                return
            if more is not None:
                more()

    def last_words(self) -> str:
        """The end of what the server wrote to stderr."""
        try:
            lines = self.log.read_text("utf-8", "replace").strip().splitlines()
        except OSError:
            return ""
        return " | ".join(one_line(line) for line in lines[-3:])

    async def _take(self, line: bytes) -> None:
        try:
            said = json.loads(line)
        except ValueError:
            raise DemoFailure(f"the server of {self.name} wrote no JSON: {line[:200]!r}") from None
        if "method" not in said:
            self._answers[said.get("id")] = (said, time.perf_counter())
        elif "id" in said:
            await self._decline(said)
        elif len(self.frames) < _MOST_FRAMES:
            self.frames.append(Frame(said["method"], said.get("params", {}), time.perf_counter()))
        self._ring()

    async def _decline(self, said: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"jsonrpc": "2.0", "id": said["id"]}
        if said["method"] == "ping":
            answer["result"] = {}
        else:
            answer["error"] = {"code": -32601, "message": "Method not found"}
        await self._write(answer)

    async def _write(self, said: dict[str, Any]) -> None:
        assert self.process.stdin is not None  # noqa: S101 - opened with a pipe
        try:
            with anyio.fail_after(_PATIENCE):
                await self.process.stdin.send(f"{compact(said)}\n".encode())
        except (anyio.BrokenResourceError, anyio.ClosedResourceError, OSError):
            raise self._gone() from None

    async def _until(self, done: Callable[[], bool], what: str) -> None:
        with anyio.move_on_after(_PATIENCE):
            while not done():
                if self._closed:
                    raise self._gone()
                await self._news.wait()
        if not done():
            raise DemoFailure(f"{self.name} waited {_PATIENCE:.0f} s for {what}, in vain")

    def _ring(self) -> None:
        self._news.set()
        self._news = anyio.Event()

    def _gone(self) -> DemoFailure:
        said = self.last_words() or "it said nothing"
        return DemoFailure(f"the server of {self.name} ended too early: {said}")


@asynccontextmanager
async def connect(
    name: str,
    surface: str,
    command: list[str],
    environment: dict[str, str],
    log: Path,
    tasks: TaskGroup,
) -> AsyncIterator[SimulatedClient]:
    """Start a server and be its client; the server is ended with the context."""
    with log.open("wb") as stderr:
        process = await anyio.open_process(command, env=environment, cwd=log.parent, stderr=stderr)
    client = SimulatedClient(name, surface, process, log)
    tasks.start_soon(client.listen)
    try:
        yield client
    finally:
        with anyio.CancelScope(shield=True):
            await client.close()
            await process.aclose()
