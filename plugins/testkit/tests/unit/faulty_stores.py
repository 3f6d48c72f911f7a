"""Stores with one fault each, made from the reference. The kit must reject every one of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio

from prism_signals import (
    AckResult,
    AckStatus,
    Claim,
    Clock,
    DeliveryState,
    Entry,
    Lease,
    MemoryBackend,
    Page,
    Posted,
    Posting,
    PrismError,
    Query,
    Scope,
    Settlement,
    Store,
    new_signal_id,
    parse_name,
)
from prism_signals_testkit import StoreHarness


class Wrapped:
    """Hands everything on to the reference; a fault overrides one verb."""

    def __init__(self, store: Store) -> None:
        self.store = store
        self.memory: dict[str, Any] = {}

    def __getattr__(self, verb: str) -> Any:
        return getattr(self.store, verb)


class DoubleLeases(Wrapped):
    """Reads what is free, then marks it leased: two callers at once get the same."""

    async def lease(self, claim: Claim) -> Sequence[Lease]:
        """Gives what a call that is still running will be given."""
        running: anyio.Event | None = self.memory.get("running")
        if running is not None:
            await running.wait()
            return list(self.memory["given"])
        done = self.memory["running"] = anyio.Event()
        self.memory["given"] = ()
        try:
            self.memory["given"] = await self.store.lease(claim)
        finally:
            self.memory["running"] = None
            done.set()
        return list(self.memory["given"])


class AcksTwice(Wrapped):
    """Says `acked` again for what was acked before."""

    async def ack(self, scope: Scope, recipient: str, ids: Sequence[str]) -> Sequence[AckResult]:
        """Counts a repeat as an act."""
        return [
            replace(r, status=AckStatus.ACKED) if r.status is AckStatus.ALREADY_ACKED else r
            for r in await self.store.ack(scope, recipient, ids)
        ]


class ForgetsOrder(Wrapped):
    """Gives the newest first."""

    async def lease(self, claim: Claim) -> Sequence[Lease]:
        """In the wrong order."""
        return list(reversed(await self.store.lease(claim)))


class LateSettles(Wrapped):
    """Applies a settlement whose lease ran out or was given on."""

    async def settle(self, lease: Lease, settlement: Settlement) -> bool:
        """Looks at no token."""
        if await self.store.settle(lease, settlement):
            return True
        d = lease.delivery
        done = await self.store.hand_over(
            lease.signal.scope,
            d.recipient,
            d.session_id or lease.signal.from_session,
            [lease.signal.signal_id],
            settlement.method or "late",
        )
        return bool(done) or d.state is DeliveryState.LEASED


class DropsOnNack(Wrapped):
    """A freed lease is never leased again."""

    async def settle(self, lease: Lease, settlement: Settlement) -> bool:
        """Makes it dead."""
        if settlement.state is DeliveryState.PENDING:
            settlement = replace(settlement, state=DeliveryState.DEAD)
        return await self.store.settle(lease, settlement)


class CountsRefusals(Wrapped):
    """Counts a signal against its limits although it was refused."""

    async def put(self, posting: Posting) -> Posted:
        """Counts first, then inserts."""
        try:
            return await self.store.put(posting)
        except PrismError:
            count = replace(
                posting.signal,
                signal_id=new_signal_id(),
                idempotency_key=None,
                to_identity="Nobody",
                in_reply_to=None,
            )
            with suppress(PrismError):
                await self.store.put(replace(posting, signal=count, name=parse_name("Nobody")))
            raise


class IgnoresKeys(Wrapped):
    """Stores the same signal again under the same idempotency key."""

    async def put(self, posting: Posting) -> Posted:
        """Forgets the key."""
        return await self.store.put(
            replace(posting, signal=replace(posting.signal, idempotency_key=None))
        )


class CrossesProjects(Wrapped):
    """Finds signals of other projects."""

    async def find(self, scope: Scope, signal_id: str) -> Entry | None:
        """Looks everywhere it has been."""
        scopes: set[Scope] = self.memory.setdefault("scopes", set())
        scopes.add(scope)
        for each in (scope, *scopes):
            entry = await self.store.find(each, signal_id)
            if entry is not None:
                return entry
        return None


class MovesDelivered(Wrapped):
    """`delivered_at` moves a little with every further delivery."""

    async def find(self, scope: Scope, signal_id: str) -> Entry | None:
        """Tells a moment that depends on how often it was offered."""
        entry = await self.store.find(scope, signal_id)
        if entry is None:
            return None
        moved = [
            replace(d, delivered_at=d.delivered_at + timedelta(seconds=max(0, d.offers - 1)))
            if d.delivered_at
            else d
            for d in entry.deliveries
        ]
        return Entry(entry.signal, tuple(moved))


class ReadsDeliver(Wrapped):
    """Reading hands over."""

    async def read(self, query: Query) -> Page:
        """Marks what it lists."""
        page = await self.store.read(query)
        if query.recipient is not None and query.limit:
            for entry in page.entries:
                session = entry.signal.from_session
                sid = [entry.signal.signal_id]
                await self.store.hand_over(query.scope, query.recipient, session, sid, "read")
        return page


class NeverRedelivers(Wrapped):
    """Forgets that something may have been shown before."""

    async def lease(self, claim: Claim) -> Sequence[Lease]:
        """Marks nothing."""
        return [replace(x, redelivered=False) for x in await self.store.lease(claim)]


class ForgetsConfirmations(Wrapped):
    """Takes a confirmation and forgets it."""

    async def find(self, scope: Scope, signal_id: str) -> Entry | None:
        """Tells of none."""
        entry = await self.store.find(scope, signal_id)
        if entry is None:
            return None
        return Entry(entry.signal, tuple(replace(d, confirmed_at=None) for d in entry.deliveries))


FAULTS: dict[str, Callable[[Store], Wrapped]] = {
    "double_leases": DoubleLeases,
    "acks_twice": AcksTwice,
    "forgets_order": ForgetsOrder,
    "late_settles": LateSettles,
    "drops_on_nack": DropsOnNack,
    "counts_refusals": CountsRefusals,
    "ignores_keys": IgnoresKeys,
    "crosses_projects": CrossesProjects,
    "moves_delivered": MovesDelivered,
    "reads_deliver": ReadsDeliver,
    "never_redelivers": NeverRedelivers,
    "forgets_confirmations": ForgetsConfirmations,
}


class FaultyStores(StoreHarness):
    """Opens the reference through one fault, or through none."""

    durable = False

    def __init__(self, fault: str | None = None) -> None:
        self._fault = FAULTS[fault] if fault else Wrapped
        self._opened: Wrapped | None = None

    @asynccontextmanager
    async def open(self, clock: Clock) -> AsyncIterator[Any]:
        """One store, whatever the number of handles."""
        self._opened = self._opened or self._fault(MemoryBackend(clock).store)
        yield self._opened
