"""The answers of the verbs, as JSON-ready dicts: the parts that agents and terminals share."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..clock import iso
from ..contract.directory import Directory
from ..contract.reading import Page, Query
from ..contract.store import RecallStatus, Store
from ..errors import InvalidArgument, Unavailable, UnknownSignal
from ..model.delivery import Delivery, DeliveryState, Entry
from ..model.ids import SessionId, SignalId, canonical_uuid
from ..model.names import Name, Scope
from ..model.session import Session
from .rendering import PREVIEW_SHARE, shown_signal, size_of

MOST_READ = 100
_READABLE = frozenset(DeliveryState) - {DeliveryState.RECALLED}
_RECALL_HINTS = {
    RecallStatus.IN_FLIGHT: "It is being shown at this moment; ask again to learn the outcome.",
    RecallStatus.TOO_LATE: "It was delivered before. Send a correction instead.",
    RecallStatus.PARTLY: "Some recipients had it already.",
    RecallStatus.NOT_YOURS: "Only its sender can recall a signal.",
    RecallStatus.UNKNOWN: "No such signal in this project.",
}


@dataclass(frozen=True, slots=True)
class Selection:
    """Which of one's own signals to read: the arguments of the read verb, unchecked.

    Attributes:
        unread_only: Leave what is done with.
        thread_id: Only this thread.
        signal_id: Only this signal, whole, whatever its state.
        query: Text it contains.
        limit: The most entries.
        cursor: `next` of the page before.
    """

    unread_only: bool = True
    thread_id: str | None = None
    signal_id: str | None = None
    query: str | None = None
    limit: int = 20
    cursor: str | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A page of one's own signals.

    Attributes:
        answer: What the verb answers.
        listed: Ids of those in the answer: they count as handed over.
        whole: Ids of those in it with their whole payload: the next verb confirms them.
    """

    answer: dict[str, Any]
    listed: tuple[SignalId, ...]
    whole: tuple[SignalId, ...]


@dataclass(frozen=True, slots=True)
class Verbs:
    """Reads, acks and recalls for one identity."""

    store: Store
    directory: Directory

    async def read(
        self,
        scope: Scope,
        me: Name,
        session: SessionId | None,
        wanted: Selection,
        max_bytes: int | None = None,
    ) -> Reading:
        """Signals for `me`, oldest first. The store is not changed.

        With `max_bytes` a page holds no more than fits, and a large payload comes as a preview. One
        signal asked for by its id is given whole.
        """
        limit = wanted.limit
        if isinstance(limit, bool) or not isinstance(limit, int) or not 1 <= limit <= MOST_READ:
            raise InvalidArgument(f"limit must be a whole number from 1 to {MOST_READ}.")
        if wanted.signal_id is not None:
            return await self._one(scope, me, wanted.signal_id)
        thread = _id(wanted.thread_id, "thread_id") if wanted.thread_id else None
        query = Query(
            scope,
            recipient=me.canonical,
            unread_only=wanted.unread_only,
            session_id=session,
            settled_only=wanted.unread_only and session is not None,
            thread_id=SignalId(thread) if thread else None,
            text=wanted.query or None,
            states=() if wanted.unread_only else _READABLE,
            before=wanted.cursor,
            limit=limit,
        )
        page = await self.store.read(query)
        fitting = _fitting(page, max_bytes)
        if fitting < len(page.entries):  # the store alone knows the cursor of a shorter page
            page = await self.store.read(replace(query, limit=fitting))
        return _reading(page, max_bytes)

    async def ack(
        self, scope: Scope, me: Name, signal_ids: Sequence[str]
    ) -> tuple[dict[str, Any], list[str]]:
        """Ack by id; one result per id, and the ids that are acked now and were not before."""
        if isinstance(signal_ids, str) or not all(isinstance(s, str) for s in signal_ids):
            raise InvalidArgument("signal_ids must be a list of signal ids.")
        if not signal_ids:
            raise InvalidArgument("signal_ids is empty; name the signals you acted on.")
        results = await self.store.ack(scope, me.canonical, signal_ids)
        acked = [r.signal_id for r in results if r.status.value == "acked"]
        return {
            "results": [{"signal_id": r.signal_id, "status": r.status.value} for r in results],
            "acked": len(acked),
        }, acked

    async def recall(self, scope: Scope, me: Name, signal_id: str) -> dict[str, Any]:
        """Take back one's own signal where it was not shown yet."""
        done = await self.store.recall(scope, me.canonical, _id(signal_id, "signal_id"))
        answer: dict[str, Any] = {
            "signal_id": signal_id,
            "status": done.status.value,
            "deliveries": [ladder(d) for d in done.deliveries],
        }
        if done.status in _RECALL_HINTS:
            answer["hint"] = _RECALL_HINTS[done.status]
        return answer

    async def track(self, scope: Scope, signal_id: str) -> dict[str, Any]:
        """How far one signal got, rung by rung."""
        entry = await self._find(scope, signal_id)
        return {
            "signal": entry.signal.as_dict(),
            "deliveries": [ladder(d) for d in entry.deliveries],
        }

    async def project(self, scope: Scope, me: Name | None) -> dict[str, Any]:
        """Who is here, who is master, how much waits."""
        answer: dict[str, Any] = {"pid": scope.pid, "tenant": scope.tenant}
        try:
            election = await self.directory.elect(scope)
            sessions = await self.directory.sessions(scope)
            answer["master"] = _identity_of(sessions, election.master)
            answer["peers"] = [s.as_dict() for s in sessions]
        except Unavailable as e:
            answer |= {"master": None, "peers": None, "directory": str(e)}
        if me is not None:
            c = await self.store.counts(scope, me.canonical)
            answer["counts"] = {
                "pending": c.pending,
                "leased": c.leased,
                "unread": c.unread,
                "unconfirmed": c.unconfirmed,
                "dead": c.dead,
            }
        return answer

    async def _one(self, scope: Scope, me: Name, signal_id: str) -> Reading:
        entry = await self._find(scope, signal_id)
        mine = tuple(d for d in entry.deliveries if d.recipient == me.canonical)
        if not mine:
            raise UnknownSignal(
                f"The signal {signal_id} is not addressed to {me}; only its recipients read it. "
                "To see how far your own signal got, use prism_status(signal_id=…)."
            )
        if all(d.state is DeliveryState.RECALLED for d in mine):
            raise UnknownSignal(f"The signal {signal_id} was taken back by its sender.")
        return _reading(Page((Entry(entry.signal, mine),)), None)

    async def _find(self, scope: Scope, signal_id: str) -> Entry:
        wanted = _id(signal_id, "signal_id")
        entry = await self.store.find(scope, wanted)
        if entry is None:
            raise UnknownSignal(f"No signal {wanted} in project {scope.pid}. Check the id.")
        return entry


