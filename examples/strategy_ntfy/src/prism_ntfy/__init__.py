"""Shows signals on a phone or a desktop, through ntfy: a strategy by a third party.

Discovery imports this module in every process, so it loads nothing heavy.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager

from prism_signals import (
    SignalDeliveryStrategy,
    StrategyContext,
    StrategyPlugin,
    hookimpl,
)

from .settings import NtfySettings

__all__ = ["NtfySettings", "open_ntfy", "prism_strategies"]


@asynccontextmanager
async def open_ntfy(
    settings: NtfySettings, context: StrategyContext
) -> AsyncIterator[SignalDeliveryStrategy]:
    """Open it; the HTTP library is only loaded now."""
    from .strategy import connected

    async with connected(settings, context) as strategy:
        yield strategy


@hookimpl
def prism_strategies() -> Sequence[StrategyPlugin]:
    """The strategy `ntfy`, for the surface of the same name."""
    return [
        StrategyPlugin(
            name="ntfy",
            surfaces=("ntfy",),
            rank=300,
            open=open_ntfy,
            settings=NtfySettings,
        )
    ]
