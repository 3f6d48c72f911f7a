"""What an answer says when something breaks after the verb has acted, and what is read from it."""

from __future__ import annotations

from typing import Any

import anyio
import anyio.lowlevel
import pytest

from core.tests.unit.world import PID, World
from prism_signals import Agent, Claim, StoreBusy

pytestmark = pytest.mark.anyio


async def busy(*args: Any) -> None:
    if not (args and isinstance(args[0], Claim) and args[0].push):  # the push path goes on
        raise StoreBusy


async def nothing() -> dict[str, Any]:
    return {}


async def rung(agent: Agent, signal_id: str) -> dict[str, Any]:
    tracked: dict[str, Any] = (await agent.status(signal_id=signal_id))["deliveries"][0]
    return tracked


@pytest.mark.parametrize("call", ["confirm", "lease", "counts", "find"])
async def test_a_stored_signal_is_never_answered_with_an_error(world: World, call: str) -> None:
    """Or its sender would send it again, and it would be there twice."""
    async with world.agent("Lola") as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        await donna.signal(PID, "Lola", "inform", {"content": "waits"})
        await lola.status()  # carries it, so that the next verb has something to confirm
        await donna.signal(PID, "Lola", "inform", {"content": "waits too"})
        world.store.first[call] = busy
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
        world.store.first.clear()
        assert sent["signal_id"] == world.shown[-1].signal_id
        got = (await lola.status()).get("pending_signals", [])
        seen = [*sent.get("pending_signals", []), *got]
        assert [p["payload"]["content"] for p in seen if p["from"] == "Donna"] == ["waits too"]


