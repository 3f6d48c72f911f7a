"""What a gateway can offer to a strategy. A strategy asks its context for one of these types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

from ..model.signal import Signal


@runtime_checkable
class ClientNotifications(Protocol):
    """Sends MCP notifications on this client's connection, outside any request."""

    @property
    def declared(self) -> frozenset[str]:
        """Experimental capabilities that this server declared at the handshake."""
        ...

    async def notify(self, method: str, params: Mapping[str, Any]) -> None:
        """Write one notification to the connection; it ends within a deadline of its own.

        Raises:
            ConnectionError: No complete notification was written, nor will be: the connection is
                closed, or the client does not read.
            TimeoutError: The client stopped reading in the middle; it may still read the rest.
        """
        ...


@runtime_checkable
class AnswerBuilder(Protocol):
    """The answer to a verb that is being built right now; offered only while that happens."""

    def add(self, signal: Signal) -> bool:
        """Put the signal into the answer; False where there is no room for it in this one."""
        ...


@dataclass(frozen=True, slots=True)
class HandshakeNeeds:
    """What a strategy needs from the MCP handshake.

    Attributes:
        experimental: Experimental capabilities to declare, by name.
        unsolicited: It sends notifications that nobody asked for, which only protocol revisions up
            to 2025-11-25 allow: the gateway then serves those only.
    """

    experimental: Mapping[str, Mapping[str, Any]]
    unsolicited: bool = False
