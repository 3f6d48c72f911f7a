"""Lets a sender wait for the moment its signal settles."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import anyio

from ..model.ids import SignalId


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
