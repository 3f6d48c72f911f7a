"""Shows signals in Claude Code through MCP channels."""

from __future__ import annotations

from collections.abc import Sequence

from prism_signals import HandshakeNeeds, StrategyPlugin, hookimpl

from .strategy import CAPABILITY, ChannelsPushSettings, ChannelsPushStrategy, open_channels_push

__all__ = ["ChannelsPushSettings", "ChannelsPushStrategy", "prism_strategies"]


@hookimpl
def prism_strategies() -> Sequence[StrategyPlugin]:
    """The strategy `channels_push`, for Claude Code.

    A channel event starts a turn in an idle session, which cannot be avoided; hence `wakes`.
    """
    return [
        StrategyPlugin(
            name="channels_push",
            surfaces=("claude_code",),
            rank=200,
            wakes=True,
            open=open_channels_push,
            settings=ChannelsPushSettings,
            handshake=HandshakeNeeds({CAPABILITY: {}}, unsolicited=True),
            strategy=ChannelsPushStrategy,
        )
    ]
