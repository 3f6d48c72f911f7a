"""The tables, their versions, and how an older file becomes a newer one.

Times are fixed-width ISO 8601 text, ids are text: a person can read the file with any SQLite tool.
`REFERENCES` is there for that reader; foreign keys are not enforced, since tenants and projects are
only ever added, and `in_reply_to` may name a signal that was archived.
"""

from __future__ import annotations

import sqlite3
from pathlib import Path

from prism_signals import SchemaTooNew, StoreUnavailable, UnsupportedSQLite

OLDEST_SQLITE = (3, 35, 0)
"""The first with `RETURNING`."""
APPLICATION_ID = 0x50524953
"""Written into the file's header, so that another program's database is not taken for ours."""

OPEN = "state IN ('pending', 'leased')"
UNREAD = (
    "state IN ('pending', 'leased', 'delivered') AND (expects_action = 1 OR confirmed_at IS NULL)"
)
UNACTED = "state = 'delivered' AND expects_action = 1"
UNCONFIRMED = "state = 'delivered' AND confirmed_at IS NULL AND offers < 2"
DEAD = "state = 'dead'"
EXPIRING = f"{OPEN} AND expires_at IS NOT NULL AND delivered_at IS NULL"
POSTPONED = "next_attempt_at IS NOT NULL"
CLOSED = "closed_at IS NOT NULL"
THREADED = "thread_id <> signal_id"
"""Conditions of the partial indexes. A query must repeat one word for word to be served by it."""

_SIGNAL = """
  id INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL REFERENCES tenants(id),
  project_id TEXT NOT NULL REFERENCES projects(id),
  signal_id TEXT NOT NULL UNIQUE,
  from_identity TEXT NOT NULL,
  from_session TEXT NOT NULL,
  to_identity TEXT NOT NULL,
  signal_type TEXT NOT NULL,
  payload TEXT NOT NULL DEFAULT '{}',
  in_reply_to TEXT,
  created_at TEXT NOT NULL,
  delivered_at TEXT,
  delivery_method TEXT,
  thread_id TEXT NOT NULL,
  priority TEXT NOT NULL,
  hops INTEGER NOT NULL,
  lane TEXT NOT NULL,
  expires_at TEXT,
  idempotency_key TEXT,
  traceparent TEXT,
  sender TEXT NOT NULL,
  closed_at TEXT"""

_DELIVERY = """
  signal_id TEXT NOT NULL,
  recipient TEXT NOT NULL,
  to_session TEXT NOT NULL DEFAULT '',
  seq INTEGER NOT NULL,
  project_id TEXT NOT NULL,
  recipient_display TEXT NOT NULL,
  state TEXT NOT NULL,
  expects_action INTEGER NOT NULL,
  wakes INTEGER NOT NULL,
  session_id TEXT,
  lessee TEXT,
  lease_token TEXT,
  lease_until TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  offers INTEGER NOT NULL DEFAULT 0,
  next_attempt_at TEXT,
  created_at TEXT NOT NULL,
  expires_at TEXT,
  delivered_at TEXT,
  delivery_method TEXT,
  confirmed_at TEXT,
  acked_at TEXT,
  last_error TEXT,
  coalesce_key TEXT,
  PRIMARY KEY (signal_id, recipient, to_session)"""

