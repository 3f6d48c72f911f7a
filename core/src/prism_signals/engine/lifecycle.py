"""The life of one delivery as pure functions: no I/O, no clock, no event loop.

```
              leased                  settled                    acked
  PENDING ────────────▶ LEASED ───────────────────▶ DELIVERED ─────────▶ ACKED
    ▲  ▲                │   │ settled with PENDING    ▲   │
    │  └────────────────┘   │ (never delivered)       │   │ leased again: S15, S16
    │      lapsed           └──── (delivered before) ─┘   ▼
    │                                                   LEASED
    └── also EXPIRED (past its time), RECALLED (by its sender), DEAD (given up): nothing follows
```

A transition gives the delivery as it stands afterwards, or None where it does not apply: nothing
has changed then. A store calls `lapsed` before any other transition but `settled` and `extended`,
which judge the lease themselves. The clauses are those of `contract.store.Store`.
"""

from __future__ import annotations

from collections.abc import Container, Iterable
from dataclasses import replace
from datetime import datetime

from ..contract.store import Claim
from ..model.delivery import ENDED_STATES, OPEN_STATES, Delivery, DeliveryState, Settlement
from ..model.ids import LeaseToken, SessionId
from ..model.signal import Lane, Signal

MOST_OFFERS = 3
"""What expects action is offered this often to one session after the other, then it is dead."""
UNACTED = "unacted"
"""Why it is dead then."""
SUPERSEDED = "superseded"
"""Why a system signal ended that a newer one replaced or pushed out."""
MIXED = "mixed"
"""The delivery method of a signal whose recipients were reached in different ways."""


# -- what a delivery is ------------------------------------------------------------------------


def runs(d: Delivery, now: datetime) -> bool:
    """Whether somebody holds it under a lease that has not run out."""
    return d.state is DeliveryState.LEASED and d.lease_until is not None and now < d.lease_until


def overdue(d: Delivery, expires_at: datetime | None, now: datetime) -> bool:
    """Whether its time is up: it is not shown any more."""
    return d.state not in ENDED_STATES and expires_at is not None and expires_at <= now


def unread(d: Delivery, expires_at: datetime | None, now: datetime) -> bool:
    """Whether its recipient still has to read it; what ran out of time unseen need not be."""
    return d.unread and (d.delivered_at is not None or not overdue(d, expires_at, now))


def claimable(
    d: Delivery, signal: Signal, expires_at: datetime | None, claim: Claim, now: datetime
) -> bool:
    """Whether this claim may lease it (S13, S15, S16). Ask only about a `lapsed` delivery."""
    if signal.signal_id in claim.exclude or overdue(d, expires_at, now):
        return False
    if claim.created_after is not None and signal.created_at < claim.created_after:
        return False
    if d.to_session not in (None, claim.session_id):
        return False
    if claim.push and not _pushable(d, signal, claim, now):
        return False
    return d.state is DeliveryState.PENDING or _to_offer_again(d, claim, now)


def _pushable(d: Delivery, signal: Signal, claim: Claim, now: datetime) -> bool:
    return (
        signal.lane is Lane.AGENT
        and (claim.quiet or d.wakes)
        and (d.next_attempt_at is None or d.next_attempt_at <= now)
        and (claim.max_attempts is None or d.attempts < claim.max_attempts)
        and d.session_id not in claim.others
    )


def _to_offer_again(d: Delivery, claim: Claim, now: datetime) -> bool:
    if d.state is not DeliveryState.DELIVERED or d.session_id in claim.others:
        return False
    if d.expects_action and d.session_id != claim.session_id:  # its session ended without an act
        return d.offers < MOST_OFFERS
    return (
        claim.reoffer_after is not None
        and d.confirmed_at is None
        and d.offers <= 1
        and d.delivered_at is not None
        and d.delivered_at + claim.reoffer_after <= now
    )


# -- leases ------------------------------------------------------------------------------------


def lapsed(d: Delivery, now: datetime) -> Delivery:
    """The delivery as time left it: a lease that ran out has ended, and nobody knows how (S14)."""
    if d.state is not DeliveryState.LEASED or runs(d, now):
        return d
    return replace(
        _freed(d),
        offers=d.offers + 1,
        attempts=d.attempts + 1,
        last_error="the lease ran out, end unknown",
    )


def leased(d: Delivery, token: LeaseToken, until: datetime, session: SessionId) -> Delivery | None:
    """Give it to this session for a while.

    What was never delivered is from now on assigned to it. What was delivered before stays with
    the session that delivered it, so that it is offered again should this lease come to nothing.
    """
    if d.state not in (DeliveryState.PENDING, DeliveryState.DELIVERED):
        return None
    assigned = session if d.delivered_at is None else d.session_id
    return replace(
        d, state=DeliveryState.LEASED, lease_token=token, lease_until=until, session_id=assigned
    )


