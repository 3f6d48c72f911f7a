"""Whose session signals go to, and how often that is written down."""

from __future__ import annotations

from datetime import datetime

import pytest

from core.tests.unit.world import World
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
