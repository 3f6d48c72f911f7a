"""One client's connection: what it can carry, and when the agent behind it counts as connected."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio

from prism_signals import Agent

from .outbox import Outbox


class Push:
    """Sends notifications nobody asked for; implements `ClientNotifications`.

    Args:
        outbox: Where they go.
        declared: Experimental capabilities that were declared at the handshake.
        within: Seconds until one is given up.
    """

    def __init__(self, outbox: Outbox, declared: frozenset[str], within: float) -> None:
        self._outbox = outbox
        self._declared = declared
        self._within = within

    @property
    def declared(self) -> frozenset[str]:
        """Experimental capabilities that this server declared at the handshake."""
        return self._declared

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Write one notification.

        Raises:
            ConnectionError: Nothing of it was written that the client could read, nor will be: the
                connection is closed, or the client reads nothing.
            TimeoutError: The client stopped reading in the middle of it.
        """
        frame = {"jsonrpc": "2.0", "method": method, "params": params}
        try:
            sent = self._outbox.post(json.dumps(frame, ensure_ascii=False, separators=(",", ":")))
        except anyio.ClosedResourceError:
            raise ConnectionError("the client has closed the connection") from None
        try:
            with anyio.move_on_after(self._within):
                await sent.ended.wait()
        finally:
            withdrawn = not sent.ended.is_set() and self._outbox.withdraw(sent)
        if sent.written:
            return
        if withdrawn:
            raise ConnectionError("the client does not read")
        if sent.ended.is_set():  # it broke within a line, which nobody can read as a frame
            raise ConnectionError("the client has closed the connection")
        raise TimeoutError("the client stopped reading in the middle of a notification")


class Connection:
    """Connects the agent once, when the client is ready for it.

    Args:
        agent: The agent on the other side.
        push: What the connection can carry unasked.
    """

    def __init__(self, agent: Agent, push: Push) -> None:
        self.agent = agent
        self._push = push
        self._connected = False

    def initialized(self) -> None:
        """The handshake is over: from now on notifications may be sent, and not before."""
        if not self._connected:
            self.agent.offer(self._push)
        self._connect()

    def requested(self, *, modern: bool) -> None:
        """A request came that is no discovery; where there is no handshake, the first one counts.

        Nothing is offered then: such a revision knows no notification that nobody asked for.
        """
        if modern:
            self._connect()

    def _connect(self) -> None:
        if not self._connected:
            self._connected = True
            self.agent.connected()
