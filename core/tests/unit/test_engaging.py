"""Whose session signals go to, and how often that is written down."""

from __future__ import annotations

from datetime import datetime

import pytest

from core.tests.unit.world import PID, World
from prism_signals import Agent, Scope

pytestmark = pytest.mark.anyio


async def last_verb(world: World, agent: Agent) -> datetime | None:
    assert agent.session is not None
    scope: Scope = agent.session.scope
    found = await world.backend.directory.sessions(scope, "donna")
    (own,) = [s for s in found if s.session_id == agent.session.session_id]
    return own.last_verb_at


async def test_a_busy_agent_without_namesake_writes_now_and_then(world: World) -> None:
    async with world.agent("Donna") as donna:
        await donna.start()
        first = world.clock.now()
        world.clock.advance(1)
        await donna.status()
        assert await last_verb(world, donna) == first
        world.clock.advance(5)
        await donna.status()
        assert await last_verb(world, donna) == world.clock.now()


async def test_among_namesakes_each_verb_counts(world: World) -> None:
    async with world.agent("Donna") as one, world.agent("Donna") as other:
        await one.start()
        world.clock.advance(0.1)
        await other.start()
        for acting in (one, other, one):
            world.clock.advance(0.1)
            await acting.status()
            assert await last_verb(world, acting) == world.clock.now()
            assert acting.session is not None
            meant = await world.backend.directory.resolve(acting.session.scope, "donna")
            assert meant is not None
            assert meant.session_id == acting.session.session_id


async def test_what_waited_for_a_namesake_comes_here_when_it_leaves(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as stays:
        await lola.start()
        await stays.start()
        async with world.agent("Donna") as leaves:
            world.clock.advance(1)
            await leaves.start()
            sent = await lola.signal(PID, "Donna", "inform", {"content": "for whoever is Donna"})
            assert leaves.session is not None
            assert sent["resolved_to_session"] == leaves.session.session_id
            assert world.shown == []  # it is not for the one that stays, while the other lives
        (shown,) = await world.shows(1)
        assert shown.signal_id == sent["signal_id"]
