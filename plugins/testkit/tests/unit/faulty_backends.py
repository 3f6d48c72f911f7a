"""Buses and directories with one fault each, made from the reference."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import replace
from datetime import timedelta
from typing import Any

import anyio

from prism_signals import (
    Bell,
    Clock,
    Departure,
    Heartbeat,
    MemoryBackend,
    Registered,
    Registration,
    Scope,
    Session,
    SessionId,
    SessionToken,
)
from prism_signals_testkit import BusHarness, DirectoryHarness


class WrappedBus:
    """Hands everything on to the reference; a fault overrides one verb."""

    def __init__(self, backend: MemoryBackend) -> None:
        self.bus = backend.bus
        self.left: list[str] = []

    def __getattr__(self, verb: str) -> Any:
        return getattr(self.bus, verb)


class WaitsForReceivers(WrappedBus):
    """A ring waits until somebody listens."""

    async def ring(self, bell: Bell) -> None:
        """Never comes back where there is none."""
        if not any(s in bell.sessions for _, s in self.bus.listeners):
            await anyio.sleep_forever()
        await self.bus.ring(bell)


class RingsEverybody(WrappedBus):
    """A ring reaches everybody in the project."""

    async def ring(self, bell: Bell) -> None:
        """Rings as for a broadcast."""
        await self.bus.ring(replace(bell, broadcast=True))


class CrossesProjects(WrappedBus):
    """A broadcast reaches every project."""

    async def ring(self, bell: Bell) -> None:
        """Rings in each scope."""
        for scope in {s for s, _ in self.bus.listeners} if bell.broadcast else [bell.scope]:
            await self.bus.ring(replace(bell, scope=scope))


class LeavesSockets(WrappedBus):
    """Leaves something when a listener goes."""

    @asynccontextmanager
    async def listen(
        self, scope: Scope, session_id: SessionId
    ) -> AsyncIterator[AsyncIterator[Bell]]:
        """Cleans up only after a good end."""
        self.left.append(session_id)
        async with self.bus.listen(scope, session_id) as bells:
            yield bells
        self.left.remove(session_id)


class SubscribesLate(WrappedBus):
    """Is not ready when it is entered: the first ring after that is lost."""

    async def ring(self, bell: Bell) -> None:
        """Reaches a session from the second ring on."""
        fresh = [s for s in bell.sessions if s not in self.left]
        self.left += fresh
        if not fresh:
            await self.bus.ring(bell)


class NeverPolls(WrappedBus):
    """Trusts its bells."""

    poll_interval = timedelta(0)


BUS_FAULTS: dict[str, Callable[[MemoryBackend], WrappedBus]] = {
    "waits_for_receivers": WaitsForReceivers,
    "rings_everybody": RingsEverybody,
    "crosses_projects": CrossesProjects,
    "leaves_sockets": LeavesSockets,
    "subscribes_late": SubscribesLate,
    "never_polls": NeverPolls,
}


class FaultyBuses(BusHarness):
    """Opens the reference through one fault, or through none."""

    patience = 0.25
    durable = False
    wire = False

    def __init__(self, fault: str | None = None) -> None:
        self._fault = BUS_FAULTS[fault] if fault else WrappedBus
        self._opened: WrappedBus | None = None

    @asynccontextmanager
    async def open(self, clock: Clock) -> AsyncIterator[Any]:
        """One bus, whatever the number of handles."""
        self._opened = self._opened or self._fault(MemoryBackend(clock))
        yield self._opened

    def leftovers(self) -> Sequence[str]:
        """Listeners, and what a fault leaves."""
        if self._opened is None:
            return ()
        return [*map(repr, self._opened.bus.listeners), *self._opened.left]


class WrappedDirectory:
    """Hands everything on to the reference; a fault overrides one verb."""

    def __init__(self, backend: MemoryBackend) -> None:
        self.directory = backend.directory
        self.told: dict[str, Any] = {}

    def __getattr__(self, verb: str) -> Any:
        return getattr(self.directory, verb)


class TrustsHeartbeats(WrappedDirectory):
    """Routes to the newest heartbeat, whatever the agent does."""

    async def resolve(self, scope: Scope, canonical: str) -> Session | None:
        """Looks at no verb."""
        found = await self.directory.sessions(scope, canonical)
        return max(found, key=lambda s: (s.heartbeat_at, s.session_id), default=None)


class SweepsTwice(WrappedDirectory):
    """Tells a departure to whoever asks."""

    async def sweep(self, limit: int = 100) -> Sequence[Departure]:
        """Remembers what it told."""
        gone: list[Departure] = self.told.setdefault("gone", [])
        gone += await self.directory.sweep(limit)
        return gone[:limit]


class RevivesReleased(WrappedDirectory):
    """Says `expired` of a session that was released, so that it registers again."""

    async def heartbeat(self, session_id: SessionId, token: SessionToken) -> Heartbeat:
        """Knows no final end."""
        verdict = await self.directory.heartbeat(session_id, token)
        return Heartbeat.EXPIRED if verdict is Heartbeat.RELEASED else verdict


class ShowsTokens(WrappedDirectory):
    """Has tokens whose repr tells them."""

    async def register(self, registration: Registration) -> Registered:
        """Gives a token of its own making."""
        done = await self.directory.register(registration)
        secret = done.token.reveal()

        class Loud(SessionToken):
            __slots__ = ()

            def __repr__(self) -> str:
                return f"SessionToken({secret})"

        return replace(done, token=Loud(secret))


class BelievesAnyToken(WrappedDirectory):
    """Lets anybody speak for a session."""

    async def register(self, registration: Registration) -> Registered:
        """Remembers the right token."""
        done = await self.directory.register(registration)
        self.told[registration.session_id] = done.token
        return done

    async def engage(self, session_id: SessionId, token: SessionToken) -> bool:
        """Uses it for whoever asks."""
        return await self.directory.engage(session_id, self.told.get(session_id, token))


DIRECTORY_FAULTS: dict[str, Callable[[MemoryBackend], WrappedDirectory]] = {
    "trusts_heartbeats": TrustsHeartbeats,
    "sweeps_twice": SweepsTwice,
    "revives_released": RevivesReleased,
    "shows_tokens": ShowsTokens,
    "believes_any_token": BelievesAnyToken,
}


class FaultyDirectories(DirectoryHarness):
    """Opens the reference through one fault, or through none."""

    durable = False

    def __init__(self, fault: str | None = None) -> None:
        self._fault = DIRECTORY_FAULTS[fault] if fault else WrappedDirectory
        self._opened: WrappedDirectory | None = None

    @asynccontextmanager
    async def open(self, clock: Clock) -> AsyncIterator[Any]:
        """One directory, whatever the number of handles."""
        self._opened = self._opened or self._fault(MemoryBackend(clock))
        yield self._opened
