"""What becomes of signals outside a lease: shown, confirmed, acted on, taken back, out of time."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from datetime import datetime, timedelta

from ..contract.store import AckResult, AckStatus, Recall, RecallStatus, Swept
from ..engine import lifecycle
from ..model.delivery import ENDED_STATES, OPEN_STATES, Delivery, DeliveryState
from ..model.ids import SessionId, SignalId, canonical_uuid
from .ledger import Project, Record, Row


def confirm(
    project: Project, recipient: str, signal_ids: Collection[SignalId], now: datetime
) -> int:
    """These are in the model's context (S20)."""
    number = 0
    for row in _rows(project, recipient, signal_ids):
        after = lifecycle.confirmed(lifecycle.lapsed(row.delivery, now), now)
        if after is not None:
            row.delivery = after
            number += 1
    return number


def hand_over(
    project: Project,
    recipient: str,
    session_id: SessionId,
    signal_ids: Collection[SignalId],
    method: str,
    now: datetime,
) -> int:
    """These were put into an answer (S21)."""
    number = 0
    for row in _rows(project, recipient, signal_ids):
        after = lifecycle.handed_over(
            lifecycle.lapsed(row.delivery, now), row.expires_at, session_id, method, now
        )
        if after is not None:
            row.delivery = after
            number += 1
    return number


def ack(
    project: Project, recipient: str, signal_ids: Sequence[str], now: datetime
) -> list[AckResult]:
    """The agent acted on these (S22)."""
    return [AckResult(text, _ack_one(project, recipient, text, now)) for text in signal_ids]


def _ack_one(project: Project, recipient: str, text: str, now: datetime) -> AckStatus:
    signal_id = canonical_uuid(text)
    if signal_id is None or SignalId(signal_id) not in project.records:
        return AckStatus.UNKNOWN
    rows = project.rows_of(signal_id, recipient)
    if not rows:
        return AckStatus.NOT_YOURS
    states = {row.delivery.state for row in rows}
    changed = False
    for row in rows:
        after = lifecycle.acked(lifecycle.lapsed(row.delivery, now), now)
        if after is not None:
            row.delivery = after
            changed = True
    if changed:
        return AckStatus.ACKED
    return AckStatus.ALREADY_ACKED if DeliveryState.ACKED in states else AckStatus.ENDED


def recall(project: Project, sender: str, text: str, now: datetime) -> Recall:
    """Take back what nobody has yet (S23)."""
    record = project.records.get(SignalId(canonical_uuid(text) or ""))
    if record is None:
        return Recall(RecallStatus.UNKNOWN)
    if record.sender != sender:
        return Recall(RecallStatus.NOT_YOURS)
    for row in record.rows:
        as_is = lifecycle.lapsed(row.delivery, now)
        row.delivery = lifecycle.recalled(as_is) or row.delivery
    deliveries = tuple(row.delivery for row in record.rows)
    recalled = [d.state is DeliveryState.RECALLED for d in deliveries]
    if all(recalled):
        status = RecallStatus.RECALLED
    elif any(recalled):
        status = RecallStatus.PARTLY
    elif any(lifecycle.runs(d, now) for d in deliveries):
        status = RecallStatus.IN_FLIGHT
    else:
        status = RecallStatus.TOO_LATE
    return Recall(status, deliveries)


def expire(records: Iterable[Record], limit: int, now: datetime) -> Swept:
    """End what is past its time (S26)."""
    number = 0
    for row in (row for record in records if not record.archived for row in record.rows):
        if number >= limit:
            break
        after = lifecycle.expired(lifecycle.lapsed(row.delivery, now), row.expires_at, now)
        if after is not None:
            row.delivery = after
            number += 1
    return Swept(expired=number)


def archive(records: Iterable[Record], older_than: timedelta, limit: int, now: datetime) -> Swept:
    """Move old signals that nothing more happens to (S27)."""
    moment = now - older_than
    number = 0
    for record in records:
        if number >= limit:
            break
        if (
            not record.archived
            and record.signal.created_at <= moment
            and all(_finished(lifecycle.lapsed(row.delivery, now), moment) for row in record.rows)
        ):
            record.archived = True
            number += 1
    return Swept(archived=number)


def _finished(d: Delivery, moment: datetime) -> bool:
    if d.state in ENDED_STATES:
        return True
    return d.state not in OPEN_STATES and d.delivered_at is not None and d.delivered_at <= moment


def _rows(project: Project, recipient: str, signal_ids: Collection[SignalId]) -> Iterable[Row]:
    return [row for sid in dict.fromkeys(signal_ids) for row in project.rows_of(sid, recipient)]
