"""`read`, `thread`, `history` and `counts`: they change nothing."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from prism_signals import (
    Counts,
    Entry,
    InvalidArgument,
    Page,
    Query,
    iso,
)

from .finding import ARCHIVE, HOT, THREAD
from .rows import DELIVERY_COLUMNS, SIGNAL_COLUMNS, delivery_from, project_id, signal_from
from .schema import DEAD, UNREAD
from .searching import CONTAINS, needles

_CHUNK = 500
_UNREAD_STATES = ("pending", "leased", "delivered")
_IN_TIME = (
    "(delivered_at IS NOT NULL OR expires_at IS NULL OR expires_at > :now"
    " OR (state = 'leased' AND lease_until > :now))"
)
"""Not: out of time and never shown, only waiting for `expire`."""
_NOT_OVERDUE = "(d.delivered_at IS NOT NULL OR d.expires_at IS NULL OR d.expires_at > :now)"
_LONGEST_CURSOR = 18  # digits; what SQLite can compare as an integer


def counts(connection: sqlite3.Connection, project: str, recipient: str, now: datetime) -> Counts:
    """How much there is for one identity."""
    where = {"project": project, "recipient": recipient, "now": iso(now)}
    unread, pending, leased, unconfirmed = connection.execute(
        "SELECT count(*),"
        " count(*) FILTER (WHERE state = 'pending'),"
        " count(*) FILTER (WHERE state = 'leased'),"
        " count(*) FILTER (WHERE state = 'delivered' AND confirmed_at IS NULL)"
        " FROM signal_delivery INDEXED BY idx_signal_delivery_inbox"
        f" WHERE project_id = :project AND recipient = :recipient AND {UNREAD} AND {_IN_TIME}",
        where,
    ).fetchone()
    (dead,) = connection.execute(
        "SELECT count(*) FROM signal_delivery INDEXED BY idx_signal_delivery_dead"
        f" WHERE project_id = :project AND recipient = :recipient AND {DEAD}",
        where,
    ).fetchone()
    return Counts(pending, leased, unread, unconfirmed, dead)


def read(connection: sqlite3.Connection, query: Query, now: datetime) -> Page:
    """A page of what the query describes.

    Raises:
        InvalidArgument: The cursor is none that an earlier page gave.
    """
    search = _Search.of(query, now)
    connection.execute("BEGIN")  # one moment for both places: a signal moves between them
    try:
        found = search.numbers(connection, HOT)
        if query.archived:
            found += search.numbers(connection, ARCHIVE)
        found.sort(reverse=query.newest_first)
        more = len(found) > query.limit > 0
        found = found[: max(query.limit, 0)]
        entries: dict[int, Entry] = {}
        for place in (HOT, ARCHIVE) if query.archived else (HOT,):
            entries |= search.entries(connection, place, found)
    finally:
        connection.execute("COMMIT")
    page = tuple(entries[n] for n in found if n in entries)
    return Page(page, str(found[-1]) if more else None)


@dataclass(slots=True)
class _Search:
    """A query as SQL: conditions on the signal `q` and on the delivery `d`."""

    query: Query
    signal: list[str] = field(default_factory=list)
    delivery: list[str] = field(default_factory=list)
    values: dict[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, query: Query, now: datetime) -> _Search:
        search = cls(query)
        search.values = {
            "project": project_id(query.scope),
            "now": iso(now),
            "limit": max(query.limit, 0) + 1,
            "recipient": query.recipient,
            "sender": query.sender,
            "involving": query.involving,
            "session": query.session_id,
            "signal": query.signal_id,
            "thread": query.thread_id,
        }
        search._about_signal()
        search._about_delivery()
        return search

    def _about_signal(self) -> None:
        query, terms = self.query, self.signal
        terms.append("q.project_id = :project")
        if query.sender is not None:
            terms.append("q.sender = :sender")
        if query.signal_id is not None:
            terms.append("q.signal_id = :signal")
        if query.text is not None:
            terms.append(f"{CONTAINS}(:plain, :escaped, q.signal_type, q.from_identity, q.payload)")
            self.values["plain"], self.values["escaped"] = needles(query.text)
        if query.before is not None:
            terms.append("q.id < :before" if query.newest_first else "q.id > :before")
            self.values["before"] = _cursor(query.before)

    def _about_delivery(self) -> None:
        query, terms = self.query, self.delivery
        if query.recipient is not None:
            terms.append("d.project_id = :project AND d.recipient = :recipient")
        if query.unread_only:
            terms += [UNREAD, _NOT_OVERDUE]
        if query.session_id is not None and query.recipient is not None:
            terms.append("d.to_session IN ('', :session)")
        if query.settled_only:
            terms.append("NOT (d.state = 'leased' AND d.lease_until > :now)")
        if query.states:
            names = [f"state{n}" for n in range(len(query.states))]
            self.values.update(zip(names, [s.value for s in query.states], strict=True))
            terms.append(f"d.state IN ({', '.join(f':{n}' for n in names)})")

    def numbers(self, connection: sqlite3.Connection, place: tuple[str, str]) -> list[int]:
        """The numbers of the signals of one page and one more, in order."""
        if self.query.recipient is not None and self.query.unread_only and place is HOT:
            parts = [self._inbox(place, state) for state in _UNREAD_STATES]
        else:
            parts = [self._signals(place)]
        direction = "DESC" if self.query.newest_first else "ASC"
        tail = f" ORDER BY 1 {direction} LIMIT :limit"
        sql = " UNION ".join(f"SELECT * FROM ({part}{tail})" for part in parts) + tail
        return [row[0] for row in connection.execute(sql, self.values).fetchall()]

    def _inbox(self, place: tuple[str, str], state: str) -> str:
        """What is unread in one state, straight from the index and in its order."""
        signals, deliveries = place
        terms = [*self.delivery, f"d.state = '{state}'", *self.signal, *self._involving(place)]
        where = " AND ".join(terms).replace("q.id ", "d.seq ")
        return (
            f"SELECT DISTINCT d.seq FROM {deliveries} d INDEXED BY idx_{deliveries}_inbox"
            f" CROSS JOIN {signals} q ON q.id = d.seq WHERE {where}"
        )

    def _signals(self, place: tuple[str, str]) -> str:
        """What fits among the project's signals, or among the few that are named."""
        signals, deliveries = place
        terms = [*self.signal, *self._involving(place)]
        if self.query.thread_id is not None:
            terms.append(f"q.id IN {THREAD.format(signals=signals)}")
        named = self.query.thread_id is not None or self.query.signal_id is not None
        index = "" if named else f" INDEXED BY idx_{signals}_project"
        if self.delivery:
            terms.append(
                f"EXISTS (SELECT 1 FROM {deliveries} d WHERE d.signal_id = q.signal_id"
                f" AND {' AND '.join(self.delivery)})"
            )
        return f"SELECT q.id FROM {signals} q{index} WHERE {' AND '.join(terms)}"

    def _involving(self, place: tuple[str, str]) -> list[str]:
        if self.query.involving is None:
            return []
        return [
            f"(q.sender = :involving OR EXISTS (SELECT 1 FROM {place[1]} i"
            " WHERE i.signal_id = q.signal_id AND i.recipient = :involving))"
        ]

    def entries(
        self, connection: sqlite3.Connection, place: tuple[str, str], numbers: Sequence[int]
    ) -> dict[int, Entry]:
        """The entries of these signals, as far as they are in this place."""
        found: dict[int, Entry] = {}
        for start in range(0, len(numbers), _CHUNK):
            chunk = numbers[start : start + _CHUNK]
            found |= self._chunk(connection, place, chunk)
        return found

    def _chunk(
        self, connection: sqlite3.Connection, place: tuple[str, str], numbers: Sequence[int]
    ) -> dict[int, Entry]:
        signals, deliveries = place
        ids = ", ".join(str(int(n)) for n in numbers)
        rows = connection.execute(
            f"SELECT q.id, {SIGNAL_COLUMNS} FROM {signals} q WHERE q.id IN ({ids})"
        ).fetchall()
        fits = self.delivery if self.query.recipient is not None else []
        which = " AND ".join(["d.signal_id = :of", *fits])
        sql = f"SELECT {DELIVERY_COLUMNS} FROM {deliveries} d WHERE {which} ORDER BY 2, 8"
        return {
            row[0]: Entry(
                signal_from(row[1:], self.query.scope),
                tuple(
                    delivery_from(d)
                    for d in connection.execute(sql, {**self.values, "of": row[1]}).fetchall()
                ),
            )
            for row in rows
        }


def _cursor(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= _LONGEST_CURSOR):
        raise InvalidArgument(
            f"The cursor {text[:40]!a} is not one that an earlier page gave. Start without one."
        )
    return int(text)
