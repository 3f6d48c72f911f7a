"""The signal: what one agent sends another. Field names follow SPEC-034 §5.1 and §5.3."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum
from typing import Any, Self, TypeVar

from ..clock import from_iso, iso
from ..errors import InvalidInput
from .ids import SessionId, SignalId, canonical_uuid
from .names import Scope

E = TypeVar("E", bound=StrEnum)


class Priority(StrEnum):
    """How pressing a signal is. Only `URGENT` may escalate."""

    AMBIENT = "ambient"
    NORMAL = "normal"
    URGENT = "urgent"


class Lane(StrEnum):
    """Who speaks: an agent, or the controller."""

    AGENT = "agent"
    SYSTEM = "system"


@dataclass(frozen=True, slots=True)
class Signal:
    """One signal, immutable once stored.

    Attributes:
        signal_id: UUID, version 7.
        tenant: Slug of the tenant.
        pid: Project id.
        from_identity: The sender's name as it writes it.
        from_session: The sender's session; the nil UUID for system signals.
        to_identity: Name, dotted sub-name, or `*`.
        signal_type: A type of the registry.
        payload: JSON object; treat it as read-only.
        in_reply_to: The signal this one answers.
        thread_id: The id of the thread's root.
        priority: `ambient`, `normal` or `urgent`.
        hops: Number of replies since the root.
        lane: `agent` or `system`.
        created_at: When the store took it.
        expires_at: After this moment it is not delivered any more.
        idempotency_key: The sender's own key against doubled sends.
        traceparent: W3C trace context of the sender, carried unchanged.
        delivered_at: On reads: when the last delivery left `pending` and `leased`.
        delivery_method: On reads: the strategy that delivered it, `startup_drain`, `read`, or
            `mixed` where a broadcast's recipients differ.
    """

    signal_id: SignalId
    tenant: str
    pid: str
    from_identity: str
    from_session: SessionId
    to_identity: str
    signal_type: str
    payload: dict[str, Any] = field(hash=False)
    created_at: datetime
    thread_id: SignalId
    in_reply_to: SignalId | None = None
    priority: Priority = Priority.NORMAL
    hops: int = 0
    lane: Lane = Lane.AGENT
    expires_at: datetime | None = None
    idempotency_key: str | None = None
    traceparent: str | None = None
    delivered_at: datetime | None = None
    delivery_method: str | None = None

    @property
    def scope(self) -> Scope:
        """The tenant and project it belongs to."""
        return Scope(self.tenant, self.pid)

    def with_payload(self, payload: dict[str, Any]) -> Self:
        """The same signal with another payload."""
        return replace(self, payload=payload)

    def as_dict(self) -> dict[str, Any]:
        """A JSON-ready dict: SPEC-034 §5.3's keys first, then the others."""
        return {
            "signal_id": self.signal_id,
            "signal_type": self.signal_type,
            "from_identity": self.from_identity,
            "from_session": self.from_session,
            "to_identity": self.to_identity,
            "payload": self.payload,
            "in_reply_to": self.in_reply_to,
            "created_at": iso(self.created_at),
            "tenant": self.tenant,
            "pid": self.pid,
            "thread_id": self.thread_id,
            "priority": self.priority.value,
            "hops": self.hops,
            "lane": self.lane.value,
            "expires_at": iso(self.expires_at) if self.expires_at else None,
            "idempotency_key": self.idempotency_key,
            "traceparent": self.traceparent,
            "delivered_at": iso(self.delivered_at) if self.delivered_at else None,
            "delivery_method": self.delivery_method,
        }

    def to_json(self) -> str:
        """The JSON text form."""
        return json.dumps(self.as_dict(), ensure_ascii=False, separators=(",", ":"))

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Read the JSON text form. Unknown keys are ignored, those beyond SPEC-034 §5.3 optional.

        Raises:
            InvalidInput: It is not JSON, or a required key is missing or malformed.
        """
        try:
            return cls.from_dict(json.loads(text))
        except ValueError as e:
            raise InvalidInput(f"This is not a signal in JSON form: {e}.") from e

    @classmethod
    def from_dict(cls, data: Any) -> Self:
        """Read what `as_dict` gives.

        Raises:
            InvalidInput: A required key is missing or malformed; the message names it.
        """
        if not isinstance(data, dict):
            raise InvalidInput(f"A signal is a JSON object, not {type(data).__name__}.")
        signal_id = _uuid(data, "signal_id")
        reply = data.get("in_reply_to")
        return cls(
            signal_id=SignalId(signal_id),
            tenant=_text(data, "tenant", "default"),
            pid=_text(data, "pid", ""),
            from_identity=_text(data, "from_identity"),
            from_session=SessionId(_uuid(data, "from_session")),
            to_identity=_text(data, "to_identity"),
            signal_type=_text(data, "signal_type"),
            payload=_object(data, "payload"),
            created_at=_required_moment(data, "created_at"),
            thread_id=SignalId(_uuid(data, "thread_id", signal_id)),
            in_reply_to=None if reply is None else SignalId(_uuid(data, "in_reply_to")),
            priority=_member(data, "priority", Priority, Priority.NORMAL),
            hops=_count(data, "hops"),
            lane=_member(data, "lane", Lane, Lane.AGENT),
            expires_at=_moment(data, "expires_at"),
            idempotency_key=_optional_text(data, "idempotency_key"),
            traceparent=_optional_text(data, "traceparent"),
            delivered_at=_moment(data, "delivered_at"),
            delivery_method=_optional_text(data, "delivery_method"),
        )


PrismSignal = Signal
"""SPEC-034's name for `Signal`."""


def _bad(key: str, wanted: str) -> InvalidInput:
    return InvalidInput(f"The signal's key {key!r} must be {wanted}.", key=key)


def _text(data: dict[str, Any], key: str, default: str | None = None) -> str:
    value = data.get(key, default)
    if not isinstance(value, str):
        raise _bad(key, "a string")
    return value


def _optional_text(data: dict[str, Any], key: str) -> str | None:
    return None if data.get(key) is None else _text(data, key)


def _uuid(data: dict[str, Any], key: str, default: str | None = None) -> str:
    value = canonical_uuid(_text(data, key, default))
    if value is None:
        raise _bad(key, "a UUID")
    return value


def _object(data: dict[str, Any], key: str) -> dict[str, Any]:
    value = data.get(key)
    if not isinstance(value, dict):
        raise _bad(key, "a JSON object")
    return value


def _moment(data: dict[str, Any], key: str) -> datetime | None:
    if data.get(key) is None:
        return None
    try:
        return from_iso(_text(data, key))
    except ValueError:
        raise _bad(key, "an ISO 8601 date and time") from None


def _required_moment(data: dict[str, Any], key: str) -> datetime:
    moment = _moment(data, key)
    if moment is None:
        raise _bad(key, "an ISO 8601 date and time")
    return moment


def _member(data: dict[str, Any], key: str, kind: type[E], default: E) -> E:
    value = data.get(key)
    if value is None:
        return default
    try:
        return kind(value)
    except ValueError:
        raise _bad(key, f"one of {', '.join(kind)}") from None


def _count(data: dict[str, Any], key: str) -> int:
    value = data.get(key, 0)
    if not isinstance(value, int) or isinstance(value, bool) or value < 0:
        raise _bad(key, "a whole number, 0 or more")
    return value
