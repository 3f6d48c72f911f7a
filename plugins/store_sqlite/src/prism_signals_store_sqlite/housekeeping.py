"""`expire` and `archive`: bounded, and safe to run from any process at any time."""

from __future__ import annotations

import sqlite3
from datetime import datetime, timedelta

from prism_signals import Swept, iso

from .mirror import close_signals
from .schema import CLOSED, EXPIRING, OPEN

_EXPIRE = f"""
UPDATE signal_delivery SET
  state = 'expired', offers = offers + (state = 'leased'), attempts = attempts + (state = 'leased'),
  lease_token = NULL, lease_until = NULL, next_attempt_at = NULL
WHERE (signal_id, recipient, to_session) IN (
  SELECT signal_id, recipient, to_session
  FROM signal_delivery INDEXED BY idx_signal_delivery_expiry
  WHERE {EXPIRING} AND expires_at <= :now AND (state = 'pending' OR lease_until <= :now)
  ORDER BY expires_at LIMIT :limit)
RETURNING seq"""
_FORGET = (
    "DELETE FROM rate_counters WHERE (project_id, key) IN"
    " (SELECT project_id, key FROM rate_counters WHERE ends_at <= :now LIMIT :limit)",
    "DELETE FROM idempotency WHERE (project_id, sender, key) IN"
    " (SELECT project_id, sender, key FROM idempotency WHERE expires_at <= :now LIMIT :limit)",
)
_FINISHED = f"""
SELECT q.id, q.signal_id FROM signal_queue q INDEXED BY idx_signal_queue_closed
WHERE {CLOSED} AND q.created_at <= :moment
  AND NOT EXISTS (SELECT 1 FROM signal_delivery d WHERE d.signal_id = q.signal_id
                  AND ({OPEN} OR (d.state = 'delivered' AND d.delivered_at > :moment)))
  AND NOT EXISTS (SELECT 1 FROM signal_archive a WHERE a.signal_id = q.signal_id)
ORDER BY q.created_at LIMIT :limit"""
_MOVE = (
    "INSERT INTO signal_archive SELECT * FROM signal_queue WHERE id = :seq",
    "INSERT INTO signal_delivery_archive SELECT * FROM signal_delivery WHERE signal_id = :signal",
    "DELETE FROM signal_delivery WHERE signal_id = :signal",
    "DELETE FROM signal_queue WHERE id = :seq",
)


def is_anything_past(connection: sqlite3.Connection, now: datetime) -> bool:
    """Whether `expire` has anything to do."""
    at = iso(now)
    looks = (
        "SELECT 1 FROM signal_delivery INDEXED BY idx_signal_delivery_expiry"
        f" WHERE {EXPIRING} AND expires_at <= ? LIMIT 1",
        "SELECT 1 FROM rate_counters WHERE ends_at <= ? LIMIT 1",
        "SELECT 1 FROM idempotency WHERE expires_at <= ? LIMIT 1",
    )
    return any(connection.execute(sql, (at,)).fetchone() is not None for sql in looks)


def expire(connection: sqlite3.Connection, now: datetime, limit: int) -> Swept:
    """End what is past its time, and forget counters and keys whose time is over."""
    values = {"now": iso(now), "limit": limit}
    rows = connection.execute(_EXPIRE, values).fetchall()
    close_signals(connection, [row[0] for row in rows], now)
    for sql in _FORGET:
        connection.execute(sql, values)
    return Swept(expired=len(rows))


def archive(
    connection: sqlite3.Connection, now: datetime, older_than: timedelta, limit: int
) -> Swept:
    """Move signals that were finished that long ago out of the way of the living."""
    rows = connection.execute(
        _FINISHED, {"moment": iso(now - older_than), "limit": limit}
    ).fetchall()
    signals = [{"seq": row[0], "signal": row[1]} for row in rows]
    for sql in _MOVE:
        connection.executemany(sql, signals)
    return Swept(archived=len(signals))
