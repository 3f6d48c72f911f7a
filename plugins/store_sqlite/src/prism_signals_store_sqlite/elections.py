"""Who is master of a project."""

from __future__ import annotations

import sqlite3
from datetime import datetime

from prism_signals import Election, SessionId, iso

from .sessions import Kept, find_session, unended


def master_of(connection: sqlite3.Connection, project: str, now: datetime) -> SessionId | None:
    """Who would be master now: of those who stand and live, the highest claim, then the first."""
    standing = [k for k in unended(connection, project) if k.stands is not None and k.is_live(now)]
    best = max(standing, key=_strength, default=None)
    return best.session.session_id if best is not None else None


def elect(
    connection: sqlite3.Connection, project: str, candidate: SessionId, now: datetime
) -> Election:
    """Let a session stand, and settle who is master.

    The file remembers who was told to be master last, so that of all the calls that find another
    one, exactly one reports the change.
    """
    _stand(connection, project, candidate, now)
    row = connection.execute(
        "SELECT session_id FROM masters WHERE project_id = ?", (project,)
    ).fetchone()
    former = SessionId(row[0]) if row else None
    master = master_of(connection, project, now)
    if master is None:
        connection.execute("DELETE FROM masters WHERE project_id = ?", (project,))
        return Election(None)
    if master == former:
        return Election(master)
    connection.execute(
        "INSERT OR REPLACE INTO masters VALUES (?, ?, ?)", (project, master, iso(now))
    )
    kept = find_session(connection, former) if former else None
    lost = kept is not None and kept.is_live(now)
    return Election(master, preempted=former if lost else None)


def _stand(
    connection: sqlite3.Connection, project: str, candidate: SessionId, now: datetime
) -> None:
    """Make a live session of this project a candidate, behind those that are."""
    kept = find_session(connection, candidate)
    if kept is None or kept.stands is not None or not kept.is_live(now):
        return
    connection.execute(
        "UPDATE sessions SET stands = 1 + coalesce((SELECT max(stands) FROM sessions"
        " WHERE project_id = :project), 0) WHERE session_id = :session AND project_id = :project",
        {"project": project, "session": candidate},
    )


def _strength(kept: Kept) -> tuple[int, int]:
    return (kept.session.registration.claim.rank, -(kept.stands or 0))
