"""Builds the part of a verb's answer that carries waiting signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Any

import anyio

from ..contract.bus import Bus
from ..contract.store import Claim, Store
from ..model.delivery import DeliveryState, Lease, Settlement
from ..model.ids import SignalId
from ..model.outcome import DeliveryOutcome, OutcomeKind
from ..model.signal import Signal
from .dispatcher import ring_settled
from .rendering import shown_signal, size_of
from .supervisor import Offers, StrategyTask

PREVIEW_SHARE = 4
"""A payload larger than this part of an answer comes as a preview."""


@dataclass(slots=True)
class Answer:
    """One answer being built; implements `AnswerBuilder`.

    Attributes:
        most: The most signals it carries.
        room: Bytes left for signals.
        entries: What it carries so far, as `pending_signals` shows it.
        whole: The ids of those carried whole: reading the answer confirms them.
    """

    most: int
    room: int
    redelivered: bool = False
    entries: list[dict[str, Any]] = field(default_factory=list)
    whole: list[SignalId] = field(default_factory=list)
    _largest: int = 0

    def __post_init__(self) -> None:
        self._largest = self.room // PREVIEW_SHARE

    def add(self, signal: Signal) -> bool:
        """Put the signal into the answer; False where there is no room for it in this one."""
        entry = shown_signal(signal, redelivered=self.redelivered, max_bytes=self._largest)
        size = size_of(entry)
        if len(self.entries) >= self.most or (size > self.room and self.entries):
            return False
        self.entries.append(entry)
        self.room -= size
        if "payload" in entry:
            self.whole.append(signal.signal_id)
        return True


@dataclass(slots=True)
class Attacher:
    """Leases what waits for an agent and has the route's floor put it into an answer."""

    store: Store
    bus: Bus
    offers: Offers
    deadline: timedelta
    attempted: Callable[[Lease, str, DeliveryOutcome], None]

    async def attach(
        self, answer: Answer, claim: Claim, floor: Sequence[StrategyTask], method: str | None
    ) -> int:
        """Fill the answer; gives how many signals had to stay behind.

        A cancelled call frees what it had claimed. What is put into an answer settles as
        `HANDED_OVER`: the agent's next verb is the evidence that it was read.
        """
        if not floor:  # nothing here shows signals in answers: leave them to the push path
            return 0
        with anyio.CancelScope(shield=True):  # or leases could be granted and then forgotten
            leases = list(await self.store.lease(claim))
        left = list(leases)
        try:
            with self.offers.during(answer):
                while left and await self._show(answer, left[0], floor, method):
                    left.pop(0)
        finally:
            with anyio.CancelScope(shield=True):
                for lease in left:
                    await self.store.settle(lease, Settlement(DeliveryState.PENDING))
        return len(left)

    async def _show(
        self, answer: Answer, lease: Lease, floor: Sequence[StrategyTask], method: str | None
    ) -> bool:
        answer.redelivered = lease.redelivered
        for task in floor:
            got = await task.deliver(
                lease.signal, redelivered=lease.redelivered, deadline=self.deadline
            )
            self.attempted(lease, task.name, got.outcome)
            if got.outcome.kind is OutcomeKind.REFUSED:
                continue
            if got.outcome:
                await self._settle(
                    lease,
                    Settlement(
                        DeliveryState.DELIVERED,
                        method or task.name,
                        shown=True,
                        confirmed=got.outcome.kind is OutcomeKind.CONFIRMED,
                    ),
                )
                return True
            if got.outcome.kind is OutcomeKind.UNKNOWN:
                await self._settle(
                    lease,
                    Settlement(
                        DeliveryState.PENDING, shown=True, counts=True, error=got.outcome.reason
                    ),
                )
                return True
            return False
        await self._settle(
            lease, Settlement(DeliveryState.DEAD, error="refused by every strategy of the route")
        )
        return True

    async def _settle(self, lease: Lease, settlement: Settlement) -> None:
        with anyio.CancelScope(shield=True):
            if await self.store.settle(lease, settlement):
                await ring_settled(self.bus, lease.signal)
