"""One signal with all its deliveries, wherever it is kept."""

from __future__ import annotations

import sqlite3

from prism_signals import Entry, Scope

from .rows import DELIVERY_COLUMNS, SIGNAL_COLUMNS, delivery_from, signal_from
from .schema import THREADED

HOT = ("signal_queue", "signal_delivery")
ARCHIVE = ("signal_archive", "signal_delivery_archive")
"""The two places: a table of signals and one of deliveries, with the same columns in both."""
PLACES = (HOT, ARCHIVE)

THREAD = (
    "(SELECT id FROM {signals} WHERE signal_id = :thread AND thread_id = :thread UNION ALL"
    f" SELECT id FROM {{signals}} WHERE thread_id = :thread AND {THREADED})"
)
"""The numbers of a thread's signals. Its root is found by its id: most signals are never answered,
and an index of threads that leaves them out makes `put` cheaper."""


def find_entry(
    connection: sqlite3.Connection, scope: Scope, project: str, signal_id: str
) -> Entry | None:
    """The signal of this project with this id, archived or not."""
    bare: Entry | None = None
    for signals, deliveries in PLACES:
        row = connection.execute(
            f"SELECT {SIGNAL_COLUMNS} FROM {signals} q WHERE q.signal_id = ? AND q.project_id = ?",
            (signal_id, project),
        ).fetchone()
        if row is not None:
            rows = connection.execute(
                f"SELECT {DELIVERY_COLUMNS} FROM {deliveries} d WHERE d.signal_id = ?"
                " ORDER BY d.recipient, d.to_session",
                (signal_id,),
            )
            found = tuple(delivery_from(r) for r in rows.fetchall())
            entry = Entry(signal_from(row, scope), found)
            if found:
                return entry
            bare = bare or entry  # nobody's; or it is being archived just now: look there too
    return bare
