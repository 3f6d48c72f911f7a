"""The store: the one truth about signals and what became of them."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Protocol

from ..model.delivery import Delivery, Entry, Lease, Settlement
from ..model.ids import SessionId, SignalId
from ..model.names import Name, Scope
from .posting import Posted, Posting
from .reading import Counts, Page, Query


@dataclass(frozen=True, slots=True)
class Claim:
    """Who wants to lease, and what.

    Attributes:
        scope: Tenant and project.
        recipient: Canonical name of the identity.
        session_id: The session that will show it.
        others: The identity's other live sessions; what is assigned to them is left to them.
        lease_for: How long the lease lasts without a settlement.
        limit: The most leases to give.
        push: True for a push path: only what is due, has fewer than `max_attempts`, belongs to the
            agent lane, and is assigned to this session or to none that lives. False for a verb of
            the engaged agent: anything unleased of the identity, whoever it is assigned to.
        max_attempts: With `push`: leave what was tried this often (None: no limit).
        quiet: With `push`: also what does not wake.
        created_after: Only what was stored at or after this moment.
        reoffer_after: Also what was handed over to this session, or to one that has ended, at
            least this long ago, without confirmation or act, and offered only once; None: not.
        exclude: Leave these signals.
    """

    scope: Scope
    recipient: str
    session_id: SessionId
    others: Collection[SessionId] = ()
    lease_for: timedelta = timedelta(seconds=15)
    limit: int = 1
    push: bool = True
    max_attempts: int | None = 8
    quiet: bool = True
    created_after: datetime | None = None
    reoffer_after: timedelta | None = None
    exclude: Collection[SignalId] = ()


class AckStatus(StrEnum):
    """What became of one id in an ack."""

    ACKED = "acked"
    ALREADY_ACKED = "already_acked"
    NOT_YOURS = "not_yours"
    UNKNOWN = "unknown"
    ENDED = "ended"
    """Expired, recalled or dead before it was acked."""


@dataclass(frozen=True, slots=True)
class AckResult:
    """One id's part of an ack."""

    signal_id: str
    status: AckStatus


class RecallStatus(StrEnum):
    """What became of a recall."""

    RECALLED = "recalled"
    PARTLY = "partly"
    IN_FLIGHT = "in_flight"
    TOO_LATE = "too_late"
    NOT_YOURS = "not_yours"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Recall:
    """The answer of `recall`, with the deliveries as they now stand."""

    status: RecallStatus
    deliveries: tuple[Delivery, ...] = ()


@dataclass(frozen=True, slots=True)
class Swept:
    """What one housekeeping run changed."""

    expired: int = 0
    dead: int = 0
    archived: int = 0


