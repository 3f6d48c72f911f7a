"""The store in memory: each call is one synchronous step on the ledger, never half done."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

from anyio.lowlevel import checkpoint

from ..clock import Clock
from ..contract.posting import Posted, Posting
from ..contract.reading import Counts, Page, Query
from ..contract.store import AckResult, Claim, Recall, Swept
from ..model.delivery import Entry, Lease, Settlement
from ..model.ids import SessionId, SignalId
from ..model.names import Name, Scope
from . import leasing, progress, reading
from .ledger import Identity, Ledger
from .posting import put


class MemoryStore:
    """Implements `Store`. A cancelled call ends at its checkpoint, before any change (S30)."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._ledger = Ledger()

    async def put(self, posting: Posting) -> Posted:
        """Commit a new signal."""
        await checkpoint()
        return put(self._ledger.project(posting.signal.scope), posting, self._clock.now())

    async def lease(self, claim: Claim) -> Sequence[Lease]:
        """Lease what the claim describes, oldest first."""
        await checkpoint()
        return leasing.lease(self._ledger.project(claim.scope), claim, self._clock.now())

    async def settle(self, lease: Lease, settlement: Settlement) -> bool:
        """End a lease; False where it was not the current one any more."""
        await checkpoint()
        project = self._ledger.project(lease.signal.scope)
        return leasing.settle(project, lease, settlement, self._clock.now())

    async def extend(self, lease: Lease, lease_for: timedelta) -> bool:
        """Make a lease last this long from now; False where it was not the current one any more."""
        await checkpoint()
        project = self._ledger.project(lease.signal.scope)
        return leasing.extend(project, lease, lease_for, self._clock.now())

    async def rearm(self, scope: Scope, recipient: str, session_id: SessionId) -> int:
        """Make postponed deliveries of this session due; gives their number."""
        await checkpoint()
        project = self._ledger.project(scope)
        return leasing.rearm(project, recipient, session_id, self._clock.now())

    async def pending(self, claim: Claim) -> bool:
        """Whether `lease` would give something; changes nothing and is cheap."""
        await checkpoint()
        return leasing.pending(self._ledger.project(claim.scope), claim, self._clock.now())

    async def confirm(self, scope: Scope, recipient: str, signal_ids: Collection[SignalId]) -> int:
        """These are in the model's context; gives the number newly confirmed."""
        await checkpoint()
        project = self._ledger.project(scope)
        return progress.confirm(project, recipient, signal_ids, self._clock.now())

    async def hand_over(
        self,
        scope: Scope,
        recipient: str,
        session_id: SessionId,
        signal_ids: Collection[SignalId],
        method: str,
    ) -> int:
        """These pending ones were put into an answer; gives the number newly delivered."""
        await checkpoint()
        project = self._ledger.project(scope)
        now = self._clock.now()
        return progress.hand_over(project, recipient, session_id, signal_ids, method, now)

    async def ack(
        self, scope: Scope, recipient: str, signal_ids: Sequence[str]
    ) -> Sequence[AckResult]:
        """The agent acted on these; one result per id, in order."""
        await checkpoint()
        project = self._ledger.project(scope)
        return progress.ack(project, recipient, signal_ids, self._clock.now())

    async def recall(self, scope: Scope, sender: str, signal_id: str) -> Recall:
        """Take back what was not shown yet."""
        await checkpoint()
        project = self._ledger.project(scope)
        return progress.recall(project, sender, signal_id, self._clock.now())

    async def find(self, scope: Scope, signal_id: str) -> Entry | None:
        """One signal with all its deliveries, archived or not."""
        await checkpoint()
        return reading.find(self._ledger.project(scope), signal_id)

    async def read(self, query: Query) -> Page:
        """A page of signals. Oldest first unless the query says otherwise."""
        await checkpoint()
        return reading.read(self._ledger.project(query.scope), query, self._clock.now())

    async def thread(self, scope: Scope, thread_id: SignalId, limit: int = 1000) -> Sequence[Entry]:
        """A thread, oldest first, archived parts included."""
        await checkpoint()
        return reading.thread(self._ledger.project(scope), thread_id, limit)

    async def history(self, query: Query) -> Page:
        """Like `read`, newest first and over everyone's signals."""
        await checkpoint()
        return reading.history(self._ledger.project(query.scope), query, self._clock.now())

    async def counts(self, scope: Scope, recipient: str) -> Counts:
        """How much there is for one identity."""
        await checkpoint()
        return reading.counts(self._ledger.project(scope), recipient, self._clock.now())

    async def seen(self, scope: Scope, name: Name, *, human: bool = False) -> None:
        """An identity is here now: broadcasts reach it, and it is not `unknown` any more."""
        await checkpoint()
        now = self._clock.now()
        identities = self._ledger.project(scope).identities
        known = identities.setdefault(name.canonical, Identity(name, now, now))
        known.name, known.last_seen, known.human = name, now, human

    async def identities(self, scope: Scope) -> Sequence[tuple[Name, datetime]]:
        """Every identity ever seen in the project, with when it was seen last."""
        await checkpoint()
        identities = self._ledger.project(scope).identities
        return [(i.name, i.last_seen) for _, i in sorted(identities.items())]

    async def expire(self, limit: int = 1000) -> Swept:
        """End what is past its time; bounded."""
        await checkpoint()
        return progress.expire(self._ledger.records(), limit, self._clock.now())

    async def archive(self, older_than: timedelta, limit: int = 1000) -> Swept:
        """Move old, finished signals to the archive; bounded."""
        await checkpoint()
        return progress.archive(self._ledger.records(), older_than, limit, self._clock.now())
