"""Inbox and outbox on real pipes: whole lines in order, and no way to get stuck."""

from __future__ import annotations

import json
import os
import threading
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp.shared.message import SessionMessage

from prism_signals_gateway_mcp import inbox as inbox_module
from prism_signals_gateway_mcp.connection import Push
from prism_signals_gateway_mcp.inbox import LONGEST_LINE, Inbox
from prism_signals_gateway_mcp.outbox import MOST_WAITING, Outbox

BACKENDS = pytest.mark.parametrize("backend", ["asyncio", "trio"])
PING = b'{"jsonrpc":"2.0","id":1,"method":"ping"}\n'


def run(backend: str, act: Callable[[], Awaitable[None]]) -> None:
    async def bounded() -> None:
        with anyio.fail_after(10):
            await act()

    anyio.run(bounded, backend=backend)


# -- in -------------------------------------------------------------------------------------------


@dataclass
class Incoming:
    """A pipe, the inbox at its end, and what the inbox answered by itself."""

    inbox: Inbox
    far: int
    answers: list[dict[str, Any]] = field(default_factory=list)

    async def methods(self) -> list[str]:
        got = []
        async for item in self.inbox:
            assert isinstance(item, SessionMessage)
            got.append(getattr(item.message, "method", ""))
        return got


@asynccontextmanager
async def incoming(*, legacy: bool = False) -> AsyncIterator[Incoming]:
    near, far = os.pipe()
    answers: list[dict[str, Any]] = []
    inbox = Inbox(near, lambda text: answers.append(json.loads(text)), legacy=legacy)
    try:
        yield Incoming(inbox, far, answers)
    finally:
        os.close(near)


def write(fd: int, *pieces: bytes) -> None:
    """Write from a thread, since a pipe holds less than what some tests send; then close."""

    def work() -> None:
        for piece in pieces:
            rest = memoryview(piece)
            while rest:
                rest = rest[os.write(fd, rest) :]
        os.close(fd)

    threading.Thread(target=work, daemon=True).start()


@BACKENDS
def test_lines_in_any_pieces_are_frames(backend: str) -> None:
    async def act() -> None:
        async with incoming() as side:
            write(side.far, PING[:5], PING[5:] + b"\n" + PING + PING[:-1])
            assert await side.methods() == ["ping", "ping", "ping"]
            assert side.answers == []

    run(backend, act)


@pytest.mark.parametrize(
    ("line", "code", "request_id"),
    [
        (b"not json", -32700, None),
        (b'{"jsonrpc":"2.0","id":7,"method":"ping","params":{"x":"\\ud800"}}', -32600, 7),
        (b'{"jsonrpc":"2.0","id":"a","method":5}', -32600, "a"),
        (b'[{"jsonrpc":"2.0","id":1,"method":"ping"}]', -32600, None),
        (b'{"jsonrpc":"2.0","id":true,"method":5}', -32600, None),
        (b"[" * 100_000, -32700, None),
        (b"\xff\xfe", -32700, None),
    ],
)
def test_what_is_no_request_is_answered(line: bytes, code: int, request_id: object) -> None:
    async def act() -> None:
        async with incoming() as side:
            write(side.far, line + b"\n" + PING)
            assert await side.methods() == ["ping"]
            [answer] = side.answers
            assert answer["error"]["code"] == code
            assert answer["id"] == request_id

    run("asyncio", act)


def test_a_line_without_end_is_not_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(inbox_module, "LONGEST_LINE", 200_000)

    async def act() -> None:
        async with incoming() as side:
            write(side.far, b"x" * 1_000_000, b"\n" + PING)
            assert await side.methods() == ["ping"]
            assert [a["error"]["code"] for a in side.answers] == [-32600]

    assert LONGEST_LINE > 64 * 1024
    run("asyncio", act)


@pytest.mark.parametrize("legacy", [True, False])
def test_discovery_is_refused_before_the_library_sees_it(legacy: bool) -> None:
    async def act() -> None:
        async with incoming(legacy=legacy) as side:
            write(side.far, PING.replace(b"ping", b"server/discover"), PING)
            assert await side.methods() == (["ping"] if legacy else ["server/discover", "ping"])
            assert [a["error"]["code"] for a in side.answers] == ([-32601] if legacy else [])

    run("asyncio", act)


@BACKENDS
def test_ending_it_wakes_the_reader(backend: str) -> None:
    async def act() -> None:
        async with incoming() as side, anyio.create_task_group() as tasks:

            async def read() -> None:
                assert await side.methods() == []

            tasks.start_soon(read)
            await anyio.lowlevel.checkpoint()
            side.inbox.end()
        os.close(side.far)

    run(backend, act)


@BACKENDS
def test_a_file_can_be_read_too(backend: str, tmp_path: Path) -> None:
    file = tmp_path / "requests.jsonl"
    file.write_bytes(PING * 3)

    async def act() -> None:
        with file.open("rb") as opened:
            inbox = Inbox(opened.fileno(), lambda text: None, legacy=False)
            assert [item async for item in inbox]

    run(backend, act)


