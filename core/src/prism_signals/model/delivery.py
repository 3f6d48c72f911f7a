"""The life of one signal towards one recipient."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum

from .ids import LeaseToken, SessionId, SignalId
from .signal import Signal


class DeliveryState(StrEnum):
    """`pending → leased → delivered → acked`, or one of the other three ends."""

    PENDING = "pending"
    LEASED = "leased"
    DELIVERED = "delivered"
    ACKED = "acked"
    EXPIRED = "expired"
    RECALLED = "recalled"
    DEAD = "dead"


OPEN_STATES = frozenset({DeliveryState.PENDING, DeliveryState.LEASED})
"""Still on its way."""
ENDED_STATES = frozenset(
    {DeliveryState.ACKED, DeliveryState.EXPIRED, DeliveryState.RECALLED, DeliveryState.DEAD}
)
"""Nothing more happens."""


@dataclass(frozen=True, slots=True)
class Delivery:
    """One signal towards one recipient.

    Attributes:
        signal_id: The signal.
        recipient: Canonical name of the identity it goes to.
        recipient_display: That name as its owner writes it.
        state: Where it stands.
        expects_action: Whether its type asks the recipient to act.
        wakes: Whether its type may start a turn in an idle session.
        session_id: The session it is assigned to, then the one that delivered it.
        to_session: Set on system signals: only this session may have it.
        lease_token: Names the current lease.
        lease_until: When that lease ends by itself.
        attempts: Push attempts whose end is unknown.
        offers: How often it was or may have been shown; the next offer is `redelivered` if above 0.
        next_attempt_at: Not pushed before this moment; verbs need not wait for it.
        delivered_at: When a surface first took it.
        delivery_method: What took it: a strategy's name, `startup_drain` or `read`.
        confirmed_at: When it was known to be in the model's context.
        acked_at: When the agent acted on it.
        last_error: Why the last attempt failed, in words; for `dead`, the reason.
    """

    signal_id: SignalId
    recipient: str
    recipient_display: str
    state: DeliveryState = DeliveryState.PENDING
    expects_action: bool = False
    wakes: bool = True
    session_id: SessionId | None = None
    to_session: SessionId | None = None
    lease_token: LeaseToken | None = None
    lease_until: datetime | None = None
    attempts: int = 0
    offers: int = 0
    next_attempt_at: datetime | None = None
    delivered_at: datetime | None = None
    delivery_method: str | None = None
    confirmed_at: datetime | None = None
    acked_at: datetime | None = None
    last_error: str | None = None

    @property
    def unread(self) -> bool:
        """Not ended; for a type that expects no action, also not confirmed."""
        return self.state not in ENDED_STATES and (self.expects_action or self.confirmed_at is None)


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to show one signal to one session, for a while.

    Attributes:
        signal: What to show.
        delivery: The delivery as it stands under this lease.
        token: Goes back with the settlement.
        redelivered: It was or may have been shown before.
    """

    signal: Signal
    delivery: Delivery
    token: LeaseToken
    redelivered: bool


@dataclass(frozen=True, slots=True)
class Settlement:
    """How a lease ends, as the engine decided it.

    Attributes:
        state: `DELIVERED`, `PENDING` (try again) or `DEAD`. With `PENDING` a delivery that was
            delivered before goes back to `DELIVERED`.
        method: With `DELIVERED`, what took it.
        confirmed: With `DELIVERED`, whether it is in the model's context.
        shown: It was or may have been shown: `offers` grows by one.
        counts: It was a push attempt of unknown end: `attempts` grows by one.
        retry_after: With `PENDING`, the least time until the next push.
        error: Kept as `last_error`.
    """

    state: DeliveryState
    method: str | None = None
    confirmed: bool = False
    shown: bool = False
    counts: bool = False
    retry_after: timedelta | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Entry:
    """A signal together with its deliveries, as reads give it."""

    signal: Signal
    deliveries: tuple[Delivery, ...]
