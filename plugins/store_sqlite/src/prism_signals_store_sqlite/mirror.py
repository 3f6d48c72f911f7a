"""Keeps SPEC-034's `delivered_at` and `delivery_method` of a signal in step with its deliveries."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable
from datetime import datetime

from prism_signals import iso

_CLOSE = """
UPDATE signal_queue SET
  closed_at = coalesce(closed_at, :now),
  delivered_at = (SELECT max(delivered_at) FROM signal_delivery d
                  WHERE d.signal_id = signal_queue.signal_id),
  delivery_method = (SELECT CASE WHEN min(delivery_method) = max(delivery_method)
                            THEN min(delivery_method) ELSE 'mixed' END
                     FROM signal_delivery d
                     WHERE d.signal_id = signal_queue.signal_id AND delivered_at IS NOT NULL
                     HAVING count(*) > 0)
WHERE id = :seq
  AND NOT EXISTS (SELECT 1 FROM signal_delivery d
                  WHERE d.signal_id = signal_queue.signal_id AND state IN ('pending', 'leased')
                    AND d.delivered_at IS NULL)
"""


def close_signals(connection: sqlite3.Connection, seqs: Iterable[int], now: datetime) -> None:
    """Note of each of these signals that nothing of it is on its way any more, if that is so.

    `closed_at` is for the archive; the other two are what a reader of SPEC-034's table looks at,
    and follow from the deliveries that were made.
    """
    at = iso(now)
    connection.executemany(_CLOSE, [{"seq": seq, "now": at} for seq in sorted(set(seqs))])
