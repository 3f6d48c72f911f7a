"""Search for a text, without case and without wildcards."""

from __future__ import annotations

import json
import sqlite3

CONTAINS = "prism_contains"
"""SQL function: whether one of the texts contains the needle; see `needles`."""


def install_search(connection: sqlite3.Connection) -> None:
    """Make `prism_contains(plain, escaped, type, sender, payload)` known to a connection.

    SQL's LIKE is no substitute: it folds only ASCII and gives `%` and `_` a meaning.
    """
    connection.create_function(CONTAINS, 5, _contains, deterministic=True)


def needles(text: str) -> tuple[str, str]:
    """What to look for in plain text, and in JSON text."""
    folded = text.casefold()
    return folded, json.dumps(text, ensure_ascii=False)[1:-1].casefold()


def _contains(plain: str, escaped: str, signal_type: str, sender: str, payload: str) -> bool:
    return (
        plain in signal_type.casefold()
        or plain in sender.casefold()
        or escaped in payload.casefold()
    )
