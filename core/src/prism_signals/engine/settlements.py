"""Lets a sender wait for the moment its signal settles, and tells it when that is."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from logging import Logger

import anyio

from ..contract.bus import Bell, BellKind, Bus
from ..errors import PrismError
from ..model.ids import NIL_SESSION, OUTSIDE_SESSION, SignalId
from ..model.signal import Signal


async def ring(bus: Bus, bell: Bell, log: Logger) -> None:
    """Ring; a bus out of reach costs time, never a signal, so it fails nothing (invariant 2)."""
    try:
        await bus.ring(bell)
    except PrismError as e:
        log.warning("no bell rings, signals wait for a poll: %s", e)


async def ring_settled(bus: Bus, signal: Signal, log: Logger) -> None:
    """Tell the sender's session that its signal settled."""
    sender = signal.from_session
    if sender not in (NIL_SESSION, OUTSIDE_SESSION):
        await ring(bus, Bell(BellKind.SETTLED, signal.scope, (sender,), signal.signal_id), log)


class Settlements:
    """Who waits for which signal in this process."""

    def __init__(self) -> None:
        self._waiting: dict[SignalId, anyio.Event] = {}

    @contextmanager
    def expect(self, signal_id: SignalId) -> Iterator[anyio.Event]:
        """An event that is set when the signal settles while the context is open."""
        event = self._waiting[signal_id] = anyio.Event()
        try:
            yield event
        finally:
            self._waiting.pop(signal_id, None)

    def rang(self, signal_id: SignalId | None) -> None:
        """A bell said that this signal settled; without an id, any may have."""
        for sid, event in self._waiting.items():
            if signal_id is None or sid == signal_id:
                event.set()
