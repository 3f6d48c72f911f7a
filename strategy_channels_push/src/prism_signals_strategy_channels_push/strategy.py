"""The strategy itself.

The protocol facts stand in Claude Code's channels reference and were measured against Claude Code
2.1: `notifications/claude/channel` has params `{"content": str, "meta": {str: str}}`; a value that
is not a string makes the client drop the whole event, silently; nothing is ever acknowledged.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from pydantic import BaseModel, Field

from prism_signals import (
    HANDED_OVER,
    ClientNotifications,
    DeliveryOutcome,
    Signal,
    SignalDeliveryStrategy,
    StrategyContext,
    StrategyUnavailable,
    deferred,
    unknown,
)

from .event import METHOD, channel_event

CAPABILITY = "claude/channel"
"""The experimental capability that makes a server a channel. Its sibling for permissions, which
lets a server approve tool calls, is never declared: a peer agent must not be able to do that."""


class ChannelsPushSettings(BaseModel):
    """Settings of this strategy: `PRISM_CHANNELS_PUSH_*`."""

    max_chars: int = Field(
        default=4000,
        ge=80,
        le=100_000,
        description="The most characters of a peer's text in one channel event; the rest is named, "
        "with how to read it.",
    )


class ChannelsPushStrategy(SignalDeliveryStrategy):
    """Writes one channel event for each signal (SPEC-034 §7.2).

    It cannot confirm: Claude Code drops an event without a word where channels are off. So it
    answers `HANDED_OVER`, and what nobody acted on is offered once more with a verb's answer.

    Args:
        client: The connection to Claude Code.
        context: Tells whether a signal may have been shown before.
        max_chars: The most characters of a peer's text in one event.
    """

    def __init__(
        self, client: ClientNotifications, context: StrategyContext, max_chars: int
    ) -> None:
        self._client = client
        self._context = context
        self._max_chars = max_chars

    async def deliver(self, signal: Signal) -> DeliveryOutcome:
        """Write its event to the connection."""
        event = channel_event(
            signal, redelivered=self._context.redelivered, max_chars=self._max_chars
        )
        try:
            await self._client.notify(METHOD, event)
        except ConnectionError as e:  # by contract: no complete frame was and none will be written
            return deferred(f"the connection takes no event: {e}")
        except TimeoutError as e:
            return unknown(f"the event may have been written: {e}")
        return HANDED_OVER

    def supports_push(self) -> bool:
        """Always: an event needs no verb call."""
        return True


@asynccontextmanager
async def open_channels_push(
    settings: ChannelsPushSettings, context: StrategyContext
) -> AsyncIterator[ChannelsPushStrategy]:
    """Open it on the MCP connection that the gateway offers.

    Raises:
        StrategyUnavailable: There is no such connection, or it was opened without the capability.
    """
    client = context.offered(ClientNotifications)
    if client is None:
        raise StrategyUnavailable(
            "No MCP connection that can carry channel events: the client has not finished the "
            "handshake, or it speaks a protocol revision without one. Set PRISM_MCP_ERA=legacy."
        )
    if CAPABILITY not in client.declared:
        raise StrategyUnavailable(
            f"The MCP handshake did not declare {CAPABILITY}, so Claude Code would drop every "
            "event. Set PRISM_AGENT_SURFACE=claude_code before the server starts."
        )
    yield ChannelsPushStrategy(client, context, settings.max_chars)
