"""Strategies in the shape of SPEC-034 §7.1, each broken in one way."""

from __future__ import annotations

import asyncio
import os
from typing import Any


class Raising:
    """A bug in `deliver`."""

    async def deliver(self, signal: Any) -> Any:
        """Raise."""
        raise RuntimeError("the surface is not what I thought")

    def supports_push(self) -> bool:
        """It would push."""
        return True


class Hanging(Raising):
    """Never answers."""

    async def deliver(self, signal: Any) -> Any:
        """Wait for ever."""
        await asyncio.Event().wait()


class Stubborn(Raising):
    """Never answers, and does not let itself be cancelled either."""

    async def deliver(self, signal: Any) -> Any:
        """Wait for ever, whatever happens."""
        while not os.environ.get("NEVER_SET"):
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError:
                continue


class Exiting(Raising):
    """Ends the program."""

    async def deliver(self, signal: Any) -> Any:
        """Call `exit`, as a script would."""
        raise SystemExit(3)


class Nonsense(Raising):
    """Answers something that means nothing."""

    async def deliver(self, signal: Any) -> Any:
        """Give a text."""
        return "delivered, I think"


class Silent(Raising):
    """Forgets to answer."""

    async def deliver(self, signal: Any) -> Any:
        """Give nothing."""
        return None


class Cancelling(Raising):
    """Cancels the task it runs in."""

    async def deliver(self, signal: Any) -> Any:
        """Raise what only the event loop should."""
        raise asyncio.CancelledError


class Grouping(Raising):
    """Raises several errors at once."""

    async def deliver(self, signal: Any) -> Any:
        """Raise a group."""
        raise ExceptionGroup("both", [ValueError("one"), OSError("two")])


class Unbuildable(Raising):
    """Cannot even be made."""

    def __init__(self) -> None:
        raise RuntimeError("no surface here")


class Unsure(Raising):
    """Cannot say whether it pushes."""

    def supports_push(self) -> bool:
        """Raise."""
        raise RuntimeError("who knows")
