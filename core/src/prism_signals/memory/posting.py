"""Taking a signal in: everything is checked first, then everything is changed (S1 to S10)."""

from __future__ import annotations

import json
from copy import deepcopy
from dataclasses import replace
from datetime import datetime
from difflib import get_close_matches

from ..contract.posting import Posted, Posting, Recipient, RecipientState
from ..engine import lifecycle
from ..errors import IdempotencyConflict, InboxFull, RateLimited
from ..model.delivery import OPEN_STATES, Delivery
from ..model.ids import SessionId, SignalId
from ..model.names import BROADCAST, Name
from ..model.signal import Lane
from .ledger import Project, Record, Row


def put(project: Project, posting: Posting, now: datetime) -> Posted:
    """Store a signal, or refuse it without a trace.

    Raises:
        IdempotencyConflict: Its key, or its id, stands for another signal.
        RateLimited: It is one too many.
        InboxFull: Its only recipient has too much waiting.
    """
    earlier = _earlier(project, posting, now)
    if earlier is not None:
        names = [_name_of(row.delivery) for row in earlier.rows]
        return Posted(
            earlier.entry().signal,
            tuple(_recipient(project, posting, n) for n in names),
            duplicate=True,
        )
    _check_limits(project, posting, now)
    names = _audience(project, posting, now)
    if posting.signal.lane is Lane.SYSTEM:
        record = _system_record(project, posting, now)
        recipients = tuple(
            Recipient(name, RecipientState.LIVE, session, now)
            for name, session in sorted(posting.to_sessions, key=_by_name)
        )
    else:
        record = _record(project, posting, names, now)
        recipients = tuple(_recipient(project, posting, name) for name in names)
    _commit(project, posting, record, now)
    return Posted(record.signal, recipients, acked=_ack_by_reply(project, record, now))


# -- refusals ----------------------------------------------------------------------------------


def _earlier(project: Project, posting: Posting, now: datetime) -> Record | None:
    signal = posting.signal
    if signal.signal_id in project.records:
        raise IdempotencyConflict(
            f"A signal with the id {signal.signal_id} is stored already. Make a new id."
        )
    if signal.idempotency_key is None:
        return None
    earlier = project.keys.get((posting.sender, signal.idempotency_key))
    if earlier is None or earlier.signal.created_at + posting.idempotency_window <= now:
        return None
    if earlier.content != _content(posting):
        raise IdempotencyConflict(
            "This idempotency key stands for a signal with other content, "
            f"{earlier.signal.signal_id}. Use a new key, or send the same again.",
            signal_id=earlier.signal.signal_id,
        )
    return earlier


def _content(posting: Posting) -> str:
    s = posting.signal
    return json.dumps(
        [posting.name.canonical, s.signal_type, s.payload, s.in_reply_to, s.priority],
        sort_keys=True,
    )


def _check_limits(project: Project, posting: Posting, now: datetime) -> None:
    for limit in posting.limits:
        start = now - limit.window
        recent = [t for t in project.counted.get(limit.key, ()) if t > start]
        if len(recent) >= limit.most:
            wait = (recent[-limit.most] - start).total_seconds()
            raise RateLimited(
                f"At most {limit.most} signals in {limit.window.total_seconds():g} s are "
                f"accepted for {limit.key}. Wait {wait:.1f} s.",
                retry_after=wait,
                limit=limit.key,
            )


# -- recipients --------------------------------------------------------------------------------


def _audience(project: Project, posting: Posting, now: datetime) -> list[Name]:
    if posting.signal.lane is Lane.SYSTEM:
        return []
    if posting.name.canonical != BROADCAST:
        name = _named(project, posting)
        if _waiting(project, name.canonical, now) >= posting.inbox_cap:
            raise InboxFull(
                f"{name.display} has {posting.inbox_cap} signals waiting. Send more when some "
                "are read.",
                recipient=name.display,
            )
        return [name]
    start = now - posting.seen_within
    recent = {c for c, i in project.identities.items() if i.last_seen >= start}
    everyone = sorted((recent | set(posting.sessions)) - {posting.sender})
    return [_known(project, c) for c in everyone if _waiting(project, c, now) < posting.inbox_cap]


def _named(project: Project, posting: Posting) -> Name:
    """The first candidate that was ever seen or lives now, else the name itself (S3)."""
    for candidate in posting.name.candidates():
        if candidate in project.identities or candidate in posting.sessions:
            known = _known(project, candidate)
            same = candidate == posting.name.canonical and candidate not in project.identities
            return posting.name if same else known
    return posting.name


def _known(project: Project, canonical: str) -> Name:
    identity = project.identities.get(canonical)
    return identity.name if identity else Name(canonical, canonical)


def _name_of(d: Delivery) -> Name:
    return Name(d.recipient_display, d.recipient)


