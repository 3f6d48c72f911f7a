"""An opened store with the people who use it: what the store's scenarios are written with."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from typing import Any

from prism_signals import (
    NIL_SESSION,
    SYSTEM,
    AckStatus,
    Claim,
    Delivery,
    DeliveryState,
    Entry,
    Lane,
    Lease,
    ManualClock,
    Name,
    Posted,
    Posting,
    Query,
    Scope,
    SessionId,
    Settlement,
    Signal,
    SignalId,
    Store,
    new_session_id,
    new_signal_id,
    parse_recipient,
)

from .harness import StoreHarness
from .suite import Suite

SCOPE = Scope("default", "PID-KIT01")
ELSEWHERE = (Scope("default", "PID-KIT02"), Scope("other", "PID-KIT01"))
"""Another project of the same tenant, and the same project of another tenant."""
LEASE = timedelta(seconds=15)

HANDED_OVER = Settlement(DeliveryState.DELIVERED, "by_hand", shown=True)
CONFIRMED = Settlement(DeliveryState.DELIVERED, "by_hand", confirmed=True, shown=True)
FREED = Settlement(DeliveryState.PENDING)
UNSURE = Settlement(DeliveryState.PENDING, shown=True, counts=True, error="end unknown")


@dataclass(slots=True)
class StoreBench:
    """An opened store, its clock and its harness."""

    harness: StoreHarness
    store: Store
    clock: ManualClock
    scope: Scope = SCOPE

    def advance(self, seconds: float) -> None:
        """Let time pass."""
        self.harness.advance(self.clock, timedelta(seconds=seconds))

    def posting(
        self,
        to: str = "Donna",
        sender: str = "Lola",
        *,
        payload: dict[str, Any] | None = None,
        signal_type: str = "Question",
        reply_to: Signal | None = None,
        lane: Lane = Lane.AGENT,
        key: str | None = None,
        expires_in: float | None = None,
        **options: Any,
    ) -> Posting:
        """A posting as the engine makes it; a Question expects action unless said otherwise."""
        signal_id = new_signal_id()
        name = parse_recipient(to)
        now = self.clock.now()
        system = lane is Lane.SYSTEM
        signal = Signal(
            signal_id=signal_id,
            tenant=self.scope.tenant,
            pid=self.scope.pid,
            from_identity=SYSTEM if system else sender,
            from_session=NIL_SESSION if system else new_session_id(),
            to_identity=name.display,
            signal_type=signal_type,
            payload={"message": "Is it done?"} if payload is None else payload,
            created_at=now,
            lane=lane,
            idempotency_key=key,
            thread_id=reply_to.thread_id if reply_to else signal_id,
            in_reply_to=reply_to.signal_id if reply_to else None,
            hops=reply_to.hops + 1 if reply_to else 0,
            expires_at=None if expires_in is None else now + timedelta(seconds=expires_in),
        )
        options.setdefault("expects_action", signal_type == "Question")
        return Posting(
            signal, name, SYSTEM if system else parse_recipient(sender).canonical, **options
        )

    async def send(self, to: str = "Donna", sender: str = "Lola", **options: Any) -> Posted:
        """Put one signal; see `posting`."""
        return await self.store.put(self.posting(to, sender, **options))

    async def system(self, *to: tuple[str, SessionId], **options: Any) -> Posted:
        """Put one system signal to these sessions."""
        single = len(to) == 1
        return await self.send(
            to[0][0] if single else "*",
            signal_type="PeerJoined",
            lane=Lane.SYSTEM,
            wakes=False,
            to_sessions=tuple((parse_recipient(n), s) for n, s in to),
            **options,
        )

    def claim(self, session: SessionId, recipient: str = "Donna", **options: Any) -> Claim:
        """A push claim of this identity's session, unless said otherwise."""
        options.setdefault("lease_for", LEASE)
        options.setdefault("limit", 100)
        return Claim(self.scope, parse_recipient(recipient).canonical, session, **options)

    async def lease(
        self, session: SessionId, recipient: str = "Donna", **options: Any
    ) -> Sequence[Lease]:
        """Lease as a push path does; see `claim`."""
        return await self.store.lease(self.claim(session, recipient, **options))

    async def verb(
        self, session: SessionId, recipient: str = "Donna", **options: Any
    ) -> Sequence[Lease]:
        """Lease as a verb of the engaged agent does."""
        return await self.lease(session, recipient, push=False, **options)

    async def deliver(
        self, session: SessionId, recipient: str = "Donna", how: Settlement = HANDED_OVER
    ) -> list[SignalId]:
        """Lease and settle everything there is for this session; the ids, in order."""
        leases = await self.verb(session, recipient)
        for lease in leases:
            assert await self.store.settle(lease, how), "a fresh lease could not be settled"
        return ids(leases)

    async def entry(self, signal_id: str) -> Entry:
        """One signal as it stands."""
        entry = await self.store.find(self.scope, signal_id)
        assert entry is not None, f"{signal_id} is not found"
        return entry

    async def delivery(self, signal_id: str, recipient: str = "Donna") -> Delivery:
        """One delivery as it stands."""
        wanted = parse_recipient(recipient).canonical
        found = [d for d in (await self.entry(signal_id)).deliveries if d.recipient == wanted]
        assert len(found) == 1, f"{signal_id} has {len(found)} deliveries to {recipient}"
        return found[0]

    async def ack(self, recipient: str, *signal_ids: str) -> list[AckStatus]:
        """Ack; the statuses, in order."""
        canonical = parse_recipient(recipient).canonical
        results = await self.store.ack(self.scope, canonical, signal_ids)
        assert [r.signal_id for r in results] == list(signal_ids), "one result per id, in order"
        return [r.status for r in results]

    async def seen(self, *names: str) -> None:
        """These identities are here now."""
        for name in names:
            await self.store.seen(self.scope, parse_recipient(name))

    async def unread(self, recipient: str = "Donna", **options: Any) -> list[SignalId]:
        """The ids of what this identity has not read."""
        canonical = parse_recipient(recipient).canonical
        page = await self.store.read(
            Query(self.scope, recipient=canonical, unread_only=True, limit=1000, **options)
        )
        return [e.signal.signal_id for e in page.entries]


class StoreSuite(Suite):
    """What the groups of store scenarios share."""

    @asynccontextmanager
    async def bench(self, harness: StoreHarness) -> AsyncIterator[StoreBench]:
        """The store, opened, on a clock that stands still."""
        clock = harness.clock()
        async with harness.open(clock) as store:
            yield StoreBench(harness, store, clock)


def ids(leases: Sequence[Lease]) -> list[SignalId]:
    """The signals of these leases, in order."""
    return [lease.signal.signal_id for lease in leases]


def name(text: str) -> Name:
    """A valid name in both forms."""
    return parse_recipient(text)
