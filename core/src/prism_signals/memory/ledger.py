"""What the memory store keeps: per project its signals, identities and counters."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import datetime

from ..engine import lifecycle
from ..model.delivery import Delivery, Entry
from ..model.ids import SessionId, SignalId
from ..model.names import Name, Scope
from ..model.signal import Signal


@dataclass(slots=True)
class Row:
    """One delivery and what only the store knows of it.

    Attributes:
        record: The signal it belongs to.
        delivery: As it stands.
        expires_at: When its time is up: its signal's, or earlier for a broadcast.
        lessee: The session that leased it last.
    """

    record: Record
    delivery: Delivery
    expires_at: datetime | None
    lessee: SessionId | None = None


@dataclass(slots=True)
class Record:
    """One signal and what only the store knows of it.

    Attributes:
        signal: As stored.
        sender: Canonical name of its sender.
        number: Its place in the order of commits.
        content: What an idempotency key stands for.
        coalesce: Its key among the system signals of one session.
        rows: Its deliveries, by canonical name.
        archived: It was moved to the archive.
    """

    signal: Signal
    sender: str
    number: int
    content: str
    coalesce: str | None = None
    rows: list[Row] = field(default_factory=list)
    archived: bool = False

    def entry(self) -> Entry:
        """As reads give it, with all its deliveries."""
        deliveries = tuple(row.delivery for row in self.rows)
        return Entry(lifecycle.mirrored(self.signal, deliveries), deliveries)


@dataclass(slots=True)
class Identity:
    """One identity that was seen in a project."""

    name: Name
    first_seen: datetime
    last_seen: datetime
    human: bool = False


@dataclass(slots=True)
class Project:
    """Everything of one project; nothing in it refers to another project (S25).

    Attributes:
        records: Every signal, in the order of commits.
        identities: By canonical name.
        counted: Moments at which a limit's key was counted.
        keys: The signal under an idempotency key, by sender and key.
    """

    records: dict[SignalId, Record] = field(default_factory=dict)
    identities: dict[str, Identity] = field(default_factory=dict)
    counted: dict[str, list[datetime]] = field(default_factory=dict)
    keys: dict[tuple[str, str], Record] = field(default_factory=dict)

    def inbox(self, recipient: str) -> Iterator[Row]:
        """The deliveries to one identity, oldest first, without the archive."""
        for record in self.records.values():
            if not record.archived:
                yield from (row for row in record.rows if row.delivery.recipient == recipient)

    def rows_of(self, signal_id: str, recipient: str) -> list[Row]:
        """The deliveries of one signal to one identity; several only for a system signal."""
        record = self.records.get(SignalId(signal_id))
        return [r for r in record.rows if r.delivery.recipient == recipient] if record else []


@dataclass(slots=True)
class Ledger:
    """All projects."""

    projects: dict[Scope, Project] = field(default_factory=dict)

    def project(self, scope: Scope) -> Project:
        """The project of a scope, made on first use."""
        return self.projects.setdefault(scope, Project())

    def records(self) -> Iterator[Record]:
        """Every signal of every project, each project's in the order of commits."""
        for project in self.projects.values():
            yield from project.records.values()
