"""The strategy itself. It keeps nothing: what waits stays in the store until an answer takes it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from prism_signals import (
    HANDED_OVER,
    AnswerBuilder,
    DeliveryOutcome,
    Signal,
    SignalDeliveryStrategy,
    StrategyContext,
    deferred,
)


class PiggybackStrategy(SignalDeliveryStrategy):
    """Puts a signal into the answer that is being built right now (SPEC-034 §7.2).

    Args:
        context: Where it finds that answer, for as long as one is being built.
    """

    def __init__(self, context: StrategyContext) -> None:
        self._context = context

    async def deliver(self, signal: Signal) -> DeliveryOutcome:
        """Put it into the answer; deferred where none is being built, or where it is full."""
        answer = self._context.offered(AnswerBuilder)
        if answer is None:
            return deferred("no answer is being built")
        if not answer.add(signal):
            return deferred("no room in this answer")
        return HANDED_OVER

    def supports_push(self) -> bool:
        """Never: it needs a verb call."""
        return False


@asynccontextmanager
async def open_piggyback(
    settings: None, context: StrategyContext
) -> AsyncIterator[PiggybackStrategy]:
    """Open it; there is nothing to open and nothing to close."""
    yield PiggybackStrategy(context)
