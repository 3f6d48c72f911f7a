"""What agents do about signals outside of a lease: confirm, hand over, ack, recall."""

from __future__ import annotations

import sqlite3
from collections.abc import Collection, Sequence
from datetime import datetime

from prism_signals import (
    AckResult,
    AckStatus,
    Delivery,
    DeliveryState,
    Recall,
    RecallStatus,
    SessionId,
    SignalId,
    canonical_uuid,
    iso,
)

from .finding import HOT, PLACES, THREAD
from .mirror import close_signals
from .rows import DELIVERY_COLUMNS, delivery_from

_RAN_OUT = "(state = 'leased' AND lease_until <= :now)"
_COUNTED = f"offers = offers + {_RAN_OUT}, attempts = attempts + {_RAN_OUT}"
"""A lease that ran out before had an end that nobody knows, and counts as such (S14)."""
_FREED = "lease_token = NULL, lease_until = NULL, next_attempt_at = NULL"

_CONFIRM = f"""
UPDATE signal_delivery SET
  confirmed_at = :now, {_COUNTED},
  state = CASE WHEN {_RAN_OUT} THEN 'delivered' ELSE state END,
  lease_token = CASE WHEN {_RAN_OUT} THEN NULL ELSE lease_token END,
  next_attempt_at = CASE WHEN {_RAN_OUT} THEN NULL ELSE next_attempt_at END,
  lease_until = CASE WHEN {_RAN_OUT} THEN NULL ELSE lease_until END
WHERE signal_id = :signal AND recipient = :recipient AND project_id = :project
  AND delivered_at IS NOT NULL AND confirmed_at IS NULL AND state IN ('delivered', 'leased')"""
_HAND_OVER = f"""
UPDATE signal_delivery SET
  state = 'delivered', session_id = :session, delivered_at = :now, delivery_method = :method,
  offers = offers + 1 + {_RAN_OUT}, attempts = attempts + {_RAN_OUT}, last_error = NULL, {_FREED}
WHERE signal_id = :signal AND recipient = :recipient AND project_id = :project
  AND delivered_at IS NULL AND (state = 'pending' OR {_RAN_OUT})
  AND (expires_at IS NULL OR expires_at > :now) AND to_session IN ('', :session)
RETURNING seq"""
_ACK = f"""
UPDATE {{deliveries}} SET state = 'acked', acked_at = :now, {_COUNTED}, {_FREED}
WHERE signal_id = :signal AND recipient = :recipient AND project_id = :project
  AND state IN ('pending', 'leased', 'delivered')
RETURNING seq"""
_RECALL = f"""
UPDATE signal_delivery SET state = 'recalled', {_COUNTED}, {_FREED}
WHERE signal_id = :signal AND delivered_at IS NULL AND (state = 'pending' OR {_RAN_OUT})
RETURNING seq"""
_ANSWERED = f"""
SELECT d.signal_id FROM {{signals}} q
JOIN {{deliveries}} d ON d.signal_id = q.signal_id AND d.recipient = :sender
WHERE q.id IN {THREAD} AND q.project_id = :project AND q.sender = :addressee
  AND d.state IN ('delivered', 'leased') AND d.delivered_at IS NOT NULL
ORDER BY q.id"""


def confirm(
    connection: sqlite3.Connection,
    project: str,
    recipient: str,
    ids: Collection[SignalId],
    now: datetime,
) -> int:
    """Note that these are in the model's context; gives how many newly are."""
    rows = [
        {"now": iso(now), "signal": signal_id, "recipient": recipient, "project": project}
        for signal_id in ids
    ]
    return connection.executemany(_CONFIRM, rows).rowcount if rows else 0


def hand_over(
    connection: sqlite3.Connection,
    project: str,
    recipient: str,
    session_id: SessionId,
    ids: Collection[SignalId],
    method: str,
    now: datetime,
) -> int:
    """Note that these were put into an answer; gives how many newly were."""
    seqs: list[int] = []
    for signal_id in ids:
        rows = connection.execute(
            _HAND_OVER,
            {
                "session": session_id,
                "now": iso(now),
                "method": method,
                "signal": signal_id,
                "recipient": recipient,
                "project": project,
            },
        )
        seqs += [row[0] for row in rows.fetchall()]
    close_signals(connection, seqs, now)
    return len(seqs)


