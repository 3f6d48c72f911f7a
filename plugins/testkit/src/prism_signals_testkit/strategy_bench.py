"""An opened strategy and its far end: what the strategy's scenarios are written with."""

from __future__ import annotations

import re
import time
from collections.abc import AsyncIterator
from contextlib import AbstractContextManager, asynccontextmanager
from dataclasses import dataclass

import anyio

from prism_signals import (
    DeliveryOutcome,
    Signal,
    SignalDeliveryStrategy,
    SystemClock,
    new_session_id,
    new_signal_id,
)

from .strategy_harness import StrategyHarness
from .suite import Suite

ARRIVES = 10.0
"""Seconds in which a signal that was taken is at the far end."""
ENDS = 2.0
"""Seconds in which a cancelled delivery has ended."""
_TICK = 0.01
_ESCAPE = re.compile(r"((?:\\u[0-9a-fA-F]{4})+)|\\([\"\\/bfnrt])")
_SHORT = {"b": "\b", "f": "\f", "n": "\n", "r": "\r", "t": "\t"}


@dataclass(slots=True)
class StrategyBench:
    """An opened strategy and its harness."""

    harness: StrategyHarness
    strategy: SignalDeliveryStrategy

    def soon(self) -> AbstractContextManager[object]:
        """A deadline for what arrives at the far end."""
        return anyio.fail_after(ARRIVES * self.harness.patience)

    def at_once(self) -> AbstractContextManager[object]:
        """A deadline for what ends when it is cancelled."""
        return anyio.fail_after(ENDS * self.harness.patience)

    def signal(self, text: str = "Is it done?", sender: str = "Lola") -> Signal:
        """A signal with this text."""
        sid = new_signal_id()
        return Signal(
            signal_id=sid,
            tenant="default",
            pid="PID-KIT01",
            from_identity=sender,
            from_session=new_session_id(),
            to_identity="Donna",
            signal_type="Question",
            payload={"message": text},
            created_at=SystemClock().now(),
            thread_id=sid,
        )

    async def deliver(self, signal: Signal) -> DeliveryOutcome:
        """Deliver, and read the answer as the engine does."""
        with self.soon():
            return DeliveryOutcome.of(await self.strategy.deliver(signal))

    async def attempt(self, signal: Signal) -> DeliveryOutcome | None:
        """Deliver where it may fail: an exception counts as of unknown end."""
        try:
            return await self.deliver(signal)
        except Exception:  # noqa: BLE001 - whatever a strategy raises
            return None

    async def takes(self, signal: Signal) -> DeliveryOutcome:
        """Deliver where it has to succeed."""
        outcome = await self.deliver(signal)
        assert outcome, f"the far end works, and deliver() answered {outcome}"
        return outcome

    async def arrived(self, number: int) -> list[str]:
        """What is at the far end, once that many have arrived."""
        with self.soon():
            return list(await self.harness.received(number))

    async def sees(self, text: str) -> None:
        """This text is at the far end, or arrives soon."""
        with self.soon():
            seen = await self.harness.received()
            while not any(shows(s, text) for s in seen):
                seen = await self.harness.received(len(seen) + 1)

    async def longest_pause(self, signal: Signal, seconds: float) -> float:
        """The longest time the event loop stood still while this was delivered."""
        longest = 0.0

        async def tick() -> None:
            nonlocal longest
            while True:
                before = time.monotonic()
                await anyio.sleep(_TICK)
                longest = max(longest, time.monotonic() - before - _TICK)

        async with anyio.create_task_group() as group:
            group.start_soon(tick)
            await anyio.sleep(_TICK)
            with anyio.move_on_after(seconds):
                await self.attempt(signal)
            await anyio.sleep(_TICK)
            group.cancel_scope.cancel()
        return longest


class StrategySuite(Suite):
    """What the groups of strategy scenarios share."""

    @asynccontextmanager
    async def bench(self, harness: StrategyHarness) -> AsyncIterator[StrategyBench]:
        """The strategy, opened."""
        async with harness.open() as strategy:
            yield StrategyBench(harness, strategy)


def shows(seen: str, text: str) -> bool:
    """Whether the model sees this text, as it is or as JSON writes it inside quotes."""
    return text in seen or text in _unescaped(seen)


def _unescaped(text: str) -> str:
    def plain(match: re.Match[str]) -> str:
        if match[1] is None:
            return _SHORT.get(match[2], match[2])
        units = b"".join(int(u, 16).to_bytes(2) for u in match[1].split("\\u")[1:])
        return units.decode("utf-16-be", "replace")

    return _ESCAPE.sub(plain, text)
