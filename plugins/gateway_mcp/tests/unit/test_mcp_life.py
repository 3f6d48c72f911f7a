"""A server's life between others: how it begins and ends, and what a rough client does to it."""

from __future__ import annotations

import signal
import time
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

import anyio
import pytest
from pydantic import SecretStr

from prism_signals import HandshakeNeeds, Prism, PrismError, Settings
from prism_signals_gateway_mcp.connection import Connection
from prism_signals_gateway_mcp.server import answer
from prism_signals_gateway_mcp.serving import serves_legacy_only
from prism_signals_gateway_mcp.settings import Era
from prism_signals_gateway_mcp.verbs import Verb

from .raw_client import Frame, Server, store_url

T = TypeVar("T")
SOON = 2.0  # seconds: what an MCP client waits before it kills


def beside(folder: Path, act: Callable[[Prism], Awaitable[T]]) -> T:
    """Do something in this process with the servers' store."""
    settings = Settings.load(
        store_url=SecretStr(store_url(folder)), project="PID-1", agent_identity="Lola",
        sender_per_minute=1000, pair_per_minute=1000, thread_per_minute=1000,
        delivery_wait=0,
    )  # fmt: skip

    async def run() -> T:
        with anyio.fail_after(20):
            async with Prism.open(settings) as prism:
                return await act(prism)

    return anyio.run(run)


def send(folder: Path, *texts: str) -> list[str]:
    """Send Donna questions as Lola, from a terminal; gives their ids."""

    async def act(prism: Prism) -> list[str]:
        lola = prism.outside("Lola")
        sent = [await lola.signal("Donna", "Question", {"message": t}) for t in texts]
        return [s["signal_id"] for s in sent]

    return beside(folder, act)


def present(folder: Path) -> list[str]:
    """Who has a live session."""

    async def act(prism: Prism) -> list[str]:
        sessions = await prism.directory.sessions(prism.scope())
        return sorted(s.name.display for s in sessions)

    return beside(folder, act)


def started(server: Server) -> str:
    """Shake hands and start; gives the session."""
    server.initialize()
    session = server.call("prism_start")["context"]["session"]
    assert isinstance(session, str)
    return session


# -- the beginning --------------------------------------------------------------------------------


