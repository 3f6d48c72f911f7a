"""`put`: a new signal and its deliveries, all in one transaction."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from prism_signals import (
    BROADCAST,
    IdempotencyConflict,
    Lane,
    Name,
    Posted,
    Posting,
    Recipient,
    RecipientState,
    Signal,
    SignalId,
    iso,
)

from .acts import ack_by_reply
from .finding import find_entry
from .limits import InboxGauge, count_limits, earlier_signal, inbox_full, remember_key
from .mirror import close_signals
from .projects import Known, ensure_project, known_among, known_identities, near_names
from .rows import moment, payload_text, project_id, tenant_id, text_of
from .schema import OPEN, UNREAD

_INSERT_SIGNAL = """
INSERT INTO signal_queue (
  id, tenant_id, project_id, signal_id, from_identity, from_session, to_identity, signal_type,
  payload, in_reply_to, created_at, thread_id, priority, hops, lane, expires_at, idempotency_key,
  traceparent, sender
) VALUES (
  -- Numbers are never used twice, also after the newest signal was archived; AUTOINCREMENT would
  -- write one more page per commit for the same promise.
  1 + max(coalesce((SELECT max(id) FROM signal_queue), 0),
          coalesce((SELECT max(id) FROM signal_archive), 0)),
  ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?
)"""
_INSERT_DELIVERY = """
INSERT INTO signal_delivery (
  signal_id, recipient, to_session, seq, project_id, recipient_display, state, expects_action,
  wakes, session_id, created_at, expires_at, coalesce_key
) VALUES (?, ?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?, ?)"""
_CAP_SYSTEM = f"""
UPDATE signal_delivery SET state = 'expired', last_error = 'superseded', lease_token = NULL,
  lease_until = NULL, next_attempt_at = NULL
WHERE (signal_id, recipient, to_session) IN (
  SELECT signal_id, recipient, to_session
  FROM signal_delivery INDEXED BY idx_signal_delivery_inbox
  WHERE project_id = ?1 AND recipient = ?2 AND {OPEN} AND {UNREAD}
    AND to_session = ?3 AND delivered_at IS NULL AND (state = 'pending' OR lease_until <= ?4)
  ORDER BY seq DESC LIMIT -1 OFFSET ?5)
RETURNING seq"""
_COALESCE = f"""
UPDATE signal_delivery INDEXED BY idx_signal_delivery_inbox SET
  state = 'expired', last_error = 'superseded', lease_token = NULL, lease_until = NULL,
  next_attempt_at = NULL
WHERE project_id = ?1 AND recipient = ?2 AND {OPEN} AND {UNREAD}
  AND to_session = ?3 AND delivered_at IS NULL AND (state = 'pending' OR lease_until <= ?4)
  AND coalesce_key = ?5