_VERSION_1 = (
    "CREATE TABLE tenants (id TEXT PRIMARY KEY, slug TEXT NOT NULL UNIQUE) WITHOUT ROWID",
    "CREATE TABLE projects (id TEXT PRIMARY KEY, tenant_id TEXT NOT NULL REFERENCES tenants(id),"
    " slug TEXT NOT NULL, UNIQUE (tenant_id, slug)) WITHOUT ROWID",
    "CREATE TABLE identities (project_id TEXT NOT NULL REFERENCES projects(id),"
    " canonical TEXT NOT NULL, display TEXT NOT NULL, first_seen_at TEXT NOT NULL,"
    " last_seen_at TEXT NOT NULL, human INTEGER NOT NULL DEFAULT 0,"
    " PRIMARY KEY (project_id, canonical)) WITHOUT ROWID",
    f"CREATE TABLE signal_queue ({_SIGNAL})",
    "CREATE INDEX idx_signal_queue_undelivered ON signal_queue (to_identity, delivered_at)"
    " WHERE delivered_at IS NULL",
    f"CREATE INDEX idx_signal_queue_thread ON signal_queue (thread_id) WHERE {THREADED}",
    "CREATE INDEX idx_signal_queue_project ON signal_queue (project_id)",
    f"CREATE INDEX idx_signal_queue_closed ON signal_queue (created_at) WHERE {CLOSED}",
    f"CREATE TABLE signal_delivery ({_DELIVERY}) WITHOUT ROWID",
    "CREATE INDEX idx_signal_delivery_inbox"
    f" ON signal_delivery (project_id, recipient, state, seq) WHERE {UNREAD}",
    "CREATE INDEX idx_signal_delivery_unacted"
    f" ON signal_delivery (project_id, recipient, session_id, seq) WHERE {UNACTED}",
    "CREATE INDEX idx_signal_delivery_unconfirmed ON signal_delivery (project_id, recipient, seq)"
    f" WHERE {UNCONFIRMED}",
    "CREATE INDEX idx_signal_delivery_dead ON signal_delivery (project_id, recipient)"
    f" WHERE {DEAD}",
    f"CREATE INDEX idx_signal_delivery_expiry ON signal_delivery (expires_at) WHERE {EXPIRING}",
    "CREATE INDEX idx_signal_delivery_postponed ON signal_delivery (project_id, recipient)"
    f" WHERE {POSTPONED}",
    f"CREATE TABLE signal_archive ({_SIGNAL})",
    f"CREATE INDEX idx_signal_archive_thread ON signal_archive (thread_id) WHERE {THREADED}",
    "CREATE INDEX idx_signal_archive_project ON signal_archive (project_id)",
    f"CREATE TABLE signal_delivery_archive ({_DELIVERY}) WITHOUT ROWID",
    "CREATE INDEX idx_signal_delivery_archive_recipient"
    " ON signal_delivery_archive (project_id, recipient, seq)",
    "CREATE TABLE rate_counters (project_id TEXT NOT NULL, key TEXT NOT NULL,"
    " recent BLOB NOT NULL, ends_at TEXT NOT NULL, PRIMARY KEY (project_id, key)) WITHOUT ROWID",
    "CREATE TABLE idempotency (project_id TEXT NOT NULL, sender TEXT NOT NULL, key TEXT NOT NULL,"
    " signal_id TEXT NOT NULL, digest TEXT NOT NULL, expires_at TEXT NOT NULL,"
    " PRIMARY KEY (project_id, sender, key)) WITHOUT ROWID",
    "CREATE TABLE sessions (session_id TEXT PRIMARY KEY,"
    " project_id TEXT NOT NULL REFERENCES projects(id), identity TEXT NOT NULL,"
    " canonical TEXT NOT NULL, surface TEXT NOT NULL, route TEXT NOT NULL,"
    " can_push INTEGER NOT NULL, can_wake INTEGER NOT NULL,"
    " boot_id TEXT, process_id INTEGER, process_started TEXT,"
    " client_boot_id TEXT, client_process_id INTEGER, client_started TEXT,"
    " claim TEXT NOT NULL, human INTEGER NOT NULL, token_hash TEXT NOT NULL,"
    " registered_at TEXT NOT NULL, heartbeat_at TEXT NOT NULL, last_verb_at TEXT,"
    " expires_at TEXT NOT NULL, stands INTEGER, ended_at TEXT, ended_reason TEXT) WITHOUT ROWID",
    "CREATE INDEX idx_sessions_live ON sessions (project_id, canonical) WHERE ended_at IS NULL",
    "CREATE INDEX idx_sessions_ended ON sessions (ended_at) WHERE ended_at IS NOT NULL",
    "CREATE TABLE masters (project_id TEXT PRIMARY KEY REFERENCES projects(id),"
    " session_id TEXT NOT NULL, since TEXT NOT NULL) WITHOUT ROWID",
)

MIGRATIONS: tuple[tuple[str, ...], ...] = (_VERSION_1,)
"""`MIGRATIONS[n]` takes a file from version n to n + 1. Released ones are never edited."""


def check_library(version: tuple[int, int, int] = sqlite3.sqlite_version_info) -> None:
    """Check that Python's SQLite library is new enough.

    Raises:
        UnsupportedSQLite: It is not.
    """
    if version < OLDEST_SQLITE:
        raise UnsupportedSQLite(
            f"This Python brings SQLite {'.'.join(map(str, version))}; Prism Signals needs "
            f"{'.'.join(map(str, OLDEST_SQLITE))} or newer. Use a newer Python."
        )


def schema_version(connection: sqlite3.Connection) -> int:
    """The version of the file's tables; 0 where it is empty."""
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def needs_migration(connection: sqlite3.Connection, path: Path) -> bool:
    """Whether the file is older than this program (or empty).

    Raises:
        SchemaTooNew: It was written by a newer version.
        StoreUnavailable: It is another program's database.
    """
    version = schema_version(connection)
    application = int(connection.execute("PRAGMA application_id").fetchone()[0])
    empty = connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone() is None
    if application != APPLICATION_ID and not (empty and version == 0 and application == 0):
        raise StoreUnavailable(
            f"The store {path} is another program's database. Name another file in "
            "PRISM_STORE_URL.",
            path=str(path),
        )
    if version > len(MIGRATIONS):
        raise SchemaTooNew(
            f"The store {path} has schema version {version}; this version of Prism Signals knows "
            f"versions up to {len(MIGRATIONS)}. Upgrade prism-signals-store-sqlite, or name "
            "another file in PRISM_STORE_URL.",
            path=str(path),
        )
    return version < len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, path: Path) -> None:
    """Bring the file up to date; the caller holds the write lock and an open transaction."""
    if not needs_migration(connection, path):
        return  # another process was quicker
    version = schema_version(connection)
    for step in MIGRATIONS[version:]:
        for statement in step:
            connection.execute(statement)
    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    connection.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