def _waiting(project: Project, recipient: str, now: datetime) -> int:
    return sum(
        1
        for row in project.inbox(recipient)
        if row.delivery.state in OPEN_STATES
        and row.delivery.delivered_at is None
        and row.record.signal.lane is Lane.AGENT
        and not lifecycle.overdue(row.delivery, row.expires_at, now)
    )


def _recipient(project: Project, posting: Posting, name: Name) -> Recipient:
    """What is known of a recipient (S6)."""
    session = posting.sessions.get(name.canonical)
    identity = project.identities.get(name.canonical)
    seen = identity.last_seen if identity else None
    if session is not None:
        return Recipient(name, RecipientState.LIVE, session, seen)
    if identity is not None:
        return Recipient(name, RecipientState.AWAY, None, seen)
    near = get_close_matches(name.canonical, project.identities, 3)
    return Recipient(
        name,
        RecipientState.UNKNOWN,
        near=tuple(project.identities[c].name.display for c in near),
    )


def _by_name(target: tuple[Name, SessionId]) -> tuple[str, str]:
    return (target[0].canonical, target[1])


# -- the change --------------------------------------------------------------------------------


def _record(project: Project, posting: Posting, names: list[Name], now: datetime) -> Record:
    record = _new_record(project, posting, now)
    expires_at = record.signal.expires_at
    if posting.name.canonical == BROADCAST:
        ttl = now + posting.broadcast_ttl
        expires_at = min(expires_at, ttl) if expires_at else ttl
    for name in names:
        record.rows.append(
            Row(
                record,
                Delivery(
                    record.signal.signal_id,
                    name.canonical,
                    name.display,
                    expects_action=posting.expects_action,
                    wakes=posting.wakes,
                    session_id=posting.sessions.get(name.canonical),
                ),
                expires_at,
            )
        )
    return record


def _system_record(project: Project, posting: Posting, now: datetime) -> Record:
    record = _new_record(project, posting, now)
    for name, session in sorted(posting.to_sessions, key=_by_name):
        record.rows.append(
            Row(
                record,
                Delivery(
                    record.signal.signal_id,
                    name.canonical,
                    name.display,
                    wakes=posting.wakes,
                    session_id=session,
                    to_session=session,
                ),
                record.signal.expires_at,
            )
        )
        _make_room(project, posting, name.canonical, session, now)
    return record


def _make_room(
    project: Project, posting: Posting, recipient: str, session: SessionId, now: datetime
) -> None:
    """Expire what the new system signal replaces, then the oldest beyond the cap (S5)."""
    waiting = []
    for row in project.inbox(recipient):
        row.delivery = lifecycle.lapsed(row.delivery, now)
        over = lifecycle.superseded(row.delivery)
        if row.delivery.to_session != session or over is None:
            continue
        if posting.coalesce is not None and row.record.coalesce == posting.coalesce:
            row.delivery = over
        else:
            waiting.append(row)
    for row in waiting[: max(0, len(waiting) + 1 - posting.system_cap)]:
        row.delivery = lifecycle.superseded(row.delivery) or row.delivery


def _new_record(project: Project, posting: Posting, now: datetime) -> Record:
    signal = replace(posting.signal, payload=deepcopy(posting.signal.payload), created_at=now)
    return Record(signal, posting.sender, len(project.records), _content(posting), posting.coalesce)


def _commit(project: Project, posting: Posting, record: Record, now: datetime) -> None:
    project.records[record.signal.signal_id] = record
    if record.signal.idempotency_key is not None:
        project.keys[posting.sender, record.signal.idempotency_key] = record
    windows = {x.key: x.window for x in sorted(posting.limits, key=lambda x: x.window)}
    for key, longest in windows.items():
        kept = [t for t in project.counted.get(key, ()) if t > now - longest]
        project.counted[key] = [*kept, now]


def _ack_by_reply(project: Project, reply: Record, now: datetime) -> tuple[SignalId, ...]:
    """A reply is evidence that its sender acted (S10)."""
    parent = project.records.get(reply.signal.in_reply_to or SignalId(""))
    if parent is None:
        return ()
    rows = project.rows_of(parent.signal.signal_id, reply.sender)
    if not rows and parent.sender == reply.sender:
        partners = {row.delivery.recipient for row in reply.rows}
        rows = [
            row
            for record in project.records.values()
            if record.signal.thread_id == reply.signal.thread_id and record.sender in partners
            for row in record.rows
            if row.delivery.recipient == reply.sender and row.delivery.delivered_at is not None
        ]
    done = []
    for row in rows:
        after = lifecycle.acked(lifecycle.lapsed(row.delivery, now), now)
        if after is not None:
            row.delivery = after
            done.append(row.record.signal.signal_id)
    return tuple(dict.fromkeys(done))
