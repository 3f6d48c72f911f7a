"""The directory in memory: sessions by id, and whoever stands for the mastership of a project."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from secrets import token_urlsafe

from anyio.lowlevel import checkpoint

from ..clock import Clock
from ..fingerprint import lives
from ..model.ids import SessionId
from ..model.names import Scope
from ..model.session import (
    Departure,
    Election,
    Heartbeat,
    LeftReason,
    Registered,
    Registration,
    Session,
    SessionToken,
)

TIME_TO_LIVE = timedelta(seconds=90)
"""A session without a heartbeat for this long has ended."""
_REMEMBERED = 10_000


@dataclass(slots=True)
class _Seat:
    """A registered session; `stands` is its place among the candidates, once it is one."""

    session: Session
    token: SessionToken
    stands: int | None = None


class MemoryDirectory:
    """Implements `Directory`. Each call is one synchronous step after its checkpoint."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._seats: dict[SessionId, _Seat] = {}
        self._ended: dict[SessionId, None] = {}
        self._masters: dict[Scope, SessionId] = {}
        self._candidacies = 0

    async def register(self, registration: Registration) -> Registered:
        """Make a session known, live from now on."""
        await checkpoint()
        now = self._clock.now()
        departed = [self._end(s, LeftReason.REPLACED) for s in self._dead_selves(registration)]
        before = self._live(registration.session_id, now)
        seat = _Seat(
            Session(
                registration,
                registered_at=before.session.registered_at if before else now,
                heartbeat_at=now,
                last_verb_at=before.session.last_verb_at if before else None,
                expires_at=now + TIME_TO_LIVE,
            ),
            SessionToken(token_urlsafe()),
            before.stands if before else None,
        )
        self._seats[registration.session_id] = seat
        self._ended.pop(registration.session_id, None)
        return Registered(seat.session, seat.token, tuple(departed))

    async def heartbeat(self, session_id: SessionId, token: SessionToken) -> Heartbeat:
        """Its process lives."""
        await checkpoint()
        now = self._clock.now()
        seat = self._seats.get(session_id)
        if seat is None:
            return Heartbeat.RELEASED if session_id in self._ended else Heartbeat.EXPIRED
        if seat.token != token:  # somebody else has this session now
            return Heartbeat.RELEASED
        if self._timed_out(seat, now):
            return Heartbeat.EXPIRED
        seat.session = replace(seat.session, heartbeat_at=now, expires_at=now + TIME_TO_LIVE)
        return Heartbeat.OK

    async def engage(self, session_id: SessionId, token: SessionToken) -> bool:
        """Its agent acted just now; False where the session is not live."""
        await checkpoint()
        now = self._clock.now()
        seat = self._live(session_id, now)
        if seat is None or seat.token != token:
            return False
        seat.session = replace(seat.session, last_verb_at=now)
        return True

    async def release(self, session_id: SessionId, token: SessionToken) -> Departure | None:
        """End it for good; None where it had ended before."""
        await checkpoint()
        seat = self._seats.get(session_id)
        if seat is None or seat.token != token:
            return None
        return self._end(seat, LeftReason.RELEASED)

    async def resolve(self, scope: Scope, canonical: str) -> Session | None:
        """The live session this identity means now."""
        found = await self.sessions(scope, canonical)
        return max(found, key=Session.preference, default=None)

    async def sessions(self, scope: Scope, canonical: str | None = None) -> Sequence[Session]:
        """The live sessions of a project, or of one identity in it."""
        await checkpoint()
        return [
            seat.session
            for seat in self._of(scope, self._clock.now())
            if canonical in (None, seat.session.name.canonical)
        ]

    async def elect(self, scope: Scope, candidate: SessionId | None = None) -> Election:
        """Settle who is master, with this candidate's claim; without one, only tell."""
        await checkpoint()
        now = self._clock.now()
        if candidate is None:
            return Election(self._strongest(scope, now))
        seat = self._live(candidate, now)
        if seat is not None and seat.session.scope == scope and seat.stands is None:
            self._candidacies += 1
            seat.stands = self._candidacies
        former = self._masters.get(scope)
        master = self._strongest(scope, now)
        if master is None:
            self._masters.pop(scope, None)
            return Election(None)
        self._masters[scope] = master
        lost = former is not None and former != master and self._live(former, now) is not None
        return Election(master, former if lost else None)

    async def sweep(self, limit: int = 100) -> Sequence[Departure]:
        """End what timed out; each departure is reported once, to one caller."""
        await checkpoint()
        now = self._clock.now()
        gone = [seat for seat in self._seats.values() if self._timed_out(seat, now)][:limit]
        return [self._end(seat, LeftReason.EXPIRED) for seat in gone]

    def _timed_out(self, seat: _Seat, now: datetime) -> bool:
        fingerprint = seat.session.registration.fingerprint
        alive = fingerprint is not None and lives(fingerprint)
        return seat.session.expires_at <= now and not alive

    def _live(self, session_id: SessionId, now: datetime) -> _Seat | None:
        seat = self._seats.get(session_id)
        return None if seat is None or self._timed_out(seat, now) else seat

    def _of(self, scope: Scope, now: datetime) -> Iterator[_Seat]:
        return (
            seat
            for seat in self._seats.values()
            if seat.session.scope == scope and not self._timed_out(seat, now)
        )

    def _dead_selves(self, registration: Registration) -> list[_Seat]:
        """Sessions of the same identity whose process on this machine has ended (D10)."""
        return [
            seat
            for seat in self._seats.values()
            if seat.session.scope == registration.scope
            and seat.session.name.canonical == registration.name.canonical
            and seat.session.session_id != registration.session_id
            and seat.session.registration.fingerprint is not None
            and lives(seat.session.registration.fingerprint) is False
        ]

    def _strongest(self, scope: Scope, now: datetime) -> SessionId | None:
        """The candidate with the highest claim; of equals the one that stood first."""
        standing = [seat for seat in self._of(scope, now) if seat.stands is not None]
        best = max(
            standing,
            key=lambda s: (s.session.registration.claim.rank, -(s.stands or 0)),
            default=None,
        )
        return best.session.session_id if best else None

    def _end(self, seat: _Seat, reason: LeftReason) -> Departure:
        session_id = seat.session.session_id
        del self._seats[session_id]
        if reason is not LeftReason.EXPIRED:  # those two are final: D4
            self._ended[session_id] = None
            while len(self._ended) > _REMEMBERED:
                del self._ended[next(iter(self._ended))]
        return Departure(seat.session, reason)