async def test_a_drain_that_failed_says_so(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await lola.signal(PID, "Donna", "inform", {"content": "x"})
        world.store.first["lease"] = busy
        answer = await donna.start()
        world.store.first.clear()
        assert answer["pending_signals"] == []
        assert any("could not be attached" in w for w in answer["warnings"])
        assert len((await donna.status())["pending_signals"]) == 1


async def test_evidence_survives_a_busy_store(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        await donna.status()
        world.store.first["confirm"] = busy
        await donna.status()
        world.store.first.clear()
        await donna.status()
        assert (await rung(lola, sent["signal_id"]))["confirmed_at"] is not None


@pytest.mark.parametrize("call", ["settle", "counts"])
async def test_a_call_cancelled_while_signals_are_attached_confirms_none(
    world: World, call: str
) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = [
            (await lola.signal(PID, "Donna", "inform", {"content": str(n)}))["signal_id"]
            for n in range(2)
        ]
        seen: list[str] = []
        with anyio.CancelScope() as scope:

            async def cancel(*args: Any) -> None:
                scope.cancel()
                await anyio.lowlevel.checkpoint()

            world.store.first[call] = cancel
            answer = await donna.answering(nothing)
            seen += [p["signal_id"] for p in answer["pending_signals"]]
        world.store.first.clear()
        seen += [p["signal_id"] for p in (await donna.status()).get("pending_signals", [])]
        assert seen == sent


async def test_a_cancelled_read_confirms_nothing(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        first = await lola.signal(PID, "Donna", "inform", {"content": "1"})
        await donna.status()
        second = await lola.signal(PID, "Donna", "inform", {"content": "2"})
        with anyio.CancelScope() as scope:

            async def cancel(*args: Any) -> None:
                scope.cancel()
                await anyio.lowlevel.checkpoint()

            world.store.first["confirm"] = cancel
            await donna.read_signals()
        assert scope.cancelled_caught
        world.store.first.clear()
        await donna.status()
        assert (await rung(lola, first["signal_id"]))["confirmed_at"] is not None
        assert (await rung(lola, second["signal_id"]))["confirmed_at"] is None


async def test_an_ack_counts_though_its_sender_cannot_be_rung(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "1"})
        world.bus.first["ring"] = busy
        assert (await donna.ack_signals([sent["signal_id"]]))["acked"] == 1
        again = await lola.signal(PID, "Donna", "inform", {"content": "2"})
        assert again["queued"]
        world.bus.first.clear()


async def test_a_terminal_is_told_of_what_it_sent(world: World) -> None:
    world.store.first["seen"] = busy
    async with world.prism() as prism:
        sent = await prism.outside("Lola").signal("Donna", "query", {"content": "?"})
        assert sent["queued"]


async def test_a_wrap_beside_another_verb_leaves_its_answer_whole(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        await lola.signal(PID, "Donna", "inform", {"content": "x"})
        acting, wrapped = anyio.Event(), anyio.Event()
        answers: list[dict[str, Any]] = []

        async def act() -> dict[str, Any]:
            acting.set()
            await wrapped.wait()
            return {"done": True}

        async def slow_verb() -> None:
            answers.append(await donna.answering(act))

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(slow_verb)
                await acting.wait()
                await donna.wrap()
                wrapped.set()
        assert answers == [{"done": True}]
        (waits,) = [p for p in (await donna.start())["pending_signals"] if p["from"] == "Lola"]
        assert waits["redelivered"] is False


async def test_evidence_is_what_came_before_the_call(world: World) -> None:
    """A call that was on its way when another was answered does not prove that it was read."""
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        called, go_on = anyio.Event(), anyio.Event()

        async def act() -> dict[str, Any]:
            called.set()
            await go_on.wait()
            return {}

        async def slow_verb() -> None:
            await donna.answering(act)

        with anyio.fail_after(5):
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(slow_verb)
                await called.wait()
                assert len((await donna.status())["pending_signals"]) == 1
                go_on.set()
        assert (await rung(lola, sent["signal_id"]))["confirmed_at"] is None
        await donna.status()
        assert (await rung(lola, sent["signal_id"]))["confirmed_at"] is not None


async def test_what_was_shown_is_not_shown_again_because_the_store_was_busy(world: World) -> None:
    failed = anyio.Event()

    async def once(*args: Any) -> None:
        world.store.first.clear()
        failed.set()
        raise StoreBusy

    async with world.agent("Lola", delivery_wait=0) as lola, world.agent("Donna", "pushy") as donna:
        await lola.start()
        await donna.start()
        world.store.first["settle"] = once
        sent = await lola.signal(PID, "Donna", "query", {"content": "?"})
        with anyio.fail_after(5):
            await failed.wait()
            world.clock.advance(1)
            while (await rung(lola, sent["signal_id"]))["confirmed_at"] is None:
                await donna.answering(nothing, attach=False)  # wakes what waits for the clock
        assert [s.signal_id for s in world.shown] == [sent["signal_id"]]


async def test_with_the_directory_down_nobody_is_said_to_be_away(world: World) -> None:
    async with world.agent("Lola") as lola, world.agent("Donna") as donna:
        await lola.start()
        await donna.start()
        for call in ("resolve", "sessions"):
            world.directory.first[call] = busy
        sent = await lola.signal(PID, "Donna", "inform", {"content": "x"})
        assert sent["queued"]
        assert sent["recipient_state"] == {"state": "unavailable"}
        every = await lola.signal(PID, "*", "inform", {"content": "x"})
        assert every["recipients"] == [{"name": "Donna", "state": "unavailable"}]
        status = await lola.status()
        assert status["peers"] is None
        assert status["directory"]
        world.directory.first.clear()


async def test_a_repeat_of_what_was_acted_on_is_not_called_queued(world: World) -> None:
    async with world.agent("Lola") as lola, world.prism() as prism:
        await lola.start()
        first = await lola.signal(PID, "Donna", "query", {"content": "?"}, idempotency_key="once")
        await prism.outside("Donna").ack_signals([first["signal_id"]])
        again = await lola.signal(PID, "Donna", "query", {"content": "?"}, idempotency_key="once")
        assert again["duplicate"]
        assert again["signal_id"] == first["signal_id"]
        assert (again["delivered"], again["queued"], again["confirmed"]) == (True, False, True)