def extended(d: Delivery, token: LeaseToken, until: datetime, now: datetime) -> Delivery | None:
    """Let the lease of this token end at another moment."""
    if not runs(d, now) or d.lease_token != token:
        return None
    return replace(d, lease_until=until)


def settled(
    d: Delivery, settlement: Settlement, token: LeaseToken, by: SessionId, now: datetime
) -> Delivery | None:
    """End the lease of this token, held by this session (S17 to S19)."""
    if not runs(d, now) or d.lease_token != token:
        return None
    shown = settlement.shown or settlement.state is DeliveryState.DELIVERED
    freed = replace(
        _freed(d),
        offers=d.offers + shown,
        attempts=d.attempts + settlement.counts,
        last_error=settlement.error,
    )
    if settlement.state is DeliveryState.DELIVERED:
        return _delivered(freed, by, settlement.method, now, confirmed=settlement.confirmed)
    if settlement.state is DeliveryState.DEAD:
        return replace(freed, state=DeliveryState.DEAD)
    wait = settlement.retry_after
    return replace(freed, next_attempt_at=None if wait is None else now + wait)


def rearmed(d: Delivery) -> Delivery | None:
    """Make it due at once where it was postponed (S31)."""
    waiting = d.state in (DeliveryState.PENDING, DeliveryState.DELIVERED)
    return replace(d, next_attempt_at=None) if waiting and d.next_attempt_at else None


def _freed(d: Delivery) -> Delivery:
    state = DeliveryState.PENDING if d.delivered_at is None else DeliveryState.DELIVERED
    return replace(d, state=state, lease_token=None, lease_until=None, next_attempt_at=None)


def _delivered(
    d: Delivery, by: SessionId, method: str | None, now: datetime, *, confirmed: bool
) -> Delivery:
    return replace(
        d,
        state=DeliveryState.DELIVERED,
        session_id=by,
        delivery_method=method,
        delivered_at=d.delivered_at or now,
        confirmed_at=d.confirmed_at or (now if confirmed else None),
    )


# -- progress without a lease ------------------------------------------------------------------


def handed_over(
    d: Delivery, expires_at: datetime | None, session: SessionId, method: str, now: datetime
) -> Delivery | None:
    """It was put into an answer of this session (S21)."""
    if d.state is not DeliveryState.PENDING or overdue(d, expires_at, now):
        return None
    if d.to_session not in (None, session):
        return None
    freed = replace(d, offers=d.offers + 1, next_attempt_at=None, last_error=None)
    return _delivered(freed, session, method, now, confirmed=False)


def confirmed(d: Delivery, now: datetime) -> Delivery | None:
    """It is known to be in the model's context (S20)."""
    if d.delivered_at is None or d.confirmed_at is not None or d.state in ENDED_STATES:
        return None
    return replace(d, confirmed_at=now)


# -- ends --------------------------------------------------------------------------------------


def acked(d: Delivery, now: datetime) -> Delivery | None:
    """The agent acted on it; that wins over a running lease (S22)."""
    if d.state in ENDED_STATES:
        return None
    return replace(_freed(d), state=DeliveryState.ACKED, acked_at=now)


def recalled(d: Delivery) -> Delivery | None:
    """Its sender takes it back, if nobody has it yet (S23)."""
    if d.state is not DeliveryState.PENDING:
        return None
    return replace(_freed(d), state=DeliveryState.RECALLED)


def expired(d: Delivery, expires_at: datetime | None, now: datetime) -> Delivery | None:
    """Its time is up and it was never delivered (S26)."""
    if d.state is not DeliveryState.PENDING or not overdue(d, expires_at, now):
        return None
    return replace(_freed(d), state=DeliveryState.EXPIRED)


def superseded(d: Delivery) -> Delivery | None:
    """A newer system signal takes its place (S5)."""
    if d.state is not DeliveryState.PENDING:
        return None
    return replace(_freed(d), state=DeliveryState.EXPIRED, last_error=SUPERSEDED)


def given_up(d: Delivery, live: Container[SessionId | None]) -> Delivery | None:
    """It was offered to three sessions in a row, all of which ended without an act (S15)."""
    gone = d.state is DeliveryState.DELIVERED and d.session_id not in live
    if not (gone and d.expects_action and d.offers >= MOST_OFFERS):
        return None
    return replace(d, state=DeliveryState.DEAD, last_error=UNACTED, next_attempt_at=None)


# -- the signal's own columns ------------------------------------------------------------------


def mirrored(signal: Signal, deliveries: Iterable[Delivery]) -> Signal:
    """The signal with `delivered_at` and `delivery_method` as its deliveries have them (S28)."""
    every = tuple(deliveries)
    took = [d for d in every if d.delivered_at is not None]
    moments = [d.delivered_at for d in took if d.delivered_at is not None]
    if not moments or any(d.state in OPEN_STATES for d in every if d.delivered_at is None):
        return signal
    methods = {d.delivery_method for d in took}
    return replace(
        signal,
        delivered_at=max(moments),
        delivery_method=methods.pop() if len(methods) == 1 else MIXED,
    )
