"""Answers that change nothing (S24)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime

from ..contract.reading import Counts, Page, Query
from ..engine import lifecycle
from ..errors import InvalidArgument
from ..model.delivery import DeliveryState, Entry
from ..model.ids import SignalId, canonical_uuid
from .ledger import Project, Record, Row


def find(project: Project, text: str) -> Entry | None:
    """One signal with all its deliveries."""
    record = project.records.get(SignalId(canonical_uuid(text) or ""))
    return record.entry() if record else None


def thread(project: Project, thread_id: SignalId, limit: int) -> list[Entry]:
    """A thread, oldest first."""
    records = (r for r in project.records.values() if r.signal.thread_id == thread_id)
    return [record.entry() for record in records][:limit]


def read(project: Project, query: Query, now: datetime) -> Page:
    """One page of what matches; the cursor is the number of the last signal given."""
    matches = list(_matches(project, query, now))
    total = len(matches)
    newest = query.newest_first
    if newest:
        matches.reverse()
    if query.before is not None:
        last = _number(query.before)
        matches = [m for m in matches if m[0].number != last and (m[0].number < last) is newest]
    shown = matches[: query.limit]
    more = len(matches) > len(shown) and bool(shown)
    return Page(
        tuple(entry for _, entry in shown), str(shown[-1][0].number) if more else None, total
    )


def history(project: Project, query: Query, now: datetime) -> Page:
    """Like `read`, newest first."""
    return read(project, replace(query, newest_first=True), now)


def counts(project: Project, recipient: str, now: datetime) -> Counts:
    """How much there is for one identity."""
    rows = [r for r in project.inbox(recipient) if not _past(r, now)]
    states = [row.delivery.state for row in rows]
    return Counts(
        pending=states.count(DeliveryState.PENDING),
        leased=states.count(DeliveryState.LEASED),
        unread=sum(lifecycle.unread(row.delivery, row.expires_at, now) for row in rows),
        unconfirmed=sum(
            row.delivery.state is DeliveryState.DELIVERED and row.delivery.confirmed_at is None
            for row in rows
        ),
        dead=states.count(DeliveryState.DEAD),
    )


def _past(row: Row, now: datetime) -> bool:
    """Out of time and never shown: it only waits for `expire`."""
    d = row.delivery
    return (
        d.delivered_at is None
        and not lifecycle.runs(d, now)
        and lifecycle.overdue(d, row.expires_at, now)
    )


def _matches(project: Project, query: Query, now: datetime) -> Iterable[tuple[Record, Entry]]:
    for record in project.records.values():
        if (record.archived and not query.archived) or not _signal_fits(record, query):
            continue
        fitting = {id(row) for row in record.rows if _delivery_fits(row, query, now)}
        if not fitting and (_asks_for_deliveries(query)):
            continue
        entry = record.entry()
        if query.recipient is not None:
            kept = tuple(row.delivery for row in record.rows if id(row) in fitting)
            entry = Entry(entry.signal, kept)
        yield record, entry


def _signal_fits(record: Record, query: Query) -> bool:
    s = record.signal
    recipients = {row.delivery.recipient for row in record.rows}
    return (
        query.sender in (None, record.sender)
        and (query.involving is None or query.involving in {record.sender, *recipients})
        and query.signal_id in (None, s.signal_id)
        and query.thread_id in (None, s.thread_id)
        and (query.text is None or query.text.casefold() in _text(record))
    )


def _text(record: Record) -> str:
    s = record.signal
    payload = json.dumps(s.payload, ensure_ascii=False)
    return f"{s.signal_type}\n{s.from_identity}\n{payload}".casefold()


def _asks_for_deliveries(query: Query) -> bool:
    return (
        query.recipient is not None or query.unread_only or query.settled_only or bool(query.states)
    )


def _delivery_fits(row: Row, query: Query, now: datetime) -> bool:
    d = row.delivery
    return (
        query.recipient in (None, d.recipient)
        and (query.session_id is None or d.to_session in (None, query.session_id))
        and (not query.unread_only or lifecycle.unread(d, row.expires_at, now))
        and not (query.settled_only and lifecycle.runs(d, now))
        and (not query.states or d.state in query.states)
    )


def _number(cursor: str) -> int:
    if not cursor.isascii() or not cursor.isdigit():
        raise InvalidArgument("This cursor was not given by an earlier page. Start without one.")
    return int(cursor)
