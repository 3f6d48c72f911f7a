"""What goes into `Store.put` and what comes out of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from enum import StrEnum

from ..model.ids import SessionId, SignalId
from ..model.names import Name
from ..model.signal import Signal


@dataclass(frozen=True, slots=True)
class Limit:
    """At most `most` signals under one key in any window of this length."""

    key: str
    most: int
    window: timedelta


@dataclass(frozen=True, slots=True)
class Posting:
    """Everything `put` needs to know about a new signal.

    Attributes:
        signal: The signal itself; the store sets nothing in it but `created_at`.
        name: Both forms of its recipient's name.
        sender: Canonical name of its sender.
        sessions: The session each canonical identity resolves to now, from the directory: the
            recipient's candidates, or for `*` everyone with a live session.
        expects_action: From its type.
        wakes: From its type.
        limits: Counted and checked in the same transaction.
        inbox_cap: The most pending signals one recipient may have.
        seen_within: A broadcast also goes to identities seen this recently.
        broadcast_ttl: A broadcast's deliveries expire after this time.
        idempotency_window: How long an idempotency key is remembered.
        to_sessions: System lane only: exactly these sessions get it, and nobody else.
        coalesce: System lane only: pending system signals to the same session under the same key
            are expired in favour of this one.
        system_cap: System lane only: the most pending system signals per session; the oldest go.
    """

    signal: Signal
    name: Name
    sender: str
    sessions: Mapping[str, SessionId] = field(default_factory=dict)
    expects_action: bool = False
    wakes: bool = True
    limits: tuple[Limit, ...] = ()
    inbox_cap: int = 10_000
    seen_within: timedelta = timedelta(days=7)
    broadcast_ttl: timedelta = timedelta(days=7)
    idempotency_window: timedelta = timedelta(hours=24)
    to_sessions: tuple[tuple[Name, SessionId], ...] = ()
    coalesce: str | None = None
    system_cap: int = 20


class RecipientState(StrEnum):
    """What the store knows of a recipient at the moment of `put`."""

    LIVE = "live"
    AWAY = "away"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Recipient:
    """One recipient of a signal, as `put` found it.

    Attributes:
        name: Its canonical and display name.
        state: `live` where a session was given for it, `away` where it was seen before, else
            `unknown`.
        session_id: The session the delivery is assigned to.
        last_seen: When it was last seen; None where it never was.
        near: With `unknown`: display names in the project that resemble it.
    """

    name: Name
    state: RecipientState
    session_id: SessionId | None = None
    last_seen: datetime | None = None
    near: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Posted:
    """The answer of `put`: the signal is committed.

    Attributes:
        signal: As stored.
        recipients: In order of canonical name; empty for a broadcast without audience.
        duplicate: True where an idempotency key named an earlier signal, which is then `signal`.
        acked: Signals that this one, being a reply, has acked.
    """

    signal: Signal
    recipients: tuple[Recipient, ...]
    duplicate: bool = False
    acked: tuple[SignalId, ...] = ()
