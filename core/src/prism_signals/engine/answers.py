"""Builds the part of a verb's answer that carries waiting signals."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from logging import Logger
from typing import Any

import anyio

from ..contract.bus import Bus
from ..contract.store import Claim, Store
from ..errors import PrismError
from ..model.delivery import DeliveryState, Lease, Settlement
from ..model.ids import SignalId
from ..model.outcome import DeliveryOutcome, OutcomeKind
from ..model.signal import Signal
from .rendering import PREVIEW_SHARE, shown_signal, size_of
from .settlements import ring_settled
from .supervisor import Offers, StrategyTask

_FREED = Settlement(DeliveryState.PENDING)
_LEFT = Settlement(DeliveryState.PENDING, error="refused in answers, left to the push path")
_REFUSED = Settlement(DeliveryState.DEAD, error="refused by every strategy of the route")


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
    log: Logger
    deadline: timedelta
    attempted: Callable[[Lease, str, DeliveryOutcome], None]

    async def attach(
        self,
        answer: Answer,
        claim: Claim,
        floor: Sequence[StrategyTask],
        refused: Callable[[SignalId], bool],
        method: str | None,
    ) -> int:
        """Fill the answer; gives how many signals wait behind those it carries.

        A cancelled call frees what it had claimed, so nothing settles before the answer is whole,
        and from then on it cannot be cancelled. What was put into it settles as `HANDED_OVER`: the
        agent's next verb is the evidence that it was read.

        Args:
            answer: What to fill.
            claim: What may be taken.
            floor: The open strategies that wait for verbs.
            refused: Told of what all of these refuse; gives whether no other strategy is left.
            method: What is recorded as delivery method; by default the strategy's name.
        """
        if not floor:  # nothing here shows signals in answers: leave them to the push path
            return 0
        with anyio.CancelScope(shield=True):  # or leases could be granted and then forgotten
            leases = await self.store.lease(claim)
        ends = [_FREED] * len(leases)
        try:
            with self.offers.during(answer):
                for n, lease in enumerate(leases):
                    end = await self._show(answer, lease, floor, method)
                    if end is _REFUSED and not refused(lease.signal.signal_id):
                        end = _LEFT
                    if end is None:
                        break
                    ends[n] = end
        except BaseException:
            ends = [_undone(end) for end in ends]
            raise
        finally:
            with anyio.CancelScope(shield=True):
                for lease, end in zip(leases, ends, strict=True):
                    await self._settle(lease, end)
        more = 0
        if answer.entries:
            with anyio.CancelScope(shield=True):
                more = await self._waiting(claim)
        return more

    async def _show(
        self, answer: Answer, lease: Lease, floor: Sequence[StrategyTask], method: str | None
    ) -> Settlement | None:
        """Have it put into the answer; gives its end, or None where there is no room."""
        answer.redelivered = lease.redelivered
        for task in floor:
            got = await task.deliver(
                lease.signal, redelivered=lease.redelivered, deadline=self.deadline
            )
            self.attempted(lease, task.name, got.outcome)
            if got.outcome.kind is OutcomeKind.REFUSED:
                continue
            if got.outcome:
                return Settlement(
                    DeliveryState.DELIVERED,
                    method or task.name,
                    shown=True,
                    confirmed=got.outcome.kind is OutcomeKind.CONFIRMED,
                )
            if got.outcome.kind is OutcomeKind.UNKNOWN:
                return Settlement(
                    DeliveryState.PENDING, shown=True, counts=True, error=got.outcome.reason
                )
            return None
        return _REFUSED

    async def _settle(self, lease: Lease, end: Settlement) -> None:
        try:
            settled = await self.store.settle(lease, end)
        except PrismError as e:  # the lease runs out then, and it comes again, marked
            self.log.warning("a signal in an answer was not settled: %s", e)
            return
        if settled and end.state is not DeliveryState.PENDING:
            await ring_settled(self.bus, lease.signal, self.log)

    async def _waiting(self, claim: Claim) -> int:
        try:
            return (await self.store.counts(claim.scope, claim.recipient)).pending
        except PrismError as e:
            self.log.warning("an answer does not say how many signals wait: %s", e)
            return 0


def _undone(end: Settlement) -> Settlement:
    """The end of a signal whose answer was never given: it is not lost, whatever was said of it."""
    delivered = end.state is DeliveryState.DELIVERED
    return Settlement(DeliveryState.PENDING, shown=end.confirmed) if delivered else end