RETURNING seq"""


@dataclass(slots=True)
class _Put:
    """One `put` under way."""

    connection: sqlite3.Connection
    gauge: InboxGauge
    posting: Posting
    signal: Signal
    now: datetime
    project: str
    seq: int = 0

    def run(self) -> Posted:
        posting, signal = self.posting, self.signal
        if signal.idempotency_key is not None:
            earlier = earlier_signal(self.connection, self.project, posting, self.now)
            found = self._repeat(earlier) if earlier else None
            if found is not None:
                return found
        if posting.limits and signal.lane is not Lane.SYSTEM:
            count_limits(self.connection, self.project, posting.limits, self.now)
        if signal.lane is Lane.SYSTEM:
            recipients = self._system()
        elif posting.name.canonical == BROADCAST:
            recipients = self._broadcast()
        else:
            recipients = (self._direct(),)
        if signal.idempotency_key is not None:
            remember_key(self.connection, self.project, posting, self.now)
        acked: tuple[SignalId, ...] = ()
        if signal.in_reply_to is not None:
            acked = ack_by_reply(
                self.connection,
                self.project,
                parent=signal.in_reply_to,
                sender=posting.sender,
                thread=signal.thread_id,
                addressees=[r.name.canonical for r in recipients],
                now=self.now,
            )
        return Posted(signal, recipients, acked=acked)

    # -- the three kinds of audience ----------------------------------------------------------

    def _direct(self) -> Recipient:
        posting = self.posting
        candidates = posting.name.candidates()
        known = known_among(self.connection, self.project, candidates)
        reached = next(
            (c for c in candidates if c in known or c in posting.sessions), posting.name.canonical
        )
        recipient = self._recipient(reached, known.get(reached))
        self._insert_signal()
        if self._is_full(reached):
            raise inbox_full(recipient.name.display, posting.inbox_cap)
        self._insert_deliveries([recipient], self.signal.expires_at)
        return recipient

    def _broadcast(self) -> tuple[Recipient, ...]:
        posting = self.posting
        since = iso(self.now - posting.seen_within)
        known = {k.canonical: k for k in known_identities(self.connection, self.project)}
        audience = {c for c, k in known.items() if k.last_seen_at >= since}
        audience |= posting.sessions.keys()
        audience.discard(posting.sender)
        self._insert_signal()
        recipients = [
            self._recipient(canonical, known.get(canonical))
            for canonical in sorted(audience)
            if not self._is_full(canonical)
        ]
        until = self.now + posting.broadcast_ttl
        expires = self.signal.expires_at
        self._insert_deliveries(recipients, min(until, expires) if expires else until)
        return tuple(recipients)

    def _system(self) -> tuple[Recipient, ...]:
        posting = self.posting
        recipients = [
            Recipient(name, RecipientState.LIVE, session, self.now)
            for name, session in sorted(
                set(posting.to_sessions), key=lambda to: (to[0].canonical, to[1])
            )
        ]
        expired: list[int] = []
        for r in recipients:
            address = (self.project, r.name.canonical, r.session_id, iso(self.now))
            if posting.coalesce is not None:
                rows = self.connection.execute(_COALESCE, (*address, posting.coalesce))
                expired += [row[0] for row in rows.fetchall()]
            keep = max(posting.system_cap - 1, 0)
            rows = self.connection.execute(_CAP_SYSTEM, (*address, keep))
            expired += [row[0] for row in rows.fetchall()]
        close_signals(self.connection, expired, self.now)
        self._insert_signal()
        self._insert_deliveries(recipients, self.signal.expires_at, lasting=True)
        return tuple(recipients)

    def _recipient(self, canonical: str, known: Known | None) -> Recipient:
        posting = self.posting
        display = posting.name.display if canonical == posting.name.canonical else canonical
        name = Name(known.display if known else display, canonical)
        session = posting.sessions.get(canonical)
        last_seen = moment(known.last_seen_at) if known else None
        if session is not None:
            return Recipient(name, RecipientState.LIVE, session, last_seen)
        if known is not None:
            return Recipient(name, RecipientState.AWAY, None, last_seen)
        near = near_names(self.connection, self.project, name)
        return Recipient(name, RecipientState.UNKNOWN, near=near)

    def _repeat(self, earlier: SignalId) -> Posted | None:
        """The answer for a key that was used before; None where its signal is gone altogether."""
        entry = find_entry(self.connection, self.signal.scope, self.project, earlier)
        if entry is None:
            return None
        names = tuple(d.recipient for d in entry.deliveries)
        known = known_among(self.connection, self.project, names)
        recipients = (self._recipient(n, known.get(n)) for n in dict.fromkeys(names))
        return Posted(entry.signal, tuple(recipients), duplicate=True)

    def _is_full(self, recipient: str) -> bool:
        return self.gauge.is_full(
            self.connection, self.project, recipient, self.posting.inbox_cap, self.seq, self.now
        )

    # -- rows ---------------------------------------------------------------------------------

    def _insert_signal(self) -> None:
        s = self.signal
        try:
            cursor = self.connection.execute(
                _INSERT_SIGNAL,
                (
                    tenant_id(s.tenant),
                    self.project,
                    s.signal_id,
                    s.from_identity,
                    s.from_session,
                    s.to_identity,
                    s.signal_type,
                    payload_text(s.payload),
                    s.in_reply_to,
                    iso(s.created_at),
                    s.thread_id,
                    s.priority.value,
                    s.hops,
                    s.lane.value,
                    text_of(s.expires_at),
                    s.idempotency_key,
                    s.traceparent,
                    self.posting.sender,
                ),
            )
        except sqlite3.IntegrityError:
            raise _taken(s.signal_id) from None
        self.seq = int(cursor.lastrowid or 0)

    def _insert_deliveries(
        self, recipients: Sequence[Recipient], expires: datetime | None, *, lasting: bool = False
    ) -> None:
        """One delivery per recipient; a lasting one belongs to its session for good."""
        posting, signal = self.posting, self.signal
        created, until = iso(signal.created_at), text_of(expires)
        self.connection.executemany(
            _INSERT_DELIVERY,
            [
                (
                    signal.signal_id,
                    r.name.canonical,
                    (r.session_id or "") if lasting else "",
                    self.seq,
                    self.project,
                    r.name.display,
                    posting.expects_action,
                    posting.wakes,
                    r.session_id,
                    created,
                    until,
                    posting.coalesce,
                )
                for r in recipients
            ],
        )
        if not recipients:
            close_signals(self.connection, [self.seq], self.now)


def put(
    connection: sqlite3.Connection,
    gauge: InboxGauge,
    posting: Posting,
    now: datetime,
    *,
    known: bool = False,
) -> Posted:
    """Store a signal; what it raises undoes everything.

    Args:
        connection: In a transaction.
        gauge: Of this handle.
        posting: What to store.
        now: The time.
        known: The project's rows are there already.

    Raises:
        IdempotencyConflict: The key, or the signal's id, was used for another signal.
        RateLimited: A limit is over.
        InboxFull: The recipient has too many pending signals.
    """
    signal = replace(posting.signal, created_at=now)
    scope = signal.scope
    project = project_id(scope) if known else ensure_project(connection, scope)
    return _Put(connection, gauge, posting, signal, now, project).run()


def _taken(signal_id: SignalId) -> IdempotencyConflict:
    return IdempotencyConflict(
        f"There is already a signal {signal_id}. Give each signal an id of its own.",
        signal_id=signal_id,
    )