def ladder(d: Delivery) -> dict[str, Any]:
    """One delivery as status answers show it."""
    return {
        "recipient": d.recipient_display,
        "state": d.state.value,
        "session_id": d.session_id,
        "attempts": d.attempts,
        "offers": d.offers,
        "next_attempt_at": iso(d.next_attempt_at) if d.next_attempt_at else None,
        "delivered_at": iso(d.delivered_at) if d.delivered_at else None,
        "delivery_method": d.delivery_method,
        "confirmed_at": iso(d.confirmed_at) if d.confirmed_at else None,
        "acked_at": iso(d.acked_at) if d.acked_at else None,
        "last_error": d.last_error,
    }


def _reading(page: Page, max_bytes: int | None) -> Reading:
    entries = [_entry(e, max_bytes) for e in page.entries]
    return Reading(
        {"signals": entries, "next": page.next},
        listed=tuple(e["signal_id"] for e in entries),
        whole=tuple(e["signal_id"] for e in entries if "payload" in e),
    )


def _fitting(page: Page, max_bytes: int | None) -> int:
    """How many of a page's signals one answer has room for; one always."""
    if max_bytes is None:
        return len(page.entries)
    room = max_bytes
    for n, entry in enumerate(page.entries):
        room -= size_of(_entry(entry, max_bytes))
        if room < 0 and n > 0:
            return n
    return len(page.entries)


def _entry(entry: Entry, max_bytes: int | None) -> dict[str, Any]:
    d = entry.deliveries[0]
    largest = None if max_bytes is None else max_bytes // PREVIEW_SHARE
    return {
        **shown_signal(entry.signal, redelivered=d.offers > 0, max_bytes=largest),
        "to": entry.signal.to_identity,
        "thread_id": entry.signal.thread_id,
        "priority": entry.signal.priority.value,
        "state": d.state.value,
    }


def _identity_of(sessions: Sequence[Session], wanted: SessionId | None) -> str | None:
    return next((s.name.display for s in sessions if s.session_id == wanted), None)


def _id(text: str, argument: str) -> str:
    wanted = canonical_uuid(text)
    if wanted is None:
        raise InvalidArgument(f"{argument} is {ascii(text)[:60]}, which is not a signal id (UUID).")
    return wanted
