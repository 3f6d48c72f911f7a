"""The strategy on a connection: what it answers, and where it cannot be opened."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import anyio
import pytest

import prism_signals_strategy_channels_push as plugin
from prism_signals import (
    HANDED_OVER,
    Clock,
    OutcomeKind,
    Registration,
    Registry,
    Scope,
    Signal,
    StrategyUnavailable,
    SystemClock,
    new_session_id,
    new_signal_id,
    parse_name,
)
from prism_signals_strategy_channels_push import ChannelsPushSettings, ChannelsPushStrategy
from prism_signals_strategy_channels_push.strategy import open_channels_push


@dataclass
class Client:
    """A connection that keeps what is written, or fails as told."""

    declared: frozenset[str] = frozenset({"claude/channel"})
    failure: Exception | None = None
    written: list[tuple[str, Mapping[str, Any]]] = field(default_factory=list)

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        if self.failure is not None:
            raise self.failure
        self.written.append((method, params))


@dataclass
class Surroundings:
    """The context of one strategy."""

    client: Client | None
    registration: Registration = field(
        default_factory=lambda: Registration(
            new_session_id(), Scope("default", "PID-PGR01"), parse_name("Donna"), "claude_code"
        )
    )
    clock: Clock = field(default_factory=SystemClock)
    logger: logging.Logger = field(default_factory=lambda: logging.getLogger("test"))
    redelivered: bool = False

    def offered(self, capability: Any) -> Any:
        return self.client if isinstance(self.client, capability) else None

    def ready(self) -> None:
        """Nothing waits here."""


def signal() -> Signal:
    own = new_signal_id()
    return Signal(
        own,
        "default",
        "PID-PGR01",
        "Lola",
        new_session_id(),
        "Donna",
        "Question",
        {"content": "Are you there?"},
        datetime(2026, 11, 30, tzinfo=UTC),
        own,
    )


def with_strategy(client: Client | None, act: Callable[[ChannelsPushStrategy], Any]) -> Any:
    async def run() -> Any:
        with anyio.fail_after(5):
            async with open_channels_push(ChannelsPushSettings(), Surroundings(client)) as opened:
                return await act(opened)

    return anyio.run(run)


def test_writes_one_event_and_claims_no_more_than_that() -> None:
    client, sent = Client(), signal()
    assert with_strategy(client, lambda s: s.deliver(sent)) == HANDED_OVER
    [(method, params)] = client.written
    assert method == "notifications/claude/channel"
    assert params["meta"]["signal_id"] == sent.signal_id


def test_a_closed_connection_is_certainly_not_shown() -> None:
    client = Client(failure=ConnectionResetError("gone"))
    outcome = with_strategy(client, lambda s: s.deliver(signal()))
    assert outcome.kind is OutcomeKind.DEFERRED
    assert "gone" in outcome.reason


def test_half_a_frame_may_be_shown() -> None:
    client = Client(failure=TimeoutError("stalled"))
    outcome = with_strategy(client, lambda s: s.deliver(signal()))
    assert outcome.kind is OutcomeKind.UNKNOWN


@pytest.mark.parametrize(
    ("client", "says"),
    [
        (None, "handshake"),
        (Client(declared=frozenset()), "claude/channel"),
    ],
)
def test_says_why_it_cannot_be_opened(client: Client | None, says: str) -> None:
    with pytest.raises(StrategyUnavailable, match=says):
        with_strategy(client, lambda s: s.deliver(signal()))


def test_is_declared_as_the_design_has_it() -> None:
    [found] = Registry.of(plugin).strategies
    described = found.plugin
    assert (described.name, described.surfaces, described.wakes) == (
        "channels_push",
        ("claude_code",),
        True,
    )
    assert described.strategy is ChannelsPushStrategy
    assert described.handshake is not None
    assert described.handshake.unsolicited
    assert set(described.handshake.experimental) == {"claude/channel"}  # never the permission one
