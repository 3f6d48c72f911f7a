"""Sessions: one live run of an agent for an identity."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any

from ..clock import iso
from .ids import SessionId
from .names import Name, Scope

_NEVER = datetime.min.replace(tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Fingerprint:
    """Names one process on one machine for as long as that machine runs.

    Attributes:
        boot_id: Changes whenever the machine starts.
        pid: The process id.
        started: When the process started, in the system's own unit.
    """

    boot_id: str
    pid: int
    started: str


class SessionToken:
    """Proof that the caller opened the session; never shown in `repr`, text or logs."""

    __slots__ = ("_value",)

    def __init__(self, value: str) -> None:
        self._value = value

    def reveal(self) -> str:
        """The secret itself, for a backend to compare or store."""
        return self._value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, SessionToken) and other._value == self._value

    def __hash__(self) -> int:
        return hash(self._value)

    def __repr__(self) -> str:
        return "SessionToken(***)"


class MasterClaim(StrEnum):
    """What a session brings to the election, weakest first."""

    NONE = "none"
    SURFACE = "surface"
    DECLARED = "declared"

    @property
    def rank(self) -> int:
        """A higher rank takes the mastership from a lower one."""
        return list(MasterClaim).index(self)


@dataclass(frozen=True, slots=True)
class Registration:
    """What a session says of itself when it registers.

    Attributes:
        session_id: Chosen by the session, so that its doorbell can exist before it is known.
        scope: Tenant and project.
        name: The identity it speaks for.
        surface: Where its agent lives, for example `claude_code`.
        route: Names of the strategies that can reach it, in order.
        can_push: One of them pushes.
        can_wake: One of them can start a turn in an idle session.
        fingerprint: The process that hosts it.
        client: The agent's own process where it is known.
        claim: What it brings to the election of the master.
        human: A person, authenticated as one, not an agent.
    """

    session_id: SessionId
    scope: Scope
    name: Name
    surface: str
    route: tuple[str, ...] = ()
    can_push: bool = False
    can_wake: bool = False
    fingerprint: Fingerprint | None = None
    client: Fingerprint | None = None
    claim: MasterClaim = MasterClaim.NONE
    human: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """A registered session, as everyone may see it (the token is not part of it).

    Attributes:
        registration: What it said of itself.
        registered_at: When the directory took it.
        heartbeat_at: Its process was alive then.
        last_verb_at: Its agent acted then; None until it first does.
        expires_at: Without another heartbeat it ends then.
    """

    registration: Registration
    registered_at: datetime
    heartbeat_at: datetime
    last_verb_at: datetime | None
    expires_at: datetime

    @property
    def session_id(self) -> SessionId:
        """Its id."""
        return self.registration.session_id

    @property
    def scope(self) -> Scope:
        """Its tenant and project."""
        return self.registration.scope

    @property
    def name(self) -> Name:
        """The identity it speaks for."""
        return self.registration.name

    @property
    def surface(self) -> str:
        """Where its agent lives."""
        return self.registration.surface

    def preference(self) -> tuple[datetime, datetime, str]:
        """Sorts the sessions of one identity: the greatest is the one signals go to.

        Newest verb, then newest heartbeat, then session id (DESIGN: heartbeats prove a process,
        verbs prove an agent).
        """
        return (self.last_verb_at or _NEVER, self.heartbeat_at, self.session_id)

    def as_dict(self) -> dict[str, Any]:
        """A JSON-ready dict for status answers."""
        r = self.registration
        return {
            "identity": r.name.display,
            "session_id": r.session_id,
            "surface": r.surface,
            "route": list(r.route),
            "registered_at": iso(self.registered_at),
            "heartbeat_at": iso(self.heartbeat_at),
            "last_verb_at": iso(self.last_verb_at) if self.last_verb_at else None,
        }


class Heartbeat(StrEnum):
    """A directory's answer to a heartbeat."""

    OK = "ok"
    EXPIRED = "expired"
    """Unknown or timed out: register again, once."""
    RELEASED = "released"
    """Ended on purpose or replaced: final, never register again by yourself."""


class LeftReason(StrEnum):
    """Why a session is gone."""

    RELEASED = "released"
    EXPIRED = "expired"
    REPLACED = "replaced"


@dataclass(frozen=True, slots=True)
class Departure:
    """A session that this caller, and no other, has ended."""

    session: Session
    reason: LeftReason


@dataclass(frozen=True, slots=True)
class Registered:
    """A directory's answer to a registration.

    Attributes:
        session: As it now stands.
        token: Needed for its heartbeats, verbs and release.
        departed: Dead sessions of the same identity that were ended by this registration.
    """

    session: Session
    token: SessionToken
    departed: tuple[Departure, ...] = ()


@dataclass(frozen=True, slots=True)
class Election:
    """Who is master.

    Attributes:
        master: The master session, or None where nobody is.
        preempted: The session that lost mastership to this call, if it did.
    """

    master: SessionId | None
    preempted: SessionId | None = None