class Store(Protocol):
    """Keeps signals and deliveries. Safe to use from many tasks at once.

    Clauses:
        S1: `put` returns only after the signal and its deliveries are committed; what it returned
            is found by every later call, from every process, also after a crash.
        S2: `put` changes everything or nothing: an error leaves no trace, in counters neither.
        S3: a direct signal has one delivery, to the first of its name's candidates that was ever
            seen in the project or has a session in `sessions`, else to the name itself.
        S4: a broadcast has one delivery per identity that has a session in `sessions` or was seen
            within `seen_within`, never one to its sender; they expire after `broadcast_ttl`.
        S5: a system signal has one delivery per session in `to_sessions`, assigned to it for good;
            coalescing and the cap expire older pending ones of that session.
        S6: `put` says of each recipient whether it is live, away (with last_seen) or unknown (with
            near names).
        S7: an idempotency key used again in its window by the same sender with the same content
            gives the earlier signal and stores nothing; with other content it raises
            `IdempotencyConflict`. Content: recipient, type, payload, `in_reply_to`, priority.
        S8: limits are checked and counted atomically in `put`; over one, `RateLimited` tells how
            long to wait and nothing is counted. A repeat under S7 counts nothing.
        S9: a recipient with `inbox_cap` pending signals gets no further one: `InboxFull`. A full
            inbox of a broadcast's recipient leaves out that recipient alone. System signals and
            what was delivered once do not count.
        S10: a reply acks the parent's delivery to the sender; a reply to the sender's own signal
            acks what its recipient has delivered to the sender in that thread.
        S11: a delivery is leased by one caller at a time, whatever the number of processes.
        S12: `lease` gives the oldest first: in the order of commits.
        S13: a push claim gets only what `Claim` says: due, under the attempt limit, agent lane,
            assigned to it or to no session that lives. A verb's claim gets anything unleased.
            Leasing assigns what was never delivered to the claim's session.
        S14: a lease that ran out is leased again as if its end was unknown: `redelivered`, and one
            attempt counted.
        S15: what expects action and was handed over by a session that has ended without an act is
            leased again to the identity's next session, marked `redelivered`, until it was offered
            three times; then the next claim of the identity finds it dead, with reason `unacted`.
            Until another session has delivered it, it stays with the one that ended.
        S16: with `reoffer_after`, an unconfirmed hand-over is leased once more, marked
            `redelivered`; never a third time.
        S17: `settle` applies a settlement only under the current token; late (its lease ran out,
            leased again or not), doubled or forged ones change nothing and answer False.
        S18: `settle` with `PENDING` frees the lease; what was delivered before is delivered again.
        S19: `delivered_at` is set by the first delivery and never moves; `delivery_method` and
            `session_id` tell of the latest.
        S20: `confirm` sets `confirmed_at` of delivered signals of this identity, once.
        S21: `hand_over` marks pending signals of this identity as delivered by a method; leased,
            delivered and ended ones stay as they are.
        S22: `ack` answers per id and is idempotent; it wins over a running lease; ids of others,
            unknown or ended ones change nothing.
        S23: `recall` ends pending deliveries of the sender's own signal; leased ones answer
            `in_flight`, delivered ones `too_late`. It is `partly` where some of a broadcast's are
            recalled, and `recalled` again for a repeat.
        S24: `read`, `thread`, `history`, `find` and `counts` change nothing.
        S25: no call sees or changes another tenant's or project's signals.
        S26: `expire` ends deliveries past their time that were never delivered, and nothing else; a
            running lease first ends. Even before it runs, what is past its time is not leased or
            handed over, and what of that was never delivered is not unread and not counted.
        S27: `archive` moves signals older than the given age whose deliveries all have ended or
            were delivered that long ago; they stay readable by `find`, `thread` and
            `history(archived=True)`, and can still be acked.
        S28: the signal's `delivered_at` and `delivery_method` are set when none of its deliveries
            is pending or leased any more and one was delivered; the method is `mixed` where they
            differ.
        S29: payloads come back equal to what was stored: any JSON, any Unicode.
        S30: a cancelled call has either happened as a whole or not at all.
        S31: `rearm` makes this session's postponed deliveries due at once: those assigned to it and
            those it leased last.
    """

    async def put(self, posting: Posting) -> Posted:
        """Commit a new signal.

        Raises:
            IdempotencyConflict: See S7.
            RateLimited: See S8.
            InboxFull: See S9.
            StoreBusy: It stayed locked; nothing was stored.
        """
        ...

    async def lease(self, claim: Claim) -> Sequence[Lease]:
        """Lease what the claim describes, oldest first."""
        ...

    async def settle(self, lease: Lease, settlement: Settlement) -> bool:
        """End a lease; False where it was not the current one any more."""
        ...

    async def extend(self, lease: Lease, lease_for: timedelta) -> bool:
        """Make a lease last this long from now; False where it was not the current one any more."""
        ...

    async def rearm(self, scope: Scope, recipient: str, session_id: SessionId) -> int:
        """Make postponed deliveries of this session due; gives their number."""
        ...

    async def pending(self, claim: Claim) -> bool:
        """Whether `lease` would give something; changes nothing and is cheap."""
        ...

    async def confirm(self, scope: Scope, recipient: str, signal_ids: Collection[SignalId]) -> int:
        """These are in the model's context; gives the number newly confirmed."""
        ...

    async def hand_over(
        self,
        scope: Scope,
        recipient: str,
        session_id: SessionId,
        signal_ids: Collection[SignalId],
        method: str,
    ) -> int:
        """These pending ones were put into an answer; gives the number newly delivered."""
        ...

    async def ack(
        self, scope: Scope, recipient: str, signal_ids: Sequence[str]
    ) -> Sequence[AckResult]:
        """The agent acted on these; one result per id, in order."""
        ...

    async def recall(self, scope: Scope, sender: str, signal_id: str) -> Recall:
        """Take back what was not shown yet."""
        ...

    async def find(self, scope: Scope, signal_id: str) -> Entry | None:
        """One signal with all its deliveries, archived or not."""
        ...

    async def read(self, query: Query) -> Page:
        """A page of signals. Oldest first unless the query says otherwise."""
        ...

    async def thread(self, scope: Scope, thread_id: SignalId, limit: int = 1000) -> Sequence[Entry]:
        """A thread, oldest first, archived parts included."""
        ...

    async def history(self, query: Query) -> Page:
        """Like `read`, always newest first; without `recipient`, over everyone's signals."""
        ...

    async def counts(self, scope: Scope, recipient: str) -> Counts:
        """How much there is for one identity."""
        ...

    async def seen(self, scope: Scope, name: Name, *, human: bool = False) -> None:
        """An identity is here now: broadcasts reach it, and it is not `unknown` any more."""
        ...

    async def identities(self, scope: Scope) -> Sequence[tuple[Name, datetime]]:
        """Every identity ever seen in the project, with when it was seen last."""
        ...

    async def expire(self, limit: int = 1000) -> Swept:
        """End what is past its time; bounded."""
        ...

    async def archive(self, older_than: timedelta, limit: int = 1000) -> Swept:
        """Move old, finished signals to the archive; bounded."""
        ...
