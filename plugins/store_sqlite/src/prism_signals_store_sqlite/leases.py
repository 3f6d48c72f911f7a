"""`lease`, `pending` and `settle`: who may show what, for how long, and how that ended."""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any, NamedTuple

from prism_signals import (
    Claim,
    DeliveryState,
    Lease,
    LeaseToken,
    SessionId,
    Settlement,
    iso,
)

from .mirror import close_signals
from .rows import (
    FRESH_COLUMNS,
    RETURNED_DELIVERY,
    delivery_from,
    project_id,
    signal_from,
    text_of,
)
from .schema import POSTPONED, UNACTED, UNCONFIRMED, UNREAD

_MOST_OFFERS = 3
"""An unacted signal is offered this often, then it is dead (S15)."""
_UNACTED = "unacted"
"""Why it is dead then."""
_RAN_OUT = "the lease ran out, end unknown"
_CHORE = "chore"
_PENDING = f"d.state = 'pending' AND {UNREAD}"
_LEASED = f"d.state = 'leased' AND {UNREAD}"

_TAKE = f"""
UPDATE signal_delivery SET
  attempts = attempts + (state = 'leased'), offers = offers + (state = 'leased'),
  next_attempt_at = CASE WHEN state = 'leased' THEN NULL ELSE next_attempt_at END,
  last_error = CASE WHEN state = 'leased' THEN '{_RAN_OUT}' ELSE last_error END,
  session_id = CASE WHEN delivered_at IS NULL THEN :me ELSE session_id END,
  state = 'leased', lessee = :me, lease_token = :token, lease_until = :until
WHERE signal_id = :signal AND recipient = :recipient AND to_session = :to_session
RETURNING {RETURNED_DELIVERY}"""
_LAPSE = f"""
UPDATE signal_delivery INDEXED BY idx_signal_delivery_inbox SET
  state = 'delivered', attempts = attempts + 1, offers = offers + 1, lease_token = NULL,
  lease_until = NULL, next_attempt_at = NULL, last_error = '{_RAN_OUT}'
WHERE project_id = :project AND recipient = :recipient AND {UNREAD}
  AND state = 'leased' AND lease_until <= :now AND delivered_at IS NOT NULL"""
_SETTLE = """
UPDATE signal_delivery SET
  state = CASE WHEN :state = 'pending' AND delivered_at IS NOT NULL THEN 'delivered'
               ELSE :state END,
  session_id = CASE WHEN :delivered THEN lessee ELSE session_id END,
  delivered_at = CASE WHEN :delivered THEN coalesce(delivered_at, :now) ELSE delivered_at END,
  delivery_method = CASE WHEN :delivered THEN :method ELSE delivery_method END,
  confirmed_at = CASE WHEN :confirmed THEN coalesce(confirmed_at, :now) ELSE confirmed_at END,
  offers = offers + :shown, attempts = attempts + :counts, next_attempt_at = :retry,
  last_error = :error, lease_token = NULL, lease_until = NULL
WHERE signal_id = :signal AND recipient = :recipient AND to_session = :to_session
  AND project_id = :project AND state = 'leased' AND lease_token = :token AND lease_until > :now
RETURNING seq"""
_EXTEND = """
UPDATE signal_delivery SET lease_until = :until
WHERE signal_id = :signal AND recipient = :recipient AND to_session = :to_session
  AND project_id = :project AND state = 'leased' AND lease_token = :token AND lease_until > :now"""
_REARM = f"""
UPDATE signal_delivery INDEXED BY idx_signal_delivery_postponed SET next_attempt_at = NULL
WHERE project_id = :project AND recipient = :recipient AND {POSTPONED}
  AND state IN ('pending', 'delivered') AND (session_id = :session OR lessee = :session)"""


class _Candidate(NamedTuple):
    """A delivery that the claim may have; or, as a chore, one that must be tidied up first."""

    kind: str
    seq: int
    signal_id: str
    recipient: str
    to_session: str


class _Shape(NamedTuple):
    """What decides the text of the query; the values are parameters."""

    push: bool
    capped: bool
    quiet: bool
    since: bool
    reoffer: bool
    others: int
    excluded: int
    peek: bool


def would_lease(connection: sqlite3.Connection, claim: Claim, now: datetime) -> bool:
    """Whether `lease` would give something."""
    return bool(_candidates(connection, claim, now, limit=1, peek=True))


def must_write(connection: sqlite3.Connection, claim: Claim, now: datetime) -> bool:
    """Whether `lease` has anything to write: to give something, or to end what is spent."""
    return bool(_candidates(connection, claim, now, limit=1))


