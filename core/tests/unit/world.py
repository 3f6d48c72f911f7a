"""A world for tests of agents: one in-memory backend that several of them share."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel

from prism_signals import (
    CONFIRMED,
    HANDED_OVER,
    Agent,
    AnswerBuilder,
    BackendURL,
    BusPlugin,
    Clock,
    DeliveryOutcome,
    DirectoryPlugin,
    ManualClock,
    MemoryBackend,
    Prism,
    Registry,
    Settings,
    Signal,
    SignalDeliveryStrategy,
    StorePlugin,
    StrategyContext,
    StrategyPlugin,
    deferred,
    hookimpl,
)

PID = "PID-PGR01"
REVIEW = {"spec_id": "SPEC-033", "instructions": "Summarize it."}


class Floor(SignalDeliveryStrategy):
    def __init__(self, context: StrategyContext) -> None:
        self._context = context

    async def deliver(self, signal: Signal) -> DeliveryOutcome:
        answer = self._context.offered(AnswerBuilder)
        return HANDED_OVER if answer and answer.add(signal) else deferred("no room")

    def supports_push(self) -> bool:
        return False


class Pusher(SignalDeliveryStrategy):
    """Shows signals in a list; what it answers can be scripted."""

    def __init__(self, world: World) -> None:
        self._world = world

    async def deliver(self, signal: Signal) -> DeliveryOutcome | bool:
        return await self._world.act(signal)

    def supports_push(self) -> bool:
        return True


class Between:
    """Stands before a store, directory or bus; a call can be made to do something else first."""

    def __init__(self, port: Any) -> None:
        self._port = port
        self.first: dict[str, Callable[..., Awaitable[None]]] = {}

    def __getattr__(self, name: str) -> Any:
        real = getattr(self._port, name)
        if name not in self.first:
            return real

        async def call(*args: Any, **named: Any) -> Any:
            if name in self.first:
                await self.first[name](*args)
            return await real(*args, **named)

        return call


class World:
    """One backend and plugins that several agents share; `shown` is what models saw by push."""

    def __init__(self) -> None:
        self.clock = ManualClock()
        self.backend = MemoryBackend(self.clock)
        self.store = Between(self.backend.store)
        self.directory = Between(self.backend.directory)
        self.bus = Between(self.backend.bus)
        self.shown: list[Signal] = []
        self.act: Callable[[Signal], Awaitable[DeliveryOutcome | bool]] = self.confirm
        self.changed = anyio.Event()
        self.more: tuple[object, ...] = ()

    async def confirm(self, signal: Signal) -> DeliveryOutcome:
        self.shown.append(signal)
        self.changed.set()
        self.changed = anyio.Event()
        return CONFIRMED

    async def shows(self, count: int) -> list[Signal]:
        with anyio.fail_after(5):
            while len(self.shown) < count:
                await self.changed.wait()
        return self.shown

    @hookimpl
    def prism_strategies(self) -> list[StrategyPlugin]:
        @asynccontextmanager
        async def floor(settings: Any, context: StrategyContext) -> AsyncIterator[Floor]:
            yield Floor(context)

        @asynccontextmanager
        async def push(settings: Any, context: StrategyContext) -> AsyncIterator[Pusher]:
            yield Pusher(self)

        return [
            StrategyPlugin("piggyback", ("*",), floor, rank=1000),
            StrategyPlugin("push", ("pushy",), push, wakes=True),
        ]

    @hookimpl
    def prism_stores(self) -> list[StorePlugin]:
        return [StorePlugin("memory", ("memory",), self._open(lambda: self.store))]

    @hookimpl
    def prism_directories(self) -> list[DirectoryPlugin]:
        return [DirectoryPlugin("memory", ("memory",), self._open(lambda: self.directory))]

    @hookimpl
    def prism_buses(self) -> list[BusPlugin]:
        return [BusPlugin("memory", ("memory",), self._open(lambda: self.bus))]

    def _open(self, get: Callable[[], Any]) -> Any:
        @asynccontextmanager
        async def opener(url: BackendURL, clock: Clock) -> AsyncIterator[Any]:
            yield get()

        return opener

    @asynccontextmanager
    async def prism(self, **settings: Any) -> AsyncIterator[Prism]:
        chosen = {
            "store_url": "memory:",
            "project": PID,
            "register_after": 0.0,
            "delivery_wait": 2.0,
            **settings,
        }
        async with Prism.open(
            Settings.load(**chosen), registry=Registry.of(self, *self.more), clock=self.clock
        ) as prism:
            yield prism

    @asynccontextmanager
    async def agent(
        self, name: str | None, surface: str = "desktop", **s: Any
    ) -> AsyncIterator[Agent]:
        async with (
            self.prism(agent_identity=name, agent_surface=surface, **s) as prism,
            prism.host() as agent,
        ):
            yield agent
