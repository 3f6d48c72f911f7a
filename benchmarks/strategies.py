"""Bare strategies in the shape of SPEC-034 §7.1, named by `PRISM_STRATEGY_MAP`."""

from __future__ import annotations

from dataclasses import dataclass, field

import anyio

from prism_signals import CONFIRMED, DeliveryOutcome, Signal, SignalDeliveryStrategy

from .samples import now

SURFACE = "bench"
STRATEGY_MAP = f'{{"{SURFACE}": ["benchmarks.strategies:Recorder"]}}'


@dataclass(slots=True)
class Log:
    """What reached the strategy of this process, and when."""

    arrivals: dict[str, int] = field(default_factory=dict)
    _enough: anyio.Event | None = None
    _count: int = 0

    def arrived(self, signal_id: str) -> None:
        """This signal is here."""
        self.arrivals.setdefault(signal_id, now())
        if self._enough is not None and len(self.arrivals) >= self._count:
            self._enough.set()

    async def wait_for(self, count: int) -> None:
        """Wait until so many have arrived."""
        self._count, self._enough = count, anyio.Event()
        if len(self.arrivals) < count:
            await self._enough.wait()


LOG = Log()
"""A bare strategy gets no arguments, so its process has one log."""


class Recorder(SignalDeliveryStrategy):
    """Takes every signal and remembers when."""

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        """Remember the moment it came."""
        LOG.arrived(signal.signal_id)
        return CONFIRMED

    def supports_push(self) -> bool:
        """It pushes."""
        return True