def lease(connection: sqlite3.Connection, claim: Claim, now: datetime) -> list[Lease]:
    """Give what the claim describes, oldest first."""
    found = _candidates(connection, claim, now, limit=claim.limit)
    if any(c.kind == _CHORE for c in found):
        _tidy(connection, claim, now)
        found = _candidates(connection, claim, now, limit=claim.limit)
    until = now + claim.lease_for
    return [_take(connection, claim, c, until) for c in found[: claim.limit]]


def settle(
    connection: sqlite3.Connection, held: Lease, settlement: Settlement, now: datetime
) -> bool:
    """End a lease; False where it was not the current one any more."""
    delivered = settlement.state is DeliveryState.DELIVERED
    pending = settlement.state is DeliveryState.PENDING
    retry = settlement.retry_after if pending else None
    rows = connection.execute(
        _SETTLE,
        {
            **_address(held),
            "now": iso(now),
            "state": settlement.state.value,
            "delivered": delivered,
            "method": settlement.method,
            "confirmed": settlement.confirmed and delivered,
            "shown": settlement.shown or delivered,
            "counts": settlement.counts,
            "error": settlement.error,
            "retry": text_of(now + retry) if retry is not None else None,
        },
    ).fetchall()
    if rows and not pending:
        close_signals(connection, [rows[0][0]], now)
    return bool(rows)


def extend(
    connection: sqlite3.Connection, held: Lease, lease_for: timedelta, now: datetime
) -> bool:
    """Make a lease last this long from now; False where it was not the current one any more."""
    values = {**_address(held), "now": iso(now), "until": iso(now + lease_for)}
    return connection.execute(_EXTEND, values).rowcount == 1


def rearm(
    connection: sqlite3.Connection, project: str, recipient: str, session: SessionId, now: datetime
) -> int:
    """Make postponed deliveries of this session due; gives their number."""
    values = {"project": project, "recipient": recipient, "session": session, "now": iso(now)}
    connection.execute(_LAPSE, values)
    return connection.execute(_REARM, values).rowcount


def _address(held: Lease) -> dict[str, Any]:
    return {
        "signal": held.delivery.signal_id,
        "recipient": held.delivery.recipient,
        "to_session": held.delivery.to_session or "",
        "project": project_id(held.signal.scope),
        "token": held.token,
    }


def _tidy(connection: sqlite3.Connection, claim: Claim, now: datetime) -> None:
    """End leases that ran out on what was delivered before, and what was offered often enough.

    What was never delivered needs no such step: it is simply leased again.
    """
    live = _live(claim)
    values = {"project": project_id(claim.scope), "recipient": claim.recipient, "now": iso(now)}
    connection.execute(_LAPSE, values)
    values.update((f"live{n}", s) for n, s in enumerate(live))
    for ended in _ended(len(live)):
        connection.execute(
            "UPDATE signal_delivery AS d INDEXED BY idx_signal_delivery_unacted"
            f" SET state = 'dead', last_error = '{_UNACTED}', next_attempt_at = NULL"
            " WHERE d.project_id = :project AND d.recipient = :recipient"
            f" AND {UNACTED} AND d.offers >= {_MOST_OFFERS} AND {ended}",
            values,
        )


def _take(connection: sqlite3.Connection, claim: Claim, c: _Candidate, until: datetime) -> Lease:
    token = LeaseToken(os.urandom(16).hex())
    taken = connection.execute(
        _TAKE,
        {
            "me": claim.session_id,
            "token": token,
            "until": iso(until),
            "signal": c.signal_id,
            "recipient": c.recipient,
            "to_session": c.to_session,
        },
    ).fetchall()
    delivery = delivery_from(taken[0])
    row = connection.execute(
        f"SELECT {FRESH_COLUMNS} FROM signal_queue q WHERE q.id = ?", (c.seq,)
    ).fetchone()
    return Lease(signal_from(row, claim.scope), delivery, token, redelivered=delivery.offers > 0)


def _candidates(
    connection: sqlite3.Connection, claim: Claim, now: datetime, *, limit: int, peek: bool = False
) -> list[_Candidate]:
    live = _live(claim)
    others = [s for s in live if s != claim.session_id]
    excluded = list(claim.exclude)
    shape = _Shape(
        claim.push,
        claim.push and claim.max_attempts is not None,
        claim.quiet or not claim.push,
        claim.created_after is not None,
        claim.reoffer_after is not None,
        len(others),
        len(excluded),
        peek,
    )
    values: dict[str, Any] = {
        "project": project_id(claim.scope),
        "recipient": claim.recipient,
        "me": claim.session_id,
        "now": iso(now),
        "limit": limit,
        "max": claim.max_attempts,
        "since": text_of(claim.created_after),
        "before": text_of(now - claim.reoffer_after) if claim.reoffer_after is not None else None,
    }
    values.update((f"other{n}", s) for n, s in enumerate(others))
    values.update((f"live{n}", s) for n, s in enumerate(live))
    values.update((f"not{n}", s) for n, s in enumerate(excluded))
    rows = connection.execute(candidate_sql(shape), values).fetchall()
    # What was neither acted on nor confirmed may be found twice.
    return list({(row[0] == _CHORE, *row[1:]): _Candidate(*row) for row in rows}.values())


