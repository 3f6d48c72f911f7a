"""Time as a dependency: everything that compares or waits asks a `Clock`."""

from __future__ import annotations

import time
from datetime import UTC, datetime, timedelta
from typing import Protocol


class Clock(Protocol):
    """Tells the time."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        ...


class SystemClock:
    """The machine's own clock."""

    def now(self) -> datetime:
        """The time of day, aware, in UTC."""
        return datetime.fromtimestamp(time.time(), UTC)


class ManualClock:
    """A clock for tests: it stands still until it is moved."""

    def __init__(self, start: datetime | None = None) -> None:
        self._now = start or datetime(2026, 1, 1, tzinfo=UTC)

    def now(self) -> datetime:
        """The time that was set last."""
        return self._now

    def advance(self, by: timedelta | float) -> None:
        """Move forward by a duration (a bare number is in seconds)."""
        self._now += by if isinstance(by, timedelta) else timedelta(seconds=by)


def iso(moment: datetime) -> str:
    """A moment as ISO 8601 in UTC, in fixed width: the order of the texts is the order in time."""
    # Not strftime, which takes three times as long: every row of a store carries several of these.
    return moment.astimezone(UTC).isoformat(timespec="microseconds").replace("+00:00", "Z")


def from_iso(text: str) -> datetime:
    """Read an ISO 8601 moment (any offset; without one it is UTC) as an aware UTC datetime.

    Raises:
        ValueError: The text is not an ISO 8601 moment.
    """
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
