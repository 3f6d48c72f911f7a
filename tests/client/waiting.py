"""Waiting for something another process does, always under a deadline."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PATIENCE = 20.0
"""Seconds that anything may take on a busy machine, unless a test is about time."""
_LOOK_AGAIN = 0.01


class Patience(AssertionError):
    """It did not happen in time."""


def until(look: Callable[[], T | None], what: str, within: float = PATIENCE) -> T:
    """Look until there is something true to see, and give it.

    For what sends no event to wait on: rows of a database, entries of the process table.

    Raises:
        Patience: There was nothing in time.
    """
    deadline = time.monotonic() + within
    while True:
        seen = look()
        if seen:
            return seen
        if time.monotonic() > deadline:
            raise Patience(f"not within {within:g} s: {what}")
        time.sleep(_LOOK_AGAIN)