@lru_cache(maxsize=256)
def candidate_sql(shape: _Shape) -> str:
    """The query that finds what a claim may have.

    Each part is served by the partial index made for its question, by name: the planner knows no
    statistics here, and a wrong guess would make the cost grow with history.
    """
    may = " AND ".join(_may(shape))
    others = _names("other", shape.others)
    not_theirs = f"(d.session_id IS NULL OR d.session_id NOT IN ({others}))" if others else "1"
    fresh = f"d.delivered_at IS NULL AND {may}" + (f" AND {not_theirs}" if shape.push else "")
    ran_out = "d.lease_until <= :now"
    lapsed = f"{ran_out} AND d.delivered_at IS NOT NULL"
    gaps = _ended(shape.others + 1)
    parts = [
        _part("fresh", "inbox", _PENDING, fresh),
        _part("fresh", "inbox", _LEASED, f"{ran_out} AND {fresh}"),
    ]
    for gap in gaps:
        unacted = f"{gap} AND d.offers < {_MOST_OFFERS} AND {may}"
        parts.append(_part("unacted", "unacted", UNACTED, unacted))
    if shape.reoffer:
        shown = f"d.delivered_at <= :before AND {not_theirs} AND {may}"
        parts.append(_part("reoffer", "unconfirmed", UNCONFIRMED, shown))
    if shape.peek:  # only what a lease would give: no chores, but what they would bring to light
        again = f"d.expects_action = 1 AND d.offers + 1 < {_MOST_OFFERS}"
        gone = f"d.session_id NOT IN ({_names('live', shape.others + 1)})"
        brought = f"{lapsed} AND {again} AND {gone} AND {may}"
        parts.append(_part("unacted", "inbox", _LEASED, brought))
    else:
        parts.append(_part(_CHORE, "inbox", _LEASED, lapsed))
        spent = f"d.offers >= {_MOST_OFFERS}"
        parts += [_part(_CHORE, "unacted", UNACTED, f"{gap} AND {spent}") for gap in gaps]
    return " UNION ALL ".join(parts) + " ORDER BY 2"


def _part(kind: str, index: str, indexed: str, condition: str) -> str:
    return (
        f"SELECT * FROM (SELECT '{kind}', d.seq, d.signal_id, d.recipient, d.to_session"
        f" FROM signal_delivery d INDEXED BY idx_signal_delivery_{index}"
        f" WHERE d.project_id = :project AND d.recipient = :recipient AND {indexed}"
        f" AND {condition} ORDER BY d.seq LIMIT :limit)"
    )


def _may(shape: _Shape) -> Sequence[str]:
    """What holds for everything the claim may have."""
    terms = ["(d.expires_at IS NULL OR d.expires_at > :now)"]
    if shape.push:
        terms.append("d.to_session = ''")
        terms.append(
            "(d.next_attempt_at IS NULL OR d.next_attempt_at <= :now OR d.state = 'leased')"
        )
    else:
        terms.append("d.to_session IN ('', :me)")
    if shape.capped:
        terms.append("d.attempts + (d.state = 'leased') < :max")
    if not shape.quiet:
        terms.append("d.wakes = 1")
    if shape.since:
        terms.append("d.created_at >= :since")
    if shape.excluded:
        terms.append(f"d.signal_id NOT IN ({_names('not', shape.excluded)})")
    return terms


def _live(claim: Claim) -> list[SessionId]:
    """The identity's sessions that live, sorted as the index is."""
    return sorted({*claim.others, claim.session_id})


def _ended(live: int) -> Sequence[str]:
    """Conditions that together mean: of a session that lives no more.

    They are the gaps between the sorted ids of the live sessions, so that the index skips what
    those have in hand instead of reading past it.
    """
    gaps = ["d.session_id < :live0"]
    gaps += [f"d.session_id > :live{n} AND d.session_id < :live{n + 1}" for n in range(live - 1)]
    return [*gaps, f"d.session_id > :live{live - 1}"]


def _names(prefix: str, count: int) -> str:
    return ", ".join(f":{prefix}{n}" for n in range(count))
