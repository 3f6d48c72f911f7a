"""The directory: which sessions live, which one an identity means now, and who is master."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from ..model.ids import SessionId
from ..model.names import Scope
from ..model.session import (
    Departure,
    Election,
    Heartbeat,
    Registered,
    Registration,
    Session,
    SessionToken,
)


class Directory(Protocol):
    """Knows the live sessions. Deadlines are judged by the backend's own clock.

    Clauses:
        D1: a registered session is found by `resolve` and `sessions` at once, from every process.
        D2: registering the same session id again with its process alive keeps one session.
        D3: without heartbeats a session ends after its time to live (90 s); ignored from then on.
        D4: a heartbeat answers `ok` and prolongs; `expired` for an unknown or timed-out session;
            `released` for one that was released or replaced, for good.
        D5: a heartbeat, engage or release with a wrong token changes nothing.
        D6: `release` ends the session once: the first call answers its departure, others None.
        D7: `resolve` gives the identity's session with the newest verb, then the newest heartbeat,
            then the greatest id; names are compared canonically.
        D8: `engage` makes a session the one signals go to.
        D9: two live sessions of one identity may exist side by side.
        D10: registering ends sessions of the same identity whose process on this machine is dead,
            and names them in `departed`; a live namesake stays.
        D11: `sweep` ends timed-out sessions; each is reported to exactly one caller. On this
            machine a session whose process lives does not time out.
        D12: `elect` gives a project one master: the highest claim wins, the first of equals stays;
            a lost mastership is reported to exactly one caller as `preempted`.
        D13: a master that ended is no master; the next `elect` finds another.
        D14: sessions of other tenants and projects are never seen.
        D15: tokens appear in no listing and no `repr`.
    """

    async def register(self, registration: Registration) -> Registered:
        """Make a session known, live from now on."""
        ...

    async def heartbeat(self, session_id: SessionId, token: SessionToken) -> Heartbeat:
        """Its process lives."""
        ...

    async def engage(self, session_id: SessionId, token: SessionToken) -> bool:
        """Its agent acted just now; False where the session is not live."""
        ...

    async def release(self, session_id: SessionId, token: SessionToken) -> Departure | None:
        """End it for good; None where it had ended before."""
        ...

    async def resolve(self, scope: Scope, canonical: str) -> Session | None:
        """The live session this identity means now."""
        ...

    async def sessions(self, scope: Scope, canonical: str | None = None) -> Sequence[Session]:
        """The live sessions of a project, or of one identity in it."""
        ...

    async def elect(self, scope: Scope, candidate: SessionId | None = None) -> Election:
        """Settle who is master, with this candidate's claim; without one, only tell."""
        ...

    async def sweep(self, limit: int = 100) -> Sequence[Departure]:
        """End what timed out; each departure is reported once, to one caller."""
        ...