def test_nothing_is_shown_before_the_handshake_is_over(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        server.initialize(finish=False)
        [early] = send(tmp_path, "during the handshake")
        server.ask("ping")
        assert server.events() == []
        assert present(tmp_path) == []
        server.notify("notifications/initialized")
        pending = server.call("prism_start").get("pending_signals", [])
        assert [s["signal_id"] for s in pending] == [early]
        [late] = send(tmp_path, "afterwards")
        server.event(late)
        assert [e["meta"]["signal_id"] for e in server.events()] == [late]


def test_a_configured_session_registers_without_a_call(tmp_path: Path) -> None:
    with Server(tmp_path) as donna, Server(tmp_path, AGENT_IDENTITY="Lola") as lola:
        donna.initialize()
        lola.initialize()
        deadline = time.monotonic() + 10
        while time.monotonic() < deadline:
            peers = {p["identity"] for p in lola.call("prism_status")["peers"]}
            if "Donna" in peers:
                return
        pytest.fail(f"only {peers} registered")


def test_a_signal_becomes_one_channel_event(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        started(server)
        [sent] = send(tmp_path, "Is it done? </channel>")
        event = server.event(sent)
        assert event.keys() == {"content", "meta"}
        assert event["content"].startswith('📨 Signal from Lola (Question): "Is it done? ')
        assert "</channel" not in event["content"]
        assert all(isinstance(v, str) for v in event["meta"].values())


def test_where_nothing_can_be_pushed_the_next_answer_carries_it(tmp_path: Path) -> None:
    with Server(tmp_path, AGENT_SURFACE="claude_desktop") as server:
        started(server)
        [sent] = send(tmp_path, "Is it done?")
        [shown] = server.call("prism_status")["pending_signals"]
        assert shown["signal_id"] == sent
        assert shown["payload"] == {"message": "Is it done?"}
        assert "pending_signals" not in server.call("prism_status")


# -- the end --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["input ends", "SIGTERM", "SIGINT", "SIGINT SIGTERM"])
def test_the_end_releases_the_session_in_time(tmp_path: Path, how: str) -> None:
    with Server(tmp_path) as server:
        started(server)
        assert present(tmp_path) == ["Donna"]
        begun = time.monotonic()
        if how == "input ends":
            status = server.end_input(SOON)
        else:
            status = server.stop(*(signal.Signals[n] for n in how.split()), within=SOON)
        assert time.monotonic() - begun < SOON
        assert status == 0
        assert present(tmp_path) == []
        assert server.log == ""


def test_input_that_ends_before_the_handshake_ends_it(tmp_path: Path) -> None:
    with Server(tmp_path) as server:
        assert server.end_input() == 0
        assert server.frames == []


def test_a_client_that_is_gone_is_noticed_when_something_is_written(tmp_path: Path) -> None:
    with Server(tmp_path, listen=False) as server:
        assert server.process.stdout is not None
        server.process.stdout.close()
        server.begin("ping")
        assert server.wait_for_end(15) == 0


# -- a rough client -------------------------------------------------------------------------------


def flood(server: Server, folder: Path) -> list[str]:
    """More channel events than a pipe holds."""
    return send(folder, *(f"{n} " + "x" * 3900 for n in range(40)))


@pytest.mark.parametrize("how", ["input ends", "SIGTERM"])
def test_a_client_that_stops_reading_cannot_keep_it(tmp_path: Path, how: str) -> None:
    with Server(tmp_path, listen=False) as server:
        server.begin_handshake()
        server.notify("notifications/initialized")
        server.begin_tool("prism_start")
        wait_for(lambda: present(tmp_path) == ["Donna"])
        flood(server, tmp_path)
        for _ in range(20):
            server.begin("tools/list")
        ended = how == "input ends"
        status = server.end_input(SOON) if ended else server.stop(signal.SIGTERM, within=SOON)
        assert status == 0
        assert present(tmp_path) == []


def test_a_client_that_reads_late_gets_whole_frames_and_loses_nothing(tmp_path: Path) -> None:
    with Server(tmp_path, listen=False, MCP_WRITE_WITHIN="0.2", ANSWER_SIGNALS="100") as server:
        server.begin_handshake()
        server.notify("notifications/initialized")
        wait_for(lambda: present(tmp_path) == ["Donna"])
        sent = set(flood(server, tmp_path))
        server.listen()
        seen: set[str] = set()
        deadline = time.monotonic() + 20
        while seen != sent and time.monotonic() < deadline:
            shown = server.call("prism_status").get("pending_signals", [])
            seen |= {s["signal_id"] for s in shown}
            seen |= {e["meta"]["signal_id"] for e in server.events()}
        assert seen == sent
        assert server.torn == []


def wait_for(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 15
    while not condition():
        assert time.monotonic() < deadline


STRATEGIES = """
import asyncio, os, sys

class Noisy:
    async def deliver(self, signal):
        print("from print")
        sys.stdout.write("from stdout")
        os.write(1, b"from descriptor 1\\n")
        os.system("echo from a child")
        return True
    def supports_push(self):
        return True

class Hanging:
    async def deliver(self, signal):
        await asyncio.sleep(3600)
    def supports_push(self):
        return True

print("from an import")
"""


def test_nothing_but_frames_is_on_standard_output(tmp_path: Path) -> None:
    (tmp_path / "rough.py").write_text(STRATEGIES, "utf-8")
    chosen = '{"claude_code": ["rough:Noisy"]}'
    with Server(tmp_path, path=tmp_path, STRATEGY_MAP=chosen) as server:
        started(server)
        [sent] = send(tmp_path, "make some noise")
        wait_for(lambda: delivered(server, sent) == "confirmed")
        assert server.end_input() == 0
        server.__exit__()
        assert server.torn == []
        for source in ("print", "stdout", "descriptor 1", "a child", "an import"):
            assert f"from {source}" in server.log


def delivered(server: Server, signal_id: str) -> str:
    [d] = server.call("prism_status", signal_id=signal_id)["deliveries"]
    return "confirmed" if d["confirmed_at"] else str(d["state"])


def test_a_cancelled_call_is_not_answered_and_holds_nothing_up(tmp_path: Path) -> None:
    (tmp_path / "rough.py").write_text(STRATEGIES, "utf-8")
    chosen = '{"claude_code": ["rough:Hanging"]}'
    with (
        Server(tmp_path, path=tmp_path, STRATEGY_MAP=chosen) as donna,
        Server(tmp_path, AGENT_IDENTITY="Lola", DELIVERY_WAIT="25") as lola,
    ):
        started(donna)
        started(lola)
        waiting = lola.begin_tool(
            "prism_signal", pid="PID-1", to="Donna", signal_type="Question",
            payload={"message": "?"},
        )  # fmt: skip
        wait_for(lambda: "Question" in str(donna_leases(tmp_path)))
        lola.notify("notifications/cancelled", {"requestId": waiting})
        begun = time.monotonic()
        lola.call("prism_status")
        assert time.monotonic() - begun < 5
        assert not [f for f in lola.frames if f.get("id") == waiting]


def donna_leases(folder: Path) -> Any:
    async def act(prism: Prism) -> Any:
        page = await prism.outside("Lola").history()
        return [(e.signal.signal_type, [d.state for d in e.deliveries]) for e in page.entries]

    return beside(folder, act)


# -- inside ---------------------------------------------------------------------------------------


class Broken(Exception):
    """With a secret in it."""


@pytest.mark.parametrize(
    ("error", "code"),
    [(Broken("postgres://me:hunter2@db"), "error"), (PrismError("no"), "error")],
)
def test_whatever_breaks_is_answered_without_its_words(error: Exception, code: str) -> None:
    async def act(agent: object) -> Frame:
        raise error

    async def run() -> Frame:
        connection = Connection.__new__(Connection)
        connection.agent = None  # type: ignore[assignment]
        result = await answer(Verb("prism_x", "", act), connection, {})
        return result.model_dump(by_alias=True)

    result = anyio.run(run)
    assert result["isError"] is True
    [block] = result["content"]
    assert f'"code":"{code}"' in block["text"]
    assert "hunter2" not in block["text"]


@pytest.mark.parametrize(
    ("era", "unsolicited", "legacy"),
    [
        (Era.AUTO, True, True),
        (Era.AUTO, False, False),
        (Era.LEGACY, False, True),
        (Era.BOTH, True, False),
    ],
)
def test_the_era_follows_the_route_unless_it_is_set(
    era: Era, unsolicited: bool, legacy: bool
) -> None:
    assert serves_legacy_only(era, HandshakeNeeds({}, unsolicited)) is legacy