def ack(
    connection: sqlite3.Connection, project: str, recipient: str, ids: Sequence[str], now: datetime
) -> list[AckResult]:
    """The agent acted on these; one result per id, in order."""
    return [
        AckResult(given, _ack_one(connection, project, recipient, canonical_uuid(given), now))
        for given in ids
    ]


def ack_by_reply(
    connection: sqlite3.Connection,
    project: str,
    *,
    parent: SignalId,
    sender: str,
    thread: SignalId,
    addressees: Sequence[str],
    now: datetime,
) -> tuple[SignalId, ...]:
    """What a reply acks: its parent, or what the addressees have delivered in the thread.

    The second is for a reply to one's own signal (SPEC-034 §3 step 3 answers that way): it acks
    what those it goes to have sent to the replier in that thread, as far as the replier has it.
    """
    status = _ack_one(connection, project, sender, parent, now)
    if status is not AckStatus.NOT_YOURS:
        return (parent,) if status is AckStatus.ACKED else ()
    if all(_sender(connection, p[0], project, parent) != sender for p in PLACES):
        return ()
    found: list[SignalId] = []
    for addressee in addressees:
        for signals, deliveries in PLACES:
            sql = _ANSWERED.format(signals=signals, deliveries=deliveries)
            rows = connection.execute(
                sql,
                {
                    "sender": sender,
                    "thread": thread,
                    "project": project,
                    "addressee": addressee,
                },
            )
            found += [SignalId(r[0]) for r in rows.fetchall()]
    return tuple(
        s for s in found if _ack_one(connection, project, sender, s, now) is AckStatus.ACKED
    )


def recall(
    connection: sqlite3.Connection, project: str, sender: str, signal_id: str, now: datetime
) -> Recall:
    """Take back what was not shown yet."""
    place = next((p for p in PLACES if _sender(connection, p[0], project, signal_id)), None)
    if place is None:
        return Recall(RecallStatus.UNKNOWN)
    if _sender(connection, place[0], project, signal_id) != sender:
        return Recall(RecallStatus.NOT_YOURS)
    if place is HOT:
        rows = connection.execute(_RECALL, {"signal": signal_id, "now": iso(now)})
        close_signals(connection, [row[0] for row in rows.fetchall()], now)
    deliveries = tuple(
        delivery_from(row)
        for row in connection.execute(
            f"SELECT {DELIVERY_COLUMNS} FROM {place[1]} d WHERE d.signal_id = ?"
            " ORDER BY d.recipient, d.to_session",
            (signal_id,),
        ).fetchall()
    )
    return Recall(_recall_status(deliveries, now), deliveries)


def _recall_status(deliveries: Sequence[Delivery], now: datetime) -> RecallStatus:
    recalled = [d.state is DeliveryState.RECALLED for d in deliveries]
    if all(recalled):
        return RecallStatus.RECALLED
    if any(recalled):
        return RecallStatus.PARTLY
    held = any(
        d.state is DeliveryState.LEASED and d.lease_until is not None and d.lease_until > now
        for d in deliveries
    )
    return RecallStatus.IN_FLIGHT if held else RecallStatus.TOO_LATE


def _sender(
    connection: sqlite3.Connection, signals: str, project: str, signal_id: str
) -> str | None:
    row = connection.execute(
        f"SELECT sender FROM {signals} WHERE signal_id = ? AND project_id = ?", (signal_id, project)
    ).fetchone()
    return None if row is None else str(row[0])


def _ack_one(
    connection: sqlite3.Connection,
    project: str,
    recipient: str,
    signal_id: str | None,
    now: datetime,
) -> AckStatus:
    if signal_id is None:
        return AckStatus.UNKNOWN
    for signals, deliveries in PLACES:
        rows = connection.execute(
            _ACK.format(deliveries=deliveries),
            {"now": iso(now), "signal": signal_id, "recipient": recipient, "project": project},
        ).fetchall()
        if rows:
            if deliveries == HOT[1]:
                close_signals(connection, [row[0] for row in rows], now)
            return AckStatus.ACKED
        states = {
            row[0]
            for row in connection.execute(
                f"SELECT state FROM {deliveries}"
                " WHERE signal_id = ? AND recipient = ? AND project_id = ?",
                (signal_id, recipient, project),
            ).fetchall()
        }
        if states:
            return AckStatus.ALREADY_ACKED if "acked" in states else AckStatus.ENDED
        if _sender(connection, signals, project, signal_id) is not None:
            return AckStatus.NOT_YOURS
    return AckStatus.UNKNOWN
