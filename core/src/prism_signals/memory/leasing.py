"""Who may show what, and for how long (S11 to S18, S31)."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime, timedelta
from uuid import uuid4

from ..contract.store import Claim
from ..engine import lifecycle
from ..model.delivery import Lease, Settlement
from ..model.ids import LeaseToken, SessionId
from .ledger import Project, Row


def lease(project: Project, claim: Claim, now: datetime) -> list[Lease]:
    """Lease what the claim describes, oldest first; give up what nobody ever acted on."""
    live = {claim.session_id, *claim.others}
    for row in project.inbox(claim.recipient):
        row.delivery = lifecycle.lapsed(row.delivery, now)
        row.delivery = lifecycle.given_up(row.delivery, live) or row.delivery
    given: list[Lease] = []
    for row in _claimable(project, claim, now):
        if len(given) >= claim.limit:
            break
        token = LeaseToken(uuid4().hex)
        again = row.delivery.offers > 0
        after = lifecycle.leased(row.delivery, token, now + claim.lease_for, claim.session_id)
        if after is not None:
            row.delivery, row.lessee = after, claim.session_id
            given.append(Lease(row.record.signal, after, token, again))
    return given


def pending(project: Project, claim: Claim, now: datetime) -> bool:
    """Whether `lease` would give something; changes nothing."""
    live = {claim.session_id, *claim.others}
    return claim.limit > 0 and any(
        lifecycle.given_up(lifecycle.lapsed(row.delivery, now), live) is None
        for row in _claimable(project, claim, now)
    )


def _claimable(project: Project, claim: Claim, now: datetime) -> Iterator[Row]:
    for row in project.inbox(claim.recipient):
        as_is = lifecycle.lapsed(row.delivery, now)
        if lifecycle.claimable(as_is, row.record.signal, row.expires_at, claim, now):
            yield row


def settle(project: Project, lease: Lease, settlement: Settlement, now: datetime) -> bool:
    """End a lease under its token."""
    row = _under(project, lease)
    if row is None or row.lessee is None:
        return False
    after = lifecycle.settled(row.delivery, settlement, lease.token, row.lessee, now)
    row.delivery = after or row.delivery
    return after is not None


def extend(project: Project, lease: Lease, lease_for: timedelta, now: datetime) -> bool:
    """Let a lease last this long from now."""
    row = _under(project, lease)
    if row is None:
        return False
    after = lifecycle.extended(row.delivery, lease.token, now + lease_for, now)
    row.delivery = after or row.delivery
    return after is not None


def _under(project: Project, lease: Lease) -> Row | None:
    rows = project.rows_of(lease.signal.signal_id, lease.delivery.recipient)
    return next((r for r in rows if r.delivery.lease_token == lease.token), None)


def rearm(project: Project, recipient: str, session_id: SessionId, now: datetime) -> int:
    """Make due what this session postponed or is assigned."""
    number = 0
    for row in project.inbox(recipient):
        row.delivery = lifecycle.lapsed(row.delivery, now)
        after = lifecycle.rearmed(row.delivery)
        if after is not None and session_id in (row.lessee, row.delivery.session_id):
            row.delivery = after
            number += 1
    return number