# -- out ------------------------------------------------------------------------------------------


@dataclass
class Outgoing:
    """A pipe with an outbox at its end."""

    outbox: Outbox
    far: int
    broken: anyio.Event

    def read(self) -> bytes:
        """What is in the pipe now."""
        return os.read(self.far, 1 << 20)

    async def read_all(self) -> bytes:
        """Everything up to the end of the pipe."""
        got = b""
        while True:
            await anyio.wait_readable(self.far)
            piece = self.read()
            if not piece:
                return got
            got += piece


@asynccontextmanager
async def outgoing() -> AsyncIterator[Outgoing]:
    far, near = os.pipe()
    os.set_blocking(near, False)
    broken = anyio.Event()
    outbox = Outbox(near, broken.set)
    async with anyio.create_task_group() as tasks:

        async def work() -> None:
            await outbox.run()
            os.close(near)

        tasks.start_soon(work)
        yield Outgoing(outbox, far, broken)
        await outbox.aclose()
    os.close(far)


def fill(outbox: Outbox, least: int = 300_000) -> list[str]:
    """More than a pipe holds, in frames of different size."""
    frames: list[str] = []
    while sum(map(len, frames)) < least:
        frames.append(f"{len(frames)}:" + "x" * (len(frames) * 997 % 20_000))
        outbox.post(frames[-1])
    return frames


@BACKENDS
def test_frames_arrive_whole_and_in_order_when_the_client_reads_late(backend: str) -> None:
    async def act() -> None:
        async with outgoing() as side:
            sent = fill(side.outbox)
            await side.outbox.aclose()
            got = (await side.read_all()).decode().splitlines()
            assert got == sent

    run(backend, act)


@BACKENDS
def test_a_frame_that_was_not_begun_can_be_taken_back(backend: str) -> None:
    async def act() -> None:
        async with outgoing() as side:
            fill(side.outbox)
            late = side.outbox.post("late")
            assert side.outbox.withdraw(late)
            assert not side.outbox.withdraw(late)
            await side.outbox.aclose()
            assert b"late" not in await side.read_all()

    run(backend, act)


def test_a_client_that_leaves_is_noticed_when_something_is_written() -> None:
    async def act() -> None:
        async with outgoing() as side:
            os.close(side.far)
            frame = side.outbox.post("x")
            assert side.broken.is_set()
            assert frame.ended.is_set()
            assert not frame.written
            with pytest.raises(anyio.ClosedResourceError):
                side.outbox.post("y")
            side.far = os.open(os.devnull, os.O_RDONLY)

    run("asyncio", act)


def test_a_client_that_never_reads_is_given_up() -> None:
    async def act() -> None:
        async with outgoing() as side:
            while not side.broken.is_set():
                side.outbox.post("x" * 1000)
                assert len(side.outbox) <= MOST_WAITING
            with pytest.raises(anyio.ClosedResourceError):
                side.outbox.post("x")

    run("asyncio", act)


# -- notifications --------------------------------------------------------------------------------


@BACKENDS
def test_a_notification_waits_no_longer_than_it_may(backend: str) -> None:
    async def act() -> None:
        async with outgoing() as side:
            push = Push(side.outbox, frozenset(), within=0.05)
            await push.notify("a/b", {"content": "first"})
            assert json.loads(side.read()) == {
                "jsonrpc": "2.0",
                "method": "a/b",
                "params": {"content": "first"},
            }
            fill(side.outbox)
            with pytest.raises(ConnectionError, match="does not read"):
                await push.notify("a/b", {"content": "certainly not written"})
            await side.outbox.aclose()
            assert b"certainly" not in await side.read_all()
            with pytest.raises(ConnectionError, match="closed"):
                await push.notify("a/b", {})

    run(backend, act)


def test_a_notification_cut_in_the_middle_may_have_been_seen() -> None:
    async def act() -> None:
        async with outgoing() as side:
            push = Push(side.outbox, frozenset(), within=0.05)
            with pytest.raises(TimeoutError):
                await push.notify("a/b", {"content": "x" * 1_000_000})
            await side.outbox.aclose()
            assert len(json.loads(await side.read_all())["params"]["content"]) == 1_000_000

    run("asyncio", act)


def test_a_cancelled_notification_is_not_written_later() -> None:
    async def act() -> None:
        async with outgoing() as side:
            push = Push(side.outbox, frozenset(), within=5)
            fill(side.outbox)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(partial(push.notify, "a/b", {"content": "cancelled"}))
                await anyio.wait_all_tasks_blocked()
                tasks.cancel_scope.cancel()
            await side.outbox.aclose()
            assert b"cancelled" not in await side.read_all()

    run("asyncio", act)
