"""Sessions as rows, and which of them live."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable
from datetime import datetime
from typing import Any, NamedTuple

from prism_signals import (
    Departure,
    Fingerprint,
    LeftReason,
    MasterClaim,
    Name,
    Registration,
    Scope,
    Session,
    SessionId,
    SessionToken,
    iso,
    lives,
)
from prism_signals import from_iso as moment_from

from .rows import moment

_COLUMNS = (
    "s.session_id, t.slug, p.slug, s.identity, s.canonical, s.surface, s.route, s.can_push,"
    " s.can_wake, s.boot_id, s.process_id, s.process_started, s.client_boot_id,"
    " s.client_process_id, s.client_started, s.claim, s.human, s.registered_at, s.heartbeat_at,"
    " s.last_verb_at, s.expires_at, s.token_hash, s.stands, s.ended_at, s.ended_reason"
)
_FROM = (
    "FROM sessions s{index} JOIN projects p ON p.id = s.project_id"
    " JOIN tenants t ON t.id = p.tenant_id"
)
_INSERT = """
INSERT OR REPLACE INTO sessions (
  session_id, project_id, identity, canonical, surface, route, can_push, can_wake, boot_id,
  process_id, process_started, client_boot_id, client_process_id, client_started, claim, human,
  token_hash, registered_at, heartbeat_at, last_verb_at, expires_at, stands
) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"""


class Kept(NamedTuple):
    """A session as the file keeps it."""

    session: Session
    token_hash: str
    stands: int | None
    ended_at: datetime | None
    ended_reason: str | None

    def is_held_by(self, token: SessionToken) -> bool:
        """Whether this token was given for it."""
        return self.token_hash == hashed(token)

    def is_live(self, now: datetime) -> bool:
        """Whether it lives now.

        On this machine the process itself is asked: while it runs, its session does not time out
        (the machine may have slept), and once it is gone, nobody needs to wait for the time-out.
        """
        if self.ended_at is not None:
            return False
        running = _is_running(self.session)
        return self.session.expires_at > now if running is None else running

    def timed_out(self, now: datetime) -> bool:
        """Whether its time is up; never while its process on this machine runs."""
        return self.session.expires_at <= now and _is_running(self.session) is not True

    def is_dead(self) -> bool:
        """Whether its process on this machine has certainly ended."""
        return _is_running(self.session) is False


def hashed(token: SessionToken) -> str:
    """What the file keeps of a token: enough to know it again, useless to who reads the file."""
    return hashlib.sha256(token.reveal().encode()).hexdigest()


def find_session(connection: sqlite3.Connection, session_id: SessionId) -> Kept | None:
    """A session by its id, ended or not."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} {_FROM.format(index='')} WHERE s.session_id = ?", (session_id,)
    ).fetchall()
    return _kept(rows[0]) if rows else None


def unended(
    connection: sqlite3.Connection, project: str, canonical: str | None = None
) -> list[Kept]:
    """The project's, or one identity's, sessions that nobody has ended."""
    where, values = "s.project_id = ?", [project]
    if canonical is not None:
        where += " AND s.canonical = ?"
        values.append(canonical)
    rows = connection.execute(
        f"SELECT {_COLUMNS} {_FROM.format(index=' INDEXED BY idx_sessions_live')}"
        f" WHERE {where} AND s.ended_at IS NULL ORDER BY s.registered_at, s.session_id",
        values,
    )
    return [_kept(row) for row in rows.fetchall()]


def unended_everywhere(connection: sqlite3.Connection) -> list[Kept]:
    """The sessions of all projects that nobody has ended."""
    rows = connection.execute(
        f"SELECT {_COLUMNS} {_FROM.format(index=' INDEXED BY idx_sessions_live')}"
        " WHERE s.ended_at IS NULL ORDER BY s.expires_at"
    )
    return [_kept(row) for row in rows.fetchall()]


def insert_session(
    connection: sqlite3.Connection,
    project: str,
    session: Session,
    token: SessionToken,
    stands: int | None,
) -> None:
    """Write a session; an earlier row with its id is replaced."""
    r = session.registration
    connection.execute(
        _INSERT,
        (
            r.session_id,
            project,
            r.name.display,
            r.name.canonical,
            r.surface,
            json.dumps(r.route),
            r.can_push,
            r.can_wake,
            *_process(r.fingerprint),
            *_process(r.client),
            r.claim.value,
            r.human,
            hashed(token),
            iso(session.registered_at),
            iso(session.heartbeat_at),
            iso(session.last_verb_at) if session.last_verb_at else None,
            iso(session.expires_at),
            stands,
        ),
    )


def end_sessions(
    connection: sqlite3.Connection, ending: Iterable[Kept], reason: LeftReason, now: datetime
) -> list[Departure]:
    """End these; the rows stay for a day, so that their heartbeats get a final answer."""
    departures = []
    for kept in ending:
        changed = connection.execute(
            "UPDATE sessions SET ended_at = ?, ended_reason = ?"
            " WHERE session_id = ? AND ended_at IS NULL",
            (iso(now), reason.value, kept.session.session_id),
        ).rowcount
        if changed:
            departures.append(Departure(kept.session, reason))
    return departures


def _process(fingerprint: Fingerprint | None) -> tuple[str | None, int | None, str | None]:
    if fingerprint is None:
        return (None, None, None)
    return (fingerprint.boot_id, fingerprint.pid, fingerprint.started)


def _fingerprint(boot: str | None, pid: int | None, started: str | None) -> Fingerprint | None:
    if boot is None or pid is None or started is None:
        return None
    return Fingerprint(boot, pid, started)


def _is_running(session: Session) -> bool | None:
    fingerprint = session.registration.fingerprint
    return None if fingerprint is None else lives(fingerprint)


def _kept(row: tuple[Any, ...]) -> Kept:
    (
        session_id, tenant, pid, identity, canonical, surface, route, can_push, can_wake, boot,
        process, started, client_boot, client, client_started, claim, human, registered_at,
        heartbeat_at, last_verb_at, expires_at, token_hash, stands, ended_at, reason,
    ) = row  # fmt: skip
    registration = Registration(
        session_id=SessionId(session_id),
        scope=Scope(tenant, pid),
        name=Name(identity, canonical),
        surface=surface,
        route=tuple(json.loads(route)),
        can_push=bool(can_push),
        can_wake=bool(can_wake),
        fingerprint=_fingerprint(boot, process, started),
        client=_fingerprint(client_boot, client, client_started),
        claim=MasterClaim(claim),
        human=bool(human),
    )
    session = Session(
        registration,
        moment_from(registered_at),
        moment_from(heartbeat_at),
        moment(last_verb_at),
        moment_from(expires_at),
    )
    return Kept(session, token_hash, stands, moment(ended_at), reason)
