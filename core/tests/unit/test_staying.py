"""A session that stays: registered again, with its route as it is, through trouble."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core.tests.unit.world import PID, Floor, Pusher, World
from prism_signals import (
    Agent,
    DeliveryOutcome,
    Query,
    Scope,
    Session,
    Signal,
    StoreBusy,
    StrategyContext,
    StrategyPlugin,
    StrategyUnavailable,
    deferred,
    hookimpl,
    refused,
)
from prism_signals.engine import attendance, presence

pytestmark = pytest.mark.anyio

SOON = 0.01


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(presence, "_PAUSE", SOON)
    monkeypatch.setattr(attendance, "_RETRY", SOON)
    # Sessions end by time, as those of another machine do.
    monkeypatch.setattr("prism_signals.memory.directory.lives", lambda _: None)


async def donnas(world: World) -> list[Session]:
    return list(await world.backend.directory.sessions(Scope("default", PID), "donna"))


async def until(what: Callable[[], Awaitable[Any]]) -> None:
    with anyio.fail_after(5):
        while not await what():
            await anyio.lowlevel.checkpoint()


def failing(world: World, times: int) -> Callable[..., Awaitable[None]]:
    left = [times]

    async def fail(*args: Any) -> None:
        if left[0] > 0:
            left[0] -= 1
            raise StoreBusy

    return fail


async def connected(world: World, agent: Agent) -> None:
    agent.connected()
    await until(lambda: donnas(world))


async def test_an_expired_session_registers_again_though_the_first_try_fails(world: World) -> None:
    async with world.agent("Donna", heartbeat=SOON) as donna:
        await donna.start()
        world.directory.first["register"] = failing(world, 2)
        world.clock.advance(91)
        assert await donnas(world) == []
        await until(lambda: donnas(world))
        assert (await donna.status())["identity"] == "Donna"


async def test_what_came_while_it_was_thought_to_be_gone_is_pushed_to_it(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy", heartbeat=SOON) as donna:
        await lola.start()
        world.clock.advance(1)
        await connected(world, donna)
        hold, held = anyio.Event(), anyio.Event()

        async def wait(*args: Any) -> None:
            held.set()
            await hold.wait()

        world.directory.first["register"] = wait
        world.clock.advance(91)
        with anyio.fail_after(5):
            await held.wait()
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
        assert sent["recipient_state"]["state"] == "away"
        world.clock.advance(1)
        hold.set()
        (shown,) = await world.shows(1)
        assert shown.signal_id == sent["signal_id"]


async def test_a_configured_agent_registers_when_the_store_is_free_again(world: World) -> None:
    world.store.first["seen"] = failing(world, 1)
    world.directory.first["register"] = failing(world, 1)
    async with world.agent("Donna") as donna:
        await connected(world, donna)


async def test_a_plugin_that_breaks_the_registration_does_not_end_the_process(world: World) -> None:
    broke = anyio.Event()

    async def bug(*args: Any) -> None:
        broke.set()
        raise RuntimeError("a bug in a plugin")

    world.directory.first["register"] = bug
    async with world.agent("Donna") as donna:
        donna.connected()
        with anyio.fail_after(5):
            await broke.wait()
        world.directory.first.clear()
        assert (await donna.status())["identity"] == "Donna"


class News:
    """A capability that comes late."""


class Late:
    """A strategy that needs it."""

    def __init__(self, world: World) -> None:
        self._world = world

    @hookimpl
    def prism_strategies(self) -> list[StrategyPlugin]:
        @asynccontextmanager
        async def late(settings: Any, context: StrategyContext) -> AsyncIterator[Pusher]:
            if context.offered(News) is None:
                raise StrategyUnavailable("no news")
            yield Pusher(self._world)

        return [StrategyPlugin("late", ("*",), late)]


@pytest.mark.parametrize("while_opening", [True, False])
async def test_peers_learn_what_can_reach_a_session_when_that_changes(
    world: World, while_opening: bool
) -> None:
    world.more = (Late(world),)
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        world.clock.advance(1)

        async def offer(*args: Any) -> None:
            world.directory.first.clear()
            donna.offer(News())

        if while_opening:
            world.directory.first["register"] = offer
        await donna.start()
        if not while_opening:
            sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
            assert sent["recipient_state"] == {"state": "live", "can_wake": False}
            await offer()

        async def told() -> bool:
            (session,) = await donnas(world)
            return session.registration.can_push

        await until(told)
        (session,) = await donnas(world)
        assert session.registration.route == ("late", "piggyback")
        assert session.last_verb_at is not None
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
        assert sent["delivered"]
        assert sent["recipient_state"] == {"state": "live", "can_wake": True}
        page = await world.backend.store.history(Query(Scope("default", PID), recipient="lola"))
        assert [e.signal.signal_type for e in page.entries] == ["PeerJoined"]


class LateFloor:
    """A floor that cannot be opened at first; it counts what it is asked outside of answers."""

    def __init__(self) -> None:
        self.pushed = 0

    @hookimpl
    def prism_strategies(self) -> list[StrategyPlugin]:
        outer = self

        class Counting(Floor):
            async def deliver(self, signal: Signal) -> DeliveryOutcome:
                outcome = await super().deliver(signal)
                outer.pushed += not outcome
                return outcome

        @asynccontextmanager
        async def late(settings: Any, context: StrategyContext) -> AsyncIterator[Floor]:
            if context.offered(News) is None:
                raise StrategyUnavailable("no news")
            yield Counting(context)

        return [StrategyPlugin("late_floor", ("bare",), late)]


async def test_a_floor_that_opens_late_is_not_asked_to_push(world: World) -> None:
    world.more = (late := LateFloor(),)
    route = {"bare": ["late_floor", "push"]}
    world.act = refusing
    async with (
        world.agent("Lola", delivery_wait=0) as lola,
        world.agent("Donna", "bare", strategy_map=route) as donna,
    ):
        await lola.start()
        started = await donna.start()
        assert [s["state"] for s in started["context"]["route"]] == ["skipped", "taken"]
        donna.offer(News())

        async def open_now() -> bool:
            return bool((await donna.status())["route"][0]["state"] == "floor")

        await until(open_now)
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})

        async def refused_by_the_push() -> bool:
            track = await lola.status(signal_id=sent["signal_id"])
            return bool(track["deliveries"][0]["last_error"])

        await until(refused_by_the_push)
        assert late.pushed == 0
        (got,) = [p for p in (await donna.status())["pending_signals"] if p["from"] == "Lola"]
        assert got["redelivered"] is False


async def refusing(signal: Signal) -> DeliveryOutcome:
    return refused("never here")


class RefusingFloor:
    """A floor that never shows anything."""

    @hookimpl
    def prism_strategies(self) -> list[StrategyPlugin]:
        class Refusing(Floor):
            async def deliver(self, signal: Signal) -> DeliveryOutcome:
                return refused("too plain")

        @asynccontextmanager
        async def opener(settings: Any, context: StrategyContext) -> AsyncIterator[Floor]:
            yield Refusing(context)

        return [StrategyPlugin("refusing", ("bare",), opener)]


async def test_a_signal_is_dead_when_every_strategy_has_refused_it_and_not_before(
    world: World,
) -> None:
    world.more = (RefusingFloor(),)
    route = {"bare": ["push", "refusing"]}
    busy = [True]

    async def later(signal: Signal) -> DeliveryOutcome | bool:
        return deferred("busy") if busy[0] else await world.confirm(signal)

    world.act = later
    async with (
        world.agent("Lola", delivery_wait=0) as lola,
        world.agent("Donna", "bare", strategy_map=route) as donna,
    ):
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "query", {"content": "1"})
        await donna.status()
        assert "pending_signals" not in await donna.status()
        track = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert track["state"] != "dead"  # the other strategy was not heard yet
        busy[0] = False
        world.clock.advance(60)
        await donna.status()
        (shown,) = await world.shows(1)
        assert shown.signal_id == sent["signal_id"]
        world.act = refusing
        sent = await lola.signal(PID, "Donna", "query", {"content": "2"})

        async def dead() -> bool:
            await donna.status()
            track = await lola.status(signal_id=sent["signal_id"])
            return bool(track["deliveries"][0]["state"] == "dead")

        await until(dead)
