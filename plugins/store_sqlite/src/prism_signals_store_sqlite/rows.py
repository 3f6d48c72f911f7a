"""Rows of the file as values, and values as rows."""

from __future__ import annotations

import json
from collections.abc import Iterable
from datetime import datetime
from functools import lru_cache
from typing import Any

from prism_signals import (
    Delivery,
    DeliveryState,
    InvalidPayload,
    Lane,
    LeaseToken,
    Priority,
    Scope,
    SessionId,
    Signal,
    SignalId,
    from_iso,
    iso,
    project_uuid,
    tenant_uuid,
)

_SIGNAL_NAMES = (
    "signal_id",
    "from_identity",
    "from_session",
    "to_identity",
    "signal_type",
    "payload",
    "in_reply_to",
    "created_at",
    "delivered_at",
    "delivery_method",
    "thread_id",
    "priority",
    "hops",
    "lane",
    "expires_at",
    "idempotency_key",
    "traceparent",
)
_DELIVERY_NAMES = (
    "signal_id",
    "recipient",
    "recipient_display",
    "state",
    "expects_action",
    "wakes",
    "session_id",
    "to_session",
    "lease_token",
    "lease_until",
    "attempts",
    "offers",
    "next_attempt_at",
    "delivered_at",
    "delivery_method",
    "confirmed_at",
    "acked_at",
    "last_error",
)


def _columns(alias: str, names: Iterable[str]) -> str:
    return ", ".join(f"{alias}.{n}" for n in names)


SIGNAL_COLUMNS = _columns("q", _SIGNAL_NAMES)
"""For `signal_from`, of a table called `q`."""
FRESH_COLUMNS = SIGNAL_COLUMNS.replace("q.delivered_at, q.delivery_method", "NULL, NULL")
"""The same without what became of the signal: a lease gives it as it was sent."""
DELIVERY_COLUMNS = _columns("d", _DELIVERY_NAMES)
"""For `delivery_from`, of a table called `d`."""
RETURNED_DELIVERY = ", ".join(_DELIVERY_NAMES)
"""The same for RETURNING, where there is no alias."""


@lru_cache(maxsize=1024)
def project_id(scope: Scope) -> str:
    """The `project_id` column of a scope; the tenant is part of it."""
    return str(project_uuid(scope.tenant, scope.pid))


@lru_cache(maxsize=256)
def tenant_id(tenant: str) -> str:
    """The `tenant_id` column of a tenant."""
    return str(tenant_uuid(tenant))


def moment(text: str | None) -> datetime | None:
    """A column of time as a moment."""
    return None if text is None else from_iso(text)


def text_of(at: datetime | None) -> str | None:
    """A moment as a column of time."""
    return None if at is None else iso(at)


def payload_text(payload: dict[str, Any]) -> str:
    """A payload as the column keeps it: JSON that a person can read and search.

    Raises:
        InvalidPayload: It is not JSON.
    """
    try:
        text = json.dumps(payload, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
        if not text.isascii():
            try:
                text.encode()
            except UnicodeEncodeError:  # a lone surrogate: only its escape can be stored
                text = json.dumps(payload, allow_nan=False, separators=(",", ":"))
    except (TypeError, ValueError, RecursionError) as e:
        raise InvalidPayload(f"The payload cannot be stored as JSON: {e}.") from None
    return text


def signal_from(row: tuple[Any, ...], scope: Scope) -> Signal:
    """A signal from the values of `SIGNAL_COLUMNS`."""
    (
        signal_id, from_identity, from_session, to_identity, signal_type, payload, in_reply_to,
        created_at, delivered_at, delivery_method, thread_id, priority, hops, lane, expires_at,
        idempotency_key, traceparent,
    ) = row  # fmt: skip
    return Signal(
        signal_id=SignalId(signal_id),
        tenant=scope.tenant,
        pid=scope.pid,
        from_identity=from_identity,
        from_session=SessionId(from_session),
        to_identity=to_identity,
        signal_type=signal_type,
        payload=json.loads(payload),
        created_at=from_iso(created_at),
        thread_id=SignalId(thread_id),
        in_reply_to=None if in_reply_to is None else SignalId(in_reply_to),
        priority=Priority(priority),
        hops=hops,
        lane=Lane(lane),
        expires_at=moment(expires_at),
        idempotency_key=idempotency_key,
        traceparent=traceparent,
        delivered_at=moment(delivered_at),
        delivery_method=delivery_method,
    )


def delivery_from(row: tuple[Any, ...]) -> Delivery:
    """A delivery from the values of `DELIVERY_COLUMNS`."""
    (
        signal_id, recipient, display, state, expects_action, wakes, session_id, to_session,
        lease_token, lease_until, attempts, offers, next_attempt_at, delivered_at, method,
        confirmed_at, acked_at, last_error,
    ) = row  # fmt: skip
    return Delivery(
        signal_id=SignalId(signal_id),
        recipient=recipient,
        recipient_display=display,
        state=DeliveryState(state),
        expects_action=bool(expects_action),
        wakes=bool(wakes),
        session_id=None if session_id is None else SessionId(session_id),
        to_session=SessionId(to_session) if to_session else None,
        lease_token=None if lease_token is None else LeaseToken(lease_token),
        lease_until=moment(lease_until),
        attempts=attempts,
        offers=offers,
        next_attempt_at=moment(next_attempt_at),
        delivered_at=moment(delivered_at),
        delivery_method=method,
        confirmed_at=moment(confirmed_at),
        acked_at=moment(acked_at),
        last_error=last_error,
    )
