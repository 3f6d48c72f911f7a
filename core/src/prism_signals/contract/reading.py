"""What a store is asked, and how it answers, without anything changing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from ..model.delivery import DeliveryState, Entry
from ..model.ids import SessionId, SignalId
from ..model.names import Scope


@dataclass(frozen=True, slots=True)
class Query:
    """What to read. Everything given must hold.

    Attributes:
        scope: Tenant and project.
        recipient: Canonical name: only signals with a delivery to it; entries carry that one only.
        sender: Canonical name of the sender.
        involving: Canonical name: sent by it or delivered to it.
        unread_only: Only unread deliveries (needs `recipient`).
        session_id: With `recipient`: leave system signals meant for other sessions.
        settled_only: Leave what is under a running lease.
        signal_id: This signal.
        thread_id: This thread.
        text: Contained in type, sender, or payload text; compared without case.
        states: Only deliveries in one of these states.
        before: Cursor from an earlier page: what comes next.
        limit: Most entries in the answer.
        newest_first: Order; otherwise oldest first.
        archived: Look into the archive too.
    """

    scope: Scope
    recipient: str | None = None
    sender: str | None = None
    involving: str | None = None
    unread_only: bool = False
    session_id: SessionId | None = None
    settled_only: bool = False
    signal_id: SignalId | None = None
    thread_id: SignalId | None = None
    text: str | None = None
    states: Collection[DeliveryState] = ()
    before: str | None = None
    limit: int = 20
    newest_first: bool = False
    archived: bool = False


@dataclass(frozen=True, slots=True)
class Page:
    """A part of an answer.

    Attributes:
        entries: In the order asked for.
        next: Cursor for the next page, or None where this is the last.
        total: How many match in all, where that is cheap to know; else None.
    """

    entries: tuple[Entry, ...]
    next: str | None = None
    total: int | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """How much there is for one identity."""

    pending: int = 0
    leased: int = 0
    unread: int = 0
    unconfirmed: int = 0
    dead: int = 0
