"""The directory: sessions and masters in the same file as the signals.

Presence commits are never synced to the disk: after a power failure every process of this machine
is gone, and what was lost would have been untrue.
"""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TypeVar

from prism_signals import (
    Departure,
    Election,
    Heartbeat,
    LeftReason,
    Registered,
    Registration,
    Scope,
    Session,
    SessionId,
    SessionToken,
    iso,
)

from .database import Database
from .elections import elect, master_of
from .projects import ensure_project
from .rows import project_id
from .sessions import (
    Kept,
    end_sessions,
    find_session,
    insert_session,
    unended,
    unended_everywhere,
)
from .writer import Change

T = TypeVar("T")

_TOMBSTONES = timedelta(hours=24)
_ENGAGED_ENOUGH = timedelta(seconds=1)
_NEVER = datetime.min.replace(tzinfo=UTC)


class SQLiteDirectory:
    """A `Directory` in one SQLite file; its clauses are in the contract.

    Args:
        database: The open file.
        ttl: How long a session lives without a heartbeat.
    """

    def __init__(self, database: Database, ttl: timedelta) -> None:
        self._database = database
        self._ttl = ttl

    async def register(self, registration: Registration) -> Registered:
        """Make a session known; see `Directory.register`."""
        return await self._write(lambda c: self._register(c, registration))

    async def heartbeat(self, session_id: SessionId, token: SessionToken) -> Heartbeat:
        """Its process lives; see `Directory.heartbeat`."""
        return await self._write(lambda c: self._heartbeat(c, session_id, token))

    async def engage(self, session_id: SessionId, token: SessionToken) -> bool:
        """Its agent acted just now; see `Directory.engage`."""
        if await self._database.look(lambda c: self._is_engaged(c, session_id, token)):
            return True
        return await self._write(lambda c: self._engage(c, session_id, token))

    async def release(self, session_id: SessionId, token: SessionToken) -> Departure | None:
        """End it for good; None where it had ended before."""
        return await self._write(lambda c: self._release(c, session_id, token))

    async def resolve(self, scope: Scope, canonical: str) -> Session | None:
        """The live session this identity means now."""
        return max(await self.sessions(scope, canonical), key=Session.preference, default=None)

    async def sessions(self, scope: Scope, canonical: str | None = None) -> Sequence[Session]:
        """The live sessions of a project, or of one identity in it."""
        now, project = self._database.now(), project_id(scope)
        kept = await self._database.look(lambda c: unended(c, project, canonical))
        return [k.session for k in kept if k.is_live(now)]

    async def elect(self, scope: Scope, candidate: SessionId | None = None) -> Election:
        """Settle who is master; see `Directory.elect`."""
        project = project_id(scope)
        if candidate is None:
            return Election(
                await self._database.look(lambda c: master_of(c, project, self._database.now()))
            )
        return await self._write(lambda c: elect(c, project, candidate, self._database.now()))

    async def sweep(self, limit: int = 100) -> Sequence[Departure]:
        """End what timed out; a look that finds nothing writes nothing."""
        if not await self._database.look(self._is_anything_to_sweep):
            return ()
        return await self._write(lambda c: self._sweep(c, limit))

    # -- one transaction each -----------------------------------------------------------------

    async def _write(self, change: Change[T]) -> T:
        return await self._database.write(change, durable=False)

    def _register(self, c: sqlite3.Connection, registration: Registration) -> Registered:
        now = self._database.now()
        project = ensure_project(c, registration.scope)
        same = find_session(c, registration.session_id)
        dead = [
            k
            for k in unended(c, project, registration.name.canonical)
            if k.session.session_id != registration.session_id and k.is_dead()
        ]
        departed = end_sessions(c, dead, LeftReason.REPLACED, now)
        session = Session(registration, now, now, None, now + self._ttl)
        stands = None
        if same is not None and same.ended_at is None and not same.timed_out(now):
            stands = same.stands
            session = replace(
                session,
                registered_at=same.session.registered_at,
                last_verb_at=same.session.last_verb_at,
            )
        token = SessionToken(secrets.token_urlsafe(24))
        insert_session(c, project, session, token, stands)
        return Registered(session, token, tuple(departed))

    def _heartbeat(
        self, c: sqlite3.Connection, session_id: SessionId, token: SessionToken
    ) -> Heartbeat:
        now = self._database.now()
        kept = find_session(c, session_id)
        if kept is None or kept.ended_reason == LeftReason.EXPIRED:
            return Heartbeat.EXPIRED
        if kept.ended_at is not None or not kept.is_held_by(token):
            return Heartbeat.RELEASED  # final: whoever holds the newer token is the session now
        if kept.timed_out(now):
            return Heartbeat.EXPIRED
        c.execute(
            "UPDATE sessions SET heartbeat_at = ?, expires_at = ? WHERE session_id = ?",
            (iso(now), iso(now + self._ttl), session_id),
        )
        return Heartbeat.OK

    def _engage(self, c: sqlite3.Connection, session_id: SessionId, token: SessionToken) -> bool:
        now = self._database.now()
        kept = self._held(c, session_id, token)
        if kept is None or kept.ended_at is not None or kept.timed_out(now):
            return False
        c.execute(
            "UPDATE sessions SET last_verb_at = ? WHERE session_id = ?", (iso(now), session_id)
        )
        return True

    def _is_engaged(
        self, c: sqlite3.Connection, session_id: SessionId, token: SessionToken
    ) -> bool:
        """Whether it is the engaged session already, since a moment ago.

        Then another write would change nothing that anybody asks about, and an agent in the middle
        of its work uses many verbs a second.
        """
        now = self._database.now()
        kept = self._held(c, session_id, token)
        if kept is None or kept.ended_at is not None or kept.timed_out(now):
            return False
        acted, r = kept.session.last_verb_at, kept.session.registration
        if acted is None or not timedelta(0) <= now - acted < _ENGAGED_ENOUGH:
            return False
        namesakes = unended(c, project_id(r.scope), r.name.canonical)
        return all(
            n.session.session_id == session_id or (n.session.last_verb_at or _NEVER) < acted
            for n in namesakes
        )

    def _release(
        self, c: sqlite3.Connection, session_id: SessionId, token: SessionToken
    ) -> Departure | None:
        kept = self._held(c, session_id, token)
        if kept is None:
            return None
        ended = end_sessions(c, [kept], LeftReason.RELEASED, self._database.now())
        return ended[0] if ended else None

    def _held(
        self, c: sqlite3.Connection, session_id: SessionId, token: SessionToken
    ) -> Kept | None:
        kept = find_session(c, session_id)
        return kept if kept is not None and kept.is_held_by(token) else None

    def _sweep(self, c: sqlite3.Connection, limit: int) -> list[Departure]:
        now = self._database.now()
        gone = [k for k in unended_everywhere(c) if not k.is_live(now)]
        c.execute(
            "DELETE FROM sessions WHERE ended_at IS NOT NULL AND ended_at <= ?",
            (iso(now - _TOMBSTONES),),
        )
        return end_sessions(c, gone[:limit], LeftReason.EXPIRED, now)

    def _is_anything_to_sweep(self, c: sqlite3.Connection) -> bool:
        now: datetime = self._database.now()
        old = c.execute(
            "SELECT 1 FROM sessions WHERE ended_at IS NOT NULL AND ended_at <= ? LIMIT 1",
            (iso(now - _TOMBSTONES),),
        ).fetchone()
        return old is not None or any(not k.is_live(now) for k in unended_everywhere(c))
