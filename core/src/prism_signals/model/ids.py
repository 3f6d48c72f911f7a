"""Identifiers."""

from __future__ import annotations

import os
import time
import uuid
from typing import NewType

SignalId = NewType("SignalId", str)
"""A signal's UUID in canonical lower-case text form."""
SessionId = NewType("SessionId", str)
"""A session's UUID in canonical lower-case text form."""
LeaseToken = NewType("LeaseToken", str)
"""Names one lease of one delivery; a settle that carries another token changes nothing."""

NIL_SESSION = SessionId("00000000-0000-0000-0000-000000000000")
"""`from_session` of system signals."""
OUTSIDE_SESSION = SessionId("00000000-0000-0000-0000-000000000001")
"""`from_session` of signals sent from a terminal or program that is no live session."""

_NAMESPACE = uuid.UUID("6f1c5c0e-5a7e-5b63-9b0c-707269736d00")


def uuid7() -> uuid.UUID:
    """A time-ordered UUID, version 7 (RFC 9562 section 5.7)."""
    value = (time.time_ns() // 1_000_000) << 80 | int.from_bytes(os.urandom(10), "big")
    value = value & ~(0xF << 76) | 0x7 << 76
    return uuid.UUID(int=value & ~(0x3 << 62) | 0x2 << 62)


def new_signal_id() -> SignalId:
    """A fresh signal id, ordered by time of creation."""
    return SignalId(str(uuid7()))


def new_session_id() -> SessionId:
    """A fresh session id; random, so that it tells nothing about when the agent started."""
    return SessionId(str(uuid.uuid4()))


def tenant_uuid(tenant: str) -> uuid.UUID:
    """The `tenant_id` column of a tenant: UUIDv5 of its slug."""
    return uuid.uuid5(_NAMESPACE, tenant)


def project_uuid(tenant: str, pid: str) -> uuid.UUID:
    """The `project_id` column of a project: UUIDv5 of its slug within its tenant."""
    return uuid.uuid5(tenant_uuid(tenant), pid)


def canonical_uuid(text: str) -> str | None:
    """The canonical form of a UUID in any accepted spelling, or None where it is none."""
    try:
        return str(uuid.UUID(text))
    except (ValueError, AttributeError, TypeError):
        return None
