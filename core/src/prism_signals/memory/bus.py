"""The bus in memory: one bounded queue per listener."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta

import anyio
from anyio.lowlevel import checkpoint
from anyio.streams.memory import MemoryObjectSendStream

from ..contract.bus import Bell
from ..model.ids import SessionId
from ..model.names import Scope

_QUEUE = 64
_POLL = timedelta(seconds=0.5)


class MemoryBus:
    """Implements `Bus`."""

    def __init__(self) -> None:
        self._listeners: list[tuple[Scope, SessionId, MemoryObjectSendStream[Bell]]] = []

    @property
    def listeners(self) -> list[tuple[Scope, SessionId]]:
        """Who listens now."""
        return [(scope, session_id) for scope, session_id, _ in self._listeners]

    @property
    def poll_interval(self) -> timedelta:
        """How long to wait at most before looking without a ring."""
        return _POLL

    async def ring(self, bell: Bell) -> None:
        """Ring, without waiting for anybody; a listener whose queue is full has rings enough."""
        await checkpoint()
        for scope, session_id, queue in tuple(self._listeners):
            if scope == bell.scope and (bell.broadcast or session_id in bell.sessions):
                try:
                    queue.send_nowait(bell)
                except (anyio.WouldBlock, anyio.BrokenResourceError):
                    continue

    @asynccontextmanager
    async def listen(
        self, scope: Scope, session_id: SessionId
    ) -> AsyncIterator[AsyncIterator[Bell]]:
        """Hear the rings for one session while the context is open."""
        queue, bells = anyio.create_memory_object_stream[Bell](_QUEUE)
        listener = (scope, session_id, queue)
        self._listeners.append(listener)
        try:
            with queue, bells:
                yield bells
        finally:
            self._listeners.remove(listener)
