"""Fills a store with many signals quickly: real ones are made once, then copied by SQL."""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from contextlib import closing

from .home import Home
from .recorded import raw_connection

_CHUNK = 50_000
_NUMBERS = "WITH RECURSIVE numbers(n) AS (SELECT ? UNION ALL SELECT n + 1 FROM numbers WHERE n < ?)"


def multiply(home: Home, originals: Sequence[str], count: int) -> None:
    """Copy these signals, with their deliveries, in turn until there are `count` more.

    The copies are older than everything else in the order of the store where the originals are.
    """
    with closing(raw_connection(home.store)) as connection:
        connection.execute("PRAGMA synchronous = OFF")  # filling is not what is measured
        base = int(connection.execute("SELECT max(id) FROM signal_queue").fetchone()[0])
        columns = {
            table: [row[1] for row in connection.execute(f"PRAGMA table_info({table})")]
            for table in ("signal_queue", "signal_delivery")
        }
        share = count // len(originals)
        for original in originals:
            for first in range(0, share, _CHUNK):
                last = min(first + _CHUNK, share)
                _copy(connection, columns, original, base + first, base + last)
            base += share
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()


def _copy(
    connection: sqlite3.Connection,
    columns: dict[str, list[str]],
    original: str,
    low: int,
    high: int,
) -> None:
    """Rows numbered `low + 1` to `high`; their ids are made of the number, so none repeats."""
    fresh = "printf('%08x-0000-7000-8000-%012x', n, n)"
    changed = {"id": "n", "seq": "n", "signal_id": fresh, "thread_id": fresh}
    connection.execute("BEGIN")
    for table, names in columns.items():
        chosen = ", ".join(changed.get(name, f"o.{name}") for name in names)
        connection.execute(
            f"{_NUMBERS} INSERT INTO {table} ({', '.join(names)})"  # noqa: S608 - our own names
            f" SELECT {chosen} FROM numbers, {table} o WHERE o.signal_id = ?",
            (low + 1, high, original),
        )
    connection.execute("COMMIT")
