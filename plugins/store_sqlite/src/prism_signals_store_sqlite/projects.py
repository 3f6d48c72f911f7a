"""Tenants, projects and identities: made when they are first used."""

from __future__ import annotations

import difflib
import sqlite3
from datetime import datetime
from typing import NamedTuple

from prism_signals import Name, Scope, iso

from .rows import project_id, tenant_id

_MOST_COMPARED = 5_000
_NEAR = 3


class Known(NamedTuple):
    """An identity that was seen in the project."""

    canonical: str
    display: str
    last_seen_at: str


def ensure_project(connection: sqlite3.Connection, scope: Scope) -> str:
    """The `project_id` of a scope; its rows are made if this is its first use."""
    project = project_id(scope)
    if connection.execute("SELECT 1 FROM projects WHERE id = ?", (project,)).fetchone() is None:
        tenant = tenant_id(scope.tenant)
        connection.execute("INSERT OR IGNORE INTO tenants VALUES (?, ?)", (tenant, scope.tenant))
        connection.execute(
            "INSERT OR IGNORE INTO projects VALUES (?, ?, ?)", (project, tenant, scope.pid)
        )
    return project


def mark_seen(
    connection: sqlite3.Connection, scope: Scope, name: Name, now: datetime, *, human: bool
) -> None:
    """Remember that an identity is here now."""
    connection.execute(
        "INSERT INTO identities VALUES (?, ?, ?, ?, ?, ?) ON CONFLICT (project_id, canonical)"
        " DO UPDATE SET display = excluded.display, human = excluded.human,"
        " last_seen_at = max(last_seen_at, excluded.last_seen_at)",
        (
            ensure_project(connection, scope),
            name.canonical,
            name.display,
            iso(now),
            iso(now),
            human,
        ),
    )


def known_identities(connection: sqlite3.Connection, project: str) -> list[Known]:
    """Every identity of the project, by canonical name."""
    rows = connection.execute(
        "SELECT canonical, display, last_seen_at FROM identities WHERE project_id = ?"
        " ORDER BY canonical",
        (project,),
    )
    return [Known(*row) for row in rows]


def known_among(
    connection: sqlite3.Connection, project: str, names: tuple[str, ...]
) -> dict[str, Known]:
    """Those of the names that were seen in the project."""
    rows = connection.execute(
        "SELECT canonical, display, last_seen_at FROM identities"
        f" WHERE project_id = ? AND canonical IN ({', '.join('?' * len(names))})",
        (project, *names),
    )
    return {row[0]: Known(*row) for row in rows.fetchall()}


def near_names(connection: sqlite3.Connection, project: str, name: Name) -> tuple[str, ...]:
    """Display names in the project that resemble this one, nearest first."""
    rows = connection.execute(
        "SELECT canonical, display FROM identities WHERE project_id = ?"
        " ORDER BY last_seen_at DESC LIMIT ?",
        (project, _MOST_COMPARED),
    )
    shown = dict(rows.fetchall())
    return tuple(shown[c] for c in difflib.get_close_matches(name.canonical, shown, n=_NEAR))
