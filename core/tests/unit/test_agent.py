"""Agents over the in-memory backend: who gets which signal, when, and what is told about it."""

from __future__ import annotations

import anyio
import anyio.lowlevel
import pytest

from core.tests.unit.world import PID, REVIEW, World
from prism_signals import (
    HANDED_OVER,
    DeliveryOutcome,
    Signal,
)

pytestmark = pytest.mark.anyio


async def test_the_loop_of_the_specification_closes(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        asked = await lola.signal(PID, "Donna", "ReviewRequested", REVIEW)
        assert asked["delivered"]
        assert not asked["queued"]
        assert asked["confirmed"]
        assert donna.session is not None
        assert asked["resolved_to_session"] == donna.session.session_id
        assert asked["recipient_state"] == {"state": "live", "can_wake": True}
        done = await donna.signal(
            PID,
            "lola",
            "ReviewCompleted",
            {"spec_id": "S", "summary": "x", "gaps": ["a"], "recommendation": "y"},
            asked["signal_id"],
        )
        assert not done["delivered"]
        assert done["queued"]  # a live peer that is only reached by its verbs
        answer = await lola.status()
        (got,) = [p for p in answer["pending_signals"] if p["signal_type"] == "ReviewCompleted"]
        assert got["from"] == "Donna"
        assert got["in_reply_to"] == asked["signal_id"]
        assert got["redelivered"] is False
        closed = await lola.signal(
            PID, "Donna", "Acknowledgment", {"message": "Thanks"}, asked["signal_id"]
        )
        assert closed["delivered"]  # Donna is engaged: she used a verb just now
        assert [s.signal_type for s in world.shown] == ["ReviewRequested", "Acknowledgment"]
        ends = [
            (await lola.status(signal_id=i))["deliveries"][0]
            for i in (asked["signal_id"], done["signal_id"])
        ]
        assert [d["state"] for d in ends] == ["acked", "acked"]


async def test_a_configured_agent_is_reached_before_it_calls_anything(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        donna.connected()
        with anyio.fail_after(5):
            while donna.session is None:
                await anyio.lowlevel.checkpoint()
        await lola.start()
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
        assert sent["delivered"]


async def test_older_signals_wait_for_the_first_verb_newer_ones_do_not(world: World) -> None:
    async with world.agent("Lola") as lola:
        await lola.start()
        old = await lola.signal(PID, "Donna", "query", {"content": "old"})
        assert old["recipient_state"]["state"] == "unknown"
        world.clock.advance(1)
        async with world.agent("Donna", "pushy") as donna:
            donna.connected()
            with anyio.fail_after(5):
                while donna.session is None:
                    await anyio.lowlevel.checkpoint()
            new = await lola.signal(PID, "Donna", "query", {"content": "new"})
            assert new["delivered"]
            assert [s.payload["content"] for s in world.shown] == ["new"]
            drained = await donna.start()
            agents = [p for p in drained["pending_signals"] if p["from"] != "system"]
            assert [p["payload"]["content"] for p in agents] == ["old"]
            track = await lola.status(signal_id=old["signal_id"])
            assert track["deliveries"][0]["delivery_method"] == "startup_drain"


async def test_start_answers_what_the_specification_names(world: World) -> None:
    async with world.agent("Lola", rules_reminders=["Be kind."]) as lola:
        answer = await lola.start()
        assert set(answer) >= {"context", "rules_reminders", "pending_signals", "controller_status"}
        assert answer["rules_reminders"] == ["Be kind."]
        assert answer["controller_status"]["role"] == "master"
        again = await lola.start()
        assert again["context"]["session"] == answer["context"]["session"]  # idempotent


async def test_the_next_verb_confirms_and_nothing_comes_twice(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        first = await donna.status()
        assert [p["from"] for p in first["pending_signals"]] == ["Lola"]
        track = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert (track["state"], track["confirmed_at"]) == ("delivered", None)
        world.clock.advance(60)
        assert "pending_signals" not in await donna.status()
        track = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert track["confirmed_at"] is not None


async def test_an_ignored_push_comes_back_once_with_a_verb(world: World) -> None:
    async def lost(signal: Signal) -> DeliveryOutcome:
        return HANDED_OVER  # the surface took it and never showed it

    world.act = lost
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "query", {"content": "x"})
        assert sent["delivered"]
        assert not sent["confirmed"]
        assert "pending_signals" not in await donna.status()  # not before ten seconds
        world.clock.advance(11)
        again = (await donna.status())["pending_signals"]
        assert [(p["signal_id"], p["redelivered"]) for p in again] == [(sent["signal_id"], True)]
        world.clock.advance(60)
        assert "pending_signals" not in await donna.status()


async def test_unfinished_work_goes_to_the_next_session_and_ends_as_unacted(world: World) -> None:
    async with world.agent("Lola") as lola:
        await lola.start()
        sent = await lola.signal(PID, "Donna", "TaskAssigned", {"description": "d"})
        seen = []
        for _ in range(4):
            async with world.agent("Donna") as donna:
                drained = await donna.start()
                seen += [
                    p["redelivered"]
                    for p in drained["pending_signals"]
                    if p["signal_id"] == sent["signal_id"]
                ]
                await donna.status()
            world.clock.advance(1)
        assert seen == [False, True, True]
        end = (await lola.status(signal_id=sent["signal_id"]))["deliveries"][0]
        assert (end["state"], end["last_error"]) == ("dead", "unacted")


async def test_what_does_not_wake_waits_for_an_idle_agent(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        world.clock.advance(3600)
        note = await lola.signal(PID, "Donna", "Acknowledgment", {"message": "ok"})
        assert note["queued"]
        assert world.shown == []
        got = (await donna.status())["pending_signals"]
        assert [p["signal_type"] for p in got] == ["Acknowledgment"]


async def test_a_broadcast_reaches_everyone_but_its_sender(world: World) -> None:
    async with (
        world.agent("Lola") as lola,
        world.agent("Donna") as donna,
        world.agent("Texi") as texi,
        world.agent("Kai") as kai,
    ):
        for a in (lola, donna, texi, kai):
            await a.start()
        sent = await lola.signal(PID, "*", "SpecStatusChanged", {"spec_id": "S", "status": "x"})
        assert sent["resolved_to_session"] is None
        assert {r["name"] for r in sent["recipients"]} == {"Donna", "Texi", "Kai"}
        for a in (donna, texi, kai):
            got = (await a.status())["pending_signals"]
            assert "SpecStatusChanged" in [p["signal_type"] for p in got]
        own = (await lola.status()).get("pending_signals", [])
        assert "SpecStatusChanged" not in [p["signal_type"] for p in own]


async def test_system_signals_tell_of_peers_and_of_the_master(world: World) -> None:
    async with world.agent("Lola") as lola:
        await lola.start()
        async with world.agent("Donna", "claude_desktop") as donna:
            await donna.start()
            got = {p["signal_type"]: p for p in (await lola.status())["pending_signals"]}
            assert got["PeerJoined"]["payload"]["identity"] == "Donna"
            assert got["MasterPreempted"]["payload"]["preempted_by"] == "Donna"
            assert got["PeerJoined"]["from"] == "system"
        got = {p["signal_type"]: p for p in (await lola.status())["pending_signals"]}
        assert got["PeerLeft"]["payload"] == {
            "identity": "Donna",
            "surface": "claude_desktop",
            "reason": "released",
        }
