"""What bounds a sender: rate counters, the inbox cap, and idempotency keys."""

from __future__ import annotations

import hashlib
import json
import math
import sqlite3
from array import array
from bisect import bisect_right
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from prism_signals import (
    IdempotencyConflict,
    InboxFull,
    Limit,
    Posting,
    RateLimited,
    SignalId,
    iso,
)

from .schema import OPEN, UNREAD

_MOST_REMEMBERED = 10_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WAITING = f"""
SELECT count(*) FROM signal_delivery INDEXED BY idx_signal_delivery_inbox
WHERE project_id = ? AND recipient = ? AND {OPEN} AND {UNREAD}
  AND to_session = '' AND delivered_at IS NULL AND (expires_at IS NULL OR expires_at > ?)"""


def count_limits(
    connection: sqlite3.Connection, project: str, limits: Sequence[Limit], now: datetime
) -> None:
    """Count one signal against all its limits.

    A counter keeps the moments of its window, so that a limit holds for *any* window of its length
    and not only for those that begin on the minute.

    Raises:
        RateLimited: One is over; it says for how long. Nothing is counted.
    """
    windows: dict[str, int] = {}
    for limit in limits:
        windows[limit.key] = max(windows.get(limit.key, 0), _microseconds(limit.window))
    rows = connection.execute(
        "SELECT key, recent FROM rate_counters"
        f" WHERE project_id = ? AND key IN ({', '.join('?' * len(windows))})",
        (project, *windows),
    )
    at = _microseconds(now - _EPOCH)
    counted = {key: _after(at - windows[key], array("q", kept)) for key, kept in rows.fetchall()}
    _check_limits(limits, counted, at)
    values: list[str | bytes] = []
    for key, window in windows.items():
        moments = counted.get(key) or array("q")
        moments.append(max(at, moments[-1]) if moments else at)  # in order, also if a clock jumps
        values += (project, key, moments.tobytes(), iso(now + timedelta(microseconds=window)))
    connection.execute(
        "INSERT INTO rate_counters (project_id, key, recent, ends_at)"
        f" VALUES {', '.join(['(?, ?, ?, ?)'] * len(windows))}"
        " ON CONFLICT (project_id, key)"
        " DO UPDATE SET recent = excluded.recent, ends_at = excluded.ends_at",
        values,
    )


def _check_limits(limits: Sequence[Limit], counted: dict[str, array[int]], at: int) -> None:
    """Refuse where one of the limits is reached; the longest wait is the one to tell."""
    over: list[tuple[float, Limit]] = []
    for limit in limits:
        start = at - _microseconds(limit.window)
        within = _after(start, counted.get(limit.key) or array("q"))
        if len(within) >= limit.most:
            freed = within[-limit.most] if limit.most > 0 else at
            over.append(((freed - start) / 1e6, limit))
    if over:
        wait, limit = max(over, key=lambda found: found[0])
        raise RateLimited(
            f"The limit of {limit.most} signals in {limit.window.total_seconds():g} s for "
            f"{limit.key} is reached. Wait {math.ceil(wait)} s, then send again.",
            retry_after=wait,
            limit=limit.key,
        )


def _after(start: int, moments: array[int]) -> array[int]:
    return moments[bisect_right(moments, start) :]


def _microseconds(duration: timedelta) -> int:
    return duration // timedelta(microseconds=1)


class InboxGauge:
    """Knows without counting, most of the time, that an inbox is far from full.

    Deliveries only ever enter an inbox by `put`, one per signal, and signals are numbered. So an
    earlier count plus the number of signals stored since is an upper bound; while that is below
    the cap nothing needs to be counted. Counting 5,000 waiting rows at each put would cost more
    than storing the signal.
    """

    def __init__(self) -> None:
        self._counted: dict[tuple[str, str], tuple[int, int]] = {}

    def is_full(
        self,
        connection: sqlite3.Connection,
        project: str,
        recipient: str,
        cap: int,
        seq: int,
        now: datetime,
    ) -> bool:
        """Whether `cap` signals are on their way to it, before signal number `seq` is added."""
        counted, at = self._counted.get((project, recipient), (cap, seq))
        if counted + seq - at < cap:
            return False
        (waiting,) = connection.execute(_WAITING, (project, recipient, iso(now))).fetchone()
        if len(self._counted) >= _MOST_REMEMBERED:
            self._counted.clear()
        self._counted[project, recipient] = (waiting, seq)
        return bool(waiting >= cap)


def inbox_full(recipient: str, cap: int) -> InboxFull:
    """The error for a recipient that takes no more."""
    return InboxFull(
        f"{recipient} has {cap} signals waiting and takes no more. Wait until some are read, or "
        "recall some of yours.",
        recipient=recipient,
    )


def earlier_signal(
    connection: sqlite3.Connection, project: str, posting: Posting, now: datetime
) -> SignalId | None:
    """The signal that the posting's idempotency key named before, if its window is still open.

    Raises:
        IdempotencyConflict: It had other content.
    """
    key = posting.signal.idempotency_key
    row = connection.execute(
        "SELECT signal_id, digest FROM idempotency"
        " WHERE project_id = ? AND sender = ? AND key = ? AND expires_at > ?",
        (project, posting.sender, key, iso(now)),
    ).fetchone()
    if row is None:
        return None
    if row[1] != _digest(posting):
        raise IdempotencyConflict(
            f"The idempotency key {key!a} was used for signal {row[0]}, which has other content. "
            "Use a new key for a new signal.",
            signal_id=row[0],
        )
    return SignalId(row[0])


def remember_key(
    connection: sqlite3.Connection, project: str, posting: Posting, now: datetime
) -> None:
    """Remember which signal a key names."""
    connection.execute(
        "INSERT OR REPLACE INTO idempotency VALUES (?, ?, ?, ?, ?, ?)",
        (
            project,
            posting.sender,
            posting.signal.idempotency_key,
            posting.signal.signal_id,
            _digest(posting),
            iso(now + posting.idempotency_window),
        ),
    )


def _digest(posting: Posting) -> str:
    """The content as the sender gave it; `expires_at` is left out, for it moves with the clock."""
    s = posting.signal
    content = [posting.name.canonical, s.signal_type, s.payload, s.in_reply_to, s.priority.value]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
